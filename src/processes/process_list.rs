//! Processes on systems without `/proc`. The start time is known to the second.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sysinfo::{Pid, Process, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, System, UpdateKind};

use super::entry::{Program, Stat};

/// Reads the entry of one process.
pub(super) fn entry(pid: i32) -> Option<Stat> {
    let pid = known(pid)?;
    let system = listed(ProcessesToUpdate::Some(&[pid]), ProcessRefreshKind::nothing());
    system.process(pid).map(stat)
}

/// Reads the entries of all processes; `None` if the system lists none.
pub(super) fn entries() -> Option<Vec<(i32, Stat)>> {
    let system = listed(ProcessesToUpdate::All, ProcessRefreshKind::nothing());
    let processes = system.processes().values();
    let entries: Vec<_> = processes
        // Linux, where tests run this, lists threads too.
        .filter(|process| process.thread_kind().is_none())
        .filter_map(|process| Some((number(process.pid())?, stat(process))))
        .collect();
    (!entries.is_empty()).then_some(entries)
}

/// Lists the children of a process that the system shows.
pub(super) fn children(parent: i32) -> Vec<(i32, Stat)> {
    let mut entries = entries().unwrap_or_default();
    entries.retain(|(_, stat)| stat.parent == parent);
    entries
}

/// Returns whether this process has a child. The system may not list a dead one; only the attempt's first process can be
/// dead here, and its owner waits for it.
pub(super) fn have_children(ourselves: i32) -> bool {
    !children(ourselves).is_empty()
}

/// Returns whether a process was started with this variable (`NAME=value`). Some systems hide the environment of their
/// own programs.
pub(crate) fn has_variable(pid: i32, wanted: &[u8]) -> bool {
    let Some(pid) = known(pid) else {
        return false;
    };
    let environment = ProcessRefreshKind::nothing().with_environ(UpdateKind::Always);
    let system = listed(ProcessesToUpdate::Some(&[pid]), environment);
    system.process(pid).is_some_and(|process| {
        let mut entries = process.environ().iter();
        entries.any(|entry| entry.as_encoded_bytes() == wanted)
    })
}

/// Returns nothing: the terminals of processes are unknown here.
pub(crate) fn directory(_pid: i32) -> Option<PathBuf> {
    None
}

/// Returns the memory of a process, in bytes.
pub(crate) fn memory(pid: i32) -> Option<u64> {
    let pid = known(pid)?;
    let system = listed(
        ProcessesToUpdate::Some(&[pid]),
        ProcessRefreshKind::nothing().with_memory(),
    );
    system.process(pid).map(sysinfo::Process::memory)
}

/// Returns whether a process runs the same file as this one; unknown here.
pub(crate) fn runs_our_program(_pid: i32) -> Option<bool> {
    None
}

/// Returns the program of a process; `None` if it has ended.
pub(crate) fn program(pid: i32) -> Option<Program> {
    let number = known(pid)?;
    let wanted = ProcessRefreshKind::nothing()
        .with_cmd(UpdateKind::Always)
        .with_cwd(UpdateKind::Always)
        .with_user(UpdateKind::Always);
    let system = listed(ProcessesToUpdate::Some(&[number]), wanted);
    let process = system.process(number)?;
    let words = process.cmd().iter();
    let program = Program {
        name: process.name().as_encoded_bytes().to_vec(),
        words: words.map(|word| word.as_encoded_bytes().to_vec()).collect(),
        directory: process.cwd().map(Path::to_owned),
    };
    // A process of the same user without a directory is about to end.
    let ours = nix::unistd::geteuid().as_raw();
    let is_ours = process.effective_user_id().is_some_and(|user| **user == ours);
    let is_there = program.directory.is_some() || (!is_ours && entry(pid).is_some_and(|stat| !stat.dead));
    is_there.then_some(program)
}

/// Returns the time when a process was started.
pub(crate) fn start_of(stat: &Stat) -> Option<SystemTime> {
    Some(UNIX_EPOCH + Duration::from_secs(stat.started))
}

/// Returns the time when the system was started, in seconds since 1970.
pub(crate) fn booted() -> Option<i64> {
    i64::try_from(System::boot_time()).ok().filter(|time| *time > 0)
}

fn listed(which: ProcessesToUpdate<'_>, kind: ProcessRefreshKind) -> System {
    let mut system = System::new();
    system.refresh_processes_specifics(which, true, kind);
    system
}

fn stat(process: &Process) -> Stat {
    Stat {
        dead: matches!(process.status(), ProcessStatus::Zombie | ProcessStatus::Dead),
        parent: process.parent().and_then(number).unwrap_or_default(),
        session: process.session_id().and_then(number).unwrap_or_default(),
        on_terminal: true,
        started: process.start_time(),
    }
}

fn known(pid: i32) -> Option<Pid> {
    usize::try_from(pid).ok().map(Pid::from)
}

fn number(pid: Pid) -> Option<i32> {
    i32::try_from(pid.as_u32()).ok()
}
