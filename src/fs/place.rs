//! A place in an open directory: operations on it follow no symlinks.

use std::ffi::{CStr, OsStr, OsString};
use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, renameat};
use nix::libc::{S_IFDIR, S_IFMT};
use nix::sys::stat::{FchmodatFlags, FileStat, Mode, fchmodat, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};

use super::error::not_regular;

/// Opens a directory only for traversal: it need not be readable.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) const PASS: OFlag = OFlag::O_PATH;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) const PASS: OFlag = OFlag::O_RDONLY;

/// The prefix of temporary file names.
pub const TEMPORARY: &str = ".git-ralph-";

/// The treatment of missing directories.
#[derive(Clone, Copy)]
pub(super) enum Missing {
    Fail,
    Make(u32),
}

/// A place in an open directory.
pub(super) struct Place<'p> {
    pub dir: OwnedFd,
    pub name: &'p OsStr,
}

/// Opens the last of these directories, each relative to the one before it.
pub(super) fn walk(top: &Path, dirs: &[&OsStr], missing: Missing) -> io::Result<OwnedFd> {
    let flags = PASS | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let top = if top.as_os_str().is_empty() {
        Path::new(".")
    } else {
        top
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
            // Systems report different errors.
            Errno::ELOOP | Errno::EMLINK => Errno::ENOTDIR,
            other => other,
        })?;
    }
    Ok(dir)
}

impl Place<'_> {
    pub fn stat(&self) -> io::Result<FileStat> {
        Ok(fstatat(&self.dir, self.name, AtFlags::AT_SYMLINK_NOFOLLOW)?)
    }

    /// Opens only a regular file, as `open_regular` does; `mode` is for a new file.
    pub fn open(&self, flags: OFlag, mode: u32) -> io::Result<File> {
        let flags = flags | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        let opened = openat(&self.dir, self.name, flags, permissions(mode));
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

    pub fn remove_file(&self) -> io::Result<()> {
        match unlinkat(&self.dir, self.name, UnlinkatFlags::NoRemoveDir) {
            Err(Errno::ENOENT) => Ok(()),
            removed => Ok(removed?),
        }
    }

    /// Fills a new file beside this place, and renames it into place.
    pub fn replace(&self, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let (name, file) = loop {
            let name = OsString::from(format!("{TEMPORARY}{:08x}", fastrand::u32(..)));
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

/// Returns whether an error means that a path cannot exist: it, or a directory above it, is missing, or is a symlink to
/// itself.
pub fn is_absent(error: &io::Error) -> bool {
    let is_loop = error.raw_os_error().map(Errno::from_raw) == Some(Errno::ELOOP);
    is_loop
        || matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
        )
}

pub(super) fn outside() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        "it is not a path below its directory",
    )
}

/// Returns permissions in the type of this system.
pub(super) fn permissions(mode: u32) -> Mode {
    Mode::from_bits_truncate(narrowed(mode))
}

fn narrowed<T: TryFrom<u32> + Default>(mode: u32) -> T {
    T::try_from(mode).unwrap_or_default()
}

/// Returns permissions as 32 bits: some systems have fewer.
pub(super) fn widened(bits: impl Into<u32>) -> u32 {
    bits.into()
}

pub(super) fn kind(found: &FileStat) -> u32 {
    widened(found.st_mode & S_IFMT)
}

pub(super) fn sync(dir: BorrowedFd<'_>) -> io::Result<()> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    File::from(openat(dir, ".", flags, Mode::empty())?).sync_all()
}

/// Changes the permissions of a file or directory that is no symlink.
pub(super) fn chmod(dir: BorrowedFd<'_>, name: &OsStr, mode: u32) -> nix::Result<()> {
    let change = |flags| fchmodat(dir, name, permissions(mode), flags);
    match change(FchmodatFlags::NoFollowSymlink) {
        // Older kernels without `/proc` cannot; the caller has excluded symlinks.
        Err(Errno::EOPNOTSUPP) => change(FchmodatFlags::FollowSymlink),
        changed => changed,
    }
}

pub(super) fn remove_all(dir: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
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
