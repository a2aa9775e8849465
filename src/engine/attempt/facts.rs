//! Holds the facts about the attempt that this process runs.

use crate::guard::SeenMove;
use crate::names::Oid;
use crate::protect::user_refs::OwnMove;
use crate::protect::{Held, LeftList, StashList, StoryList, UserRefs};

/// Facts about an attempt, in memory: the attempt can change what is in the loop's directory. A process that completes
/// what another one began has none.
#[derive(Default)]
pub(in crate::engine) struct Facts {
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

/// Moves of refs by an attempt, as the guard saw them.
#[derive(Default)]
pub(in crate::engine) struct GuardedMoves {
    /// The moves that were made.
    pub made: Vec<OwnMove>,
    /// The stash entries that it refused.
    pub refused_stash: Vec<Oid>,
}

impl GuardedMoves {
    /// Returns what these moves are, as the guard recorded them.
    pub fn of(moves: &[SeenMove]) -> Self {
        let target = |moved: &SeenMove| Oid::parse(moved.new.as_deref()?);
        let (refused, made): (Vec<_>, Vec<_>) = moves.iter().partition(|moved| moved.refused);
        Self {
            made: made
                .into_iter()
                .filter_map(|moved| Some((moved.name.clone(), target(moved)?)))
                .collect(),
            refused_stash: refused
                .into_iter()
                .filter(|moved| moved.name == "refs/stash")
                .filter_map(target)
                .collect(),
        }
    }
}
