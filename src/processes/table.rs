//! The processes of the system, and their parents: from `/proc` on Linux, else from system calls.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;

use super::entry::Stat;
#[cfg(all(target_os = "linux", not(feature = "without-proc")))]
use super::proc_files as source;
#[cfg(any(not(target_os = "linux"), feature = "without-proc"))]
use super::process_list as source;
pub(crate) use source::{booted, directory, has_variable, memory, program, runs_our_program};

/// All processes at about one moment: those that begin or end while the table is read may be missing.
#[derive(Debug)]
pub(crate) struct Table(BTreeMap<i32, Stat>);

impl Table {
    /// Reads the table; `None` if the system shows no process.
    pub fn read() -> Option<Self> {
        Some(Self(source::entries()?.into_iter().collect()))
    }

    /// Returns the entry of one process.
    pub fn get(&self, pid: i32) -> Option<&Stat> {
        self.0.get(&pid)
    }

    /// Lists the living processes except this one.
    pub fn living(&self) -> impl Iterator<Item = (i32, &Stat)> {
        let ourselves = ourselves();
        let all = self.0.iter().map(|(pid, stat)| (*pid, stat));
        all.filter(move |(pid, stat)| *pid != ourselves && !stat.dead)
    }

    /// Finds the child of this process that is a process or its ancestor.
    pub fn ancestor_among_children(&self, pid: i32) -> Option<(i32, &Stat)> {
        self.below(ourselves(), pid)
    }

    /// Lists this process and its ancestors.
    pub fn lineage(&self) -> Vec<i32> {
        let mut found = vec![ourselves()];
        while let Some(stat) = found.last().and_then(|pid| self.0.get(pid)) {
            if found.contains(&stat.parent) {
                break;
            }
            found.push(stat.parent);
        }
        found
    }

    /// Returns whether the session of a process began since then, and its parent did not.
    pub fn is_apart_since(&self, stat: &Stat, since: u64) -> bool {
        let is_young = |pid| self.get(pid).is_none_or(|stat| stat.started >= since);
        // In a container, the session 0 began outside of it.
        stat.session != 0 && is_young(stat.session) && !is_young(stat.parent)
    }

    fn below(&self, ancestor: i32, mut pid: i32) -> Option<(i32, &Stat)> {
        // A table that changed while it was read can contain a cycle.
        for _ in 0..self.0.len() {
            let stat = self.0.get(&pid)?;
            if stat.parent == ancestor {
                return Some((pid, stat));
            }
            pid = stat.parent;
        }
        None
    }
}

/// Lists the children of this process, dead ones included where the system shows them.
pub(crate) fn children() -> Vec<(i32, Stat)> {
    source::children(ourselves())
}

/// Returns whether this process has a child, dead or alive.
pub(crate) fn have_children() -> bool {
    source::have_children(ourselves())
}

/// Returns the number of this process.
pub(crate) fn ourselves() -> i32 {
    i32::try_from(std::process::id()).unwrap_or_default()
}

/// Returns the name of this machine, if it has one.
pub fn host() -> Option<String> {
    let name = nix::unistd::gethostname().ok()?;
    name.into_string().ok().filter(|name| !name.is_empty())
}

/// Returns the start time of a process, in ticks of the system: with its number it identifies the process.
pub fn started_at(pid: i32) -> Option<u64> {
    source::entry(pid).map(|stat| stat.started)
}

/// Returns whether a process has certainly ended, even if its parent has not waited for it.
pub fn is_gone(pid: i32) -> bool {
    kill(Pid::from_raw(pid), None) == Err(Errno::ESRCH) || source::entry(pid).is_some_and(|stat| stat.dead)
}

/// Returns whether a process may have started by that time, with a tolerance of two seconds for coarse clock ticks.
pub(crate) fn began_by(stat: &Stat, time: SystemTime) -> bool {
    let moment = Duration::from_secs(2);
    source::start_of(stat).is_none_or(|start| start <= time + moment)
}

/// Returns whether the process with this number is the one that started at that time.
pub fn is_same(pid: i32, started: Option<u64>) -> bool {
    started.is_some() && started_at(pid) == started
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_found_and_circles_end() {
        let of = |parent| Stat {
            dead: false,
            parent,
            session: 0,
            on_terminal: false,
            started: 0,
        };
        let all = [(1, of(0)), (2, of(1)), (3, of(2)), (4, of(5)), (5, of(4))];
        let table = Table(BTreeMap::from(all));
        let below = |ancestor, pid| table.below(ancestor, pid).map(|(child, _)| child);
        assert_eq!(below(1, 3), Some(2));
        assert_eq!(below(1, 2), Some(2));
        assert_eq!(below(3, 2), None);
        assert_eq!(below(1, 4), None);
    }

    #[test]
    fn process_is_apart_by_a_session_of_its_own_alone() {
        let of = |parent, session, started| Stat {
            dead: false,
            parent,
            session,
            on_terminal: false,
            started,
        };
        let table = Table(BTreeMap::from([(1, of(0, 0, 0)), (2, of(1, 2, 7))]));
        assert!(table.is_apart_since(&of(1, 2, 8), 5));
        // Its session is over.
        assert!(table.is_apart_since(&of(1, 9, 8), 5));
        for (parent, session) in [(1, 0), (1, 1), (2, 2)] {
            assert!(!table.is_apart_since(&of(parent, session, 8), 5));
        }
    }

    #[test]
    fn own_process_is_the_same_only_with_its_start_time() {
        let pid = ourselves();
        assert!(is_same(pid, started_at(pid)));
        assert!(!is_same(pid, Some(1)));
        assert!(!is_same(pid, None));
    }

    #[test]
    fn a_child_is_listed_until_it_is_waited_for() {
        let child = duct::cmd!("sleep", "1000").start().unwrap();
        let pid = i32::try_from(child.pids()[0]).unwrap();
        let listed = || children().into_iter().any(|(child, _)| child == pid);
        assert!(listed());
        child.kill().unwrap();
        assert!(child.wait().is_err());
        assert!(!listed());
    }
}
