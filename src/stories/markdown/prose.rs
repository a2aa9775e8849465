//! The text of a heading or of a box, collected on one line.
//!
//! This module does not know markdown: the outline decides what belongs to the text.

use std::ops::Range;

use super::document::Document;

/// The owner of the collected text: the last heading or the last box.
#[derive(Clone, Copy)]
pub(super) enum Teller {
    Heading,
    CheckBox,
}

/// The text of a heading or of a box, as far as it was parsed.
pub(super) struct Prose {
    pub(super) teller: Teller,
    /// The offset before which nothing belongs to the text.
    start: usize,
    /// The offset up to which the text was parsed.
    pub(super) end: usize,
    /// The source on the current line that is not in `text` yet.
    pending: Option<Range<usize>>,
    pub(super) text: String,
}

impl Prose {
    pub(super) fn new(teller: Teller, start: usize) -> Self {
        Self {
            teller,
            start,
            end: start,
            pending: None,
            text: String::new(),
        }
    }

    pub(super) fn extend(&mut self, range: Range<usize>) {
        let range = range.start.max(self.start)..range.end.max(self.start);
        self.end = self.end.max(range.end);
        let line = self.pending.get_or_insert(range);
        line.end = self.end;
    }

    /// Ends a line of the source; omits the source up to `end`.
    pub(super) fn pause(&mut self, document: &Document<'_>, end: usize) {
        let line = self.pending.take().unwrap_or_default();
        self.text.reserve(line.len());
        let source = document.source(line);
        let source = source.trim();
        if is_tidy(source) {
            self.push(source);
        } else {
            source.split_whitespace().for_each(|word| self.push(word));
        }
        self.end = self.end.max(end);
    }

    fn push(&mut self, words: &str) {
        if !self.text.is_empty() && !words.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str(words);
    }
}

/// Returns whether the words of a text are certainly separated by one space each.
fn is_tidy(text: &str) -> bool {
    let mut behind_space = false;
    text.bytes().all(|byte| {
        let doubled = behind_space && byte == b' ';
        behind_space = byte == b' ';
        !doubled && byte.is_ascii() && !byte.is_ascii_control()
    })
}
