//! The end of a loop. `finish --cleanup`, `finish --keep` and `abort` compute where it leads to; there is one way to get
//! there, for the command itself and after a crash.

use super::ground::{Ground, Known, Way};
use crate::engine::{Loop, journal, stash};
use crate::error::Error;
use crate::events::What;
use crate::names::Oid;
use crate::refs::Update;
use crate::state::{AbortPlan, CleanupPlan, ClosePlan, Ending, KeepPlan, LeavePlan, Progress};

/// The end of a loop: targets that can be reached from wherever an earlier try was cut off.
#[derive(Clone, Debug)]
pub(crate) struct End {
    how: Ending,
    /// The final state, kept as `refs/ralph/<change>/finished`.
    finished: Oid,
    /// The tip of the loop, which goes if it still is there; `None` if it stays.
    tip: Option<Oid>,
    /// The place that the loop leaves behind.
    ground: Ground,
}

/// Returns the words for the reflog.
fn verb(how: Ending) -> &'static str {
    match how {
        Ending::Cleanup => "finish",
        Ending::Keep => "finish --keep",
        Ending::Abort => "abort",
    }
}

impl From<KeepPlan> for End {
    fn from(plan: KeepPlan) -> Self {
        Self {
            how: Ending::Keep,
            finished: plan.finished,
            tip: None,
            ground: Ground::Same,
        }
    }
}

impl From<ClosePlan> for End {
    fn from(plan: ClosePlan) -> Self {
        Self {
            how: if plan.keep { Ending::Keep } else { Ending::Cleanup },
            tip: Some(plan.finished.clone()),
            finished: plan.finished,
            ground: Ground::Same,
        }
    }
}

impl From<CleanupPlan> for End {
    fn from(plan: CleanupPlan) -> Self {
        Self {
            how: Ending::Cleanup,
            finished: plan.finished,
            tip: plan.tip,
            ground: Ground::Original {
                head: plan.original,
                merged: plan.merged,
                staged: plan.staged,
            },
        }
    }
}

impl From<AbortPlan> for End {
    fn from(plan: AbortPlan) -> Self {
        Self {
            how: Ending::Abort,
            finished: plan.finished,
            tip: Some(plan.tip),
            ground: Ground::Beginning,
        }
    }
}

impl From<LeavePlan> for End {
    fn from(plan: LeavePlan) -> Self {
        Self {
            how: if plan.into.is_some() {
                Ending::Cleanup
            } else {
                Ending::Abort
            },
            finished: plan.finished,
            tip: Some(plan.tip),
            ground: Ground::OwnWorkTree(plan.into),
        }
    }
}

/// Ends the loop, and emits the event. Everything in it can be done twice.
///
/// # Errors
/// If something cannot be moved or written; the next command goes on from there.
pub(crate) async fn apply(open: &mut Loop<'_>, end: impl Into<End>, known: Known) -> Result<(), Error> {
    let finished = apply_untold(open, end, known).await?;
    open.emit(finished);
    Ok(())
}

/// Ends the loop, and returns the event.
///
/// # Errors
/// As [`apply`].
pub(super) async fn apply_untold(
    open: &mut Loop<'_>,
    end: impl Into<End>,
    known: Known,
) -> Result<What, Error> {
    let End {
        how,
        finished,
        tip,
        ground,
    } = end.into();
    let why = format!("ralph: {} {}", verb(how), open.change());
    let kept = open.change().ralph_ref("finished");
    let keep = Update::Set {
        name: kept.clone(),
        new: finished.clone(),
    };
    let position = open.position().await?;
    let old = tip.filter(|tip| position.tip.as_ref() == Some(tip));
    let mut delete = old.map(|old| Update::Delete {
        name: open.state.tip_ref(),
        old,
    });
    let mut refs = vec![keep];
    if matches!(ground, Ground::Same) {
        // Nothing that could fail lies between.
        refs.extend(delete.take());
    }
    let way = Way {
        finished: &finished,
        refs: &refs,
        position: &position,
        why: &why,
    };
    let left = ground.reach(open, way, known).await?;
    open.view.drop_all();
    if how != Ending::Keep {
        stash::drop_all(open).await?;
    }
    if let Some(delete) = delete {
        open.context.repo.git.update_refs(&[delete], &why).await?;
        open.view.drop_refs();
    }
    open.state.closed = Some(how);
    open.advance(Progress::close)?;
    journal::end(open)?;
    Ok(What::Finished {
        how: how.name().to_owned(),
        branch: left.branch,
        kept,
        worktree: left.work_tree,
    })
}
