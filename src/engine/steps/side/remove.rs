//! Removes a side whose work is taken in.

use super::take_in::keep;
use super::{made_by, open_side, was_taken_in};
use crate::engine::{Context, Loop, abort};
use crate::error::Error;
use crate::events::Silent;
use crate::fs::entries_of;
use crate::names::Change;
use crate::refs::Update;
use crate::state::{self, StateError};

/// Returns the sides of a change whose files are there, in the order of their places.
pub fn sides_of(context: &Context<'_>, change: &Change) -> Result<Vec<Change>, StateError> {
    let common_dir = &context.repo.common_dir;
    let mut sides = Vec::new();
    for side in state::changes(common_dir)? {
        if side.side_of().is_some_and(|(of, _)| of == *change) {
            sides.push(side);
        }
    }
    sides.sort_by_key(|side| side.side_of().map(|(_, place)| place));
    Ok(sides)
}

/// Closes a side as `abort` does, and deletes what says no more than the loop knows. What a user left in its work tree, what a
/// subagent did and what git ignores stay, and with them the files of the side.
pub async fn remove_side(mut side: Loop<'_>) -> Result<(), Error> {
    let tree = side.state.checkpoint_tree().clone();
    if side.state.is_live() {
        abort(&mut side).await?;
    }
    let change = side.change().clone();
    let (attempts, finished) = (change.ralph_ref("attempts/"), change.ralph_ref("finished"));
    let plain = ["start", "anchor"].map(|role| change.ralph_ref(role));
    let refs = side
        .git()
        .refs(&[change.ralph_ref("").trim_end_matches('/')])
        .await?;
    let mut gone = Vec::new();
    for found in &refs {
        let is_known = plain.contains(&found.name)
            || found.name.starts_with(&attempts)
            || found.name == finished && side.git().tree_of(&found.oid).await? == tree;
        if is_known {
            gone.push(Update::delete(found.name.clone(), found.oid.clone()));
        }
    }
    side.update_refs(&gone, &format!("ralph: {change} is taken in"))
        .await?;
    if gone.len() == refs.len() && entries_of(&side.site().trash())?.is_empty() {
        side.store.remove_files()?;
    }
    Ok(())
}

/// Removes the sides of a loop that ends. Attempts that were not taken in are kept.
pub(in crate::engine) async fn remove_all(open: &Loop<'_>) -> Result<(), Error> {
    for name in sides_of(&open.context, open.change())? {
        let Some(side) = open_side(open, &name, &Silent).await? else {
            continue;
        };
        if let Some(made) = made_by(&side).await?
            && !was_taken_in(open, &made)?
        {
            keep(open, &made, "the loop ends").await?;
        }
        Box::pin(remove_side(side)).await?;
    }
    Ok(())
}
