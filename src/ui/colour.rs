//! Decides whether words are coloured: `--color`, then `NO_COLOR` and `CLICOLOR_FORCE`, then git's own settings
//! (`color.ralph`, `color.ui`), and otherwise only where a terminal reads them.

use std::env;

use anstream::ColorChoice;

use crate::settings::Colour;

/// Decides for the rest of this process; what is written to a stream asks again each time.
pub fn settle(given: Option<Colour>, configured: Option<Colour>) {
    let set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let by_environment = set("NO_COLOR") || set("CLICOLOR_FORCE");
    let configured = configured.filter(|_| !by_environment);
    match given.or(configured) {
        Some(Colour::Always) => ColorChoice::Always,
        Some(Colour::Never) => ColorChoice::Never,
        // Git has begun the pager and says so; it is the terminal that reads.
        Some(Colour::Auto) | None if set("GIT_PAGER_IN_USE") && !by_environment => ColorChoice::Always,
        Some(Colour::Auto) | None => ColorChoice::Auto,
    }
    .write_global();
}
