//! The only way to change files below a directory in which others can write: follows no symlink in a path, reaches
//! nothing outside, and does not change a file with several hard links in place.
//!
//! An attempt can replace any directory by a symlink, and hard-link a file from outside. Each component is opened
//! relative to the one before it; a symlink or file in the place of a directory is [`io::ErrorKind::NotADirectory`].

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use nix::fcntl::{AtFlags, OFlag, renameat};
use nix::libc::{S_IFDIR, S_IFREG};
use nix::sys::stat::FileStat;
use nix::unistd::{UnlinkatFlags, linkat, symlinkat, unlinkat};

use super::error::{Durability, FileError, file_error};
use super::long;
use super::looking::if_there;
use super::place::{Missing, Place, chmod, is_absent, kind, outside, remove_all, sync, walk, widened};

/// A directory below which files are changed. The path of the directory itself may contain symlinks; all other paths
/// are relative to it, or begin with it, and have no `..`.
#[derive(Clone, Debug)]
pub struct Below {
    top: PathBuf,
}

impl Below {
    /// Returns the handle for the paths below `top`, which need not exist yet.
    pub fn new(top: &Path) -> Self {
        Self { top: top.to_owned() }
    }

    /// Returns the handle for git's directory, two levels above the directory of a loop.
    pub fn of_loop(dir: &Path) -> Self {
        Self::new(dir.ancestors().nth(2).unwrap_or(dir))
    }

    /// Returns the full path of `path`, which is relative to the directory or begins with it.
    pub fn path(&self, path: &Path) -> PathBuf {
        // The directory itself may be a relative path.
        if path.starts_with(&self.top) {
            path.to_owned()
        } else {
            self.top.join(path)
        }
    }

    /// Returns whether this path exists, and has only directories above it.
    pub fn exists(&self, path: &Path) -> Result<bool, FileError> {
        Ok(self.stat_if_there(path)?.is_some())
    }

    /// Returns whether this path is a regular file, and has only directories above it.
    pub fn is_regular(&self, path: &Path) -> Result<bool, FileError> {
        let found = self.stat_if_there(path)?;
        Ok(found.is_some_and(|found| kind(&found) == widened(S_IFREG)))
    }

    /// Returns whether this path is a directory, and has only directories above it.
    pub fn is_dir(&self, path: &Path) -> bool {
        self.stat(path)
            .is_ok_and(|found| kind(&found) == widened(S_IFDIR))
    }

    /// Returns whether no symlink or file replaces a directory above this path; directories may be missing.
    pub fn is_free(&self, path: &Path) -> Result<bool, FileError> {
        match self.stat(path) {
            Err(error) if is_absent(&error) => Ok(error.kind() == io::ErrorKind::NotFound),
            found => {
                found.map_err(|error| file_error("look at", &self.path(path), error))?;
                Ok(true)
            }
        }
    }

    /// Replaces a file completely. `mode` is its permissions.
    ///
    /// # Errors
    /// If it cannot be written; the old file then still exists.
    pub fn write(
        &self,
        path: &Path,
        bytes: &[u8],
        mode: u32,
        durability: Durability,
    ) -> Result<(), FileError> {
        let written = self.place(path, Missing::Fail).and_then(|place| {
            place.replace(|file| {
                file.write_all(bytes)?;
                file.set_permissions(Permissions::from_mode(mode))?;
                match durability {
                    Durability::Atomic => Ok(()),
                    Durability::Whole | Durability::Synced => file.sync_all(),
                }
            })?;
            if durability == Durability::Synced {
                sync(place.dir.as_fd())?;
            }
            Ok(())
        });
        written.map_err(|source| file_error("write", &self.path(path), source))
    }

    /// Copies the file `from` to a path, with its permissions and time; creates the directories above it.
    pub fn copy(&self, from: &Path, path: &Path) -> Result<(), FileError> {
        let copied = self.place(path, Missing::Make(0o777)).and_then(|place| {
            let mut source = File::open(from).or_else(|error| long::open_to_read(from, error))?;
            let found = source.metadata()?;
            place.replace(|file| {
                io::copy(&mut source, file)?;
                file.set_permissions(found.permissions())?;
                file.set_modified(found.modified()?)
            })
        });
        copied.map_err(|source| file_error("copy", from, source))
    }

    /// Fills a new file, and renames it over any other.
    ///
    /// # Errors
    /// If it cannot be written; the old file then still exists.
    pub fn replace(
        &self,
        path: &Path,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<(), FileError> {
        let replaced = self
            .place(path, Missing::Fail)
            .and_then(|place| place.replace(fill));
        replaced.map_err(|source| file_error("write", &self.path(path), source))
    }

    /// Replaces a file by a text that only the user can read.
    pub fn write_private(&self, path: &Path, text: &str) -> Result<(), FileError> {
        self.write(path, text.as_bytes(), 0o600, Durability::Atomic)
    }

    /// Appends to a file that only the user can read. A file with several hard links is replaced by a longer one.
    pub fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let place = self.place(path, Missing::Fail)?;
        let mut file = place.open(OFlag::O_WRONLY | OFlag::O_APPEND | OFlag::O_CREAT, 0o600)?;
        if file.metadata()?.nlink() < 2 {
            return file.write_all(bytes);
        }
        let mut old = place.open(OFlag::O_RDONLY, 0)?;
        let mode = old.metadata()?.mode() & 0o600;
        place.replace(|new| {
            io::copy(&mut old, new)?;
            new.write_all(bytes)?;
            new.set_permissions(Permissions::from_mode(0o600 | mode))
        })
    }

    /// Opens a regular file for reading and locking; creates it for the user alone if it is missing.
    pub fn open_or_make(&self, path: &Path) -> io::Result<File> {
        self.place(path, Missing::Fail)?
            .open(OFlag::O_RDWR | OFlag::O_CREAT, 0o600)
    }

    /// Creates a file at a free path, and opens it for appending. `mode` is its permissions, less the umask.
    ///
    /// # Errors
    /// If the path exists ([`io::ErrorKind::AlreadyExists`]), or the file cannot be created.
    pub fn make_file(&self, path: &Path, mode: u32) -> io::Result<File> {
        let flags = OFlag::O_WRONLY | OFlag::O_APPEND | OFlag::O_CREAT | OFlag::O_EXCL;
        self.place(path, Missing::Fail)?.open(flags, mode)
    }

    /// Replaces a file by an empty one that only the user can read, and opens it for appending.
    pub fn begin_file(&self, path: &Path) -> Result<File, FileError> {
        let made = self
            .remove_file(path)
            .map_err(|error| error.source)
            .and_then(|()| self.make_file(path, 0o600));
        made.map_err(|source| file_error("write", &self.path(path), source))
    }

    /// Sets the present time on an existing regular file; returns `false` for a file with several hard links.
    pub fn touch(&self, path: &Path) -> io::Result<bool> {
        let file = self.place(path, Missing::Fail)?.open(OFlag::O_RDONLY, 0)?;
        let is_own = file.metadata()?.nlink() < 2;
        if is_own {
            file.set_modified(SystemTime::now())?;
        }
        Ok(is_own)
    }

    /// Creates a directory and its parents, if missing. `mode` is the permissions of new ones, less the umask.
    pub fn make_dir(&self, path: &Path, mode: u32) -> Result<(), FileError> {
        let made = self
            .parts(path)
            .and_then(|parts| walk(&self.top, &parts, Missing::Make(mode)));
        made.map(drop)
            .map_err(|source| file_error("make", &self.path(path), source))
    }

    /// Replaces a file by a symlink; creates the directories above it.
    pub fn link(&self, target: &Path, path: &Path) -> Result<(), FileError> {
        let made = self.place(path, Missing::Make(0o777)).and_then(|place| {
            place.remove_file()?;
            Ok(symlinkat(target, &place.dir, place.name)?)
        });
        made.map_err(|source| file_error("write", &self.path(path), source))
    }

    /// Removes a file or symlink, if it exists; the target of a symlink stays.
    pub fn remove_file(&self, path: &Path) -> Result<(), FileError> {
        let removed = self
            .place(path, Missing::Fail)
            .and_then(|place| place.remove_file());
        self.gone("remove", path, removed)
    }

    /// Removes an empty directory.
    pub fn remove_empty_dir(&self, path: &Path) -> io::Result<()> {
        let place = self.place(path, Missing::Fail)?;
        Ok(unlinkat(&place.dir, place.name, UnlinkatFlags::RemoveDir)?)
    }

    /// Removes a path, including a directory with all its content, whatever its permissions.
    pub fn remove(&self, path: &Path) -> Result<(), FileError> {
        let removed = self
            .place(path, Missing::Fail)
            .and_then(|place| remove_all(place.dir.as_fd(), place.name));
        self.gone("remove", path, removed)
    }

    /// Moves `path` to `to` below another directory, and creates the directories above it. Moves a symlink itself.
    pub fn rename(&self, path: &Path, other: &Self, to: &Path) -> io::Result<()> {
        let from = self.place(path, Missing::Fail)?;
        let to = other.place(to, Missing::Make(0o777))?;
        Ok(renameat(&from.dir, from.name, &to.dir, to.name)?)
    }

    /// Adds a hard link to the file `path` at a free path below the same directory.
    pub fn add_name(&self, path: &Path, name: &Path) -> io::Result<()> {
        let from = self.place(path, Missing::Fail)?;
        let to = self.place(name, Missing::Fail)?;
        Ok(linkat(&from.dir, from.name, &to.dir, to.name, AtFlags::empty())?)
    }

    /// Sets permissions, but never of a symlink, nor of a file with several hard links.
    pub fn set_mode(&self, path: &Path, mode: u32) -> Result<(), FileError> {
        let set = if self.is_top(path) {
            fs::set_permissions(&self.top, Permissions::from_mode(mode))
        } else {
            self.place(path, Missing::Fail).and_then(|place| {
                let found = place.stat()?;
                let is_dir = kind(&found) == widened(S_IFDIR);
                let is_own_file = kind(&found) == widened(S_IFREG) && found.st_nlink < 2;
                if is_dir || is_own_file {
                    chmod(place.dir.as_fd(), place.name, mode)?;
                }
                Ok(())
            })
        };
        set.map_err(|source| file_error("change the mode of", &self.path(path), source))
    }

    fn is_top(&self, path: &Path) -> bool {
        path.as_os_str().is_empty() || path == self.top
    }

    fn stat(&self, path: &Path) -> io::Result<FileStat> {
        self.place(path, Missing::Fail)?.stat()
    }

    fn stat_if_there(&self, path: &Path) -> Result<Option<FileStat>, FileError> {
        if_there("look at", &self.path(path), self.stat(path))
    }

    /// Ignores the error of a missing path.
    fn gone(&self, what: &'static str, path: &Path, done: io::Result<()>) -> Result<(), FileError> {
        match done {
            Err(error) if is_absent(&error) => Ok(()),
            done => done.map_err(|source| file_error(what, &self.path(path), source)),
        }
    }

    fn place<'p>(&self, path: &'p Path, missing: Missing) -> io::Result<Place<'p>> {
        let parts = self.parts(path)?;
        let (name, above) = parts.split_last().ok_or_else(outside)?;
        Ok(Place {
            dir: walk(&self.top, above, missing)?,
            name,
        })
    }

    /// Returns the components below the top.
    fn parts<'p>(&self, path: &'p Path) -> io::Result<Vec<&'p OsStr>> {
        let path = path.strip_prefix(&self.top).unwrap_or(path);
        path.components()
            .map(|part| match part {
                Component::Normal(name) => Ok(name),
                _ => Err(outside()),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
