//! The styles of words on a terminal.

use super::shown::styled;
use crate::state::Verdict;

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
