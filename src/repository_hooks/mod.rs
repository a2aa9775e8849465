//! Git hooks that a user can install in a repository: git reports the user's changes to a live loop's branch, and asks
//! before the branch is lost or pushed.
//!
//! - `scripts`: the hooks, small shell scripts that also run the former hook;
//! - `install::repository_hooks` installs and removes them;
//! - `answer`: runs in a process of its own when git calls one;
//! - `note`: records what a hook reports in the loop's state and events.
//!
//! Like the guard, this is no wall: if something here fails, git continues.

mod answer;
mod note;
pub(crate) mod scripts;

pub use answer::{HookCall, answer};
