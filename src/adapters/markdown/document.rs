//! A markdown file as bytes, as text of the same length, and as lines.
//!
//! Invariant: an offset means the same place in the bytes and in the text.
//! Invalid UTF-8 is replaced byte by byte in the text, a byte order mark and
//! front matter are left out by starting behind them.
//!
//! This module must not know what a box or a heading is.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr2_iter;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// A file that is about to be parsed.
pub(super) struct Document<'a> {
    bytes: &'a [u8],
    text: Cow<'a, str>,
    start: usize,
    line_starts: Vec<usize>,
}

impl<'a> Document<'a> {
    /// Prepares any bytes at all.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let text = same_length_text(bytes);
        Self {
            bytes,
            start: prologue(&text),
            text,
            line_starts: line_starts(bytes),
        }
    }

    /// The markdown, and its offset in the file.
    pub(super) fn markdown(&self) -> (&str, usize) {
        (self.text.get(self.start..).unwrap_or(""), self.start)
    }

    /// The whole text, as long as the file.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The source of `range`, with U+FFFD for what is not UTF-8.
    pub(super) fn source(&self, range: Range<usize>) -> Cow<'a, str> {
        String::from_utf8_lossy(self.bytes.get(range).unwrap_or_default())
    }

    /// The 1-based line of `offset`.
    pub(super) fn line(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|&start| start <= offset)
    }

    /// Where the first line starts that does not start before `offset`.
    pub(super) fn line_start_from(&self, offset: usize) -> usize {
        let index = self.line_starts.partition_point(|&start| start < offset);
        let start = self.line_starts.get(index).copied();
        start.unwrap_or(self.bytes.len())
    }
}

/// The bytes as text of the same length: `?` stands for each invalid byte.
fn same_length_text(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '?'));
    }
    Cow::Owned(text)
}

/// The length of what stands before the markdown.
fn prologue(text: &str) -> usize {
    let unmarked = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    text.len() - unmarked.len() + front_matter(unmarked)
}

/// The length of the block between `---` lines that the text begins with.
///
/// A blank line after the first `---` makes that a thematic break.
fn front_matter(text: &str) -> usize {
    let mut length = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        length += line.len();
        match (index, line.trim_end()) {
            (0, "---") => {}
            (0, _) | (1, "") => return 0,
            (_, "---" | "...") => return length,
            _ => {}
        }
    }
    0
}

fn line_starts(bytes: &[u8]) -> Vec<usize> {
    let ends = memchr2_iter(b'\n', b'\r', bytes).filter(|&end| {
        let crlf = bytes.get(end..end + 2) == Some(b"\r\n");
        !crlf
    });
    std::iter::once(0).chain(ends.map(|end| end + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_each_invalid_byte_by_one() {
        let bytes = b"a\xff\xe2\x82b\xc3\xa9";
        let document = Document::new(bytes);
        assert_eq!(document.text(), "a???b\u{e9}");
        assert_eq!(document.text().len(), bytes.len());
        assert_eq!(document.source(0..3), "a\u{fffd}\u{fffd}");
    }

    #[test]
    fn starts_behind_byte_order_mark_and_front_matter() {
        let start_of = |text: &str| Document::new(text.as_bytes()).start;
        assert_eq!(start_of("\u{feff}# a"), 3);
        assert_eq!(start_of("---\nkey: 1\n---\n# a"), 15);
        assert_eq!(start_of("\u{feff}---\r\nkey: 1\r\n...\r\n# a"), 21);
        assert_eq!(start_of("---\n\nrule above\n---\n"), 0, "thematic break");
        assert_eq!(start_of("---\nnever closed\n"), 0);
        assert_eq!(start_of("\n---\nkey: 1\n---\n"), 0, "not at the start");
    }

    #[test]
    fn counts_lines_of_every_ending() {
        let document = Document::new(b"a\nb\r\nc\rd");
        let lines: Vec<usize> = [0, 1, 2, 3, 4, 5, 6, 7, 8]
            .map(|offset| document.line(offset))
            .into();
        assert_eq!(lines, [1, 1, 2, 2, 2, 3, 3, 4, 4]);
        assert_eq!(document.line_start_from(1), 2);
        assert_eq!(document.line_start_from(2), 2);
        assert_eq!(document.line_start_from(3), 5);
        assert_eq!(document.line_start_from(8), 8);
    }
}
