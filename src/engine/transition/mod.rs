//! A transition: the refs, HEAD, index, files and the loop's state after a step. A step writes its plan as the state's
//! intent before it changes anything; one function executes it, for the command itself and after a crash.
//!
//! - `from_intent` computes the phases from the intent, `endings` the phases of `finish` and `abort`;
//! - `phases` executes them in order: `other_work_tree`, refs and HEAD, `files`, HEAD, `index`;
//! - `edits` keeps edits made after a step was interrupted;
//! - `outcome` puts the result into the state and the stash, and makes the events.
//!
//! Every phase can be repeated, and checks its requirements before it changes anything.

mod edits;
mod endings;
mod files;
mod final_state;
mod from_intent;
mod index;
mod known;
mod original;
mod other_work_tree;
mod outcome;
mod phases;

use super::Loop;
use super::stories::short_names;
use crate::error::Error;
use crate::events::{News, What};
use crate::fs::Durability;
use crate::names::typed;
use crate::refs::KeptRef;
use crate::state::{Intent, State};
use phases::Transition;

pub(super) use edits::{keep as keep_edits, since_cut_off as edits_since_cut_off};
pub(crate) use files::place;
pub(super) use files::{ABORT_TRASH, PULL_TRASH};
pub(super) use final_state::{FINAL, final_state, merged, work_tree_now};
pub(crate) use known::Known;
pub(super) use original::{ORIGINAL_INDEX, original_now, restore_original_index};
pub(super) use other_work_tree::{target_at, target_index, work_tree_at};
pub(super) use outcome::{given_up, may_wait};

/// Writes a step into the state, executes it, and emits its events.
///
/// # Errors
/// If a ref or a file cannot be changed; the next command continues from there.
pub(super) async fn take(open: &mut Loop<'_>, intent: Intent, known: Known) -> Result<(), Error> {
    let events = take_untold(open, intent, known).await?;
    if open.state.is_live() {
        // The step may have brought back another list: positions in it name the stories from now on.
        open.context.observer.hear(News::Names(&short_names(&open.state)));
    }
    for event in events {
        open.emit(event);
    }
    Ok(())
}

/// Writes a step into the state, executes it, and returns its events.
pub(super) async fn take_untold(
    open: &mut Loop<'_>,
    intent: Intent,
    known: Known,
) -> Result<Vec<What>, Error> {
    if matches!(intent, Intent::End(_)) {
        keep_checkpoint(open).await?;
    }
    begin(&mut open.state, intent.clone());
    open.save()?;
    make(open, intent, known).await
}

/// Keeps the last checkpoint of a loop that ends under its own ref, if the loop's branch no longer contains it.
async fn keep_checkpoint(open: &Loop<'_>) -> Result<(), Error> {
    let (checkpoint, tip) = (open.state.checkpoint().clone(), open.position().await?.tip);
    let Some(tip) = tip else { return Ok(()) };
    // Git fails for a missing commit, and no ref can keep it.
    if open.git().is_ancestor(&checkpoint, &tip).await.unwrap_or(true) {
        return Ok(());
    }
    let name = open
        .change()
        .ralph_ref(&format!("replaced/{}", checkpoint.short()));
    let kept = open
        .keep_refs(&[KeptRef::new(name, checkpoint)], "ralph: the last checkpoint")
        .await?;
    let names: Vec<_> = kept.iter().map(|kept| typed(&kept.name)).collect();
    open.tell(format!(
        "{} no longer has the last checkpoint, which is kept: git log {}",
        open.state.common.branch,
        names.join(" ")
    ));
    Ok(())
}

/// Executes a step that the state already has, and emits its events.
pub(super) async fn apply(open: &mut Loop<'_>, intent: Intent, known: Known) -> Result<(), Error> {
    for event in make(open, intent, known).await? {
        open.emit(event);
    }
    Ok(())
}

/// Executes a step that the state already has, and returns its events.
async fn make(open: &mut Loop<'_>, intent: Intent, mut known: Known) -> Result<Vec<What>, Error> {
    let position = match known.position.take() {
        Some(position) => position,
        None => open.position().await?,
    };
    let transition = Transition::of(open, &intent, &position, &mut known).await?;
    let (why, stash) = (transition.why.clone(), known.stash.take());
    let mut left = Box::pin(transition.reach(open, &position, known)).await?;
    let refused = left.refused.take();
    let mut events = Vec::new();
    if refused.is_some() {
        (open.state.here.restored, open.state.here.is_unreviewed) = (None, false);
    } else {
        events = Box::pin(outcome::enter(open, &intent, left, stash, &position, &why)).await?;
    }
    open.state.intent = None;
    // If a power cut brings the intent back, the plan is applied once more.
    open.save_for(Durability::Whole)?;
    if let Some(refused) = refused {
        return Err(refused.into());
    }
    if let Intent::End(plan) = &intent {
        events.extend(endings::advice(open, plan, &position.head).await?);
    }
    Ok(events)
}

/// Records the plan of a step in the state; the caller saves.
fn begin(state: &mut State, intent: Intent) {
    // After any other step the work tree is no longer as it was restored.
    let here = &mut state.here;
    (here.restored, here.is_unreviewed) = match &intent {
        Intent::Restore(plan) => (plan.attempt.clone(), plan.is_unreviewed),
        _ => (None, false),
    };
    state.intent = Some(intent);
}
