//! Paths that are longer than the system accepts in one call. Git takes paths relative to the work tree, so that
//! absolute ones may be longer. They are walked directory by directory.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use nix::fcntl::{OFlag, openat, readlinkat};
use nix::sys::stat::Mode;

use super::place::{Missing, PASS, walk};

/// Returns the metadata of a path, without following a symlink, if the system `refused` it because of its length;
/// passes other errors on.
pub(super) fn kind_of(path: &Path, refused: io::Error) -> io::Result<Metadata> {
    open(path, PASS | OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW, refused)?.metadata()
}

/// Returns the metadata of an overlong path, following symlinks.
pub(super) fn target_of(path: &Path, refused: io::Error) -> io::Result<Metadata> {
    open(path, PASS | OFlag::O_NONBLOCK, refused)?.metadata()
}

/// Reads the symlink at an overlong path.
pub(super) fn link_of(path: &Path, refused: io::Error) -> io::Result<PathBuf> {
    in_parent(path, refused, |dir, name| {
        Ok(PathBuf::from(readlinkat(dir, name)?))
    })
}

/// Opens the file of an overlong path for reading.
pub(super) fn open_to_read(path: &Path, refused: io::Error) -> io::Result<File> {
    open(path, OFlag::O_RDONLY, refused)
}

fn open(path: &Path, flags: OFlag, refused: io::Error) -> io::Result<File> {
    in_parent(path, refused, |dir, name| {
        let opened = openat(dir, name, flags | OFlag::O_CLOEXEC, Mode::empty())?;
        Ok(File::from(opened))
    })
}

/// Runs an operation in the parent directory of an overlong path; a path with a symlink above it stays refused.
fn in_parent<T>(
    path: &Path,
    refused: io::Error,
    does: impl FnOnce(&OwnedFd, &OsStr) -> io::Result<T>,
) -> io::Result<T> {
    if refused.kind() != io::ErrorKind::InvalidFilename || !path.is_absolute() {
        return Err(refused);
    }
    let parts: Option<Vec<&OsStr>> = path
        .components()
        .skip(1)
        .map(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        })
        .collect();
    let Some((name, dirs)) = parts.as_deref().and_then(<[&OsStr]>::split_last) else {
        return Err(refused);
    };
    match walk(Path::new("/"), dirs, Missing::Fail).and_then(|dir| does(&dir, name)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(refused),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::{Below, kind_of, link_of, read, read_if_there};

    #[test]
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn walk_reaches_a_path_that_is_too_long_for_the_system() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let dir = (0..25).fold(top.clone(), |dir, _| dir.join("d".repeat(200)));
        let below = Below::new(&top);
        below.make_dir(&dir, 0o777).unwrap();
        below.write_private(&dir.join("file"), "text").unwrap();
        below.link("nowhere".as_ref(), &dir.join("link")).unwrap();
        assert!(fs::metadata(dir.join("file")).is_err());
        assert!(kind_of(&dir.join("file")).unwrap().unwrap().is_file());
        assert!(kind_of(&dir.join("link")).unwrap().unwrap().is_symlink());
        assert!(kind_of(&dir.join("none")).unwrap().is_none());
        assert_eq!(read(&dir.join("file")).unwrap(), b"text");
        assert!(read_if_there(&dir.join("none")).unwrap().is_none());
        assert_eq!(link_of(&dir.join("link")).unwrap().as_os_str(), "nowhere");
        kind_of(&dir.join("n".repeat(256))).unwrap_err();
        below.remove(&top.join("d".repeat(200))).unwrap();
    }
}
