//! The state that a guard keeps, and the place of its hooks.

use std::path::Path;

use crate::names::{Change, Oid};
use crate::slot::Slot;

/// Directory of the hooks, in the slot; it exists only during an attempt.
pub(super) const HOOKS: &str = "hooks";

/// The state at the beginning of an attempt, as far as the guard needs it.
#[derive(Clone, Copy, Debug)]
pub struct Rail<'a> {
    /// The slot of the attempt.
    pub slot: &'a Slot,
    /// The change.
    pub change: &'a Change,
    /// The git directory of the loop's work tree.
    pub git_dir: &'a Path,
    /// The git directory that all work trees share.
    pub common_dir: &'a Path,
    /// The directory of the user's own hooks; `None` if only git can find it.
    pub users_hooks: Option<&'a Path>,
    /// The checkpoint that the loop's branch must keep.
    pub checkpoint: &'a Oid,
    /// True if the loop has no branch of its own: nothing is committed during an attempt.
    pub in_place: bool,
    /// True if other work trees share the stash.
    pub shares_stash: bool,
    /// The full names of the existing branches.
    pub branches: &'a [&'a str],
    /// The entries of the stash.
    pub stashes: &'a [Oid],
}
