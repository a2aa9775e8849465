//! The record of the tree that gates and reviewers judge.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::git::Head;
use crate::names::Oid;

/// The tree that gates and reviewers judge, and the position of HEAD: after a crash, a command keeps this tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgedTree {
    /// The tree of the work tree.
    pub tree: Oid,
    /// The commit that keeps the tree, at `refs/ralph/<change>/judged`.
    pub commit: Oid,
    /// Time before the first file was changed.
    pub since: Timestamp,
    /// The branch of HEAD; absent if it is detached.
    pub branch: Option<String>,
    /// The commit of HEAD.
    pub head: Option<Oid>,
    /// The tip of the loop.
    pub tip: Option<Oid>,
    /// The tree with the tests of the last checkpoint, while gates run with it instead of the judged one.
    pub in_place: Option<Oid>,
    /// True once the judged tree is being restored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub goes_back: bool,
}

impl JudgedTree {
    /// Returns the position of HEAD.
    pub fn head(&self) -> Head {
        Head::new(self.branch.clone(), self.head.clone())
    }

    /// Returns the tree that the work tree has while gates or a reviewer run.
    pub fn present(&self) -> &Oid {
        self.in_place.as_ref().unwrap_or(&self.tree)
    }
}
