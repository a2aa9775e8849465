//! The advice that goes with an error: what to type next, and the exit code. Every error that a command can end with
//! gives some.

use std::fmt::Display;

use crate::exit::Exit;

/// The advice that goes with the message of an error.
#[derive(Debug, Default)]
pub struct Advice {
    /// The command to type next; `None` if the system's own reason says what to repair.
    pub hint: Option<String>,
    /// The exit code of the command.
    pub exit: Exit,
}

impl Advice {
    /// Sets the exit code, which is 1 otherwise.
    pub fn exit(self, exit: Exit) -> Self {
        Self { exit, ..self }
    }
}

/// Returns the advice to type this next.
pub fn hint(text: impl Into<String>) -> Advice {
    let hint = Some(text.into());
    Advice {
        hint,
        ..Advice::default()
    }
}

/// An error that gives advice.
pub trait Advise {
    /// Returns the advice that goes with the message.
    fn advice(&self) -> Advice {
        Advice::default()
    }
}

/// Returns the first items between two words; nothing where there are none.
pub(crate) fn list(before: &str, items: &[String], after: &str) -> String {
    const MOST: usize = 12;
    let (shown, more) = items.split_at(items.len().min(MOST));
    match (shown, more.len()) {
        ([], _) => String::new(),
        (shown, 0) => format!("{before}{}{after}", shown.join(", ")),
        (shown, more) => format!("{before}{} and {more} more{after}", shown.join(", ")),
    }
}

/// Returns the items, each on a line of its own.
pub(crate) fn lines<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    let items = items.into_iter();
    items.map(|item| format!("\n  {item}")).collect()
}
