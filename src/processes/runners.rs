//! The runners of a git-ralph that has died. Each ends at once, unless something keeps it from running.

use std::path::PathBuf;
use std::{env, io};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::table::{Table, program};

/// The hidden command of a runner; its one argument is the number of its git-ralph.
pub const VERB: &str = "run-attempt";

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
