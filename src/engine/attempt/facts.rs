//! Holds the facts about the attempt that this process runs.

use crate::protect::user_refs::OwnMove;
use crate::protect::{Held, LeftList, StashList, StoryList, UserRefs};

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
