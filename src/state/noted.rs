//! Where a person has gone since the last checkpoint, according to git's hooks and to plain files.

use serde::{Deserialize, Serialize};

use super::State;
use crate::git::RepoLayout;
use crate::names::{Oid, short_branch};

/// What git's hooks have noted about what a person did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noted {
    /// Where HEAD is, when it is not on the loop's branch: another branch, or a short object id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub away: Option<String>,
    /// The tip of the loop's branch that the commits lead to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tip: Option<Oid>,
    /// Commits above the checkpoint that no attempt has made.
    #[serde(default)]
    pub commits: usize,
}

/// Finds the loop's own work tree, if it is there.
#[must_use]
pub fn work_tree_of(state: &State) -> Option<RepoLayout> {
    RepoLayout::of_work_tree(state.worktree.as_path())
}

/// Returns the number of commits that git's hooks have noted, if the branch is still where they lead to.
#[must_use]
pub fn commits(state: &State) -> usize {
    let (Some(noted), Some(layout)) = (&state.noted, work_tree_of(state)) else {
        return 0;
    };
    let is_there = layout.has_hidden_refs() || layout.loose(&state.change.branch_ref()) == noted.tip;
    if is_there { noted.commits } else { 0 }
}

/// Returns where HEAD is in the loop's work tree, if it is not on the loop's branch.
#[must_use]
pub fn away(state: &State) -> Option<String> {
    match work_tree_of(state)?.head().target() {
        Some(head) if head == state.change.branch_ref() => None,
        Some(head) => Some(shown(head)),
        None => state.noted.as_ref()?.away.clone(),
    }
}

/// Shortens HEAD: to a branch, or to the beginning of an object id.
#[must_use]
pub fn shown(head: &str) -> String {
    match head.strip_prefix("refs/") {
        Some(_) => short_branch(head).to_owned(),
        None => head.chars().take(12).collect(),
    }
}
