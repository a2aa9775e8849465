//! Shows the output of an attempt to people: its log, with the JSON of an agent put into words.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use crate::agent::decode::{Decoder, Format};
use crate::fs::{FileError, Links, file_error, open_regular};

/// Number of bytes of the log that are read in one step.
const PIECE: usize = 64 * 1024;

/// Reads the log of an attempt, even while it grows.
pub struct AttemptOutput {
    file: File,
    reader: Reader,
}

enum Reader {
    /// Unchanged, byte for byte.
    Raw,
    /// JSON in words, everything else unchanged; with the part of a line read so far.
    Words(Box<Decoder>, Vec<u8>),
}

impl AttemptOutput {
    /// Opens the log of an attempt whose agent prints this format; without a format, its bytes are shown.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(log: &Path, format: Option<Format>) -> Result<Self, FileError> {
        let file = open_regular(log, Links::Refused, OpenOptions::new().read(true));
        let file = file.map_err(|source| file_error("read", log, source))?;
        let reader = match format {
            None => Reader::Raw,
            Some(format) => Reader::Words(Box::new(Decoder::new(format, "")), Vec::new()),
        };
        Ok(Self { file, reader })
    }

    /// Returns the next piece of the present log; `None` at its end.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut piece = vec![0; PIECE];
        let read = self.file.read(&mut piece)?;
        if read == 0 {
            return Ok(None);
        }
        piece.truncate(read);
        Ok(Some(match &mut self.reader {
            Reader::Raw => piece,
            Reader::Words(decoder, line) => in_words(decoder, line, &piece),
        }))
    }

    /// Returns the rest of a last line without its end.
    #[must_use]
    pub fn rest(&mut self) -> Vec<u8> {
        match &mut self.reader {
            Reader::Raw => Vec::new(),
            Reader::Words(decoder, line) if line.is_empty() => {
                drop(decoder.take_activity());
                Vec::new()
            }
            Reader::Words(decoder, line) => in_words(decoder, line, b"\n"),
        }
    }
}

/// Puts whole lines of JSON into words; returns every other line unchanged.
fn in_words(decoder: &mut Decoder, begun: &mut Vec<u8>, piece: &[u8]) -> Vec<u8> {
    let mut words = Vec::new();
    for part in piece.split_inclusive(|byte| *byte == b'\n') {
        begun.extend_from_slice(part);
        if !part.ends_with(b"\n") {
            continue;
        }
        let line = std::mem::take(begun);
        let is_json = line.trim_ascii_start().starts_with(b"{");
        if is_json {
            decoder.push(&line);
        }
        if is_json && !matches!(decoder.format(), Format::Text | Format::Auto) {
            for told in decoder.take_activity() {
                words.extend_from_slice(told.as_bytes());
                words.push(b'\n');
            }
        } else {
            words.extend_from_slice(&line);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &[u8] = b"{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\"}\nwarning: slow\n\
{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"Hello.\"}]}}\nend";

    fn read(format: Option<Format>, pieces: usize) -> String {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("1.1.log");
        std::fs::write(&log, "").unwrap();
        let mut output = AttemptOutput::open(&log, format).unwrap();
        let mut seen = Vec::new();
        for piece in LOG.chunks(pieces) {
            std::fs::write(&log, &LOG[..seen_so_far(piece)]).unwrap();
            while let Some(words) = output.read().unwrap() {
                seen.extend(words);
            }
        }
        seen.extend(output.rest());
        String::from_utf8(seen).unwrap()
    }

    /// Returns the length of the log once this piece has been written.
    fn seen_so_far(piece: &[u8]) -> usize {
        piece.as_ptr() as usize - LOG.as_ptr() as usize + piece.len()
    }

    #[test]
    fn json_is_told_in_words_and_the_rest_is_shown_as_it_is() {
        for pieces in [1, 7, 1000] {
            assert_eq!(read(Some(Format::Claude), pieces), "warning: slow\nHello.\nend\n");
            assert_eq!(read(Some(Format::Auto), pieces), "warning: slow\nHello.\nend\n");
        }
        assert_eq!(read(None, 9).as_bytes(), LOG);
    }
}
