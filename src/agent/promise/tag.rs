//! Knows the tags of a promise and of a verdict, and what they say.
//!
//! This module takes the text in a tag alone, and must not know where the tag stands.

use memchr::memmem;

use super::plain::SIDES;

/// A tag, and the two words that it may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    pub(super) open: &'static [u8],
    pub(super) close: &'static [u8],
    /// The word that speaks for the work, and the one that speaks against it.
    pub(super) complete: &'static str,
    pub(super) failed: &'static str,
    /// True if a message that holds both words says nothing.
    pub(super) is_single: bool,
}

impl Tag {
    /// The promise of an agent about its own work.
    pub const PROMISE: Self = Self {
        open: b"<promise>",
        close: b"</promise>",
        complete: "COMPLETE",
        failed: "FAILED",
        is_single: false,
    };
    /// The verdict of a reviewer about the work of another agent: the promise `Complete` accepts it.
    pub const VERDICT: Self = Self {
        open: b"<verdict>",
        close: b"</verdict>",
        complete: "ACCEPT",
        failed: "REJECT",
        is_single: true,
    };
}

/// The longest part of an unknown tag that is kept, in characters.
pub(super) const UNKNOWN_CHARS: usize = 200;

/// The promise of an agent about its attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Promise {
    /// The story is done.
    Complete,
    /// The story could not be done; the reason is trimmed and may be empty.
    Failed(String),
}

/// Returns true if a failure is begun in `text`.
pub(super) fn has_failure(tag: Tag, text: &[u8]) -> bool {
    memmem::find_iter(text, tag.open).any(|at| is_failure(tag, &text[at..]))
}

/// Returns true if the tag that opens here is that of a failure.
pub(super) fn is_failure(tag: Tag, text: &[u8]) -> bool {
    let inner = text[tag.open.len()..].trim_ascii_start();
    inner.starts_with(tag.failed.as_bytes())
}

/// Returns a text of several lines without the frame around it, of which the tags have cut off two corners.
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

/// Reads the text inside a tag; returns it, shortened, if it is no promise.
pub(super) fn read(tag: Tag, inner: &[u8]) -> Result<Promise, String> {
    let inner = String::from_utf8_lossy(inner.trim_ascii());
    if inner == tag.complete {
        return Ok(Promise::Complete);
    }
    match inner.strip_prefix(tag.failed) {
        Some("") => Ok(Promise::Failed(String::new())),
        Some(rest) if rest.starts_with(':') => {
            let reason = rest[1..].trim().replace("\r\n", "\n");
            Ok(Promise::Failed(unframed(&reason)))
        }
        _ => Err(inner.chars().take(UNKNOWN_CHARS).collect()),
    }
}
