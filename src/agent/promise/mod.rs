//! Finds the promise in the output of an agent.
//!
//! [`PromiseScanner`] takes a message (or a whole stdout) in pieces of any size and returns the promise at the end.
//! Invariants:
//! - the result depends on the bytes alone, never on the sizes of the pieces: every limit below is a distance in the
//!   text, none a state of the buffer;
//! - memory stays under half a mebibyte and time linear, for any input;
//! - an ambiguous text does not complete the story.
//!
//! The same rules apply to the verdict of a reviewer ([`Tag::VERDICT`]), whose `ACCEPT` is read as `COMPLETE` and whose
//! `REJECT` as `FAILED`; a message with lines of both has no result.
//!
//! A tag counts if it is alone on its line, apart from characters that are no letters or digits in any script; the last
//! one decides, but a later `COMPLETE` does not revoke a `FAILED` that counts. At the end of a message, a `FAILED`
//! counts anywhere, a `COMPLETE` after a finished sentence, or one that ends with a colon, on its line. A `COMPLETE`
//! does not count if an unfinished sentence before it denies or doubts it, a sentence says that the story is not done,
//! or the text after it revokes it (`sentence.rs`). A `CONTINUE` that counts wins over a completion.
//! Thoughts (`thoughts.rs`) and learnings are removed before the search.
//!
//! This module does not depend on the agent, nor on the consequences of a promise.

mod affirmation;
mod doubt;
mod evidence;
mod learned;
mod line;
mod plain;
#[cfg(test)]
mod properties;
mod sentence;
mod shape;
mod tag;
#[cfg(test)]
mod tests;
mod thoughts;

pub use affirmation::promises_in_sentence;
pub use doubt::{denies_acceptance, doubt, leaves_undone};
pub use evidence::{Evidence, says_unchanged};
pub use sentence::may_be_blocked;
pub(super) use sentence::{SUMMARY, phrases};
pub use tag::{Nonce, Promise, Tag};

use affirmation::leads_to_quotation;
use learned::LearningFilter;
use line::{
    PromptLines, begins_line, cut_char, from_decoration, is_in_json, is_made_of, is_repeated, is_sign_behind,
};
use memchr::{memchr, memchr2, memmem, memrchr2};
use plain::{PlainFilter, is_line_break};
use sentence::{AROUND, denies_after, denies_before, is_finished};
use std::mem;
use tag::{has_failure, is_failure, is_foreign, read};
use thoughts::{COMMENT, ThoughtFilter, is_comment_open};

/// Maximum distance in bytes from a closing tag back to its opening tag, and on to the end of its line.
const REACH: usize = 64 * 1024;

/// Maximum number of bytes that are added between two searches.
const PIECE: usize = 16 * 1024;

/// The result of a whole message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Heard {
    /// A promise that counts.
    Promise(Promise),
    /// A promise, but only in the middle of a sentence, where it does not count.
    InSentence,
    /// A completion that is denied by words before or after it.
    Denied,
    /// A promise, but only in thoughts.
    InThoughts,
    /// A promise, but only in a quotation or in a line of a diff, which repeat other text.
    Repeated,
    /// A promise, but only in JSON of an unknown format.
    InJson,
    /// A tag without the nonce of the prompt, which may be a quotation.
    NoNonce,
    /// A tag that contains this text, which is no promise.
    Unknown(String),
    /// No tag.
    #[default]
    Nothing,
}

/// Finds the promise that counts in one message.
///
/// The last tag on a line of its own decides, but a failure on such a line before a completion, or anywhere after it,
/// vetoes the completion, and so do words that deny it. Without such a line, a tag at the end of the message counts, a
/// completion only after a finished sentence. Tags in repeated lines of the prompt, in learnings and in thoughts are
/// ignored. A line of a diff contains no promise, and in an output a quotation contains none.
pub struct PromiseScanner {
    prompt: PromptLines,
    closing: memmem::Finder<'static>,
    message: Message,
    output: bool,
}

impl PromiseScanner {
    /// Makes a scanner for the answer to `prompt`.
    #[cfg(test)]
    pub fn new(prompt: &str) -> Self {
        Self::of(Tag::PROMISE, prompt)
    }

    /// Makes a scanner for the answer to `prompt` in this tag.
    pub fn of(tag: Tag, prompt: &str) -> Self {
        Self {
            prompt: PromptLines::new(tag, prompt),
            closing: memmem::Finder::new(tag.close),
            message: Message::new(tag),
            output: false,
        }
    }

    /// Declares that the message is a program's whole output: it may repeat text that the agent read, so quotations
    /// contain no promise either, nor does a tag without the nonce of the prompt, if there is one.
    pub fn hear_output(&mut self) {
        self.output = true;
        self.message.output = true;
        self.message.tag.is_strict = true;
    }

    /// Takes the next bytes of the message.
    pub fn push(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(PIECE) {
            self.message.append(piece);
            self.scan(false);
            self.message.forget_the_far();
        }
    }

    /// Discards the message so far: the next bytes begin another one.
    pub fn restart(&mut self) {
        self.message = Message::new(self.message.tag);
        self.message.output = self.output;
    }

    /// Ends the message and returns its result.
    pub fn finish(mut self) -> Heard {
        self.message.end();
        self.scan(true);
        self.message.verdict()
    }

    /// Weighs every closing tag whose line is complete; at the end, the last line is complete.
    fn scan(&mut self, at_end: bool) {
        let message = &mut self.message;
        while let Some(found) = self.closing.find(&message.text[message.next..]) {
            let close = message.next + found;
            let end = close + message.tag.close.len();
            if message.line.end < end {
                let Some(line) = message.line_around(close, at_end, &self.prompt) else {
                    message.next = close;
                    return;
                };
                message.line = line;
            }
            message.weigh(close);
            message.after_tag = end;
            message.next = end;
        }
        let cut_tag = message.text.len().saturating_sub(message.tag.close.len() - 1);
        message.next = message.next.max(cut_tag);
    }
}

/// The recent part of a message and the result of its earlier part.
#[derive(Default)]
struct Message {
    tag: Tag,
    plain: PlainFilter,
    thoughts: ThoughtFilter,
    learned: LearningFilter,
    tags: Tags,
    /// True if the text may repeat text that the agent read.
    output: bool,
    /// The plain text, with a line break before the first line.
    text: Vec<u8>,
    /// The offset at which the search for a closing tag continues.
    next: usize,
    /// The end of the last closing tag.
    after_tag: usize,
    /// The line of the last closing tag.
    line: Line,
    /// The last promise on a line of its own.
    alone: Option<Promise>,
    /// The last failure on a line of its own.
    failed: Option<Promise>,
    /// The first text after the last promise on a line of its own.
    after: Vec<u8>,
    /// The remaining work that the last promise to continue on a line of its own names.
    left: Option<String>,
    /// True if a failure followed the last completion on a line of its own.
    vetoed: bool,
    /// True if a failure was begun before that completion and never closed.
    in_failure: bool,
    /// True if a comment was open at the last closing tag, and if one was open at that completion.
    in_comment: [bool; 2],
    /// The promise after which only decoration has followed so far.
    ending: Option<Promise>,
    /// True if the accepting word, and the rejecting one, stood on a line of its own.
    said: [bool; 2],
    /// The result if no promise counts.
    stray: Heard,
}

/// The closing tags seen so far, even if they do not count.
#[derive(Clone, Copy, Default)]
struct Tags {
    /// True if there was any tag.
    any: bool,
    /// True if thoughts without a beginning contained a tag.
    in_thoughts: bool,
}

/// A line that contains a closing tag.
#[derive(Default)]
struct Line {
    end: usize,
    /// True if the line ends there, false if it is too long to follow.
    ended: bool,
    /// True if it is a line of the prompt.
    echo: bool,
}

impl Message {
    fn new(tag: Tag) -> Self {
        Self {
            tag,
            thoughts: ThoughtFilter::of(tag),
            text: vec![b'\n'],
            ..Self::default()
        }
    }

    fn append(&mut self, piece: &[u8]) {
        // Most text has no tag.
        if memchr(b'<', piece).is_none()
            && self.plain.passes(piece)
            && self.learned.is_outside()
            && self.thoughts.passes(piece)
        {
            return self.go_on(piece);
        }
        let (mut plain, mut words) = (Vec::new(), Vec::new());
        self.plain.take(piece, &mut plain);
        let thoughts = self.thoughts.take(&plain, &mut words);
        self.add(&words, thoughts);
    }

    fn end(&mut self) {
        let (mut plain, mut words) = (Vec::new(), Vec::new());
        self.plain.end(&mut plain);
        let first = self.thoughts.take(&plain, &mut words);
        let thoughts = self.thoughts.end(&mut words).or(first);
        self.add(&words, thoughts);
        let mut rest = Vec::new();
        self.learned.end(&mut rest);
        self.go_on(&rest);
    }

    /// Adds text; the part before `thoughts`, and all earlier text, turned out to be thoughts.
    fn add(&mut self, words: &[u8], thoughts: Option<usize>) {
        let (before, words) = words.split_at(thoughts.unwrap_or(0));
        if thoughts.is_some() {
            self.learned.take(before, &mut self.text);
            // The end of thoughts cuts off a learning, which is then never closed.
            self.learned.end(&mut self.text);
            let has_tag = self.tags.any || memmem::find(&self.text[self.next..], self.tag.close).is_some();
            let in_thoughts = self.tags.in_thoughts || has_tag;
            let thoughts = ThoughtFilter::of(self.tag);
            *self = Self {
                plain: mem::take(&mut self.plain),
                thoughts: mem::replace(&mut self.thoughts, thoughts),
                output: self.output,
                tags: Tags {
                    any: false,
                    in_thoughts,
                },
                ..Self::new(self.tag)
            };
        }
        let mut text = Vec::with_capacity(words.len());
        self.learned.take(words, &mut text);
        self.go_on(&text);
    }

    /// Notes that the message continues with `text`.
    fn go_on(&mut self, text: &[u8]) {
        let before = self.text.len();
        self.text.extend_from_slice(text);
        if self.alone.is_some() {
            self.note_after(before);
        }
        if self.ending.is_some() && !self.is_quiet_from(before) {
            self.ending = None;
        }
    }

    /// Returns the line of the closing tag at `close`, or `None` if the line may continue.
    fn line_around(&self, close: usize, at_end: bool, prompt: &PromptLines) -> Option<Line> {
        let after = close + self.tag.close.len();
        let limit = after + REACH;
        let within_reach = &self.text[after..limit.min(self.text.len())];
        let (end, ended) = match memchr2(b'\n', b'\r', within_reach) {
            Some(at) => (after + at, true),
            None if limit <= self.text.len() => (limit, false),
            None if at_end => (self.text.len(), true),
            None => return None,
        };
        let from = self.line.end.clamp(close.saturating_sub(REACH), close);
        let start = memrchr2(b'\n', b'\r', &self.text[from..close]).map(|at| from + at + 1);
        let echo = ended && start.is_some_and(|start| prompt.contains(&self.text[start..end]));
        Some(Line { end, ended, echo })
    }

    /// Records the text from `from` as following the promise on a line of its own.
    fn note_after(&mut self, from: usize) {
        let room = AROUND - self.after.len();
        let text = &self.text[from.min(self.text.len())..];
        self.after.extend_from_slice(&text[..text.len().min(room)]);
    }

    /// Decides whether the tag that closes at `close` counts.
    fn weigh(&mut self, close: usize) {
        let tag = self.tag;
        self.tags.any = true;
        let window = &self.text[self.after_tag.max(close.saturating_sub(REACH))..close];
        let Some(open) = opening(tag, window) else {
            // This tag closes an earlier failure: the completion was part of its reason.
            self.vetoed |= self.in_failure && !self.line.echo;
            return;
        };
        self.in_comment[0] = is_comment_open(window).unwrap_or(self.in_comment[0]);
        if self.line.echo {
            return;
        }
        if is_foreign(tag, &window[open + tag.open.len()..]) {
            self.stray = Heard::NoNonce;
            return;
        }
        let after = close + tag.close.len();
        // It counts only at the very end: the output of other programs may begin so too.
        let is_answer = tag.is_marked && window[..open].ends_with(b"\n> ");
        let repeated = is_repeated(window, open, self.output) || leads_to_quotation(&window[..open]);
        let in_json = is_in_json(window, open);
        let mut behind = &self.text[after..self.line.end];
        // The same tag may be repeated on the line.
        let same = &self.text[close - (window.len() - open)..after];
        while let Some(rest) = from_decoration(behind).strip_prefix(same) {
            behind = rest;
        }
        if self.in_comment[0] && memmem::find(&behind[..behind.len().min(AROUND)], COMMENT.1).is_some() {
            self.stray = Heard::InThoughts;
            return;
        }
        let alone = !repeated
            && !in_json
            && begins_line(window, open)
            && self.line.ended
            // Text that is struck through is revoked.
            && !(window[..open].ends_with(b"~~") && behind.starts_with(b"~~"))
            && is_made_of(behind, is_sign_behind);
        let promise = read(tag, &window[open + tag.open.len()..]);
        match &promise {
            Ok(Promise::Failed(_)) => self.vetoed = true,
            Err(unknown) if unknown.starts_with(tag.failed) => self.vetoed = true,
            _ => {}
        }
        let before = &window[..open];
        let completes = promise == Ok(Promise::Complete);
        match (promise, alone) {
            (Ok(Promise::Continue(left)), true) => self.left = Some(left),
            (Ok(_), true) if completes && denies_before(before) => {
                self.stray = Heard::Denied;
                self.alone = self.alone.take().filter(|promise| *promise != Promise::Complete);
            }
            (Ok(promise), true) => {
                self.vetoed = false;
                self.said[usize::from(!completes)] = true;
                self.in_failure = has_failure(tag, before);
                if !completes {
                    self.failed = Some(promise.clone());
                }
                self.in_comment[1] = self.in_comment[0];
                self.alone = Some(promise);
                self.after.clear();
                self.note_after(self.line.end);
            }
            (Ok(promise), false) => {
                self.stray = if repeated {
                    Heard::Repeated
                } else if in_json {
                    Heard::InJson
                } else {
                    Heard::InSentence
                };
                let finished = !completes || (is_answer || is_finished(before)) && !denies_before(before);
                let counts = (is_answer || !repeated) && !in_json && finished && self.is_quiet_from(after);
                self.ending = counts.then_some(promise);
            }
            (Err(unknown), _) => {
                self.stray = Heard::Unknown(unknown);
                if alone {
                    self.alone = None;
                }
            }
        }
    }

    /// Returns true if only decoration and blank lines have followed since `from`.
    fn is_quiet_from(&self, from: usize) -> bool {
        // A piece may end inside a character.
        let from = from - cut_char(&self.text[..from]);
        let end = self.text.len() - cut_char(&self.text[from..]);
        let rest = &self.text[from..end];
        // Here too, text that is struck through is revoked, with its sentence.
        !rest.contains(&b'~') && is_made_of(rest, |byte| is_line_break(byte) || is_sign_behind(byte))
    }

    /// Drops the text that no later tag can reach, in large chunks.
    fn forget_the_far(&mut self) {
        let far = self.next.saturating_sub(REACH);
        if far >= REACH {
            self.text.drain(..far);
            self.next -= far;
            self.after_tag = self.after_tag.saturating_sub(far);
            self.line.end = self.line.end.saturating_sub(far);
        }
    }

    fn verdict(mut self) -> Heard {
        if cut_char(&self.text) > 0 {
            self.ending = None;
        }
        // A failure at the end that was cut off counts too.
        let end = self.text.len().saturating_sub(REACH).max(self.after_tag);
        self.vetoed |= has_failure(self.tag, &self.text[end..]);
        if self.stray == Heard::Nothing && (self.tags.in_thoughts || self.thoughts.promised()) {
            self.stray = Heard::InThoughts;
        }
        if self.tag.is_single && self.said == [true; 2] {
            return Heard::Unknown(format!("{} and {}", self.tag.complete, self.tag.failed));
        }
        let (ending, left) = match self.ending {
            Some(Promise::Continue(left)) => (None, Some(left)),
            ending => (ending, self.left),
        };
        let heard = match (self.alone, ending) {
            (Some(Promise::Complete), Some(failed @ Promise::Failed(_))) if self.vetoed => {
                Heard::Promise(failed)
            }
            (Some(Promise::Complete), _) if self.vetoed => match self.stray {
                Heard::Nothing | Heard::InThoughts => Heard::InSentence,
                stray => stray,
            },
            // A comment that is never closed may be part of a file.
            (Some(Promise::Complete), _)
                if self.in_comment[1] && memmem::find(&self.after, COMMENT.1).is_some() =>
            {
                Heard::InThoughts
            }
            (Some(Promise::Complete), _) if denies_after(&self.after, self.output) => Heard::Denied,
            (alone, ending) => alone.or(ending).map_or(self.stray, Heard::Promise),
        };
        let heard = match heard {
            Heard::Promise(Promise::Complete) | Heard::Denied => self.failed.map_or(heard, Heard::Promise),
            heard => heard,
        };
        match (heard, left) {
            (heard, None) | (heard @ Heard::Promise(Promise::Failed(_)), _) => heard,
            (_, Some(left)) => Heard::Promise(Promise::Continue(left)),
        }
    }
}

/// Returns the text that a terminal would show, as plain text.
pub(super) fn plain_text(bytes: &[u8]) -> String {
    let (mut filter, mut plain) = (PlainFilter::default(), Vec::new());
    filter.take(bytes, &mut plain);
    filter.end(&mut plain);
    String::from_utf8_lossy(&plain).into_owned()
}

/// Finds the opening tag that belongs to the tag closing at the end of `window`.
///
/// That is the last opening tag, unless an earlier one begins a failure that was never closed: then all later text,
/// even a completion, belongs to that failure's reason. A failure in the middle of a line does not claim a tag at the
/// beginning of a line.
fn opening(tag: Tag, window: &[u8]) -> Option<usize> {
    let last = memmem::rfind(window, tag.open)?;
    let last_begins_line = begins_line(window, last);
    memmem::find_iter(window, tag.open)
        .take_while(|&at| at < last)
        .find(|&at| is_failure(tag, &window[at..]) && (!last_begins_line || begins_line(window, at)))
        .or(Some(last))
}
