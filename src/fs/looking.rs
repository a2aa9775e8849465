//! Checks which kind of file is at a path. Only a clear "not found" counts as missing; other errors are passed on.
//!
//! Functions whose names begin with `seen` treat any error as a missing file.

use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
#[cfg(target_os = "linux")]
use nix::sys::statfs::{PROC_SUPER_MAGIC, SYSFS_MAGIC, statfs};
use nix::unistd::{AccessFlags, access};

use super::error::{FileError, file_error};
use super::long;
use super::place::is_absent;
use crate::paths::path_of;

/// Returns the metadata of a path, without following a symlink; `None` if it is missing.
pub fn kind_of(path: &Path) -> Result<Option<Metadata>, FileError> {
    let found = path.symlink_metadata();
    if_there("look at", path, found.or_else(|error| long::kind_of(path, error)))
}

/// Returns the metadata of a path, following symlinks; `None` if it is missing.
pub fn target_of(path: &Path) -> Result<Option<Metadata>, FileError> {
    let found = path.metadata();
    if_there(
        "look at",
        path,
        found.or_else(|error| long::target_of(path, error)),
    )
}

/// Returns whether a path exists, even as a dangling symlink.
pub fn is_there(path: &Path) -> Result<bool, FileError> {
    Ok(kind_of(path)?.is_some())
}

/// Returns whether a path is a directory, and no symlink.
pub fn is_directory(path: &Path) -> Result<bool, FileError> {
    Ok(kind_of(path)?.is_some_and(|found| found.is_dir()))
}

/// Returns whether a path is a regular file, following symlinks.
pub fn leads_to_file(path: &Path) -> Result<bool, FileError> {
    Ok(target_of(path)?.is_some_and(|found| found.is_file()))
}

/// Returns whether a path is a regular file or a symlink.
pub fn is_file_or_link(path: &Path) -> Result<bool, FileError> {
    Ok(kind_of(path)?.is_some_and(|found| found.is_file() || found.is_symlink()))
}

/// Returns whether a path is a regular file, and no symlink.
pub fn is_regular(path: &Path) -> Result<bool, FileError> {
    match kind_of(path) {
        // No file can be opened by such a path either.
        Err(error) if error.source.kind() == io::ErrorKind::InvalidFilename => Ok(false),
        found => Ok(found?.is_some_and(|found| found.is_file())),
    }
}

/// Returns whether a path is neither a regular file nor a directory: a symlink, a pipe, a socket or a device.
pub fn is_special(path: &Path) -> bool {
    seen_itself(path).is_some_and(|found| !found.is_file() && !found.is_dir())
}

/// Returns whether a path may exist, following symlinks: an error other than "not found" counts as existing.
pub fn may_exist(path: &Path) -> bool {
    !matches!(target_of(path), Ok(None))
}

/// Returns whether a path may exist, even as a dangling symlink.
pub fn may_be_there(path: &Path) -> bool {
    !matches!(kind_of(path), Ok(None))
}

/// Returns whether files can possibly be created in a directory: false only if the system says that they cannot.
pub fn may_be_written(dir: &Path) -> bool {
    !matches!(
        access(dir, AccessFlags::W_OK | AccessFlags::X_OK),
        Err(Errno::EACCES | Errno::EROFS)
    ) && !is_of_kernel(dir)
}

/// Returns whether the kernel provides the files of a directory: no other file can be created there.
#[cfg(target_os = "linux")]
fn is_of_kernel(dir: &Path) -> bool {
    let found = statfs(dir).map(|found| found.filesystem_type());
    found.is_ok_and(|kind| matches!(kind, PROC_SUPER_MAGIC | SYSFS_MAGIC))
}

#[cfg(not(target_os = "linux"))]
fn is_of_kernel(_: &Path) -> bool {
    false
}

/// Returns the items for which `is_one` is true; its first error is returned instead.
pub fn those_where<T, E>(
    items: impl IntoIterator<Item = T>,
    mut is_one: impl FnMut(&T) -> Result<bool, E>,
) -> Result<Vec<T>, E> {
    let mut found = Vec::new();
    for item in items {
        if is_one(&item)? {
            found.push(item);
        }
    }
    Ok(found)
}

/// Returns the target of a symlink.
pub fn link_of(path: &Path) -> Result<PathBuf, FileError> {
    let read = fs::read_link(path).or_else(|error| long::link_of(path, error));
    read.map_err(|error| file_error("read", path, error))
}

/// Joins a directory and a path of any bytes.
pub fn path_below(dir: &Path, path: &[u8]) -> PathBuf {
    dir.join(path_of(path))
}

/// Lists the entries of a directory; none if it is missing.
pub fn entries_of(dir: &Path) -> Result<Vec<DirEntry>, FileError> {
    let entries = fs::read_dir(dir).and_then(Iterator::collect);
    Ok(if_there("read", dir, entries)?.unwrap_or_default())
}

/// Returns the metadata of a path, following symlinks; `None` on any error.
pub fn seen(path: &Path) -> Option<Metadata> {
    path.metadata().ok()
}

/// Returns the metadata of a path, without following a symlink; `None` on any error.
pub fn seen_itself(path: &Path) -> Option<Metadata> {
    path.symlink_metadata().ok()
}

/// Returns whether a path is a regular file, following symlinks; false on any error.
pub fn is_seen_as_file(path: &Path) -> bool {
    seen(path).is_some_and(|found| found.is_file())
}

/// Lists the readable entries of a directory.
pub fn seen_in(dir: &Path) -> impl Iterator<Item = DirEntry> + use<> {
    fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok)
}

pub(super) fn if_there<T>(
    what: &'static str,
    path: &Path,
    found: io::Result<T>,
) -> Result<Option<T>, FileError> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(file_error(what, path, error)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::fs::{Links, read_if_there, regular_text_if_there, seen_bytes};

    #[test]
    fn path_is_absent_only_if_the_system_confirms_it() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        fs::write(at("file"), "1").unwrap();
        fs::create_dir(at("dir")).unwrap();
        symlink("none", at("nowhere")).unwrap();
        symlink("loop", at("loop")).unwrap();
        for absent in ["none", "file/below", "loop/below"] {
            let path = at(absent);
            assert!(
                !is_there(&path).unwrap() && target_of(&path).unwrap().is_none(),
                "{absent}"
            );
            assert!(!may_be_there(&path) && !may_exist(&path), "{absent}");
            assert!(entries_of(&path).unwrap().is_empty() && read_if_there(&path).unwrap().is_none());
        }
        for link in ["nowhere", "loop"] {
            let path = at(link);
            assert!(
                is_there(&path).unwrap() && target_of(&path).unwrap().is_none(),
                "{link}"
            );
            assert!(may_be_there(&path) && !may_exist(&path), "{link}");
        }
        // The operating system rejects such a name.
        let refused = at(&"n".repeat(256));
        let refusals = [
            is_there(&refused).unwrap_err(),
            target_of(&refused).unwrap_err(),
            entries_of(&refused).unwrap_err(),
            read_if_there(&refused).unwrap_err(),
        ];
        for error in refusals {
            assert!(error.path == refused && !is_absent(&error.source), "{error}");
        }
        assert!(may_be_there(&refused) && may_exist(&refused));
        regular_text_if_there(&refused, Links::Refused, 9).unwrap_err();
        for none in ["none", "loop", "dir", "file"] {
            let text = regular_text_if_there(&at(none), Links::Refused, 0).unwrap();
            assert_eq!(text, None, "{none}");
        }
        assert!(
            seen(&refused).is_none() && seen_itself(&refused).is_none() && seen_bytes(&refused).is_none()
        );
        assert!(seen_in(&refused).next().is_none() && !is_seen_as_file(&refused));
        assert!(is_seen_as_file(&at("file")) && leads_to_file(&at("file")).unwrap());
    }
}
