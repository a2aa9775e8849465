//! The state of a loop: the content of `.git/ralph/<change>.toml`, its saving and locking. Pure data and its file,
//! without git processes, agents or output. Fields that are `None` are not written: TOML cannot represent them.

mod agent_session;
mod awaiting_choice;
mod closed;
mod common;
mod error;
mod flat;
mod here;
mod intent;
mod judged_tree;
mod left;
mod linked;
mod list_notes;
mod messages;
mod moved;
pub mod noted;
mod running;
mod sides;
mod skip_request;
mod slots;
mod store;
mod strategy;
mod text;

use std::cell::RefCell;
use std::path::Path;

use serde::{Deserialize, Serialize};

use self::slots::SlotState;
use crate::names::{Change, Oid};
use crate::settings::{Configuration, Settings, is_default};
use crate::stories::{Source, Story};

pub use agent_session::{AgentSession, Ended, Given, Heard};
pub use awaiting_choice::AwaitingChoice;
pub use common::{ApprovedRange, Common};
pub use error::StateError;
pub use here::{Before, DotGit, Here, Prepared};
pub use intent::{
    AdoptPlan, CheckpointPlan, Effect, EndPlan, EndStep, Intent, IntoPlan, RedoPlan, RestorePlan, RevertPlan,
    SavePlan, SavePoint, StartPlan, Undone,
};
pub use judged_tree::JudgedTree;
pub use linked::Linked;
pub use list_notes::ListNotes;
pub use messages::{LONGEST as LONGEST_MESSAGE, MESSAGES, Message};
pub use noted::Noted;
pub use sides::{is_side, loops, loops_among, sides};
pub use slots::{Running, RunningGate};
pub use store::{Lock, Store, changes, live_in, make_root};

/// The version of the files that this program writes, and the highest that it reads: an earlier program refuses them,
/// and names a newer git-ralph as the writer. A change that an earlier program would misread needs a new version.
pub const VERSION: u32 = 4;

/// The last version without parts.
const LAST_FLAT: u32 = 3;

/// The phase of a loop.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Phase {
    /// The next story may be attempted.
    #[default]
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
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, strum::Display, strum::IntoStaticStr,
)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "lowercase")]
pub enum Verdict {
    /// The promise was COMPLETE and every gate passed; without a promise, where gates may decide (`ralph.noSignal`).
    Complete,
    /// The agent said that it failed, or broke a rule of the loop.
    Failed,
    /// The agent ended without a promise.
    #[strum(to_string = "no signal")]
    NoSignal,
    /// A gate failed.
    #[strum(to_string = "gate failed")]
    GateFailed,
    /// The reviewer rejected the work.
    #[strum(to_string = "review rejected")]
    ReviewRejected,
    /// The attempt passed its time limit.
    #[strum(to_string = "timed out")]
    TimedOut,
    /// The agent's service limits the rate.
    #[strum(to_string = "rate limited")]
    RateLimited,
    /// The agent's service is overloaded, or cannot be reached.
    #[strum(to_string = "no answer")]
    Overloaded,
    /// The agent is not signed in, or its account has no credit.
    #[strum(to_string = "not signed in")]
    Auth,
    /// The agent could not be started.
    #[strum(to_string = "not started")]
    NotStarted,
    /// The agent reported an error of its own.
    #[strum(to_string = "agent error")]
    AgentError,
    /// The attempt was cut short from outside.
    #[default]
    Interrupted,
    /// The attempt had completed its story, and `git ralph redo` has undone it.
    #[strum(to_string = "not accepted")]
    Redone,
    /// Its work does not go together with that of stories which were completed meanwhile, beside it.
    Conflict,
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
        self.into()
    }
}

/// The story being worked on, from its first attempt until it is complete or skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The longer reason for the user, if the next prompt has less.
    pub shown: Option<String>,
    /// The reason why the latest `git ralph complete` was refused, if no attempt came after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The verdict of the latest attempt.
    pub verdict: Option<Verdict>,
    /// True if it is not retried, even with retries left: another attempt would end in the same way.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_spent: bool,
    /// True if the gates passed only with the latest attempt's changes to tests, or to the scripts of gates.
    #[serde(default, skip_serializing_if = "is_default")]
    pub needs_leave: bool,
}

/// A story that was complete, and that the user has undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redone {
    /// The story's id.
    pub story: String,
    /// The ref that keeps its work.
    pub kept: String,
    /// The user's reason.
    pub words: Option<String>,
}

impl Current {
    /// Returns the reason why the latest counted attempt failed, for the user.
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
    /// `run --any`, which closes the local loop only: a remote has the loop.
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
    /// The work that completed it; absent if the loop has no checkpoint of it, or an earlier version made it.
    pub work: Option<Accepted>,
}

/// An accepted attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// Its number.
    pub attempt: u32,
    /// The checkpoint before it.
    pub from: Oid,
    /// Its own checkpoint.
    pub to: Oid,
}

impl Completed {
    /// Returns the entry for a story with a new checkpoint.
    pub fn of(story: &Story) -> Self {
        Self {
            id: story.id.clone(),
            title: story.title.clone(),
            work: None,
        }
    }
}

/// A story without retries left that is to be tried again after the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PutOff {
    /// The story, as it failed.
    pub story: Current,
    /// Number of the stories that were complete when its attempt began.
    pub completed: usize,
    /// True if it was tried again, and is not tried a second time.
    pub is_over: bool,
}

/// A summary of a story list, for readers without access to the list.
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The phase of the loop.
    pub phase: Phase,
    /// Retries after the first attempt, for each story.
    pub max_retries: u32,
    /// Ids that the loop skips.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
    /// The skipped stories that `ralph.onFailure=later` put off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub put_off: Vec<PutOff>,
    /// Stories that are to be done again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redone: Vec<Redone>,
    /// The story being worked on.
    pub story: Option<Current>,
    /// Other failed stories, when stories are attempted in parallel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Current>,
    /// Stories with a checkpoint, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completed: Vec<Completed>,
}

/// The whole state of a loop. A remote gets `common`, and no other field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Version of the file format.
    pub version: u32,
    /// The change.
    pub change: Change,
    /// The part that every machine with the loop has.
    #[serde(rename = "loop")]
    pub common: Common,
    /// The part of this machine and this work tree.
    pub here: Here,
    /// The slots in use: one at most.
    #[serde(default, skip_serializing_if = "is_default")]
    slots: RefCell<Vec<SlotState>>,
    /// The step that has begun to change things.
    pub intent: Option<Intent>,
}

impl State {
    /// Returns the state of a loop in which no process runs.
    pub fn new(change: Change, common: Common, here: Here) -> Self {
        Self {
            version: VERSION,
            change,
            common,
            here,
            slots: RefCell::default(),
            intent: None,
        }
    }

    /// Returns the latest checkpoint.
    pub fn checkpoint(&self) -> &Oid {
        &self.common.checkpoint
    }

    /// Returns the tree of the latest checkpoint.
    pub fn checkpoint_tree(&self) -> &Oid {
        &self.common.checkpoint_tree
    }

    /// Returns the commit "initial state".
    pub fn initial(&self) -> &Oid {
        &self.common.initial
    }

    /// Returns the work tree's top directory.
    pub fn work_tree(&self) -> &Path {
        self.here.worktree.as_path()
    }

    /// Returns the source of the stories.
    pub fn source(&self) -> &Source {
        &self.common.source
    }

    /// Returns the summary of the story list when it was last read.
    pub fn listed(&self) -> Option<&Listed> {
        self.common.listed.as_ref()
    }

    /// Returns the part that the state machine decides.
    pub fn progress(&self) -> &Progress {
        &self.common.progress
    }

    /// Returns the phase of the loop.
    pub fn phase(&self) -> Phase {
        self.common.progress.phase
    }

    /// Returns the settings for a command on this loop.
    pub fn settings_in(&self, configuration: &Configuration) -> Settings {
        configuration.of_loop(&self.common.settings, &self.here.commands)
    }

    /// Returns whether this is a state of the same loop. Two that begin in the same second can have the same first commit.
    pub fn is_same_loop(&self, other: &Self) -> bool {
        self.common.initial == other.common.initial && self.common.started == other.common.started
    }

    /// Returns whether the loop is not closed yet.
    pub fn is_live(&self) -> bool {
        self.phase() != Phase::Finished
    }

    /// Returns the question that a living process asks the user.
    pub fn asked(&self) -> Option<&AwaitingChoice> {
        self.here
            .awaiting_choice
            .as_ref()
            .filter(|asked| self.is_live() && asked.is_asked())
    }

    /// Returns a name of the loop's origin for messages: the branch, or the commit if HEAD was detached.
    pub fn original_name(&self) -> String {
        match (&self.common.original_branch, &self.common.original_head) {
            (Some(branch), _) => branch.clone(),
            (None, Some(head)) => head.short().to_owned(),
            (None, None) => "the beginning".to_owned(),
        }
    }
}
