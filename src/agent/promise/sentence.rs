//! Decides whether the words around a promise of completion deny it.
//!
//! A finished sentence before a tag does not deny it, whatever its content. An unfinished sentence leads to the tag,
//! and the words after the tag belong to the message as well. This module does not depend on whether a tag counts.

#[cfg(test)]
mod tests;

use memchr::memmem;

/// Maximum number of bytes that are read before a tag and after it.
pub(super) const AROUND: usize = 1024;

/// The end of the tag that explains an unchanged work tree: it ends a sentence, as a period does.
const UNCHANGED: &str = "</unchanged>";

/// The line before the summary that some agents require after the promise.
pub(in crate::agent) const SUMMARY: &str = "task_complete:";

/// Words that deny a tag: in an unfinished sentence before it, or in the message after it.
const DENIALS: &str = "not, cannot, cant, dont, wont, never, neither, nor, unable, impossible, refuse, refusing, \
                       incomplete, unfinished, instead";

/// Words for a condition. They deny a tag in an unfinished sentence before it.
const CONDITIONS: &str = "if, unless, until, once, when, whenever, before, rather, would, should, could, might, \
                          without, otherwise";

/// Words that revoke the preceding text: anywhere after the tag, as the first word after it, and as the first word if
/// that does not begin a sentence.
const LATER: &str = "but, however, although, except, unless, unfortunately, fail, fails, failing, broken";
const FIRST: &str = "because, since, until, unless, but, yet, though, although, however, except, unfortunately, \
                     only, no";
const GOING_ON: &str = "is, was, would, will, can, could, should, if, when, once, as, or";

/// Words with which an agent without a promise says that it could not do its work.
const BLOCKED: &str = "blocked, stuck, unable, cannot, cant, couldnt, impossible, incomplete, unfinished, \
                       unfortunately, refuse, refusing";

/// The characters that end a sentence which is no question: Latin, Chinese, Hindi, Urdu, Armenian and Ethiopic.
pub(super) const ENDS: &[char] = &['.', '!', '。', '！', '।', '۔', '։', '።'];

/// Words that begin a clause about something else than the story, this many words at most before its denial.
const CLAUSES: [(&str, usize); 2] = [("that", 2), ("which, what, who, if, when, while, unless", 4)];

/// The word for stories of which the promise is not one.
const OTHERS: &str = "stories";

/// Words for a completed story; after a denial they mean the opposite, even in a finished sentence.
const DONE: &str = "done, complete, completed, finish, finished, ready, satisfied, met";

/// Words that announce a text. A list item leads to a tag only if it ends with one of them, or with a colon.
const SAYING: &str = "say, saying, print, printing, output, outputting, write, writing, emit, emitting, claim, \
                      claiming, promise, promising, declare, state, answer, report, send, give, return";

/// Returns the phrases of a list, separated by commas and line breaks.
pub(in crate::agent) fn phrases(list: &'static str) -> impl Iterator<Item = &'static str> {
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    lines
        .flat_map(|line| line.split(", ").map(str::trim))
        .filter(|phrase| !phrase.is_empty())
}

/// Returns whether a word is in a list.
pub(super) fn is_one_of(list: &'static str, word: &str) -> bool {
    phrases(list).any(|phrase| phrase == word)
}

/// Returns true if the words before a tag deny it.
pub(super) fn denies_before(text: &[u8]) -> bool {
    let text = lower(&text[text.len().saturating_sub(AROUND)..]);
    let Some(sentence) = Sentence::last_of(&text) else {
        return false;
    };
    let words: Vec<&str> = words(sentence.text).collect();
    if says_undone(&words) {
        return true;
    }
    if sentence.is_finished() {
        return false;
    }
    let leads = sentence.announces() || words.last().is_some_and(|last| is_one_of(SAYING, last));
    let denied = words.iter().any(|word| is_denial(word));
    let conditional = words.iter().any(|word| is_one_of(CONDITIONS, word));
    (leads || !sentence.is_item) && denied || leads && conditional
}

/// Returns true if the text before a tag, on the same line, is a finished sentence.
pub(super) fn is_finished(text: &[u8]) -> bool {
    let text = lower(&text[text.len().saturating_sub(AROUND)..]);
    let sentence = Sentence::last_of(&text);
    sentence.is_some_and(|sentence| sentence.is_finished() || sentence.announces())
}

/// Returns true if the words after a tag deny it. Of an `output`, which may end with text of other programs, only the
/// beginning is the agent's, and of a summary only the beginning is about the promise.
pub(super) fn denies_after(text: &[u8], output: bool) -> bool {
    let text = &text[..text.len().min(AROUND)];
    if let Some(at) = memmem::find(text, SUMMARY.as_bytes()) {
        let summary = &text[at + SUMMARY.len()..];
        return denies_after(&text[..at], output) || denies_after(summary, true);
    }
    let begin = text.iter().find(|byte| byte.is_ascii_alphabetic());
    let goes_on = begin.is_some_and(u8::is_ascii_lowercase);
    let text = lower(text);
    let mut words = words(&text);
    let Some(first) = words.next() else {
        return false;
    };
    let is_later = |word: &str| is_denial(word) || is_one_of(LATER, word);
    is_one_of(FIRST, first)
        || is_denial(first)
        || goes_on && is_one_of(GOING_ON, first)
        || !output && (is_later(first) || words.any(is_later))
}

/// Returns true if the end of a message without a promise may say that the story is not done: it has a word for that,
/// or ends with a question.
pub fn may_be_blocked(message: &str) -> bool {
    let bytes = message.as_bytes();
    let text = lower(&bytes[bytes.len().saturating_sub(AROUND)..]);
    let words: Vec<&str> = words(&text).collect();
    let denies = |word: &&str| is_one_of(BLOCKED, word) || matches!(*word, "can't" | "couldn't" | "won't");
    let pairs = words.iter().zip(words.iter().skip(1));
    let mut pairs = pairs.map(|(first, second)| (*first, *second));
    let could_not = pairs.any(|pair| matches!(pair, ("could" | "can" | "will" | "did", "not")));
    let asks = text.trim_end_matches(is_decoration).ends_with(['?', '？']);
    asks || could_not || words.iter().any(denies) || says_undone(&words)
}

/// The last sentence of a text, in lower case.
pub(super) struct Sentence<'a> {
    pub(super) text: &'a str,
    /// True if it is an item of a list, or a row of a table.
    is_item: bool,
}

impl<'a> Sentence<'a> {
    /// Returns the last sentence of a text; a blank line or a code fence ends a sentence.
    pub(super) fn last_of(text: &'a str) -> Option<Self> {
        let mut lines = text
            .split(['\n', '\r'])
            .rev()
            .skip_while(|line| is_bare(line))
            .take_while(|line| !is_bare(line));
        let last = lines.next()?;
        let (mut first, mut is_item) = (last, is_item(last));
        while !is_item {
            let Some(line) = lines.next() else { break };
            (first, is_item) = (line, self::is_item(line));
        }
        // Both are parts of `text`.
        let start = first.as_ptr().addr() - text.as_ptr().addr();
        let end = last.as_ptr().addr() - text.as_ptr().addr() + last.len();
        let whole = text[start..end].trim_end();
        let paragraph = match whole.strip_suffix(UNCHANGED) {
            Some(_) => whole,
            None => whole.trim_end_matches(is_decoration),
        };
        let after_tag = paragraph.rfind(UNCHANGED).map(|at| at + UNCHANGED.len());
        let begin = paragraph
            .match_indices(|char| ENDS.contains(&char) || char == '?')
            .map(|(at, sign)| at + sign.len())
            .rfind(|at| paragraph[*at..].starts_with(char::is_whitespace) && !is_numbered(&paragraph[..*at]))
            .max(after_tag.filter(|at| *at < paragraph.len()));
        Some(Self {
            text: begin.map_or(paragraph, |begin| &paragraph[begin..]),
            is_item: is_item && begin.is_none(),
        })
    }

    fn is_finished(&self) -> bool {
        let dots = self.text.ends_with("..") || self.text.ends_with('…');
        !dots && self.text.ends_with(ENDS) || self.text.ends_with(UNCHANGED)
    }

    fn announces(&self) -> bool {
        self.text.ends_with([':', ',', ';', '：', '…']) || self.text.ends_with("..")
    }
}

/// Returns true if the words say that the story is not done: a denial, at most one word, and a word for it. In a clause
/// about something else ("jobs that were not finished"), and about other stories, they do not.
fn says_undone(words: &[&str]) -> bool {
    words.iter().enumerate().any(|(at, word)| {
        let mut near = words.iter().skip(at + 1).take(2);
        let before = &words[..at];
        let is_clause = CLAUSES
            .iter()
            .any(|(list, far)| before.iter().rev().take(*far).any(|word| is_one_of(list, word)));
        is_denial(word) && near.any(|next| is_one_of(DONE, next)) && !is_clause && !before.contains(&OTHERS)
    })
}

fn is_denial(word: &str) -> bool {
    is_one_of(DENIALS, word) || word.ends_with("n't")
}

/// Returns the text in lower case, with one kind of apostrophe.
pub(super) fn lower(text: &[u8]) -> String {
    String::from_utf8_lossy(text)
        .to_lowercase()
        .replace('\u{2019}', "'")
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|char: char| !char.is_alphanumeric() && char != '\'')
        .map(|word| word.trim_matches('\''))
        .filter(|word| !word.is_empty())
}

/// Returns true for characters that may surround a sentence or a tag.
pub(super) fn is_decoration(char: char) -> bool {
    char.is_whitespace() || "`*_~>#-|+\"'“”‘’()[]│┃•●".contains(char)
}

/// Returns true for a blank line, a code fence, and a line with only decoration.
pub(super) fn is_bare(line: &str) -> bool {
    let line = line.trim_start_matches([' ', '\t', '>', '│', '┃']);
    line.starts_with("```") || line.starts_with("~~~") || line.chars().all(is_decoration)
}

/// Returns true for an item of a list, and for a row of a table.
pub(super) fn is_item(line: &str) -> bool {
    let line = line.trim_start_matches([' ', '\t', '>', '│', '┃']);
    let numbered = line
        .split_once([' ', '\t'])
        .is_some_and(|(number, _)| is_numbered(number));
    numbered
        || ["- ", "* ", "+ ", "• "]
            .iter()
            .any(|bullet| line.starts_with(bullet))
        || line.matches('|').count() > 2
}

/// Returns true for the number of an item, such as `2.`
fn is_numbered(text: &str) -> bool {
    let text = text.trim_start();
    text.strip_suffix(['.', ')'])
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}
