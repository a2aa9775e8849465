//! The mark before each line of an agent on a terminal, which distinguishes it from git-ralph's lines. Lines that are
//! too long for the terminal are broken here: rows wrapped by the terminal would have no mark.

use std::borrow::Cow;

use textwrap::core::display_width;
use textwrap::{Options, WordSplitter, wrap};

use super::shown::{printable, styled};

/// Returns the mark.
pub(super) fn mark() -> String {
    styled(&["2"], "│ ")
}

/// Returns a complete line of an agent in rows with the mark, broken between words.
pub(super) fn rows(line: &str, mark: &str, columns: Option<usize>) -> String {
    let rows = match columns {
        Some(columns) => {
            let room = columns.saturating_sub(display_width(mark)).max(1);
            wrap(
                line,
                Options::new(room).word_splitter(WordSplitter::NoHyphenation),
            )
        }
        None => vec![Cow::Borrowed(line)],
    };
    rows.iter().map(|row| format!("{mark}{row}\n")).collect()
}

/// Maximum number of bytes of an agent's kept colours.
const COLOURS: usize = 256;

/// Adds the mark to lines that arrive in pieces.
#[derive(Debug, Default)]
pub(super) struct Margin {
    inside_line: bool,
    /// True if a carriage return has moved the cursor to the beginning of the line.
    is_back: bool,
    /// The number of used columns of the row, including the mark.
    column: usize,
    /// The agent's colours in this line, which the mark ends.
    colours: String,
}

impl Margin {
    /// Returns the piece with the mark before each line that begins in it, and before each row of a terminal with this
    /// many columns. Text after a carriage return replaces the row, with its own mark.
    pub fn put<'a>(&mut self, piece: &'a [u8], mark: &str, columns: Option<usize>) -> Cow<'a, [u8]> {
        let ends = memchr::memchr2_iter(b'\n', b'\r', piece).count();
        if self.inside_line && !self.is_back && ends == 0 && columns.is_none() {
            return Cow::Borrowed(piece);
        }
        let mut marked = Vec::with_capacity(piece.len() + (ends + 1) * (mark.len() + 3));
        for part in piece.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            if !self.inside_line {
                self.begin_row(mark, &mut marked);
            } else if self.is_back && !matches!(part, b"\n" | b"\r") {
                marked.extend_from_slice(b"\x1b[K");
                self.begin_row(mark, &mut marked);
            }
            match columns {
                Some(columns) => self.fill(part, mark, columns, &mut marked),
                None => marked.extend_from_slice(part),
            }
            self.inside_line = !part.ends_with(b"\n");
            self.is_back = part.ends_with(b"\r");
            if !self.inside_line {
                self.colours.clear();
            }
        }
        Cow::Owned(marked)
    }

    fn begin_row(&mut self, mark: &str, marked: &mut Vec<u8>) {
        marked.extend_from_slice(mark.as_bytes());
        self.column = display_width(mark);
    }

    /// Prints a part of a line, possibly with its end, in rows.
    fn fill(&mut self, part: &[u8], mark: &str, columns: usize, marked: &mut Vec<u8>) {
        let length = part.len() - usize::from(matches!(part.last(), Some(b'\n' | b'\r')));
        let (words, end) = part.split_at(length);
        // Most lines fit.
        if self.column + length <= columns && printable(words, |_| false) == length {
            self.column += length;
            marked.extend_from_slice(part);
            return;
        }
        let words = String::from_utf8_lossy(words);
        let mut rest = words.as_ref();
        while let Some(character) = rest.chars().next() {
            let is_colour = character == '\x1b';
            let length = match rest.find('m') {
                Some(last) if is_colour => last + 1,
                _ => character.len_utf8(),
            };
            let (taken, others) = rest.split_at(length);
            let width = match character {
                _ if is_colour => 0,
                '\t' => 8 - self.column % 8,
                _ => display_width(taken),
            };
            if self.column + width > columns {
                marked.push(b'\n');
                self.begin_row(mark, marked);
                marked.extend_from_slice(self.colours.as_bytes());
            }
            if is_colour && self.colours.len() < COLOURS {
                self.colours.push_str(taken);
            }
            self.column += width;
            marked.extend_from_slice(taken.as_bytes());
            rest = others;
        }
        marked.extend_from_slice(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_gets_one_mark_however_it_comes() {
        let text = "one\ntwo\n\nthree";
        for size in [1, 2, 5, 100] {
            let mut margin = Margin::default();
            let marked: Vec<u8> = text
                .as_bytes()
                .chunks(size)
                .flat_map(|piece| margin.put(piece, "> ", None).into_owned())
                .collect();
            let marked = String::from_utf8(marked).unwrap();
            assert_eq!(marked, "> one\n> two\n> \n> three", "{size}");
        }
    }

    #[test]
    fn carriage_return_leaves_the_mark_and_the_last_words() {
        let text = "10%\r\r20%\rx\r\ny\r";
        for size in [1, 2, 5, 100] {
            let mut margin = Margin::default();
            let pieces = text.as_bytes().chunks(size);
            let marked: Vec<u8> = pieces
                .flat_map(|piece| margin.put(piece, "> ", None).into_owned())
                .collect();
            let marked = String::from_utf8(marked).unwrap();
            assert_eq!(marked, "> 10%\r\r\x1b[K> 20%\r\x1b[K> x\r\n> y\r", "{size}");
        }
    }

    #[test]
    fn whole_line_is_broken_between_its_words() {
        assert_eq!(
            rows("  one two three", "> ", Some(9)),
            ">   one\n> two\n> three\n"
        );
        assert_eq!(rows("abcdefghij", "> ", Some(9)), "> abcdefg\n> hij\n");
        assert_eq!(rows("one two three", "> ", None), "> one two three\n");
    }

    #[test]
    fn each_row_of_a_long_line_gets_a_mark() {
        let text = "123456789\n日本語日本\n\x1b[31mabcdefghij\x1b[0m\na\tb\n12345678\r\nz";
        let rows = "> 12345678\n> 9\n> 日本語日\n> 本\n> \x1b[31mabcdefgh\n> \x1b[31mij\x1b[0m\n> a\tb\n> 12345678\r\n> z";
        let mut margin = Margin::default();
        let marked = margin.put(text.as_bytes(), "> ", Some(10));
        assert_eq!(String::from_utf8_lossy(&marked), rows);
        let plain = text.replace("\x1b[31m", "").replace("\x1b[0m", "");
        let whole = Margin::default()
            .put(plain.as_bytes(), "> ", Some(10))
            .into_owned();
        let mut margin = Margin::default();
        let mut marked = Vec::new();
        for character in plain.chars() {
            let piece = character.to_string();
            marked.extend(margin.put(piece.as_bytes(), "> ", Some(10)).into_owned());
        }
        assert_eq!(marked, whole);
    }
}
