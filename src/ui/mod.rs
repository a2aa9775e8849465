//! The only place that prints: standard output gets the answer and nothing else, standard error the
//! narration, in the same words on a terminal and in CI.

pub mod choice;
mod narration;
pub mod pager;
pub mod tables;

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use anstream::ColorChoice;

use crate::error::Error;
use crate::events::{Event, Observer, Stream, What};
use crate::exit::Exit;

/// Where a command's words go.
#[derive(Clone, Copy, Debug, Default)]
pub struct Screen {
    /// No narration.
    pub quiet: bool,
    /// Events as JSON lines on standard output.
    pub json: bool,
}

impl Screen {
    /// Prints the answer of a command.
    pub fn answer(self, text: &str) {
        let is_plain = |byte: u8| !byte.is_ascii_control() || byte == b'\n';
        let stdout = anstream::stdout();
        let shown = match stdout.current_choice() {
            ColorChoice::Never if !text.bytes().all(is_plain) => {
                Cow::Owned(anstream::adapter::strip_str(text).to_string())
            }
            _ => Cow::Borrowed(text),
        };
        // A reader that has gone away wants no more; that is no error of ours.
        let mut out = stdout.into_inner().lock();
        let _ = out.write_all(shown.as_bytes());
        let _ = out.flush();
    }

    /// Prints the answer of a command as one JSON document.
    pub fn document<T: serde::Serialize>(self, value: &T) {
        let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
        text.push('\n');
        self.answer(&text);
    }

    /// Says something on standard error.
    pub fn say(self, text: &str) {
        if !self.quiet {
            let mut err = anstream::stderr().lock();
            let _ = err.write_all(text.as_bytes());
            let _ = err.flush();
        }
    }

    /// Says why a command failed and what to type next; also with `-q`.
    pub fn fail(self, change: &str, error: &Error) {
        let hint = error.hint();
        if self.json {
            let what = What::Error {
                message: error.to_string(),
                hint: hint.clone(),
                exit: error.exit().code(),
            };
            self.answer(&Event::now(change, what).line());
        }
        // Codes 3 to 6 say where the loop stands: nothing went wrong.
        let mut text = match error.exit() {
            Exit::RetriesLeft | Exit::RetriesSpent | Exit::NoStory | Exit::Limit => format!("{error}\n"),
            _ => format!("{}: {error}\n", narration::red("error")),
        };
        if let Some(hint) = hint {
            text.push_str(&format!("{}: {hint}\n", narration::yellow("hint")));
        }
        Screen { quiet: false, ..self }.say(&text);
    }

    /// Whether a person can be asked.
    #[must_use]
    pub fn can_ask(self) -> bool {
        io::stdin().is_terminal()
    }
}

impl Observer for Screen {
    fn event(&mut self, event: &Event) {
        if self.json {
            self.answer(&event.line());
        }
        if let Some(text) = narration::of(&event.what) {
            self.say(&text);
        }
    }

    fn output(&mut self, change: &str, stream: Stream, bytes: &[u8]) {
        if self.json {
            let text = String::from_utf8_lossy(bytes).into_owned();
            self.answer(&Event::now(change, What::Output { stream, text }).line());
        }
        if !self.quiet {
            // As the agent printed it, colours included: it is its terminal as much as ours.
            let mut err = io::stderr().lock();
            let _ = err.write_all(bytes);
        }
    }

    fn activity(&mut self, line: &str) {
        self.say(&format!("  {line}\n"));
    }

    fn countdown(&mut self, left: Duration) {
        // Elsewhere than on a terminal the event has said it all.
        if io::stderr().is_terminal() {
            let line = narration::countdown(left);
            self.say(&format!("\r{line}\x1b[K"));
        }
    }
}
