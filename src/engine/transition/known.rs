//! Values that the command which computed a step already has.

use crate::engine::position::Position;
use crate::git::Repo;
use crate::git::worktree::Reading;
use crate::names::Oid;
use crate::protect::StashList;

/// Values that the command which computed the step already has; empty after a crash.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// True if no other process has used the repository since the step was computed.
    pub is_fresh: bool,
    /// The position of HEAD and the tip.
    pub position: Option<Position>,
    /// The work tree, if the working index was just read from it.
    pub reading: Option<Reading>,
    /// The tree of that reading.
    pub tree: Option<Oid>,
    /// The work tree that gets the work, which the command has locked.
    pub target: Option<Repo>,
    /// The stash before the attempt.
    pub stash: Option<StashList>,
}

impl Known {
    /// Returns the values of a command that has just computed a step.
    pub fn fresh() -> Self {
        Self {
            is_fresh: true,
            ..Self::default()
        }
    }
}
