//! Makes plain text from terminal output. This module does not depend on the meaning of the text.

use memchr::memchr3;

use crate::escape::Escape;

/// Makes plain text from text that arrives in pieces: removes terminal escape sequences, and replaces characters that
/// are displayed as a blank, or not at all, by blanks.
#[derive(Default)]
pub(super) struct PlainFilter(Place);

/// The no-break space and the zero-width space.
const BLANKS: [&str; 2] = ["\u{a0}", "\u{200b}"];

/// Bullets, and the sides of a frame. They are passed on whole, never in parts.
const BULLETS: [&str; 2] = ["\u{2022}", "\u{25cf}"];
pub(super) const SIDES: [&str; 2] = ["\u{2502}", "\u{2503}"];

/// The length of the longest of these, their first bytes and their second ones.
const LONGEST: usize = 3;
const FIRST: [u8; 2] = [0xc2, 0xe2];
const SECOND: [u8; 4] = [0xa0, 0x80, 0x97, 0x94];

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    /// In plain text.
    #[default]
    Outside,
    /// Inside a possible blank or sign, after this number of its bytes.
    Sign([u8; LONGEST], usize),
    /// In an escape sequence.
    Sequence(Escape),
}

impl PlainFilter {
    /// Returns whether a piece is already plain text.
    pub(super) fn passes(&self, piece: &[u8]) -> bool {
        self.0 == Place::Outside && memchr3(Escape::ESC, FIRST[0], FIRST[1], piece).is_none()
    }

    pub(super) fn take(&mut self, piece: &[u8], plain: &mut Vec<u8>) {
        let mut rest = piece;
        while let Some((&byte, after)) = rest.split_first() {
            if self.0 != Place::Outside {
                if self.takes(byte, plain) {
                    rest = after;
                }
            } else if let Some(at) = memchr3(Escape::ESC, FIRST[0], FIRST[1], rest) {
                let (first, second) = (rest[at], rest.get(at + 1));
                let is_other = first != Escape::ESC && second.is_some_and(|byte| !SECOND.contains(byte));
                let until = at + usize::from(is_other);
                plain.extend_from_slice(&rest[..until]);
                rest = &rest[at + 1..];
                if is_other {
                    continue;
                }
                self.0 = match first {
                    Escape::ESC => Place::Sequence(Escape::Begun),
                    first => Place::Sign([first, 0, 0], 1),
                };
            } else {
                plain.extend_from_slice(rest);
                return;
            }
        }
    }

    /// Adds the bytes that were held back because they could have continued.
    pub(super) fn end(&mut self, plain: &mut Vec<u8>) {
        if let Place::Sign(sign, seen) = self.0 {
            plain.extend_from_slice(&sign[..seen]);
        }
        self.0 = Place::Outside;
    }

    /// Takes a byte of a sequence or a blank; returns false if `byte` is not part of it.
    fn takes(&mut self, byte: u8, plain: &mut Vec<u8>) -> bool {
        let (place, taken) = match self.0 {
            Place::Outside => (Place::Outside, false),
            Place::Sign(mut sign, seen) => {
                sign[seen] = byte;
                let so_far = &sign[..=seen];
                let is_begun = |known: &&str| known.as_bytes().starts_with(so_far);
                let is_whole = |known: &&str| known.as_bytes() == so_far;
                if BLANKS.iter().any(is_whole) {
                    plain.push(b' ');
                    (Place::Outside, true)
                } else if BULLETS.iter().chain(&SIDES).any(is_whole) {
                    plain.extend_from_slice(so_far);
                    (Place::Outside, true)
                } else if BLANKS.iter().chain(&BULLETS).chain(&SIDES).any(is_begun) {
                    (Place::Sign(sign, seen + 1), true)
                } else {
                    self.end(plain);
                    (Place::Outside, false)
                }
            }
            Place::Sequence(escape) => {
                let (next, taken) = escape.next(byte);
                (next.map_or(Place::Outside, Place::Sequence), taken)
            }
        };
        self.0 = place;
        taken
    }
}

/// Returns true for a line feed and for a carriage return, which alone moves the cursor to the start of the line.
pub(super) fn is_line_break(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

#[cfg(test)]
mod tests {
    use crate::agent::promise::Heard;
    use crate::agent::promise::tests::{complete, failed, hear, hear_in_pieces};

    #[test]
    fn cut_off_blank_character_is_no_blank() {
        for end in ["\u{2020}", "\u{2009}", "\u{b0}", "\u{1f389}"] {
            let text = format!("Done: <promise>COMPLETE</promise>{end}");
            for size in 1..6 {
                assert_eq!(hear_in_pieces(text.as_bytes(), size), complete(), "{text} {size}");
            }
        }
        for end in [
            &b"\xc2"[..],
            b"\xe2",
            b"\xe2\x80",
            b"\xe2\x80\n",
            b"\xe2\xe2\x80\x8b",
        ] {
            let text = [b"<promise>COMPLETE</promise>", end].concat();
            assert_eq!(hear(&text), Heard::InSentence, "{end:?}");
            let text = [b"<promise>COMPLETE</promise>", end, b"\nBye."].concat();
            assert_eq!(hear(&text), Heard::InSentence, "{end:?}");
        }
        let reason = "<promise>FAILED: a\u{2019}s \u{2020}\u{e9} \u{a0}b</promise>";
        assert_eq!(hear(reason), failed("a\u{2019}s \u{2020}\u{e9}  b"));
    }
}
