//! Reads a transition from the intent of a step.

use super::ground::{Ground, Records};
use super::known::Known;
use super::outcome::{Closing, HeadOn, Outcome};
use super::refs::Refs;
use crate::engine::Loop;
use crate::engine::position::Position;
use crate::engine::stash;
use crate::error::Error;
use crate::names::{Change, Oid};
use crate::protect::UserRefs;
use crate::refs::{KeptRef, Update};
use crate::state::{
    AdoptPlan, CheckpointPlan, EndPlan, EndStep, Ending, Intent, RestorePlan, RevertPlan, SavePlan, StartPlan,
};

/// The targets of a step, which can be reached from wherever an earlier try was cut off.
pub(super) struct Transition {
    /// The words for the reflog.
    pub why: String,
    /// The refs that move, and the commits that are kept.
    pub refs: Refs,
    /// The place of HEAD, index and files.
    pub ground: Ground,
    /// The state of the loop.
    pub outcome: Outcome,
}

impl Transition {
    /// Reads the transition; scans the work tree if the step needs to know it and the command does not.
    pub async fn of(
        open: &Loop<'_>,
        intent: Intent,
        position: &Position,
        known: &mut Known,
    ) -> Result<Self, Error> {
        let end = match intent {
            Intent::Start(plan) => return Ok(start(open, &plan, position, known)),
            Intent::Checkpoint(plan) => return Ok(checkpoint(open, plan, position)),
            Intent::Save(plan) => return Ok(save(open, plan)),
            Intent::Revert(plan) => return Ok(revert(open, plan, position, known)),
            Intent::Restore(plan) => return Ok(restore(open, plan)),
            Intent::Adopt(plan) => return adopt(open, plan, position, known).await,
            Intent::End(plan) => plan,
        };
        Ok(close(open, end, position))
    }
}

/// Returns the move of the loop's tip to a commit, unless it is there.
fn tip_to(open: &Loop<'_>, new: &Oid, position: &Position, old: Option<Oid>) -> Option<Update> {
    (position.tip.as_ref() != Some(new)).then(|| Update::Move {
        name: open.state.tip_ref(),
        new: new.clone(),
        old,
    })
}

fn start(open: &Loop<'_>, plan: &StartPlan, position: &Position, known: &mut Known) -> Transition {
    let change = &open.state.change;
    let set = |name: &str, new: &Oid| Update::Set {
        name: change.ralph_ref(name),
        new: new.clone(),
    };
    let before = &open.state.here.before;
    let mut updates = vec![set("start", &before.snapshot)];
    updates.extend(before.anchor.as_ref().map(|anchor| set("anchor", anchor)));
    updates.extend(tip_to(open, open.state.checkpoint(), position, plan.tip.clone()));
    Transition {
        why: format!("ralph: start {change}"),
        refs: Refs {
            kept: plan.kept.clone(),
            updates,
            known: known.refs.take(),
            ..Refs::default()
        },
        ground: Ground::Recorded(Records::First),
        outcome: Outcome::Begun,
    }
}

fn checkpoint(open: &Loop<'_>, plan: CheckpointPlan, position: &Position) -> Transition {
    let why = match &plan.story {
        Some(story) => format!("ralph: checkpoint: {story}"),
        None => "ralph: checkpoint: edits".to_owned(),
    };
    let update = tip_to(open, &plan.commit, position, plan.tip.clone());
    Transition {
        why,
        refs: Refs {
            updates: update.into_iter().collect(),
            put_back: plan.put_back.clone(),
            // Without a commit to keep there is no name that could be in use.
            known: plan.kept.is_empty().then(UserRefs::default),
            kept: plan.kept.clone(),
        },
        ground: Ground::Recorded(Records::Again),
        outcome: Outcome::Checkpoint(plan),
    }
}

fn save(open: &Loop<'_>, plan: SavePlan) -> Transition {
    let keep = Update::Set {
        name: stash::kept(open, &plan.point.story),
        new: plan.point.entry.clone(),
    };
    Transition {
        why: "ralph: the state before an attempt".to_owned(),
        refs: Refs {
            updates: vec![keep],
            ..Refs::default()
        },
        ground: Ground::Unmoved,
        outcome: Outcome::Saved(plan),
    }
}

fn revert(open: &Loop<'_>, plan: RevertPlan, position: &Position, known: &Known) -> Transition {
    let checkpoint = open.state.checkpoint().clone();
    let update = tip_to(open, &checkpoint, position, position.tip.clone());
    // If the refs are unknown, no existing name is expected.
    let refs = open.view.refs();
    open.view.drop_users_refs();
    let refs = refs.or_else(|| known.is_fresh.then(UserRefs::default));
    Transition {
        why: format!("ralph: revert {}@{}", plan.story, plan.attempt),
        refs: Refs {
            kept: plan.kept.clone(),
            updates: update.into_iter().collect(),
            put_back: plan.put_back.clone(),
            known: refs,
        },
        ground: Ground::BeforeAttempt {
            trash: plan.trash.clone(),
            kept: open.state.change.attempt_ref(&plan.story, plan.attempt),
        },
        outcome: Outcome::Reverted(plan),
    }
}

fn restore(open: &Loop<'_>, plan: RestorePlan) -> Transition {
    open.view.note_at_checkpoint(false);
    Transition {
        why: String::new(),
        refs: Refs::default(),
        ground: Ground::Files {
            tree: plan.tree,
            trash: plan.trash,
        },
        outcome: Outcome::Going,
    }
}

/// Goes to the checkpoint of a loop that comes from a remote.
async fn adopt(
    open: &Loop<'_>,
    plan: AdoptPlan,
    position: &Position,
    known: &mut Known,
) -> Result<Transition, Error> {
    let checkpoint = open.checkpoint();
    let change = open.state.change.clone();
    let now = open.read_work_tree().await?;
    known.reading = Some(now);
    let mut updates = vec![Update::Set {
        name: change.ralph_ref("start"),
        new: open.state.here.before.snapshot.clone(),
    }];
    updates.extend(attempts_at(open, &change, &plan.attempts).await?);
    updates.extend(tip_to(open, &checkpoint.commit, position, position.tip.clone()));
    Ok(Transition {
        why: format!("ralph: pull {change}"),
        refs: Refs {
            kept: plan.kept,
            updates,
            ..Refs::default()
        },
        ground: Ground::Adopted {
            trash: "pull".to_owned(),
            kept: change.ralph_ref("replaced"),
            records: if plan.is_known {
                Records::Again
            } else {
                Records::First
            },
        },
        outcome: Outcome::Going,
    })
}

/// Returns the moves of the refs that keep attempts to what they have to be.
async fn attempts_at(open: &Loop<'_>, change: &Change, attempts: &[KeptRef]) -> Result<Vec<Update>, Error> {
    let refs = open.context.repo.git.refs(&[&change.ralph_ref("")]).await?;
    let at = |name: &str| {
        let found = refs.iter().find(|found| found.name == name);
        found.map(|found| found.oid.clone())
    };
    let moved = attempts
        .iter()
        .map(|attempt| (attempt, at(&attempt.name)))
        .filter(|(attempt, old)| old.as_ref() != Some(&attempt.oid));
    let moves = moved.map(|(attempt, old)| Update::Move {
        name: attempt.name.clone(),
        new: attempt.oid.clone(),
        old,
    });
    Ok(moves.collect())
}

fn close(open: &Loop<'_>, end: EndPlan, position: &Position) -> Transition {
    let how = end.how();
    let verb = match how {
        Ending::Cleanup => "finish",
        Ending::Keep => "finish --keep",
        Ending::Abort => "abort",
        Ending::Aside => "run --any",
    };
    let kept = open.change().ralph_ref("finished");
    let keep = Update::Set {
        name: kept.clone(),
        new: end.finished.clone(),
    };
    let tip = match end.step {
        EndStep::Close => Some(end.finished.clone()),
        _ => end.tip,
    };
    let old = tip.filter(|tip| position.tip.as_ref() == Some(tip));
    let mut delete = old.map(|old| Update::Delete {
        name: open.state.tip_ref(),
        old,
    });
    let mut updates = vec![keep];
    if matches!(end.step, EndStep::Keep | EndStep::Close) {
        // Nothing that could fail lies between.
        updates.extend(delete.take());
    }
    let ground = match end.step {
        EndStep::Keep | EndStep::Close => Ground::Same,
        EndStep::Cleanup => Ground::Original {
            head: end.original,
            merged: end.merged,
            staged: end.staged,
        },
        EndStep::Abort => Ground::Beginning,
        EndStep::Leave => Ground::OwnWorkTree {
            into: end.into,
            finished: end.finished,
        },
    };
    Transition {
        why: format!("ralph: {verb} {}", open.change()),
        refs: Refs {
            updates,
            ..Refs::default()
        },
        ground,
        outcome: Outcome::Closed(Closing {
            how,
            kept,
            delete,
            advise_on: (end.step == EndStep::Keep).then_some(HeadOn(end.head)),
        }),
    }
}
