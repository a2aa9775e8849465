//! The only place that prints: standard output gets the answer and nothing else, standard error the
//! narration, in the same words on a terminal and in CI.

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
    /// Each git command as it runs, which `trace` prints.
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
    /// The screen of a command that says nothing.
    pub const SILENT: Self = Self {
        quiet: true,
        verbose: false,
        json: false,
        colour: None,
    };

    /// Sets the colours that the command line, the environment and git's settings want, from here on.
    pub fn settle_colours(self, configured: Option<Colour>) {
        style::settle(self.colour, configured);
    }

    /// Returns the screen for words that `--quiet` leaves.
    pub fn loud(self) -> Self {
        Self { quiet: false, ..self }
    }

    /// Prints the answer of a command; control characters in others' words are made visible.
    pub fn answer(self, text: &str) {
        let text = shown(text, styles(anstream::stdout().current_choice()));
        print(&github::without_commands(&text));
    }

    /// Prints the answer of a command unchanged where a program reads it, and as [`Screen::answer`] does where a
    /// terminal shows it.
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

    /// Returns the columns of the terminal that shows answers; `None` if there is none.
    pub fn columns(self) -> Option<usize> {
        width::columns(io::stdout())
    }

    /// Prints the answer of a command as one JSON document.
    pub fn document<T: serde::Serialize>(self, value: &T) {
        let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
        text.push('\n');
        self.json(&text);
    }

    /// Prints a message on standard error; control characters in others' words are made visible.
    pub fn say(self, text: &str) {
        let text = named(text);
        let text = shown(&text, Styles::Marked);
        self.say_safely(&github::without_commands(&text));
    }

    /// Prints a message that is known to be safe: it may hold commands of our own for the log of a workflow.
    fn say_safely(self, text: &str) {
        if !self.quiet && !hold::holds() {
            let text = width::wrap(text, width::columns(io::stderr()));
            let text = shown(&text, styles(anstream::stderr().current_choice()));
            let mut err = io::stderr().lock();
            let _ = err.write_all(text.as_bytes());
            let _ = err.flush();
        }
    }

    /// Reports why a command failed and what to type next; also with `-q`.
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
        // Codes 3 to 6 say where the loop stands: nothing went wrong.
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

    /// Says that something did not end well, as a line of its own; marks a workflow's job with it.
    pub fn warn(self, line: &str) {
        if github::is_there() {
            self.say_safely(&github::error(line));
        } else {
            self.say(&format!("{line}\n"));
        }
    }

    /// Rings the bell of the terminal, where there is one.
    pub fn bell(self) {
        if !self.quiet && !hold::holds() && io::stderr().is_terminal() {
            let _ = io::stderr().lock().write_all(b"\x07");
        }
    }

    /// Returns true if the user can be asked.
    pub fn can_ask(self) -> bool {
        io::stdin().is_terminal()
    }
}

/// Returns the treatment of our styles on a stream.
fn styles(choice: ColorChoice) -> Styles {
    match choice {
        ColorChoice::Never => Styles::LeftOut,
        _ => Styles::Drawn,
    }
}

/// Prints an agent's output, piece by piece, on standard output.
pub struct Printer {
    /// True if a program reads it, which gets every byte unchanged.
    exactly: bool,
    agent: AgentOutput,
    /// Ends the agent's words in the log of a GitHub workflow, where nothing among them is a command.
    pause: Option<github::Pause>,
    inside_line: bool,
}

impl Printer {
    /// Makes a printer; `raw` keeps every byte where a program reads it.
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

    /// Prints the next piece; of its control sequences only colours reach a terminal.
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
            // It counts only where a line begins.
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

/// The change that the command is about, once it is known.
static SUBJECT: Mutex<Option<String>> = Mutex::new(None);

/// Notes the change that errors from here on are about.
pub fn set_subject(change: &Change) {
    let mut subject = SUBJECT.lock().unwrap_or_else(PoisonError::into_inner);
    *subject = Some(change.to_string());
}

/// Returns the change that an error is about, if it is known.
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

/// Returns the error if an answer could not be printed. A reader that has gone away is no error.
pub fn lost_answer() -> Option<io::Error> {
    let mut lost = LOST.lock().unwrap_or_else(PoisonError::into_inner);
    lost.take()
        .filter(|error| error.kind() != io::ErrorKind::BrokenPipe)
}
