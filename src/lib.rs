//! git-ralph drives a coding agent through the stories of a change, with git as the safety net.
//!
//! The rooms of the house, from the top floor down; arrows go down only (`docs/architecture.md`):
//!
//! - [`cli`]: what can be typed. [`commands`]: one file a verb: its arguments, one call, and its result printed by [`ui`].
//! - [`report`]: what a loop came to, for the pages that [`ui`] writes. [`inspect`] looks and changes nothing.
//!   [`agent_sessions`]: an agent's own session drives the loop. [`install`]: what is put outside of a loop, and taken
//!   out again. [`repository_hooks`] report what a person does.
//! - [`remote`]: a loop on a git remote, held there by a lease while a run works on it.
//! - [`engine`]: the loop. It decides and orders.
//! - [`protect`]: what an attempt can touch, and how it comes back. [`guard`]: git hooks around the agent's git.
//! - [`sandbox`]: the box in which an attempt's processes run.
//! - [`agent`]: the agent's process, its output, its promise. [`stories`]: where stories come from and how they are marked
//!   as done. [`prompt`]: what an attempt is told.
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

pub mod agent;
pub mod agent_sessions;
pub mod async_cmd;
pub mod cli;
pub mod commands;
pub mod engine;
pub mod error;
pub mod escape;
pub mod events;
pub mod exit;
pub mod fs;
pub mod git;
pub mod guard;
mod held;
pub mod inspect;
pub mod install;
pub mod names;
pub mod paths;
pub mod processes;
pub mod prompt;
pub mod protect;
pub mod refs;
pub mod remote;
pub mod report;
pub mod repository_hooks;
pub mod sandbox;
pub mod settings;
pub mod signal;
pub mod state;
pub mod stories;
pub mod trace;
pub mod ui;
