//! The values of settings that have names.

use serde::{Deserialize, Serialize};

/// The choice that `run` makes at the end of the loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FinishChoice {
    /// Ask on a terminal; otherwise leave it to a later `finish`.
    #[default]
    Ask,
    /// Bring the work to the original branch, uncommitted.
    Cleanup,
    /// Stay on the loop's branch.
    Keep,
}

/// The judgement of an agent's promise when no file changed but the story list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EmptyStory {
    /// The story is complete, with a warning; three of them in a row stop the loop.
    #[default]
    Warn,
    /// The attempt failed.
    Fail,
    /// The story is complete.
    Accept,
}

/// The judgement of an attempt that ended by itself, without a promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoSignal {
    /// It failed.
    #[default]
    Retry,
    /// Gates and the reviewer judge what it changed.
    Gates,
}

/// The part of the prompt of a retry that describes the attempt before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RetryContext {
    /// The reason, if there is one: after an attempt without a promise the prompt stays the same.
    #[default]
    Reason,
    /// Always what it left and printed, with the end of its output.
    Always,
}

impl RetryContext {
    /// Returns the value that the setting `ralph.retryOutput` means.
    pub fn of_output(is_shown: bool) -> Self {
        if is_shown { Self::Always } else { Self::Reason }
    }
}

/// The way to notify a person that a long run has ended, or asks something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Notify {
    /// By the bell of the terminal.
    #[default]
    Bell,
    /// Not at all.
    Off,
    /// By a shell command.
    Command(String),
}

/// The action of `run` when a story has no retries left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// Stop; the loop stays open.
    #[default]
    Stop,
    /// Skip the story, and continue.
    Skip,
    /// Finish the loop as if it were complete.
    Finish,
}

/// The changes that an attempt may make to other stories of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ListEdits {
    /// It may add stories, and boxes to its own.
    #[default]
    Additions,
    /// Anything.
    Allow,
    /// Nothing.
    None,
}

/// Whoever marks a complete story as done in its list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// git-ralph, once the agent has promised and all gates have passed.
    #[default]
    Auto,
    /// The agent; a promise with open tasks is a failed attempt.
    Agent,
    /// Nobody: the loop itself remembers which stories are done.
    Never,
}

impl Mark {
    /// Returns the value of the setting.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Agent => "agent",
            Self::Never => "never",
        }
    }
}

/// The place of a loop's checkpoints, and of HEAD meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Checkpoints are commits of the branch `ralph/<change>`, which is checked out during the loop.
    #[default]
    Branch,
    /// HEAD, its branch and the index stay as they are; checkpoints hang on a hidden ref, and the state before the story
    /// is shown as a stash entry.
    Stash,
}

impl Strategy {
    /// Returns the value of the setting.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Branch => "branch",
            Self::Stash => "stash",
        }
    }

    /// Returns whether this is the default.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
    pub fn is_branch(&self) -> bool {
        *self == Self::Branch
    }
}

/// The use of colours, as in git's `color.ui`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// On a terminal.
    Auto,
    /// In pipes and files too.
    Always,
    /// Never.
    Never,
}
