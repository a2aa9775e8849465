//! Computes the phases of a transition from the intent of a step.

use super::endings;
use super::files::{Files, PULL_TRASH};
use super::index::Index;
use super::known::Known;
use super::phases::Transition;
use crate::engine::Loop;
use crate::engine::position::Position;
use crate::engine::stash;
use crate::error::Error;
use crate::git::oid_of;
use crate::names::Oid;
use crate::protect::UserRefs;
use crate::refs::{KeptRef, Update};
use crate::state::{AdoptPlan, CheckpointPlan, Intent, RedoPlan, RevertPlan, StartPlan};

impl Transition {
    /// Computes the phases; scans the work tree if the step needs its tree and the command has not read it.
    pub async fn of(
        open: &Loop<'_>,
        intent: &Intent,
        position: &Position,
        known: &mut Known,
    ) -> Result<Self, Error> {
        Ok(match intent {
            Intent::Start(plan) => start(open, plan, position, known),
            Intent::Checkpoint(plan) => checkpoint(open, plan, position),
            Intent::Save(plan) => Self {
                why: "ralph: the state before an attempt".to_owned(),
                updates: vec![Update::set(
                    stash::kept(open, &plan.point.story),
                    plan.point.entry.clone(),
                )],
                ..Self::default()
            },
            Intent::Revert(plan) => revert(open, plan, position, known),
            Intent::Restore(plan) => {
                open.view.note_at_checkpoint(false);
                let (tree, trash) = (plan.tree.clone(), plan.trash.clone());
                Self {
                    files: Some(Files::Attempt { tree, trash }),
                    ..Self::default()
                }
            }
            Intent::Redo(plan) => redo(open, plan, position).await?,
            Intent::Adopt(plan) => {
                known.reading = Some(open.read_work_tree().await?);
                adopt(open, plan, position).await?
            }
            Intent::End(plan) => endings::phases(open, plan, position),
        })
    }
}

/// Returns the move of the loop's tip to a commit, from any present value. Commits made there since the step was
/// interrupted are kept (`edits`).
fn tip_to(open: &Loop<'_>, new: &Oid, position: &Position) -> Vec<Update> {
    let (name, new, old) = (open.state.tip_ref(), new.clone(), position.tip.clone());
    if old.as_ref() == Some(&new) {
        return Vec::new();
    }
    vec![Update::Move { name, new, old }]
}

fn set(open: &Loop<'_>, name: &str, new: &Oid) -> Update {
    Update::set(open.change().ralph_ref(name), new.clone())
}

fn start(open: &Loop<'_>, plan: &StartPlan, position: &Position, known: &Known) -> Transition {
    let before = &open.state.here.before;
    let mut updates = vec![set(open, "start", &before.snapshot)];
    updates.extend(before.anchor.as_ref().map(|anchor| set(open, "anchor", anchor)));
    updates.extend(tip_to(open, open.state.checkpoint(), position));
    Transition {
        why: format!("ralph: start {}", open.change()),
        kept: plan.kept.clone(),
        updates,
        // The command has chosen free names.
        known: known.is_fresh.then(UserRefs::default),
        head: Some(open.state.loop_head()),
        index: Some(Index::First),
        ..Transition::default()
    }
}

fn checkpoint(open: &Loop<'_>, plan: &CheckpointPlan, position: &Position) -> Transition {
    let what = plan.story.as_deref().unwrap_or("edits");
    Transition {
        why: format!("ralph: checkpoint: {what}"),
        kept: plan.kept.clone(),
        updates: tip_to(open, &plan.commit, position),
        put_back: plan.put_back.clone(),
        head: Some(open.state.loop_head()),
        index: Some(Index::Next),
        ..Transition::default()
    }
}

fn revert(open: &Loop<'_>, plan: &RevertPlan, position: &Position, known: &Known) -> Transition {
    // If the refs are unknown, no old value is required.
    let refs = open.view.refs();
    open.view.drop_users_refs();
    Transition {
        why: format!("ralph: revert {}@{}", plan.story, plan.attempt),
        kept: plan.kept.clone(),
        updates: tip_to(open, open.state.checkpoint(), position),
        put_back: plan.put_back.clone(),
        known: refs.or_else(|| known.is_fresh.then(UserRefs::default)),
        head: Some(open.state.loop_head()),
        files: Some(Files::BeforeAttempt {
            trash: plan.trash.clone(),
            kept: open.change().attempt_ref(&plan.story, plan.attempt),
            from: plan.from.clone(),
        }),
        ..Transition::default()
    }
}

/// Goes back to the earlier checkpoint that the state names.
async fn redo(open: &Loop<'_>, plan: &RedoPlan, position: &Position) -> Result<Transition, Error> {
    let first = plan.undone.first();
    let (story, attempt) = first.map_or(("", 0), |one| (one.story.as_str(), one.attempt));
    let mut updates = attempts_at(open, &plan.attempts).await?;
    updates.extend(tip_to(open, open.state.checkpoint(), position));
    Ok(Transition {
        why: format!("ralph: redo {story}"),
        kept: plan.kept.clone(),
        updates,
        head: Some(open.state.loop_head()),
        files: Some(Files::Checkpoint {
            trash: plan.trash(),
            kept: open.change().attempt_ref(story, attempt),
        }),
        index: Some(Index::Brought { is_known: true }),
        ..Transition::default()
    })
}

/// Goes to the checkpoint of a loop that comes from a remote.
async fn adopt(open: &Loop<'_>, plan: &AdoptPlan, position: &Position) -> Result<Transition, Error> {
    let change = open.change();
    let mut updates = vec![set(open, "start", &open.state.here.before.snapshot)];
    if !open.state.is_live() {
        updates.push(set(open, "finished", open.state.checkpoint()));
    }
    updates.extend(attempts_at(open, &plan.attempts).await?);
    updates.extend(tip_to(open, open.state.checkpoint(), position));
    Ok(Transition {
        why: format!("ralph: pull {change}"),
        kept: plan.kept.clone(),
        updates,
        head: Some(open.state.loop_head()),
        files: Some(Files::Pulled {
            from: plan.from.clone(),
            trash: PULL_TRASH.to_owned(),
            kept: change.ralph_ref("replaced"),
        }),
        index: Some(Index::Brought {
            is_known: plan.is_known,
        }),
        ..Transition::default()
    })
}

/// Returns the updates that set the refs of kept attempts to their commits.
async fn attempts_at(open: &Loop<'_>, attempts: &[KeptRef]) -> Result<Vec<Update>, Error> {
    let refs = open.git().refs(&[&open.change().ralph_ref("")]).await?;
    let moved = attempts
        .iter()
        .map(|attempt| (attempt, oid_of(&refs, &attempt.name)))
        .filter(|(attempt, old)| old.as_ref() != Some(&attempt.oid));
    let moves = moved.map(|(attempt, old)| Update::Move {
        name: attempt.name.clone(),
        new: attempt.oid.clone(),
        old,
    });
    Ok(moves.collect())
}
