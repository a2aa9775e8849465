//! Git's own files with which an agent can hide work or change git's behaviour: configuration, exclude and attribute
//! rules, sparse-checkout patterns, hooks, and the paths of the common directory and of borrowed objects.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use super::error::GitError;
use super::hooks::OWN_DIRECTORY;
use super::layout::RepoLayout;
use crate::fs::{Below, Durability, FileError, entries_of, file_error, is_directory, kind_of, link_of, read};

/// The content of these files of one repository at one moment, by path. A symlink is stored as its target's name:
/// nothing behind a symlink is read, written or removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnFiles(BTreeMap<PathBuf, Entry>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    File {
        mode: u32,
        bytes: Vec<u8>,
    },
    Link(PathBuf),
    /// A directory that is searched for files; other directories are [`Entry::Other`].
    Directory,
    /// A pipe, a socket, or a directory in the place of a file.
    Other,
}

impl Entry {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::File { bytes, .. } => bytes,
            _ => &[],
        }
    }
}

/// A file that was restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutBack {
    /// Its path.
    pub path: PathBuf,
    /// The new path of the replaced file; `None` if there was none.
    pub instead: Option<PathBuf>,
    /// The content of the replaced file; empty for anything but a file.
    pub bytes: Vec<u8>,
}

/// A file of the restored state through which git runs commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runs {
    /// Its name in a copy.
    pub name: PathBuf,
    /// Its path in the repository.
    pub path: PathBuf,
    /// True for a configuration file, which may run nothing.
    pub is_config: bool,
}

/// Files, and directories with files, that are recorded from a git directory.
const FILES: [&str; 4] = ["config", "config.worktree", "commondir", ALTERNATES];
const DIRECTORIES: [&str; 3] = ["info", "hooks", OWN_DIRECTORY];
/// The list of other repositories' objects (gitrepository-layout(5)): objects borrowed from a place that an attempt
/// chose disappear with that place.
const ALTERNATES: &str = "objects/info/alternates";
/// The directories whose files alone run nothing.
const HARMLESS: [&str; 2] = ["info", "objects"];

/// Number of path components beyond which directories are not searched.
const DEEPEST: usize = 6;

/// The interval between two tries to take git's lock of its configuration, and the number of tries.
const LOCK_WAIT: Duration = Duration::from_millis(5);
const LOCK_TRIES: u32 = 100;

/// Directories of a saved copy: for the files of the common git directory, and for those of a linked work
/// tree.
const PLACES: [&str; 2] = ["common", "worktree"];

impl OwnFiles {
    /// Reads the files from the repository.
    pub fn read(layout: &RepoLayout) -> Result<Self, GitError> {
        let mut files = Self::default();
        files.take_place(PLACES[0], &layout.common_dir)?;
        if layout.git_dir != layout.common_dir {
            files.take_place(PLACES[1], &layout.git_dir)?;
        }
        Ok(files)
    }

    /// Reads a copy that [`OwnFiles::save`] made; returns an empty one if there is none.
    pub fn load(copy: &Path) -> Result<Self, GitError> {
        let mut files = Self::default();
        for place in PLACES {
            files.take_place(place, &copy.join(place))?;
        }
        Ok(files)
    }

    /// Reads a copy that another process may discard or replace at any time; returns `None` if there is none, or if it
    /// changed during the read.
    pub fn load_whole(copy: &Path) -> Result<Option<Self>, GitError> {
        let identity = || Ok::<_, FileError>(kind_of(copy)?.map(|found| (found.dev(), found.ino())));
        let before = identity()?;
        let files = Self::load(copy)?;
        Ok(Some(files).filter(|_| before.is_some() && identity().is_ok_and(|after| after == before)))
    }

    /// Replaces the files that all work trees share by those of an earlier state.
    pub fn take_shared(&mut self, earlier: Self) {
        let is_shared = |name: &PathBuf| name.starts_with(PLACES[0]);
        self.0.retain(|name, _| !is_shared(name));
        self.0
            .extend(earlier.0.into_iter().filter(|(name, _)| is_shared(name)));
    }

    /// Writes a copy into the directory `copy` below `door`, replacing an older one. The copy is complete or absent:
    /// with half a copy, the other files would look newly added.
    pub fn save(&self, door: &Below, copy: &Path) -> Result<(), FileError> {
        Self::discard(door, copy)?;
        let new = copy.with_extension("new");
        door.remove(&new)?;
        door.make_dir(&new, 0o777)?;
        for (name, entry) in &self.0 {
            put(door, &new.join(name), entry)?;
        }
        door.rename(&new, door, copy)
            .map_err(|error| file_error("rename", &new, error))
    }

    /// Removes a copy, completely or not at all.
    pub fn discard(door: &Below, copy: &Path) -> Result<(), FileError> {
        let old = copy.with_extension("old");
        door.remove(&old)?;
        match door.rename(copy, door, &old) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(file_error("rename", copy, error)),
            Ok(()) => door.remove(&old),
        }
    }

    /// Returns the files that [`OwnFiles::restore`] would write and through which git can run commands.
    pub fn would_run(&self, layout: &RepoLayout) -> Result<Vec<Runs>, GitError> {
        let now = Self::read(layout)?;
        let is_written = |(name, was): &(&PathBuf, &Entry)| {
            matches!(was, Entry::File { .. } | Entry::Link(_)) && now.0.get(*name) != Some(was)
        };
        let runs = |(name, _): (&PathBuf, &Entry)| {
            let mut parts = name.iter().skip(1);
            let is_harmless = parts
                .next()
                .is_some_and(|dir| HARMLESS.iter().any(|harmless| dir == *harmless));
            (!is_harmless).then(|| Runs {
                path: in_repository(layout, name),
                is_config: name.file_name().is_some_and(|file| file != "commondir")
                    && name.iter().count() == 2
                    && matches!(self.0.get(name), Some(Entry::File { .. })),
                name: name.clone(),
            })
        };
        Ok(self.0.iter().filter(is_written).filter_map(runs).collect())
    }

    /// Restores the repository's files to this state, except those with these names; replaced files go to `trash`, a
    /// new directory below `door`. Returns the files that differed.
    pub fn restore(
        &self,
        layout: &RepoLayout,
        (door, trash): (&Below, &Path),
        except: &BTreeSet<PathBuf>,
    ) -> Result<Vec<PutBack>, GitError> {
        let now = Self::read(layout)?;
        let mut differed = Vec::new();
        let mut moved: Vec<&Path> = Vec::new();
        // A directory comes before its entries.
        let names: BTreeSet<&PathBuf> = self.0.keys().chain(now.0.keys()).collect();
        for name in names {
            let (was, mut is) = (self.0.get(name), now.0.get(name));
            if moved.iter().any(|dir| name.starts_with(dir)) {
                is = None;
            }
            if was == is || (was.is_none() && !is_ever_ours(name, is)) || except.contains(name) {
                continue;
            }
            let (here, path) = (place_of(layout, name), in_repository(layout, name));
            let away = trash.join(name);
            // Waits for another git that writes its settings now, and keeps others waiting.
            let lock = ConfigLock::take(&here, &path, was.or(is));
            let fresh;
            if lock.is_some() {
                fresh = Self::of_file(name, &path)?;
                is = fresh.0.get(name);
            }
            match is {
                Some(Entry::Directory | Entry::Other) => {
                    here.rename(&path, door, &away)
                        .map_err(|error| file_error("move to the trash", &path, error))?;
                    moved.push(name);
                }
                // A rename replaces the file: git never sees the repository without its configuration.
                Some(is) => put(door, &away, is)?,
                None => {}
            }
            let is_file = |entry: Option<&Entry>| matches!(entry, Some(Entry::File { .. } | Entry::Link(_)));
            if is_file(is) && !is_file(was) {
                here.remove_file(&path)?;
            }
            if let Some(was) = was {
                put(&here, &path, was)?;
            }
            drop(lock);
            differed.push(PutBack {
                path,
                instead: is.map(|_| away),
                bytes: was.map(Entry::bytes).unwrap_or_default().to_owned(),
            });
        }
        Ok(differed)
    }

    /// Returns the repository's configuration in this state and in another one, if nothing else differs.
    pub fn configurations<'a>(&'a self, now: &'a Self) -> Option<(&'a [u8], &'a [u8])> {
        let config = Path::new(PLACES[0]).join("config");
        let mut others = self.0.keys().chain(now.0.keys()).filter(|name| **name != config);
        match (self.0.get(&config)?, now.0.get(&config)?) {
            (Entry::File { bytes: was, .. }, Entry::File { bytes: is, .. })
                if others.all(|name| self.0.get(name) == now.0.get(name)) =>
            {
                Some((was, is))
            }
            _ => None,
        }
    }

    fn take_place(&mut self, place: &str, dir: &Path) -> Result<(), GitError> {
        for name in FILES {
            self.take(&Path::new(place).join(name), &dir.join(name))?;
        }
        for name in DIRECTORIES {
            self.take_dir(&Path::new(place).join(name), &dir.join(name))?;
        }
        Ok(())
    }

    /// Reads one file.
    fn of_file(name: &Path, path: &Path) -> Result<Self, GitError> {
        let mut file = Self::default();
        file.take(name, path)?;
        Ok(file)
    }

    fn take(&mut self, name: &Path, path: &Path) -> Result<(), GitError> {
        let Some(metadata) = kind_of(path)? else {
            return Ok(());
        };
        let entry = if metadata.is_symlink() {
            Entry::Link(link_of(path)?)
        } else if metadata.is_file() {
            Entry::File {
                mode: metadata.permissions().mode() & 0o7777,
                bytes: read(path)?,
            }
        } else {
            Entry::Other
        };
        self.0.insert(name.to_owned(), entry);
        Ok(())
    }

    /// Records a directory and the files in it, without git's sample hooks, which never run, and without git's list of
    /// refs for dumb servers, which git rewrites at any time.
    fn take_dir(&mut self, name: &Path, dir: &Path) -> Result<(), GitError> {
        if !is_directory(dir)? {
            return self.take(name, dir);
        }
        self.0.insert(name.to_owned(), Entry::Directory);
        for entry in entries_of(dir)? {
            let (path, name) = (entry.path(), name.join(entry.file_name()));
            let sample = path.extension().is_some_and(|extension| extension == "sample");
            if !sample && !name.ends_with("info/refs") {
                // A hook can run what is in a directory beside it. One deeper than the system reads is left alone.
                if name.components().count() < DEEPEST {
                    self.take_dir(&name, &path)?;
                } else {
                    self.take(&name, &path)?;
                }
            }
        }
        Ok(())
    }
}

/// Git's own lock of a configuration file, until it is dropped.
struct ConfigLock {
    door: Below,
    path: PathBuf,
}

impl ConfigLock {
    /// Takes the lock; `None` for another file, or if another process holds the lock for long.
    fn take(door: &Below, path: &Path, entry: Option<&Entry>) -> Option<Self> {
        let is_config = path.file_name().is_some_and(|name| name == "config");
        if !is_config || !matches!(entry, Some(Entry::File { .. })) {
            return None;
        }
        let (door, path) = (door.clone(), path.with_extension("lock"));
        for _ in 0..LOCK_TRIES {
            match door.make_file(&path, 0o666) {
                Ok(_) => return Some(Self { door, path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => sleep(LOCK_WAIT),
                Err(_) => return None,
            }
        }
        None
    }
}

impl Drop for ConfigLock {
    fn drop(&mut self) {
        // The next command removes a stale lock.
        let _ = self.door.remove_file(&self.path);
    }
}

/// Returns whether a path that appeared during an attempt is to be removed: a directory itself is harmless, and an
/// entry that git cannot read as a file matters only where git looks for a file.
fn is_ever_ours(name: &Path, is: Option<&Entry>) -> bool {
    match is {
        Some(Entry::Directory) => false,
        Some(Entry::Other) => name.components().count() == 2,
        _ => true,
    }
}

fn in_repository(layout: &RepoLayout, name: &Path) -> PathBuf {
    match name.strip_prefix(PLACES[0]) {
        Ok(rest) => layout.common_dir.join(rest),
        Err(_) => layout.git_dir.join(name.strip_prefix(PLACES[1]).unwrap_or(name)),
    }
}

/// Returns the git directory that contains a file of this name.
fn place_of(layout: &RepoLayout, name: &Path) -> Below {
    Below::new(if name.starts_with(PLACES[0]) {
        &layout.common_dir
    } else {
        &layout.git_dir
    })
}

fn put(door: &Below, path: &Path, entry: &Entry) -> Result<(), FileError> {
    if let Some(dir) = path.parent() {
        door.make_dir(dir, 0o777)?;
    }
    match entry {
        Entry::File { mode, bytes } => door.write(path, bytes, *mode, Durability::Atomic),
        Entry::Link(target) => door.link(target, path),
        Entry::Directory => door.make_dir(path, 0o777),
        // Git cannot have used such an entry.
        Entry::Other => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreadable_files_are_not_recorded_as_missing() {
        let temp = tempfile::tempdir().unwrap();
        let layout = |dir: PathBuf| RepoLayout {
            git_dir: dir.clone(),
            common_dir: dir,
        };
        assert!(OwnFiles::read(&layout(temp.path().join("none"))).is_ok());
        assert!(OwnFiles::read(&layout(temp.path().join("n".repeat(256)))).is_err());
    }
}
