//! Limits the size of a report: the limit of each part, the remaining space, and the omitted parts.

use std::collections::BTreeMap;

use super::short;

/// Maximum lengths of a title, of a line and of a text of several lines, in characters.
pub(super) const TITLE: usize = 160;
pub(super) const LINE: usize = 300;
const TEXT: usize = 6000;

/// The limits of a report's parts, and the remaining space; stricter ones apply if the report would be too large.
#[derive(Clone)]
pub(super) struct Room {
    /// Maximum number of changes; of the attempts of each, and of its stories without one; and of its events. The last
    /// changes, attempts and events are kept.
    pub changes: usize,
    pub attempts: usize,
    pub events: usize,
    /// Maximum number of files of one diff, of the table by file, of agents and of settings.
    pub files: usize,
    /// Maximum sizes of all texts, such as reasons and messages, of all logs and of all diff lines, in bytes of the
    /// page.
    pub texts: usize,
    pub logs: usize,
    pub lines: usize,
    /// The numbers of omitted parts, by their names.
    pub left_out: BTreeMap<&'static str, usize>,
}

/// The limits of a page.
pub(super) const LIMITS: [Room; 3] = [
    Room {
        changes: 1000,
        attempts: 1500,
        events: 1000,
        files: 200,
        texts: 1_400_000,
        logs: 700_000,
        lines: 2_000_000,
        left_out: BTreeMap::new(),
    },
    Room {
        changes: 200,
        attempts: 1000,
        events: 300,
        files: 20,
        texts: 600_000,
        logs: 300_000,
        lines: 800_000,
        left_out: BTreeMap::new(),
    },
    Room {
        changes: 50,
        attempts: 60,
        events: 30,
        files: 3,
        texts: 100_000,
        logs: 50_000,
        lines: 0,
        left_out: BTreeMap::new(),
    },
];

impl Room {
    /// Returns by how many `all` exceeds `most`, and notes them as omitted.
    pub fn beyond(&mut self, all: usize, most: usize, what: &'static str) -> usize {
        let skipped = all.saturating_sub(most);
        if skipped > 0 {
            *self.left_out.entry(what).or_default() += skipped;
        }
        skipped
    }

    /// Returns a text, cut to its limit; `None` if no space remains.
    pub fn text(&mut self, text: &str) -> Option<String> {
        let text = short(text, TEXT);
        let left = self.texts.checked_sub(weight(&text));
        self.beyond(
            usize::from(left.is_none()),
            0,
            "reasons, messages and other texts",
        );
        self.texts = left?;
        Some(text)
    }
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
