//! The state of a loop: the content of `.git/ralph/<change>.toml`, saving and locking. Pure data and its file; this
//! module knows nothing of git processes, agents or output. What is `None` is not written: TOML has nothing for it.

mod agent_session;
mod awaiting_choice;
mod error;
mod gate_file;
mod held_tests;
mod intent;
mod linked;
mod list_notes;
mod moved;
pub mod noted;
mod running;
mod stood;
mod store;
mod strategy;
mod version;

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::names::{Change, Oid};
use crate::paths::WorkTreePath;
use crate::settings::{LoopSettings, Strategy};
use crate::stories::{Source, Story};

pub use agent_session::{AgentSession, Ended, Given, Heard};
pub use awaiting_choice::AwaitingChoice;
pub use error::StateError;
pub use gate_file::GateFile;
pub use held_tests::HeldTests;
pub use intent::{
    AbortPlan, AdoptPlan, CheckpointPlan, CleanupPlan, ClosePlan, Effect, Intent, IntoPlan, KeepPlan,
    LeavePlan, RestorePlan, RevertPlan, SavePlan, SavePoint, StartPlan,
};
pub use linked::Linked;
pub use list_notes::ListNotes;
pub use noted::Noted;
pub use running::{Running, RunningGate};
pub use stood::Stood;
pub use store::{Lock, Store, changes, from_elsewhere, make_root};
pub use version::VERSION;

/// The phase of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The next story may be attempted.
    Ready,
    /// An attempt is in progress (or was, when its process died).
    Running,
    /// The current story failed and has retries left.
    Failed,
    /// The current story failed and has no retries left.
    Exhausted,
    /// No story is left to do.
    Complete,
    /// The loop was closed by `finish`.
    Finished,
}

/// The end of an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The promise was COMPLETE and every gate passed; without a promise, where gates may decide (`ralph.noSignal`).
    Complete,
    /// The agent said that it failed, or broke a rule of the loop.
    Failed,
    /// The agent ended without a promise.
    NoSignal,
    /// A gate failed.
    GateFailed,
    /// The reviewer rejected the work.
    ReviewRejected,
    /// The attempt passed its time limit.
    TimedOut,
    /// The agent's service limits the rate.
    RateLimited,
    /// The agent's service is overloaded, or cannot be reached.
    Overloaded,
    /// The agent is not signed in, or its account has no credit.
    Auth,
    /// The agent could not be started.
    NotStarted,
    /// The agent reported an error of its own.
    AgentError,
    /// The attempt was cut short from outside.
    #[default]
    Interrupted,
}

impl Verdict {
    /// Returns whether the attempt uses up one of the story's attempts.
    pub fn counts(self) -> bool {
        matches!(
            self,
            Self::Failed
                | Self::NoSignal
                | Self::GateFailed
                | Self::ReviewRejected
                | Self::TimedOut
                | Self::AgentError
        )
    }

    /// Returns the verdict in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Failed => "failed",
            Self::NoSignal => "no signal",
            Self::GateFailed => "gate failed",
            Self::ReviewRejected => "review rejected",
            Self::TimedOut => "timed out",
            Self::RateLimited => "rate limited",
            Self::Overloaded => "no answer",
            Self::Auth => "no access",
            Self::NotStarted => "not started",
            Self::AgentError => "agent error",
            Self::Interrupted => "interrupted",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

/// The story being worked on, from its first attempt until it is complete or skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Current {
    /// The story's id in its list.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Retries used so far (the first attempt is not one).
    pub retries: u32,
    /// Failed attempts that counted; once there is one, `retries` is one less.
    pub failures: u32,
    /// Number of the latest attempt.
    pub attempt: u32,
    /// The reason why the latest counted attempt failed, for the next prompt.
    pub reason: Option<String>,
    /// The same for people, where the next prompt says less about it.
    pub shown: Option<String>,
    /// The verdict of the latest attempt.
    pub verdict: Option<Verdict>,
}

impl Current {
    /// Returns the reason why the latest counted attempt failed, for people.
    pub fn why(&self) -> Option<&str> {
        self.shown.as_deref().or(self.reason.as_deref())
    }
}

/// The command that closed a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Ending {
    /// `finish --cleanup`.
    Cleanup,
    /// `finish --keep`.
    Keep,
    /// `abort`.
    Abort,
    /// `run --any`, which leaves the rest to a person: a remote has the loop.
    Aside,
}

impl Ending {
    /// Returns the command.
    pub fn command(self) -> &'static str {
        match self {
            Self::Cleanup => "git ralph finish --cleanup",
            Self::Keep => "git ralph finish --keep",
            Self::Abort => "git ralph abort",
            Self::Aside => "git ralph run --any",
        }
    }
}

/// A story with a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completed {
    /// The story's id.
    pub id: String,
    /// Its title.
    pub title: String,
}

impl Completed {
    /// Returns the entry for a story with a new checkpoint.
    pub fn of(story: &Story) -> Self {
        Self {
            id: story.id.clone(),
            title: story.title.clone(),
        }
    }
}

/// A summary of a story list, for readers of the state alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Number of complete stories.
    pub done: usize,
    /// Number of all stories.
    pub total: usize,
    /// The id of the next story; absent if none can be worked on.
    pub next: Option<String>,
}

/// The part of the state that the state machine decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The phase of the loop.
    pub phase: Phase,
    /// Retries after the first attempt, for each story.
    pub max_retries: u32,
    /// Ids that the loop skips.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
    /// The story being worked on.
    pub story: Option<Current>,
    /// Stories with a checkpoint, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completed: Vec<Completed>,
}

/// The state before the loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    /// The snapshot commit (`refs/ralph/<change>/start`).
    pub snapshot: Oid,
    /// The commit "initial state".
    pub initial: Oid,
    /// The commit that keeps the former targets of branches, tags and stash entries alive
    /// (`refs/ralph/<change>/anchor`).
    pub anchor: Option<Oid>,
    /// True if there was an index file.
    pub index: bool,
    /// Nested repositories that are left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nested: Vec<String>,
}

/// The whole state of a loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Version of the file format; each save decides it again.
    pub version: u32,
    /// The change.
    pub change: Change,
    /// Short name of the branch on which HEAD is during the loop; `HEAD` if it is detached.
    pub branch: String,
    /// The place of the checkpoints.
    #[serde(default, skip_serializing_if = "Strategy::is_branch")]
    pub strategy: Strategy,
    /// Short name of the branch on which the loop began; absent if HEAD was detached.
    pub original_branch: Option<String>,
    /// The commit on which it began; absent on a branch without commits.
    pub original_head: Option<Oid>,
    /// The commit of HEAD after a person's commits during a loop that leaves HEAD in its place.
    pub moved_head: Option<Oid>,
    /// The latest checkpoint.
    pub checkpoint: Oid,
    /// The tree of the latest checkpoint.
    pub checkpoint_tree: Oid,
    /// The work tree's top directory.
    pub worktree: WorkTreePath,
    /// The origin of that work tree, if the loop made one for itself.
    pub linked: Option<Linked>,
    /// Time of the loop's beginning.
    pub started: Timestamp,
    /// The part that the state machine decides.
    #[serde(flatten)]
    pub progress: Progress,
    /// The settings that the loop keeps.
    pub settings: LoopSettings,
    /// The source of the stories.
    pub source: Source,
    /// Stories with a checkpoint that their source has not been seen to list as done since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmarked: Vec<Completed>,
    /// The state before the loop.
    pub before: Before,
    /// The attempt in progress.
    pub running: Option<Running>,
    /// The agent's own session that drives the loop through its hooks, or the last one that did.
    pub session: Option<AgentSession>,
    /// The story of the last prompt that a person was shown: a new session is taken to have been given it.
    pub prompted: Option<Given>,
    /// Number of stories in a row that were complete without any change to the work tree.
    #[serde(default)]
    pub unchanged: u32,
    /// The summary of the story list when it was last read; absent in files of older versions.
    pub listed: Option<Listed>,
    /// Notes on the story list.
    #[serde(default, skip_serializing_if = "ListNotes::has_nothing")]
    pub list: ListNotes,
    /// The versions of tests that the user made or allowed since the loop began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stood: Vec<Stood>,
    /// The end of the wait for an agent's service.
    pub waits_until: Option<Timestamp>,
    /// The agent's words about that wait.
    pub waits_for: Option<String>,
    /// The command that closed the loop; absent while it is live, and if an earlier version closed it.
    pub closed: Option<Ending>,
    /// The reason why the last step or run ended before its time, in words, until the next attempt begins; absent if
    /// its story is the reason.
    pub stopped: Option<String>,
    /// The question that a run asks a person, or asked when it died.
    pub awaiting_choice: Option<AwaitingChoice>,
    /// The facts noted by git's hooks since the last checkpoint.
    pub noted: Option<Noted>,
    /// The stash entries of a loop that leaves HEAD in its place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub save_points: Vec<SavePoint>,
    /// The new files that only gates made: they are in no checkpoint.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gate_files: Vec<GateFile>,
    /// The attempt whose work a person has restored since the last step, as `<story>@<number>`.
    pub restored: Option<String>,
    /// The step that has begun to change things.
    pub intent: Option<Intent>,
}

impl State {
    /// Returns whether this is a state of the same loop. Two that begin in the same second can have the same first commit.
    pub fn is_same_loop(&self, other: &Self) -> bool {
        self.before.initial == other.before.initial && self.started == other.started
    }

    /// Returns whether the loop is not closed yet.
    pub fn is_live(&self) -> bool {
        self.progress.phase != Phase::Finished
    }

    /// Returns the question that a living process asks a person.
    pub fn asked(&self) -> Option<&AwaitingChoice> {
        self.awaiting_choice
            .as_ref()
            .filter(|asked| self.is_live() && asked.is_asked())
    }

    /// Returns a name of the loop's origin for messages: the branch, or the commit if HEAD was detached.
    pub fn original_name(&self) -> String {
        match (&self.original_branch, &self.original_head) {
            (Some(branch), _) => branch.clone(),
            (None, Some(head)) => head.short().to_owned(),
            (None, None) => "the beginning".to_owned(),
        }
    }
}
