//! All errors of commands: what failed, on what, what to type next, and the exit code.
//!
//! Each error is beside the code that raises it, with its message, its hint and its exit code in one place (`refusals`); this is
//! their union, the one type that the engine and the commands share. Messages are lower-case fragments; git's own words
//! are quoted below them. The tests keep a table of all of them.

pub mod advice;
pub mod refusals;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;

use self::advice::{Advise, hint};
use self::refusals::refusals;
use crate::agent::process::ProcessError;
use crate::engine::attempt::refusal::AttemptRefusal;
use crate::engine::lifecycle_hooks::refusal::HookRefused;
use crate::engine::open_refusal::OpenRefusal;
use crate::engine::repository_refusal::RepositoryRefusal;
use crate::engine::step_refusal::StepRefusal;
use crate::engine::steps::finish_refusal::FinishRefusal;
use crate::engine::steps::land_refusal::LandRefusal;
use crate::engine::steps::start_refusal::StartRefusal;
use crate::engine::story_refusal::StoryRefusal;
use crate::exit::Exit;
use crate::fs::{FileError, system_words};
use crate::git::{GitError, worktree::WorkTreeError};
use crate::guard::GuardError;
use crate::install::agent_settings::SettingsFileError;
use crate::install::repository_hooks::refusal::GitHooksRefused;
use crate::names::BadChange;
use crate::prompt::TemplateError;
use crate::protect::ProtectError;
use crate::remote::refusal::RemoteRefusal;
use crate::settings::SettingsError;
use crate::signal;
use crate::state::StateError;
use crate::stories::{Reader, SourceError};

refusals! {
/// A reason why a command did not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The repository, the loop or a kept attempt was not opened.
    Open(#[from] OpenRefusal) = transparent;
    /// The repository is not as the step needs it.
    Repository(#[from] RepositoryRefusal) = transparent;
    /// No loop was begun.
    Start(#[from] StartRefusal) = transparent;
    /// No story can be worked on.
    Story(#[from] StoryRefusal) = transparent;
    /// The step may not follow now.
    Step(#[from] StepRefusal) = transparent;
    /// No attempt was made, or another would not help.
    Attempt(#[from] AttemptRefusal) = transparent;
    /// The loop was not closed.
    Finish(#[from] FinishRefusal) = transparent;
    /// A change did not land.
    Land(#[from] LandRefusal) = transparent;
    /// The loop was not carried to a remote or back.
    Remote(#[from] RemoteRefusal) = transparent;
    /// A lifecycle hook refused.
    Hook(#[from] HookRefused) = transparent;
    /// Git's hooks were not installed or taken out.
    GitHooks(#[from] GitHooksRefused) = transparent;
    /// The settings of an agent cannot be changed.
    AgentSettings(#[from] SettingsFileError) = transparent;
    /// Something that an attempt can touch could not be recorded or put back.
    Protect(#[from] ProtectError) = transparent;
    /// The guard around an agent's git failed.
    Guard(#[from] GuardError) = transparent;
    /// The template of the prompt cannot be used.
    #[error("cannot make the prompt: {0}")]
    Prompt(#[from] TemplateError)
        => |(error)| error.advice();
    /// The state could not be read, saved or locked.
    State(#[from] StateError) = transparent;
    /// A setting cannot be understood.
    Settings(#[from] SettingsError) = transparent;
    /// The agent's processes could not be ended, or its log not be written.
    Process(#[from] ProcessError) = transparent;
    /// The story list cannot be used.
    Source(#[from] SourceError) = transparent;
    /// The work tree could not be read or written.
    WorkTree(#[from] WorkTreeError) = transparent;
    /// Git failed.
    Git(#[from] GitError) = transparent;
    /// The name of the change is not a valid name.
    Change(#[from] BadChange) = transparent;
    /// The system refused something with a file.
    File(#[from] FileError) = transparent;
    /// The system refused something that has no file.
    #[error("cannot {what}: {}", system_words(source))]
    System {
        /// The attempted action, as a verb.
        what: &'static str,
        source: std::io::Error,
    };
    /// The demo failed.
    #[error("the demo failed: {0}")]
    Demo(String);
    /// The loop was asked to stop.
    #[error("stopped by {}", signal::name(*.0))]
    Stopped(i32)
        => |(signal)| hint("run the same command again to continue").exit(Exit::Signal(*signal));
}
}

/// Ends what was asked with the error of this reason.
pub fn refuse<T>(why: impl Into<Error>) -> Result<T, Error> {
    Err(why.into())
}

impl Error {
    /// Returns the function that makes the error of an action that the system refused.
    pub fn system<E: Into<std::io::Error>>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::System {
            what,
            source: source.into(),
        }
    }

    /// Names the command that the user has typed in a hint that would name `start`.
    pub(crate) fn say_verb(&mut self, typed: Reader) {
        if let Self::Source(
            SourceError::UnknownAdapter { verb, .. }
            | SourceError::NoStories { verb, .. }
            | SourceError::NoLists { verb, .. },
        ) = self
        {
            *verb = typed;
        }
    }

    /// Returns what to type next.
    pub fn hint(&self) -> Option<String> {
        self.advice().hint
    }

    /// Returns the exit code that this error ends a command with.
    pub fn exit(&self) -> Exit {
        self.advice().exit
    }
}
