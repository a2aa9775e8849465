//! The differences between the strategies of a loop: the ref of its checkpoints, the place of HEAD, and the index that
//! describes the work tree.

use std::path::{Path, PathBuf};

use super::State;
use crate::git::Head;
use crate::names::{Change, short_branch};
use crate::settings::Strategy;

/// Name of the loop's own index in its directory.
const INDEX: &str = "loop.index";

impl Strategy {
    /// Returns the full name of the ref that points to the last checkpoint of `change`.
    pub fn tip_ref(self, change: &Change) -> String {
        match self {
            Self::Branch => change.branch_ref(),
            Self::Stash => change.ralph_ref("tip"),
        }
    }

    /// Returns the loop's own index in its directory `dir`; `None` if the index of the work tree is the loop's.
    pub fn loop_index(self, dir: &Path) -> Option<PathBuf> {
        (self == Self::Stash).then(|| dir.join(INDEX))
    }

    /// Returns whether HEAD stays in its place during the loop.
    pub fn leaves_head(self) -> bool {
        self == Self::Stash
    }

    /// Returns the short name of the branch that HEAD is on during a loop that begins at `head`.
    pub fn branch(self, change: &Change, head: &Head) -> String {
        match self {
            Self::Branch => change.branch(),
            Self::Stash => short_branch(head.branch.as_deref().unwrap_or("HEAD")).to_owned(),
        }
    }
}

impl State {
    /// Returns whether the checkpoints are on the loop's own branch, with HEAD on it.
    pub fn has_branch(&self) -> bool {
        !self.common.strategy.leaves_head()
    }

    /// Returns the full name of the ref that points to the last checkpoint.
    pub fn tip_ref(&self) -> String {
        self.common.strategy.tip_ref(&self.change)
    }

    /// Returns HEAD as it must be between attempts.
    pub fn loop_head(&self) -> Head {
        match self.common.strategy {
            Strategy::Branch => Head::new(Some(self.change.branch_ref()), Some(self.checkpoint().clone())),
            Strategy::Stash => {
                let original = self.original_place();
                Head {
                    oid: self.here.moved_head.clone().or(original.oid),
                    ..original
                }
            }
        }
    }

    /// Returns the argument with which `git checkout` brings HEAD there: a branch, or the commit of a detached HEAD.
    pub fn loop_place(&self) -> String {
        match self.loop_head() {
            Head {
                branch: None,
                oid: Some(oid),
            } => oid.short().to_owned(),
            _ => self.common.branch.clone(),
        }
    }

    /// Returns HEAD as it was before the loop.
    pub fn original_place(&self) -> Head {
        let branch = self.common.original_branch.as_ref();
        Head::new(
            branch.map(|branch| format!("refs/heads/{branch}")),
            self.common.original_head.clone(),
        )
    }

    /// Returns whether HEAD is on the required branch, or detached if required: the user's commits may have moved it.
    pub fn is_branch_of(&self, head: &Head) -> bool {
        head.branch == self.loop_head().branch
    }

    /// Returns whether HEAD is on the required branch, or detached at the required commit.
    pub fn is_place(&self, head: &Head) -> bool {
        head.is_at(&self.loop_head())
    }
}
