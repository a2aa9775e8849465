//! Where a loop's files are, how its state is saved, and who may change it.
//!
//! Saving is atomic: temporary file in the same directory, fsync, rename, fsync of the directory. The lock is
//! a `flock` on `<change>.lock` for a whole step; the file is never deleted, so that two processes never hold
//! two files of the same name. The git processes of a step hold it too: one that outlives its git-ralph could
//! otherwise write what the next command reads.

use std::fs::{self, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::{Pid, Uid, User, geteuid};

use super::{State, VERSION};
use crate::async_cmd::quoted;
use crate::error::{Advice, Advise, hint};
use crate::exit::Exit;
use crate::fs::{
    Durability, FileError, Links, file_error, open_regular, read_regular, read_regular_text, write_atomically,
};
use crate::held::Held;
use crate::names::{Change, ref_component};

/// Why a state could not be read, saved or locked.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Another process holds the loop.
    #[error("another git-ralph is working on '{change}'{}", holder.as_ref().map(|h| format!(" ({h})")).unwrap_or_default())]
    Busy {
        /// The change.
        change: String,
        /// What the holder wrote about itself.
        holder: Option<String>,
    },
    /// The process that held the loop was killed, and one of its children goes on.
    #[error("{holder} is gone, but a git process that it started for '{change}' is still running")]
    Outlived {
        /// The change.
        change: String,
        /// What the holder wrote about itself.
        holder: String,
    },
    /// A newer program wrote the file.
    #[error("{} was written by a newer git-ralph (version {found}; this one reads version {VERSION})", path.display())]
    Newer {
        /// The state file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// The file is not a state.
    #[error("{} is damaged: {why}", path.display())]
    Damaged {
        /// The state file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The files of another user.
    #[error("{} belongs to the user {owner}, and is for them alone", path.display())]
    Foreign {
        /// What cannot be used.
        path: PathBuf,
        /// The name of its owner, or the number.
        owner: String,
    },
    /// A file.
    #[error(transparent)]
    File(FileError),
}

impl From<FileError> for StateError {
    fn from(error: FileError) -> Self {
        let denied = error.source.kind() == io::ErrorKind::PermissionDenied;
        // What is not there cannot be looked for in the directory of somebody else.
        let found = error
            .path
            .ancestors()
            .find_map(|path| Some((path, path.symlink_metadata().ok()?)));
        let owner = found.map(|(path, found)| (path, Uid::from_raw(found.uid())));
        match owner.filter(|(_, owner)| denied && *owner != geteuid()) {
            Some((path, owner)) => Self::Foreign {
                path: path.to_owned(),
                owner: name_of(owner),
            },
            None => Self::File(error),
        }
    }
}

fn name_of(uid: Uid) -> String {
    let user = User::from_uid(uid).ok().flatten();
    user.map_or_else(|| uid.to_string(), |user| user.name)
}

impl Advise for StateError {
    fn advice(&self) -> Advice {
        match self {
            Self::Busy { .. } | Self::Outlived { .. } => {
                hint("wait until it is done, then run the same command again").exit(Exit::Busy)
            }
            Self::Newer { .. } => hint("install a newer git-ralph"),
            Self::Damaged { path, .. } => {
                let change = path.file_stem().unwrap_or_default().to_string_lossy();
                hint(format!(
                    "move the file away, then run: git ralph start {change} --resume"
                ))
            }
            Self::Foreign { path, owner } => hint(format!(
                "sudo -u {owner} git ralph status, or, if it is yours: sudo chown -R \"$USER\" {}",
                quoted(&path.to_string_lossy())
            )),
            Self::File(error) => error.advice(),
        }
    }
}

/// The files of one loop, below `<git-common-dir>/ralph`.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
    change: Change,
}

/// The right to change a loop, held until dropped.
#[derive(Debug)]
pub struct Lock {
    _held: Held,
}

/// How long to wait for a git whose git-ralph was killed.
const OUTLIVED_WAIT: Duration = Duration::from_secs(5);
const OUTLIVED_POLL: Duration = Duration::from_millis(20);

/// How long a state may be, in bytes: far longer than that of the longest list.
const MOST: u64 = 64 << 20;
const MOST_AT_A_GLANCE: u64 = 1 << 20;

impl Store {
    /// Returns the files of `change` in the repository with this common git directory.
    #[must_use]
    pub fn new(common_dir: &Path, change: &Change) -> Self {
        Self {
            root: common_dir.join("ralph"),
            change: change.clone(),
        }
    }

    /// Returns the path of the state file.
    #[must_use]
    pub fn state_file(&self) -> PathBuf {
        self.root.join(format!("{}.toml", self.change))
    }

    /// Returns the loop's own directory.
    #[must_use]
    pub fn dir(&self) -> PathBuf {
        self.root.join(self.change.as_str())
    }

    /// Returns the path of a file in the loop's own directory.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.dir().join(name)
    }

    /// Returns the file that has what an attempt printed.
    #[must_use]
    pub fn attempt_log(&self, story: &str, attempt: u32) -> PathBuf {
        self.file(&format!("attempts/{}.{attempt}.log", ref_component(story)))
    }

    /// Makes the loop's directories, for the user alone.
    ///
    /// # Errors
    /// When one cannot be made.
    pub fn make_dirs(&self) -> Result<(), StateError> {
        share_root(&self.root)?;
        for dir in [self.dir(), self.file("attempts"), self.file("trash")] {
            make_dir(&dir)?;
            if dir.is_symlink() {
                let error = io::Error::other("it is a link, and may lead anywhere");
                return Err(file_error("use", &dir, error).into());
            }
        }
        Ok(())
    }

    /// Takes the lock without waiting.
    ///
    /// # Errors
    /// [`StateError::Busy`] when another process has it.
    pub fn lock(&self) -> Result<Lock, StateError> {
        self.make_dirs()?;
        self.lock_file(&self.lock_path())
    }

    /// Returns the path of the file whose `flock` is held for a whole step.
    #[must_use]
    pub fn lock_path(&self) -> PathBuf {
        self.root.join(format!("{}.lock", self.change))
    }

    /// Takes the lock that keeps two loops from beginning in one work tree at the same time.
    ///
    /// # Errors
    /// [`StateError::Busy`] when another process has it.
    pub fn lock_work_tree(&self, git_dir: &Path) -> Result<Lock, StateError> {
        let dir = git_dir.join("ralph");
        share_root(&dir)?;
        make_dir(&dir)?;
        // No change can be called `.start`.
        self.lock_file(&dir.join(".start.lock"))
    }

    fn lock_file(&self, path: &Path) -> Result<Lock, StateError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).mode(0o600);
        let mut file = open_regular(path, Links::Refused, &mut options)
            .map_err(|source| file_error("open", path, source))?;
        let deadline = Instant::now() + OUTLIVED_WAIT;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(source)) => return Err(file_error("lock", path, source).into()),
            }
            let holder = read_holder(path).unwrap_or_default().trim().to_owned();
            let change = self.change.to_string();
            if !is_gone(&holder) {
                let holder = (!holder.is_empty()).then_some(holder);
                return Err(StateError::Busy { change, holder });
            }
            if Instant::now() >= deadline {
                return Err(StateError::Outlived { change, holder });
            }
            sleep(OUTLIVED_POLL);
        }
        file.set_len(0)
            .and_then(|()| writeln!(file, "process {}", std::process::id()))
            .map_err(|source| file_error("write", path, source))?;
        Ok(Lock {
            _held: Held::new(file),
        })
    }

    /// Reads the state; returns `None` when there is no such loop.
    ///
    /// # Errors
    /// When the file cannot be read, is damaged, or was written by a newer program.
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
        parse(&text, &path).map(Some)
    }

    /// Reads the state of a loop that goes on; recognises a closed one by one line of its file, without
    /// reading the rest as a state.
    ///
    /// # Errors
    /// As [`Store::load`].
    pub fn load_live(&self) -> Result<Option<State>, StateError> {
        let is_closed = |text: &[u8]| {
            let mut lines = text.split(|byte| *byte == b'\n');
            lines.find(|line| line.starts_with(b"phase = ")) == Some(b"phase = \"finished\"")
        };
        let path = self.state_file();
        // It is asked for all the time: a state that would take long is passed over.
        match read_regular(&path, Links::Refused, MOST_AT_A_GLANCE) {
            Ok(text) if is_closed(&text) => Ok(None),
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(file_error("read", &path, source).into())
            }
            _ => Ok(self.load()?.filter(State::is_live)),
        }
    }

    /// Returns whether a process holds the lock now.
    #[must_use]
    pub fn is_held(&self) -> bool {
        let mut options = OpenOptions::new();
        let file = open_regular(&self.lock_path(), Links::Refused, options.read(true));
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Returns the process that holds the lock, or held it last; `None` when nobody can tell.
    #[must_use]
    pub fn holder(&self) -> Option<i32> {
        process_of(&read_holder(&self.lock_path()).ok()?)
    }

    /// Saves the state so that a crash or a power cut leaves either the old or the new one.
    ///
    /// # Errors
    /// When it cannot be written; the old state is then still there.
    pub fn save(&self, state: &State) -> Result<(), StateError> {
        let path = self.state_file();
        let text = toml::to_string(state).map_err(|error| StateError::Damaged {
            path: path.clone(),
            why: format!("the new state cannot be written: {error}"),
        })?;
        Ok(write_atomically(
            &path,
            text.as_bytes(),
            0o600 | shared_bits(&self.root) & 0o044,
            Durability::Synced,
        )?)
    }
}

/// Returns the changes that have a state file, sorted.
///
/// # Errors
/// When the directory is there but cannot be read.
pub fn changes(common_dir: &Path) -> Result<Vec<Change>, StateError> {
    let root = common_dir.join("ralph");
    let entries = match fs::read_dir(&root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(file_error("read", &root, source).into()),
    };
    let mut found: Vec<Change> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let name = entry.file_name();
            let stem = name.to_str()?.strip_suffix(".toml")?;
            Change::new(stem).ok()
        })
        .collect();
    found.sort();
    Ok(found)
}

fn read_holder(lock: &Path) -> io::Result<String> {
    read_regular_text(lock, Links::Refused, 4096)
}

/// Reads the process that a lock names.
fn process_of(holder: &str) -> Option<i32> {
    holder.trim().strip_prefix("process ")?.parse().ok()
}

/// Returns whether the process that a lock names is certainly gone.
fn is_gone(holder: &str) -> bool {
    process_of(holder).is_some_and(|pid| kill(Pid::from_raw(pid), None) == Err(Errno::ESRCH))
}

/// Returns the permissions that others have in a directory that git shares with them (`core.sharedRepository`).
fn shared_bits(dir: &Path) -> u32 {
    let mode = dir.metadata().map_or(0, |found| found.permissions().mode());
    // Whoever shares a repository lets others write; that others may read says nothing.
    if mode & 0o020 == 0 { 0 } else { mode & 0o077 }
}

/// Makes the directory of all loops, for those with whom the repository is shared as well: each has loops of their own,
/// which are for them alone.
fn share_root(root: &Path) -> Result<(), FileError> {
    if root.symlink_metadata().is_ok() {
        return Ok(());
    }
    make_dir(root)?;
    let shared = root.parent().map_or(0, shared_bits);
    if shared == 0 {
        return Ok(());
    }
    let mode = root
        .metadata()
        .map_or(0o700, |found| found.permissions().mode() | shared);
    fs::set_permissions(root, Permissions::from_mode(mode))
        .map_err(|source| file_error("change the mode of", root, source))
}

fn make_dir(dir: &Path) -> Result<(), FileError> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(|source| file_error("make", dir, source))
}

/// The version is read first: a newer file may have any other shape.
#[derive(serde::Deserialize)]
struct VersionOnly {
    version: u32,
}

fn parse(text: &str, path: &Path) -> Result<State, StateError> {
    let damaged = |error: toml::de::Error| StateError::Damaged {
        path: path.to_owned(),
        why: error.to_string().trim().to_owned(),
    };
    let version = toml::from_str::<VersionOnly>(text).map_err(damaged)?.version;
    if version > VERSION {
        return Err(StateError::Newer {
            path: path.to_owned(),
            found: version,
        });
    }
    toml::from_str(text).map_err(damaged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::chown;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn the_directory_of_all_loops_is_shared_as_the_repository_is() {
        for (repository, root) in [(0o700, 0o700), (0o755, 0o700), (0o770, 0o770), (0o775, 0o775)] {
            let dir = tempfile::tempdir().unwrap();
            fs::set_permissions(dir.path(), Permissions::from_mode(repository)).unwrap();
            let store = Store::new(dir.path(), &Change::new("c").unwrap());
            store.make_dirs().unwrap();
            assert_eq!(mode(&dir.path().join("ralph")), root, "{repository:o}");
            assert_eq!(mode(&store.dir()), 0o700);
        }
    }

    #[test]
    fn whose_the_files_are_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("c.toml");
        fs::write(&file, "").unwrap();
        let denied = |path: &Path| {
            let source = io::Error::from(io::ErrorKind::PermissionDenied);
            StateError::from(file_error("read", path, source))
        };
        assert!(matches!(denied(&file), StateError::File(_)));
        let theirs = if geteuid().is_root() {
            chown(&file, Some(65533), None).unwrap();
            file.as_path()
        } else {
            Path::new("/")
        };
        assert!(matches!(denied(theirs), StateError::Foreign { .. }));
    }
}
