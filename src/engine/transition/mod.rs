//! A transition: where the refs, HEAD, index, files and the loop's state are after a step. A step computes it, and one
//! function makes it, for the command itself and after a crash.
//!
//! - `from_intent` reads it from an intent, which is what the state file remembers of it;
//! - `refs` moves refs and HEAD, and keeps commits under free names;
//! - `ground` has a file for each place where index and files can end;
//! - `edits` keeps what was edited after a step was cut off;
//! - `outcome` puts the result into the state and the stash, and makes the events.
//!
//! Every part can be done twice, and names what it needs before it changes anything.

mod edits;
mod final_state;
mod from_intent;
mod ground;
mod known;
mod original;
mod other_work_tree;
mod outcome;
mod refs;

use super::{Loop, journal};
use crate::error::Error;
use crate::events::What;
use crate::state::Intent;
use from_intent::Transition;
use ground::Way;

pub(super) use edits::{keep as keep_edits, since_cut_off as edits_since_cut_off};
pub(super) use final_state::{FINAL, final_state, work_tree_now};
pub(crate) use known::Known;
pub(super) use original::{ORIGINAL_INDEX, original_now, restore_original_index};
pub(super) use other_work_tree::{lock, target_index, work_tree_at};

/// Writes a step into the state, makes it, and emits its events.
///
/// # Errors
/// If something cannot be moved or written; the next command continues from there.
pub(super) async fn take(open: &mut Loop<'_>, intent: Intent, known: Known) -> Result<(), Error> {
    journal::begin(open, intent.clone())?;
    apply(open, intent, known).await
}

/// Makes a step that the state already has, and emits its events.
pub(super) async fn apply(open: &mut Loop<'_>, intent: Intent, known: Known) -> Result<(), Error> {
    for event in make(open, intent, known).await? {
        open.emit(event);
    }
    Ok(())
}

/// Makes a step that the state already has, and returns its events.
pub(super) async fn make(open: &mut Loop<'_>, intent: Intent, mut known: Known) -> Result<Vec<What>, Error> {
    let position = match known.position.take() {
        Some(position) => position,
        None => open.position().await?,
    };
    let Transition {
        why,
        refs,
        ground,
        outcome,
    } = Transition::of(open, intent, &position, &mut known).await?;
    let way = Way {
        refs,
        position: &position,
        why: &why,
    };
    let left = Box::pin(ground.reach(open, way, known)).await?;
    if let Some(error) = left.refused {
        // Nothing has changed: the step is off.
        open.state.here.restored = None;
        journal::end(open)?;
        return Err(error);
    }
    let told = Box::pin(outcome.enter(open, left, &why)).await?;
    journal::end(open)?;
    told.events(open).await
}
