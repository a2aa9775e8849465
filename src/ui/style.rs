//! The styles of words on a terminal.

use super::shown::styled;
use crate::settings::Colour;
use crate::state::Verdict;
use anstream::ColorChoice;
use std::env;

pub(super) fn bold(words: &str) -> String {
    styled(&["1"], words)
}

pub(super) fn red(words: &str) -> String {
    styled(&["1", "31"], words)
}

pub(super) fn green(words: &str) -> String {
    styled(&["32"], words)
}

pub(super) fn yellow(words: &str) -> String {
    styled(&["1", "33"], words)
}

/// Returns words in the colour of a verdict.
pub(super) fn verdict(verdict: Verdict, words: &str) -> String {
    if verdict == Verdict::Complete {
        green(words)
    } else {
        red(words)
    }
}

/// Sets the colours for the rest of this process; each output stream checks again.
pub fn settle(given: Option<Colour>, configured: Option<Colour>) {
    let set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let by_environment = set("NO_COLOR") || set("CLICOLOR_FORCE");
    let configured = configured.filter(|_| !by_environment);
    match given.or(configured) {
        Some(Colour::Always) => ColorChoice::Always,
        Some(Colour::Never) => ColorChoice::Never,
        // Git has started the pager: the output goes to a terminal.
        Some(Colour::Auto) | None if set("GIT_PAGER_IN_USE") && !by_environment => ColorChoice::Always,
        Some(Colour::Auto) | None => ColorChoice::Auto,
    }
    .write_global();
}
