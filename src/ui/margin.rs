//! The mark before each line of an agent on a terminal, which sets its words off from ours.

use std::borrow::Cow;

use super::shown::styled;

/// Returns the mark.
pub(super) fn mark() -> String {
    styled(&["2"], "│ ")
}

/// Puts the mark before lines that come in pieces.
#[derive(Debug, Default)]
pub(super) struct Margin {
    inside_line: bool,
    /// True if the cursor is at the beginning of the line by a carriage return.
    is_back: bool,
}

impl Margin {
    /// Returns the piece with the mark before each line that begins in it. What comes after a carriage return takes the
    /// place of the line, with a mark of its own.
    pub fn put<'a>(&mut self, piece: &'a [u8], mark: &str) -> Cow<'a, [u8]> {
        let ends = memchr::memchr2_iter(b'\n', b'\r', piece).count();
        if self.inside_line && !self.is_back && ends == 0 {
            return Cow::Borrowed(piece);
        }
        let mut marked = Vec::with_capacity(piece.len() + (ends + 1) * (mark.len() + 3));
        for part in piece.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            if !self.inside_line {
                marked.extend_from_slice(mark.as_bytes());
            } else if self.is_back && !matches!(part, b"\n" | b"\r") {
                marked.extend_from_slice(b"\x1b[K");
                marked.extend_from_slice(mark.as_bytes());
            }
            marked.extend_from_slice(part);
            self.inside_line = !part.ends_with(b"\n");
            self.is_back = part.ends_with(b"\r");
        }
        Cow::Owned(marked)
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
                .flat_map(|piece| margin.put(piece, "> ").into_owned())
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
                .flat_map(|piece| margin.put(piece, "> ").into_owned())
                .collect();
            let marked = String::from_utf8(marked).unwrap();
            assert_eq!(marked, "> 10%\r\r\x1b[K> 20%\r\x1b[K> x\r\n> y\r", "{size}");
        }
    }
}
