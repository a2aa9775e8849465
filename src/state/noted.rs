//! The user's moves of HEAD since the last checkpoint, according to git's hooks and to plain files.

use serde::{Deserialize, Serialize};

use super::State;
use crate::git::RepoLayout;
use crate::names::{Oid, short_branch};

/// The user's actions as recorded by git's hooks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noted {
    /// The position of HEAD if it is not on the loop's branch: another branch, or a short object id.
    pub away: Option<String>,
    /// The tip of the loop's branch after the user's commits.
    pub tip: Option<Oid>,
    /// Number of commits above the checkpoint that no attempt has made.
    #[serde(default)]
    pub commits: usize,
}

/// Returns the loop's own work tree, if it exists.
pub fn work_tree_of(state: &State) -> Option<RepoLayout> {
    RepoLayout::of_work_tree(state.work_tree())
}

/// Returns the number of commits that git's hooks have recorded, if the branch still has the recorded tip.
pub fn commits(state: &State) -> usize {
    let (Some(noted), Some(layout)) = (&state.here.noted, work_tree_of(state)) else {
        return 0;
    };
    if !state.has_branch() {
        return 0;
    }
    let is_there = layout.has_hidden_refs() || layout.loose(&state.change.branch_ref()) == noted.tip;
    if is_there { noted.commits } else { 0 }
}

/// Returns the position of HEAD in the loop's work tree, if it is not on the loop's branch.
pub fn away(state: &State) -> Option<String> {
    let own = state.loop_head().branch;
    match work_tree_of(state)?.head().target() {
        Some(head) if Some(head) == own.as_deref() => None,
        // The user may have made commits on a detached HEAD.
        Some(head) if own.is_none() && !head.starts_with("refs/") => None,
        Some(head) => Some(shown(head)),
        None => state.here.noted.as_ref()?.away.clone(),
    }
}

/// Shortens HEAD for messages: to the branch's short name, or to the beginning of an object id.
pub fn shown(head: &str) -> String {
    match head.strip_prefix("refs/") {
        Some(_) => short_branch(head).to_owned(),
        None => head.chars().take(12).collect(),
    }
}
