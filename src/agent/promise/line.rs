//! The text beside a tag on its line, and the lines of the prompt.
//!
//! This module reads plain text only, and does not depend on whether a tag counts.

use super::learned::LearningFilter;
use super::plain::{PlainFilter, SIDES, is_line_break};
use super::tag::Tag;
use memchr::memmem;
use std::collections::HashSet;

/// Returns true if only decoration precedes `at` on its line.
pub(super) fn begins_line(text: &[u8], at: usize) -> bool {
    let before = until_decoration(&text[..at], |_| false).last();
    before.is_some_and(|byte| is_line_break(*byte))
}

/// Returns true if the text before `at` on its line marks a repeated line: the mark of a diff, which unlike a bullet
/// has no blank after it. In an `output`, which may repeat text that the agent read, any mark of a diff or of a
/// quotation counts.
pub(super) fn is_repeated(text: &[u8], at: usize, output: bool) -> bool {
    let line = text[..at].iter().rposition(|byte| is_line_break(*byte));
    let Some(start) = line.map(|end| end + 1) else {
        return false;
    };
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\x0b' | b'\x0c');
    let mut before = &text[start..at];
    while let Some(side) = SIDES
        .iter()
        .chain(&["|", " ", "\t", "\x0b", "\x0c"])
        .find(|side| before.starts_with(side.as_bytes()))
    {
        before = &before[side.len()..];
    }
    // A tag in the middle of a sentence gets a separate result.
    if !is_made_of(before, |byte| matches!(byte, b'+' | b'<')) {
        return false;
    }
    let is_arrow = matches!(before.trim_ascii_end(), b"->" | b"-->");
    if !output && is_arrow && before.last().is_some_and(is_blank) {
        return false;
    }
    match before.first() {
        Some(mark @ (b'+' | b'-')) => {
            before.get(1).is_none_or(|next| !is_blank(next)) || output && *mark == b'+'
        }
        Some(b'>' | b'<') => output,
        _ => false,
    }
}

/// Returns true if the line begins, before `at`, with a JSON object or a list of objects.
pub(super) fn is_in_json(text: &[u8], at: usize) -> bool {
    let line = text[..at].iter().rposition(|byte| is_line_break(*byte));
    let begin = line.map(|end| text[end + 1..at].trim_ascii_start());
    let beginnings = [&b"{\""[..], b"[{\"", b"[\""];
    begin.is_some_and(|begin| beginnings.iter().any(|json| begin.starts_with(json)))
}

/// Returns true if a text consists only of decoration and of bytes accepted by `other`.
pub(super) fn is_made_of(text: &[u8], other: impl Fn(u8) -> bool) -> bool {
    let mut rest = text;
    while let Some(&byte) = rest.first() {
        match decoration(first_char(rest)) {
            0 if other(byte) => rest = &rest[1..],
            0 => return false,
            length => rest = &rest[length..],
        }
    }
    true
}

/// Returns true for characters that are decoration only after a tag: before one they mark a repeated line.
pub(super) fn is_sign_behind(byte: u8) -> bool {
    matches!(byte, b'+' | b'<')
}

/// Returns the number of bytes at the end of a text that are an incomplete character.
pub(super) fn cut_char(text: &[u8]) -> usize {
    let is_begun = |length: &usize| {
        let end = text
            .len()
            .checked_sub(*length)
            .map(|from| std::str::from_utf8(&text[from..]));
        matches!(end, Some(Err(error)) if error.valid_up_to() == 0 && error.error_len().is_none())
    };
    (1..=3).find(is_begun).unwrap_or(0)
}

/// Returns the text without the decoration at its end; stops at a byte accepted by `except`.
fn until_decoration(text: &[u8], except: impl Fn(u8) -> bool) -> &[u8] {
    let mut text = text;
    while let Some(&last) = text.last() {
        match decoration(last_char(text)) {
            0 => break,
            _ if except(last) => break,
            length => text = &text[..text.len() - length],
        }
    }
    text
}

/// Returns the text without the decoration at its beginning.
pub(super) fn from_decoration(text: &[u8]) -> &[u8] {
    let mut text = text;
    while let length @ 1.. = decoration(first_char(text)) {
        text = &text[length..];
    }
    text
}

fn first_char(text: &[u8]) -> Option<char> {
    let begin = &text[..text.len().min(4)];
    begin.utf8_chunks().next()?.valid().chars().next()
}

fn last_char(text: &[u8]) -> Option<char> {
    let ends = (1..=text.len().min(4)).map(|length| &text[text.len() - length..]);
    let mut chars = ends.filter_map(|end| std::str::from_utf8(end).ok()?.chars().next());
    chars.next()
}

/// Returns the length of a character if it is decoration, which may surround a tag on a line of its own: any character
/// that is no letter or digit, in any script.
fn decoration(char: Option<char>) -> usize {
    let is_decoration = |char: &char| !char.is_alphanumeric() && !matches!(char, '\n' | '\r' | '+' | '<');
    char.filter(is_decoration).map_or(0, char::len_utf8)
}

/// The lines of the prompt that contain a closing tag; only these can mislead.
pub(super) struct PromptLines {
    tag: Tag,
    lines: HashSet<Vec<u8>>,
}

impl PromptLines {
    pub(super) fn new(tag: Tag, prompt: &str) -> Self {
        let (mut plain, mut text) = (Vec::new(), Vec::new());
        let (mut filter, mut learned) = (PlainFilter::default(), LearningFilter::default());
        filter.take(prompt.as_bytes(), &mut plain);
        filter.end(&mut plain);
        learned.take(&plain, &mut text);
        learned.end(&mut text);
        let lines = text
            .split(|byte| is_line_break(*byte))
            .filter(|line| memmem::find(line, tag.close).is_some());
        Self {
            tag,
            lines: lines.map(|line| Self::key(tag, line).to_vec()).collect(),
        }
    }

    pub(super) fn contains(&self, line: &[u8]) -> bool {
        !self.lines.is_empty() && self.lines.contains(Self::key(self.tag, line))
    }

    /// Returns the part of a line that is compared: of a sentence the text without decoration, so that a quoted prompt
    /// still matches. A tag alone keeps its decoration: a list of tags in the prompt must not suppress the agent's own
    /// tag.
    fn key(tag: Tag, line: &[u8]) -> &[u8] {
        let mut bare = from_decoration(until_decoration(line, |byte| byte == b'>'));
        if bare.is_empty() {
            bare = line;
        }
        if bare.starts_with(tag.open) && bare.ends_with(tag.close) {
            line.trim_ascii()
        } else {
            bare
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::agent::promise::tests::hear_in_pieces;
    use crate::agent::promise::{Heard, Promise};

    #[test]
    fn tag_counts_beside_symbols_but_not_beside_letters_and_digits() {
        let tag = "<promise>COMPLETE</promise>";
        for (line, counts) in [
            (format!("{tag}."), true),
            (format!("{tag}!"), true),
            (format!("\"{tag}\""), true),
            (format!("({tag})"), true),
            (format!("\u{2705} {tag}"), true),
            (format!("{tag} \u{1f389}"), true),
            (format!("\u{300c}{tag}\u{300d}"), true),
            (format!("__{tag}__"), true),
            (format!("\u{2192} {tag}"), true),
            (format!("\u{23fa} {tag}"), true),
            (format!("\u{2551} {tag} \u{2551}"), true),
            (format!("\u{feff}{tag}"), true),
            (format!("{tag} <!-- -->"), true),
            (format!("\u{2014} {tag}"), true),
            (format!("{tag}{tag}"), true),
            (format!("{tag} {tag}"), true),
            // A letter or a digit, in any script.
            (format!("1. {tag}"), false),
            (format!("| Status | {tag} |"), false),
            (format!("{tag}<promise>FAILED</promise>"), false),
            (format!("{tag}{tag} x"), false),
            (format!("{tag} \u{5b8c}"), false),
            (format!("\u{434}\u{430} {tag}"), false),
            (format!("{tag} \u{661}"), false),
        ] {
            for size in [1, 3, usize::MAX] {
                let text = format!("Look:\n{line}\nTo resume: x\n");
                let heard = hear_in_pieces(text.as_bytes(), size.min(text.len()));
                let wanted = if counts {
                    Heard::Promise(Promise::Complete)
                } else {
                    Heard::InSentence
                };
                assert_eq!(heard, wanted, "{line} {size}");
            }
        }
    }
}
