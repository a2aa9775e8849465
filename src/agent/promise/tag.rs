//! The tags of a promise and of a verdict, and their content.
//!
//! This module reads only the text inside a tag, and does not depend on the position of the tag.

use memchr::memmem;

use std::str;

use super::plain::SIDES;

/// The length of a nonce, in letters and digits.
const NONCE: usize = 10;

/// The characters of a nonce: letters and digits that cannot be confused.
const SIGNS: [u8; 32] = *b"abcdefghijkmnpqrstuvwxyz23456789";

/// Random letters and digits of one prompt: a tag that contains them answers the prompt, and is no quotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nonce([u8; NONCE]);

impl Nonce {
    /// Makes a random nonce.
    pub fn random() -> Self {
        Self(std::array::from_fn(|_| fastrand::choice(SIGNS).unwrap_or(b'x')))
    }

    /// Returns its text.
    pub fn text(&self) -> &str {
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// A tag, and the two words that it may contain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tag {
    pub(super) open: &'static [u8],
    pub(super) close: &'static [u8],
    /// The word that accepts the work, and the word that rejects it.
    pub(super) complete: &'static str,
    pub(super) failed: &'static str,
    /// The word for remaining work, if the tag allows it.
    pub(super) left: Option<&'static str>,
    /// True if a message with both words has no result.
    pub(super) is_single: bool,
    /// The nonce that must follow the verdict.
    pub(super) nonce: Option<Nonce>,
    /// True if a tag without the nonce counts as a quotation.
    pub(super) is_strict: bool,
    /// True if the output marks the beginning of each answer by `> `.
    pub(super) is_marked: bool,
}

impl Tag {
    /// The promise of an agent about its own work.
    pub const PROMISE: Self = Self {
        open: b"<promise>",
        close: b"</promise>",
        complete: "COMPLETE",
        failed: "FAILED",
        left: Some("CONTINUE"),
        is_single: false,
        nonce: None,
        is_strict: false,
        is_marked: false,
    };
    /// The verdict of a reviewer about the work of another agent: the promise `Complete` accepts it.
    pub const VERDICT: Self = Self {
        open: b"<verdict>",
        close: b"</verdict>",
        complete: "ACCEPT",
        failed: "REJECT",
        left: None,
        is_single: true,
        ..Self::PROMISE
    };

    /// Returns the verdict about work, with the nonce of its prompt.
    pub fn verdict(nonce: Nonce) -> Self {
        Self {
            nonce: Some(nonce),
            ..Self::VERDICT
        }
    }

    /// Returns the tag for an output that marks its answers by `> `, or does not.
    pub fn marked(self, is_marked: bool) -> Self {
        Self { is_marked, ..self }
    }

    /// Returns the tag with each of its two words.
    pub fn forms(&self) -> [String; 2] {
        let nonce = self
            .nonce
            .map_or_else(String::new, |nonce| format!(" {}", nonce.text()));
        let open = String::from_utf8_lossy(self.open);
        let close = String::from_utf8_lossy(self.close);
        [self.complete, self.failed].map(|word| format!("{open}{word}{nonce}{close}"))
    }
}

/// Maximum length of the kept part of an unknown tag, in characters.
pub(super) const UNKNOWN_CHARS: usize = 200;

/// The promise of an agent about its attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Promise {
    /// The story is done.
    Complete,
    /// The story could not be done; the reason is trimmed and may be empty.
    Failed(String),
    /// Work is left for another process; its description is trimmed and may be empty.
    Continue(String),
}

/// Returns true if `text` has the beginning of a failure.
pub(super) fn has_failure(tag: Tag, text: &[u8]) -> bool {
    memmem::find_iter(text, tag.open).any(|at| is_failure(tag, &text[at..]))
}

/// Returns true if the tag that opens here contains a failure.
pub(super) fn is_failure(tag: Tag, text: &[u8]) -> bool {
    let inner = text[tag.open.len()..].trim_ascii_start();
    let has_nonce = |rest: &[u8]| {
        let nonce = tag.nonce.filter(|_| tag.is_strict);
        nonce.is_none_or(|nonce| rest.trim_ascii_start().starts_with(&nonce.0))
    };
    inner.strip_prefix(tag.failed.as_bytes()).is_some_and(has_nonce)
}

/// Returns true if the text inside a tag lacks the required nonce, so that it is no answer to the prompt.
pub(super) fn is_foreign(tag: Tag, inner: &[u8]) -> bool {
    let nonce = tag.nonce.filter(|_| tag.is_strict);
    nonce.is_some_and(|nonce| memmem::find(inner, &nonce.0).is_none())
}

/// Returns the text after this word and the nonce, inside a tag.
fn behind<'t>(tag: Tag, inner: &'t str, word: &str) -> Option<&'t str> {
    let rest = inner.strip_prefix(word)?;
    let Some(nonce) = tag.nonce else {
        return Some(rest);
    };
    let with_nonce = rest.trim_start().strip_prefix(nonce.text());
    with_nonce
        .filter(|_| rest.starts_with(char::is_whitespace))
        .or((!tag.is_strict).then_some(rest))
}

/// Returns a text of several lines without the frame around it; the tags have removed two of its corners.
fn unframed(text: &str) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    let side = |line: &str| {
        SIDES
            .iter()
            .find(|side| line.trim_start().starts_with(**side))
            .copied()
    };
    let Some(side) = lines.get(1).and_then(|line| side(line)) else {
        return text.to_owned();
    };
    let bare = lines.iter().map(|line| {
        let line = line.trim();
        let line = line.strip_prefix(side).unwrap_or(line);
        line.strip_suffix(side).unwrap_or(line).trim()
    });
    bare.collect::<Vec<_>>().join("\n")
}

/// Reads the text inside a tag; returns it, shortened, as an error if it is no promise.
pub(super) fn read(tag: Tag, inner: &[u8]) -> Result<Promise, String> {
    let inner = String::from_utf8_lossy(inner.trim_ascii());
    if behind(tag, &inner, tag.complete) == Some("") {
        return Ok(Promise::Complete);
    }
    if let Some(reason) = text_behind(tag, &inner, tag.failed) {
        return Ok(Promise::Failed(reason));
    }
    match tag.left.and_then(|word| text_behind(tag, &inner, word)) {
        Some(left) => Ok(Promise::Continue(left)),
        None => Err(inner.chars().take(UNKNOWN_CHARS).collect()),
    }
}

/// Returns the text that follows this word and a colon inside a tag; it is empty if nothing follows.
fn text_behind(tag: Tag, inner: &str, word: &str) -> Option<String> {
    match behind(tag, inner, word)? {
        "" => Some(String::new()),
        rest => {
            let text = rest.strip_prefix(':')?.trim().replace("\r\n", "\n");
            Some(unframed(&text))
        }
    }
}
