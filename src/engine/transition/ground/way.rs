//! Describes the way to a ground, and the traces of a step.

use crate::engine::position::Position;
use crate::engine::transition::refs::Refs;
use crate::error::Error;
use crate::refs::KeptRef;

/// The records of what the work tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Records {
    /// There are none of this loop here yet.
    First,
    /// There are those of the last checkpoint.
    Again,
}

/// The traces of a step.
#[derive(Default)]
pub(crate) struct Left {
    /// Short name of the branch with the work; `None` if HEAD is detached.
    pub branch: Option<String>,
    /// The work tree with the work, if that is not the one where the loop began.
    pub work_tree: Option<String>,
    /// The names under which commits are kept.
    pub kept: Vec<KeptRef>,
    /// Untracked paths that could not be restored.
    pub lost: Vec<Vec<u8>>,
    /// True if something of an attempt was undone.
    pub changed: bool,
    /// The reason why nothing was done.
    pub refused: Option<Error>,
}

/// The way to a ground: the moves of refs, where HEAD and the tip are, and the words for the reflog.
pub(crate) struct Way<'a> {
    pub refs: Refs,
    pub position: &'a Position,
    pub why: &'a str,
}
