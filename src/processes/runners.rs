//! The processes that a git-ralph starts to work for it, after it has died: a runner ends at once, unless something keeps it
//! from running, and one that works on one of several changes stops as after a signal.

use std::path::PathBuf;
use std::{env, io};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::table::{Table, program};

/// The hidden command of a runner; its one argument is the number of its git-ralph.
pub const VERB: &str = "run-attempt";

/// The hidden command of a process that works on one of several changes; its first argument is the number of its git-ralph.
pub const ONE_OF_SEVERAL: &str = "run-change";

/// The word before the story of a process that works on one of several stories of a change.
pub const STORY: &str = "story";

/// Returns whether a process works on one of several changes for a git-ralph that has died.
pub fn is_abandoned(pid: i32) -> bool {
    let words = program(pid).map(|program| program.words).unwrap_or_default();
    let Some([verb, of, ..]) = words.get(1..) else {
        return false;
    };
    let parent = Table::read().and_then(|table| table.get(pid).map(|stat| stat.parent));
    let is_parent = |parent: i32| *of == parent.to_string().as_bytes();
    verb == ONE_OF_SEVERAL.as_bytes() && !parent.is_some_and(is_parent)
}

/// Kills the runners that this process has started; returns whether there were any.
pub fn kill_runners_of(parent: i32) -> bool {
    let parent = parent.to_string();
    let is_runner = |pid: i32| {
        let words = program(pid).map(|program| program.words).unwrap_or_default();
        matches!(words.get(1..), Some([verb, of, ..]) if verb == VERB.as_bytes() && *of == parent.as_bytes())
    };
    let table = Table::read();
    let living = table.iter().flat_map(Table::living).map(|(pid, _)| pid);
    let runners: Vec<i32> = living.filter(|pid| is_runner(*pid)).collect();
    for pid in &runners {
        let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
    }
    !runners.is_empty()
}

/// Returns the path of this program: where there is `/proc`, the very file that runs, whatever is in its place now.
pub fn own_program() -> io::Result<PathBuf> {
    if cfg!(all(target_os = "linux", not(feature = "without-proc"))) {
        return Ok(PathBuf::from("/proc/self/exe"));
    }
    env::current_exe()
}
