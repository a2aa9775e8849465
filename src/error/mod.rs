//! All errors of commands: what failed, on what, what to type next, and the exit code.
//!
//! Each error is beside the code that raises it, with its message, its hint and its exit code in one place; this is
//! their union, the one type that the engine and the commands share. Messages are lower-case fragments; git's own words
//! are quoted below them. The tests keep a table of all of them.

pub mod advice;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;

use self::advice::{Advice, Advise, hint};
use crate::agent::process::ProcessError;
use crate::engine::attempt::refusal::AttemptRefusal;
use crate::engine::lifecycle_hooks::refusal::HookRefused;
use crate::engine::open_refusal::OpenRefusal;
use crate::engine::repository_refusal::RepositoryRefusal;
use crate::engine::step_refusal::StepRefusal;
use crate::engine::steps::finish_refusal::FinishRefusal;
use crate::engine::steps::start_refusal::StartRefusal;
use crate::engine::story_refusal::StoryRefusal;
use crate::exit::Exit;
use crate::fs::FileError;
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
use crate::stories::SourceError;

/// A reason why a command did not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The repository, the loop or a kept attempt was not opened.
    #[error(transparent)]
    Open(#[from] OpenRefusal),
    /// The repository is not as the step needs it.
    #[error(transparent)]
    Repository(#[from] RepositoryRefusal),
    /// No loop was begun.
    #[error(transparent)]
    Start(#[from] StartRefusal),
    /// No story can be worked on.
    #[error(transparent)]
    Story(#[from] StoryRefusal),
    /// The step may not follow now.
    #[error(transparent)]
    Step(#[from] StepRefusal),
    /// No attempt was made, or another would not help.
    #[error(transparent)]
    Attempt(#[from] AttemptRefusal),
    /// The loop was not closed.
    #[error(transparent)]
    Finish(#[from] FinishRefusal),
    /// The loop was not carried to a remote or back.
    #[error(transparent)]
    Remote(#[from] RemoteRefusal),
    /// A lifecycle hook refused.
    #[error(transparent)]
    Hook(#[from] HookRefused),
    /// Git's hooks were not installed or taken out.
    #[error(transparent)]
    GitHooks(#[from] GitHooksRefused),
    /// The settings of an agent cannot be changed.
    #[error(transparent)]
    AgentSettings(#[from] SettingsFileError),
    /// Something that an attempt can touch could not be recorded or put back.
    #[error(transparent)]
    Protect(#[from] ProtectError),
    /// The guard around an agent's git failed.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// The template of the prompt cannot be used.
    #[error("cannot make the prompt: {0}")]
    Prompt(#[from] TemplateError),
    /// The state could not be read, saved or locked.
    #[error(transparent)]
    State(#[from] StateError),
    /// A setting cannot be understood.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The agent's processes could not be ended, or its log not be written.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The story list cannot be used.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The work tree could not be read or written.
    #[error(transparent)]
    WorkTree(#[from] WorkTreeError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The name of the change is not a valid name.
    #[error(transparent)]
    Change(#[from] BadChange),
    /// The system refused something with a file.
    #[error(transparent)]
    File(#[from] FileError),
    /// The system refused something that has no file.
    #[error("cannot {what}: {source}")]
    System {
        /// The attempted action, as a verb.
        what: &'static str,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The demo failed.
    #[error("the demo failed: {0}")]
    Demo(String),
    /// The loop was asked to stop.
    #[error("stopped by {}", signal::name(*.0))]
    Stopped(i32),
}

impl Error {
    /// Returns what to type next.
    pub fn hint(&self) -> Option<String> {
        self.advice().hint
    }

    /// Returns the exit code that this error ends a command with.
    pub fn exit(&self) -> Exit {
        self.advice().exit
    }

    fn advice(&self) -> Advice {
        match self {
            Self::Open(error) => error.advice(),
            Self::Repository(error) => error.advice(),
            Self::Start(error) => error.advice(),
            Self::Story(error) => error.advice(),
            Self::Step(error) => error.advice(),
            Self::Attempt(error) => error.advice(),
            Self::Finish(error) => error.advice(),
            Self::Remote(error) => error.advice(),
            Self::Hook(error) => error.advice(),
            Self::GitHooks(error) => error.advice(),
            Self::AgentSettings(error) => error.advice(),
            Self::Protect(error) => error.advice(),
            Self::Guard(error) => error.advice(),
            Self::Prompt(error) => error.advice(),
            Self::State(error) => error.advice(),
            Self::Settings(error) => error.advice(),
            Self::Process(error) => error.advice(),
            Self::Source(error) => error.advice(),
            Self::WorkTree(error) => error.advice(),
            Self::Git(error) => error.advice(),
            Self::Change(error) => error.advice(),
            Self::File(error) => error.advice(),
            Self::System { .. } | Self::Demo(_) => Advice::default(),
            Self::Stopped(signal) => {
                hint("run the same command again to continue").exit(Exit::Signal(*signal))
            }
        }
    }
}
