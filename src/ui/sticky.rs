//! Keeps one line below streaming output: makes the bytes that erase the line and draw it again. Pure.
//!
//! Invariant: once the line is erased, a terminal shows the output as if there had never been a line, even if a piece
//! of output ends in the middle of a line. This module does not depend on the text of the line.

use textwrap::core::display_width;

use super::shown::printable;

/// Maximum length of an unfinished line whose columns are counted again for each piece of output, in bytes.
const LONG: usize = 4096;

/// The line, and the end of the output above it.
#[derive(Debug, Default)]
pub(super) struct Sticky {
    is_drawn: bool,
    /// The end of the output after its last line break.
    unfinished: Vec<u8>,
    /// The place of the cursor before `unfinished`, after the dropped beginning of a long line.
    begins_at: Place,
    /// The column to which the cursor goes back, if the line was drawn below an unfinished one.
    back_to: Option<usize>,
}

/// The place of the cursor in an unfinished line.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// The column in its row, from 0; the number of columns if the row is full.
    column: usize,
    /// True if the line has visible characters.
    is_visible: bool,
}

impl Place {
    /// Moves the cursor past text of this width, in columns.
    fn pass(&mut self, width: usize, columns: usize) {
        if width > 0 {
            self.is_visible = true;
            self.column = (self.column + width - 1) % columns + 1;
        }
    }
}

impl Sticky {
    /// Returns true if the line is on the screen.
    pub fn is_drawn(&self) -> bool {
        self.is_drawn
    }

    /// Returns true if the output's last line is not empty, on a terminal with this many columns.
    pub fn is_inside_line(&self, columns: usize) -> bool {
        let place = self.place(columns);
        place.is_visible || place.column > 0
    }

    /// Erases the line, and moves the cursor to the end of the output.
    pub fn erase(&mut self, bytes: &mut Vec<u8>) {
        if std::mem::take(&mut self.is_drawn) {
            bytes.extend_from_slice(b"\r\x1b[K");
        }
        if let Some(column) = self.back_to.take() {
            bytes.extend_from_slice(b"\x1b[A\r");
            if column > 0 {
                bytes.extend_from_slice(format!("\x1b[{column}C").as_bytes());
            }
        }
    }

    /// Records output that was printed while the line was erased, on a terminal with this many columns.
    pub fn pass(&mut self, output: &[u8], columns: usize) {
        match memchr::memrchr(b'\n', output) {
            Some(end) => {
                self.begins_at = Place::default();
                self.unfinished = output[end + 1..].to_vec();
            }
            None => {
                if self.unfinished.len() > LONG {
                    self.begins_at = self.place(columns);
                    self.unfinished.clear();
                }
                self.unfinished.extend_from_slice(output);
            }
        }
    }

    /// Draws the line below the output, on a terminal with this many columns; the line must be shorter than a row.
    pub fn draw(&mut self, line: &str, columns: usize, bytes: &mut Vec<u8>) {
        self.erase(bytes);
        if line.is_empty() {
            return;
        }
        if self.is_inside_line(columns) {
            bytes.extend_from_slice(b"\r\n");
            // Of a line that fills its row, the rest begins in the next one.
            self.back_to = Some(self.place(columns).column).filter(|column| *column < columns);
        }
        bytes.extend_from_slice(line.as_bytes());
        self.is_drawn = true;
    }

    /// Records that git-ralph has ended the output's last line with a line break.
    pub fn break_line(&mut self) {
        (self.begins_at, self.unfinished) = (Place::default(), Vec::new());
    }

    /// Returns the place of the cursor after the unfinished line.
    fn place(&self, columns: usize) -> Place {
        let mut place = self.begins_at;
        // Most lines are such.
        if printable(&self.unfinished, |_| false) == self.unfinished.len() {
            place.pass(self.unfinished.len(), columns);
            return place;
        }
        let text = String::from_utf8_lossy(&self.unfinished);
        for (at, part) in text.split('\r').enumerate() {
            if at > 0 {
                place.column = 0;
            }
            for (at, words) in part.split('\t').enumerate() {
                if at > 0 {
                    place.column = (place.column / 8 * 8 + 8).min(columns - 1);
                }
                place.pass(display_width(words), columns);
            }
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LINE: &str = "[1/2] 1. Form, 3s";
    const COLUMNS: usize = 20;

    /// A terminal with an unlimited number of rows.
    #[derive(Default)]
    struct Terminal {
        rows: Vec<Vec<char>>,
        row: usize,
        column: usize,
    }

    impl Terminal {
        fn take(&mut self, bytes: &[u8]) {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            let mut chars = text.chars();
            while let Some(char) = chars.next() {
                match char {
                    '\r' => self.column = 0,
                    '\n' => (self.row, self.column) = (self.row + 1, 0),
                    '\x1b' => self.control(&mut chars),
                    '\t' => self.column = (self.column / 8 * 8 + 8).min(COLUMNS - 1),
                    char => self.put(char),
                }
            }
        }

        fn control(&mut self, chars: &mut std::str::Chars<'_>) {
            assert_eq!(chars.next(), Some('['));
            let mut number = String::new();
            loop {
                match chars.next().unwrap() {
                    digit @ '0'..='9' => number.push(digit),
                    'K' => {
                        let column = self.column;
                        return self.row().truncate(column);
                    }
                    'A' => return self.row -= 1,
                    'C' => {
                        self.column += number.parse::<usize>().unwrap();
                        assert!(self.column < COLUMNS);
                        return;
                    }
                    'm' => return,
                    other => panic!("{other}"),
                }
            }
        }

        fn row(&mut self) -> &mut Vec<char> {
            while self.rows.len() <= self.row {
                self.rows.push(Vec::new());
            }
            &mut self.rows[self.row]
        }

        fn put(&mut self, char: char) {
            // Only the next character wraps.
            if self.column == COLUMNS {
                (self.row, self.column) = (self.row + 1, 0);
            }
            let column = self.column;
            let row = self.row();
            row.resize(row.len().max(column + 1), ' ');
            row[column] = char;
            self.column += 1;
        }

        fn shown(&self) -> Vec<String> {
            let rows = self.rows.iter().map(|row| row.iter().collect::<String>());
            let mut rows: Vec<String> = rows.map(|row| row.trim_end().to_owned()).collect();
            while rows.last().is_some_and(String::is_empty) {
                rows.pop();
            }
            rows
        }
    }

    /// Prints the pieces with the line below them; checks that it is always there, and leaves no trace at the end.
    fn holds(pieces: &[&str]) {
        let (mut sticky, mut with, mut without) =
            (Sticky::default(), Terminal::default(), Terminal::default());
        for piece in pieces {
            let mut bytes = Vec::new();
            sticky.erase(&mut bytes);
            bytes.extend_from_slice(piece.as_bytes());
            sticky.pass(piece.as_bytes(), COLUMNS);
            sticky.draw(LINE, COLUMNS, &mut bytes);
            with.take(&bytes);
            without.take(piece.as_bytes());
            let mut shown = with.shown();
            assert_eq!(shown.pop().as_deref(), Some(LINE), "{pieces:?}");
            while shown.last().is_some_and(String::is_empty) {
                shown.pop();
            }
            assert_eq!(shown, without.shown(), "{pieces:?}");
        }
        let mut bytes = Vec::new();
        sticky.erase(&mut bytes);
        with.take(&bytes);
        assert_eq!(with.shown(), without.shown(), "{pieces:?}");
    }

    #[test]
    fn line_stays_below_all_output() {
        holds(&["one\n", "two\n"]);
        holds(&["on", "e\ntw", "o", "\n", "\n"]);
        holds(&["x".repeat(COLUMNS).as_str(), "more", "\n"]);
        holds(&["x".repeat(COLUMNS + 3).as_str(), "more\n"]);
        holds(&["10%", "\r20%", "\r100%\n"]);
        holds(&["\x1b[35ma\tb", "\tc\x1b[0m", "\td"]);
        let long = "y".repeat(LONG - 1);
        holds(&[&long, "ab", "cd", "ef\n", "g"]);
    }

    proptest! {
        #[test]
        fn line_leaves_no_trace(pieces in prop::collection::vec("[a-c\n]{0,30}|\r|\x1b\\[1m", 1..20)) {
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            holds(&pieces);
        }
    }
}
