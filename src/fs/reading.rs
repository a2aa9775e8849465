//! Reads files: opens only regular files, and reads a limited size.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::OFlag;

use super::error::{FileError, file_error, not_regular};
use super::long;
use super::looking::if_there;
use super::place::is_absent;

/// Reads a file.
pub fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    all_of(path).map_err(|error| file_error("read", path, error))
}

fn all_of(path: &Path) -> io::Result<Vec<u8>> {
    fs::read(path).or_else(|error| {
        let mut bytes = Vec::new();
        long::open_to_read(path, error)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    })
}

/// Reads a file; returns `None` if it is missing.
pub fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    if_there("read", path, all_of(path))
}

/// Reads a file; returns `None` on any error.
pub fn seen_bytes(path: &Path) -> Option<Vec<u8>> {
    fs::read(path).ok()
}

/// Reads a text file; returns `None` on any error.
pub fn seen_text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// Returns whether two files have the same bytes.
pub fn has_same_bytes(one: &Path, other: &Path) -> Result<bool, FileError> {
    Ok(read(one)? == read(other)?)
}

/// Returns whether a file has several hard links: another may be outside, and another user's.
pub fn has_other_names(found: &fs::Metadata) -> bool {
    found.is_file() && found.nlink() > 1
}

/// The treatment of a symlink in the place of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// The symlink is refused: the file is git-ralph's, which makes no symlinks.
    Refused,
    /// The symlink is followed: another program may need it.
    Followed,
}

/// Opens only a regular file for reading: a pipe could block, a device never ends, and a symlink may lead anywhere.
pub fn open_regular(path: &Path, links: Links) -> io::Result<File> {
    let no_links = match links {
        Links::Refused => OFlag::O_NOFOLLOW,
        Links::Followed => OFlag::empty(),
    };
    // Without O_NONBLOCK, the open of a pipe waits for a writer; regular files ignore the flag.
    let flags = no_links | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits())
        .open(path);
    let is_special = |error: &io::Error| {
        let code = error.raw_os_error().map(Errno::from_raw);
        matches!(code, Some(Errno::ELOOP | Errno::ENXIO | Errno::EMLINK))
    };
    match opened {
        Ok(file) if file.metadata()?.is_file() => Ok(file),
        Ok(_) => Err(not_regular()),
        Err(error) if is_special(&error) => Err(not_regular()),
        Err(error) => Err(error),
    }
}

/// Reads a regular file of at most `limit` bytes.
pub fn read_regular(path: &Path, links: Links, limit: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path, links)?;
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > limit) {
        return Err(io::Error::other(format!("it is longer than {limit} bytes")));
    }
    Ok(bytes)
}

/// Returns whether an error means that there is no such file: none at all, or none that is regular, text, and short
/// enough.
pub fn is_no_such_file(error: &io::Error) -> bool {
    is_absent(error) || error.raw_os_error().is_none()
}

/// Reads a regular file of at most `limit` bytes as text; returns `None` if there is no such file.
pub fn regular_text_if_there(path: &Path, links: Links, limit: u64) -> Result<Option<String>, FileError> {
    match read_regular_text(path, links, limit) {
        Err(error) if is_no_such_file(&error) => Ok(None),
        read => read.map(Some).map_err(|error| file_error("read", path, error)),
    }
}

/// Reads a regular file of at most `limit` bytes as text.
pub fn read_regular_text(path: &Path, links: Links, limit: u64) -> io::Result<String> {
    let bytes = read_regular(path, links, limit)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}
