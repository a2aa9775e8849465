//! Table of the lifecycle hooks, for the engine and the manual.

use crate::events::What;

/// A lifecycle hook, in the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case", prefix = "ralph-")]
pub enum Hook {
    /// Before an attempt.
    PreAttempt,
    /// Before the checkpoint of a story.
    PreCheckpoint,
    /// After an attempt.
    PostAttempt,
    /// After a checkpoint.
    PostCheckpoint,
    /// After the work tree was restored.
    PostRevert,
    /// Before `finish`.
    PreFinish,
    /// After a loop was closed.
    PostFinish,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The hook.
    pub hook: Hook,
    /// The event in its event file.
    pub event: &'static str,
    /// The time at which it runs.
    pub when: &'static str,
    /// The effect of a non-zero exit code, and of a time-out.
    pub refusal: &'static str,
}

/// The effect of a failure after the event has happened.
const WARNING: &str = "a warning; the loop continues";

/// All hooks, in the order in which a loop runs them.
pub const TABLE: &[Row] = &[
    Row {
        hook: Hook::PreAttempt,
        event: "attempt_started",
        when: "before an attempt of git ralph next, retry or run, and before git-ralph looks at the work tree: what it changes is an \
               edit made before the attempt, and becomes a checkpoint of its own",
        refusal: "the attempt does not begin, nothing is counted, and the command ends with exit code 1",
    },
    Row {
        hook: Hook::PreCheckpoint,
        event: "attempt_ended",
        when: "after COMPLETE (or git ralph complete) and all gates, before the checkpoint: what it changes in the work tree is part of \
               the checkpoint, and reported",
        refusal: "the verdict is gate_failed, the last 40 lines of its output are the reason, and the attempt is undone",
    },
    Row {
        hook: Hook::PostAttempt,
        event: "attempt_ended",
        when: "after an attempt, whatever its verdict, when the checkpoint is made or the work tree is reset",
        refusal: WARNING,
    },
    Row {
        hook: Hook::PostCheckpoint,
        event: "checkpoint",
        when: "after a checkpoint; without a story for edits that were made before an attempt",
        refusal: WARNING,
    },
    Row {
        hook: Hook::PostRevert,
        event: "reverted",
        when: "after the work tree was reset to the checkpoint, by a failed attempt, git ralph fail or git ralph revert",
        refusal: WARNING,
    },
    Row {
        hook: Hook::PreFinish,
        event: "finished",
        when: "before git ralph finish changes anything; not before git ralph abort",
        refusal: "nothing is changed, and the command ends with exit code 1",
    },
    Row {
        hook: Hook::PostFinish,
        event: "finished",
        when: "after git ralph finish and git ralph abort, when the loop is closed",
        refusal: WARNING,
    },
];

impl Hook {
    /// Returns its name, as git finds it.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns whether it gets the story in addition to the change.
    pub fn has_story(self) -> bool {
        !matches!(self, Self::PreFinish | Self::PostFinish)
    }

    /// Returns the hook that runs after an event.
    pub const fn after(what: &What) -> Option<Self> {
        match what {
            What::AttemptEnded(_) => Some(Self::PostAttempt),
            What::Checkpoint { .. } => Some(Self::PostCheckpoint),
            What::Reverted { .. } => Some(Self::PostRevert),
            What::Finished { .. } => Some(Self::PostFinish),
            _ => None,
        }
    }
}
