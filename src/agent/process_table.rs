//! Processes as `/proc` shows them (proc(5)). Without `/proc`, no process can be seen.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
use nix::errno::Errno;
#[cfg(target_os = "linux")]
use nix::sys::wait::{Id, WaitPidFlag, waitid};

/// The fields of `/proc/<pid>/stat` that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    /// True if it has ended and waits for its parent to notice.
    pub dead: bool,
    pub parent: i32,
    pub session: i32,
    /// True if it has a terminal that can end it.
    pub on_terminal: bool,
    /// The start, in clock ticks since boot.
    pub started: u64,
}

impl Stat {
    /// Reads the entry of one process.
    pub fn of(pid: i32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Parses a line of `stat`. The second field is the program's name in parentheses and may hold anything, `)`
    /// included.
    fn parse(line: &str) -> Option<Self> {
        let (_, rest) = line.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split(' ').collect();
        Some(Self {
            dead: matches!(*fields.first()?, "Z" | "X"),
            parent: fields.get(1)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            on_terminal: *fields.get(4)? != "0",
            started: fields.get(19)?.parse().ok()?,
        })
    }
}

/// All processes at about one moment: those that come and go while the table is read may be missing.
#[derive(Debug)]
pub(super) struct Table(BTreeMap<i32, Stat>);

impl Table {
    /// Reads the table; `None` where there is no `/proc`.
    pub fn read() -> Option<Self> {
        let entries = fs::read_dir("/proc").ok()?;
        let pids = entries
            .filter_map(Result::ok)
            .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        Some(Self(pids.filter_map(|pid| Some((pid, Stat::of(pid)?))).collect()))
    }

    /// Returns the entry of one process.
    pub fn get(&self, pid: i32) -> Option<&Stat> {
        self.0.get(&pid)
    }

    /// Lists the living processes but this one.
    pub fn living(&self) -> impl Iterator<Item = (i32, &Stat)> {
        let ourselves = ourselves();
        let all = self.0.iter().map(|(pid, stat)| (*pid, stat));
        all.filter(move |(pid, stat)| *pid != ourselves && !stat.dead)
    }

    /// Finds the child of this process that a process is or descends from.
    pub fn ancestor_among_children(&self, pid: i32) -> Option<(i32, &Stat)> {
        self.below(ourselves(), pid)
    }

    fn below(&self, ancestor: i32, mut pid: i32) -> Option<(i32, &Stat)> {
        // A table that was read while it changed could go round in circles.
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

/// Lists the children of this process, dead ones included.
pub(super) fn children() -> Vec<(i32, Stat)> {
    let listed = fs::read_dir("/proc/self/task").and_then(|tasks| {
        // Each thread has the children that it started; orphans may come to any of them.
        tasks
            .map(|task| fs::read_to_string(task?.path().join("children")))
            .collect::<io::Result<String>>()
    });
    let ourselves = ourselves();
    match listed {
        Ok(lists) => lists
            .split_whitespace()
            .filter_map(|pid| pid.parse().ok())
            .filter_map(|pid| Some((pid, Stat::of(pid)?)))
            .filter(|(_, stat)| stat.parent == ourselves)
            .collect(),
        // Not every system keeps these lists, and a thread may have ended meanwhile.
        Err(_) => Table::read()
            .into_iter()
            .flat_map(|table| table.0)
            .filter(|(_, stat)| stat.parent == ourselves)
            .collect(),
    }
}

/// Tells if this process has a child, dead or alive. The answer is exact; the lists are not, because the system shows
/// them piece by piece.
#[cfg(target_os = "linux")]
pub(super) fn have_children() -> bool {
    let any = WaitPidFlag::WEXITED | WaitPidFlag::__WALL;
    let answer = waitid(Id::All, any | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT);
    answer != Err(Errno::ECHILD)
}

/// Tells if this process has a child, dead or alive.
#[cfg(not(target_os = "linux"))]
pub(super) fn have_children() -> bool {
    !children().is_empty()
}

/// Returns the number of this process.
pub(super) fn ourselves() -> i32 {
    i32::try_from(std::process::id()).unwrap_or_default()
}

/// Tells if a variable has a value in the environment that a process was started with (`NAME=value`).
pub(super) fn has_variable(pid: i32, wanted: &[u8]) -> bool {
    fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|environ| environ.split(|b| *b == 0).any(|entry| entry == wanted))
}

/// Returns the directory that a process of the same user works in.
pub(super) fn directory(pid: i32) -> Option<PathBuf> {
    let dir = Path::new("/proc").join(pid.to_string());
    let owner = |dir: &Path| dir.metadata().ok().map(|metadata| metadata.uid());
    let same_user = owner(&dir)? == owner(Path::new("/proc/self"))?;
    same_user.then(|| fs::read_link(dir.join("cwd")).ok()).flatten()
}

/// Returns the time when the system was started, in seconds since 1970.
pub(super) fn booted() -> Option<i64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix("btime "))?
        .parse()
        .ok()
}

/// Returns the start of a process, in clock ticks since boot: with its number it identifies one process for ever.
#[must_use]
pub fn started_at(pid: i32) -> Option<u64> {
    Stat::of(pid).map(|stat| stat.started)
}

/// Tells if the process with this number is still the one that was started then.
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
        let wanted = Stat {
            dead: false,
            parent: 7,
            session: 99,
            on_terminal: false,
            started: 777,
        };
        assert_eq!(Stat::parse(line), Some(wanted));
    }

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
    fn ourselves_are_the_same_process() {
        let pid = ourselves();
        assert!(is_same(pid, started_at(pid)));
        assert!(!is_same(pid, Some(1)));
        assert!(!is_same(pid, None));
    }

    #[cfg(target_os = "linux")]
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
