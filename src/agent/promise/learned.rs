//! Removes the learnings from a text: they are for later stories, and no promise. This module does not depend on the
//! rest of the text.

use memchr::memmem;

use crate::agent::learnings::{CLOSE, LONGEST, OPEN};

/// Cuts learnings out of text that arrives in pieces; leaves a blank for each. A learning that is never closed, or is
/// too long, is ordinary text.
#[derive(Default)]
pub(super) struct LearningFilter {
    /// The text that may be the beginning of a learning.
    held: Vec<u8>,
    /// The offset in `held` before which no closing tag begins.
    searched: usize,
}

impl LearningFilter {
    /// Returns whether no text is held back.
    pub(super) fn is_outside(&self) -> bool {
        self.held.is_empty()
    }

    pub(super) fn take(&mut self, piece: &[u8], plain: &mut Vec<u8>) {
        self.held.extend_from_slice(piece);
        self.give(false, plain);
    }

    /// Adds the text that was held back because it could have continued.
    pub(super) fn end(&mut self, plain: &mut Vec<u8>) {
        self.give(true, plain);
    }

    fn give(&mut self, at_end: bool, plain: &mut Vec<u8>) {
        let mut from = 0;
        while let Some(open) = memmem::find(&self.held[from..], OPEN).map(|at| from + at) {
            plain.extend_from_slice(&self.held[from..open]);
            let inner = open + OPEN.len();
            let limit = (inner + LONGEST + CLOSE.len()).min(self.held.len());
            let start = inner.max(self.searched).min(limit);
            match memmem::find(&self.held[start..limit], CLOSE) {
                Some(at) => {
                    plain.push(b' ');
                    from = start + at + CLOSE.len();
                }
                None => {
                    self.searched = limit.saturating_sub(CLOSE.len() - 1).max(inner);
                    if !at_end && inner + LONGEST + CLOSE.len() > self.held.len() {
                        self.forget(open);
                        return;
                    }
                    plain.extend_from_slice(OPEN);
                    from = inner;
                }
            }
        }
        let rest = &self.held[from..];
        // A tag may be split between two pieces.
        let begun = (1..OPEN.len())
            .rev()
            .find(|length| !at_end && rest.ends_with(&OPEN[..*length]));
        let whole = self.held.len() - begun.unwrap_or(0);
        plain.extend_from_slice(&self.held[from..whole]);
        self.forget(whole);
    }

    fn forget(&mut self, count: usize) {
        self.held.drain(..count);
        self.searched = self.searched.saturating_sub(count);
    }
}
