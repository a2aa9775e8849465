//! Makes others' text safe to show on a terminal. Titles, names, reasons and paths come from repositories and from
//! agents, and may hold anything that a terminal acts upon. All output goes through here; of what a terminal acts upon,
//! only our own styles and the colours of an agent's output are left.
//!
//! Invariants: our own styles are marked with a number that no other program knows, so that no text of others is taken for
//! one; what comes out never depends on how the bytes of an agent were cut into pieces.

use std::borrow::Cow;
use std::fmt::Write;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::mem;
use std::sync::LazyLock;

use crate::escape::Escape;

/// The treatment of our own styles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Styles {
    /// They stay marked: the text is printed later.
    Marked,
    /// They become sequences for the terminal.
    Drawn,
    /// They are left out.
    LeftOut,
}

/// Returns a random number in hexadecimal digits.
pub(super) fn secret() -> String {
    // Each has keys of its own, which come from the system.
    let half = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", half(), half())
}

/// The beginning of a style of our own. Code that counts columns takes it for a sequence like any other.
static MARK: LazyLock<String> = LazyLock::new(|| {
    let number = RandomState::new().build_hasher().finish();
    format!("\x1b[{number};")
});

/// Returns words in a style: the parameters of a terminal's SGR sequences, as many as there are to be.
pub(super) fn styled(codes: &[&str], words: &str) -> String {
    let mark = MARK.as_str();
    let mut text = String::with_capacity(words.len() + (codes.len() + 1) * (mark.len() + 3));
    for code in codes {
        text.extend([mark, code, "m"]);
    }
    text.extend([words, mark, "0m"]);
    text
}

/// Returns a text in which each control character is visible and does nothing: `^[` for an escape, `<U+202E>` for a
/// character that would turn the direction of the text. Line ends and tabs stay.
pub(super) fn shown(text: &str, styles: Styles) -> Cow<'_, str> {
    let Some(first) = first_acting(text) else {
        return Cow::Borrowed(text);
    };
    let mut safe = String::with_capacity(text.len() + 16);
    let (mut quiet, mut rest) = text.split_at(first);
    loop {
        safe.push_str(quiet);
        if let Some((code, after)) = own_style(rest) {
            match styles {
                Styles::Marked => safe.extend([MARK.as_str(), code, "m"]),
                Styles::Drawn => safe.extend(["\x1b[", code, "m"]),
                Styles::LeftOut => {}
            }
            rest = after;
        } else if let Some(character) = rest.chars().next() {
            push_visibly(&mut safe, character);
            rest = &rest[character.len_utf8()..];
        } else {
            return Cow::Owned(safe);
        }
        (quiet, rest) = rest.split_at(first_acting(rest).unwrap_or(rest.len()));
    }
}

/// Returns a text that a terminal can show, without styles.
pub fn plain(text: &str) -> Cow<'_, str> {
    shown(text, Styles::LeftOut)
}

/// Returns JSON with the same meaning that a terminal can show: JSON itself escapes only the first of the control
/// characters. `commands` tells whether commands of a GitHub workflow are escaped too.
pub(super) fn json(text: &str, commands: bool) -> Cow<'_, str> {
    let is_command = commands && text.contains("##[");
    if !is_command && !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if acts(character) {
            let _ = write!(safe, "\\u{:04x}", u32::from(character));
        } else {
            safe.push(character);
        }
    }
    Cow::Owned(if is_command {
        safe.replace("##[", "#\\u0023[")
    } else {
        safe
    })
}

/// Returns the parameters of a style of ours that the text begins with, and what comes after it.
fn own_style(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('\x1b')?;
    text.strip_prefix(MARK.as_str())?.split_once('m')
}

/// Returns true if a terminal would do something with a character other than showing it.
fn acts(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        // The directions of text, which can make it look like another.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => character.is_control(),
    }
}

/// Returns the place of the first character that acts.
fn first_acting(text: &str) -> Option<usize> {
    let is_printed = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    let mut from = 0;
    loop {
        // Of most text every byte is such.
        from += text.as_bytes()[from..]
            .iter()
            .position(|byte| !is_printed(byte))?;
        let character = text[from..].chars().next()?;
        if acts(character) {
            return Some(from);
        }
        from += character.len_utf8();
    }
}

fn push_all_visibly(safe: &mut String, text: &str) {
    let mut rest = text;
    while let Some(first) = first_acting(rest) {
        let (quiet, acting) = rest.split_at(first);
        safe.push_str(quiet);
        let mut characters = acting.chars();
        if let Some(character) = characters.next() {
            push_visibly(safe, character);
        }
        rest = characters.as_str();
    }
    safe.push_str(rest);
}

fn push_visibly(text: &mut String, character: char) {
    if !acts(character) {
        text.push(character);
    } else if let Ok(byte) = u8::try_from(character)
        && byte.is_ascii()
    {
        text.extend(['^', char::from(byte ^ 0x40)]);
    } else {
        let _ = write!(text, "<U+{:04X}>", u32::from(character));
    }
}

/// The longest sequence that sets colours, in bytes.
const LONGEST: usize = 64;

/// The most bytes of such sequences that are kept.
const COLOURS: usize = 256;

/// The mark in the place of bytes that are no text.
const BROKEN: &str = "\u{fffd}";

/// Makes an agent's output fit to be printed, piece by piece: its colours pass where a terminal reads, all other
/// sequences are removed, and single control characters are made visible.
#[derive(Debug, Default)]
pub(super) struct AgentOutput {
    /// True if colours pass.
    coloured: bool,
    /// The place in an escape sequence, if it is in one.
    escape: Option<Escape>,
    /// The parameters of the sequence, or the first bytes of the character, that the last piece broke off in.
    begun: Vec<u8>,
    /// The sequences that set the colours of the agent's that are still on.
    colours: Vec<u8>,
}

impl AgentOutput {
    pub(super) fn new(coloured: bool) -> Self {
        Self {
            coloured,
            ..Self::default()
        }
    }

    /// Returns the part of the next bytes that is to be printed.
    pub(super) fn take<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let is_quiet = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t');
        // Most output is such.
        if self.escape.is_none() && self.begun.is_empty() && bytes.iter().all(is_quiet) {
            return Cow::Borrowed(bytes);
        }
        let mut safe = String::with_capacity(2 * bytes.len());
        let mut rest = bytes;
        loop {
            if self.escape.is_none() && self.begun.is_empty() {
                let until = memchr::memchr2(Escape::ESC, b'\r', rest);
                let (text, others) = rest.split_at(until.unwrap_or(rest.len()));
                self.take_text(text, &mut safe);
                rest = others;
            }
            let Some((&byte, others)) = rest.split_first() else {
                return Cow::Owned(safe.into_bytes());
            };
            while !self.takes(byte, &mut safe) {}
            rest = others;
        }
    }

    /// Returns the sequence that ends the agent's colours, so that they do not hide what others print next.
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
    fn takes(&mut self, byte: u8, safe: &mut String) -> bool {
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

    /// Ends a sequence with its last byte; it passes if it sets colours and nothing else.
    fn colour(&mut self, last: u8, safe: &mut String) {
        let parameters = mem::take(&mut self.begun);
        let is_parameter = |byte: &u8| matches!(byte, b'0'..=b'9' | b';' | b':');
        let is_colour = last == b'm' && parameters.len() < LONGEST && parameters.iter().all(is_parameter);
        if is_colour && self.coloured {
            let sequence = format!("\x1b[{}m", String::from_utf8_lossy(&parameters));
            safe.push_str(&sequence);
            if parameters.iter().all(|byte| matches!(byte, b'0' | b';')) {
                self.colours.clear();
            } else {
                // What was set long ago is most likely set again since.
                let old = (self.colours.len() + sequence.len()).saturating_sub(COLOURS);
                if old > 0 {
                    self.colours.clear();
                }
                self.colours.extend_from_slice(sequence.as_bytes());
            }
        }
    }

    /// Takes bytes outside of sequences, at the beginning of a character; the last one may break off.
    fn take_text(&mut self, bytes: &[u8], safe: &mut String) {
        let mut left = bytes.len();
        for chunk in bytes.utf8_chunks() {
            let (text, broken) = (chunk.valid(), chunk.invalid());
            left -= text.len() + broken.len();
            push_all_visibly(safe, text);
            match str::from_utf8(broken) {
                Err(error) if error.error_len().is_none() && left == 0 => {
                    self.begun.extend_from_slice(broken);
                }
                Err(_) => safe.push_str(BROKEN),
                Ok(_) => {}
            }
        }
    }

    /// Takes a byte of text; returns false if the character before is broken off and the byte begins another.
    fn takes_text(&mut self, byte: u8, safe: &mut String) -> bool {
        let goes_on = matches!(byte, 0x80..=0xbf);
        if !self.begun.is_empty() && !goes_on {
            self.begun.clear();
            safe.push_str(BROKEN);
            return false;
        }
        match byte {
            Escape::ESC => self.escape = Some(Escape::Begun),
            b'\r' => safe.push('\r'),
            _ => {
                self.begun.push(byte);
                match str::from_utf8(&self.begun) {
                    Ok(text) => {
                        push_all_visibly(safe, text);
                        self.begun.clear();
                    }
                    Err(error) if error.error_len().is_some() => {
                        // The byte may begin another character.
                        let is_alone = self.begun.len() == 1;
                        self.begun.clear();
                        safe.push_str(BROKEN);
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

    #[test]
    fn control_characters_are_shown_as_text() {
        for (text, seen) in [
            ("a title\n\tsecond line", "a title\n\tsecond line"),
            ("\x1b]52;c;cm0=\x07", "^[]52;c;cm0=^G"),
            ("\x1b[2J\x1b[31mred\x1b[0m", "^[[2J^[[31mred^[[0m"),
            ("a\rb\x08\x7f\0", "a^Mb^H^?^@"),
            ("\u{9b}2J\u{85}", "<U+009B>2J<U+0085>"),
            (
                "x\u{202e}y\u{2066}\u{200f}\u{61c}",
                "x<U+202E>y<U+2066><U+200F><U+061C>",
            ),
            ("日本語 é", "日本語 é"),
        ] {
            for styles in [Styles::Marked, Styles::Drawn, Styles::LeftOut] {
                assert_eq!(shown(text, styles), seen);
            }
        }
    }

    #[test]
    fn only_styles_of_git_ralph_pass() {
        let text = format!("{} \x1b[1mb\x1b[0m", styled(&["1", "31"], "a\x1b[2J"));
        assert_eq!(
            shown(&text, Styles::Drawn),
            "\x1b[1m\x1b[31ma^[[2J\x1b[0m ^[[1mb^[[0m"
        );
        assert_eq!(plain(&text), "a^[[2J ^[[1mb^[[0m");
        let marked = shown(&text, Styles::Marked);
        assert_eq!(shown(&marked, Styles::Drawn), shown(&text, Styles::Drawn));
    }

    #[test]
    fn escaped_json_keeps_its_value() {
        let value = serde_json::json!({"a": "\u{9b}\u{202e}\x7f\x1b ##[error]x"});
        let text = serde_json::to_string_pretty(&value).unwrap();
        for commands in [true, false] {
            let safe = json(&text, commands);
            assert!(!safe.contains(acts), "{safe}");
            assert_eq!(safe.contains("##["), !commands);
            assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), value);
        }
    }

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
