//! The text beside a tag on its line, and the lines of the prompt.
//!
//! This module takes plain text alone, and must not know what a tag is worth.

use super::learned::LearningFilter;
use super::plain::{BULLETS, PlainFilter, SIDES, is_line_break};
use super::tag::Tag;
use memchr::memmem;
use std::collections::HashSet;

/// Returns true if only decoration stands before `at` on its line.
pub(super) fn begins_line(text: &[u8], at: usize) -> bool {
    let before = until_decoration(&text[..at], |_| false).last();
    before.is_some_and(|byte| is_line_break(*byte))
}

/// Returns true if the text before `at` on its line shows that somebody else's line is repeated: the mark of a diff,
/// which unlike a bullet has no blank behind it. In an `output`, which may repeat what the agent read, any mark of a
/// diff or of a quotation shows it.
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
    // A tag in the middle of a sentence is told as one.
    if !is_made_of(before, |byte| matches!(byte, b'+' | b'<')) {
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

/// Returns true if the line begins, before `at`, an object of JSON or a list of them.
pub(super) fn is_in_json(text: &[u8], at: usize) -> bool {
    let line = text[..at].iter().rposition(|byte| is_line_break(*byte));
    let begin = line.map(|end| text[end + 1..at].trim_ascii_start());
    begin.is_some_and(|begin| begin.starts_with(b"{\"") || begin.starts_with(b"[{\""))
}

/// Returns true if a text consists only of decoration and of bytes that `other` accepts.
pub(super) fn is_made_of(text: &[u8], other: impl Fn(u8) -> bool) -> bool {
    let mut rest = text;
    while let Some(&byte) = rest.first() {
        match decoration(rest, <[u8]>::starts_with) {
            0 if other(byte) => rest = &rest[1..],
            0 => return false,
            length => rest = &rest[length..],
        }
    }
    true
}

/// Returns the text without the decoration at its end, up to a byte that `except` names.
fn until_decoration(text: &[u8], except: impl Fn(u8) -> bool) -> &[u8] {
    let mut text = text;
    while let Some(&last) = text.last() {
        match decoration(text, <[u8]>::ends_with) {
            0 => break,
            _ if except(last) => break,
            length => text = &text[..text.len() - length],
        }
    }
    text
}

/// Returns the length of the decoration that a text begins or ends with. Decoration may stand beside a tag on a line of
/// its own: blanks, the marks of Markdown, bullets and frames.
fn decoration(text: &[u8], has: impl Fn(&[u8], &[u8]) -> bool) -> usize {
    const PLAIN: &[u8] = b" \t\x0b\x0c*`>-#|";
    if PLAIN.iter().any(|byte| has(text, &[*byte])) {
        return 1;
    }
    let mut signs = BULLETS.iter().chain(&SIDES);
    signs
        .find(|sign| has(text, sign.as_bytes()))
        .map_or(0, |sign| sign.len())
}

/// The lines of the prompt that hold a closing tag; no other line can mislead.
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

    /// Returns the part of a line by which lines are compared: in a sentence the text without decoration, so that a
    /// quoted prompt is still the prompt. A tag alone keeps its decoration: a list of tags in the prompt must not
    /// silence the agent's own tag.
    fn key(tag: Tag, line: &[u8]) -> &[u8] {
        let mut bare = until_decoration(line, |byte| byte == b'>');
        while let length @ 1.. = decoration(bare, <[u8]>::starts_with) {
            bare = &bare[length..];
        }
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
