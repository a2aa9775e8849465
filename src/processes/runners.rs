//! The runners of a git-ralph that has died. Each ends at once, unless something keeps it from running.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::table::{Table, program};

/// The hidden command of a runner; its one argument is the number of its git-ralph.
pub const VERB: &str = "run-attempt";

/// Kills the runners that this process has started.
pub fn kill_runners_of(parent: i32) {
    let parent = parent.to_string();
    let is_runner = |pid: i32| {
        let words = program(pid).map(|program| program.words).unwrap_or_default();
        matches!(words.get(1..), Some([verb, of, ..]) if verb == VERB.as_bytes() && *of == parent.as_bytes())
    };
    let table = Table::read();
    for (pid, _) in table.iter().flat_map(Table::living) {
        if is_runner(pid) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}
