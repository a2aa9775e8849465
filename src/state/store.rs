//! The files of a loop: paths, saving the state, and the lock.
//!
//! Saving is atomic: temporary file in the same directory, fsync, rename, and fsync of the directory if a later step
//! relies on it. The lock is a `flock` on `<change>.lock` for a whole step; the file is never deleted, so that two
//! processes never lock two files of the same name. The git processes of a step hold it too: one that outlives its
//! git-ralph could otherwise write a file while the next command reads it.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use super::error::StateError;
use super::{State, moved};
use crate::fs::{
    Below, Durability, FileError, Links, entries_of, file_error, has_other_names, is_special, is_there,
    open_regular, read_regular, read_regular_text, seen, target_of,
};
use crate::held::Held;
use crate::names::{Change, ref_component};
use crate::processes::{self, is_abandoned, kill_runners_of};
use crate::slot::Slot;

/// The files of one loop, below `<git-common-dir>/ralph`.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
    pub(super) change: Change,
}

/// The right to change a loop, held until it is dropped.
#[derive(Debug)]
pub struct Lock {
    _held: Held,
}

/// The file in the loop's directory that requests an end between two attempts.
const STOP: &str = "stop";

/// Time to wait for a git, or a runner, whose git-ralph was killed.
const OUTLIVED_WAIT: Duration = Duration::from_secs(5);
/// Time within which such a runner must end its processes.
const RUNNER_WAIT: Duration = Duration::from_secs(2);
/// Time to wait for a killed runner: on a loaded machine its end takes long.
const KILLED_WAIT: Duration = Duration::from_secs(15);
/// Time to wait for the run of one change to stop after the run of several changes that started it was killed.
const ABANDONED_WAIT: Duration = Duration::from_secs(20);
const OUTLIVED_POLL: Duration = Duration::from_millis(20);

/// Maximum size of a state file, in bytes: far more than the longest list needs.
const MOST: u64 = 64 << 20;
const MOST_AT_A_GLANCE: u64 = 1 << 20;

impl Store {
    /// Returns the files of `change` in the repository with this common git directory.
    pub fn new(common_dir: &Path, change: &Change) -> Self {
        Self {
            root: common_dir.join("ralph"),
            change: change.clone(),
        }
    }

    /// Returns the handle for changing the loop's files, relative to git's directory.
    pub fn door(&self) -> Below {
        door_above(&self.root)
    }

    /// Returns the path of the state file.
    pub fn state_file(&self) -> PathBuf {
        self.root.join(format!("{}.toml", self.change))
    }

    /// Returns the loop's own directory.
    pub fn dir(&self) -> PathBuf {
        self.root.join(self.change.as_str())
    }

    /// Returns the path of a file in the loop's own directory.
    pub fn file(&self, name: &str) -> PathBuf {
        self.dir().join(name)
    }

    /// Returns the loop's slot.
    pub fn slot(&self) -> Slot {
        Slot::of(&self.dir())
    }

    /// Returns the path of the log with an attempt's output.
    pub fn attempt_log(&self, story: &str, attempt: u32) -> PathBuf {
        self.file(&format!("attempts/{}.{attempt}.log", ref_component(story)))
    }

    /// Returns the path of the file with an attempt's prompt.
    pub fn attempt_prompt(&self, story: &str, attempt: u32) -> PathBuf {
        self.file(&format!("attempts/{}.{attempt}.prompt.md", ref_component(story)))
    }

    /// Returns the path of the log with the output of the gates that run before any attempt.
    pub fn gates_log(&self) -> PathBuf {
        self.file("gates-at-start.log")
    }

    /// Removes the state and the directory of a finished loop. The caller holds the lock, whose file stays.
    pub fn remove_files(&self) -> Result<(), FileError> {
        let door = self.door();
        door.remove(&self.state_file())?;
        door.remove(&self.dir())
    }

    /// Creates the loop's directories, accessible only to the user.
    pub fn make_dirs(&self) -> Result<(), StateError> {
        share_root(&self.root)?;
        // An attempt whose git-ralph was killed may have put symlinks or pipes here, which redirect writes or block.
        let door = self.door();
        for path in [self.dir(), self.lock_path()] {
            if is_special(&path) {
                door.remove_file(&path)?;
            }
        }
        door.make_dir(&self.dir(), 0o700)?;
        door.remove_specials(&self.dir())?;
        for dir in [self.file("attempts"), self.file("trash")] {
            door.make_dir(&dir, 0o700)?;
        }
        Ok(())
    }

    /// Takes the lock without waiting.
    ///
    /// # Errors
    /// [`StateError::Busy`] if another process has it.
    pub fn lock(&self) -> Result<Lock, StateError> {
        self.make_dirs()?;
        self.lock_file(&self.lock_path())
    }

    /// Returns the path of the file whose `flock` is held for a whole step.
    pub fn lock_path(&self) -> PathBuf {
        self.root.join(format!("{}.lock", self.change))
    }

    /// Takes the lock that prevents two loops from beginning in one work tree at the same time.
    ///
    /// # Errors
    /// [`StateError::Busy`] if another process has it.
    pub fn lock_work_tree(&self, git_dir: &Path) -> Result<Lock, StateError> {
        let dir = git_dir.join("ralph");
        share_root(&dir)?;
        // No change can have the name `.start`.
        self.lock_file(&dir.join(".start.lock"))
    }

    /// Takes the lock under which a work tree is made for the loop; creates no other file of the loop.
    ///
    /// # Errors
    /// [`StateError::Busy`] if another process has it.
    pub fn lock_making(&self) -> Result<Lock, StateError> {
        share_root(&self.root)?;
        self.lock_file(&self.root.join(format!(".{}.worktree.lock", self.change)))
    }

    fn lock_file(&self, path: &Path) -> Result<Lock, StateError> {
        // git-ralph owns the directory `ralph` too: a symlink in its place is not followed.
        let file = door_above(path.parent().unwrap_or(path))
            .open_or_make(path)
            .map_err(|source| file_error("open", path, source))?;
        let begun = Instant::now();
        let mut has_killed = None;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(source)) => return Err(file_error("lock", path, source).into()),
            }
            let holder = read_holder(path).unwrap_or_default().trim().to_owned();
            let change = self.change.to_string();
            let is_ending = || process_of(&holder).is_some_and(is_abandoned);
            if !is_gone(&holder) && begun.elapsed() < ABANDONED_WAIT && is_ending() {
                sleep(OUTLIVED_POLL);
                continue;
            }
            if !is_gone(&holder) {
                let holder = (!holder.is_empty()).then_some(holder);
                return Err(StateError::Busy { change, holder });
            }
            if begun.elapsed() >= RUNNER_WAIT && has_killed.is_none() {
                // The runner is stopped: its processes are ended like those of a git-ralph without a runner.
                has_killed = Some(process_of(&holder).is_some_and(kill_runners_of));
            }
            let wait = match has_killed {
                Some(true) => KILLED_WAIT,
                _ => OUTLIVED_WAIT,
            };
            if begun.elapsed() >= wait {
                return Err(StateError::Outlived { change, holder });
            }
            sleep(OUTLIVED_POLL);
        }
        write_holder(&file).map_err(|source| file_error("write", path, source))?;
        Ok(Lock {
            _held: Held::new(file),
        })
    }

    /// Reads the state; returns `None` if there is no such loop.
    pub fn load(&self) -> Result<Option<State>, StateError> {
        let path = self.state_file();
        let text = match read_regular_text(&path, Links::Refused, MOST) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(StateError::Damaged {
                    path,
                    why: "it is not UTF-8 text".to_owned(),
                });
            }
            Err(source) => return Err(file_error("read", &path, source).into()),
        };
        let mut state = State::parse(&text, &path)?;
        if let Some(common_dir) = self.root.parent() {
            moved::follow(&mut state, common_dir);
        }
        Ok(Some(state))
    }

    /// Reads the state of a live loop; recognises a closed one by one line of its file, without parsing the rest.
    pub fn load_live(&self) -> Result<Option<State>, StateError> {
        let is_closed = |text: &[u8]| {
            let mut lines = text.split(|byte| *byte == b'\n');
            lines.find(|line| line.starts_with(b"phase = ")) == Some(b"phase = \"finished\"")
        };
        let path = self.state_file();
        // This is called very often: a state that takes long to read is skipped.
        match read_regular(&path, Links::Refused, MOST_AT_A_GLANCE) {
            Ok(text) if is_closed(&text) => Ok(None),
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(file_error("read", &path, source).into())
            }
            _ => Ok(self.load()?.filter(State::is_live)),
        }
    }

    /// Returns whether a process holds the lock now.
    pub fn is_held(&self) -> bool {
        let file = open_regular(&self.lock_path(), Links::Refused);
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Returns the files of another loop of the repository.
    pub fn of_other(&self, change: &Change) -> Self {
        Self {
            change: change.clone(),
            ..self.clone()
        }
    }

    /// Returns whether another loop of the repository may have run since then: a process holds it, or has written its
    /// files. Takes no lock, which would block the next command of that loop.
    pub fn may_another_have_run(&self, since: SystemTime) -> bool {
        let has_written = |other: &Self| {
            let files = [other.state_file(), other.file("events.jsonl")];
            let written = files.iter().filter_map(|file| seen(file)?.modified().ok());
            written.into_iter().any(|written| written >= since)
        };
        let others = changes_in(&self.root);
        others.map_or(true, |mut others| {
            others.retain(|change| *change != self.change);
            let mut others = others.iter().map(|change| self.of_other(change));
            others.any(|other| other.is_held() || has_written(&other))
        })
    }

    /// Returns the slots of the other loops of the repository that processes hold. Takes no lock.
    pub fn others_held(&self) -> Result<Vec<Slot>, StateError> {
        let mut all = changes_in(&self.root)?;
        all.retain(|change| *change != self.change && self.of_other(change).is_held());
        Ok(all.iter().map(|change| self.of_other(change).slot()).collect())
    }

    /// Returns whether a process holds the lock; waits briefly for the processes of a killed git-ralph to end.
    pub fn is_still_held(&self) -> bool {
        let begun = Instant::now();
        while self.is_held() {
            let is_left = read_holder(&self.lock_path()).is_ok_and(|holder| is_gone(&holder));
            if !is_left || begun.elapsed() >= RUNNER_WAIT {
                return true;
            }
            sleep(OUTLIVED_POLL);
        }
        false
    }

    /// Returns whether a process that may be alive holds the lock. Processes of a killed git-ralph do not count, not
    /// even stopped ones: the next process that takes the lock ends them.
    pub fn is_held_by_living(&self) -> bool {
        self.is_held() && !read_holder(&self.lock_path()).is_ok_and(|holder| is_gone(&holder))
    }

    /// Returns the process that holds the lock, or held it last; `None` if that is unknown.
    pub fn holder(&self) -> Option<i32> {
        process_of(&read_holder(&self.lock_path()).ok()?)
    }

    /// Returns whether the process that holds the lock, or held it last, is certainly gone.
    pub fn holder_is_gone(&self) -> bool {
        // In a sandbox the process is invisible, but its lock is visible.
        read_holder(&self.lock_path()).is_ok_and(|holder| is_gone(&holder)) && !self.is_held()
    }

    /// Asks the process that holds the loop to end between two attempts. Records its start time, if known: in a
    /// container, the process of the next run can have the same number.
    pub fn ask_to_stop(&self, holder: i32) -> Result<(), StateError> {
        let request = stop_request(holder);
        Ok(self.door().write_private(&self.file(STOP), &request)?)
    }

    /// Removes the request.
    pub fn forget_stop(&self) -> Result<(), StateError> {
        Ok(self.door().remove(&self.file(STOP))?)
    }

    /// Returns whether this process was asked to end between two attempts. A request to another process, which has
    /// ended since, does not count.
    pub fn is_asked_to_stop(&self) -> bool {
        self.is_stop_asked_of(processes::ourselves())
    }

    /// Returns whether the process that holds the loop was asked to end between two attempts.
    pub fn is_holder_asked_to_stop(&self) -> bool {
        self.holder().is_some_and(|holder| self.is_stop_asked_of(holder))
    }

    fn is_stop_asked_of(&self, process: i32) -> bool {
        let asked = read_holder(&self.file(STOP));
        // A process that does not see this one cannot record its start time.
        asked.is_ok_and(|asked| asked.ends_with('\n') && stop_request(process).starts_with(&asked))
    }

    /// Saves the state so that a crash or a power cut leaves either the old or the new one, and later operations can
    /// rely on the new one.
    ///
    /// If the state cannot be written; the old one is then unchanged.
    /// If it cannot be written; the old state is then unchanged.
    pub fn save(&self, state: &State) -> Result<(), StateError> {
        self.save_for(state, Durability::Synced)
    }

    /// Saves the state with less durability.
    pub fn save_for(&self, state: &State, durability: Durability) -> Result<(), StateError> {
        let path = self.state_file();
        let text = state.text().map_err(|error| StateError::Damaged {
            path: path.clone(),
            why: format!("the new state cannot be written: {error}"),
        })?;
        clear_root(&self.root)?;
        Ok(self.door().write(
            &path,
            text.as_bytes(),
            0o600 | shared_bits(&self.root) & 0o044,
            durability,
        )?)
    }
}

/// Returns the changes that have a state file, sorted.
pub fn changes(common_dir: &Path) -> Result<Vec<Change>, StateError> {
    changes_in(&common_dir.join("ralph"))
}

/// Returns the state of the loop that is active in a work tree.
pub fn live_in(common_dir: &Path, top: &Path) -> Result<Option<State>, StateError> {
    for change in changes(common_dir)? {
        let state = Store::new(common_dir, &change).load_live()?;
        if let Some(state) = state.filter(|state| state.work_tree() == top) {
            return Ok(Some(state));
        }
    }
    Ok(None)
}

fn changes_in(root: &Path) -> Result<Vec<Change>, StateError> {
    // A file that hides the loops does not mean that there are none.
    if target_of(root)?.is_some_and(|found| !found.is_dir()) {
        return Err(StateError::NoDirectory(root.to_owned()));
    }
    let mut found: Vec<Change> = entries_of(root)?
        .into_iter()
        .filter_map(|entry| {
            let name = entry.file_name();
            let stem = name.to_str()?.strip_suffix(".toml")?;
            Change::new(stem).ok()
        })
        .collect();
    found.sort();
    Ok(found)
}

/// Writes this process into its lock file. All entries have the same length, so that the file need not be emptied
/// first: on some file systems that is as slow as a sync.
fn write_holder(file: &File) -> io::Result<()> {
    // It may be a hard link to a file outside, which is locked, but not written.
    if has_other_names(&file.metadata()?) {
        return Ok(());
    }
    let line = format!("process {:<10}\n", std::process::id());
    file.write_all_at(line.as_bytes(), 0)?;
    let length = u64::try_from(line.len()).unwrap_or_default();
    if file.metadata()?.len() == length {
        return Ok(());
    }
    file.set_len(length)
}

fn read_holder(lock: &Path) -> io::Result<String> {
    read_regular_text(lock, Links::Refused, 4096)
}

/// Returns the process that a lock names.
fn process_of(holder: &str) -> Option<i32> {
    holder.trim().strip_prefix("process ")?.parse().ok()
}

/// Returns the text of a request to this process, and to no later one with the same number, to end.
fn stop_request(pid: i32) -> String {
    let start = processes::started_at(pid).map_or(String::new(), |start| format!("started {start}\n"));
    format!("process {pid}\n{start}")
}

/// Returns whether the process that a lock names is certainly gone.
fn is_gone(holder: &str) -> bool {
    process_of(holder).is_some_and(processes::is_gone)
}

/// Returns the permissions of other users in a directory that git shares with them (`core.sharedRepository`).
fn shared_bits(dir: &Path) -> u32 {
    let mode = seen(dir).map_or(0, |found| found.permissions().mode());
    // In a shared repository the group may write; read permission alone means nothing.
    if mode & 0o020 == 0 { 0 } else { mode & 0o077 }
}

/// Returns the handle of git's directory, the parent of the directory of all loops.
fn door_above(root: &Path) -> Below {
    Below::new(root.parent().unwrap_or(root))
}

/// Replaces an entry that an attempt put in the place of the directory of all loops, such as a symlink. Creates nothing
/// if there is no entry: the repository itself may be gone.
fn clear_root(root: &Path) -> Result<(), FileError> {
    if is_special(root) {
        share_root(root)?;
    }
    Ok(())
}

/// Makes the directory of all loops, if it is missing.
pub fn make_root(common_dir: &Path) -> Result<(), FileError> {
    share_root(&common_dir.join("ralph"))
}

/// Makes the directory of all loops accessible to all users of the repository: each has their own loops, accessible
/// only to them.
fn share_root(root: &Path) -> Result<(), FileError> {
    // An entry that an attempt put in its place may lead anywhere.
    let door = door_above(root);
    if is_special(root) {
        door.remove_file(root)?;
    }
    if is_there(root)? {
        return Ok(());
    }
    door.make_dir(root, 0o700)?;
    let shared = root.parent().map_or(0, shared_bits);
    if shared == 0 {
        return Ok(());
    }
    let mode = seen(root).map_or(0o700, |found| found.permissions().mode() | shared);
    door.set_mode(root, mode & 0o7777)
}

#[cfg(test)]
mod tests;
