//! The only module that prints: standard output gets only the answer, standard error the narration, in the same words
//! on a terminal and in CI.

mod agent_output;
mod amounts;
pub mod choice;
pub mod doctor;
pub mod github;
mod hold;
mod live;
pub mod log;
mod margin;
mod narration;
mod narrator;
pub mod pager;
pub mod preview;
pub mod queue;
pub mod report;
mod shown;
pub mod status;
mod sticky;
pub mod stories;
mod style;
pub mod summary;
pub mod view;
mod width;

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use anstream::ColorChoice;

use crate::error::Error;
use crate::events::{Event, What};
use crate::exit::Exit;
use crate::names::{Change, ShortNames, typed};
use crate::settings::Colour;
use agent_output::AgentOutput;
use shown::{Styles, shown};

pub use narrator::Narrator;
pub use shown::plain;
pub use width::cut;

/// The options for a command's output.
#[derive(Clone, Copy, Debug, Default)]
pub struct Screen {
    /// No narration.
    pub quiet: bool,
    /// Prints each git command when it runs (`trace`).
    pub verbose: bool,
    /// Events as JSON lines on standard output.
    pub json: bool,
    /// The choice of colours on the command line.
    pub colour: Option<Colour>,
}

#[expect(
    clippy::unused_self,
    reason = "only a command that was given the screen uses it"
)]
impl Screen {
    /// The screen of a command that prints nothing.
    pub const SILENT: Self = Self {
        quiet: true,
        verbose: false,
        json: false,
        colour: None,
    };

    /// Sets the colours from now on, according to the command line, the environment and git's settings.
    pub fn settle_colours(self, configured: Option<Colour>) {
        style::settle(self.colour, configured);
    }

    /// Returns the screen for messages that `--quiet` does not suppress.
    pub fn loud(self) -> Self {
        Self { quiet: false, ..self }
    }

    /// Prints the answer of a command; makes control characters in quoted text visible.
    pub fn answer(self, text: &str) {
        let text = shown(text, styles(anstream::stdout().current_choice()));
        print(&github::without_commands(&text));
    }

    /// Prints the answer of a command unchanged for a program, and like [`Screen::answer`] on a terminal.
    pub fn answer_exactly(self, text: &str) {
        if io::stdout().is_terminal() {
            self.answer(text);
        } else {
            print(text);
        }
    }

    /// Prints JSON, a line or a document.
    pub fn json(self, text: &str) {
        print(&shown::json(text, github::is_there()));
    }

    /// Returns the columns of the terminal that shows answers; `None` without one.
    pub fn columns(self) -> Option<usize> {
        width::columns(io::stdout())
    }

    /// Prints the answer of a command as one JSON document.
    pub fn document<T: serde::Serialize>(self, value: &T) {
        let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
        text.push('\n');
        self.json(&text);
    }

    /// Prints a message on standard error; makes control characters in quoted text visible.
    pub fn say(self, text: &str) {
        let text = named(text);
        let text = shown(&text, Styles::Marked);
        self.say_safely(&github::without_commands(&text));
    }

    /// Prints a message that is known to be safe: it may contain workflow commands of git-ralph's own.
    fn say_safely(self, text: &str) {
        if !self.quiet && !hold::holds() {
            let text = width::wrap(text, width::columns(io::stderr()));
            let text = shown(&text, styles(anstream::stderr().current_choice()));
            let mut err = io::stderr().lock();
            let _ = err.write_all(text.as_bytes());
            let _ = err.flush();
        }
    }

    /// Reports why a command failed and what to type next; even with `-q`.
    pub fn fail(self, change: &str, error: &Error) {
        let mut hint = error.hint();
        if !change.is_empty() {
            let named = |hint: String| hint.replace("<change>", &typed(change));
            hint = hint.map(named);
        }
        if self.json {
            let what = What::Error {
                message: error.to_string(),
                hint: hint.clone(),
                exit: error.exit().code(),
                kind: None,
                story: None,
                reason: None,
                attempts: None,
                options: Vec::new(),
            };
            self.json(&Event::now(change, what).line());
        }
        let loud = self.loud();
        // Codes 3 to 6 report the state of the loop and no error.
        match error.exit() {
            Exit::RetriesLeft | Exit::RetriesSpent | Exit::NoStory | Exit::Limit => {
                loud.say(&format!("{error}\n"));
            }
            _ if github::is_there() => loud.say_safely(&github::error(&error.to_string())),
            _ => loud.say(&format!("{}: {error}\n", style::red("error"))),
        }
        if let Some(hint) = hint {
            loud.say(&format!("{}: {hint}\n", style::yellow("hint")));
        }
    }

    /// Reports a failure on a line of its own, and marks a workflow's job with it.
    pub fn warn(self, line: &str) {
        if github::is_there() {
            self.say_safely(&github::error(line));
        } else {
            self.say(&format!("{line}\n"));
        }
    }

    /// Rings the bell of the terminal, if there is one.
    pub fn bell(self) {
        if !self.quiet && !hold::holds() && io::stderr().is_terminal() {
            let _ = io::stderr().lock().write_all(b"\x07");
        }
    }

    /// Returns true if a question to the user is possible.
    pub fn can_ask(self) -> bool {
        io::stdin().is_terminal()
    }
}

/// Returns the treatment of git-ralph's own styles on a stream.
fn styles(choice: ColorChoice) -> Styles {
    match choice {
        ColorChoice::Never => Styles::LeftOut,
        _ => Styles::Drawn,
    }
}

/// Prints an agent's output, piece by piece, on standard output.
pub struct Printer {
    /// True if a program reads the output, which gets every byte unchanged.
    exactly: bool,
    agent: AgentOutput,
    /// Ends the agent's part of a GitHub workflow's log, in which no line is a command.
    pause: Option<github::Pause>,
    inside_line: bool,
}

impl Printer {
    /// Makes a printer; `raw` keeps every byte for a program.
    pub fn new(raw: bool) -> Self {
        let is_terminal = io::stdout().is_terminal();
        let exactly = raw && !is_terminal;
        let pause = (github::is_there() && !exactly).then(github::Pause::default);
        if let Some(pause) = &pause {
            print(&pause.begin());
        }
        Self {
            exactly,
            agent: AgentOutput::new(is_terminal),
            pause,
            inside_line: false,
        }
    }

    /// Prints the next piece; on a terminal, passes only colours of its control sequences.
    pub fn print(&mut self, piece: &[u8]) {
        self.inside_line = piece.last().map_or(self.inside_line, |last| *last != b'\n');
        if self.exactly {
            print_bytes(piece);
        } else {
            print_bytes(&self.agent.take(piece));
        }
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        print_bytes(self.agent.settle());
        if let Some(pause) = &self.pause {
            // It counts only at the beginning of a line.
            let line_end = if self.inside_line { "\n" } else { "" };
            print(&format!("{line_end}{}", pause.end()));
        }
    }
}

fn print(text: &str) {
    print_bytes(text.as_bytes());
}

fn print_bytes(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    let printed = out.write_all(bytes).and_then(|()| out.flush());
    if let Err(error) = printed {
        let mut lost = LOST.lock().unwrap_or_else(PoisonError::into_inner);
        lost.get_or_insert(error);
    }
}

/// The change of the command, once known.
static SUBJECT: Mutex<Option<String>> = Mutex::new(None);

/// Sets the change that later errors name.
pub fn set_subject(change: &Change) {
    let mut subject = SUBJECT.lock().unwrap_or_else(PoisonError::into_inner);
    *subject = Some(change.to_string());
}

/// Returns the change that an error names, if known.
pub fn subject() -> Option<String> {
    SUBJECT.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The words that name the stories of the loop in messages, once it is known.
static NAMES: Mutex<Option<ShortNames>> = Mutex::new(None);

/// Notes the words that name the stories in messages from here on.
fn set_names(names: &ShortNames) {
    let mut known = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    *known = Some(names.clone());
}

/// Returns a message that names stories by these words.
fn named(text: &str) -> String {
    let names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    names
        .as_ref()
        .map_or_else(|| text.to_owned(), |names| names.shorten(text))
}

/// The error of the first answer that could not be printed.
static LOST: Mutex<Option<io::Error>> = Mutex::new(None);

/// Returns the error if an answer could not be printed. A closed pipe is no error.
pub fn lost_answer() -> Option<io::Error> {
    let mut lost = LOST.lock().unwrap_or_else(PoisonError::into_inner);
    lost.take()
        .filter(|error| error.kind() != io::ErrorKind::BrokenPipe)
}
