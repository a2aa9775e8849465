//! The syntax of a box: `[ ]`, `[x]`, `[-]`, `[]`, and with padding `[ x]`.
//!
//! This module knows only characters. The outline knows whether an offset in a file is the start of a list item, code
//! or a comment.

use std::ops::Range;

/// A box at some offset of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BoxSyntax {
    /// The bytes that a tick replaces: the mark, or the first blank; empty for `[]`.
    pub(super) mark: Range<usize>,
    /// True if the mark is an `x`.
    pub(super) done: bool,
    /// True if a `*` follows, as in `- [ ]* text` or `- [ ] 2.3* text`.
    pub(super) optional: bool,
    /// The offset at which the text after the box begins.
    pub(super) end: usize,
}

/// Reads the box that begins at `offset`.
///
/// The marks of usual checklists may touch the following text; any other box must stand alone, otherwise `[]string`
/// would be a box. Letters and digits are labels, as in `[P]` and `[1]`.
pub(super) fn read_box(text: &str, offset: usize) -> Option<BoxSyntax> {
    let found = brackets(text, offset)?;
    let mark = text.get(found.mark.clone())?.chars().next();
    if !mark.is_none_or(is_mark) {
        return None;
    }
    let starred = found.behind.strip_prefix('*').filter(|rest| stands_alone(rest));
    if starred.is_none() && !stands_alone(found.behind) && !matches!(mark, Some(' ' | 'x' | 'X')) {
        return None;
    }
    Some(BoxSyntax {
        mark: found.mark,
        done: matches!(mark, Some('x' | 'X')),
        optional: starred.is_some() || begins_with_starred_number(found.behind),
        end: text.len() - starred.unwrap_or(found.behind).len(),
    })
}

/// Returns whether `text` begins with one letter or digit in separate brackets: a label, or an invalid mark.
pub(super) fn looks_marked(text: &str) -> bool {
    brackets(text, 0).is_some_and(|found| {
        let mark = text.get(found.mark).unwrap_or_default();
        mark.starts_with(|c: char| c.is_ascii_alphanumeric() && !matches!(c, 'x' | 'X'))
            && stands_alone(found.behind)
    })
}

/// Returns whether `line` begins with an item's marker without a space before the box, so that it is no item.
pub(super) fn touches_marker(line: &str) -> bool {
    behind_marker(line).is_some_and(|item| read_box(item, 0).is_some())
}

/// At most one character in brackets.
struct Brackets<'a> {
    mark: Range<usize>,
    behind: &'a str,
}

/// Reads brackets around at most one character and its padding.
fn brackets(text: &str, offset: usize) -> Option<Brackets<'_>> {
    let inside = text.get(offset..)?.strip_prefix('[')?;
    let start = offset + 1;
    let padded = inside.trim_start_matches(BLANK);
    let at = start + inside.len() - padded.len();
    let (mark, behind) = match padded.strip_prefix(']') {
        // The first of the blanks, if there is one.
        Some(behind) => (start..at.min(start + 1), behind),
        None => {
            let mark = padded.chars().next()?;
            let behind = padded.get(mark.len_utf8()..)?.trim_start_matches(BLANK);
            (at..at + mark.len_utf8(), behind.strip_prefix(']')?)
        }
    };
    Some(Brackets { mark, behind })
}

/// Returns whether the text after a box begins with a multi-part number followed by a star.
fn begins_with_starred_number(behind: &str) -> bool {
    let text = behind.trim_start_matches(BLANK);
    let number = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let parts = text.get(..text.len() - number.len()).unwrap_or_default();
    let is_number = parts.contains('.') && parts.split('.').all(|part| !part.is_empty());
    is_number && number.strip_prefix('*').is_some_and(stands_alone)
}

/// The characters that pad a mark.
pub(super) const BLANK: [char; 2] = [' ', '\t'];

/// Returns whether `line` would be an item with a box if it were markdown.
pub(super) fn looks_like_box(line: &str) -> bool {
    box_in(line).is_some()
}

/// Returns whether `line` would be an item with an open box if it were markdown.
pub(super) fn looks_open(line: &str) -> bool {
    box_in(line).is_some_and(|found| !found.done)
}

fn box_in(line: &str) -> Option<BoxSyntax> {
    let line = line.trim_start();
    let line = line.strip_prefix("<!--").unwrap_or(line).trim_start();
    let rest = behind_marker(line)?;
    let item = rest.trim_start();
    read_box(item, 0).filter(|_| item.len() < rest.len())
}

/// Returns the text after the item marker at the beginning of `line`.
pub(super) fn behind_marker(line: &str) -> Option<&str> {
    let behind_digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    if behind_digits.len() < line.len() {
        behind_digits.strip_prefix(['.', ')'])
    } else {
        line.strip_prefix(['-', '*', '+'])
    }
}

/// Returns whether `mark` is one visible character without another meaning in brackets.
fn is_mark(mark: char) -> bool {
    let is_label = mark.is_ascii_alphanumeric() && !matches!(mark, 'x' | 'X');
    mark == '\t' || !(mark.is_control() || is_label || matches!(mark, '[' | '\\' | '`'))
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
    fn star_makes_a_box_optional_unless_it_starts_emphasis() {
        assert_eq!(read("[ ]* a"), Some((1..2, false, true, 4)));
        assert_eq!(read("[x]*"), Some((1..2, true, true, 4)));
        assert_eq!(read("[ ]*a* b"), Some((1..2, false, false, 3)));
    }

    #[test]
    fn star_behind_the_number_makes_a_box_optional() {
        for text in ["[ ] 2.3* a", "[x]  1.2.10* a", "[ ] 2.3*"] {
            assert_eq!(read(text).map(|found| found.2), Some(true), "{text}");
        }
        for text in [
            "[ ] 2.3 * a",
            "[ ] 4* a",
            "[ ] 2.3*a* b",
            "[ ] a2.3* b",
            "[ ] 2..3* b",
        ] {
            assert_eq!(read(text).map(|found| found.2), Some(false), "{text}");
        }
    }

    #[test]
    fn padding_belongs_to_the_box() {
        assert_eq!(read("[ x] a"), Some((2..3, true, false, 4)));
        assert_eq!(read("[x ] a"), Some((1..2, true, false, 4)));
        assert_eq!(read("[  ] a"), Some((1..2, false, false, 4)));
        assert_eq!(read("[\t ~ ]* a"), Some((3..4, false, true, 7)));
        for text in ["[ x y] a", "[x x] a", "[ a ] a", "[ \n] a"] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_letter_or_a_digit_is_no_mark_but_looks_like_one() {
        for text in ["[P] a", "[1] a", "[i]", "[ P] a"] {
            assert_eq!(read(text), None, "{text:?}");
            assert!(looks_marked(text), "{text:?}");
        }
        for text in ["[Px] a", "[P](u)", "[P]: u", "[i]th", "[ ] a", "[] a", "a [P]"] {
            assert!(!looks_marked(text), "{text:?}");
        }
    }

    #[test]
    fn a_box_that_touches_its_marker_is_none() {
        for line in ["-[ ] a", "*[x] b", "+[ x] c", "12.[ ] d", "3)[x] e"] {
            assert!(touches_marker(line), "{line:?}");
        }
        for line in ["- [ ] a", "-[a](u)", "-a [ ]", "12[ ] d", "[ ] a", "-"] {
            assert!(!touches_marker(line), "{line:?}");
        }
    }

    #[test]
    fn only_plain_marks_may_touch_the_text() {
        assert!(read("[ ]a").is_some());
        assert!(read("[x]a").is_some());
        assert!(read("[]string").is_none());
        assert!(read("[i]th").is_none());
    }

    #[test]
    fn parser_rejects_text_that_is_no_box() {
        for text in [
            "", "[", "[ ", "[xx] a", "[\n] a", "[[] a", "[\\] a", "[`] a", "( ) a",
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
        for line in [
            "[ ] a",
            "-[ ] a",
            "- [P] a",
            "12 [ ] a",
            "- a [ ]",
            "let a = b[x];",
            "",
        ] {
            assert!(!looks_like_box(line), "{line:?}");
        }
    }
}
