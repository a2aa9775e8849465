//! Makes quoted text safe to show on a terminal. Titles, names, reasons and paths come from repositories and from
//! agents, and may contain any control sequences. All output passes through this module, which keeps only git-ralph's
//! own styles and the colours of an agent's output. `agent_output.rs` handles the bytes of agents.
//!
//! Invariant: git-ralph's own styles are marked with a random number, so that quoted text never looks like one.

use std::borrow::Cow;
use std::fmt::Write;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::LazyLock;

/// The treatment of git-ralph's own styles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Styles {
    /// They stay marked: the text is printed later.
    Marked,
    /// They become sequences for the terminal.
    Drawn,
    /// They are removed.
    LeftOut,
}

/// Returns a random number in hexadecimal digits.
pub(super) fn secret() -> String {
    // Each has its own keys from the operating system.
    let half = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", half(), half())
}

/// The beginning of one of git-ralph's styles. Code that counts columns treats it like any other sequence.
static MARK: LazyLock<String> = LazyLock::new(|| {
    let number = RandomState::new().build_hasher().finish();
    format!("\x1b[{number};")
});

/// Returns words in a style: the parameters of the terminal's SGR sequences, one for each.
pub(super) fn styled(codes: &[&str], words: &str) -> String {
    let mark = MARK.as_str();
    let mut text = String::with_capacity(words.len() + (codes.len() + 1) * (mark.len() + 3));
    for code in codes {
        text.extend([mark, code, "m"]);
    }
    text.extend([words, mark, "0m"]);
    text
}

/// Returns a text in which each control character is visible and inactive: `^[` for an escape, `<U+202E>` for a
/// character that would change the direction of the text. Line ends and tabs stay.
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

/// Returns a text that is safe for a terminal, without styles.
pub fn plain(text: &str) -> Cow<'_, str> {
    shown(text, Styles::LeftOut)
}

/// Returns equivalent JSON that is safe for a terminal: JSON itself escapes only some control characters. With
/// `commands`, workflow commands are escaped too.
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

/// Returns the parameters of a git-ralph style at the beginning of the text, and the rest.
fn own_style(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('\x1b')?;
    text.strip_prefix(MARK.as_str())?.split_once('m')
}

/// Returns true if a character controls a terminal instead of being shown.
pub(super) fn acts(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        // Marks of text direction, which can disguise a text.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => character.is_control(),
    }
}

/// Returns the length of the beginning of a text that is printable ASCII or bytes that `also` accepts.
pub(super) fn printable(text: &[u8], also: impl Fn(u8) -> bool) -> usize {
    const EACH: u64 = u64::from_ne_bytes([1; 8]);
    // The highest bit of any byte below a blank or above a tilde.
    let is_plain = |word: u64| {
        let (below, above) = (
            word.wrapping_sub(EACH * 0x20) & !word,
            word.wrapping_add(EACH) | word,
        );
        (below | above) & (EACH * 0x80) == 0
    };
    let is_printed = |byte: &u8| matches!(byte, b' '..=b'~') || also(*byte);
    let has_lines = also(b'\n');
    let is_whole = |bytes: &[u8; 8]| {
        let word = u64::from_ne_bytes(*bytes);
        // The same for each line feed.
        let other = word ^ (EACH * 0x0a);
        let ends = !(((other & (EACH * 0x7f)) + EACH * 0x7f) | other) & (EACH * 0x80);
        is_plain(word) || has_lines && is_plain(word | (ends >> 2)) || bytes.iter().all(is_printed)
    };
    let (words, _) = text.as_chunks();
    let from = 8 * words.iter().take_while(|bytes| is_whole(bytes)).count();
    let rest = text[from..].iter().take_while(|byte| is_printed(byte));
    from + rest.count()
}

/// Returns the offset of the first control character.
fn first_acting(text: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        // Most text has only such bytes.
        from += printable(&text.as_bytes()[from..], |byte| matches!(byte, b'\n' | b'\t'));
        let character = text[from..].chars().next()?;
        if acts(character) {
            return Some(from);
        }
        from += character.len_utf8();
    }
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

    proptest! {
        #[test]
        fn printable_beginning_ends_at_the_first_other_byte(
            bytes in proptest::collection::vec(prop_oneof![9 => b' '..=b'~', 1 => Just(b'\n'), 1 => any::<u8>()], 0..40),
        ) {
            for also in [b'\n', b'\t'] {
                let is_other = |byte: &u8| !matches!(byte, b' '..=b'~') && *byte != also;
                let end = bytes.iter().position(is_other).unwrap_or(bytes.len());
                prop_assert_eq!(printable(&bytes, |byte| byte == also), end);
            }
        }
    }
}
