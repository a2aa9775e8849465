//! Cuts a stream into lines of JSON, and reads them leniently.
//!
//! Invariant: a line that is too long or unexpected is skipped, never an error. This module does not know any format.

use memchr::memchr;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Maximum length of a line, in bytes; longer ones are skipped without being kept.
const LINE_LIMIT: usize = 4 * 1024 * 1024;

/// Capacity of the buffer that is kept after a long line, in bytes.
const SPARE: usize = 64 * 1024;

/// Cuts a stream into lines.
#[derive(Default)]
pub(super) struct LineReader {
    begun: Vec<u8>,
    too_long: bool,
}

impl LineReader {
    /// Takes the next bytes and passes each line that they complete to `each`.
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

    /// Passes the last line of the stream to `each`.
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

/// Reads the wanted fields of a line; returns `None` if they are missing.
pub(super) fn parse<'a, T: Deserialize<'a>>(line: &'a str) -> Option<T> {
    serde_json::from_str(line).ok()
}

/// An object whose fields are parsed on access: the others may be of any type, and long.
#[derive(Default, Deserialize)]
pub(super) struct Object<'a>(#[serde(borrow)] BTreeMap<String, &'a RawValue>);

impl<'a> Object<'a> {
    /// Returns a field, or `outer/inner`; a field of another type counts as missing.
    pub(super) fn get<T: Deserialize<'a>>(&self, path: &str) -> Option<T> {
        match path.split_once('/') {
            Some((outer, inner)) => self.get::<Self>(outer)?.get(inner),
            None => parse(self.0.get(path)?.get()),
        }
    }

    /// Returns true if the field exists and is not null.
    pub(super) fn has(&self, path: &str) -> bool {
        self.get::<Option<IgnoredAny>>(path).flatten().is_some()
    }

    /// Returns a text, or an empty one if it is missing.
    pub(super) fn text(&self, path: &str) -> String {
        self.get(path).unwrap_or_default()
    }

    /// Returns an object, or an empty one if it is missing.
    pub(super) fn object(&self, path: &str) -> Self {
        self.get(path).unwrap_or_default()
    }

    /// Returns true if the field is missing or an object: a line with another value is of another kind.
    pub(super) fn may_have_object(&self, name: &str) -> bool {
        !self.has(name) || self.get::<Self>(name).is_some()
    }

    /// Returns a list of objects, or an empty one if it is missing; `None` for any other value.
    pub(super) fn list(&self, path: &str) -> Option<Vec<Self>> {
        let Some(list) = self.get::<&RawValue>(path) else {
            return Some(Vec::new());
        };
        let items: Vec<&RawValue> = parse(list.get())?;
        Some(
            items
                .iter()
                .map(|item| parse(item.get()).unwrap_or_default())
                .collect(),
        )
    }
}

/// Appends to `kept` and drops its beginning, so that at most `limit` bytes remain.
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
    fn parser_finds_the_type_in_any_position() {
        let kind = |line| parse::<Object>(line).and_then(|line| line.get::<String>("type"));
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
        let number = |line| parse::<Object>(line).and_then(|line| line.get::<u16>("number"));
        assert_eq!(number(r#"{"number":7}"#), Some(7));
        for line in [r#"{"number":null}"#, r#"{"number":[{"a":-1}]}"#, "{}", "{"] {
            assert_eq!(number(line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn size_of_pieces_does_not_change_the_lines(bytes in prop::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..200), size in 1_usize..50) {
            prop_assert_eq!(lines(&bytes, size), lines(&bytes, usize::MAX));
        }
    }
}
