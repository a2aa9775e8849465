//! Knows the tag of a promise, and what it says.
//!
//! This module takes the text in a tag alone, and must not know where the tag stands.

use memchr::memmem;

use super::plain::SIDES;

pub(super) const OPEN: &[u8] = b"<promise>";
pub(super) const CLOSE: &[u8] = b"</promise>";
const COMPLETE: &str = "COMPLETE";
pub(super) const FAILED: &str = "FAILED";

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
pub(super) fn has_failure(text: &[u8]) -> bool {
    memmem::find_iter(text, OPEN).any(|at| is_failure(&text[at..]))
}

/// Returns true if the tag that opens here is that of a failure.
pub(super) fn is_failure(tag: &[u8]) -> bool {
    let inner = tag[OPEN.len()..].trim_ascii_start();
    inner.starts_with(FAILED.as_bytes())
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
pub(super) fn read(inner: &[u8]) -> Result<Promise, String> {
    let inner = String::from_utf8_lossy(inner.trim_ascii());
    if inner == COMPLETE {
        return Ok(Promise::Complete);
    }
    match inner.strip_prefix(FAILED) {
        Some("") => Ok(Promise::Failed(String::new())),
        Some(rest) if rest.starts_with(':') => {
            let reason = rest[1..].trim().replace("\r\n", "\n");
            Ok(Promise::Failed(unframed(&reason)))
        }
        _ => Err(inner.chars().take(UNKNOWN_CHARS).collect()),
    }
}
