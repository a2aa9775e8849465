//! What a box looks like: `[ ]`, `[x]`, `[-]`, `[]`.
//!
//! This module knows characters only. Whether a place in a file is the start
//! of a list item, code or a comment is for the outline to say.

use std::ops::Range;

/// A box found at some offset of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BoxSyntax {
    /// The bytes between the brackets; empty for `[]`.
    pub(super) mark: Range<usize>,
    /// Whether the mark is an `x`.
    pub(super) done: bool,
    /// Whether a `*` follows, as in `- [ ]* text`.
    pub(super) optional: bool,
    /// Where the text after the box begins.
    pub(super) end: usize,
}

/// Reads the box that begins at `offset`.
///
/// The marks of everyday checklists may touch the text that follows; any other box has to stand alone,
/// otherwise `[]string` and `[i]th` would be boxes.
pub(super) fn read_box(text: &str, offset: usize) -> Option<BoxSyntax> {
    let inside = text.get(offset..)?.strip_prefix('[')?;
    let mark = inside.chars().next().filter(|&mark| mark != ']');
    if !mark.is_none_or(is_mark) {
        return None;
    }
    let mark_length = mark.map_or(0, char::len_utf8);
    let behind = inside.get(mark_length..)?.strip_prefix(']')?;
    let starred = behind.strip_prefix('*').filter(|rest| stands_alone(rest));
    if starred.is_none() && !stands_alone(behind) && !matches!(mark, Some(' ' | 'x' | 'X')) {
        return None;
    }
    Some(BoxSyntax {
        mark: offset + 1..offset + 1 + mark_length,
        done: matches!(mark, Some('x' | 'X')),
        optional: starred.is_some(),
        end: text.len() - starred.unwrap_or(behind).len(),
    })
}

/// Returns whether `line` would be an item with a box if it were markdown.
pub(super) fn looks_like_box(line: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix("<!--").unwrap_or(line).trim_start();
    let behind_digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let marked = if behind_digits.len() < line.len() {
        behind_digits.strip_prefix(['.', ')'])
    } else {
        line.strip_prefix(['-', '*', '+'])
    };
    marked.is_some_and(|rest| {
        let item = rest.trim_start();
        item.len() < rest.len() && read_box(item, 0).is_some()
    })
}

/// Returns whether `mark` is one visible character that means nothing else in brackets.
fn is_mark(mark: char) -> bool {
    mark == '\t' || !(mark.is_control() || matches!(mark, '[' | '\\' | '`'))
}

fn stands_alone(behind: &str) -> bool {
    behind.is_empty() || behind.starts_with(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(Range<usize>, bool, bool, usize)> {
        read_box(text, 0).map(|found| (found.mark, found.done, found.optional, found.end))
    }

    #[test]
    fn reads_every_mark() {
        assert_eq!(read("[ ] a"), Some((1..2, false, false, 3)));
        assert_eq!(read("[x] a"), Some((1..2, true, false, 3)));
        assert_eq!(read("[X] a"), Some((1..2, true, false, 3)));
        assert_eq!(read("[~] a"), Some((1..2, false, false, 3)));
        assert_eq!(read("[\t] a"), Some((1..2, false, false, 3)));
        assert_eq!(read("[\u{2713}] a"), Some((1..4, false, false, 5)));
        assert_eq!(read("[] a"), Some((1..1, false, false, 2)));
        assert_eq!(read("[]"), Some((1..1, false, false, 2)));
    }

    #[test]
    fn a_star_makes_it_optional_unless_it_starts_emphasis() {
        assert_eq!(read("[ ]* a"), Some((1..2, false, true, 4)));
        assert_eq!(read("[x]*"), Some((1..2, true, true, 4)));
        assert_eq!(read("[ ]*a* b"), Some((1..2, false, false, 3)));
    }

    #[test]
    fn only_plain_marks_may_touch_the_text() {
        assert!(read("[ ]a").is_some());
        assert!(read("[x]a").is_some());
        assert!(read("[]string").is_none());
        assert!(read("[i]th").is_none());
    }

    #[test]
    fn rejects_what_is_no_box() {
        for text in [
            "", "[", "[ ", "[  ] a", "[xx] a", "[\n] a", "[[] a", "[\\] a", "[`] a", "( ) a",
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
        assert_eq!(read_box("\u{e9}", 1), None, "inside a character");
        assert_eq!(read_box("", 9), None);
    }

    #[test]
    fn sees_a_box_in_a_line() {
        for line in ["- [ ] a", "\t* [x] a", "12. [] a", "+  [-] a", "<!-- - [ ] a -->"] {
            assert!(looks_like_box(line), "{line:?}");
        }
        for line in ["[ ] a", "-[ ] a", "12 [ ] a", "- a [ ]", "let a = b[x];", ""] {
            assert!(!looks_like_box(line), "{line:?}");
        }
    }
}
