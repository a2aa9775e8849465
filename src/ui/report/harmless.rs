//! Writes text of others in Markdown so that it never becomes markup, a link, a mention or a reference.

use std::fmt::Write;

use super::short;
use crate::ui::shown::plain;

/// Returns a fenced code block of a language with a text in which nothing is markup, as whole lines.
pub(super) fn fenced(kind: &str, text: &str) -> String {
    let text = plain(text);
    let runs = text.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0).max(2) + 1);
    format!("{fence}{kind}\n{}\n{fence}\n", text.trim_end())
}

/// Returns text of others for use within a line: unchanged if it cannot contain markup, a link or a mention, else as
/// code with all punctuation escaped. Texts of more than `most` characters are cut.
pub(super) fn inline(text: &str, most: usize) -> String {
    let text = short(&text.replace(['\n', '\r', '\t'], " "), most);
    let is_plain = |c: char| c.is_alphanumeric() || " ,;:()/'%=?".contains(c);
    let is_dot = |at: usize| {
        // A dot within a word may make it an address.
        let after = text[at + 1..].chars().next();
        after.is_none_or(|c| c == ' ' || c.is_ascii_digit())
    };
    let mut chars = text.char_indices();
    let is_safe =
        chars.all(|(at, c)| is_plain(c) || c == '…' || c == '.' && is_dot(at) || c == '-' && at > 0);
    if is_safe && !text.contains("://") && !text.starts_with(' ') {
        return text;
    }
    let mut code = "<code>".to_owned();
    for c in text.chars() {
        if c.is_ascii_punctuation() {
            let _ = write!(code, "&#{};", u32::from(c));
        } else {
            code.push(c);
        }
    }
    code.push_str("</code>");
    code
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_words_stay_and_others_are_code() {
        for text in [
            "2. Check the password",
            "3 tests failed in 2.5 s",
            "a well-known thing",
            "",
            "Prüfen",
        ] {
            assert_eq!(inline(text, 100), text);
        }
        for (text, code) in [
            ("@all", "<code>&#64;all</code>"),
            ("fix #1", "<code>fix &#35;1</code>"),
            ("a.example", "<code>a&#46;example</code>"),
            ("<b>|`", "<code>&#60;b&#62;&#124;&#96;</code>"),
            ("- x", "<code>&#45; x</code>"),
            ("\u{202e}x", "<code>&#60;U&#43;202E&#62;x</code>"),
        ] {
            assert_eq!(inline(text, 100), code);
        }
    }

    proptest! {
        #[test]
        fn foreign_text_becomes_no_markup(text in r"(?s)(\PC|[`<>@#|*_\[\]()!~.:/\n\\-]|https://x\.y){0,40}") {
            use pulldown_cmark::{Event, Options, Parser, Tag};

            let all = format!("- {}\n\n{}", inline(&text, 1000), fenced("diff", &text));
            let mut blocks = 0;
            for event in Parser::new_ext(&all, Options::all()) {
                match event {
                    Event::Start(Tag::CodeBlock(_)) => blocks += 1,
                    Event::Start(Tag::List(_) | Tag::Item | Tag::Paragraph) | Event::End(_) | Event::Text(_) => {}
                    Event::InlineHtml(tag) => prop_assert!(matches!(&*tag, "<code>" | "</code>")),
                    other => prop_assert!(false, "{other:?} in {all:?}"),
                }
            }
            prop_assert_eq!(blocks, 1);
        }
    }
}
