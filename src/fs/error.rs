//! The errors of file operations, which name the file, and how far a write has to reach.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::advice::Advise;

/// A file operation that the system refused.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what} {}: {source}", path.display())]
pub struct FileError {
    /// The operation, as a verb.
    pub what: &'static str,
    /// The file.
    pub path: PathBuf,
    /// The system's reason.
    pub source: io::Error,
}

impl Advise for FileError {}

/// Returns the error for something that could not be done with a file.
#[must_use]
pub fn file_error(what: &'static str, path: &Path, source: io::Error) -> FileError {
    FileError {
        what,
        path: path.to_owned(),
        source,
    }
}

/// The events after which a file is either the old one or the new one, whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// A crash of this program.
    Atomic,
    /// A power cut too, but the new file may then be lost: the file is synced.
    Whole,
    /// A power cut too, and the new file is never lost: the file and its directory are synced.
    Synced,
}

/// Returns the error for what is no regular file.
pub(super) fn not_regular() -> io::Error {
    io::Error::other("it is not a regular file")
}
