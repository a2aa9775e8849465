//! Names what a run needs of the command that began it.

use crate::engine::{AttemptOptions, Context, Loop, StartOptions};
use crate::error::Error;
use crate::events::Observer;
use crate::exit::Exit;
use crate::names::Change;
use crate::remote::Tenure;
use crate::settings::Settings;

/// A line that a process has printed that works on a part of the run, with the name of that.
#[derive(Debug)]
pub enum Printed {
    /// On standard output.
    Answer(String, String),
    /// On standard error.
    Narration(String, String),
}

/// The command that began a run: it knows what was typed, prints and asks.
pub trait Command {
    /// Shows what happens to one change.
    type Narrator;

    /// Returns a narrator for the next change.
    fn narrator(&self) -> Self::Narrator;

    /// Prints a line.
    fn say(&self, line: &str);

    /// Prints a line about a change that did not end well.
    fn warn(&self, line: &str);

    /// Prints a line of the work on one of several changes, or stories, with its name. `observer` watches the loop to which a
    /// story belongs.
    fn relay(&self, line: &Printed, observer: Option<&dyn Observer>);

    /// Returns true if the user can be asked.
    fn can_ask(&self) -> bool;

    /// Returns the remote that was typed.
    fn remote(&self) -> Option<&str>;

    /// Refuses a run that would leave every change open.
    fn require_choice(&self, settings: &Settings) -> Result<(), Error>;

    /// Opens the repository.
    async fn open<'o>(&self, narrator: &'o Self::Narrator) -> Result<Context<'o>, Error>;

    /// Finds the change, and how its loop would start. Refuses a run that could not begin; returns `None` if the command only
    /// had to show what it would do.
    async fn prepare<'o>(
        &self,
        context: Context<'o>,
        change: Option<&str>,
    ) -> Result<Option<(Context<'o>, Change, StartOptions)>, Error>;

    /// Shows a loop that has just begun, before its first gate runs.
    async fn show(&self, open: &Loop<'_>);

    /// Shows it no more: it was refused after all.
    fn hide(&self);

    /// Returns the options of the attempts. The loop was `already` active, or has just begun.
    fn begin(&self, open: &Loop<'_>, already: bool) -> AttemptOptions;

    /// Drives the loop until it stops, and again after each answer of the user that continues it. Returns the exit code.
    async fn work(
        &self,
        open: &mut Loop<'_>,
        step: &AttemptOptions,
        tenure: Option<&Tenure>,
    ) -> Result<Exit, Error>;

    /// Reports the loop as the run leaves it.
    async fn report(&self, open: &Loop<'_>);
}
