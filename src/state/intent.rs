//! Steps that have begun to change things. A plan holds absolute targets, so that repeating all of it from
//! the top is right wherever it was cut off.

use serde::{Deserialize, Serialize};

use super::Verdict;
use crate::names::Oid;
use crate::refs::{KeptRef, Update};

/// A step that has begun to change things.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum Intent {
    /// `start`: branch and HEAD to the first checkpoint.
    Start(StartPlan),
    /// A checkpoint: branch and HEAD to a new commit.
    Checkpoint(CheckpointPlan),
    /// A revert: branch, HEAD, index and files back to the checkpoint.
    Revert(RevertPlan),
    /// `abort`: HEAD, index and files back to what they were before the loop.
    Abort(AbortPlan),
    /// `restore`: files to a kept attempt's.
    Restore(RestorePlan),
    /// `finish --keep`: a ref for where the loop ended.
    Keep(KeepPlan),
    /// `finish --cleanup`: HEAD back to where it was, files as the loop left them.
    Cleanup(CleanupPlan),
}

impl Intent {
    /// Returns the step, for people.
    #[must_use]
    pub fn step(&self) -> &'static str {
        match self {
            Self::Start(_) => "start",
            Self::Checkpoint(_) => "a checkpoint",
            Self::Revert(_) => "going back to the checkpoint",
            Self::Cleanup(_) | Self::Keep(_) => "finish",
            Self::Abort(_) => "abort",
            Self::Restore(_) => "restore",
        }
    }
}

/// `start`: branch and HEAD to the first checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartPlan {
    /// The branch's tip before it; absent when there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tip: Option<Oid>,
    /// Refs that an earlier loop of this name left, to be kept under other names.
    pub kept: Vec<KeptRef>,
}

/// A checkpoint: branch and HEAD to a new commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointPlan {
    /// The new commit.
    pub commit: Oid,
    /// Its tree.
    pub tree: Oid,
    /// The branch's tip before it; absent when the branch was gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tip: Option<Oid>,
    /// The story that it completes; absent for edits made by a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub story: Option<String>,
    /// The attempt that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
}

/// A revert: branch, HEAD, index and files back to the checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevertPlan {
    /// Directory name in the trash.
    pub trash: String,
    /// The story whose work is undone.
    pub story: String,
    /// The attempt's number.
    pub attempt: u32,
    /// How the attempt ended; absent when no attempt is being judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What keeps the reverted work; the first is the work tree itself.
    pub kept: Vec<KeptRef>,
    /// Updates that restore the user's branches and tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub put_back: Vec<Update>,
}

/// `abort`: HEAD, index and files back to what they were before the loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbortPlan {
    /// The state that was there, kept as `refs/ralph/<change>/finished`.
    pub finished: Oid,
    /// The branch's tip, to be deleted.
    pub tip: Oid,
}

/// `restore`: files to a kept attempt's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestorePlan {
    /// The attempt's tree.
    pub tree: Oid,
    /// Directory name in the trash, with the bytes that git would not give back.
    #[serde(default)]
    pub trash: String,
    /// The attempt, as `<story>@<number>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<String>,
}

/// `finish --keep`: a ref for where the loop ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeepPlan {
    /// The branch's tip, kept as `refs/ralph/<change>/finished`.
    pub finished: Oid,
    /// The branch that HEAD is on; absent when it is detached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
}

/// `finish --cleanup`: HEAD back to where it was, files as the loop left them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CleanupPlan {
    /// The final state of the loop, kept as `refs/ralph/<change>/finished`.
    pub finished: Oid,
    /// The branch's tip, to be deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tip: Option<Oid>,
    /// Where the original branch is now; absent when it has no commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original: Option<Oid>,
    /// The tree to bring the work tree to, when the original branch has moved on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged: Option<Oid>,
    /// The tree of an index that restores what was staged before the loop, when that is wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub staged: Option<Oid>,
}
