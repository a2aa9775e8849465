//! The one door for changes below a directory in which others can write: no link on the way is followed, nothing outside
//! is reached, and a file that has several names is not changed in place.
//!
//! An attempt can put a link in the place of any directory, and give a file outside a second name inside. Each component
//! is opened from the one before it; a link, like a file, in the place of a directory is [`io::ErrorKind::NotADirectory`].

use std::ffi::{CStr, OsStr, OsString};
use std::fs::{DirBuilder, File, Permissions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, renameat};
use nix::libc::{S_IFDIR, S_IFMT, S_IFREG};
use nix::sys::stat::{FchmodatFlags, FileStat, Mode, fchmodat, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, symlinkat, unlinkat};

use super::error::{Durability, FileError, file_error, not_regular};

/// Opens a directory only to go on from it: it need not be readable.
#[cfg(any(target_os = "linux", target_os = "android"))]
const PASS: OFlag = OFlag::O_PATH;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const PASS: OFlag = OFlag::O_RDONLY;

/// A directory below which files are changed. The directory itself is where its path leads; all paths are relative to it,
/// or begin with it, and have no `..`.
#[derive(Clone, Debug)]
pub struct Below {
    top: PathBuf,
}

/// The treatment of directories that are not there.
#[derive(Clone, Copy)]
enum Missing {
    Fail,
    Make(u32),
}

/// A place in a directory that is open.
struct Place<'p> {
    dir: OwnedFd,
    name: &'p OsStr,
}

impl Below {
    /// Returns the door to what is below `top`, which need not exist yet.
    #[must_use]
    pub fn new(top: &Path) -> Self {
        Self { top: top.to_owned() }
    }

    /// Returns whether something is at this path, and all above it are directories.
    #[must_use]
    pub fn exists(&self, path: &Path) -> bool {
        self.stat(path).is_ok()
    }

    /// Returns whether a directory is at this path, and all above it are directories.
    #[must_use]
    pub fn is_dir(&self, path: &Path) -> bool {
        self.stat(path)
            .is_ok_and(|found| kind(&found) == widened(S_IFDIR))
    }

    /// Returns whether no link or file is in the place of a directory above this path; directories may be missing.
    #[must_use]
    pub fn is_free(&self, path: &Path) -> bool {
        match self.stat(path) {
            Ok(_) => true,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }

    /// Writes a whole file in place of any other. `mode` is its permissions.
    ///
    /// # Errors
    /// If it cannot be written; the old file is then still there.
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
        written.map_err(|source| file_error("write", &self.top.join(path), source))
    }

    /// Copies the file `from` to a path, with its permissions and time; makes the directories above it.
    ///
    /// # Errors
    /// If it cannot be read or written.
    pub fn copy(&self, from: &Path, path: &Path) -> Result<(), FileError> {
        let copied = self.place(path, Missing::Make(0o777)).and_then(|place| {
            let mut source = File::open(from)?;
            let found = source.metadata()?;
            place.replace(|file| {
                io::copy(&mut source, file)?;
                file.set_permissions(found.permissions())?;
                file.set_modified(found.modified()?)
            })
        });
        copied.map_err(|source| file_error("copy", from, source))
    }

    /// Fills a new file, and puts it in place of any other.
    ///
    /// # Errors
    /// If it cannot be written; the old file is then still there.
    pub fn replace(
        &self,
        path: &Path,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<(), FileError> {
        let replaced = self
            .place(path, Missing::Fail)
            .and_then(|place| place.replace(fill));
        replaced.map_err(|source| file_error("write", &self.top.join(path), source))
    }

    /// Appends to a file for the user alone. One that has another name too is replaced by a longer one.
    ///
    /// # Errors
    /// If it cannot be written, or is no regular file.
    pub fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let place = self.place(path, Missing::Fail)?;
        let mut file = place.open(OFlag::O_WRONLY | OFlag::O_APPEND | OFlag::O_CREAT)?;
        if file.metadata()?.nlink() < 2 {
            return file.write_all(bytes);
        }
        let mut old = place.open(OFlag::O_RDONLY)?;
        let mode = old.metadata()?.mode() & 0o600;
        place.replace(|new| {
            io::copy(&mut old, new)?;
            new.write_all(bytes)?;
            new.set_permissions(Permissions::from_mode(0o600 | mode))
        })
    }

    /// Opens a regular file to read it, and to lock it; makes it if it is not there.
    ///
    /// # Errors
    /// If it cannot be opened, or is no regular file.
    pub fn open_or_make(&self, path: &Path) -> io::Result<File> {
        self.place(path, Missing::Fail)?
            .open(OFlag::O_RDWR | OFlag::O_CREAT)
    }

    /// Makes a directory, with those above it, unless it is there. `mode` is the permissions of new ones, less the umask.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn make_dir(&self, path: &Path, mode: u32) -> Result<(), FileError> {
        let made = self
            .parts(path)
            .and_then(|parts| self.walk(&parts, Missing::Make(mode)));
        made.map(drop)
            .map_err(|source| file_error("make", &self.top.join(path), source))
    }

    /// Makes a symlink in place of any file; makes the directories above it.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn link(&self, target: &Path, path: &Path) -> Result<(), FileError> {
        let made = self.place(path, Missing::Make(0o777)).and_then(|place| {
            place.remove_file()?;
            Ok(symlinkat(target, &place.dir, place.name)?)
        });
        made.map_err(|source| file_error("write", &self.top.join(path), source))
    }

    /// Removes a file, if it is there. What a link leads to stays.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove_file(&self, path: &Path) -> Result<(), FileError> {
        let removed = self
            .place(path, Missing::Fail)
            .and_then(|place| place.remove_file());
        self.gone("remove", path, removed)
    }

    /// Removes a directory that is empty.
    ///
    /// # Errors
    /// If it is not there, or holds something.
    pub fn remove_empty_dir(&self, path: &Path) -> io::Result<()> {
        let place = self.place(path, Missing::Fail)?;
        Ok(unlinkat(&place.dir, place.name, UnlinkatFlags::RemoveDir)?)
    }

    /// Removes whatever is there, a directory with everything in it, whatever the permissions in it are.
    ///
    /// # Errors
    /// If the system refuses all the same.
    pub fn remove(&self, path: &Path) -> Result<(), FileError> {
        let removed = self
            .place(path, Missing::Fail)
            .and_then(|place| remove_all(place.dir.as_fd(), place.name));
        self.gone("remove", path, removed)
    }

    /// Moves `path` to `to` below another directory, and makes the directories above it. A link is moved, not followed.
    ///
    /// # Errors
    /// If it cannot be moved.
    pub fn rename(&self, path: &Path, other: &Self, to: &Path) -> io::Result<()> {
        let from = self.place(path, Missing::Fail)?;
        let to = other.place(to, Missing::Make(0o777))?;
        Ok(renameat(&from.dir, from.name, &to.dir, to.name)?)
    }

    /// Sets permissions, but never those of a link, nor of a file that has another name too.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn set_mode(&self, path: &Path, mode: u32) -> Result<(), FileError> {
        let set = self.place(path, Missing::Fail).and_then(|place| {
            let found = place.stat()?;
            let is_dir = kind(&found) == widened(S_IFDIR);
            let is_own_file = kind(&found) == widened(S_IFREG) && found.st_nlink < 2;
            if is_dir || is_own_file {
                chmod(place.dir.as_fd(), place.name, mode)?;
            }
            Ok(())
        });
        set.map_err(|source| file_error("change the mode of", &self.top.join(path), source))
    }

    fn stat(&self, path: &Path) -> io::Result<FileStat> {
        self.place(path, Missing::Fail)?.stat()
    }

    /// Takes it as done if it is not there, or cannot be, since no directory is above it.
    fn gone(&self, what: &'static str, path: &Path, done: io::Result<()>) -> Result<(), FileError> {
        match done {
            Err(error) if is_absent(&error) => Ok(()),
            done => done.map_err(|source| file_error(what, &self.top.join(path), source)),
        }
    }

    fn place<'p>(&self, path: &'p Path, missing: Missing) -> io::Result<Place<'p>> {
        let parts = self.parts(path)?;
        let (name, above) = parts.split_last().ok_or_else(outside)?;
        Ok(Place {
            dir: self.walk(above, missing)?,
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

    fn walk(&self, dirs: &[&OsStr], missing: Missing) -> io::Result<OwnedFd> {
        let flags = PASS | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let top = if self.top.as_os_str().is_empty() {
            Path::new(".")
        } else {
            &self.top
        };
        let open = || nix::fcntl::open(top, flags, Mode::empty());
        let mut dir = match (open(), missing) {
            (Err(Errno::ENOENT), Missing::Make(mode)) => {
                DirBuilder::new().recursive(true).mode(mode).create(top)?;
                open()?
            }
            (opened, _) => opened?,
        };
        for name in dirs {
            let step = || openat(&dir, *name, flags | OFlag::O_NOFOLLOW, Mode::empty());
            let next = match (step(), missing) {
                (Err(Errno::ENOENT), Missing::Make(mode)) => match mkdirat(&dir, *name, permissions(mode)) {
                    Ok(()) | Err(Errno::EEXIST) => step(),
                    Err(error) => Err(error),
                },
                (found, _) => found,
            };
            dir = next.map_err(|error| match error {
                // The systems differ in how they call it.
                Errno::ELOOP | Errno::EMLINK => Errno::ENOTDIR,
                other => other,
            })?;
        }
        Ok(dir)
    }
}

impl Place<'_> {
    fn stat(&self) -> io::Result<FileStat> {
        Ok(fstatat(&self.dir, self.name, AtFlags::AT_SYMLINK_NOFOLLOW)?)
    }

    /// Opens a regular file and nothing else, as `open_regular` does.
    fn open(&self, flags: OFlag) -> io::Result<File> {
        let flags = flags | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        let opened = openat(&self.dir, self.name, flags, permissions(0o600));
        let file = match opened {
            Err(Errno::ELOOP | Errno::ENXIO | Errno::EMLINK) => return Err(not_regular()),
            opened => File::from(opened?),
        };
        if file.metadata()?.is_file() {
            Ok(file)
        } else {
            Err(not_regular())
        }
    }

    fn remove_file(&self) -> io::Result<()> {
        match unlinkat(&self.dir, self.name, UnlinkatFlags::NoRemoveDir) {
            Err(Errno::ENOENT) => Ok(()),
            removed => Ok(removed?),
        }
    }

    /// Fills a new file beside this place, and puts it there.
    fn replace(&self, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let (name, file) = loop {
            let name = OsString::from(format!(".ralph-{:08x}", fastrand::u32(..)));
            match openat(&self.dir, name.as_os_str(), flags, permissions(0o600)) {
                Err(Errno::EEXIST) => {}
                made => break (name, made?),
            }
        };
        let filled = fill(&mut File::from(file))
            .and_then(|()| Ok(renameat(&self.dir, name.as_os_str(), &self.dir, self.name)?));
        if filled.is_err() {
            let _ = unlinkat(&self.dir, name.as_os_str(), UnlinkatFlags::NoRemoveDir);
        }
        filled
    }
}

/// Returns whether an error says that nothing can be at a path: it, or a directory above it, is not there.
#[must_use]
pub fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn outside() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        "it is not a path below its directory",
    )
}

/// Returns permissions in the type of this system.
fn permissions(mode: u32) -> Mode {
    Mode::from_bits_truncate(narrowed(mode))
}

fn narrowed<T: TryFrom<u32> + Default>(mode: u32) -> T {
    T::try_from(mode).unwrap_or_default()
}

/// Returns permissions as 32 bits: some systems have fewer.
pub(super) fn widened(bits: impl Into<u32>) -> u32 {
    bits.into()
}

fn kind(found: &FileStat) -> u32 {
    widened(found.st_mode & S_IFMT)
}

fn sync(dir: BorrowedFd<'_>) -> io::Result<()> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    File::from(openat(dir, ".", flags, Mode::empty())?).sync_all()
}

/// Changes permissions of what is no link.
fn chmod(dir: BorrowedFd<'_>, name: &OsStr, mode: u32) -> nix::Result<()> {
    let change = |flags| fchmodat(dir, name, permissions(mode), flags);
    match change(FchmodatFlags::NoFollowSymlink) {
        // Older kernels without `/proc` cannot; that it is no link has been looked at.
        Err(Errno::EOPNOTSUPP) => change(FchmodatFlags::FollowSymlink),
        changed => changed,
    }
}

fn remove_all(dir: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    let found = fstatat(dir, name, AtFlags::AT_SYMLINK_NOFOLLOW)?;
    if kind(&found) != widened(S_IFDIR) {
        return Ok(unlinkat(dir, name, UnlinkatFlags::NoRemoveDir)?);
    }
    let mode = widened(found.st_mode) & 0o7777;
    if mode & 0o700 != 0o700 {
        chmod(dir, name, mode | 0o700)?;
    }
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let mut open = Dir::openat(dir, name, flags, Mode::empty())?;
    let names: Vec<OsString> = open
        .iter()
        .map(|entry| Ok(OsStr::from_bytes(CStr::to_bytes(entry?.file_name())).to_owned()))
        .collect::<nix::Result<_>>()?;
    for name in names.iter().filter(|name| *name != "." && *name != "..") {
        remove_all(open.as_fd(), name)?;
    }
    Ok(unlinkat(dir, name, UnlinkatFlags::RemoveDir)?)
}

#[cfg(test)]
mod tests;
