//! The only place that prints: standard output gets the answer and nothing else, standard error the
//! narration, in the same words on a terminal and in CI.

pub mod choice;
mod colour;
pub mod doctor;
pub mod github;
mod live;
pub mod log;
mod narration;
mod narrator;
pub mod pager;
pub mod preview;
pub mod status;
pub mod stories;
mod width;

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use anstream::ColorChoice;

use crate::error::Error;
use crate::events::{Event, What};
use crate::exit::Exit;
use crate::settings::Colour;

pub use narrator::Narrator;

/// Where a command's words go.
#[derive(Clone, Copy, Debug, Default)]
pub struct Screen {
    /// No narration.
    pub quiet: bool,
    /// Each git command as it runs, which `trace` prints.
    pub verbose: bool,
    /// Events as JSON lines on standard output.
    pub json: bool,
    /// What the command line says of colours.
    pub colour: Option<Colour>,
}

impl Screen {
    /// Colours as the command line, the environment and git's settings want them, from here on.
    pub fn settle_colours(self, configured: Option<Colour>) {
        colour::settle(self.colour, configured);
    }

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

    /// The columns of the terminal that answers are read on; `None` where that is none.
    #[must_use]
    pub fn columns(self) -> Option<usize> {
        width::columns(io::stdout())
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
            let text = width::wrap(text, width::columns(io::stderr()));
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
            _ if github::is_there() => github::error(&error.to_string()),
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
