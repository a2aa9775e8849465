//! Fits lines to the terminal. Elsewhere (pipes, files, CI) no line is broken: programs need no width.

use std::env;
use std::os::fd::AsFd;

use terminal_size::terminal_size_of;
use textwrap::{Options, WordSplitter};

/// The narrowest width in columns; a terminal that is narrower cannot be read anyway.
const NARROWEST: usize = 20;

/// Returns the columns of a terminal; like git, it prefers the number in `COLUMNS`. `None` if there is no terminal.
pub fn columns(stream: impl AsFd) -> Option<usize> {
    let (width, _) = terminal_size_of(stream)?;
    let named = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    Some(named.unwrap_or(usize::from(width.0)).max(NARROWEST))
}

/// Returns the columns in which a terminal really breaks lines; `None` if there is no terminal.
pub fn real_columns(stream: impl AsFd) -> Option<usize> {
    let (width, _) = terminal_size_of(stream)?;
    Some(usize::from(width.0).max(2))
}

/// Breaks lines between words, each with the indent of its first line and two blanks more. Words that are too long,
/// such as paths, stay whole, so that they can be copied; and so do lines with an indent of four: commands to type, and
/// the words of others.
pub fn wrap(text: &str, columns: Option<usize>) -> String {
    let Some(columns) = columns else {
        return text.to_owned();
    };
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let indent = line.len() - line.trim_start_matches(' ').len();
        lines.push(match indent {
            4.. => line.to_owned(),
            _ => hang(line, indent + 2, Some(columns)),
        });
    }
    lines.join("\n")
}

/// Breaks one line between words; what follows is indented by `indent` columns.
pub fn hang(line: &str, indent: usize, columns: Option<usize>) -> String {
    let Some(columns) = columns.filter(|columns| line.len() > *columns) else {
        return line.to_owned();
    };
    let indent = " ".repeat(indent.min(columns / 2));
    let options = Options::new(columns)
        .subsequent_indent(&indent)
        .break_words(false)
        .word_splitter(WordSplitter::NoHyphenation);
    textwrap::fill(line, options)
}

/// Returns the beginning of a line that fits, with an ellipsis if something was cut off.
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
    fn what_is_cut_off_says_so() {
        assert_eq!(cut("a line", 6), "a line");
        assert_eq!(cut("a longer line", 8), "a lon...");
        assert_eq!(cut("日本語の長い題", 9), "日本語...");
    }
}
