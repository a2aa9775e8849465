//! Limits the size of a page: what each part may take, and what is left of it.

use super::short;

/// Maximum lengths of a line and of a reason, in characters.
pub(super) const LINE: usize = 300;
pub(super) const REASON: usize = 6000;

/// The limits of a page's parts, and what is left of them; stricter ones apply if the page would be too large.
#[derive(Clone, Copy)]
pub(super) struct Room {
    /// Maximum number of changes, and of attempts and events of each; the last ones are kept.
    pub changes: usize,
    pub attempts: usize,
    pub events: usize,
    /// Maximum number of files of one difference.
    pub files: usize,
    /// Maximum sizes of all reasons, all texts of stories and messages, all logs and all lines of differences, in bytes of the page.
    pub reasons: usize,
    pub words: usize,
    pub logs: usize,
    pub lines: usize,
}

pub(super) const LIMITS: [Room; 3] = [
    Room {
        changes: 1000,
        attempts: 1500,
        events: 1000,
        files: 200,
        reasons: 700_000,
        words: 700_000,
        logs: 700_000,
        lines: 2_000_000,
    },
    Room {
        changes: 200,
        attempts: 1000,
        events: 300,
        files: 20,
        reasons: 300_000,
        words: 300_000,
        logs: 300_000,
        lines: 800_000,
    },
    Room {
        changes: 50,
        attempts: 60,
        events: 30,
        files: 3,
        reasons: 100_000,
        words: 0,
        logs: 50_000,
        lines: 0,
    },
];

/// Returns a text that fits on the page; `None` if there is no room for it.
pub(super) fn within(text: &str, room: &mut Room) -> Option<String> {
    let text = short(text, REASON);
    let left = room.words.checked_sub(weight(&text))?;
    room.words = left;
    Some(text)
}

/// Returns the maximum size of a text on the page, in bytes.
pub(super) fn weight(text: &str) -> usize {
    let of = |c: char| match c {
        '<' | '>' | '&' | '"' | '\'' | '/' => 6,
        c if c.is_control() => 8,
        c => c.len_utf8(),
    };
    text.chars().map(of).sum()
}
