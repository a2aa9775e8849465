//! Processes as `/proc` shows them (proc(5)). Where it is not mounted, no process can be seen.

#![expect(
    clippy::disallowed_methods,
    reason = "what cannot be seen of a process has ended, or is another user's"
)]

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::errno::Errno;
use nix::sys::wait::{Id, WaitPidFlag, waitid};

use super::entry::{Program, Stat};

/// Reads the entry of one process.
pub(super) fn entry(pid: i32) -> Option<Stat> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Reads the entries of all processes; `None` if there is no `/proc`.
pub(super) fn entries() -> Option<Vec<(i32, Stat)>> {
    let pids = fs::read_dir("/proc")
        .ok()?
        .filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    Some(pids.filter_map(|pid| Some((pid, entry(pid)?))).collect())
}

/// Parses a line of `stat`. The second field is the program's name in parentheses and may hold anything, `)` included.
fn parse(line: &str) -> Option<Stat> {
    let (_, rest) = line.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    Some(Stat {
        dead: matches!(*fields.first()?, "Z" | "X"),
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        on_terminal: *fields.get(4)? != "0",
        started: fields.get(19)?.parse().ok()?,
    })
}

/// Lists the children of this process, dead ones included.
pub(super) fn children(ourselves: i32) -> Vec<(i32, Stat)> {
    let listed = fs::read_dir("/proc/self/task").and_then(|tasks| {
        // Each thread has the children that it started; orphans may become children of any of them.
        tasks
            .map(|task| fs::read_to_string(task?.path().join("children")))
            .collect::<io::Result<String>>()
    });
    let of_ours = |(_, stat): &(i32, Stat)| stat.parent == ourselves;
    match listed {
        Ok(lists) => lists
            .split_whitespace()
            .filter_map(|pid| pid.parse().ok())
            .filter_map(|pid| Some((pid, entry(pid)?)))
            .filter(of_ours)
            .collect(),
        // Not every system keeps these lists, and a thread may have ended meanwhile.
        Err(_) => entries().into_iter().flatten().filter(of_ours).collect(),
    }
}

/// Tells if this process has a child, dead or alive. The answer is exact; the lists are not, because the system shows
/// them piece by piece.
pub(super) fn have_children(_ourselves: i32) -> bool {
    let any = WaitPidFlag::WEXITED | WaitPidFlag::__WALL;
    let answer = waitid(Id::All, any | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT);
    answer != Err(Errno::ECHILD)
}

/// Tells if a variable has a value in the environment that a process was started with (`NAME=value`).
pub(crate) fn has_variable(pid: i32, wanted: &[u8]) -> bool {
    fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|environ| environ.split(|b| *b == 0).any(|entry| entry == wanted))
}

/// Returns the directory that a process of the same user works in.
pub(crate) fn directory(pid: i32) -> Option<PathBuf> {
    let dir = Path::new("/proc").join(pid.to_string());
    let owner = |dir: &Path| dir.metadata().ok().map(|metadata| metadata.uid());
    let same_user = owner(&dir)? == owner(Path::new("/proc/self"))?;
    same_user.then(|| fs::read_link(dir.join("cwd")).ok()).flatten()
}

/// Returns whether a process runs the very file that this one runs; `None` if that cannot be seen.
pub(crate) fn runs_our_program(pid: i32) -> Option<bool> {
    let file = |path: String| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    Some(file(format!("/proc/{pid}/exe"))? == file("/proc/self/exe".to_owned())?)
}

/// Returns the program of a process; `None` if it has ended.
pub(crate) fn program(pid: i32) -> Option<Program> {
    let dir = Path::new("/proc").join(pid.to_string());
    let name = fs::read(dir.join("comm")).ok()?;
    let words = fs::read(dir.join("cmdline")).unwrap_or_default();
    let directory = match fs::read_link(dir.join("cwd")) {
        Ok(directory) => Some(directory),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
        Err(_) => return None,
    };
    Some(Program {
        name: name.trim_ascii_end().to_vec(),
        words: words.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect(),
        directory,
    })
}

/// Returns the memory that a process and its children have for themselves, in bytes.
pub(crate) fn memory(pid: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let own = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let own: u64 = own.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|child| child.parse().ok());
    Some(own * 1024 + children.filter_map(memory).sum::<u64>())
}

/// Returns the time when a process was started. `/proc` counts in hundredths of a second (proc(5), `USER_HZ`).
pub(crate) fn start_of(stat: &Stat) -> Option<SystemTime> {
    let booted = u64::try_from(booted()?).ok()?;
    Some(UNIX_EPOCH + Duration::from_secs(booted + stat.started / 100))
}

/// Returns the time when the system was started, in seconds since 1970.
pub(crate) fn booted() -> Option<i64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix("btime "))?
        .parse()
        .ok()
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
        assert_eq!(parse(line), Some(wanted));
    }
}
