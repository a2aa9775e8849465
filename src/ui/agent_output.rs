//! Makes an agent's output safe to print. Output may be long and of any bytes, so most is handled in large chunks.
//!
//! Invariant: the result never depends on the sizes of the pieces.

use std::borrow::Cow;
use std::mem;

use super::shown::{acts, plain, printable};
use crate::escape::Escape;

/// Maximum length of a sequence that sets colours, in bytes.
const LONGEST: usize = 64;

/// Maximum number of bytes of kept colour sequences.
const COLOURS: usize = 256;

/// The replacement for invalid bytes.
const BROKEN: &[u8] = "\u{fffd}".as_bytes();

/// The printed form of each single byte: itself, `^X`, or the replacement. The last of the four bytes has the length,
/// and [`SEVERAL`] if the byte may begin a multi-byte character.
static PRINTED: [u32; 256] = {
    let mut printed = [0; 256];
    let mut byte = 0_u8;
    loop {
        printed[byte as usize] = u32::from_le_bytes(match byte {
            Escape::ESC => [0; 4],
            byte if is_quiet(byte) => [byte, 0, 0, 1],
            ..0x80 => [b'^', byte ^ 0x40, 0, 2],
            0xc2..=0xf4 => [0xef, 0xbf, 0xbd, 3 | SEVERAL],
            _ => [0xef, 0xbf, 0xbd, 3],
        });
        if byte == 0xff {
            break printed;
        }
        byte += 1;
    }
};
const SEVERAL: u8 = 0x80;

const fn is_quiet(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t')
}

/// Returns the length of a character that begins with this byte.
fn length_of(first: u8) -> usize {
    match first {
        ..=0x7f => 1,
        0x80..=0xdf => 2,
        0xe0..=0xef => 3,
        _ => 4,
    }
}

/// Takes text up to a sequence, or to a multi-byte character that is active, incomplete or invalid; returns the rest.
fn take_text<'a>(bytes: &'a [u8], safe: &mut Vec<u8>) -> &'a [u8] {
    /// Maximum number of characters for which space is reserved at once.
    const ROOM: usize = 64;
    let (mut at, mut end, mut room) = (0, safe.len(), 0);
    while let Some(&byte) = bytes.get(at) {
        if room == 0 {
            room = ROOM;
            safe.resize(end + 4 * ROOM, 0);
        }
        room -= 1;
        let mut printed = PRINTED[usize::from(byte)];
        let goes_on = bytes.get(at + 1).is_none_or(|next| (0x80..=0xbf).contains(next));
        let (mut length, mut taken) = ((printed >> 24) as usize % 4, 1);
        // Multi-byte characters are hard to predict: one branch for both.
        if (printed >> 31) & u32::from(goes_on) != 0 {
            taken = length_of(byte);
            let character = bytes.get(at..at + taken).map(str::from_utf8);
            (length, printed) = match (character, bytes[at..].first_chunk()) {
                (Some(Ok(quiet)), Some(whole)) if !quiet.chars().any(acts) => {
                    (taken, u32::from_le_bytes(*whole))
                }
                _ => (0, 0),
            };
        }
        if length == 0 {
            break;
        }
        if let Some(place) = safe[end..].first_chunk_mut() {
            *place = printed.to_le_bytes();
        }
        end += length;
        at += taken;
    }
    safe.truncate(end);
    &bytes[at..]
}

/// Makes an agent's output safe to print, piece by piece: passes colours on a terminal, removes all other sequences,
/// and makes single control characters visible.
#[derive(Debug, Default)]
pub(super) struct AgentOutput {
    /// True if colours pass.
    coloured: bool,
    /// The position in an escape sequence, if inside one.
    escape: Option<Escape>,
    /// The parameters of the sequence, or the first bytes of the character, at the end of the last piece.
    begun: Vec<u8>,
    /// The sequences of the agent's present colours.
    colours: Vec<u8>,
}

impl AgentOutput {
    pub(super) fn new(coloured: bool) -> Self {
        Self {
            coloured,
            ..Self::default()
        }
    }

    /// Returns the printable part of the next bytes.
    pub(super) fn take<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        // Most output is such.
        if self.is_outside() && printable(bytes, is_quiet) == bytes.len() {
            return Cow::Borrowed(bytes);
        }
        let mut safe = Vec::with_capacity(2 * bytes.len());
        let mut rest = bytes;
        loop {
            if self.is_outside() {
                rest = take_text(rest, &mut safe);
            }
            let Some((&byte, others)) = rest.split_first() else {
                return Cow::Owned(safe);
            };
            if self.is_outside() && byte != Escape::ESC {
                rest = self.take_character(rest, &mut safe);
            } else {
                while !self.takes(byte, &mut safe) {}
                rest = others;
            }
        }
    }

    /// Returns true between two characters outside of sequences.
    fn is_outside(&self) -> bool {
        self.escape.is_none() && self.begun.is_empty()
    }

    /// Returns the sequence that ends the agent's colours, so that they do not affect later output.
    pub(super) fn settle(&mut self) -> &'static [u8] {
        if mem::take(&mut self.colours).is_empty() {
            b""
        } else {
            b"\x1b[0m"
        }
    }

    /// Returns the sequences that set the agent's colours again after [`AgentOutput::settle`].
    pub(super) fn colours(&self) -> &[u8] {
        &self.colours
    }

    /// Takes one byte; returns false if the sequence before ends without it.
    fn takes(&mut self, byte: u8, safe: &mut Vec<u8>) -> bool {
        let Some(escape) = self.escape else {
            return self.takes_text(byte, safe);
        };
        let (next, taken) = escape.next(byte);
        if escape == Escape::Control {
            match (next, taken) {
                (Some(_), _) => {
                    self.begun.push(byte);
                    self.begun.truncate(LONGEST);
                }
                (None, true) => self.colour(byte, safe),
                (None, false) => self.begun.clear(),
            }
        }
        self.escape = next;
        taken
    }

    /// Ends a sequence with its last byte; passes it if it only sets colours.
    fn colour(&mut self, last: u8, safe: &mut Vec<u8>) {
        let parameters = mem::take(&mut self.begun);
        let is_parameter = |byte: &u8| matches!(byte, b'0'..=b'9' | b';' | b':');
        let is_colour = last == b'm' && parameters.len() < LONGEST && parameters.iter().all(is_parameter);
        if is_colour && self.coloured {
            let sequence = format!("\x1b[{}m", String::from_utf8_lossy(&parameters));
            safe.extend_from_slice(sequence.as_bytes());
            if parameters.iter().all(|byte| matches!(byte, b'0' | b';')) {
                self.colours.clear();
            } else {
                // Old settings have probably been replaced.
                let old = (self.colours.len() + sequence.len()).saturating_sub(COLOURS);
                if old > 0 {
                    self.colours.clear();
                }
                self.colours.extend_from_slice(sequence.as_bytes());
            }
        }
    }

    /// Takes the multi-byte character at the start, which may be incomplete; returns the bytes after it.
    fn take_character<'a>(&mut self, bytes: &'a [u8], safe: &mut Vec<u8>) -> &'a [u8] {
        let length = length_of(bytes[0]);
        let taken = match str::from_utf8(&bytes[..length.min(bytes.len())]) {
            Ok(character) => {
                safe.extend_from_slice(plain(character).as_bytes());
                length
            }
            Err(error) => {
                if let Some(broken) = error.error_len() {
                    safe.extend_from_slice(BROKEN);
                    broken
                } else {
                    self.begun.extend_from_slice(bytes);
                    bytes.len()
                }
            }
        };
        &bytes[taken..]
    }

    /// Takes a byte of text; returns false if the previous character is incomplete and the byte begins another.
    fn takes_text(&mut self, byte: u8, safe: &mut Vec<u8>) -> bool {
        let goes_on = matches!(byte, 0x80..=0xbf);
        if !self.begun.is_empty() && !goes_on {
            self.begun.clear();
            safe.extend_from_slice(BROKEN);
            return false;
        }
        match byte {
            Escape::ESC => self.escape = Some(Escape::Begun),
            b'\r' => safe.push(b'\r'),
            _ => {
                self.begun.push(byte);
                match str::from_utf8(&self.begun) {
                    Ok(text) => {
                        safe.extend_from_slice(plain(text).as_bytes());
                        self.begun.clear();
                    }
                    Err(error) if error.error_len().is_some() => {
                        // The byte may begin another character.
                        let is_alone = self.begun.len() == 1;
                        self.begun.clear();
                        safe.extend_from_slice(BROKEN);
                        return is_alone;
                    }
                    // More of the character is to come.
                    Err(_) => {}
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn printed(coloured: bool, pieces: &[&[u8]]) -> String {
        let mut output = AgentOutput::new(coloured);
        let bytes: Vec<u8> = pieces
            .iter()
            .flat_map(|piece| output.take(piece).into_owned())
            .collect();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn only_the_colours_of_an_agent_pass() {
        for (text, coloured, plain) in [
            ("a\n\u{e9}\tb\r\n", "a\n\u{e9}\tb\r\n", "a\n\u{e9}\tb\r\n"),
            ("\x1b[1;31mred\x1b[m", "\x1b[1;31mred\x1b[m", "red"),
            ("\x1b[38:5:1mx", "\x1b[38:5:1mx", "x"),
            ("a\x1b[2J\x1b[5n\x1b[?1049h\x1b[>4;1mb", "ab", "ab"),
            ("a\x1b]52;c;cm0=\x07b\x1b]0;t\x1b\\c", "abc", "abc"),
            ("\x1b]never ended\nb", "\nb", "\nb"),
            ("\x1bPq\x1b\\\x1b(0\x1bcx", "x", "x"),
            (
                "\u{9b}2J\u{202e}\x07",
                "<U+009B>2J<U+202E>^G",
                "<U+009B>2J<U+202E>^G",
            ),
        ] {
            assert_eq!(printed(true, &[text.as_bytes()]), coloured, "{text:?}");
            assert_eq!(printed(false, &[text.as_bytes()]), plain, "{text:?}");
        }
        assert_eq!(printed(true, &[b"\x9b2J \xc3"]), "\u{fffd}2J ");
        assert_eq!(
            printed(false, &[b"b\x1b[3", b"1mc\xe2", b"\x80\xaed"]),
            "bc<U+202E>d"
        );
    }

    #[test]
    fn an_agents_colour_ends_with_its_words() {
        let mut output = AgentOutput::new(true);
        let _ = output.take(b"\x1b[8mhidden");
        assert_eq!(output.settle(), b"\x1b[0m");
        assert_eq!(output.settle(), b"");
        let _ = output.take(b"\x1b[31mred\x1b[0m");
        assert_eq!(output.settle(), b"");
    }

    proptest! {
        #[test]
        fn bytes_are_shown_as_their_text_is(
            bytes in proptest::collection::vec(prop_oneof![any::<u8>(), 0xbc..=0xf5_u8, b' '..=b'~'], 0..200),
        ) {
            let mut bytes = bytes;
            bytes.retain(|byte| !matches!(byte, 0x1b | b'\r'));
            bytes.push(b'.');
            let text = String::from_utf8_lossy(&bytes);
            prop_assert_eq!(printed(true, &[&bytes]), plain(&text));
        }

        #[test]
        fn size_of_pieces_does_not_change_what_is_shown_of_any_bytes(
            bytes in proptest::collection::vec(prop_oneof![any::<u8>(), 0xbc..=0xf5_u8], 0..24),
            size in 1_usize..5,
        ) {
            let whole = printed(true, &[&bytes]);
            prop_assert_eq!(&printed(true, &bytes.chunks(size).collect::<Vec<_>>()), &whole);
        }

        #[test]
        fn size_of_pieces_does_not_change_the_output(
            text in r"(?s)(\PC|.|\x1b|\x1b\[|[0-9;]m|\x1b\]|\x07|\n){0,24}",
            size in 1_usize..5,
        ) {
            let whole = printed(true, &[text.as_bytes()]);
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            prop_assert_eq!(&printed(true, &pieces), &whole);
            for part in whole.split('\x1b').skip(1) {
                let end = part.find(|c: char| c.is_ascii_alphabetic());
                prop_assert!(part.starts_with('[') && end.is_some_and(|end| part[end..].starts_with('m')), "{:?}", whole);
            }
        }
    }
}
