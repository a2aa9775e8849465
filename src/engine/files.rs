//! Plain files: copies that are whole or not there, and errors that name the file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::error::Error;

/// Copies a file with its permissions and time, never through a link that stands at `to`.
pub(super) fn copy_file(from: &Path, to: &Path) -> Result<(), Error> {
    let error = |error| file_error("copy", from, error);
    let dir = to.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir).map_err(error)?;
    let metadata = from.metadata().map_err(error)?;
    let mut copy = tempfile::Builder::new()
        .prefix(".ralph-")
        .tempfile_in(dir)
        .map_err(error)?;
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

/// Removes a directory with all that is in it, if it is there.
pub(super) fn remove_dir(dir: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(file_error("remove", dir, error)),
        _ => Ok(()),
    }
}

/// The error of something that could not be done with a file.
pub(super) fn file_error(what: &'static str, path: &Path, source: io::Error) -> Error {
    Error::File {
        what,
        path: path.to_owned(),
        source,
    }
}

/// Writes a text for the user alone.
pub(super) fn write_private(path: &Path, text: &str) -> Result<(), Error> {
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|source| Error::File {
        what: "write",
        path: path.to_owned(),
        source,
    })
}
