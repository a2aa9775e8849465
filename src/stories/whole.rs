//! A text that is one story: it has no boxes, and no marks.
//!
//! This module does not know where a text is stored.

use super::contains::{Part, View};
use super::{Story, ids};

/// Maximum length of a title that is made from a sentence, in characters.
const LONGEST: usize = 72;

/// The characters that usually draw a box, or begin an item, a table or a link.
const SIGNS: &[char] = &[
    '-', '+', '|', '[', '•', '◦', '▪', '☐', '☑', '☒', '□', '■', '▢', '◻', '◽', '⬜', '✅', '✔', '✓', '✗',
    '❌', '❏', '❑',
];

/// Returns whether bytes are certainly a text for one story: at most one heading, no line that looks like a list item,
/// and not only a heading.
pub(super) fn is_prose(bytes: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(bytes) else {
        return false;
    };
    let lines = || lines(text).filter(|line| !line.is_empty());
    let is_heading = |line: &&str| title_of_heading(line).is_some() || is_underline(line);
    let headings = lines().filter(is_heading).count();
    let is_entry = |line: &str| {
        let begins = line.get(..4).unwrap_or_default();
        line.starts_with(SIGNS)
            || line.starts_with(|first: char| first.is_numeric())
            || begins.eq_ignore_ascii_case("todo")
            || line
                .strip_prefix('*')
                .is_some_and(|rest| rest.starts_with(char::is_whitespace))
            || line.contains(" | ")
    };
    headings <= 1 && lines().count() > headings && !lines().any(is_entry)
}

/// Returns the story: its title is the first heading, else the first sentence.
pub(super) fn story(bytes: &[u8]) -> Story {
    let text = String::from_utf8_lossy(bytes);
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    let first = rest.lines().next().unwrap_or_default();
    if title_of_heading(first).is_some() {
        rest = rest.get(first.len()..).unwrap_or_default();
    }
    let title = lines(&text)
        .find_map(title_of_heading)
        .filter(|title| !title.is_empty());
    let title = title.map_or_else(|| first_sentence(&text), ToOwned::to_owned);
    Story {
        id: ids::alone(&title),
        title,
        body: rest.trim().to_owned() + "\n",
        line: 1,
        ..Story::default()
    }
}

/// Returns the view of the text, which an attempt may not change at all.
pub(super) fn view(bytes: &[u8]) -> View {
    View {
        above: String::from_utf8_lossy(bytes).into_owned(),
        stories: vec![Part {
            id: story(bytes).id,
            ..Part::default()
        }],
        can_be_ticked: true,
    }
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.trim_start_matches('\u{feff}').lines().map(str::trim)
}

fn title_of_heading(line: &str) -> Option<&str> {
    let title = line.trim_start_matches('#');
    let is_heading = title.len() < line.len() && (title.is_empty() || title.starts_with(char::is_whitespace));
    is_heading.then(|| title.trim())
}

/// Returns whether a line turns the one above it into a heading.
fn is_underline(line: &str) -> bool {
    !line.is_empty() && line.bytes().all(|byte| byte == b'=')
}

fn first_sentence(text: &str) -> String {
    let paragraph = lines(text).skip_while(|line| line.is_empty());
    let paragraph = paragraph.take_while(|line| !line.is_empty() && !is_underline(line));
    let mut title = String::new();
    for word in paragraph.flat_map(str::split_whitespace) {
        if title.chars().count() + word.chars().count() >= LONGEST {
            title.push('…');
            break;
        }
        if !title.is_empty() {
            title.push(' ');
        }
        title.push_str(word);
        if title.ends_with(['.', '!', '?', '。']) {
            break;
        }
    }
    title.trim_end_matches(['.', '。']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_one_heading_at_most_and_no_entries_is_prose() {
        for text in [
            "Add a dark mode. It follows the system.\n\nKeep the colours in one file.\n",
            "# Dark mode\n\nThe pages follow the system's setting.\n\n    let x = 1;\n",
            "\u{feff}Dark mode\n=========\n\n**Only** the pages.\n",
            "> Add a dark mode.",
            "Füge einen dunklen Modus hinzu",
        ] {
            assert!(is_prose(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            " \n\n",
            "# A\n",
            "# A\n\n# B\n",
            "A\n=\n\n# B\n",
            "Do:\n- one\n",
            "Do:\n* one\n",
            "Do:\n• one\n",
            "Do:\n  1. one\n",
            "Do:\n2) one\n",
            "TODO one\n",
            "todo: one\n",
            "☐ one\n",
            "✅ one\n",
            "[ ] one\n",
            "| a | b |\n",
            "a | b\n",
            "---\nid: 1\n---\nText\n",
        ] {
            assert!(!is_prose(text.as_bytes()), "{text}");
        }
        assert!(!is_prose(b"Caf\xe9"));
    }

    #[test]
    fn title_is_the_first_heading_or_sentence() {
        for (text, id, title, body) in [
            ("# Dark mode\n\nPages.\n", "dark-mode", "Dark mode", "Pages.\n"),
            (
                "Add a dark\nmode. It is nice.\n",
                "add-a-dark-mode",
                "Add a dark mode",
                "Add a dark\nmode. It is nice.\n",
            ),
            ("Why.\n\n## 2. Then\n", "2", "2. Then", "Why.\n\n## 2. Then\n"),
            ("Title\n====\nText\n", "title", "Title", "Title\n====\nText\n"),
        ] {
            let story = story(text.as_bytes());
            let found = (story.id.as_str(), story.title.as_str(), story.body.as_str());
            assert_eq!(found, (id, title, body));
        }
        let long = story("word ".repeat(40).as_bytes());
        assert_eq!(long.title.chars().count(), 70, "{}", long.title);
        assert!(long.title.ends_with("word…"), "{}", long.title);
        assert_eq!(story(b"\xff").title, "\u{fffd}");
    }
}
