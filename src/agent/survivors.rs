//! Finding and ending every process of an attempt.
//!
//! A process belongs to an attempt when it is in the session that the attempt was started in, or
//! carries the attempt's mark in its environment (agents give their tools sessions of their own, and
//! launchers die before what they launched). Where there is no `/proc`, the session's process group is
//! all that can be reached. Never touches anyone else's process.

use std::fs;
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use tokio::time::{Instant, sleep};

/// The variable that marks every process of an attempt.
pub const VARIABLE: &str = "GIT_RALPH_RUN";

/// How long processes that were asked to end may take.
const GRACE: Duration = Duration::from_secs(5);
/// How long killed processes may take to go.
const LAST: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(10);

/// What the processes of one attempt have in common.
#[derive(Clone, Debug)]
pub struct Mark {
    /// The session (and process group) of the attempt.
    pub session: Option<i32>,
    /// The value of [`VARIABLE`].
    pub run: String,
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Processes that are still alive.
    pub alive: usize,
    /// Processes that were found and had to be ended.
    pub ended: usize,
}

/// Ends every process of the mark: TERM, a grace that `impatient` cuts short, KILL.
pub async fn end(mark: &Mark, impatient: impl Future<Output = ()>) -> Found {
    let ended = alive(mark).len();
    tokio::pin!(impatient);
    for (signal, limit) in [(Signal::SIGTERM, GRACE), (Signal::SIGKILL, LAST)] {
        let deadline = Instant::now() + limit;
        let mut in_a_hurry = false;
        let mut asked = Vec::new();
        loop {
            let living = alive(mark);
            if living.is_empty() {
                return Found { alive: 0, ended };
            }
            // Processes that appeared since the last look are asked too.
            let fresh: Vec<i32> = living
                .iter()
                .filter(|pid| !asked.contains(*pid))
                .copied()
                .collect();
            send(&fresh, mark, signal);
            asked.extend(fresh);
            if Instant::now() >= deadline || in_a_hurry {
                break;
            }
            tokio::select! {
                () = sleep(POLL) => {}
                () = &mut impatient, if signal == Signal::SIGTERM => in_a_hurry = true,
            }
        }
    }
    Found {
        alive: alive(mark).len(),
        ended,
    }
}

fn send(pids: &[i32], mark: &Mark, signal: Signal) {
    // Whoever is gone by now is what we want; whoever may not be signalled shows up as alive later.
    for pid in pids {
        if Some(*pid) == mark.session {
            let _ = killpg(Pid::from_raw(*pid), signal);
        }
        let _ = kill(Pid::from_raw(*pid), signal);
        if signal == Signal::SIGTERM {
            // A stopped process takes TERM only when it goes on.
            let _ = kill(Pid::from_raw(*pid), Signal::SIGCONT);
        }
    }
}

/// The living processes of a mark, without zombies and without ourselves.
fn alive(mark: &Mark) -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return alive_without_proc(mark);
    };
    let wanted = format!("{VARIABLE}={}", mark.run);
    let ourselves = i32::try_from(std::process::id()).unwrap_or_default();
    entries
        .filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| *pid != ourselves)
        .filter(|pid| {
            let Some(stat) = Stat::of(*pid) else { return false };
            if stat.dead {
                return false;
            }
            Some(stat.session) == mark.session || has_variable(*pid, wanted.as_bytes())
        })
        .collect()
}

fn alive_without_proc(mark: &Mark) -> Vec<i32> {
    mark.session
        .filter(|session| killpg(Pid::from_raw(*session), None).is_ok())
        .into_iter()
        .collect()
}

fn has_variable(pid: i32, wanted: &[u8]) -> bool {
    fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|environ| environ.split(|b| *b == 0).any(|entry| entry == wanted))
}

/// What `/proc/<pid>/stat` says, as far as we care (proc(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    dead: bool,
    session: i32,
    started: u64,
}

impl Stat {
    fn of(pid: i32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The second field is the program's name in parentheses and may hold anything, `)` included.
    fn parse(line: &str) -> Option<Self> {
        let (_, rest) = line.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split(' ').collect();
        Some(Self {
            dead: matches!(*fields.first()?, "Z" | "X"),
            session: fields.get(3)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
        })
    }
}

/// When a process was started, in clock ticks since boot: with its number it names one process for ever.
#[must_use]
pub fn started_at(pid: i32) -> Option<u64> {
    Stat::of(pid).map(|stat| stat.started)
}

/// Whether the process with this number is still the one that was started then.
#[must_use]
pub fn is_same(pid: i32, started: Option<u64>) -> bool {
    started.is_some() && started_at(pid) == started
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_name_cannot_forge_the_fields() {
        let line = "42 (evil) S 1 (x) R 7 42 99 0 -1 1 2 3 4 5 6 7 8 9 10 11 12 13 777 0";
        let stat = Stat::parse(line).unwrap();
        assert_eq!((stat.dead, stat.session, stat.started), (false, 99, 777));
    }

    #[test]
    fn ourselves_are_the_same_process() {
        let pid = i32::try_from(std::process::id()).unwrap();
        assert!(is_same(pid, started_at(pid)));
        assert!(!is_same(pid, Some(1)));
        assert!(!is_same(pid, None));
    }
}
