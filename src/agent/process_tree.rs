//! Finding and ending every process of an attempt.
//!
//! A process belongs to an attempt when it is in the session that the attempt was started in, carries the
//! attempt's mark in its environment (agents give their tools sessions of their own, and launchers die before
//! what they launched), or descends from us and is younger than the attempt: on Linux orphans come to us, so
//! that not even one with an empty environment gets away. Where there is no `/proc`, the session's process
//! group is all that can be reached. Never touches anyone else's process.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, waitpid};
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
    /// When the attempt's first process was started, if we are its parent: our younger descendants are its.
    pub since: Option<u64>,
}

/// From now on orphans among our descendants become our children (prctl(2), `PR_SET_CHILD_SUBREAPER`), so that
/// they can be found. Where the system has no such thing, nothing happens.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    if let Err(error) = nix::sys::prctl::set_child_subreaper(true) {
        tracing::debug!("orphans of an attempt go elsewhere: {error}");
    }
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
                bury_orphans(mark);
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
    let ourselves = ourselves();
    let all: BTreeMap<i32, Stat> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(|pid| Some((pid, Stat::of(pid)?)))
        .collect();
    let descends = |stat: &Stat| {
        mark.since.is_some_and(|since| stat.started >= since) && descends_from(ourselves, stat, &all)
    };
    all.iter()
        .filter(|(pid, stat)| **pid != ourselves && !stat.dead)
        .filter(|(pid, stat)| {
            Some(stat.session) == mark.session || descends(stat) || has_variable(**pid, wanted.as_bytes())
        })
        .map(|(pid, _)| *pid)
        .collect()
}

/// Takes dead orphans off the list of processes; the attempt's first process is for its owner to wait for.
fn bury_orphans(mark: &Mark) {
    let (Some(since), ourselves) = (mark.since, ourselves()) else {
        return;
    };
    let entries = fs::read_dir("/proc").into_iter().flatten();
    let pids = entries
        .filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    for pid in pids.filter(|pid| Some(*pid) != mark.session) {
        let is_orphan = |stat: &Stat| stat.dead && stat.parent == ourselves && stat.started >= since;
        if Stat::of(pid).as_ref().is_some_and(is_orphan) {
            let _ = waitpid(Pid::from_raw(pid), Some(WaitPidFlag::WNOHANG));
        }
    }
}

fn ourselves() -> i32 {
    i32::try_from(std::process::id()).unwrap_or_default()
}

/// Whether a process has this one above it.
fn descends_from(ancestor: i32, stat: &Stat, all: &BTreeMap<i32, Stat>) -> bool {
    let mut parent = stat.parent;
    // A table that was read while it changed could go round in circles.
    for _ in 0..all.len() {
        if parent == ancestor {
            return true;
        }
        match all.get(&parent) {
            Some(above) => parent = above.parent,
            None => return false,
        }
    }
    false
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
    parent: i32,
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
            parent: fields.get(1)?.parse().ok()?,
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
        assert_eq!(
            (stat.dead, stat.parent, stat.session, stat.started),
            (false, 7, 99, 777)
        );
    }

    #[test]
    fn descendants_are_found_and_circles_end() {
        let of = |parent| Stat {
            dead: false,
            parent,
            session: 0,
            started: 0,
        };
        let all = BTreeMap::from([(1, of(0)), (2, of(1)), (3, of(2)), (4, of(5)), (5, of(4))]);
        assert!(descends_from(1, &all[&3], &all));
        assert!(!descends_from(3, &all[&2], &all));
        assert!(!descends_from(1, &all[&4], &all));
    }

    #[test]
    fn ourselves_are_the_same_process() {
        let pid = i32::try_from(std::process::id()).unwrap();
        assert!(is_same(pid, started_at(pid)));
        assert!(!is_same(pid, Some(1)));
        assert!(!is_same(pid, None));
    }
}
