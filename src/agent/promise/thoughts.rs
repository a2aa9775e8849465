//! Removes a model's thoughts from a text: `<think>` contains no message of the agent. This module does not depend on
//! the rest of the text.
//!
//! Thoughts begin with a tag, in upper or lower case, that only blanks precede on its line; in the middle of a line the
//! tag is only mentioned. They end with the closing tag, or else with the text. A closing tag without an opening one
//! ends thoughts as well: the template of some models opens them before the text begins.
//!
//! In text with the sections of gpt-oss (`<|channel|>analysis<|message|>…`), only the channel `final` has the message:
//! other channels are thoughts, and so is all text before a section of that channel. The first section begins at the
//! start of a line; later ones may begin anywhere.

use memchr::{memchr, memchr_iter, memchr2, memmem, memrchr2};

use super::tag::Tag;

const TAGS: [(&[u8], &[&[u8]]); 6] = [
    (b"<think>", &[b"</think>"]),
    (b"<thinking>", &[b"</thinking>"]),
    (b"<thought>", &[b"</thought>"]),
    (b"<reasoning>", &[b"</reasoning>"]),
    (b"<reflection>", &[b"</reflection>"]),
    (b"<scratchpad>", &[b"</scratchpad>"]),
];

/// The delimiters of a comment, which a rendered page does not show.
pub(super) const COMMENT: (&[u8], &[u8]) = (b"<!--", b"-->");

/// The markers before the head of a section.
const HEADS: [&[u8]; 2] = [b"<|start|>", b"<|channel|>"];
/// The end of the head of a section.
const BODY: &[u8] = b"<|message|>";
/// The markers after a section.
const ENDS: [&[u8]; 3] = [b"<|end|>", b"<|return|>", b"<|call|>"];
/// The markers that end a section: those after it, and those before another one.
const CLOSES: [&[u8]; 5] = [ENDS[0], ENDS[1], ENDS[2], HEADS[0], HEADS[1]];
/// Maximum length of the head of a section, including its end.
const LONGEST_HEAD: usize = 256;

/// A section marker at the beginning of a text.
enum Sign {
    /// There is no marker.
    None,
    /// There may be a marker, if the text continues.
    Begun,
    /// A section ends, after this number of bytes.
    End(usize),
    /// A section begins, after this number of bytes; true if it is the agent's message.
    Head(usize, bool),
}

impl Sign {
    fn of(text: &[u8], at_end: bool) -> Self {
        if let Some(end) = ENDS.iter().find(|end| text.starts_with(end)) {
            return Self::End(end.len());
        }
        let begins = |sign: &[u8]| text.len() < sign.len() && sign.starts_with(text);
        if !HEADS.iter().any(|head| text.starts_with(head)) {
            let may_come = !at_end && CLOSES.into_iter().any(begins);
            return if may_come { Self::Begun } else { Self::None };
        }
        let head = &text[..text.len().min(LONGEST_HEAD)];
        let line = &head[..memchr2(b'\n', b'\r', head).unwrap_or(head.len())];
        match memmem::find(line, BODY) {
            Some(at) => Self::Head(at + BODY.len(), is_said(&line[..at])),
            None if !at_end && line.len() == text.len() && text.len() < LONGEST_HEAD => Self::Begun,
            None => Self::None,
        }
    }
}

/// Returns whether a section with this head is the agent's message.
fn is_said(head: &[u8]) -> bool {
    let word_after = |sign: &[u8]| {
        let at = memmem::find(head, sign)? + sign.len();
        let word = head[at..].split(|byte| *byte == b'<' || byte.is_ascii_whitespace());
        word.into_iter().next()
    };
    let is = |sign, word: &[u8]| word_after(sign).is_none_or(|found| found == word);
    is(HEADS[0], b"assistant") && is(HEADS[1], b"final")
}

/// Returns whether a text ends inside a comment; `None` if no comment begins or ends in it.
pub(super) fn is_comment_open(text: &[u8]) -> Option<bool> {
    let (begin, end) = (memmem::rfind(text, COMMENT.0), memmem::rfind(text, COMMENT.1));
    begin.or(end).map(|_| begin > end)
}

/// Returns whether a text begins with a tag, ignoring case.
fn begins_with(text: &[u8], tag: &[u8]) -> bool {
    let begin = text.get(..tag.len());
    begin.is_some_and(|begin| begin.eq_ignore_ascii_case(tag))
}

/// Returns the offset of a tag, ignoring case.
fn find_tag(text: &[u8], tag: &[u8]) -> Option<usize> {
    memchr_iter(b'<', text).find(|at| begins_with(&text[*at..], tag))
}

/// Cuts thoughts out of text that arrives in pieces.
#[derive(Default)]
pub(super) struct ThoughtFilter {
    /// The closing tag of a promise.
    promised_by: &'static [u8],
    /// The text that may be a part of a tag.
    held: Vec<u8>,
    /// The tags that can close the present thoughts.
    inside: Option<&'static [&'static [u8]]>,
    /// True if the text has sections.
    in_sections: bool,
    /// True if the current line has more than blanks.
    in_line: bool,
    /// True if thoughts contained a promise.
    promised: bool,
}

impl ThoughtFilter {
    /// Makes a filter that detects promises in this tag.
    pub(super) fn of(tag: Tag) -> Self {
        Self {
            promised_by: tag.close,
            ..Self::default()
        }
    }

    /// Accepts a piece without a tag, unless it is part of thoughts; returns whether it did.
    pub(super) fn passes(&mut self, piece: &[u8]) -> bool {
        let is_outside = self.held.is_empty() && self.inside.is_none();
        if is_outside {
            self.note_line(piece);
        }
        is_outside
    }

    /// Adds the text of a piece that is no thought. Returns the length up to which all text turned out to be thoughts.
    pub(super) fn take(&mut self, piece: &[u8], plain: &mut Vec<u8>) -> Option<usize> {
        self.held.extend_from_slice(piece);
        self.give(false, plain)
    }

    /// Adds the text that was held back because it could have continued.
    pub(super) fn end(&mut self, plain: &mut Vec<u8>) -> Option<usize> {
        self.give(true, plain)
    }

    /// Returns true if thoughts contained a promise.
    pub(super) fn promised(&self) -> bool {
        self.promised
    }

    fn give(&mut self, at_end: bool, plain: &mut Vec<u8>) -> Option<usize> {
        let mut thoughts_before = None;
        let held = std::mem::take(&mut self.held);
        let mut rest = held.as_slice();
        loop {
            if let Some(closes) = self.inside {
                let found = |close: &&[u8]| Some((find_tag(rest, close)?, close.len()));
                let end = closes.iter().filter_map(found).min();
                let thoughts = &rest[..end.map_or(rest.len(), |(end, _)| end)];
                self.promised |= memmem::find(thoughts, self.promised_by).is_some();
                let Some((end, length)) = end else {
                    // Each closing tag may be split between two pieces.
                    let longest = closes.iter().map(|close| close.len()).max().unwrap_or_default();
                    let longest = longest.max(self.promised_by.len()) - 1;
                    rest = &rest[rest.len().saturating_sub(longest)..];
                    break;
                };
                rest = &rest[end..];
                if !HEADS.contains(&&rest[..length]) {
                    rest = &rest[length..];
                }
                self.inside = None;
                continue;
            }
            let Some(at) = memchr(b'<', rest) else {
                self.pass(rest, plain);
                rest = &[];
                break;
            };
            self.pass(&rest[..at], plain);
            rest = &rest[at..];
            if self.in_sections || !self.in_line {
                match Sign::of(rest, at_end) {
                    Sign::Begun => break,
                    Sign::End(length) if self.in_sections => {
                        self.end_line(plain);
                        rest = &rest[length..];
                        continue;
                    }
                    Sign::Head(length, is_said) => {
                        self.end_line(plain);
                        self.in_sections = true;
                        rest = &rest[length..];
                        if is_said {
                            thoughts_before = Some(plain.len());
                        } else {
                            self.inside = Some(&CLOSES);
                        }
                        continue;
                    }
                    Sign::None | Sign::End(_) => {}
                }
            }
            let begun = |tag: &[u8]| !at_end && rest.len() < tag.len() && begins_with(tag, rest);
            if self.in_line {
                self.pass(&rest[..1], plain);
                rest = &rest[1..];
            } else if TAGS.iter().any(|(open, close)| begun(open) || begun(close[0])) {
                break;
            } else if let Some((open, close)) = TAGS.iter().find(|(open, _)| begins_with(rest, open)) {
                rest = &rest[open.len()..];
                self.inside = Some(close);
            } else if let Some((_, close)) = TAGS.iter().find(|(_, close)| begins_with(rest, close[0])) {
                rest = &rest[close[0].len()..];
                thoughts_before = Some(plain.len());
            } else {
                self.pass(&rest[..1], plain);
                rest = &rest[1..];
            }
        }
        self.held = rest.to_vec();
        thoughts_before
    }

    /// Ends the current line, if it has text: a section is a separate text.
    fn end_line(&mut self, plain: &mut Vec<u8>) {
        if self.in_line {
            self.pass(b"\n", plain);
        }
    }

    /// Passes text to the next filter.
    fn pass(&mut self, text: &[u8], plain: &mut Vec<u8>) {
        plain.extend_from_slice(text);
        self.note_line(text);
    }

    /// Notes whether the last line has text.
    fn note_line(&mut self, text: &[u8]) {
        let line = match memrchr2(b'\n', b'\r', text) {
            Some(end) => {
                self.in_line = false;
                &text[end + 1..]
            }
            None => text,
        };
        self.in_line = self.in_line || !line.trim_ascii_start().is_empty();
    }
}

#[cfg(test)]
mod tests {
    use crate::agent::promise::Heard;
    use crate::agent::promise::tests::{complete, failed, hear, hear_in_pieces};

    const DONE: &str = "<promise>COMPLETE</promise>";
    const NO: &str = "<promise>FAILED: no</promise>";
    const THINKS: &str = "<|channel|>analysis<|message|>";
    const CALLS: &str =
        "<|start|>assistant<|channel|>commentary to=functions.shell <|constrain|>json<|message|>";
    const SAYS: &str = "<|start|>assistant<|channel|>final<|message|>";

    #[test]
    fn only_the_final_channel_promises() {
        for (text, heard) in [
            (
                format!("{THINKS}Then I say:\n{DONE}\n<|end|>{SAYS}I am not there yet.<|return|>"),
                Heard::InThoughts,
            ),
            (format!("{THINKS}\n{DONE}\n"), Heard::InThoughts),
            (
                format!("{THINKS}a<|end|>{CALLS}{{\"cmd\":\"\n{DONE}\n\"}}<|call|>"),
                Heard::InThoughts,
            ),
            (
                format!("{THINKS}a<|end|><|start|>user<|message|>{DONE}<|end|>"),
                Heard::InThoughts,
            ),
            // Text before the final message does not belong to it.
            (
                format!("{DONE}\n{THINKS}a<|end|>{SAYS}Wait.<|return|>"),
                Heard::InThoughts,
            ),
            (
                format!("{SAYS}\n{DONE}\n<|end|>{SAYS}Wait.<|return|>"),
                Heard::InThoughts,
            ),
            (
                format!("{THINKS}Say {NO}?<|end|>{SAYS}All is done.\n\n{DONE}<|return|>"),
                complete(),
            ),
            (
                format!("{THINKS}a<|end|>{SAYS}{DONE}<|return|>\nTokens: 3 sent.\n"),
                complete(),
            ),
            (format!("{THINKS}a<|end|>{SAYS}{NO}"), failed("no")),
            // A section ends where the next one begins.
            (
                format!("{THINKS}a<|channel|>final<|message|>Done.\n{DONE}"),
                complete(),
            ),
            (
                format!("{THINKS}a<|end|><|start|>assistant<|message|>{DONE}<|end|>"),
                complete(),
            ),
            // A section that is only mentioned is none, nor is one without the end of its head.
            (format!("It prints {THINKS} first.\n{DONE}"), complete()),
            (format!("<|channel|>analysis\n{DONE}\n"), complete()),
            (format!("<|end|>\n{DONE}\n"), complete()),
            (
                format!(
                    "<|channel|>{}<|message|>\n{DONE}\n",
                    "x".repeat(super::LONGEST_HEAD)
                ),
                complete(),
            ),
        ] {
            assert_eq!(hear(&text), heard, "{text}");
            for size in 1..7 {
                assert_eq!(hear_in_pieces(text.as_bytes(), size), heard, "{size}: {text}");
            }
        }
    }
}
