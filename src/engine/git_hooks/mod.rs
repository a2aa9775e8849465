//! Git's own hooks, for who wants them in a repository: git tells what a person does to a live loop's branch, and
//! asks before it is lost or pushed.
//!
//! - `scripts`: the hooks, small shell scripts that run whatever hook was there before;
//! - `install`: puts them into a repository and takes them out again; `config` changes its configuration for that;
//! - `asked`: what runs when git calls one, in a process of its own;
//! - `note`: what that notes in a loop's state and events.
//!
//! No wall either: whatever is broken here lets git go on.

mod asked;
mod config;
mod install;
mod note;
mod scripts;

pub use super::guard::Answer;
pub use asked::{Asked, answer};
pub use install::{Outcome, Report, install, report, uninstall};
