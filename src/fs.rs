//! Plain files: writes and copies that are complete or absent, permissions, and errors that name the file.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::sys::stat::{Mode, umask};
use tempfile::NamedTempFile;

/// Something that the system refused to do with a file.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what} {}: {source}", path.display())]
pub struct FileError {
    /// What was tried, as a verb.
    pub what: &'static str,
    /// The file.
    pub path: PathBuf,
    /// The system's reason.
    pub source: io::Error,
}

/// Returns the error for something that could not be done with a file.
#[must_use]
pub fn file_error(what: &'static str, path: &Path, source: io::Error) -> FileError {
    FileError {
        what,
        path: path.to_owned(),
        source,
    }
}

/// How a file is written as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// A crash of this program leaves the old file or the new one.
    Atomic,
    /// A power cut does so too: the file and its directory are synced.
    Synced,
}

/// Writes a whole file in place of what is there, never through a link. `mode` is its permissions.
///
/// # Errors
/// When it cannot be written; the old file is then still there.
pub fn write_atomically(
    path: &Path,
    bytes: &[u8],
    mode: u32,
    durability: Durability,
) -> Result<(), FileError> {
    let error = |source| file_error("write", path, source);
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut file = temporary_in(dir).map_err(error)?;
    file.write_all(bytes).map_err(error)?;
    let permissions = Permissions::from_mode(mode);
    file.as_file().set_permissions(permissions).map_err(error)?;
    if durability == Durability::Synced {
        file.as_file().sync_all().map_err(error)?;
    }
    file.persist(path).map_err(|failed| error(failed.error))?;
    if durability == Durability::Synced {
        File::open(dir).and_then(|dir| dir.sync_all()).map_err(error)?;
    }
    Ok(())
}

/// Makes a temporary file within `dir` that is to be renamed.
///
/// # Errors
/// When it cannot be made.
pub fn temporary_in(dir: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new().prefix(".ralph-").tempfile_in(dir)
}

/// Copies a file with its permissions and time, never through a link at `to`.
///
/// # Errors
/// When it cannot be read or written.
pub fn copy_file(from: &Path, to: &Path) -> Result<(), FileError> {
    let error = |error| file_error("copy", from, error);
    let dir = to.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir).map_err(error)?;
    let metadata = from.metadata().map_err(error)?;
    let mut copy = temporary_in(dir).map_err(error)?;
    io::copy(&mut File::open(from).map_err(error)?, &mut copy).map_err(error)?;
    copy.flush().map_err(error)?;
    copy.as_file()
        .set_permissions(metadata.permissions())
        .map_err(error)?;
    copy.as_file()
        .set_modified(metadata.modified().map_err(error)?)
        .map_err(error)?;
    copy.persist(to).map_err(|failed| error(failed.error)).map(drop)
}

/// Removes a directory with everything in it, if it is there.
///
/// # Errors
/// When something in it cannot be removed.
pub fn remove_dir(dir: &Path) -> Result<(), FileError> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(file_error("remove", dir, error)),
        _ => Ok(()),
    }
}

/// Removes a file, if it is there.
///
/// # Errors
/// When it cannot be removed.
pub fn remove_file(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(file_error("remove", path, error)),
        _ => Ok(()),
    }
}

/// Removes a file, or a directory with everything in it, whatever the permissions in it are.
///
/// # Errors
/// When the system refuses all the same.
pub fn remove(path: &Path, is_dir: bool) -> Result<(), FileError> {
    let removed = if is_dir {
        fs::remove_dir_all(path).or_else(|_| {
            give(path, 0o700);
            make_accessible(path);
            fs::remove_dir_all(path)
        })
    } else {
        fs::remove_file(path)
    };
    removed.map_err(|source| file_error("remove", path, source))
}

/// Writes a text file for the user alone.
///
/// # Errors
/// When it cannot be written.
pub fn write_private(path: &Path, text: &str) -> Result<(), FileError> {
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|source| file_error("write", path, source))
}

/// Appends text to a file for the user alone.
///
/// # Errors
/// When it cannot be written.
pub fn append_private(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)?
        .write_all(text.as_bytes())
}

/// Returns the permissions that new files and directories do not get.
#[must_use]
pub fn umask_now() -> u32 {
    // The only way to read it is to set it.
    let mask = umask(Mode::from_bits_truncate(0o022));
    umask(mask);
    mask.bits()
}

/// Returns whether something is there whose owner lacks one of these permissions (for a directory, any
/// permission).
#[must_use]
pub fn lacks(path: &Path, needed: u32) -> bool {
    path.symlink_metadata().is_ok_and(|found| {
        let needed = if found.is_dir() { 0o700 } else { needed };
        !found.is_symlink() && found.permissions().mode() & needed != needed
    })
}

/// Gives the owner these permissions (for a directory, all of them); returns whether they were missing.
#[expect(clippy::must_use_candidate, reason = "it is called for what it does")]
pub fn give(path: &Path, needed: u32) -> bool {
    if !lacks(path, needed) {
        return false;
    }
    path.symlink_metadata().is_ok_and(|found| {
        let needed = if found.is_dir() { 0o700 } else { needed };
        let mode = found.permissions().mode() | needed;
        fs::set_permissions(path, Permissions::from_mode(mode)).is_ok()
    })
}

/// Gives the owner read access to what is ours below `dir` (and the right to change directories); returns how
/// many modes changed. Git's own directories are left alone.
pub fn make_accessible(dir: &Path) -> usize {
    let mut changed = 0;
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().filter_map(Result::ok) {
            let path = entry.path();
            let Ok(metadata) = path.symlink_metadata() else {
                continue;
            };
            let needed = match metadata.file_type() {
                kind if kind.is_dir() => 0o700,
                kind if kind.is_file() => 0o400,
                _ => continue,
            };
            let mode = metadata.permissions().mode();
            if mode & needed != needed {
                // The mode that a new one would get: the old modes are not known here.
                let usual = if metadata.is_dir() { 0o777 } else { 0o666 } & !umask_now();
                let better = Permissions::from_mode(mode | needed | usual);
                changed += usize::from(fs::set_permissions(&path, better).is_ok());
            }
            if metadata.is_dir() && entry.file_name() != ".git" {
                open.push(path);
            }
        }
    }
    changed
}
