//! Finds the promise in the words of an agent.
//!
//! [`PromiseScanner`] takes a message (or a whole stdout) in pieces of any size and says in the end
//! what the agent promised. Invariants:
//! - the answer depends on the bytes alone, never on how they were cut into pieces: every limit
//!   below is a distance in the text, none a state of the buffer;
//! - memory stays under half a mebibyte and time linear, whatever comes in;
//! - where two readings are possible, the one that does not complete the story is taken.
//!
//! It must not know which agent speaks, nor what a promise leads to.

use memchr::{memchr2, memchr3, memmem, memrchr2};
use std::collections::HashSet;

const OPEN: &[u8] = b"<promise>";
const CLOSE: &[u8] = b"</promise>";
const COMPLETE: &str = "COMPLETE";
const FAILED: &str = "FAILED";

/// How far a tag may reach back from its closing tag, and its last line on from there.
const REACH: usize = 64 * 1024;

/// How much is taken in between two searches.
const PIECE: usize = 16 * 1024;

/// How much of an unknown tag is kept, in characters.
const UNKNOWN_CHARS: usize = 200;

/// What an agent says its attempt came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Promise {
    /// The story is done.
    Complete,
    /// The story could not be done, and why; the reason is trimmed and may be empty.
    Failed(String),
}

/// What a whole message came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Heard {
    /// A promise that counts.
    Promise(Promise),
    /// There is a promise, but only in the middle of a sentence, where it does not count.
    InSentence,
    /// There is a tag, but this text in it is no promise.
    Unknown(String),
    /// There is no tag at all.
    #[default]
    Nothing,
}

/// Listens to one message for the promise that counts.
///
/// The last tag on a line of its own decides. If there is none, a tag that ends the message counts.
/// A line of the prompt that comes back is not the agent's word, and its tags are passed over.
pub struct PromiseScanner {
    prompt: PromptLines,
    closing: memmem::Finder<'static>,
    message: Message,
}

impl PromiseScanner {
    /// Listens to the answer to `prompt`.
    #[must_use]
    pub fn new(prompt: &str) -> Self {
        Self {
            prompt: PromptLines::new(prompt),
            closing: memmem::Finder::new(CLOSE),
            message: Message::new(),
        }
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
        self.message = Message::new();
    }

    /// Ends the message and says what it came to.
    #[must_use]
    pub fn finish(mut self) -> Heard {
        self.message.end();
        self.scan(true);
        self.message.verdict()
    }

    /// Weighs every closing tag whose line has come in whole; `at_end`, the last line has too.
    fn scan(&mut self, at_end: bool) {
        let message = &mut self.message;
        while let Some(found) = self.closing.find(&message.text[message.next..]) {
            let close = message.next + found;
            let end = close + CLOSE.len();
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
        let cut_tag = message.text.len().saturating_sub(CLOSE.len() - 1);
        message.next = message.next.max(cut_tag);
    }
}

/// The recent part of a message and what the rest of it came to.
struct Message {
    filter: PlainFilter,
    /// The plain text. A line break stands before the first line.
    text: Vec<u8>,
    /// Where the search for a closing tag goes on.
    next: usize,
    /// Where the last closing tag ended.
    after_tag: usize,
    /// The line on which the last closing tag stands.
    line: Line,
    /// The promise that stands last on a line of its own.
    alone: Option<Promise>,
    /// The promise after which only decoration has come so far.
    ending: Option<Promise>,
    /// What is told if no promise counts.
    stray: Heard,
}

/// A line that holds a closing tag.
#[derive(Default)]
struct Line {
    end: usize,
    /// Whether it really ends there, or is only too long to follow.
    ended: bool,
    /// Whether it is a line of the prompt.
    echo: bool,
}

impl Message {
    fn new() -> Self {
        Self {
            filter: PlainFilter::default(),
            text: vec![b'\n'],
            next: 0,
            after_tag: 0,
            line: Line::default(),
            alone: None,
            ending: None,
            stray: Heard::Nothing,
        }
    }

    fn append(&mut self, piece: &[u8]) {
        let before = self.text.len();
        self.filter.take(piece, &mut self.text);
        self.go_on(before);
    }

    fn end(&mut self) {
        let before = self.text.len();
        self.filter.end(&mut self.text);
        self.go_on(before);
    }

    /// The message went on with the text from `before`.
    fn go_on(&mut self, before: usize) {
        if self.ending.is_some() && !self.is_quiet_from(before) {
            self.ending = None;
        }
    }

    /// The line of the closing tag at `close`, or nothing if more of it may come.
    fn line_around(&self, close: usize, at_end: bool, prompt: &PromptLines) -> Option<Line> {
        let after = close + CLOSE.len();
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

    /// Decides what the tag that closes at `close` is worth.
    fn weigh(&mut self, close: usize) {
        let window = &self.text[self.after_tag.max(close.saturating_sub(REACH))..close];
        let Some(open) = opening(window) else { return };
        if self.line.echo {
            return;
        }
        let after = close + CLOSE.len();
        let alone = begins_line(window, open)
            && self.line.ended
            && self.text[after..self.line.end]
                .iter()
                .all(|byte| is_decoration(*byte));
        match (read(&window[open + OPEN.len()..]), alone) {
            (Ok(promise), true) => self.alone = Some(promise),
            (Ok(promise), false) => {
                self.stray = Heard::InSentence;
                self.ending = self.is_quiet_from(after).then_some(promise);
            }
            (Err(unknown), _) => {
                self.stray = Heard::Unknown(unknown);
                if alone {
                    self.alone = None;
                }
            }
        }
    }

    /// Whether nothing but decoration and blank lines has come since `from`.
    fn is_quiet_from(&self, from: usize) -> bool {
        let is_quiet = |byte: &u8| is_decoration(*byte) || is_line_break(*byte);
        self.text[from..].iter().all(is_quiet)
    }

    /// Drops the text that no later tag can reach, a good deal at a time.
    fn forget_the_far(&mut self) {
        let far = self.next.saturating_sub(REACH);
        if far >= REACH {
            self.text.drain(..far);
            self.next -= far;
            self.after_tag = self.after_tag.saturating_sub(far);
            self.line.end = self.line.end.saturating_sub(far);
        }
    }

    fn verdict(self) -> Heard {
        self.alone.or(self.ending).map_or(self.stray, Heard::Promise)
    }
}

/// Where the tag opens that closes at the end of `window`.
///
/// That is the last opening tag, unless an earlier one begins a failure that was never closed: then
/// what follows, a completion too, is part of that failure's reason. A failure in the middle of a
/// line does not claim a tag that begins a line.
fn opening(window: &[u8]) -> Option<usize> {
    let last = memmem::rfind(window, OPEN)?;
    let last_begins_line = begins_line(window, last);
    memmem::find_iter(window, OPEN)
        .take_while(|&at| at < last)
        .find(|&at| {
            let inner = window[at + OPEN.len()..].trim_ascii_start();
            inner.starts_with(FAILED.as_bytes()) && (!last_begins_line || begins_line(window, at))
        })
        .or(Some(last))
}

/// Reads the text inside a tag; what is no promise comes back, shortened.
fn read(inner: &[u8]) -> Result<Promise, String> {
    let inner = String::from_utf8_lossy(inner.trim_ascii());
    if inner == COMPLETE {
        return Ok(Promise::Complete);
    }
    match inner.strip_prefix(FAILED) {
        Some("") => Ok(Promise::Failed(String::new())),
        Some(rest) if rest.starts_with(':') => {
            let reason = rest[1..].trim().replace("\r\n", "\n");
            Ok(Promise::Failed(reason))
        }
        _ => Err(inner.chars().take(UNKNOWN_CHARS).collect()),
    }
}

/// Whether only decoration stands before `at` on its line.
fn begins_line(text: &[u8], at: usize) -> bool {
    let before = text[..at].iter().rfind(|byte| !is_decoration(**byte));
    before.is_some_and(|byte| is_line_break(*byte))
}

/// What may stand beside a tag on a line of its own in plain text: blanks and the marks of Markdown.
fn is_decoration(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'\t' | b'\x0b' | b'\x0c' | b'*' | b'`' | b'>' | b'-' | b'#'
    )
}

/// A carriage return alone takes the cursor to the start of the line, so it breaks lines too.
fn is_line_break(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// The lines of the prompt that hold a closing tag; no other line can mislead.
struct PromptLines(HashSet<Vec<u8>>);

impl PromptLines {
    fn new(prompt: &str) -> Self {
        let mut text = Vec::new();
        PlainFilter::default().take(prompt.as_bytes(), &mut text);
        let lines = text
            .split(|byte| is_line_break(*byte))
            .filter(|line| memmem::find(line, CLOSE).is_some());
        Self(lines.map(|line| Self::key(line).to_vec()).collect())
    }

    fn contains(&self, line: &[u8]) -> bool {
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

/// Makes plain text of text that comes in pieces: takes terminal escape sequences out, and turns blanks
/// that only look like other characters into blanks.
///
/// No sequence goes beyond the end of its line, so a broken one hides little.
#[derive(Default)]
struct PlainFilter(Place);

/// The no-break space and the space of no width, which are seen as a blank or not at all.
const BLANKS: [&[u8]; 2] = [b"\xc2\xa0", b"\xe2\x80\x8b"];

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    /// In plain text.
    #[default]
    Outside,
    /// In what may be the blank of this number, after so many bytes of it.
    Blank(usize, usize),
    /// After ESC.
    Begun,
    /// After ESC [, in the parameters.
    Control,
    /// In a string such as a window title or a link.
    Text,
    /// After the ESC that may end a string.
    TextEnding,
}

impl PlainFilter {
    const ESC: u8 = 0x1b;
    const BELL: u8 = 0x07;

    fn take(&mut self, piece: &[u8], plain: &mut Vec<u8>) {
        let mut rest = piece;
        while let Some((&byte, after)) = rest.split_first() {
            if self.0 != Place::Outside {
                if self.takes(byte, plain) {
                    rest = after;
                }
            } else if let Some(at) = memchr3(Self::ESC, BLANKS[0][0], BLANKS[1][0], rest) {
                plain.extend_from_slice(&rest[..at]);
                let blank = BLANKS.iter().position(|blank| blank[0] == rest[at]);
                self.0 = blank.map_or(Place::Begun, |blank| Place::Blank(blank, 1));
                rest = &rest[at + 1..];
            } else {
                plain.extend_from_slice(rest);
                return;
            }
        }
    }

    /// Gives what was held back because more of it might have come.
    fn end(&mut self, plain: &mut Vec<u8>) {
        if let Place::Blank(blank, seen) = self.0 {
            plain.extend_from_slice(&BLANKS[blank][..seen]);
        }
        self.0 = Place::Outside;
    }

    /// Goes on within a sequence or a blank; false if `byte` is not part of it.
    fn takes(&mut self, byte: u8, plain: &mut Vec<u8>) -> bool {
        let (place, taken) = match self.0 {
            Place::Outside => (Place::Outside, false),
            Place::Blank(blank, seen) => {
                let bytes = BLANKS[blank];
                if byte != bytes[seen] {
                    self.end(plain);
                    (Place::Outside, false)
                } else if seen + 1 < bytes.len() {
                    (Place::Blank(blank, seen + 1), true)
                } else {
                    plain.push(b' ');
                    (Place::Outside, true)
                }
            }
            Place::Begun => match byte {
                b'[' => (Place::Control, true),
                b']' | b'P' | b'X' | b'^' | b'_' => (Place::Text, true),
                b' '..=b'/' => (Place::Begun, true),
                b'0'..=b'~' => (Place::Outside, true),
                _ => (Place::Outside, false),
            },
            Place::Control => match byte {
                b' '..=b'?' => (Place::Control, true),
                b'@'..=b'~' => (Place::Outside, true),
                _ => (Place::Outside, false),
            },
            Place::Text => match byte {
                Self::BELL => (Place::Outside, true),
                Self::ESC => (Place::TextEnding, true),
                _ if is_line_break(byte) => (Place::Outside, false),
                _ => (Place::Text, true),
            },
            Place::TextEnding => match byte {
                b'\\' => (Place::Outside, true),
                _ => (Place::Begun, false),
            },
        };
        self.0 = place;
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PROMPT: &str = "Do the story.\n\
        Print <promise>COMPLETE</promise> or <promise>FAILED: why</promise>.\n\
        - <promise>COMPLETE</promise>\n\
        End with: <promise>COMPLETE</promise>\n";

    fn hear(text: impl AsRef<[u8]>) -> Heard {
        hear_in_pieces(text.as_ref(), usize::MAX)
    }

    fn hear_in_pieces(text: &[u8], size: usize) -> Heard {
        let mut scanner = PromiseScanner::new(PROMPT);
        for piece in text.chunks(size) {
            scanner.push(piece);
            assert!(scanner.message.text.capacity() <= 8 * REACH);
        }
        scanner.finish()
    }

    fn complete() -> Heard {
        Heard::Promise(Promise::Complete)
    }

    fn failed(reason: &str) -> Heard {
        Heard::Promise(Promise::Failed(reason.into()))
    }

    fn unknown(text: &str) -> Heard {
        Heard::Unknown(text.into())
    }

    #[test]
    fn a_tag_on_a_line_of_its_own_counts() {
        for text in [
            "<promise>COMPLETE</promise>",
            "Done.\n\n<promise>COMPLETE</promise>\n",
            "Done.\r\n<promise>COMPLETE</promise>\r\nBye.\r\n",
            "<promise>COMPLETE</promise>\nTokens: 3 sent.\n",
            "```\n<promise>COMPLETE</promise>\n```\nBye.",
            "```<promise>COMPLETE</promise>```\nBye.",
            " \t> - **`<promise>COMPLETE</promise>`** \nBye.",
            "# <promise> COMPLETE </promise> #\nBye.",
            "<promise>\nCOMPLETE\n</promise>\nBye.",
            "working ...\r<promise>COMPLETE</promise>\nBye.",
            "the tag <promise> is due:\n<promise>COMPLETE</promise>\nBye.",
            "<promise>FAILED: no</promise>\n<promise>COMPLETE</promise>\nBye.",
            "\u{200b}<promise>COMPLETE</promise>\u{a0}\nBye.",
            "\u{a0}\u{200b}<promise>\u{a0}COMPLETE</promise> \u{200b}\u{200b}\nBye.",
        ] {
            assert_eq!(hear(text), complete(), "{text:?}");
        }
    }

    #[test]
    fn a_failure_carries_its_reason() {
        for (text, reason) in [
            ("<promise>FAILED: tests red</promise>", "tests red"),
            ("<promise>FAILED</promise>", ""),
            ("<promise>FAILED:</promise>", ""),
            ("<promise> FAILED:no space </promise>", "no space"),
            ("<promise>FAILED: a\n\n b\n</promise>\nBye.", "a\n\n b"),
            ("<promise>FAILED: a\r\nb\r\n</promise>\r\n", "a\nb"),
            ("So: <promise>FAILED: a\nb</promise>", "a\nb"),
            (
                "<promise>COMPLETE</promise>\nNo!\n<promise>FAILED: x</promise>\n",
                "x",
            ),
        ] {
            assert_eq!(hear(text), failed(reason), "{text:?}");
        }
        assert_eq!(hear(b"<promise>FAILED: \xff</promise>"), failed("\u{fffd}"));
    }

    #[test]
    fn an_unclosed_failure_claims_what_it_mentions() {
        for text in [
            "<promise>FAILED: never got to <promise>COMPLETE</promise>",
            "Sorry: <promise>FAILED: never got to <promise>COMPLETE</promise>",
            "<promise>FAILED: never got to\n<promise>COMPLETE</promise>\nas the build is red</promise>\n",
        ] {
            let heard = hear(text);
            assert!(
                matches!(heard, Heard::Promise(Promise::Failed(_))),
                "{text:?} {heard:?}"
            );
        }
        let mentioned = "else I print <promise>FAILED: why.\n<promise>COMPLETE</promise>\n";
        assert_eq!(hear(mentioned), complete());
    }

    #[test]
    fn without_one_of_its_own_line_a_tag_that_ends_the_message_counts() {
        for text in [
            "Done. <promise>COMPLETE</promise>",
            "Done. <promise>COMPLETE</promise>\r\n\r\n",
            "```\nDone. **<promise>COMPLETE</promise>**\n```\n\n",
            "<promise>ODD</promise>\nDone. <promise>COMPLETE</promise>\n",
            "Done. <promise>COMPLETE</promise>\u{200b}\n\u{a0}",
        ] {
            assert_eq!(hear(text), complete(), "{text:?}");
        }
        let later = "<promise>COMPLETE</promise>\nInstead of <promise>FAILED: x</promise>\n";
        assert_eq!(hear(later), complete());
    }

    #[test]
    fn a_tag_in_a_sentence_does_not_count() {
        for text in [
            "I will print <promise>COMPLETE</promise> when done.",
            "Not yet <promise>COMPLETE</promise>.",
            "<promise>COMPLETE</promise> is what I shall print.\n",
            "See <promise>COMPLETE</promise>\nGoing on.\n",
            "<promise>COMPLETE</promise> <promise>COMPLETE</promise> they say",
            "~~Done: <promise>COMPLETE</promise>~~",
            "{\"text\":\"<promise>COMPLETE</promise>\"}\n",
        ] {
            assert_eq!(hear(text), Heard::InSentence, "{text:?}");
        }
    }

    #[test]
    fn half_a_blank_is_none() {
        for end in ["\u{2020}", "\u{2009}", "\u{b0}"] {
            let text = format!("Done: <promise>COMPLETE</promise>{end}");
            assert_eq!(hear(text), Heard::InSentence);
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

    #[test]
    fn other_text_in_a_tag_is_no_promise() {
        for (text, inner) in [
            ("<promise>DONE</promise>", "DONE"),
            ("<promise>complete</promise>", "complete"),
            ("<promise>COMPLETE!</promise>", "COMPLETE!"),
            ("<promise>NOT COMPLETE</promise>", "NOT COMPLETE"),
            ("<promise>FAILED - x</promise>", "FAILED - x"),
            ("<promise>FAILEDLY</promise>", "FAILEDLY"),
            ("<promise></promise>", ""),
            (
                "<promise>COMPLETE</promise>\n<promise>BLOCKED</promise>\n",
                "BLOCKED",
            ),
        ] {
            assert_eq!(hear(text), unknown(inner), "{text:?}");
        }
        let long = format!("<promise>{}</promise>", "é".repeat(5000));
        assert_eq!(hear(long), unknown(&"é".repeat(UNKNOWN_CHARS)));
    }

    #[test]
    fn broken_tags_are_nothing() {
        for text in [
            "",
            "Done.",
            "<promise>",
            "<promise>COMPLETE",
            "<promise>COMPLETE</promise",
            "COMPLETE</promise>",
            "<promise >COMPLETE</promise>",
            "<Promise>COMPLETE</Promise>",
        ] {
            assert_eq!(hear(text), Heard::Nothing, "{text:?}");
        }
    }

    #[test]
    fn lines_of_the_prompt_are_passed_over() {
        assert_eq!(hear(PROMPT), Heard::Nothing);
        assert_eq!(hear(PROMPT.replace('\n', "\r\n")), Heard::Nothing);
        for text in [
            "  \x1b[2mEnd with: <promise>COMPLETE</promise>\x1b[0m \n",
            "> End with: <promise>COMPLETE</promise>",
            "Print <promise>COMPLETE</promise> or <promise>FAILED: why</promise>.",
            "- <promise>COMPLETE</promise>",
        ] {
            assert_eq!(hear(text), Heard::Nothing, "{text:?}");
        }
        let own = format!("{PROMPT}<promise>COMPLETE</promise>\n{PROMPT}");
        assert_eq!(hear(own), complete());
        let echo_last = format!("So <promise>COMPLETE</promise>\n{PROMPT}");
        assert_eq!(hear(echo_last), Heard::InSentence);
    }

    #[test]
    fn escape_sequences_do_not_hide_a_tag() {
        for text in [
            "\x1b[1;32m<promise>COM\x1b[0mPLETE</pro\x1b(Bmise>\x1b[K\nBye.",
            "\x1b]0;title\x07<promise>COMPLETE</promise>\x1b]8;;http://x\x1b\\\nBye.",
            "\x1b7<promise>COMPLETE</promise>\x1b\nBye.",
            "\x1b]never ended\n<promise>COMPLETE</promise>\nBye.",
            "\x1b\x1b[1m<promise>COMPLETE</promise>\x1b[\nBye.",
        ] {
            assert_eq!(hear(text), complete(), "{text:?}");
        }
        let title = "\x1b]0;<promise>COMPLETE</promise>\x07\n";
        assert_eq!(hear(title), Heard::Nothing);
    }

    #[test]
    fn a_restart_forgets_the_message() {
        let mut scanner = PromiseScanner::new(PROMPT);
        scanner.push(b"<promise>COMPLETE</promise>\n\x1b[");
        scanner.restart();
        scanner.push(b"m<promise>COMPLETE");
        assert_eq!(scanner.finish(), Heard::Nothing);
    }

    /// Texts in which something lies just within or just out of reach.
    fn far_texts() -> Vec<(String, Heard)> {
        let mut texts = Vec::new();
        for extra in 0..3 {
            let within = REACH - "<promise>FAILED: ".len() - 1 - extra;
            let reason = "x".repeat(within);
            let tag = format!("y\n<promise>FAILED: {reason}</promise>\n");
            texts.push((tag, failed(&reason)));
            let reason = "x".repeat(REACH - 8 + extra);
            let tag = format!("<promise>FAILED: {reason}</promise>\n");
            texts.push((tag, Heard::Nothing));
            let blanks = " ".repeat(REACH - 1 - extra);
            let tag = format!("<promise>COMPLETE</promise>{blanks}\nBye.");
            texts.push((tag, complete()));
            let blanks = " ".repeat(REACH + extra);
            let tag = format!("<promise>COMPLETE</promise>{blanks}\nBye.");
            texts.push((tag.clone(), Heard::InSentence));
            texts.push((format!("{tag}\n{tag}"), Heard::InSentence));
            let filler = "some text\n".repeat(40_000 + extra);
            let tag = format!("{filler}<promise>COMPLETE</promise>\n{filler}");
            texts.push((tag, complete()));
            texts.push((
                format!("{filler}<promise>COMPLETE</promise>. "),
                Heard::InSentence,
            ));
        }
        texts
    }

    #[test]
    fn limits_are_distances_in_the_text() {
        for (text, heard) in far_texts() {
            for size in [977, PIECE - 1, PIECE, REACH + 1, usize::MAX] {
                assert_eq!(hear_in_pieces(text.as_bytes(), size), heard, "{size}");
            }
        }
    }

    #[test]
    fn floods_of_tags_take_little() {
        for tags in [
            "<promise>",
            "</promise>",
            "<promise></promise>",
            "<promise>FAILED",
            "<promise>COMPLETE</promise>\n",
            "</promis",
            "\x1b",
            "\x1b[",
            "\u{200b}",
            " ",
        ] {
            hear_in_pieces(tags.repeat(300_000).as_bytes(), 65_536);
        }
    }

    fn fragment() -> impl Strategy<Value = Vec<u8>> {
        let known = prop::sample::select(vec![
            "<promise>",
            "</promise>",
            "COMPLETE",
            "FAILED",
            ": no",
            "<promise>COMPLETE</promise>",
            "<pro",
            "mise>",
            "</",
            "\n",
            "\r\n",
            "\r",
            " ",
            "`",
            "- ",
            "word",
            "\u{200b}",
            "\u{a0}",
            "\u{2020}",
            "\x1b[1m",
            "\x1b]0;t\x07",
            "\x1b",
            "Print <promise>COMPLETE</promise> or <promise>FAILED: why</promise>.",
            "End with: <promise>COMPLETE</promise>",
        ]);
        prop_oneof![
            9 => known.prop_map(|text| text.as_bytes().to_vec()),
            1 => prop::collection::vec(any::<u8>(), 0..20),
        ]
    }

    /// The rules once more, for one-line tags in text without escapes, as plainly as can be.
    fn plainly(text: &str) -> Option<Promise> {
        let marks = [' ', '`', '-', '\u{200b}', '\u{a0}'];
        let own = |line: &str| match line.trim_matches(marks) {
            "<promise>COMPLETE</promise>" => Some(Promise::Complete),
            "<promise>FAILED: no</promise>" => Some(Promise::Failed("no".into())),
            _ => None,
        };
        let ending = || {
            let text = text.trim_end_matches([' ', '`', '-', '\n', '\u{200b}', '\u{a0}']);
            let complete = text.ends_with("<promise>COMPLETE</promise>");
            let failed = text.ends_with("<promise>FAILED: no</promise>");
            match (complete, failed) {
                (true, _) => Some(Promise::Complete),
                (_, true) => Some(Promise::Failed("no".into())),
                _ => None,
            }
        };
        text.lines().rev().find_map(own).or_else(ending)
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(
            fragments in prop::collection::vec(fragment(), 0..30),
            sizes in prop::collection::vec(1_usize..12, 1..8),
        ) {
            let text = fragments.concat();
            let whole = hear(&text);
            let mut scanner = PromiseScanner::new(PROMPT);
            let mut rest = text.as_slice();
            for size in sizes.iter().cycle() {
                let (piece, after) = rest.split_at((*size).min(rest.len()));
                scanner.push(piece);
                rest = after;
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(scanner.finish(), whole);
        }

        #[test]
        fn pieces_do_not_matter_far_apart(
            fragments in prop::collection::vec((fragment(), 0_usize..3), 0..12),
            filler in prop::sample::select(vec![" ", "x", "\n", "y\n"]),
            size in 1000_usize..100_000,
        ) {
            let far = filler.repeat(33_000 / filler.len());
            let text: Vec<u8> = fragments
                .iter()
                .flat_map(|(fragment, times)| [fragment.clone(), far.repeat(*times).into()].concat())
                .collect();
            prop_assert_eq!(hear_in_pieces(&text, size), hear(&text));
        }

        #[test]
        fn any_bytes_are_survived(text in prop::collection::vec(any::<u8>(), 0..2000)) {
            prop_assert_eq!(hear_in_pieces(&text, 1), hear(&text));
        }

        #[test]
        fn the_rules_hold(parts in prop::collection::vec(prop::sample::select(vec![
            "<promise>COMPLETE</promise>", "<promise>FAILED: no</promise>", "\n", "\n", " ", "`", "- ", "word", "\u{200b}", "\u{a0}",
        ]), 0..12)) {
            let text = parts.concat();
            let mut scanner = PromiseScanner::new("");
            scanner.push(text.as_bytes());
            let heard = scanner.finish();
            match plainly(&text) {
                Some(promise) => prop_assert_eq!(heard, Heard::Promise(promise)),
                None => prop_assert!(!matches!(heard, Heard::Promise(_))),
            }
        }
    }
}
