//! `abort`: restores the state before `start`; a ref keeps the loop's work.

use super::put_away::PutAway;
use super::{leave, side};
use crate::engine::position::refuse_operation;
use crate::engine::steps::finish_refusal::FinishRefusal;
use crate::engine::transition::{
    self, ABORT_TRASH, Known, ORIGINAL_INDEX, PULL_TRASH, final_state, original_now, restore_original_index,
};
use crate::engine::{Loop, lifecycle_hooks, staged_content};
use crate::error::{Error, refuse};
use crate::fs::target_of;
use crate::state::{EndPlan, EndStep, Intent};

/// Restores HEAD, index and work tree to their state before the loop, and closes the loop. Keeps the present state as
/// `refs/ralph/<change>/finished`. Two scans of the work tree. Removes the loop's own work tree, if it has one, as none
/// existed before.
///
/// # Errors
/// If the user is needed (exit 7): HEAD has moved, or the original branch has moved, is gone or is checked out
/// in another work tree. Nothing is changed then.
pub async fn abort(open: &mut Loop<'_>) -> Result<(), Error> {
    close(open).await?;
    Box::pin(leave::take_away(open)).await?;
    Ok(())
}

/// Does the same, but leaves the loop's own work tree in place.
pub(super) async fn close(open: &mut Loop<'_>) -> Result<(), Error> {
    open.require_live()?;
    let (plan, known) = if open.state.has_own_work_tree() {
        (Box::pin(leave::plan(open, None)).await?, Known::fresh())
    } else {
        plan_in_place(open).await?
    };
    Box::pin(side::remove_all(open)).await?;
    let (put_away, finished) = (PutAway::before(open, ABORT_TRASH)?, plan.finished.clone());
    transition::take(open, Intent::End(plan), known).await?;
    Box::pin(put_away.tell(open, &finished)).await?;
    if !open.state.has_own_work_tree() {
        Box::pin(PutAway::all(open, PULL_TRASH).give_back(open)).await?;
    }
    lifecycle_hooks::tell_hooks(open, None).await?;
    Ok(())
}

/// Keeps what the user's index has got since the loop began, and nothing else has: the original index replaces it. Other
/// strategies than stash work with that index, and every step keeps it.
async fn keep_staged(open: &Loop<'_>) -> Result<(), Error> {
    let before = &open.state.here.before;
    if open.state.has_branch() || !before.index {
        return Ok(());
    }
    let original = open.file(ORIGINAL_INDEX);
    if target_of(&original)?.is_none() {
        restore_original_index(open.git(), before.anchor.as_ref(), &open.store).await?;
    }
    let repo = open.repo().with_users_index();
    staged_content::keep_before_reset(open, &repo, &original).await
}

/// Makes the plan to abort a loop in its work tree, which stays even if it is the loop's own.
pub(super) async fn plan_in_place(open: &Loop<'_>) -> Result<(EndPlan, Known), Error> {
    refuse_operation(open.repo()).await?;
    let position = open.position().await?;
    let tip = position.require_tip(&open.state)?;
    if original_now(open.repo(), &open.state).await? != open.state.common.original_head {
        return refuse(FinishRefusal::OriginalMoved {
            change: open.change().to_string(),
            branch: open.state.original_name(),
            is_away: open.state.has_branch(),
        });
    }
    keep_staged(open).await?;
    let now = open.read_work_tree().await?;
    let what = "what was there when the loop was aborted";
    let finished = final_state(open, &tip, &now.tree, what).await?;
    let plan = EndPlan {
        tip: Some(tip),
        ..EndPlan::new(EndStep::Abort, finished)
    };
    let known = Known {
        reading: Some(now),
        ..Known::fresh()
    };
    Ok((plan, known))
}
