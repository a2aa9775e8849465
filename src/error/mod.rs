//! Every way a command can fail: what failed, on what, what to type next, and the exit code.
//!
//! Lower layers have errors of their own; this is the one type that the engine and the commands share. Its messages are
//! lower-case fragments; git's own words are quoted below them. `hint` has what to type next, and the tests keep a
//! table of all of them.

mod hint;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use crate::agent::process::ProcessError;
use crate::exit::Exit;
use crate::fs::FileError;
use crate::git::{GitError, worktree::WorkTreeError};
use crate::guard::GuardError;
use crate::install::agent_settings::SettingsFileError;
use crate::names::BadChange;
use crate::prompt::TemplateError;
use crate::protect::ProtectError;
use crate::settings::SettingsError;
use crate::state::{StateError, Verdict};
use crate::stories::{Adapter, SourceError};

/// Why a command did not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The work tree could not be read or written.
    #[error(transparent)]
    WorkTree(#[from] WorkTreeError),
    /// The state could not be read, saved or locked.
    #[error(transparent)]
    State(#[from] StateError),
    /// A setting cannot be understood.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The story list cannot be used.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The name of the change is not a valid name.
    #[error(transparent)]
    Change(#[from] BadChange),
    /// The agent's processes or log.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// A file.
    #[error(transparent)]
    File(#[from] FileError),
    /// The guard around an agent's git.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// The system refused something that has no file.
    #[error("cannot {what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// The system's reason.
        source: std::io::Error,
    },

    /// Not inside a work tree.
    #[error("not inside the work tree of a git repository\n  {0}")]
    NoWorkTree(String),
    /// A repository that git cannot read.
    #[error("git cannot read the repository {}\n  {words}", git_dir.display())]
    Damaged {
        /// Its git directory.
        git_dir: PathBuf,
        /// Git's own words.
        words: String,
    },
    /// The environment names another repository than the current directory.
    #[error("GIT_DIR names {}, but the current directory belongs to {}", named.display(), found.display())]
    OtherGitDir {
        /// What `GIT_DIR` names.
        named: PathBuf,
        /// The git directory found from the current directory.
        found: PathBuf,
    },
    /// A loop inside an attempt of a loop.
    #[error("this is an attempt of a loop already: an agent cannot start another one")]
    InsideAttempt,
    /// No loop of this name.
    #[error("there is no loop '{name}' here{}", list(" (loops: ", known, ")"))]
    UnknownLoop {
        /// The name given.
        name: String,
        /// The loops there are.
        known: Vec<String>,
    },
    /// No live loop; several that are finished, or none.
    #[error("there is no loop here{}", list(" that goes on (finished: ", .0, ")"))]
    NoLoop(Vec<String>),
    /// Several loops, none named.
    #[error("there are several loops here{}", list(": ", .0, ""))]
    SeveralLoops(Vec<String>),

    /// `start` in the middle of a git operation.
    #[error("a {0} is in progress here")]
    OperationInProgress(String),
    /// `start` with conflicts in the index.
    #[error("there are unmerged paths{}", list(": ", .0, ""))]
    Unmerged(Vec<String>),
    /// `start` with uncommitted work in a submodule.
    #[error("there are uncommitted changes in the submodule {0}")]
    DirtySubmodule(String),
    /// `start` on the branch that it would make.
    #[error("HEAD is on {0} already, but there is no such loop")]
    OnLoopBranch(String),
    /// `start` on the branch of a loop that was finished.
    #[error("HEAD is on {0}, the branch of the loop that was finished")]
    OnFinishedBranch(String),
    /// The branch is checked out in another work tree.
    #[error("{branch} is checked out in {path}")]
    CheckedOutElsewhere {
        /// The branch, short.
        branch: String,
        /// The other work tree.
        path: String,
    },
    /// Another loop is live in this work tree.
    #[error("the loop '{0}' goes on in this work tree")]
    OtherLoop(String),
    /// A branch whose name cannot stand beside `ralph/<change>`.
    #[error("the branch {branch} is in the way of {wanted}")]
    BranchInTheWay {
        /// The branch that is there.
        branch: String,
        /// The branch that is wanted.
        wanted: String,
    },
    /// The work tree is `/` or the home directory.
    #[error("the work tree is {}: too much to hand to an agent", .0.display())]
    TooMuch(PathBuf),
    /// HEAD names something that is not a branch.
    #[error("HEAD points to {0}, which is no branch")]
    OddHead(String),
    /// The list has no story.
    #[error("{}", no_stories(source_file, *adapter))]
    NoStories {
        /// The story list, or the command that prints it.
        source_file: String,
        /// What reads it.
        adapter: Adapter,
    },

    /// Every story is complete.
    #[error("no story is left to do: {done} of {total} are complete")]
    NothingLeft {
        /// The change.
        change: String,
        /// Complete stories.
        done: usize,
        /// All stories.
        total: usize,
        /// Whether a loop is live.
        live: bool,
    },
    /// `next`, but the current story failed.
    #[error("the story {story} failed and can be retried ({left} left)")]
    RetryFirst {
        /// The change.
        change: String,
        /// The story's id.
        story: String,
        /// Retries left.
        left: u32,
    },
    /// `next` or `retry`, but the current story has no retries left.
    #[error("the story {story} failed and has no retries left")]
    RetriesSpent {
        /// The change.
        change: String,
        /// The story's id.
        story: String,
    },
    /// `retry`, but nothing failed.
    #[error("no story has failed")]
    NothingFailed(String),
    /// The loop was closed.
    #[error("the loop '{0}' is finished")]
    LoopFinished(String),
    /// A step in a phase that does not allow it; a defect of git-ralph.
    #[error("the loop '{0}' is in no state for this")]
    WrongPhase(String),
    /// No story of this id.
    #[error("{source_file} has no story '{id}'{}", list(" (stories: ", known, ")"))]
    UnknownStory {
        /// The id given.
        id: String,
        /// The story list.
        source_file: String,
        /// The ids there are.
        known: Vec<String>,
    },
    /// `skip --undo`, but the loop passes over nothing.
    #[error("no story is skipped")]
    NothingSkipped,
    /// Stories are left, but each waits for another.
    #[error("the stories that are left wait for others{}", list(": ", .0, ""))]
    Blocked(Vec<String>),
    /// The list still has the story as incomplete after its checkpoint.
    #[error("the story {story} is complete, but {} still lists it as open", source_name(source_file, *by_command))]
    StillOpen {
        /// The change.
        change: String,
        /// The story's id.
        story: String,
        /// The story list, or the command that prints it.
        source_file: String,
        /// Whether a command of the user's has to mark it.
        by_command: bool,
    },
    /// Stories are complete only by the agent's word.
    #[error("{stories} stories in a row were said to be complete, but nothing was changed for them")]
    NothingChanged {
        /// The change.
        change: String,
        /// How many.
        stories: u32,
    },
    /// No agent was named.
    #[error("no agent is named")]
    NoAgent(String),
    /// The agent's program is not there.
    #[error("the agent '{0}' cannot be found")]
    AgentMissing(String),
    /// The agent cannot work at all; more attempts would not help.
    #[error("the agent could not work on the story {story}: {verdict}{}", reason.as_ref().map(|r| format!(" ({r})")).unwrap_or_default())]
    AgentUnable {
        /// What the agent printed.
        log: PathBuf,
        /// The story's id.
        story: String,
        /// `auth` or `not_started`.
        verdict: Verdict,
        /// What it said.
        reason: Option<String>,
        /// What a person can do about it.
        advice: Option<&'static str>,
    },

    /// HEAD is not where the loop left it.
    #[error("HEAD is on {head}, not on {branch}")]
    HeadElsewhere {
        /// Where HEAD is.
        head: String,
        /// The loop's branch, short.
        branch: String,
    },
    /// The loop belongs to another work tree.
    #[error("the loop '{change}' belongs to the work tree {path}")]
    OtherWorkTree {
        /// The change.
        change: String,
        /// The other work tree.
        path: String,
    },
    /// The branch no longer holds its checkpoint.
    #[error("{branch} no longer contains its checkpoint {checkpoint}")]
    CheckpointGone {
        /// The loop's branch, short.
        branch: String,
        /// The checkpoint, abbreviated.
        checkpoint: String,
    },
    /// The state names a checkpoint that the repository does not have.
    #[error(
        "the state of the loop '{change}' does not fit the repository: {checkpoint} is no checkpoint of it"
    )]
    Unfit {
        /// The change.
        change: String,
        /// The checkpoint, abbreviated.
        checkpoint: String,
        /// The state file.
        file: PathBuf,
    },
    /// What an attempt can touch could not be recorded or put back.
    #[error(transparent)]
    Protect(ProtectError),
    /// `finish` without a choice, where nobody can be asked.
    #[error("say what shall become of the work: --cleanup or --keep")]
    NoChoice(String),
    /// The original branch is gone.
    #[error("the branch {branch} is gone (it was at {oid})")]
    OriginalGone {
        /// The change.
        change: String,
        /// The original branch, short.
        branch: String,
        /// Where it was.
        oid: String,
    },
    /// `abort`, but the original branch is not where it was.
    #[error("{branch} has moved on since the loop began")]
    OriginalMoved {
        /// The change.
        change: String,
        /// The original branch, short.
        branch: String,
    },
    /// `restore` over work that is not at a checkpoint.
    #[error("the work tree of '{0}' is not at its checkpoint")]
    NotAtCheckpoint(String),
    /// No kept attempt of this name.
    #[error("nothing is kept of an attempt {attempt}")]
    UnknownAttempt {
        /// The change.
        change: String,
        /// The attempt as given.
        attempt: String,
    },
    /// An attempt that is not `<story>@<number>`.
    #[error("'{0}' is no attempt: it must be <story>@<number>")]
    NoAttempt(String),
    /// `prune` of a loop that goes on.
    #[error("the loop '{0}' is not finished: nothing of it is removed")]
    LoopLive(String),
    /// `start --resume` without what it needs.
    #[error("there is nothing to resume '{0}' from: HEAD must be on its branch, and its start must be kept")]
    NothingToResume(String),
    /// The original branch is checked out in another work tree.
    #[error("{branch} is checked out in {path}")]
    OriginalElsewhere {
        /// The original branch, short.
        branch: String,
        /// The other work tree.
        path: String,
    },
    /// The original branch got its first commit meanwhile.
    #[error("the branch {branch} had no commit when the loop began, and has one now")]
    OriginalBorn {
        /// The change.
        change: String,
        /// The original branch, short.
        branch: String,
    },
    /// The original branch moved and conflicts with the loop.
    #[error(
        "{branch} has moved on and conflicts with the loop in{}\nnothing was changed",
        lines(paths)
    )]
    Conflict {
        /// The change.
        change: String,
        /// The original branch, short.
        branch: String,
        /// The conflicting paths.
        paths: Vec<String>,
    },
    /// Files that would be overwritten.
    #[error("files are in the way of {of}:{}\nnothing was changed", lines(paths))]
    InTheWay {
        /// What would be written.
        of: String,
        /// The files.
        paths: Vec<String>,
    },
    /// The template of the prompt cannot be used.
    #[error("the prompt cannot be made: {0}")]
    Prompt(#[from] TemplateError),
    /// The demo's own files.
    #[error("the demo failed: {0}")]
    Demo(String),
    /// A lifecycle hook said no; nothing was done.
    #[error("the hook {hook} said no ({why})")]
    HookRefused {
        /// Its name.
        hook: &'static str,
        /// How it ended.
        why: String,
        /// Where it is, where it is a file.
        file: Option<PathBuf>,
        /// What it printed.
        log: PathBuf,
    },
    /// The settings of an agent cannot be changed.
    #[error(transparent)]
    AgentSettings(#[from] SettingsFileError),
    /// Git's hooks cannot be installed or taken out; nothing was changed.
    #[error("the hooks of git stay as they are: {why}")]
    GitHooks {
        /// What stands in the way.
        why: String,
        /// What to type next.
        hint: String,
    },
    /// The loop was asked to stop.
    #[error("stopped by signal {0}")]
    Stopped(i32),
}

fn list(before: &str, items: &[String], after: &str) -> String {
    if items.is_empty() {
        String::new()
    } else {
        format!("{before}{}{after}", items.join(", "))
    }
}

fn lines(items: &[String]) -> String {
    items.iter().map(|item| format!("\n  {item}")).collect()
}

impl From<ProtectError> for Error {
    fn from(error: ProtectError) -> Self {
        match error {
            ProtectError::File(error) => Self::File(error),
            ProtectError::Git(error) => Self::Git(error),
            ProtectError::WorkTree(error) => Self::WorkTree(error),
            error => Self::Protect(error),
        }
    }
}

impl Error {
    /// Returns the exit code that this error ends a command with.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::State(StateError::Busy { .. } | StateError::Outlived { .. })
            | Self::Git(GitError::Locked(_)) => Exit::Busy,
            Self::NothingLeft { .. } => Exit::NoStory,
            Self::RetryFirst { .. } => Exit::RetriesLeft,
            Self::RetriesSpent { .. } => Exit::RetriesSpent,
            Self::NoChoice(_) => Exit::Usage,
            Self::Blocked(_)
            | Self::NothingChanged { .. }
            | Self::Protect(ProtectError::RepositoryGone(_))
            | Self::HeadElsewhere { .. }
            | Self::CheckpointGone { .. }
            | Self::OriginalGone { .. }
            | Self::OriginalElsewhere { .. }
            | Self::OriginalMoved { .. }
            | Self::OriginalBorn { .. }
            | Self::Conflict { .. }
            | Self::InTheWay { .. } => Exit::Person,
            Self::Stopped(signal) => Exit::Signal(*signal),
            _ => Exit::Error,
        }
    }
}

/// Names a story list as a person knows it.
fn source_name(source_file: &str, by_command: bool) -> String {
    if by_command {
        format!("ralph.storiesCommand (`{source_file}`)")
    } else {
        source_file.to_owned()
    }
}

fn no_stories(source_file: &str, adapter: Adapter) -> String {
    match adapter {
        Adapter::Command => format!("{} printed no story", source_name(source_file, true)),
        _ => format!("{source_file} has no story"),
    }
}
