//! The one line that is written over and over at the bottom of a terminal: what goes on, and for how long. It is
//! never there when anything else is printed.

use std::io::{self, IsTerminal, Write};
use std::time::Instant;

use anstyle::Style;

use super::narration::time;
use super::shown::plain;
use super::width::{columns, cut};

/// To the first column, and nothing left behind it.
const ERASE: &[u8] = b"\r\x1b[K";

/// The line, as far as it is there.
#[derive(Debug, Default)]
pub struct Live {
    /// Whether there is a terminal that can do it, and somebody who wants it.
    wanted: bool,
    /// What goes on, and since when.
    work: Option<(String, Instant)>,
    drawn: bool,
    /// Something was printed that has not ended its line.
    inside_line: bool,
}

impl Live {
    /// A line that is never drawn when standard error is no terminal, or a dumb one.
    pub fn new(wanted: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        Self {
            wanted: wanted && !dumb && io::stderr().is_terminal(),
            ..Self::default()
        }
    }

    /// This goes on from now.
    pub fn begin(&mut self, work: String) {
        self.work = Some((work, Instant::now()));
    }

    /// It is over.
    pub fn end(&mut self) {
        self.work = None;
    }

    /// A second has passed.
    pub fn tick(&mut self) {
        if let Some((work, since)) = &self.work {
            let time = time(since.elapsed().as_secs_f64());
            let line = format!("{}, {time}", cut(work, width().saturating_sub(time.len() + 2)));
            self.draw(&line);
        }
    }

    /// Shows a line in place of the one before.
    pub fn draw(&mut self, line: &str) {
        if !self.wanted || self.inside_line {
            return;
        }
        let style = Style::new().dimmed();
        let line = plain(line);
        // Straight to the terminal: a strip of colours must not take this along.
        let _ = io::stderr().lock().write_all(ERASE);
        let mut err = anstream::stderr().lock();
        let _ = write!(err, "{style}{}{style:#}", cut(&line, width()));
        let _ = err.flush();
        self.drawn = !line.is_empty();
    }

    /// Makes room for something that is printed next.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let _ = io::stderr().lock().write_all(ERASE);
        }
    }

    /// Somebody else's bytes were printed.
    pub fn printed(&mut self, bytes: &[u8]) {
        if let Some(last) = bytes.last() {
            self.inside_line = *last != b'\n';
        }
    }

    /// Makes room for words that begin a line of their own.
    pub fn break_line(&mut self) {
        self.clear();
        if std::mem::take(&mut self.inside_line) {
            let _ = io::stderr().lock().write_all(b"\n");
        }
    }
}

/// What fits a line without going on to the next.
fn width() -> usize {
    columns(io::stderr()).map_or(80, |columns| columns - 1)
}
