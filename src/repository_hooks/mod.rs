//! Git's own hooks, for those who want them in a repository: git reports what a person does to a live loop's branch,
//! and asks before it is lost or pushed.
//!
//! - `scripts`: the hooks, small shell scripts that run whatever hook was there before;
//! - `install::repository_hooks` puts them into a repository and takes them out again;
//! - `answer`: what runs when git calls one, in a process of its own;
//! - `note`: what that notes in a loop's state and events.
//!
//! Like the guard no wall: whatever is broken here lets git go on.

mod answer;
mod note;
pub(crate) mod scripts;

pub use crate::guard::Answer;
pub use answer::{HookCall, answer};
