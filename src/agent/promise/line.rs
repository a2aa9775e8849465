//! What stands on a line beside a tag, and which lines are the prompt's.
//!
//! It takes plain text alone, and must not know what a tag is worth.

use super::plain::is_line_break;
use super::{CLOSE, OPEN, Words};
use memchr::memmem;
use std::collections::HashSet;

/// Whether only decoration stands before `at` on its line.
pub(super) fn begins_line(text: &[u8], at: usize) -> bool {
    let before = text[..at].iter().rfind(|byte| !is_decoration(**byte));
    before.is_some_and(|byte| is_line_break(*byte))
}

/// Whether what stands before `at` on its line shows that somebody else's line is repeated: the mark of a diff, which
/// unlike a bullet has no blank behind it. In an `output`, which may hold what was read, any mark of a diff or of a
/// quotation does.
pub(super) fn is_repeated(text: &[u8], at: usize, output: bool) -> bool {
    let line = text[..at].iter().rposition(|byte| is_line_break(*byte));
    let Some(start) = line.map(|end| end + 1) else {
        return false;
    };
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\x0b' | b'\x0c');
    let before = &text[start..at];
    let Some(first) = before.iter().position(|byte| !is_blank(byte)) else {
        return false;
    };
    // A tag in the middle of a sentence is told as one.
    let is_mark = |byte: &u8| is_decoration(*byte) || matches!(byte, b'+' | b'<');
    if !before.iter().all(is_mark) {
        return false;
    }
    match before[first] {
        b'+' | b'-' => {
            before.get(first + 1).is_none_or(|next| !is_blank(next)) || output && before[first] == b'+'
        }
        b'>' | b'<' => output,
        _ => false,
    }
}

/// Whether what stands before `at` begins an object of JSON, or a list of them.
pub(super) fn is_in_json(text: &[u8], at: usize) -> bool {
    let line = text[..at].iter().rposition(|byte| is_line_break(*byte));
    let begin = line.map(|end| text[end + 1..at].trim_ascii_start());
    begin.is_some_and(|begin| begin.starts_with(b"{\"") || begin.starts_with(b"[{\""))
}

/// What may stand beside a tag on a line of its own in plain text: blanks and the marks of Markdown.
pub(super) fn is_decoration(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'\t' | b'\x0b' | b'\x0c' | b'*' | b'`' | b'>' | b'-' | b'#'
    )
}

/// The lines of the prompt that hold a closing tag; no other line can mislead.
pub(super) struct PromptLines(HashSet<Vec<u8>>);

impl PromptLines {
    pub(super) fn new(prompt: &str) -> Self {
        let mut text = Vec::new();
        let mut words = Words::default();
        words.take(prompt.as_bytes(), &mut text);
        words.end(&mut text);
        let lines = text
            .split(|byte| is_line_break(*byte))
            .filter(|line| memmem::find(line, CLOSE).is_some());
        Self(lines.map(|line| Self::key(line).to_vec()).collect())
    }

    pub(super) fn contains(&self, line: &[u8]) -> bool {
        !self.0.is_empty() && self.0.contains(Self::key(line))
    }

    /// What makes two lines the same: their text without blanks around it, and in a sentence
    /// without decoration, so that a quoted prompt is still the prompt. A tag alone keeps its
    /// decoration: a list of tags in the prompt must not silence the agent's own tag.
    fn key(line: &[u8]) -> &[u8] {
        let is_word = |byte: &u8| !is_decoration(*byte);
        let first = line.iter().position(is_word);
        let last = line.iter().rposition(|byte| is_word(byte) || *byte == b'>');
        let bare = match (first, last) {
            (Some(first), Some(last)) => &line[first..=last],
            _ => line,
        };
        if bare.starts_with(OPEN) && bare.ends_with(CLOSE) {
            line.trim_ascii()
        } else {
            bare
        }
    }
}
