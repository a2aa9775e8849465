//! Runs one process of an attempt, an agent or a gate, in a process between it and git-ralph: the runner, which is
//! git-ralph itself with the hidden command `run-attempt`.
//!
//! `start` is git-ralph's side, `run` the runner's, `channel` their messages: git-ralph sends the process to start and
//! later the order to end it; the runner sends the output and the exit status. The runner has its own session and
//! adopts the orphans of its one process, so its descendants are exactly the processes of that process. Three things
//! follow:
//!
//! - If git-ralph dies, even by SIGKILL, the channel ends, and the runner kills its descendants at once. Until then it
//!   holds git-ralph's locks, so no other command works in the repository meanwhile.
//! - If the process kills its parent, it kills the runner. Git-ralph then adopts the remaining processes, ends them,
//!   and continues with its state in memory.
//! - An internal error of the runner costs one attempt.
//!
//! The channel is a socket pair and no pipe: any process of the same user can open a pipe through `/proc/<pid>/fd`.

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
