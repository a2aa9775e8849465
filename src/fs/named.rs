//! Writes files at a place that the user named, which may be anywhere: symlinks in its path are the user's.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use super::below::Below;
use super::error::{Durability, FileError, file_error};

/// Replaces a file completely; does not follow a symlink in its place. `mode` is its permissions.
///
/// # Errors
/// If it cannot be written; the old file then still exists.
pub fn write_named(path: &Path, bytes: &[u8], mode: u32, durability: Durability) -> Result<(), FileError> {
    let (dir, name) = parts(path)?;
    Below::new(dir).write(Path::new(name), bytes, mode, durability)
}

/// Writes to an existing file, such as a pipe, or through a symlink.
pub fn write_through(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    fs::write(path, bytes).map_err(|error| file_error("write", path, error))
}

/// Appends to a file, which is created if missing.
pub fn append_named(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(bytes)
}

/// Creates a directory and its parents, if missing. `mode` is the permissions of new ones, less the umask.
pub fn make_named_dir(dir: &Path, mode: u32) -> Result<(), FileError> {
    Below::new(dir).make_dir(Path::new(""), mode)
}

/// Removes a file, if it exists.
pub fn remove_named(path: &Path) -> Result<(), FileError> {
    let (dir, name) = parts(path)?;
    Below::new(dir).remove_file(Path::new(name))
}

/// Removes an empty directory.
pub fn remove_named_dir(dir: &Path) -> io::Result<()> {
    fs::remove_dir(dir)
}

fn parts(path: &Path) -> Result<(&Path, &std::ffi::OsStr), FileError> {
    match (path.parent(), path.file_name()) {
        (Some(dir), Some(name)) => Ok((dir, name)),
        _ => Err(file_error("write", path, io::ErrorKind::InvalidInput.into())),
    }
}
