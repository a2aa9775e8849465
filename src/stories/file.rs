//! Reading a whole story file, and replacing it in one step.
//!
//! Invariants: opens only regular files, so that no read waits for a writer; a file is either the old or the new one,
//! never half of each.
//!
//! This module does not know the meaning of the bytes.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

use super::SourceError;
use crate::fs::{Below, may_exist, seen_in, target_of};

/// The largest file that is read, in bytes.
const LIMIT: u64 = 16 * 1024 * 1024;

/// Reads the regular file at `path`, named `shown` in messages.
pub(super) fn read(path: &Path, shown: &str) -> Result<Vec<u8>, SourceError> {
    let found = target_of(path).map_err(|error| read_error(shown, error.source))?;
    let metadata = found.ok_or_else(|| read_error(shown, ErrorKind::NotFound.into()))?;
    let shown_path = || shown.to_owned();
    if metadata.is_dir() {
        return Err(SourceError::Directory { path: shown_path() });
    }
    if !metadata.is_file() {
        return Err(SourceError::NotRegular { path: shown_path() });
    }
    // The limit applies to the bytes read: the file may be growing.
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(LIMIT + 1).read_to_end(&mut bytes))
        .map_err(|cause| read_error(shown, cause))?;
    if bytes.len() as u64 > LIMIT {
        return Err(SourceError::TooLarge {
            path: shown_path(),
            limit: LIMIT,
        });
    }
    Ok(bytes)
}

/// Returns the error for a file that could not be examined or opened.
pub(super) fn read_error(shown: &str, cause: io::Error) -> SourceError {
    let path = shown.to_owned();
    match cause.kind() {
        // A file in the place of a directory: the path does not exist.
        ErrorKind::NotFound | ErrorKind::NotADirectory => SourceError::Missing { path },
        _ => SourceError::Unreadable { path, cause },
    }
}

/// Replaces the content of the file at `path`, which contains no symlink, below a directory.
///
/// Keeps the mode. Reads the result back and compares it.
pub(super) fn replace(door: &Below, path: &Path, shown: &str, bytes: &[u8]) -> Result<(), SourceError> {
    let write = || -> io::Result<()> {
        let permissions = File::open(path)?.metadata()?.permissions();
        let written = door.replace(path, |new| {
            new.write_all(bytes)?;
            new.set_permissions(permissions)?;
            new.sync_all()
        });
        written.map_err(|error| error.source)
    };
    write().map_err(|cause| SourceError::Unwritable {
        path: shown.to_owned(),
        cause,
    })?;
    if read(path, shown)? != bytes {
        return Err(SourceError::Overwritten {
            path: shown.to_owned(),
        });
    }
    Ok(())
}

/// Returns the names in a directory, sorted; none if it cannot be read.
pub(super) fn directories(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = seen_in(dir)
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

/// Returns the directories below `dir` that have a `file`; omits names that are not UTF-8.
pub(super) fn directories_with(top: &Path, dir: &str, file: &str) -> Vec<String> {
    directories(&top.join(dir))
        .into_iter()
        .filter(|name| may_exist(&top.join(dir).join(name).join(file)))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn read_distinguishes_missing_files_directories_and_special_files() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();

        let missing = read(&dir.path().join("none"), "none").unwrap_err();
        assert_eq!(
            missing.to_string(),
            "no story file at 'none' (relative to the top of the repository)"
        );
        let below_a_file = read(&file.join("x"), "file/x").unwrap_err();
        assert!(matches!(below_a_file, SourceError::Missing { .. }));
        let directory = read(dir.path(), "d").unwrap_err();
        assert!(matches!(directory, SourceError::Directory { .. }));
        #[cfg(unix)]
        {
            let socket = dir.path().join("socket");
            let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
            let special = read(&socket, "socket").unwrap_err();
            assert!(matches!(special, SourceError::NotRegular { .. }));
        }
    }

    #[test]
    fn reads_up_to_the_limit_and_no_further() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("large.md");
        let file = File::create(&path).unwrap();
        file.set_len(LIMIT).unwrap();
        assert_eq!(read(&path, "large.md").unwrap().len() as u64, LIMIT);
        file.set_len(LIMIT + 1).unwrap();
        let error = read(&path, "large.md").unwrap_err();
        assert!(matches!(error, SourceError::TooLarge { limit: LIMIT, .. }));
    }

    #[test]
    fn a_failed_replacement_leaves_the_old_file_and_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let taken = dir.path().join("taken");
        fs::create_dir(&taken).unwrap();
        let error = replace(&Below::new(dir.path()), &taken, "taken", b"new").unwrap_err();
        assert!(matches!(error, SourceError::Unwritable { .. }));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
