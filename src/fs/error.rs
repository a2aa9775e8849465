//! The errors of file operations, which name the file, and the durability of writes.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

use crate::error::advice::{Advice, Advise, hint};
use crate::names::typed_path;

/// A file operation that the system refused.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what} {}: {}", path.display(), system_words(source))]
pub struct FileError {
    /// The operation, as a verb.
    pub what: &'static str,
    /// The file.
    pub path: PathBuf,
    /// The system's reason.
    pub source: io::Error,
}

/// Returns the system's error message without its number, as git prints it.
pub fn system_words(error: &io::Error) -> String {
    let words = error.to_string();
    let end = words.find(" (os error ").unwrap_or(words.len());
    words[..end].to_owned()
}

/// The hint if the disk is full.
pub const MAKE_ROOM: &str =
    "make room on the disk, then type the command again: it completes the step, or repeats the attempt";

impl Advise for FileError {
    fn advice(&self) -> Advice {
        let is_full =
            [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded].contains(&self.source.kind());
        if is_full {
            return hint(MAKE_ROOM);
        }
        if self.source.kind() == io::ErrorKind::PermissionDenied
            && let Some(advice) = owned_by_another(&self.path)
        {
            return advice;
        }
        let is_no_directory = self.source.kind() == io::ErrorKind::NotADirectory;
        match in_the_way(&self.path).filter(|_| is_no_directory) {
            Some(path) => {
                let mut aside = path.as_os_str().to_owned();
                aside.push(".aside");
                hint(format!(
                    "look at it, then move it away: mv {} {}; then run the same command again",
                    typed_path(path),
                    typed_path(Path::new(&aside))
                ))
            }
            None => Advice::default(),
        }
    }
}

/// Returns the advice for a path of another user, such as a container's; `None` if the path is the user's own.
pub fn owned_by_another(path: &Path) -> Option<Advice> {
    let is_others = |path: &&Path| {
        let found = path.symlink_metadata();
        found.is_ok_and(|found| found.uid() != geteuid().as_raw())
    };
    let there = path.ancestors().find(|path| path.symlink_metadata().is_ok())?;
    // To move the entries of a directory, the user must own it.
    let first = there.ancestors().take(2).find(is_others)?;
    let is_inside = |path: &&Path| is_others(path) && !path.join(".git").exists();
    let path = typed_path(first.ancestors().take_while(is_inside).last().unwrap_or(first));
    Some(hint(format!(
        "it belongs to another user: sudo chown -R \"$(id -u)\" {path}; then run the same command again"
    )))
}

/// Returns the nearest symlink or file in the place of a directory at a path or above it.
fn in_the_way(path: &Path) -> Option<&Path> {
    let is_there = |above: &&Path| above.symlink_metadata().is_ok_and(|found| !found.is_dir());
    path.ancestors().find(is_there)
}

/// Returns the error of a file operation.
pub fn file_error(what: &'static str, path: &Path, source: io::Error) -> FileError {
    FileError {
        what,
        path: path.to_owned(),
        source,
    }
}

/// The events after which a file is completely either the old or the new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// A crash of this program.
    Atomic,
    /// A power cut too, but the new file may then be lost: the file is synced.
    Whole,
    /// A power cut too, and the new file is never lost: the file and its directory are synced.
    Synced,
}

/// Returns the error for a file that is not regular.
pub(super) fn not_regular() -> io::Error {
    io::Error::other("it is not a regular file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hint_names_what_stands_in_place_of_a_directory() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("a link");
        std::os::unix::fs::symlink(dir.path(), &link).unwrap();
        let hint_of = |kind: io::ErrorKind, path: &Path| file_error("write", path, kind.into()).advice().hint;
        let hint = hint_of(io::ErrorKind::NotADirectory, &link.join("none/file")).unwrap();
        assert!(
            hint.contains(&format!("mv '{0}' '{0}.aside'", link.display())),
            "{hint}"
        );
        let full = hint_of(io::ErrorKind::StorageFull, &link.join("file"));
        assert_eq!(full.as_deref(), Some(MAKE_ROOM));
        assert_eq!(hint_of(io::ErrorKind::PermissionDenied, &link.join("file")), None);
    }
}
