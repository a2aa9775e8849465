//! The layout of a JSON text: indentation, line ends, blanks; and the text between its values.

/// The layout of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// `\n` or `\r\n`.
    pub line_end: &'static str,
    /// One step of indentation.
    pub unit: String,
    /// True if the outermost object takes more than one line.
    pub over_lines: bool,
    /// True if blanks follow colons and commas.
    pub spaced: bool,
}

impl Layout {
    /// Detects the layout of a text; anything that it does not show gets the most common form.
    pub fn of(text: &str) -> Self {
        let lines: Vec<&str> = text.lines().collect();
        let is_blank = |c: char| c == ' ' || c == '\t';
        let indented = lines.iter().find_map(|line| {
            let rest = line.trim_start_matches(is_blank);
            let blank = &line[..line.len() - rest.len()];
            (rest.starts_with('"') && !blank.is_empty()).then(|| blank.to_owned())
        });
        let body = text.trim();
        let is_empty = body.split_whitespace().collect::<String>() == "{}";
        let after_colon = text.find("\":").and_then(|at| text[at + 2..].chars().next());
        Self {
            line_end: if text.contains("\r\n") { "\r\n" } else { "\n" },
            unit: indented.unwrap_or_else(|| "  ".to_owned()),
            over_lines: body.contains('\n') || is_empty || body.is_empty(),
            spaced: after_colon.is_none_or(char::is_whitespace),
        }
    }

    /// Returns the indentation of the line at a position.
    pub fn indent_at(text: &str, at: usize) -> String {
        let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let blank = |c: &char| *c == ' ' || *c == '\t';
        text[line..at]
            .trim_start_matches('\u{feff}')
            .chars()
            .take_while(blank)
            .collect()
    }

    /// Formats a text without layout, whose strings contain no brackets, commas or colons, after an indented line.
    pub fn render(&self, bare: &str, indent: &str, over_lines: bool) -> String {
        let mut text = String::new();
        let mut depth = 0;
        let break_line = |text: &mut String, depth| {
            if over_lines {
                text.push_str(&format!("{}{indent}{}", self.line_end, self.unit.repeat(depth)));
            }
        };
        for char in bare.chars() {
            if matches!(char, '}' | ']') {
                depth -= 1;
                break_line(&mut text, depth);
            }
            text.push(char);
            match char {
                '{' | '[' => {
                    depth += 1;
                    break_line(&mut text, depth);
                }
                ',' if over_lines => break_line(&mut text, depth),
                ',' | ':' => text.push_str(self.blank()),
                _ => {}
            }
        }
        text
    }

    /// Returns the blanks after a colon, and after a comma within a line.
    pub fn blank(&self) -> &'static str {
        if self.spaced { " " } else { "" }
    }
}

/// Iterates over the pieces between two values, each with its position.
fn pieces(text: &str, from: usize, to: usize) -> impl Iterator<Item = (usize, &str)> {
    let mut at = from;
    std::iter::from_fn(move || {
        let rest = text.get(at..to).filter(|rest| !rest.is_empty())?;
        let length = if rest.starts_with("//") {
            rest.find(['\r', '\n']).unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
        let piece = (at, &rest[..length]);
        at += length;
        Some(piece)
    })
}

/// Finds the comma between two positions, but not in a comment.
pub(super) fn next_comma(text: &str, from: usize, to: usize) -> Option<usize> {
    pieces(text, from, to)
        .find(|(_, piece)| *piece == ",")
        .map(|(at, _)| at)
}

/// Finds the end of the last comment in the line of a position; without one, returns that position.
pub(super) fn end_of_line_comment(text: &str, from: usize, to: usize) -> usize {
    let mut end = from;
    for (at, piece) in pieces(text, from, to) {
        match piece {
            "\r" | "\n" => break,
            _ if piece.starts_with('/') => end = at + piece.len(),
            _ => {}
        }
    }
    end
}

/// Finds the beginning of the gap before a value. A line end that ends a comment is no part of it if the value's line
/// continues.
pub(super) fn gap_before(text: &str, at: usize) -> usize {
    text[..at].trim_end_matches([' ', '\t', '\r', '\n']).len()
}
