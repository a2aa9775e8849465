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
}

impl Margin {
    /// Returns the piece with the mark before each line that begins in it.
    pub fn put<'a>(&mut self, piece: &'a [u8], mark: &str) -> Cow<'a, [u8]> {
        let ends = memchr::memchr_iter(b'\n', piece).count();
        if self.inside_line && ends == 0 {
            return Cow::Borrowed(piece);
        }
        let mut marked = Vec::with_capacity(piece.len() + (ends + 1) * mark.len());
        for line in piece.split_inclusive(|byte| *byte == b'\n') {
            if !self.inside_line {
                marked.extend_from_slice(mark.as_bytes());
            }
            marked.extend_from_slice(line);
            self.inside_line = !line.ends_with(b"\n");
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
}
