//! Finds the promise in the words of an agent.
//!
//! [`PromiseScanner`] takes a message (or a whole stdout) in pieces of any size and says in the end
//! what the agent promised. Invariants:
//! - the answer depends on the bytes alone, never on how they were cut into pieces: every limit
//!   below is a distance in the text, none a state of the buffer;
//! - memory stays under half a mebibyte and time linear, whatever comes in;
//! - where two readings are possible, the one that does not complete the story is taken.
//!
//! The same holds for the verdict of a reviewer ([`Tag::VERDICT`]), of which `ACCEPT` is read as `COMPLETE` and `REJECT` as
//! `FAILED`; a message with a line of both says nothing.
//!
//! A tag counts if it stands on a line of its own, where what is no letter and no digit, in any script, does not matter;
//! the last one does, but a `COMPLETE` after a `FAILED` that counts takes nothing back: the failure does. A `FAILED` that ends the message counts wherever it stands, and a `COMPLETE` if a finished sentence, or one
//! that ends with a colon, stands before it on its line. A `COMPLETE` does not count if the words around it deny it
//! (`sentence.rs`): the sentence before the tag runs into it and denies or doubts, or says that the story is not done, or
//! what follows the tag takes it back. A `CONTINUE` that counts says that work is left, whatever else completes the story.
//! Thoughts (`thoughts.rs`) and learnings are cut out before anything is searched.
//!
//! This module must not know which agent speaks, nor what a promise leads to.

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

/// The longest distance in bytes from a closing tag back to its opening tag, and on to the end of its line.
const REACH: usize = 64 * 1024;

/// The most bytes that are added between two searches.
const PIECE: usize = 16 * 1024;

/// The result of a whole message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Heard {
    /// A promise that counts.
    Promise(Promise),
    /// There is a promise, but only in the middle of a sentence, where it does not count.
    InSentence,
    /// There is a completion, but words before or after it deny it.
    Denied,
    /// There is a promise, but only in thoughts.
    InThoughts,
    /// There is a promise, but only in a quotation or in a line of a diff, which repeat the words of others.
    Repeated,
    /// There is a promise, but only in JSON of a format that is not known.
    InJson,
    /// There is a tag, but without the nonce of the prompt, so that it may be quoted.
    NoNonce,
    /// There is a tag, but this text in it is no promise.
    Unknown(String),
    /// There is no tag at all.
    #[default]
    Nothing,
}

/// Finds the promise of one message that counts.
///
/// The last tag on a line of its own decides, but a failure on such a line before a completion, or anywhere after it, vetoes it,
/// and so do words that deny it. If there is none, a tag that ends the message counts, a completion only after a finished sentence. A line of
/// the prompt that comes back is not the agent's word, and its tags are passed over; so are learnings and thoughts. A line
/// of a diff promises nothing, and in an output no quotation does.
pub struct PromiseScanner {
    prompt: PromptLines,
    closing: memmem::Finder<'static>,
    message: Message,
    output: bool,
}

impl PromiseScanner {
    /// Listens to the answer to `prompt`.
    #[cfg(test)]
    pub fn new(prompt: &str) -> Self {
        Self::of(Tag::PROMISE, prompt)
    }

    /// Listens to the answer to `prompt`, which is in this tag.
    pub fn of(tag: Tag, prompt: &str) -> Self {
        Self {
            prompt: PromptLines::new(tag, prompt),
            closing: memmem::Finder::new(tag.close),
            message: Message::new(tag),
            output: false,
        }
    }

    /// Declares that the message is all that a program prints: it may repeat what the agent read, so lines of
    /// quotations promise nothing either, nor does a tag without the nonce of the prompt, if there is one.
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

    /// Forgets the message heard so far: the next bytes begin another one.
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

    /// Weighs every closing tag whose line is complete; at the end, the last line is.
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

/// The recent part of a message and the result of the rest.
#[derive(Default)]
struct Message {
    tag: Tag,
    plain: PlainFilter,
    thoughts: ThoughtFilter,
    learned: LearningFilter,
    tags: Tags,
    /// True if the text may repeat what the agent read.
    output: bool,
    /// The plain text. A line break stands before the first line.
    text: Vec<u8>,
    /// The offset at which the search for a closing tag continues.
    next: usize,
    /// The end of the last closing tag.
    after_tag: usize,
    /// The line on which the last closing tag stands.
    line: Line,
    /// The promise that stands last on a line of its own.
    alone: Option<Promise>,
    /// The last failure on a line of its own.
    failed: Option<Promise>,
    /// The first text after that promise.
    after: Vec<u8>,
    /// The work that is left, as the last promise to continue on a line of its own names it.
    left: Option<String>,
    /// True if a failure has come after the completion that stands last on a line of its own.
    vetoed: bool,
    /// True if a failure was begun before that completion and never closed.
    in_failure: bool,
    /// True if a comment was begun before the last closing tag and not closed, and if it was before that completion.
    in_comment: [bool; 2],
    /// The promise after which only decoration has come so far.
    ending: Option<Promise>,
    /// True if the word for the work, and the one against it, stood on a line of its own.
    said: [bool; 2],
    /// The result if no promise counts.
    stray: Heard,
}

/// The closing tags that there were, whatever they are worth.
#[derive(Clone, Copy, Default)]
struct Tags {
    /// True if there was any.
    any: bool,
    /// True if there was one in thoughts that had no beginning.
    in_thoughts: bool,
}

/// A line that holds a closing tag.
#[derive(Default)]
struct Line {
    end: usize,
    /// True if the line really ends there, false if it is only too long to follow.
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
        // Most text is such.
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

    /// Adds words, of which those before `thoughts` turned out to be thoughts, as did all that came before.
    fn add(&mut self, words: &[u8], thoughts: Option<usize>) {
        let (before, words) = words.split_at(thoughts.unwrap_or(0));
        if thoughts.is_some() {
            self.learned.take(before, &mut self.text);
            // A learning that the end of thoughts cuts off is never closed.
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

    /// Returns the line of the closing tag at `close`, or nothing if more of it may come.
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

    /// Notes the text from `from` as what follows the promise on a line of its own.
    fn note_after(&mut self, from: usize) {
        let room = AROUND - self.after.len();
        let text = &self.text[from.min(self.text.len())..];
        self.after.extend_from_slice(&text[..text.len().min(room)]);
    }

    /// Decides what the tag that closes at `close` is worth.
    fn weigh(&mut self, close: usize) {
        let tag = self.tag;
        self.tags.any = true;
        let window = &self.text[self.after_tag.max(close.saturating_sub(REACH))..close];
        let Some(open) = opening(tag, window) else {
            // What was begun before is closed here: the completion was part of its reason.
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
        // It counts only at the very end: what other programs print may begin so too.
        let is_answer = tag.is_marked && window[..open].ends_with(b"\n> ");
        let repeated = is_repeated(window, open, self.output) || leads_to_quotation(&window[..open]);
        let in_json = is_in_json(window, open);
        let mut behind = &self.text[after..self.line.end];
        // The same tag may stand there twice.
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
            // What is struck through is taken back.
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

    /// Returns true if nothing but decoration and blank lines has come since `from`.
    fn is_quiet_from(&self, from: usize) -> bool {
        // Text comes in pieces, which may cut a character in two.
        let from = from - cut_char(&self.text[..from]);
        let end = self.text.len() - cut_char(&self.text[from..]);
        let rest = &self.text[from..end];
        // What is struck through is taken back here too, with its sentence.
        !rest.contains(&b'~') && is_made_of(rest, |byte| is_line_break(byte) || is_sign_behind(byte))
    }

    /// Drops the text that no later tag can reach, in large pieces.
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
        // A failure that was begun at the end, and cut off, is one too.
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
            // A comment that is never closed may be a part of a file.
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

/// Finds the opening tag of the tag that closes at the end of `window`.
///
/// That is the last opening tag, unless an earlier one begins a failure that was never closed: then all that follows, a
/// completion too, is part of that failure's reason. A failure in the middle of a line does not claim a tag that begins
/// a line.
fn opening(tag: Tag, window: &[u8]) -> Option<usize> {
    let last = memmem::rfind(window, tag.open)?;
    let last_begins_line = begins_line(window, last);
    memmem::find_iter(window, tag.open)
        .take_while(|&at| at < last)
        .find(|&at| is_failure(tag, &window[at..]) && (!last_begins_line || begins_line(window, at)))
        .or(Some(last))
}
