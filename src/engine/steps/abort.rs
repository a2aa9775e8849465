//! `abort`: goes back to the state before `start`; a ref keeps the loop's work.

use super::put_away::PutAway;
use super::{leave, side};
use crate::engine::position::refuse_operation;
use crate::engine::steps::finish_refusal::FinishRefusal;
use crate::engine::transition::{self, ABORT_TRASH, Known, final_state, original_now};
use crate::engine::{Loop, lifecycle_hooks};
use crate::error::{Error, refuse};
use crate::events::What;
use crate::state::{EndPlan, EndStep, Intent};

/// Restores HEAD, index and work tree to their state before the loop, and closes the loop. The present state is kept as
/// `refs/ralph/<change>/finished`. Two scans of the work tree. A work tree that the loop made for itself is left, as
/// there was none before.
///
/// # Errors
/// If the user is needed (exit 7): HEAD has moved, or the original branch has moved, is gone or is checked out
/// in another work tree. Nothing is changed then.
pub async fn abort(open: &mut Loop<'_>) -> Result<(), Error> {
    open.require_live()?;
    if !open.state.has_own_work_tree() {
        return abort_in_place(open).await;
    }
    let plan = Box::pin(leave::plan(open, None)).await?;
    Box::pin(side::remove_all(open)).await?;
    transition::take(open, Intent::End(plan), Known::fresh()).await?;
    lifecycle_hooks::tell_hooks(open, None).await?;
    Box::pin(leave::take_away(open)).await?;
    Ok(())
}

/// Does the same in the loop's work tree, even if that is its own: it stays.
pub(super) async fn abort_in_place(open: &mut Loop<'_>) -> Result<(), Error> {
    for event in abort_untold(open).await? {
        open.emit(event);
    }
    lifecycle_hooks::tell_hooks(open, None).await?;
    Ok(())
}

/// Does the same, and returns the events.
pub(super) async fn abort_untold(open: &mut Loop<'_>) -> Result<Vec<What>, Error> {
    open.require_live()?;
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
    let now = open.read_work_tree().await?;
    let (what, tree) = ("what was there when the loop was aborted", now.tree.clone());
    let finished = final_state(open, &tip, &now.tree, what).await?;
    let intent = Intent::End(EndPlan {
        tip: Some(tip),
        ..EndPlan::new(EndStep::Abort, finished)
    });
    let known = Known {
        reading: Some(now),
        ..Known::fresh()
    };
    Box::pin(side::remove_all(open)).await?;
    let put_away = PutAway::before(open, ABORT_TRASH)?;
    let events = transition::take_untold(open, intent, known).await?;
    put_away.tell(open, &tree).await?;
    Ok(events)
}
