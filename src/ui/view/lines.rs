//! The last lines of an agent's output, safe to draw: without control characters; a carriage return leaves the last
//! state of its line, tabs become blanks. Pure, and bounded in memory for any input.

use std::collections::VecDeque;

use crate::ui::agent_output::AgentOutput;
use crate::ui::shown::plain;

/// Maximum number of kept lines.
const MOST: usize = 10_000;
/// Maximum number of kept bytes of a line.
const LONGEST: usize = 4096;
/// Maximum number of kept bytes of all lines.
const ROOM: usize = 8 << 20;

/// The last lines of an output.
#[derive(Debug, Default)]
pub(super) struct Lines {
    filter: AgentOutput,
    kept: VecDeque<String>,
    bytes: usize,
    /// The unfinished line.
    begun: Vec<u8>,
    /// True if a carriage return has moved the cursor to the beginning of that line.
    is_back: bool,
    /// The number of all finished lines.
    count: usize,
}

impl Lines {
    /// Takes the next piece.
    pub fn push(&mut self, piece: &[u8]) {
        let safe = self.filter.take(piece).into_owned();
        for part in safe.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            let (words, end) = match part.split_last() {
                Some((end @ (b'\n' | b'\r'), words)) => (words, Some(*end)),
                _ => (part, None),
            };
            if !words.is_empty() && std::mem::take(&mut self.is_back) {
                self.begun.clear();
            }
            let room = LONGEST.saturating_sub(self.begun.len());
            self.begun.extend_from_slice(&words[..words.len().min(room)]);
            match end {
                Some(b'\n') => self.end_line(),
                Some(_) => self.is_back = true,
                None => {}
            }
        }
    }

    fn end_line(&mut self) {
        let line = drawable(&std::mem::take(&mut self.begun));
        self.is_back = false;
        self.count += 1;
        self.bytes += line.len();
        self.kept.push_back(line);
        while self.kept.len() > MOST || self.bytes > ROOM {
            self.bytes -= self.kept.pop_front().map_or(0, |line| line.len());
        }
    }

    /// Returns the number of lines so far, including dropped ones.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the number of all lines so far, including an unfinished one.
    pub fn all(&self) -> usize {
        self.count + usize::from(!self.begun.is_empty())
    }

    /// Returns the last finished lines, oldest first.
    pub fn ended(&self, last: usize) -> impl Iterator<Item = &str> {
        let before = self.kept.len().saturating_sub(last);
        self.kept.iter().skip(before).map(String::as_str)
    }

    /// Returns the kept lines, newest first, beginning with an unfinished one.
    pub fn newest_first(&self) -> impl Iterator<Item = String> {
        let begun = (!self.begun.is_empty()).then(|| drawable(&self.begun));
        begun.into_iter().chain(self.kept.iter().rev().cloned())
    }
}

/// Returns a line without characters that control a terminal.
fn drawable(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    plain(&text).replace('\t', "    ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(pieces: &[&[u8]]) -> Vec<String> {
        let mut lines = Lines::default();
        for piece in pieces {
            lines.push(piece);
        }
        let mut all: Vec<String> = lines.newest_first().collect();
        all.reverse();
        all
    }

    #[test]
    fn line_is_the_text_that_a_terminal_would_leave() {
        assert_eq!(
            lines(&[b"10%\r50%\r100%\nnext\r\nla", b"st"]),
            ["100%", "next", "last"]
        );
        assert_eq!(lines(&[b"\x1b[31mred\x1b[0m\tx\x07\n"]), ["red    x^G"]);
        assert_eq!(lines(&["日本\u{202e}語\n".as_bytes()]), ["日本<U+202E>語"]);
    }

    #[test]
    fn memory_is_bounded() {
        let mut all = Lines::default();
        all.push(&vec![b'x'; 5_000_000]);
        for _ in 0..12_000 {
            all.push(b"\nline");
        }
        assert_eq!((all.count(), all.kept.len()), (12_000, MOST));
        assert!(all.newest_first().all(|line| line.len() <= LONGEST));
    }

    proptest! {
        #[test]
        fn no_control_character_is_left_however_the_bytes_are_cut(
            bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0_usize..200
        ) {
            let (one, two) = bytes.split_at(at.min(bytes.len()));
            let whole = lines(&[&bytes]);
            prop_assert!(whole.iter().all(|line| !line.contains(char::is_control)));
            prop_assert_eq!(lines(&[one, two]), whole);
        }
    }
}
