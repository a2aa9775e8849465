//! Holds the facts about the attempt that this process runs.

use crate::names::Oid;
use crate::protect::{Held, StashList, StoryList, UserRefs};
use crate::refs::OwnMove;

/// The name of an attempt as the subject of a message.
pub(in crate::engine) const ATTEMPT: &str = "the attempt";

/// Facts about an attempt, in memory: the attempt can change files in the loop's directory. A process that completes
/// the work of another process has none.
#[derive(Default)]
pub(crate) struct Facts {
    /// The part of the attempt's record that decides which commands run after it.
    pub held: Option<Held>,
    /// The user's refs before the attempt.
    pub refs: Option<UserRefs>,
    /// The stash before the attempt.
    pub stash: Option<StashList>,
    /// The story list before the attempt.
    pub list: Option<StoryList>,
    /// The attempt's own version of the list, if that was undone.
    pub left_list: Option<LeftList>,
    /// The moves of refs by the attempt, as the guard saw them.
    pub made: Vec<OwnMove>,
}

/// A commit with an attempt's version of the list, parts of which were undone.
#[derive(Clone, Debug)]
pub(crate) struct LeftList {
    /// The ref that keeps the commit until the attempt has its own ref.
    pub name: String,
    /// The commit, with all files as the attempt left them.
    pub commit: Oid,
}
