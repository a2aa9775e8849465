//! The part of a text that fits a screen. Pure. A position is the number of rows below the screen, so that new output
//! does not move the text being read.

use std::ops::Range;

use ratatui::layout::Rect;
use textwrap::core::display_width;

use super::lines::Lines;

/// A text on a screen with this many columns and rows.
#[derive(Clone, Copy)]
pub(super) struct Window<'a> {
    pub lines: &'a Lines,
    pub columns: usize,
    pub rows: usize,
}

/// A direction in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scroll {
    PageUp,
    PageDown,
    Up,
    Down,
    Beginning,
    End,
}

impl<'a> Window<'a> {
    /// Returns the window on a text in an area of the screen.
    pub fn new(lines: &'a Lines, area: Rect) -> Self {
        Self {
            lines,
            columns: usize::from(area.width),
            rows: usize::from(area.height),
        }
    }

    /// Returns the number of rows of the last lines.
    pub fn rows_of_last(&self, lines: usize) -> usize {
        let last = self.lines.newest_first().take(lines);
        last.map(|line| height(&line, self.columns)).sum()
    }

    /// Returns the number of rows below the screen when it shows the beginning.
    pub fn most(&self) -> usize {
        self.rows_of_last(usize::MAX).saturating_sub(self.rows)
    }

    /// Returns the position after a step.
    pub fn scrolled(&self, below: usize, to: Scroll) -> usize {
        let most = self.most();
        let below = below.min(most);
        // A row of the previous page stays visible.
        let page = self.rows.saturating_sub(1).max(1);
        match to {
            Scroll::PageUp => (below + page).min(most),
            Scroll::PageDown => below.saturating_sub(page),
            Scroll::Up => (below + 1).min(most),
            Scroll::Down => below.saturating_sub(1),
            Scroll::Beginning => most,
            Scroll::End => 0,
        }
    }

    /// Returns the rows on the screen, top first; for a position before the beginning, the first ones.
    pub fn shown(&self, below: usize) -> Vec<String> {
        let rows = self.rows(below).into_iter();
        rows.map(|(row, _)| row).collect()
    }

    /// Returns the text on the screen, in its original lines.
    pub fn unbroken(&self, below: usize) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for (row, goes_on) in self.rows(below) {
            match lines.last_mut().filter(|_| goes_on) {
                Some(line) => line.push_str(&row),
                None => lines.push(row),
            }
        }
        lines
    }

    /// Returns the rows on the screen, each with whether it continues the line of the row above.
    fn rows(&self, below: usize) -> Vec<(String, bool)> {
        let (mut rows, mut skipped) = (Vec::new(), 0);
        'lines: for line in self.lines.newest_first() {
            let rows_of_line = height(&line, self.columns);
            if skipped + rows_of_line <= below {
                skipped += rows_of_line;
                continue;
            }
            for (at, row) in broken(&line, self.columns).into_iter().enumerate().rev() {
                if skipped < below {
                    skipped += 1;
                } else if rows.len() < self.rows {
                    rows.push((row, at > 0));
                } else {
                    break 'lines;
                }
            }
        }
        if rows.len() < self.rows && below > 0 {
            let most = self.most();
            if most < below {
                return self.rows(most);
            }
        }
        rows.reverse();
        rows
    }

    /// Returns the position at which the first match of `words` in this line, counted from the end, is in the middle of
    /// the screen.
    pub fn around(&self, from_end: usize, words: &str) -> usize {
        let line = self.lines.newest_first().nth(from_end).unwrap_or_default();
        let start = places(&line, words).first().map_or(0, |place| place.start);
        let rows = starts(&line, self.columns).into_iter();
        let below = self.rows_of_last(from_end) + rows.filter(|row| *row > start).count();
        below.saturating_sub(self.rows / 2).min(self.most())
    }

    /// Returns the numbers, counted from the end, of the lines at the top and at the bottom of the screen.
    pub fn ends(&self, below: usize) -> (usize, usize) {
        let below = below.min(self.most());
        let (mut rows, mut bottom, mut top) = (0, None, 0);
        for (at, line) in self.lines.newest_first().enumerate() {
            rows += height(&line, self.columns);
            if rows > below {
                bottom.get_or_insert(at);
            }
            top = at;
            if rows >= below + self.rows {
                break;
            }
        }
        (top, bottom.unwrap_or(0))
    }
}

/// Returns the number of rows that a line takes on so many columns.
fn height(line: &str, columns: usize) -> usize {
    // A character is not wider than its number of bytes.
    if line.len() <= columns {
        return 1;
    }
    starts(line, columns).len()
}

/// Breaks a line into rows of so many columns, between words if possible. Blanks at the end of a row may exceed it.
pub(super) fn broken(line: &str, columns: usize) -> Vec<String> {
    let starts = starts(line, columns);
    let ends = starts.iter().skip(1).copied().chain([line.len()]);
    let rows = starts.iter().zip(ends);
    rows.map(|(start, end)| line[*start..end].to_owned()).collect()
}

/// Returns the offsets in a line at which its rows begin.
fn starts(line: &str, columns: usize) -> Vec<usize> {
    let mut starts = vec![0];
    // The width of the row, and the start of its last word with the width before it.
    let (mut width, mut word, mut has_word) = (0, None, false);
    for (at, character) in line.char_indices() {
        let wide = display_width(character.encode_utf8(&mut [0; 4]));
        if character == ' ' {
            width += 1;
            word = has_word.then_some((at + 1, width));
            continue;
        }
        if width + wide > columns && width > 0 {
            let (start, before) = word.take().unwrap_or((at, width));
            starts.push(start);
            width -= before;
        }
        has_word = true;
        width += wide;
    }
    starts
}

/// Returns the ranges of words in a line, ignoring case.
pub(super) fn places(line: &str, words: &str) -> Vec<Range<usize>> {
    let words: Vec<char> = words.chars().flat_map(char::to_lowercase).collect();
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(rest) = line.get(from..) {
        let Some(first) = rest.chars().next() else { break };
        match length(rest, &words).filter(|length| *length > 0) {
            Some(length) => {
                found.push(from..from + length);
                from += length;
            }
            None => from += first.len_utf8(),
        }
    }
    found
}

/// Returns the length of these words at the beginning of a text, in bytes.
fn length(text: &str, words: &[char]) -> Option<usize> {
    let mut wanted = words.iter().peekable();
    for (at, character) in text.char_indices() {
        if wanted.peek().is_none() {
            return Some(at);
        }
        for lower in character.to_lowercase() {
            if wanted.next() != Some(&lower) {
                return None;
            }
        }
    }
    wanted.peek().is_none().then_some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(text: &str) -> Lines {
        let mut lines = Lines::default();
        lines.push(text.as_bytes());
        lines
    }

    #[test]
    fn search_ignores_the_case() {
        assert_eq!(places("a Form, a FORM", "form"), [2..6, 10..14]);
        assert_eq!(places("GRÖßE GRÖSSE größe", "größe"), [0..7, 16..23]);
        assert_eq!(places("aaaa", "aa"), [0..2, 2..4]);
        assert!(places("aaa", "").is_empty() && places("", "a").is_empty());
    }

    #[test]
    fn lines_are_broken_between_words() {
        let rows = |line: &str| broken(line, 10);
        assert_eq!(rows("not fit forty columns"), ["not fit ", "forty ", "columns"]);
        assert_eq!(rows("    indented  words"), ["    indent", "ed  words"]);
        assert_eq!(rows("  src/a/long/path"), ["  src/a/lo", "ng/path"]);
        assert_eq!(rows("0123456789  then"), ["0123456789  ", "then"]);
        assert_eq!(rows("                ").len(), 1);
        assert_eq!(rows("日本 日本語の長い題"), ["日本 ", "日本語の長", "い題"]);
    }

    #[test]
    fn a_line_that_is_found_is_on_the_screen() {
        let text: String = (0..100)
            .map(|at| format!("{} {at}. {0}\n", "x".repeat(at)))
            .collect();
        let lines = lines(&text);
        let window = Window {
            lines: &lines,
            columns: 10,
            rows: 7,
        };
        for at in 0..100 {
            let shown = window.unbroken(window.around(99 - at, &format!(" {at}.")));
            assert!(
                shown.iter().any(|row| row.contains(&format!(" {at}."))),
                "{at}: {shown:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn pages_show_every_row_in_order(
            text in "([ abö日]{0,30}\n){0,20}", columns in 1_usize..12, rows in 1_usize..8
        ) {
            let lines = lines(&text);
            let window = Window { lines: &lines, columns, rows };
            let all: Vec<String> = text.lines().flat_map(|line| broken(line, columns)).collect();
            let mut below = window.scrolled(0, Scroll::Beginning);
            let mut seen = window.shown(below);
            prop_assert_eq!(&seen, &window.shown(usize::MAX));
            while below > 0 {
                let next = window.scrolled(below, Scroll::PageDown);
                prop_assert_eq!(window.scrolled(next, Scroll::PageUp).max(below), window.most().min(next + rows.max(2) - 1));
                let shown = window.shown(next);
                seen.extend_from_slice(&shown[shown.len() - (below - next)..]);
                below = next;
            }
            prop_assert_eq!(seen, all);
            let unbroken = window.unbroken(usize::MAX);
            prop_assert!(text.lines().zip(&unbroken).all(|(line, shown)| line.starts_with(shown)));
            prop_assert_eq!(unbroken.concat(), window.shown(usize::MAX).concat());
        }
    }
}
