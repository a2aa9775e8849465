//! Learnings that an agent leaves for later stories in its final message: `<learning>…</learning>`.
//!
//! They are for agents that may not write to the file of learnings. Invariants: memory is bounded for any input, and
//! text that only repeats the prompt is no learning.

use std::collections::{HashSet, VecDeque};
use std::mem;

use memchr::memmem;

/// The opening tag of a learning.
pub(super) const OPEN: &[u8] = b"<learning>";
/// The closing tag of a learning.
pub(super) const CLOSE: &[u8] = b"</learning>";

/// Maximum length of a learning, in bytes.
pub(super) const LONGEST: usize = 16 * 1024;
/// Maximum number of learnings of one message; the last ones count.
const MOST: usize = 64;

/// Collects the learnings of one message.
#[derive(Default)]
pub(super) struct LearningScanner {
    /// The text between these tags in the prompt.
    known: HashSet<String>,
    /// The text since the last tag; inside a learning the whole text.
    text: Vec<u8>,
    inside: bool,
    found: VecDeque<String>,
}

impl LearningScanner {
    /// Makes a scanner for the answer to `prompt`.
    pub(super) fn new(prompt: &str) -> Self {
        let mut own = Self::default();
        own.push(prompt.as_bytes());
        Self {
            known: own.found.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Takes the next bytes of the message.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(LONGEST) {
            self.text.extend_from_slice(piece);
            self.scan();
        }
    }

    /// Discards the message so far: the next bytes begin another one.
    pub(super) fn restart(&mut self) {
        self.text.clear();
        self.found.clear();
        self.inside = false;
    }

    /// Ends the message and returns its learnings.
    pub(super) fn finish(self) -> Vec<String> {
        self.found.into()
    }

    fn scan(&mut self) {
        loop {
            let tag = if self.inside { CLOSE } else { OPEN };
            let Some(at) = memmem::find(&self.text, tag) else {
                break;
            };
            let rest = self.text.split_off(at + tag.len());
            let before = mem::replace(&mut self.text, rest);
            if self.inside {
                self.take(before.get(..at).unwrap_or_default());
            }
            self.inside = !self.inside;
        }
        if !self.inside {
            // A tag may be split between two pieces.
            let seen = self.text.len().saturating_sub(OPEN.len() - 1);
            self.text.drain(..seen);
        } else if self.text.len() > LONGEST + CLOSE.len() {
            // No learning is that long: the tag belonged to another text.
            self.text.clear();
            self.inside = false;
        }
    }

    fn take(&mut self, learned: &[u8]) {
        let text = String::from_utf8_lossy(learned).trim().to_owned();
        if text.is_empty() || text.len() > LONGEST || self.known.contains(&text) {
            return;
        }
        if self.found.len() == MOST {
            self.found.pop_front();
        }
        self.found.push_back(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn heard(prompt: &str, message: &[u8], size: usize) -> Vec<String> {
        let mut scanner = LearningScanner::new(prompt);
        for piece in message.chunks(size) {
            scanner.push(piece);
        }
        scanner.finish()
    }

    #[test]
    fn reader_takes_learnings_but_not_those_of_the_prompt() {
        let prompt = "print <learning>…</learning> for them";
        let message = "<learning>…</learning> a <learning>\n use make\n</learning><learning> </learning><learning>b</learning> <learning>c";
        assert_eq!(heard(prompt, message.as_bytes(), 7), ["use make", "b"]);
    }

    #[test]
    fn a_new_message_forgets_the_old_one() {
        let mut scanner = LearningScanner::new("");
        scanner.push(b"<learning>a</learning><learning>b");
        scanner.restart();
        scanner.push(b"c</learning><learning>d</learning>");
        assert_eq!(scanner.finish(), ["d"]);
    }

    #[test]
    fn reader_drops_long_learnings_and_keeps_the_last_ones() {
        let long = format!("<learning>{}</learning>", "x".repeat(LONGEST + 1));
        let many: String = (0..MOST + 2)
            .map(|n| format!("<learning>{n}</learning>"))
            .collect();
        let found = heard("", (long + &many).as_bytes(), 1000);
        assert_eq!((found.len(), found[0].as_str()), (MOST, "2"));
    }

    proptest! {
        #[test]
        fn size_of_pieces_does_not_change_the_learnings(
            message in r"(a|<learning>|</learning>|<lear|\n){0,20}",
            size in 1_usize..12,
        ) {
            let whole = heard("", message.as_bytes(), message.len().max(1));
            prop_assert_eq!(heard("", message.as_bytes(), size), whole);
        }
    }
}
