//! Reads the lines of the events of a loop.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;

use crate::fs::{FileError, Links, file_error, open_regular};

/// Passes each line of a loop's events from the byte `from` on to `take`, oldest first; returns the end of the last whole
/// line. After a crash the last line may be incomplete.
pub(super) fn each_line(events: &Path, from: u64, take: impl FnMut(&[u8])) -> Result<u64, FileError> {
    let Some(mut file) = open(events)? else {
        return Ok(0);
    };
    each_line_of(&mut file, from, take).map_err(|source| file_error("read", events, source))
}

/// Opens the events of a loop, if there are any.
pub(super) fn open(events: &Path) -> Result<Option<File>, FileError> {
    match open_regular(events, Links::Refused) {
        Err(gone) if gone.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened
            .map(Some)
            .map_err(|source| file_error("read", events, source)),
    }
}

/// Does the same with an open file.
pub(super) fn each_line_of(file: &mut File, from: u64, mut take: impl FnMut(&[u8])) -> io::Result<u64> {
    let mut file = BufReader::with_capacity(64 * 1024, file);
    let (mut line, mut end) = (Vec::new(), from);
    file.seek(SeekFrom::Start(from))?;
    while file.read_until(b'\n', &mut line)? > 0 {
        take(&line);
        if line.ends_with(b"\n") {
            end += line.len() as u64;
        }
        line.clear();
    }
    Ok(end)
}
