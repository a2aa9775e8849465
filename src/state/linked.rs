//! The origin of a work tree that a loop made for itself.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::State;
use crate::paths::WorkTreePath;
use crate::settings::is_default;

/// The origin of the loop's own work tree. Before the loop, HEAD is detached in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Linked {
    /// Short name of the branch from which the loop began; absent if HEAD was detached there.
    pub branch: Option<String>,
    /// The top directory of the work tree in which the command was typed.
    pub from: WorkTreePath,
    /// True if the loop is closed, and its work tree is still to be removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leaving: bool,
    /// The number of trash directories with files of work trees when this one was left.
    #[serde(default, skip_serializing_if = "is_default")]
    pub emptied_before: usize,
}

impl State {
    /// Returns whether the loop made its work tree for itself.
    pub fn has_own_work_tree(&self) -> bool {
        self.here.linked.is_some()
    }

    /// Returns whether the loop's own work tree is still to be removed after the end of the loop.
    pub fn is_leaving(&self) -> bool {
        self.here.linked.as_ref().is_some_and(|linked| linked.leaving)
    }

    /// Returns the work tree that the loop made for itself.
    pub fn own_work_tree(&self) -> Option<PathBuf> {
        let own = self.here.linked.as_ref().map(|_| self.work_tree());
        own.map(Path::to_owned)
    }

    /// Returns the short name of the branch from which the loop began, in any work tree.
    pub fn begun_on(&self) -> Option<&String> {
        let here = self.common.original_branch.as_ref();
        self.here
            .linked
            .as_ref()
            .map_or(here, |linked| linked.branch.as_ref())
    }
}
