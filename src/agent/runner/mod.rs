//! Runs one process of an attempt, an agent or a gate, in a process between it and git-ralph: the runner, which is
//! git-ralph itself with the hidden command `run-attempt`.
//!
//! `start` is git-ralph's side, `run` the runner's, `channel` what they say to each other: git-ralph sends the process to
//! start and later the order to end it; the runner sends what it prints and how it ended. The runner has a session of its
//! own and adopts the orphans of its one process, so whatever lives below it belongs to that process, and nothing else
//! does. Three things follow:
//!
//! - If git-ralph dies, even by SIGKILL, the channel ends, and the runner kills everything below it at once. Until then it
//!   holds the locks that git-ralph held, so no other command works in the repository meanwhile.
//! - If the process kills its parent, it kills the runner. Git-ralph then adopts what is left, ends it, and
//!   continues with what it holds in memory.
//! - An error of the runner's own costs one attempt.
//!
//! The channel is a pair of sockets and no pipe: any process of the same user can open a pipe by `/proc/<pid>/fd`.

mod channel;
mod output;
mod run;
mod start;

use std::ffi::OsString;

use crate::processes::RUNNER;

pub(super) use self::channel::{News, Printed};
pub use self::run::run;
pub(super) use self::start::{Lost, Runner};

/// Returns whether the arguments of the program start a runner.
pub fn is_asked(mut args: impl Iterator<Item = OsString>) -> bool {
    args.nth(1).is_some_and(|verb| verb == RUNNER)
}
