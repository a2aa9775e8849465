//! Fits lines to the terminal. Without one (pipes, files, CI), breaks no line: programs need no width.

use std::env;
use std::os::fd::AsFd;

use terminal_size::terminal_size_of;
use textwrap::{Options, WordSplitter};

/// Minimum width in columns; a narrower terminal is unreadable anyway.
const NARROWEST: usize = 20;

/// Returns the columns of a terminal; like git, prefers the value of `COLUMNS`. `None` without a terminal.
pub fn columns(stream: impl AsFd) -> Option<usize> {
    let (width, _) = terminal_size_of(stream)?;
    let named = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    Some(named.unwrap_or(usize::from(width.0)).max(NARROWEST))
}

/// Returns the columns at which a terminal really wraps lines; `None` without a terminal.
pub fn real_columns(stream: impl AsFd) -> Option<usize> {
    let (width, _) = terminal_size_of(stream)?;
    Some(usize::from(width.0).max(2))
}

/// Breaks lines between words; continuation lines get the indent of the first line and two blanks. Overlong words, such
/// as paths, stay whole, so that they can be copied; so do commands to type, with an indent of four. Quoted text has a
/// larger indent, which each of its rows keeps.
pub fn wrap(text: &str, columns: Option<usize>) -> String {
    let Some(columns) = columns else {
        return text.to_owned();
    };
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let is_command = COMMANDS.iter().any(|command| line[indent..].starts_with(command));
        lines.push(match indent {
            4 if is_command => line.to_owned(),
            4.. => fill(line, indent + 2, columns, true),
            _ => hang(line, indent + 2, Some(columns)),
        });
    }
    lines.join("\n")
}

/// Breaks one line between words; continuation lines are indented by `indent` columns. A command to type stays whole:
/// broken in two, it would be two commands.
pub fn hang(line: &str, indent: usize, columns: Option<usize>) -> String {
    match columns {
        Some(columns) => fill(line, indent, columns, false),
        None => line.to_owned(),
    }
}

fn fill(line: &str, indent: usize, columns: usize, breaks_words: bool) -> String {
    if line.len() <= columns {
        return line.to_owned();
    }
    let indent = " ".repeat(indent.min(columns / 2));
    let options = Options::new(columns)
        .subsequent_indent(&indent)
        .break_words(breaks_words)
        .word_splitter(WordSplitter::NoHyphenation);
    // With a blank that is never broken, quoted text could choose where the terminal wraps the line.
    let line = line.replace(|blank: char| blank.is_whitespace() && blank != '\t', " ");
    textwrap::fill(&bound(&line), options).replace(BOUND, " ")
}

/// Replaces a blank at which a line must not be broken: an unassigned character.
const BOUND: char = '\u{f8ff}';

/// The beginnings of commands.
const COMMANDS: &[&str] = &[
    "git ralph ",
    "git -C ",
    "git -c ",
    "git config ",
    "git checkout ",
    "git branch ",
    "git worktree ",
    "git stash ",
    "git log ",
    "cd ",
    "mv ",
    "rm ",
    "chmod ",
    "export ",
];

/// Protects the blanks of each command in a line. A command ends at a bracket, at a double quote around it, or at a
/// punctuation mark outside of its quotes.
fn bound(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let (mut rest, mut word_begins) = (line, true);
    while let Some(next) = rest.chars().next() {
        let begins = word_begins && COMMANDS.iter().any(|command| rest.starts_with(command));
        let length = if begins {
            command_length(rest)
        } else {
            next.len_utf8()
        };
        let (taken, after) = rest.split_at(length);
        if begins {
            text.push_str(&taken.replace(' ', BOUND.encode_utf8(&mut [0; 4])));
        } else {
            text.push_str(taken);
        }
        word_begins = begins || matches!(next, ' ' | '"' | '(' | '`');
        rest = after;
    }
    text
}

/// Returns the length of the command at the beginning of a text.
fn command_length(text: &str) -> usize {
    let mut quote = None;
    let mut escaped = false;
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let next = characters.peek().map(|(_, next)| *next);
        match (quote, character) {
            _ if escaped => escaped = false,
            (Some('$') | None, '\\') => escaped = true,
            (Some(_), '\'') => quote = None,
            (None, '\'') => quote = Some(if text[..at].ends_with('$') { '$' } else { '\'' }),
            (None, '"' | '`' | ')') => return at,
            (None, ' ') if next == Some('(') => return at,
            (None, ',' | ';' | ':' | '.') if next.is_none_or(char::is_whitespace) => return at,
            _ => {}
        }
    }
    text.len()
}

/// Returns the beginning of a line that fits, with an ellipsis if anything was cut off.
pub fn cut(line: &str, columns: usize) -> String {
    if textwrap::core::display_width(line) <= columns {
        return line.to_owned();
    }
    let mut kept = String::new();
    let mut width = 0;
    for character in line.chars() {
        width += textwrap::core::display_width(character.encode_utf8(&mut [0; 4]));
        if width + 3 > columns {
            break;
        }
        kept.push(character);
    }
    kept + "..."
}

/// Cuts the same way, but between two words if that leaves more than half of the line.
pub fn cut_at_word(line: &str, columns: usize) -> String {
    let short = cut(line, columns);
    let kept = short.strip_suffix("...").filter(|_| short != line).unwrap_or("");
    match kept.rfind(' ') {
        Some(end) if end > kept.len() / 2 && !line[kept.len()..].starts_with(' ') => {
            kept[..end].trim_end().to_owned() + "..."
        }
        _ => short,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_and_keep_their_indent() {
        let text = "  failed after 3s: one two three four five six\n  back\n";
        assert_eq!(
            wrap(text, Some(30)),
            "  failed after 3s: one two\n    three four five six\n  back\n"
        );
        assert_eq!(wrap(text, None), text);
        let others = "     one\u{a0}two three fourfivesix\u{a0}";
        assert_eq!(
            wrap(others, Some(16)),
            "     one two\n       three\n       fourfives\n       ix"
        );
        let command = "    export PATH=~/.local/bin:$PATH";
        assert_eq!(wrap(command, Some(20)), command);
    }

    #[test]
    fn a_long_path_and_the_colours_stay_whole() {
        let path = "/a/very/long/path/that/does/not/fit";
        assert_eq!(wrap(&format!("see {path}"), Some(20)), format!("see\n  {path}"));
        let red = "\x1b[31mone two three\x1b[0m";
        assert_eq!(wrap(red, Some(20)), red);
    }

    #[test]
    fn a_command_is_never_broken() {
        let line = "hint: git ralph retry 'a, b; c' --max-retries <n>, or: git ralph skip 'a b'; then look (git log x) at it";
        for columns in 20..60 {
            let broken = wrap(line, Some(columns));
            for command in [
                "git ralph retry 'a, b; c' --max-retries <n>",
                "git ralph skip 'a b'",
                "git log x",
            ] {
                assert!(broken.contains(command), "{command:?} in\n{broken}");
            }
            assert_eq!(
                broken.split_whitespace().collect::<Vec<_>>(),
                line.split_whitespace().collect::<Vec<_>>()
            );
        }
        let used = "  (use \"git ralph diff 'it'\\''s; so' 2@1\" to see what was tried)";
        assert!(wrap(used, Some(30)).contains("diff 'it'\\''s; so' 2@1"));
        let escaped = "(use \"git ralph retry $'a\\'b c'\" to go on)";
        assert!(wrap(escaped, Some(20)).contains(r"$'a\'b c'"));
    }

    #[test]
    fn cut_text_ends_in_dots() {
        assert_eq!(cut("a line", 6), "a line");
        assert_eq!(cut("a longer line", 8), "a lon...");
        assert_eq!(cut("日本語の長い題", 9), "日本語...");
        for (columns, words) in [
            (23, "story 2: running 1m 31s"),
            (22, "story 2: running 1m..."),
            (21, "story 2: running..."),
        ] {
            assert_eq!(
                cut_at_word("story 2: running 1m 31s", columns),
                words,
                "{columns}"
            );
        }
        assert_eq!(
            cut_at_word("/a/path/with-blanks/at its/end", 26),
            "/a/path/with-blanks/at..."
        );
        assert_eq!(cut_at_word("a aaaaaaaaaaaaaaaaaa", 10), "a aaaaa...");
    }
}
