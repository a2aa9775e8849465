//! Steps that have begun to change things. A plan has absolute targets, so that it can be repeated from the start
//! wherever it was interrupted.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Ending, Verdict};
use crate::names::{Oid, ref_component};
use crate::paths::WorkTreePath;
use crate::refs::{KeptRef, Update};

/// A step that has begun to change things.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum Intent {
    /// `start`: moves branch and HEAD to the first checkpoint.
    Start(StartPlan),
    /// A checkpoint: moves branch and HEAD to a new commit.
    Checkpoint(CheckpointPlan),
    /// A save: stores the state before an attempt as a stash entry.
    Save(SavePlan),
    /// A revert: restores branch, HEAD, index and files to the checkpoint.
    Revert(RevertPlan),
    /// `restore`: changes the files to those of a kept attempt.
    Restore(RestorePlan),
    /// `redo`: goes to an earlier checkpoint.
    Redo(RedoPlan),
    /// `pull`: goes to the checkpoint of a loop that comes from a remote.
    Adopt(AdoptPlan),
    /// `finish` or `abort`: closes the loop.
    #[serde(untagged)]
    End(EndPlan),
}

impl Intent {
    /// Returns the name of the step for messages.
    pub fn step(&self) -> &'static str {
        match self {
            Self::Start(_) => "start",
            Self::Checkpoint(_) => "a checkpoint",
            Self::Save(_) => "saving the state before an attempt",
            Self::Revert(_) => "going back to the checkpoint",
            Self::End(plan) if plan.how() == Ending::Abort => "abort",
            Self::End(_) => "finish",
            Self::Restore(_) => "restore",
            Self::Adopt(_) => "pull",
            Self::Redo(_) => "redo",
        }
    }

    /// Returns whether the plan names only directories in the loop's trash, and refs that keep its work: an attempt may
    /// have written the file that the plan is read from.
    pub fn stays_inside(&self) -> bool {
        let is_name = |name: &str| !name.contains('/') && !matches!(name, "." | "..");
        let are_ours = |kept: &[KeptRef]| kept.iter().all(|kept| kept.name.starts_with("refs/ralph/"));
        match self {
            Self::Start(plan) => are_ours(&plan.kept),
            Self::Checkpoint(plan) => are_ours(&plan.kept),
            Self::Revert(plan) => is_name(&plan.trash) && are_ours(&plan.kept),
            Self::Restore(plan) => is_name(&plan.trash),
            Self::Adopt(plan) => are_ours(&plan.kept) && are_ours(&plan.attempts),
            Self::Redo(plan) => are_ours(&plan.kept) && are_ours(&plan.attempts),
            Self::Save(_) | Self::End(_) => true,
        }
    }

    /// Returns the effect of the step, if the user can ask for it by a command.
    pub fn effect(&self) -> Option<Effect> {
        match self {
            Self::Checkpoint(plan) if plan.story.is_some() => Some(Effect::Completed),
            Self::Revert(plan) if plan.verdict.is_some() => Some(Effect::Failed),
            Self::Redo(_) => Some(Effect::Redone),
            Self::End(plan) => Some(Effect::Closed(plan.how())),
            _ => None,
        }
    }
}

/// The effects of steps that the user can ask for by a command. The next command completes an interrupted step, and may
/// be the same command: it must not repeat the effect on the next story.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// `complete`: a story has its checkpoint.
    Completed,
    /// `fail`: an attempt at a story has failed.
    Failed,
    /// `redo`: completed stories are undone.
    Redone,
    /// An attempt of an agent is undone.
    Undone,
    /// `finish` or `abort`: the loop is closed.
    Closed(Ending),
}

/// Plan of `start`: branch and HEAD move to the first checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartPlan {
    /// The former tip of the branch; absent if there was none.
    pub tip: Option<Oid>,
    /// Refs that an earlier loop of this name left, to be kept under other names.
    pub kept: Vec<KeptRef>,
}

/// Plan of a checkpoint: branch and HEAD move to a new commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointPlan {
    /// The new commit.
    pub commit: Oid,
    /// Its tree.
    pub tree: Oid,
    /// The checkpoint before it; absent in plans of earlier versions.
    pub before: Option<Oid>,
    /// The former tip of the branch; absent if the branch was gone.
    pub tip: Option<Oid>,
    /// The story that the checkpoint completes; absent for edits made by the user.
    pub story: Option<String>,
    /// The attempt that made the checkpoint.
    pub attempt: Option<u32>,
    /// True if the user approved its changes to tests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stands: bool,
    /// Refs that keep the attempt's commits on the user's branch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<KeptRef>,
    /// Updates that restore the user's branch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub put_back: Vec<Update>,
    /// True once the tracker's command after the checkpoint was started, which runs only once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed_told: bool,
}

/// The state before the attempts at a story, as a stash entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavePoint {
    /// The story.
    pub story: String,
    /// The commit of the entry.
    pub entry: Oid,
    /// The tree of the checkpoint.
    pub tree: Oid,
    /// The tree of the staged content.
    pub staged: Oid,
    /// The commit of HEAD.
    pub head: Oid,
}

/// Plan of a save: an entry is added to the stash, replacing an earlier one of the same story.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavePlan {
    /// The entry.
    pub point: SavePoint,
    /// The earlier one.
    pub old: Option<Oid>,
}

/// Plan of a revert: branch, HEAD, index and files go back to the checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevertPlan {
    /// Name of the directory in the trash.
    pub trash: String,
    /// The story whose work is undone.
    pub story: String,
    /// The attempt's number.
    pub attempt: u32,
    /// True if the attempt changed anything outside the work tree: it was made beside others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub beside: bool,
    /// The attempt's verdict; absent if no attempt is judged.
    pub verdict: Option<Verdict>,
    /// The reason of the verdict, for the next prompt.
    pub reason: Option<String>,
    /// The longer reason for the user, if the next prompt has less.
    pub shown: Option<String>,
    /// The tree of the work tree before the revert; absent in plans of earlier versions.
    pub from: Option<Oid>,
    /// The time at which that tree was read.
    pub since: Option<Timestamp>,
    /// Refs that keep the reverted work; the first keeps the work tree itself.
    pub kept: Vec<KeptRef>,
    /// Updates that restore the user's branches and tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub put_back: Vec<Update>,
}

/// Plan of `restore`: the files become those of a kept attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestorePlan {
    /// The attempt's tree.
    pub tree: Oid,
    /// Name of the directory in the trash with the bytes that git would not reproduce.
    #[serde(default)]
    pub trash: String,
    /// The attempt, as `<story>@<number>`.
    pub attempt: Option<String>,
    /// True if its agent promised COMPLETE, its gates passed, and no reviewer has judged it yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unreviewed: bool,
}

/// Plan of `redo`: branch, HEAD, index and files go to the checkpoint that the state names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RedoPlan {
    /// The checkpoint before `redo`, whose tree the work tree has.
    pub from: Oid,
    /// The checkpoints to undo, oldest first.
    pub undone: Vec<Undone>,
    /// The refs that keep the undone work, one for each checkpoint.
    pub attempts: Vec<KeptRef>,
    /// Refs that keep the checkpoint before `redo`, and the previous values of such refs.
    pub kept: Vec<KeptRef>,
}

impl RedoPlan {
    /// Returns the name of the directory in the trash.
    pub fn trash(&self) -> String {
        let first = self.undone.first();
        first.map_or_else(String::new, |one| {
            format!("redo.{}.{}", ref_component(&one.story), one.attempt)
        })
    }
}

/// A completed story that `redo` undoes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Undone {
    /// The story.
    pub story: String,
    /// The number of the attempt that had completed it.
    pub attempt: u32,
    /// Its checkpoint.
    pub oid: Oid,
    /// The ref that keeps the checkpoint.
    #[serde(rename = "ref")]
    pub kept: String,
}

/// Plan of `pull`: refs, branch, HEAD and files become those of a loop that comes from a remote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdoptPlan {
    /// The tree of the work tree, which was clean.
    pub from: Oid,
    /// Refs that keep the commits of the local loop of this name.
    pub kept: Vec<KeptRef>,
    /// The refs that keep the loop's attempts.
    pub attempts: Vec<KeptRef>,
    /// True if this loop began in this repository, whose records are still valid.
    pub is_known: bool,
}

/// The final places of HEAD, index and files when a loop ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndStep {
    /// All stay, on the loop's branch.
    Keep,
    /// All stay, in a loop that left HEAD in place.
    Close,
    /// HEAD moves to the original branch; the files stay, or are merged with its new commits.
    Cleanup,
    /// All are restored to the state before the loop.
    Abort,
    /// The loop's own work tree is left; another one gets the work, unless the loop is aborted.
    Leave,
}

/// Plan of `finish` and `abort`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndPlan {
    /// The final places of HEAD, index and files.
    pub step: EndStep,
    /// The final state of the loop, kept as `refs/ralph/<change>/finished`.
    pub finished: Oid,
    /// The tip of the loop, to be deleted; absent if it stays.
    pub tip: Option<Oid>,
    /// True if the loop has not ended: it continues on a remote.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aside: bool,
    /// True if the stash entries of a loop that left HEAD in place stay.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep: bool,
    /// The present tip of the original branch; absent if it has no commit.
    pub original: Option<Oid>,
    /// The target tree for the work tree, if the original branch has moved on.
    pub merged: Option<Oid>,
    /// The tree of an index with the content staged before the loop, if wanted.
    pub staged: Option<Oid>,
    /// The other work tree that gets the changes.
    pub into: Option<IntoPlan>,
}

impl EndPlan {
    /// Returns the plan of an end with this final state and no further moves.
    pub fn new(step: EndStep, finished: Oid) -> Self {
        Self {
            step,
            finished,
            tip: None,
            aside: false,
            keep: false,
            original: None,
            merged: None,
            staged: None,
            into: None,
        }
    }

    /// Returns the way in which the loop is closed.
    pub fn how(&self) -> Ending {
        match self.step {
            EndStep::Keep if self.aside => Ending::Aside,
            EndStep::Keep => Ending::Keep,
            EndStep::Close if self.keep => Ending::Keep,
            EndStep::Abort => Ending::Abort,
            EndStep::Leave if self.into.is_none() => Ending::Abort,
            EndStep::Close | EndStep::Cleanup | EndStep::Leave => Ending::Cleanup,
        }
    }
}

/// The work tree that gets the changes of a loop, uncommitted: only its files are changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntoPlan {
    /// Its top directory.
    pub worktree: WorkTreePath,
    /// Short name of the branch that is checked out in it; absent if HEAD is detached.
    pub branch: Option<String>,
    /// The tree of its HEAD, which its files have.
    pub from: Oid,
    /// The tree that its files get.
    pub merged: Oid,
}
