//! git-ralph drives a coding agent through the stories of a change, with git as the safety net.
//!
//! The modules, from the top down. A module imports only modules below it (`docs/architecture.md`):
//!
//! - [`cli`]: the command line. [`commands`]: one file per command: its arguments, one call, and the output of [`ui`].
//! - [`report`]: the results of a loop, for the pages that [`ui`] writes. [`inspect`] reads and changes nothing.
//!   [`agent_sessions`]: an agent's own session drives the loop. [`install`] installs and removes files outside of loops.
//!   [`repository_hooks`] report the user's actions.
//! - [`runs`]: runs one change, several, or those of a remote.
//! - [`remote`]: a loop on a git remote, held there by a lease while a run works on it.
//! - [`engine`]: the loop, and all its decisions.
//! - [`protect`]: records and restores what an attempt can change. [`guard`]: git hooks for the agent's git.
//! - [`sandbox`]: the sandbox of an attempt's processes. [`slot`]: the directory with the files of an attempt.
//! - [`agent`]: the agent's process, its output, its promise. [`stories`]: reads stories and marks them as done.
//!   [`prompt`]: the prompt of an attempt.
//! - [`state`]: the state of a loop, saved atomically. [`settings`]: the section `ralph` of git's configuration.
//! - [`git`]: the git binary, and the files of a repository that git-ralph reads without it.
//! - [`async_cmd`]: runs short child processes; `held`: the locks that they share.
//! - [`events`], [`error`], [`escape`], [`exit`], [`fs`], [`names`], [`paths`], [`processes`], [`refs`], [`signal`],
//!   [`trace`]: used by every module.
//!
//! Two promises decide every doubt: git-ralph loses no work, and never says more than it knows.

#![cfg_attr(
    test,
    expect(
        clippy::disallowed_methods,
        reason = "tests make and change files as users and attempts do"
    )
)]

mod agent;
mod agent_sessions;
mod async_cmd;
mod cli;
mod commands;
mod engine;
mod error;
mod escape;
mod events;
mod exit;
mod fs;
mod git;
mod guard;
mod held;
mod inspect;
mod install;
mod names;
mod paths;
mod processes;
mod prompt;
mod protect;
mod refs;
mod remote;
mod report;
mod repository_hooks;
mod runs;
mod sandbox;
mod settings;
mod signal;
mod slot;
mod state;
mod stories;
mod trace;
mod ui;

pub use crate::commands::Cli;
pub use crate::commands::program::main;

/// The tables from which the manual and the documentation are generated.
pub mod tables {
    pub use crate::agent::presets::{ALL as PRESETS, Preset};
    pub use crate::commands::groups::GROUPS;
    pub use crate::engine::lifecycle_hooks::TABLE as LIFECYCLE_HOOKS;
    pub use crate::exit::TABLE as EXIT_CODES;
    pub use crate::install::manual::bundled::{PAGES, TOPICS, files as bundled_files};
    pub use crate::prompt::review::VARIABLES as REVIEW_VARIABLES;
    pub use crate::prompt::{VARIABLES as PROMPT_VARIABLES, WORK_VARIABLES};
    pub use crate::settings::{GROUPS as SETTING_GROUPS, TABLE as SETTINGS};
    pub use crate::ui::view::keys::TABLE as KEYS;
}
