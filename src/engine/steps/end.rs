//! The end of a loop. `finish --cleanup`, `finish --keep` and `abort` compute where it leads to; there is one way to get
//! there, for the command itself and after a crash.

use super::ground::{Ground, Known, Way};
use crate::engine::{Loop, journal, stash};
use crate::error::Error;
use crate::events::What;
use crate::names::Oid;
use crate::refs::Update;
use crate::state::{AbortPlan, CleanupPlan, ClosePlan, KeepPlan, LeavePlan, Progress};

/// The end of a loop: targets that can be reached from wherever an earlier try was cut off.
#[derive(Clone, Debug)]
pub(crate) struct End {
    how: How,
    /// The final state, kept as `refs/ralph/<change>/finished`.
    finished: Oid,
    /// The tip of the loop, which goes if it still is there; `None` if it stays.
    tip: Option<Oid>,
    /// What the loop leaves behind.
    ground: Ground,
}

/// The command that ends a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// `finish --cleanup`.
    Cleanup,
    /// `finish --keep`: the loop's stash entries stay.
    Keep,
    /// `abort`.
    Abort,
}

impl How {
    /// Returns its name in events.
    fn name(self) -> &'static str {
        match self {
            Self::Cleanup => "cleanup",
            Self::Keep => "keep",
            Self::Abort => "abort",
        }
    }

    /// Returns the words for the reflog.
    fn verb(self) -> &'static str {
        match self {
            Self::Cleanup => "finish",
            Self::Keep => "finish --keep",
            Self::Abort => "abort",
        }
    }
}

impl From<KeepPlan> for End {
    fn from(plan: KeepPlan) -> Self {
        Self {
            how: How::Keep,
            finished: plan.finished,
            tip: None,
            ground: Ground::Same,
        }
    }
}

impl From<ClosePlan> for End {
    fn from(plan: ClosePlan) -> Self {
        Self {
            how: if plan.keep { How::Keep } else { How::Cleanup },
            tip: Some(plan.finished.clone()),
            finished: plan.finished,
            ground: Ground::Same,
        }
    }
}

impl From<CleanupPlan> for End {
    fn from(plan: CleanupPlan) -> Self {
        Self {
            how: How::Cleanup,
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
            how: How::Abort,
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
                How::Cleanup
            } else {
                How::Abort
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
    let why = format!("ralph: {} {}", how.verb(), open.change());
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
    if how != How::Keep {
        stash::drop_all(open).await?;
    }
    if let Some(delete) = delete {
        open.context.repo.git.update_refs(&[delete], &why).await?;
        open.view.drop_refs();
    }
    open.advance(Progress::close)?;
    journal::end(open)?;
    Ok(What::Finished {
        how: how.name().to_owned(),
        branch: left.branch,
        kept,
        worktree: left.work_tree,
    })
}
