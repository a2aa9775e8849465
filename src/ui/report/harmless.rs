//! Writes quoted text in Markdown so that it never becomes markup, a link, a mention or a reference.

use crate::ui::shown::plain;

/// Returns a fenced code block with a text, as complete lines, in which nothing is markup.
pub(super) fn fenced(kind: &str, text: &str) -> String {
    let text = plain(text);
    let runs = text.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0).max(2) + 1);
    format!("{fence}{kind}\n{}\n{fence}\n", text.trim_end())
}

/// Returns quoted text for use within a line, after git-ralph's own text: unchanged if it cannot contain markup, a
/// link, a mention or a reference, else as a code span. Line ends and tabs become blanks.
pub(super) fn inline(text: &str) -> String {
    let text = plain(text).replace(['\n', '\r', '\t'], " ");
    let is_safe = |(at, c): (usize, char)| {
        let before = text[..at].chars().next_back();
        let after = text[at + c.len_utf8()..].chars().next();
        let is = |beside: Option<char>, kind: fn(char) -> bool| beside.is_some_and(kind);
        let ends = after.is_none_or(|c| c == ' ');
        let is_in_number = is(before, char::is_numeric) && is(after, char::is_numeric);
        // Within words these may make an address, an emoji, a list or a reference.
        match c {
            '.' | ':' => ends || is_in_number,
            '%' => ends,
            '-' => is(before, |c| !c.is_alphabetic()) || before.is_some() && is(after, char::is_alphabetic),
            '+' => before.is_some(),
            _ => c.is_alphanumeric() || " ,;()/'=?·…".contains(c),
        }
    };
    let mut words = text.split(|c: char| !c.is_ascii_hexdigit());
    let has_id = words.any(|word| word.len() >= 7);
    if !has_id && !text.starts_with(' ') && text.char_indices().all(is_safe) {
        return text;
    }
    code_span(&text)
}

/// Returns quoted text for a list item, after git-ralph's own text. Each further line is a code span below it.
pub(super) fn in_lines(text: &str) -> String {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = inline(lines.next().unwrap_or_default());
    lines.fold(first, |shown, line| {
        let line = plain(line.trim_end()).replace(['\r', '\t'], " ");
        format!("{shown}\\\n  {}", code_span(&line))
    })
}

fn code_span(text: &str) -> String {
    let runs = text.split(|c| c != '`').map(str::len);
    let ticks = "`".repeat(runs.max().unwrap_or(0) + 1);
    // Renderers remove one blank at each end.
    let has_edge = text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']);
    let apart = if has_edge && !text.trim_matches(' ').is_empty() {
        " "
    } else {
        ""
    };
    format!("{ticks}{apart}{text}{apart}{ticks}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use pulldown_cmark::{Event, Options, Parser, Tag};

    #[test]
    fn plain_words_stay_and_others_are_code() {
        for text in [
            "2. Check the password",
            "3 tests failed in 2.5 s",
            "a well-known thing",
            "2026-11-22 10:00:00 UTC · 1 file +1 -0",
            "",
            "Prüfen",
        ] {
            assert_eq!(inline(text), text);
        }
        for (text, code) in [
            ("@all", "`@all`"),
            ("fix #1", "`fix #1`"),
            ("GH-1", "`GH-1`"),
            (":100:", "`:100:`"),
            ("%7", "`%7`"),
            ("see 5626abf", "`see 5626abf`"),
            ("src/form.py", "`src/form.py`"),
            ("<b>|`", "`` <b>|` ``"),
            ("a ``b`` c", "```a ``b`` c```"),
            ("- x", "`- x`"),
            (" x ", "`  x  `"),
            ("\u{202e}x", "`<U+202E>x`"),
        ] {
            assert_eq!(inline(text), code);
        }
    }

    #[test]
    fn lines_of_an_item_stay_lines() {
        assert_eq!(in_lines("one"), "one");
        assert_eq!(
            in_lines("one:\n\n  1. two\n===\n```\n"),
            "one:\\\n  `   1. two `\\\n  `===`\\\n  ```` ``` ````"
        );
    }

    proptest! {
        #[test]
        fn foreign_lines_become_no_markup(text in r"(?s)(\PC|[`<>@#|*_\[\]()!~.:/\n\\-]|https://x\.y|\n1. ){0,40}") {
            let all = format!("- of {}\n- and", in_lines(&text));
            let (mut items, mut said) = (0, String::new());
            for event in Parser::new_ext(&all, Options::all() - Options::ENABLE_SMART_PUNCTUATION) {
                match event {
                    Event::Start(Tag::Item) => items += 1,
                    Event::HardBreak => said.push('\n'),
                    Event::Text(words) | Event::Code(words) => said.push_str(&words),
                    Event::Start(Tag::List(_) | Tag::Paragraph) | Event::End(_) => {}
                    other => prop_assert!(false, "{other:?} in {all:?}"),
                }
            }
            prop_assert_eq!(items, 2);
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            prop_assert_eq!(said.lines().count(), lines.count().max(1));
        }

        #[test]
        fn foreign_text_becomes_no_markup(text in r"(?s)(\PC|[`<>@#|*_\[\]()!~.:/\n\\-]|https://x\.y){0,40}") {
            let all = format!("- of {} and {}\n\n{}", inline(&text), inline(&text), fenced("diff", &text));
            let (mut blocks, mut said) = (0, String::new());
            for event in Parser::new_ext(&all, Options::all() - Options::ENABLE_SMART_PUNCTUATION) {
                match event {
                    Event::Start(Tag::CodeBlock(_)) => blocks += 1,
                    Event::Text(words) | Event::Code(words) if blocks == 0 => said.push_str(&words),
                    Event::Start(Tag::List(_) | Tag::Item | Tag::Paragraph) | Event::End(_) | Event::Text(_) => {}
                    other => prop_assert!(false, "{other:?} in {all:?}"),
                }
            }
            prop_assert_eq!(blocks, 1);
            let shown = plain(&text).replace(['\n', '\r', '\t'], " ");
            let wanted = format!("of {shown} and {shown}");
            prop_assert_eq!(said.trim_end(), wanted.trim_end());
        }
    }
}
