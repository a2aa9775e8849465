//! A markdown file as bytes, as text of the same length, and as lines.
//!
//! Invariant: an offset means the same place in the bytes and in the text. Invalid UTF-8 is replaced byte by byte in
//! the text; the markdown starts after a byte order mark and front matter. Quotes and items nested deeper than in any
//! real file are no longer nested in the markdown. This bounds the work of the parser, which checks every open quote
//! and item on each line.
//!
//! This module does not know headings.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr2_iter;

use super::boxes::{looks_like_box, touches_marker};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The largest number of quote and item markers that one line can begin with.
const DEEPEST: usize = 64;

/// The last column at which such a marker is recognized.
const WIDEST: usize = 256;

/// The byte that replaces a marker that is too deep.
const NO_MARKER: u8 = b'.';

/// A file that is about to be parsed.
pub(super) struct Document<'a> {
    bytes: &'a [u8],
    text: Cow<'a, str>,
    /// The text without the markers that are too deep, as long as the file.
    markdown: Option<String>,
    start: usize,
    line_starts: Vec<usize>,
}

impl<'a> Document<'a> {
    /// Prepares any bytes.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let text = same_length_text(bytes);
        Self {
            bytes,
            start: prologue(&text),
            markdown: without_depths(&text),
            text,
            line_starts: line_starts(bytes),
        }
    }

    /// Returns the markdown, and its offset in the file.
    pub(super) fn markdown(&self) -> (&str, usize) {
        let text: &str = self.markdown.as_deref().unwrap_or(&self.text);
        (text.get(self.start..).unwrap_or(""), self.start)
    }

    /// Returns the whole text, as long as the file.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the source of `range`, with U+FFFD for invalid UTF-8.
    pub(super) fn source(&self, range: Range<usize>) -> Cow<'a, str> {
        match self.text {
            Cow::Borrowed(text) if text.get(range.clone()).is_some() => Cow::Borrowed(&text[range]),
            _ => String::from_utf8_lossy(self.bytes.get(range).unwrap_or_default()),
        }
    }

    /// Returns the 1-based line of `offset`.
    pub(super) fn line(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|&start| start <= offset)
    }

    /// Returns the offset of the start of a 1-based line, or of the end of the file if there are fewer lines.
    pub(super) fn line_start(&self, line: usize) -> usize {
        let start = self.line_starts.get(line.saturating_sub(1));
        start.copied().unwrap_or(self.bytes.len())
    }

    /// Finds the start of the first line that does not start before `offset`.
    pub(super) fn line_start_from(&self, offset: usize) -> usize {
        let index = self.line_starts.partition_point(|&start| start < offset);
        let start = self.line_starts.get(index).copied();
        start.unwrap_or(self.bytes.len())
    }
}

/// Returns the bytes as text of the same length: `?` replaces each invalid byte.
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

/// Returns the text without overly deep markers; `None` if it has none.
fn without_depths(text: &str) -> Option<String> {
    let mut bytes: Option<Vec<u8>> = None;
    let mut start = 0;
    for line in text.split_inclusive(['\n', '\r']) {
        if let Some(excess) = first_too_deep(line.as_bytes())
            && let Some(byte) = bytes
                .get_or_insert_with(|| text.as_bytes().to_vec())
                .get_mut(start + excess)
        {
            *byte = NO_MARKER;
        }
        start += line.len();
    }
    // Markers are ASCII, so it stays UTF-8.
    bytes.and_then(|bytes| String::from_utf8(bytes).ok())
}

/// Finds the first marker in one line that is too deep.
fn first_too_deep(line: &[u8]) -> Option<usize> {
    let mut at = 0;
    let mut column = 0;
    let mut markers = 0;
    loop {
        match line.get(at)? {
            b'\t' => column = (column / 4 + 1) * 4,
            b' ' => column += 1,
            _ => {
                let length = marker(line.get(at..)?)?;
                markers += 1;
                if markers > DEEPEST || column > WIDEST {
                    return Some(at);
                }
                at += length - 1;
                column += length;
            }
        }
        at += 1;
    }
}

/// Returns the length of the quote or item marker at the beginning of a text.
fn marker(text: &[u8]) -> Option<usize> {
    let blank = |at: usize| text.get(at).is_none_or(u8::is_ascii_whitespace);
    match text.first()? {
        b'>' => Some(1),
        b'-' | b'*' | b'+' if blank(1) => Some(1),
        b'0'..=b'9' => {
            let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let closed = matches!(text.get(digits), Some(b'.' | b')')) && blank(digits + 1);
            closed.then_some(digits + 1)
        }
        _ => None,
    }
}

/// Returns the length of the part before the markdown.
fn prologue(text: &str) -> usize {
    let unmarked = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    text.len() - unmarked.len() + front_matter(unmarked)
}

/// Returns the length of the front matter: a block between `---` lines that parses as a YAML mapping and contains
/// nothing like a box. Any other block is content, so that no part of a list is skipped.
///
/// Before a blank line, the first `---` is a thematic break, unless only keys with values follow.
fn front_matter(text: &str) -> usize {
    let mut length = 0;
    let mut only_keys = false;
    let mut keys = 0_usize;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        length += line.len();
        let line = line.trim_end();
        match (index, line) {
            (0, "---") => {}
            (0, _) => return 0,
            (1, "") => only_keys = true,
            (_, "---" | "...") if keys > 0 => return length,
            (_, "") => {}
            (_, line) if looks_like_box(line) || touches_marker(line.trim_start()) => return 0,
            (_, line) if is_key(line) => keys += 1,
            (_, line) if only_keys || keys == 0 && !line.starts_with('#') || !is_below_key(line) => return 0,
            _ => {}
        }
    }
    0
}

/// Returns whether a line may continue the value of a key, or be a comment.
fn is_below_key(line: &str) -> bool {
    line.starts_with([' ', '\t', '#', ']', '}']) || line == "-" || line.starts_with("- ")
}

/// Returns whether a line is a key with its value.
fn is_key(line: &str) -> bool {
    let is_name = |name: &str| {
        name.chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ' ' | '"' | '\''))
    };
    line.split_once(':').is_some_and(|(name, value)| {
        !name.is_empty()
            && !name.starts_with(' ')
            && is_name(name)
            && (value.is_empty() || value.starts_with(' '))
    })
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
        assert_eq!(
            start_of("---\n\ndescription: \"a\"\n\n---\n# a"),
            27,
            "blank line"
        );
        assert_eq!(start_of("---\n\ntags:\n  - b\n---\n"), 0, "more than keys");
        assert_eq!(start_of("---\n\nNote: a\n- [ ] b\n\n---\n"), 0, "text");
        assert_eq!(start_of("\n---\nkey: 1\n---\n"), 0, "not at the start");
    }

    #[test]
    fn only_a_mapping_without_boxes_is_front_matter() {
        let start_of = |text: &str| Document::new(text.as_bytes()).start;
        for matter in [
            "---\nkey: 1\n---\n",
            "---\n# a comment\nDue date: x\n\n\"b\": c\n...\n",
            "---\ntags:\n- a\n  - b\nlist: [\n  a,\n]\ntext: |\n  # Plan\n---\n",
        ] {
            assert_eq!(
                start_of(&format!("{matter}- [ ] a\n")),
                matter.len(),
                "{matter:?}"
            );
        }
        for content in [
            "---\n- [ ] 1 a\n---\n- [x] 2 b\n",
            "---\nkey: 1\n- [ ] a\n---\n",
            "---\ntodo:\n  - [x] a\n---\n",
            "---\nkey: 1\n-[ ] a\n---\n",
            "---\n---\n- [ ] a\n",
            "---\n# Plan\n---\n- [ ] a\n",
            "---\nkey: 1\nSome words.\n---\n",
            "---\nkey: 1\n## 1. A\n- [ ] a\n---\n",
            "---\n- a\n- b\n---\n",
            "---\r\n- [ ] a\r\n---\r\n- [x] b\r\n",
            "---\r- [ ] a\r---\r- [x] b\r",
        ] {
            assert_eq!(start_of(content), 0, "{content:?}");
        }
    }

    #[test]
    fn text_that_is_nested_too_deep_is_plain() {
        let document = |text: &str| Document::new(text.as_bytes()).markdown().0.to_owned();
        let most = "> - 1. ".repeat(21) + ">";
        assert_eq!(document(&most), most);
        assert_eq!(document(&format!("{most} - [ ] a")), format!("{most} . [ ] a"));
        assert_eq!(
            document(&format!("{most}12) a\n> b")),
            format!("{most}.2) a\n> b")
        );
        let wide = " ".repeat(257) + "- a";
        assert_eq!(document(&wide), " ".repeat(257) + ". a");
        assert_eq!(document(&wide[1..]), wide[1..]);
        assert_eq!(document("a > b - c 1. d\n-e 1.f"), "a > b - c 1. d\n-e 1.f");
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
