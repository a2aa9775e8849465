//! Distinguishes the user's loops from those that work on one story of a change beside others.

use std::path::Path;

use super::{StateError, Store, changes};
use crate::names::Change;

/// Returns the loops of the user that have a state file, sorted.
pub fn loops(common_dir: &Path) -> Result<Vec<Change>, StateError> {
    Ok(loops_among(common_dir, &changes(common_dir)?))
}

/// Returns the user's loops among `all`.
pub fn loops_among(common_dir: &Path, all: &[Change]) -> Vec<Change> {
    let all = all.iter().filter(|change| !is_side(common_dir, change));
    all.cloned().collect()
}

/// Returns the sides of a change that have a state file, in the order of their places.
pub fn sides(common_dir: &Path, change: &Change) -> Result<Vec<Change>, StateError> {
    let mut sides = changes(common_dir)?;
    sides.retain(|side| side.side_of().is_some_and(|(of, _)| of == *change) && is_side(common_dir, side));
    sides.sort_by_key(|side| side.side_of().map(|(_, place)| place));
    Ok(sides)
}

/// Returns whether a loop is a side. Reads a file only for names that a side can have.
pub fn is_side(common_dir: &Path, change: &Change) -> bool {
    let load = || Store::new(common_dir, change).load().ok().flatten();
    change.side_of().is_some() && load().is_some_and(|state| state.here.is_side)
}
