//! Plain files: writes and copies that are complete or absent, permissions, and errors that name the file.

mod below;
mod error;

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::stat::{Mode, umask};

pub use below::{Below, is_absent};
pub use error::{Durability, FileError, file_error};

use below::widened;
use error::not_regular;

/// Writes a whole file in place of any other, never through a link. `mode` is its permissions.
///
/// # Errors
/// If it cannot be written; the old file is then still there.
pub fn write_atomically(
    path: &Path,
    bytes: &[u8],
    mode: u32,
    durability: Durability,
) -> Result<(), FileError> {
    let (dir, name) = beside(path)?;
    dir.write(name, bytes, mode, durability)
}

/// Fills a new file, and puts it in place of any other.
///
/// # Errors
/// If it cannot be written; the old file is then still there.
pub fn replace_file(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), FileError> {
    let (dir, name) = beside(path)?;
    dir.replace(name, fill)
}

/// Returns the directory of a file, and its name there.
fn beside(path: &Path) -> Result<(Below, &Path), FileError> {
    match (path.parent(), path.file_name()) {
        (Some(dir), Some(name)) => Ok((Below::new(dir), Path::new(name))),
        _ => Err(file_error("write", path, io::ErrorKind::InvalidInput.into())),
    }
}

/// Copies a file with its permissions and time, never through a link at `to`.
///
/// # Errors
/// If it cannot be read or written.
pub fn copy_file(from: &Path, to: &Path) -> Result<(), FileError> {
    let (dir, name) = beside(to)?;
    dir.make_dir(Path::new(""), 0o777)?;
    dir.copy(from, name)
}

/// Removes a directory with everything in it, if it is there.
///
/// # Errors
/// If something in it cannot be removed.
pub fn remove_dir(dir: &Path) -> Result<(), FileError> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(file_error("remove", dir, error)),
        _ => Ok(()),
    }
}

/// Removes a file, if it is there.
///
/// # Errors
/// If it cannot be removed.
pub fn remove_file(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(file_error("remove", path, error)),
        _ => Ok(()),
    }
}

/// Removes a file, or a directory with everything in it, whatever the permissions in it are.
///
/// # Errors
/// If the system refuses all the same.
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

/// Returns whether a path is neither a regular file nor a directory: a link, a pipe, a socket or a device.
#[must_use]
pub fn is_special(path: &Path) -> bool {
    let found = path.symlink_metadata();
    found.is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Removes links, pipes, sockets and devices from a directory, but not from its subdirectories; returns their paths.
/// The target of a link is not touched.
///
/// # Errors
/// If the directory cannot be read, or something in it cannot be removed.
pub fn remove_specials(dir: &Path) -> Result<Vec<PathBuf>, FileError> {
    let entries = fs::read_dir(dir).map_err(|source| file_error("read", dir, source))?;
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let specials: Vec<PathBuf> = paths.filter(|path| is_special(path)).collect();
    for path in &specials {
        remove_file(path)?;
    }
    Ok(specials)
}

/// Makes a directory for the user alone, with those above it, unless it is there.
///
/// # Errors
/// If it cannot be made.
pub fn make_private_dir(dir: &Path) -> Result<(), FileError> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(|source| file_error("make", dir, source))
}

/// The treatment of a link in the place of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// It is refused: the file is git-ralph's, which makes no links.
    Refused,
    /// It is followed: other programs may have a reason for it.
    Followed,
}

/// Opens a regular file and nothing else: a pipe could block, a device never ends, and a link may lead anywhere.
///
/// # Errors
/// If it cannot be opened, or is no regular file.
pub fn open_regular(path: &Path, links: Links, options: &mut OpenOptions) -> io::Result<File> {
    let no_links = match links {
        Links::Refused => OFlag::O_NOFOLLOW,
        Links::Followed => OFlag::empty(),
    };
    // Without O_NONBLOCK a pipe nobody writes to is waited for; a regular file does not care.
    let flags = no_links | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let opened = options.custom_flags(flags.bits()).open(path);
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
///
/// # Errors
/// As [`open_regular`], and if it is longer.
pub fn read_regular(path: &Path, links: Links, limit: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path, links, OpenOptions::new().read(true))?;
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > limit) {
        return Err(io::Error::other(format!("it is longer than {limit} bytes")));
    }
    Ok(bytes)
}

/// Reads a regular file of at most `limit` bytes as text.
///
/// # Errors
/// As [`read_regular`], and if it is not UTF-8.
pub fn read_regular_text(path: &Path, links: Links, limit: u64) -> io::Result<String> {
    let bytes = read_regular(path, links, limit)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Writes a text for the user alone in place of any other file, never through a link.
///
/// # Errors
/// If it cannot be written.
pub fn write_private(path: &Path, text: &str) -> Result<(), FileError> {
    write_atomically(path, text.as_bytes(), 0o600, Durability::Atomic)
}

/// Appends a text to a regular file for the user alone.
///
/// # Errors
/// If it cannot be written.
pub fn append_private(path: &Path, text: &str) -> io::Result<()> {
    let (dir, name) = beside(path).map_err(|error| error.source)?;
    dir.append(name, text.as_bytes())
}

/// Returns the umask: the permissions that new files and directories do not get.
#[must_use]
pub fn umask_now() -> u32 {
    // The only way to read it is to set it.
    let mask = umask(Mode::from_bits_truncate(0o022));
    umask(mask);
    widened(mask.bits())
}

/// Returns whether a file has several names: another may be outside, and somebody else's.
#[must_use]
pub fn has_other_names(found: &fs::Metadata) -> bool {
    found.is_file() && found.nlink() > 1
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
        !has_other_names(&found) && fs::set_permissions(path, Permissions::from_mode(mode)).is_ok()
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
            if mode & needed != needed && !has_other_names(&metadata) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use nix::unistd::mkfifo;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_regular_files_are_read_and_written() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        fs::write(at("file"), "12345").unwrap();
        symlink(at("file"), at("link")).unwrap();
        symlink("/dev/zero", at("device")).unwrap();
        mkfifo(&at("pipe"), Mode::S_IRWXU).unwrap();
        fs::create_dir(at("dir")).unwrap();
        let read = |name: &str, links| read_regular(&at(name), links, 5).map_err(|error| error.to_string());
        let refused = Err("it is not a regular file".to_owned());
        for links in [Links::Refused, Links::Followed] {
            assert_eq!(read("file", links), Ok(b"12345".to_vec()));
            for name in ["device", "pipe", "dir"] {
                assert_eq!(read(name, links), refused, "{name}");
            }
        }
        assert_eq!(read("link", Links::Refused), refused);
        assert_eq!(read("link", Links::Followed), Ok(b"12345".to_vec()));
        assert!(read_regular(&at("file"), Links::Refused, 4).is_err());
        let none = read_regular(&at("none"), Links::Refused, 4).unwrap_err();
        assert_eq!(none.kind(), io::ErrorKind::NotFound);
        for name in ["link", "pipe", "device"] {
            append_private(&at(name), "6").unwrap_err();
        }
        append_private(&at("file"), "6").unwrap();
        assert_eq!(fs::read_to_string(at("file")).unwrap(), "123456");
        for name in ["link", "pipe", "device"] {
            write_private(&at(name), "7").unwrap();
            assert_eq!(fs::read_to_string(at(name)).unwrap(), "7");
        }
        assert_eq!(fs::read_to_string(at("file")).unwrap(), "123456");
    }
}
