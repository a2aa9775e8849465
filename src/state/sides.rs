//! Tells the loops of the user from those that work on one story of a change beside others.

use std::path::Path;

use super::{StateError, changes};
use crate::names::Change;

/// Returns the loops of the user that have a state file, sorted: a side is none, as long as there is a loop for which it works.
pub fn loops(common_dir: &Path) -> Result<Vec<Change>, StateError> {
    Ok(loops_among(&changes(common_dir)?))
}

/// Returns the loops of the user among all that there are.
pub fn loops_among(all: &[Change]) -> Vec<Change> {
    let is_side = |change: &Change| change.side_of().is_some_and(|(of, _)| all.contains(&of));
    all.iter().filter(|change| !is_side(change)).cloned().collect()
}

/// Returns the sides of a change that have a state file, in the order of their places.
pub fn sides(common_dir: &Path, change: &Change) -> Result<Vec<Change>, StateError> {
    let mut sides = changes(common_dir)?;
    sides.retain(|side| side.side_of().is_some_and(|(of, _)| of == *change));
    sides.sort_by_key(|side| side.side_of().map(|(_, place)| place));
    Ok(sides)
}
