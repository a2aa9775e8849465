//! The operations that a run needs from its command.

use crate::engine::{AttemptOptions, Context, Loop, StartOptions};
use crate::error::Error;
use crate::events::Observer;
use crate::exit::Exit;
use crate::names::Change;
use crate::remote::Tenure;
use crate::settings::Settings;

/// A printed line of a process that works on a part of the run, with the name of the part.
#[derive(Debug)]
pub enum Printed {
    /// On standard output.
    Answer(String, String),
    /// On standard error.
    Narration(String, String),
}

/// The command that began a run: it knows the command line, prints and asks.
pub trait Command {
    /// Shows the events of one change.
    type Narrator;

    /// Returns a narrator for the next change.
    fn narrator(&self) -> Self::Narrator;

    /// Prints a line.
    fn say(&self, line: &str);

    /// Prints a line about a change that failed.
    fn warn(&self, line: &str);

    /// Prints a line about one of several changes, or stories, with its name. `observer` watches the loop to which a
    /// story belongs.
    fn relay(&self, line: &Printed, observer: Option<&dyn Observer>);

    /// Returns true if a question to the user is possible.
    fn can_ask(&self) -> bool;

    /// Returns the remote that was typed.
    fn remote(&self) -> Option<&str>;

    /// Refuses a run that would leave every change open.
    fn require_choice(&self, settings: &Settings) -> Result<(), Error>;

    /// Opens the repository.
    async fn open<'o>(&self, narrator: &'o Self::Narrator) -> Result<Context<'o>, Error>;

    /// Finds the change, and how its loop would start. Refuses a run that could not begin; returns `None` if the
    /// command only shows the plan.
    async fn prepare<'o>(
        &self,
        context: Context<'o>,
        change: Option<&str>,
    ) -> Result<Option<(Context<'o>, Change, StartOptions)>, Error>;

    /// Shows a loop that has just begun, before its first gate runs.
    async fn show(&self, open: &Loop<'_>);

    /// Hides it again: it was refused after all.
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

    /// Reports the state of the loop at the end of the run.
    async fn report(&self, open: &Loop<'_>);
}
