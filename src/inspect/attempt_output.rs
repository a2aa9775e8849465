//! Shows the output of an attempt to the user: its log, with an agent's JSON as text.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::agent::decode::{Decoder, Format, Usage};
use crate::fs::{FileError, Links, file_error, open_regular};

/// Number of bytes of the log that are read in one step.
const PIECE: usize = 64 * 1024;

/// Number of bytes of a line beyond which it is not read completely.
const LONG: usize = 4 << 20;

/// Reads the log of an attempt, even while it grows.
pub struct AttemptOutput {
    file: File,
    /// Converts JSON to text; without it, the log is shown unchanged, byte for byte.
    words: Option<Box<Words>>,
    /// True if the rest of a line is skipped because its beginning was.
    passes_over: bool,
}

/// Converts complete lines of JSON to text; leaves everything else unchanged.
struct Words {
    decoder: Decoder,
    /// The top directory of the work tree, with a final slash, which is removed from paths in the text.
    top: Option<String>,
    /// The part of a line read so far.
    begun: Vec<u8>,
    /// The treatment of the rest of a long line; `None` at the beginning of a line.
    long: Option<Long>,
}

#[derive(Clone, Copy)]
enum Long {
    Json,
    Unchanged,
}

impl AttemptOutput {
    /// Opens the log of an attempt whose agent prints this format; without a format, shows the bytes.
    pub fn open(log: &Path, format: Option<Format>) -> Result<Self, FileError> {
        let file = open_regular(log, Links::Refused);
        let file = file.map_err(|source| file_error("read", log, source))?;
        let words = |format| Words {
            decoder: Decoder::new(format, ""),
            top: None,
            begun: Vec::new(),
            long: None,
        };
        Ok(Self {
            file,
            words: format.map(words).map(Box::new),
            passes_over: false,
        })
    }

    /// Opens the log of an attempt by the name of its format, which may be unknown; `raw` shows the bytes.
    pub fn open_named(log: &Path, format: Option<&str>, raw: bool) -> Result<Self, FileError> {
        let format = format.and_then(|name| name.parse().ok()).unwrap_or(Format::Auto);
        Self::open(log, (!raw).then_some(format))
    }

    /// Shows paths below this work tree relative to its top.
    pub fn below(mut self, top: &Path) -> Self {
        if let Some(words) = &mut self.words {
            words.top = Some(format!("{}/", top.display())).filter(|top| top != "//");
        }
        self
    }

    /// Skips the present log except its last bytes; returns true if anything was skipped.
    pub fn pass_over_all_but(&mut self, kept: u64) -> io::Result<bool> {
        let read = self.file.stream_position()?;
        let length = self.file.metadata()?.len();
        if length.saturating_sub(read) <= kept {
            return Ok(false);
        }
        if read == 0 {
            // The format is detected at the beginning.
            self.read()?;
        }
        self.file.seek(SeekFrom::Start(length - kept))?;
        self.passes_over = true;
        if let Some(words) = &mut self.words {
            words.begun.clear();
            words.long = None;
        }
        Ok(true)
    }

    /// Returns the next piece of the present log; `None` at its end.
    pub fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut piece = vec![0; PIECE];
        let read = self.file.read(&mut piece)?;
        if read == 0 {
            return Ok(None);
        }
        piece.truncate(read);
        if self.passes_over {
            let end = piece.iter().position(|byte| *byte == b'\n');
            self.passes_over = end.is_none();
            piece.drain(..end.map_or(piece.len(), |end| end + 1));
        }
        Ok(Some(match &mut self.words {
            None => piece,
            Some(words) => words.take(&piece),
        }))
    }

    /// Returns the model and its use, according to the output read so far.
    pub fn usage(&self) -> Usage {
        let words = self.words.as_ref();
        words.map_or_else(Usage::default, |words| words.decoder.usage())
    }

    /// Returns the last, unfinished line.
    pub fn rest(&mut self) -> Vec<u8> {
        match &mut self.words {
            None => Vec::new(),
            Some(words) if words.begun.is_empty() => {
                drop(words.decoder.take_activity());
                Vec::new()
            }
            Some(words) => words.take(b"\n"),
        }
    }
}

impl Words {
    /// Converts complete lines of JSON to text; returns every other line unchanged.
    fn take(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut words = Vec::new();
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            let ends = part.ends_with(b"\n");
            match self.long {
                Some(Long::Unchanged) => words.extend_from_slice(part),
                Some(Long::Json) => {
                    self.decoder.push(part);
                    self.tell(&mut words);
                }
                None => {
                    self.begun.extend_from_slice(part);
                    if !ends && self.begun.len() < LONG {
                        continue;
                    }
                    let line = std::mem::take(&mut self.begun);
                    self.long = Some(self.line(&line, &mut words));
                }
            }
            if ends {
                self.long = None;
            }
        }
        words
    }

    /// Takes a line, or the beginning of a long one; returns the treatment of its rest.
    fn line(&mut self, line: &[u8], words: &mut Vec<u8>) -> Long {
        let is_json = line.trim_ascii_start().starts_with(b"{");
        if is_json {
            self.decoder.push(line);
        }
        if is_json && !self.decoder.format().reads_text() {
            self.tell(words);
            Long::Json
        } else {
            words.extend_from_slice(line);
            Long::Unchanged
        }
    }

    fn tell(&mut self, words: &mut Vec<u8>) {
        for activity in self.decoder.take_activity() {
            let activity = match &self.top {
                Some(top) => activity.replace(top, ""),
                None => activity,
            };
            words.extend_from_slice(activity.as_bytes());
            words.push(b'\n');
        }
    }
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

    #[test]
    fn the_beginning_of_a_long_log_and_of_a_long_line_is_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("1.1.log");
        let long = "x".repeat(3 * PIECE);
        std::fs::write(&log, format!("begin\n{long}\nend\n")).unwrap();
        let mut output = AttemptOutput::open(&log, Some(Format::Text)).unwrap();
        assert!(output.pass_over_all_but(100).unwrap());
        assert_eq!(output.read().unwrap().unwrap(), b"end\n");
        assert!(!output.pass_over_all_but(100).unwrap());
        let huge = "y".repeat(LONG + PIECE);
        std::fs::write(&log, format!("{huge}\nend")).unwrap();
        let mut output = AttemptOutput::open(&log, Some(Format::Claude)).unwrap();
        let mut seen = Vec::new();
        while let Some(words) = output.read().unwrap() {
            seen.extend(words);
        }
        seen.extend(output.rest());
        assert_eq!(seen, format!("{huge}\nend\n").as_bytes());
    }

    /// Returns the length of the log after this piece has been written.
    fn seen_so_far(piece: &[u8]) -> usize {
        piece.as_ptr() as usize - LOG.as_ptr() as usize + piece.len()
    }

    #[test]
    fn reader_shows_json_as_words_and_other_lines_unchanged() {
        for pieces in [1, 7, 1000] {
            assert_eq!(read(Some(Format::Claude), pieces), "warning: slow\nHello.\nend\n");
            assert_eq!(read(Some(Format::Auto), pieces), "warning: slow\nHello.\nend\n");
        }
        assert_eq!(read(None, 9).as_bytes(), LOG);
    }

    #[test]
    fn paths_are_shown_from_the_top_of_the_work_tree() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let read = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Read","input":{"file_path":"/w/src/a"}}]}}"#;
        std::fs::write(&log, format!("{read}\n")).unwrap();
        let output = AttemptOutput::open(&log, Some(Format::Claude)).unwrap();
        let words = output.below(Path::new("/w")).read().unwrap().unwrap();
        assert_eq!(String::from_utf8(words).unwrap(), "Read: src/a\n");
    }
}
