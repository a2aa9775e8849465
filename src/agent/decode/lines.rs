//! Lines of JSON: cutting a stream into them and reading them leniently.
//!
//! Invariant: a line that is too long or not as expected is skipped, never an error. This module must not know any
//! format.

use memchr::memchr;
use serde::{Deserialize, de::IgnoredAny};

/// The longest line, in bytes; longer ones are skipped without being kept.
const LINE_LIMIT: usize = 4 * 1024 * 1024;

/// The capacity of the buffer that is kept after a long line, in bytes.
const SPARE: usize = 64 * 1024;

/// Cuts a stream into lines.
#[derive(Default)]
pub(super) struct LineReader {
    begun: Vec<u8>,
    too_long: bool,
}

impl LineReader {
    /// Takes the next bytes and gives each line that they complete to `each`.
    pub(super) fn push(&mut self, bytes: &[u8], mut each: impl FnMut(&str)) {
        let mut rest = bytes;
        while let Some(end) = memchr(b'\n', rest) {
            let line = &rest[..end];
            rest = &rest[end + 1..];
            if self.begun.is_empty() && !self.too_long && line.len() <= LINE_LIMIT {
                each(&String::from_utf8_lossy(line));
            } else {
                self.begin(line);
                self.finish(&mut each);
            }
        }
        self.begin(rest);
    }

    /// Gives the line that the stream ended in to `each`.
    pub(super) fn finish(&mut self, mut each: impl FnMut(&str)) {
        if !self.too_long && !self.begun.is_empty() {
            each(&String::from_utf8_lossy(&self.begun));
        }
        self.too_long = false;
        self.begun.clear();
        self.begun.shrink_to(SPARE);
    }

    fn begin(&mut self, bytes: &[u8]) {
        self.too_long |= self.begun.len() + bytes.len() > LINE_LIMIT;
        if self.too_long {
            self.begun = Vec::new();
        } else {
            self.begun.extend_from_slice(bytes);
        }
    }
}

/// Reads the wanted fields of a line; returns `None` if they are not there.
pub(super) fn parse<'a, T: Deserialize<'a>>(line: &'a str) -> Option<T> {
    serde_json::from_str(line).ok()
}

/// Returns the `type` of a line. If it comes first, the rest, which may be long, is not read, so it may be broken.
pub(super) fn kind(line: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Head {
        r#type: String,
    }
    if let Some(rest) = line.strip_prefix(r#"{"type":""#)
        && let Some((kind, _)) = rest.split_once('"')
        && !kind.contains('\\')
    {
        return Some(kind.to_owned());
    }
    parse::<Head>(line).map(|head| head.r#type)
}

/// A field that counts as missing if it does not have the expected type.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Lenient<T> {
    Is(T),
    Not(IgnoredAny),
}

impl<T> Lenient<T> {
    pub(super) fn value(self) -> Option<T> {
        match self {
            Self::Is(value) => Some(value),
            Self::Not(_) => None,
        }
    }
}

impl<T> Default for Lenient<T> {
    fn default() -> Self {
        Self::Not(IgnoredAny)
    }
}

/// Appends to `kept` and drops its beginning, so that at most `limit` bytes are left.
pub(super) fn keep_end(kept: &mut Vec<u8>, bytes: &[u8], limit: usize) {
    let end = &bytes[bytes.len().saturating_sub(limit)..];
    kept.drain(..(kept.len() + end.len()).saturating_sub(limit));
    kept.extend_from_slice(end);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(bytes: &[u8], size: usize) -> Vec<String> {
        let mut reader = LineReader::default();
        let mut lines = Vec::new();
        for piece in bytes.chunks(size) {
            reader.push(piece, |line| lines.push(line.to_owned()));
        }
        reader.finish(|line| lines.push(line.to_owned()));
        lines
    }

    #[test]
    fn lines_may_lack_their_end() {
        assert_eq!(lines(b"a\nb\xff\r\n\nc", 2), ["a", "b\u{fffd}\r", "", "c"]);
    }

    #[test]
    fn long_lines_are_skipped() {
        let mut bytes = vec![b'x'; LINE_LIMIT + 1];
        bytes.extend(b"\nshort\n");
        for size in [4096, 65_536, usize::MAX] {
            assert_eq!(lines(&bytes, size), ["short"], "{size}");
            assert_eq!(lines(&bytes[1..], size).len(), 2, "{size}");
        }
    }

    #[test]
    fn the_type_is_found_wherever_it_stands() {
        for line in [
            r#"{"type":"result","a":1}"#,
            r#"{"type":"re\u0073ult"}"#,
            r#" { "a": {"type":"other"}, "type": "result" }"#,
        ] {
            assert_eq!(kind(line).as_deref(), Some("result"), "{line}");
        }
        for line in ["", "{", r#"{"type":"#, r#"{"type":"result"#, r#"{"type":7}"#] {
            assert_eq!(kind(line), None, "{line}");
        }
    }

    #[test]
    fn a_field_of_another_type_is_missing() {
        #[derive(Deserialize)]
        struct Line {
            #[serde(default)]
            number: Lenient<u16>,
        }
        let number = |line| parse::<Line>(line).and_then(|line| line.number.value());
        assert_eq!(number(r#"{"number":7}"#), Some(7));
        for line in [r#"{"number":null}"#, r#"{"number":[{"a":-1}]}"#, "{}", "{"] {
            assert_eq!(number(line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(bytes in prop::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..200), size in 1_usize..50) {
            prop_assert_eq!(lines(&bytes, size), lines(&bytes, usize::MAX));
        }
    }
}
