//! git-ralph drives a coding agent through the stories of a change, with git as the safety net.
//!
//! The house, from the top floor down; arrows go down only:
//!
//! - `cli`: what can be typed (clap types; their doc comments are the help and the manual)
//! - `candidates`: what a shell offers for a word of it
//! - `commands`: one file a verb: arguments into one engine call, and its result printed
//! - `ui`: the only place that prints
//! - `engine`: the loop; `engine::machine` decides (pure), the other files of it do
//! - `agent`: the agent's process, its output, its promise
//! - `adapters`: where stories come from and how they are marked done
//! - `prompt`: what an attempt is told
//! - `git`: typed verbs over the git binary
//! - `state`: what is remembered of a loop, saved atomically
//! - `installation`: manual pages and completions where man and the shells look; `parts`: their texts
//! - `settings`: git's configuration, section `ralph`
//! - `async_cmd`: the one door for short child processes; `held`: the locks that those of git hold with us
//! - `events`, `error`, `exit`, `names`, `refs`, `signal`, `trace`: words that every floor uses
//!
//! Two promises decide every doubt: nothing of anyone's work is ever lost, and git-ralph never says
//! more than it knows.

pub mod agent;
pub mod agent_sessions;
pub mod async_cmd;
pub mod cli;
pub mod commands;
pub mod engine;
pub mod error;
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
pub mod prompt;
pub mod refs;
pub mod repository_hooks;
pub mod settings;
pub mod signal;
pub mod state;
pub mod stories;
pub mod trace;
pub mod ui;
