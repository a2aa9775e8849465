//! git-ralph drives a coding agent through the stories of a change, with git as the safety net.
//!
//! The rooms of the house, from the top floor down; arrows go down only (`docs/architecture.md`):
//!
//! - [`cli`]: what can be typed. [`commands`]: one file a verb: its arguments, one call, and its result printed by [`ui`].
//! - [`report`]: the results of a loop, for the pages that [`ui`] writes. [`inspect`] looks and changes nothing.
//!   [`agent_sessions`]: an agent's own session drives the loop. [`install`]: what is put outside of a loop, and taken
//!   out again. [`repository_hooks`] report what the user does.
//! - [`runs`]: which change is driven next: one, several, or those of a remote.
//! - [`remote`]: a loop on a git remote, held there by a lease while a run works on it.
//! - [`engine`]: the loop. It decides and orders.
//! - [`protect`]: what an attempt can touch, and how it comes back. [`guard`]: git hooks around the agent's git.
//! - [`sandbox`]: the box in which an attempt's processes run. [`slot`]: the directory with the files of an attempt.
//! - [`agent`]: the agent's process, its output, its promise. [`stories`]: where stories come from and how they are marked
//!   as done. [`prompt`]: the prompt of an attempt.
//! - [`state`]: what is remembered of a loop, saved atomically. [`settings`]: git's configuration, section `ralph`.
//! - [`git`]: typed verbs over the git binary, and the few files of a repository that are read without it.
//! - [`async_cmd`]: the one door for short child processes; `held`: the locks that those of git hold with us.
//! - [`events`], [`error`], [`escape`], [`exit`], [`fs`], [`names`], [`paths`], [`processes`], [`refs`], [`signal`],
//!   [`trace`]: words that every floor uses.
//!
//! Two promises decide every doubt: nothing of anyone's work is ever lost, and git-ralph never says more than it knows.

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

/// The tables of which the manual and the documentation are made.
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
