//! Takes the thoughts of a model out of a text: what stands in `<think>` is not what the agent says. This module must not
//! know what else the text says.
//!
//! Thoughts begin with a tag that only blanks precede on its line; in the middle of a line the tag is mentioned. They end
//! with the closing tag, and without one only with the text. A closing tag that nothing has opened ends thoughts as well:
//! the template of some models opens them before the text begins.

use memchr::{memchr, memmem, memrchr2};

use super::tag::Tag;

const TAGS: [(&[u8], &[u8]); 4] = [
    (b"<think>", b"</think>"),
    (b"<thinking>", b"</thinking>"),
    (b"<thought>", b"</thought>"),
    (b"<reasoning>", b"</reasoning>"),
];

/// Cuts thoughts out of text that comes in pieces.
#[derive(Default)]
pub(super) struct ThoughtFilter {
    /// The closing tag of a promise.
    promised_by: &'static [u8],
    /// The text that may be a part of a tag.
    held: Vec<u8>,
    /// The closing tag of the thoughts in which the text is.
    inside: Option<&'static [u8]>,
    /// True if something but blanks has come on this line.
    in_line: bool,
    /// True if a promise stood in thoughts.
    promised: bool,
}

impl ThoughtFilter {
    /// Makes a filter that notes promises in this tag.
    pub(super) fn of(tag: Tag) -> Self {
        Self {
            promised_by: tag.close,
            ..Self::default()
        }
    }

    /// Takes a piece without any tag, if it is no thought; returns whether it is none.
    pub(super) fn passes(&mut self, piece: &[u8]) -> bool {
        let is_outside = self.held.is_empty() && self.inside.is_none();
        if is_outside {
            self.note_line(piece);
        }
        is_outside
    }

    /// Adds the text of a piece that is no thought. Returns the length at which it turned out that all before were
    /// thoughts.
    pub(super) fn take(&mut self, piece: &[u8], plain: &mut Vec<u8>) -> Option<usize> {
        self.held.extend_from_slice(piece);
        self.give(false, plain)
    }

    /// Adds the text that was held back because more of it might have come.
    pub(super) fn end(&mut self, plain: &mut Vec<u8>) -> Option<usize> {
        self.give(true, plain)
    }

    /// Returns true if a promise stood in thoughts.
    pub(super) fn promised(&self) -> bool {
        self.promised
    }

    fn give(&mut self, at_end: bool, plain: &mut Vec<u8>) -> Option<usize> {
        let mut thoughts_before = None;
        let held = std::mem::take(&mut self.held);
        let mut rest = held.as_slice();
        loop {
            if let Some(close) = self.inside {
                let end = memmem::find(rest, close);
                let thoughts = &rest[..end.unwrap_or(rest.len())];
                self.promised |= memmem::find(thoughts, self.promised_by).is_some();
                let Some(end) = end else {
                    // Either closing tag may be cut in two.
                    let longest = close.len().max(self.promised_by.len()) - 1;
                    rest = &rest[rest.len().saturating_sub(longest)..];
                    break;
                };
                rest = &rest[end + close.len()..];
                self.inside = None;
                continue;
            }
            let Some(at) = memchr(b'<', rest) else {
                self.pass(rest, plain);
                rest = &[];
                break;
            };
            self.pass(&rest[..at], plain);
            rest = &rest[at..];
            let begun = |tag: &[u8]| !at_end && rest.len() < tag.len() && tag.starts_with(rest);
            if self.in_line {
                self.pass(&rest[..1], plain);
                rest = &rest[1..];
            } else if TAGS.iter().any(|(open, close)| begun(open) || begun(close)) {
                break;
            } else if let Some((open, close)) = TAGS.iter().find(|(open, _)| rest.starts_with(open)) {
                rest = &rest[open.len()..];
                self.inside = Some(close);
            } else if let Some((_, close)) = TAGS.iter().find(|(_, close)| rest.starts_with(close)) {
                rest = &rest[close.len()..];
                thoughts_before = Some(plain.len());
            } else {
                self.pass(&rest[..1], plain);
                rest = &rest[1..];
            }
        }
        self.held = rest.to_vec();
        thoughts_before
    }

    /// Passes text on.
    fn pass(&mut self, text: &[u8], plain: &mut Vec<u8>) {
        plain.extend_from_slice(text);
        self.note_line(text);
    }

    /// Notes whether the last line of text has begun.
    fn note_line(&mut self, text: &[u8]) {
        let line = match memrchr2(b'\n', b'\r', text) {
            Some(end) => {
                self.in_line = false;
                &text[end + 1..]
            }
            None => text,
        };
        self.in_line = self.in_line || !line.trim_ascii_start().is_empty();
    }
}
