//! Holds the facts about the attempt that this process runs.

use crate::names::Oid;
use crate::protect::{Held, StashList, StoryList, UserRefs};
use crate::refs::OwnMove;

/// The name of an attempt as the subject of a message.
pub(in crate::engine) const ATTEMPT: &str = "the attempt";

/// Facts about an attempt, in memory: the attempt can change what is in the loop's directory. A process that completes
/// what another one began has none.
#[derive(Default)]
pub(crate) struct Facts {
    /// The part of its record that decides what is run after it.
    pub held: Option<Held>,
    /// The user's refs before it.
    pub refs: Option<UserRefs>,
    /// The stash before it.
    pub stash: Option<StashList>,
    /// The story list before it.
    pub list: Option<StoryList>,
    /// Its own version of the list, if that was put back.
    pub left_list: Option<LeftList>,
    /// The moves of refs that it made, as the guard saw them.
    pub made: Vec<OwnMove>,
}

/// A commit with an attempt's version of the list, where something of that was put back.
#[derive(Clone, Debug)]
pub(crate) struct LeftList {
    /// The ref that keeps it until the attempt has its own.
    pub name: String,
    /// The commit, with all that the attempt left.
    pub commit: Oid,
}
