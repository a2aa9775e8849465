//! Puts the outcome of a step into the state and the stash, and makes its events.

use super::endings;
use super::files::Left;
use crate::engine::position::Position;
use crate::engine::progress::Outlook;
use crate::engine::watch::{self, Who};
use crate::engine::{Loop, judged, marks, shared_stash, stash};
use crate::error::Error;
use crate::events::{What, closings};
use crate::exit::Exit;
use crate::names::typed;
use crate::paths::first_few;
use crate::protect::StashList;
use crate::state::{Accepted, CheckpointPlan, Intent, RedoPlan, RevertPlan, Verdict};

/// Puts the outcome of a step into the state; the caller saves. `position` is HEAD and the tip before the step.
pub(super) async fn enter(
    open: &mut Loop<'_>,
    intent: &Intent,
    left: Left,
    stash: Option<StashList>,
    position: &Position,
    why: &str,
) -> Result<Vec<What>, Error> {
    Ok(match intent {
        Intent::Start(_) => {
            judged::keep_gate_files(open).await?;
            begin(open);
            Vec::new()
        }
        Intent::Restore(_) | Intent::Adopt(_) => Vec::new(),
        Intent::Redo(plan) => vec![go_back(open, plan)],
        Intent::Checkpoint(plan) => vec![accept(open, plan.clone(), stash).await?],
        Intent::Save(plan) => {
            stash::put_entry(open, plan).await?;
            let points = &mut open.state.here.save_points;
            points.retain(|other| other.story != plan.point.story);
            points.push(plan.point.clone());
            Vec::new()
        }
        Intent::Revert(plan) => fail(open, plan.clone(), left, stash).await?,
        Intent::End(plan) => vec![endings::close(open, plan, position, why).await?],
    })
}

/// Reports that the loop has begun. The state is saved later: after a crash the event may be there twice, but is never
/// missing; earlier events belong to an earlier loop.
fn begin(open: &Loop<'_>) {
    open.emit(What::Started {
        branch: open.state.common.branch.clone(),
        original_branch: open.state.begun_on().cloned(),
        original_head: open.state.common.original_head.clone(),
        checkpoint: open.state.checkpoint().clone(),
        source: open.state.source().path.clone(),
    });
    if open.state.has_own_work_tree() {
        let top = open.repo().top.display().to_string();
        open.tell(format!("its own work tree: {top}"));
    }
}

/// Notes a new checkpoint, and the story that it completes.
async fn accept(open: &mut Loop<'_>, plan: CheckpointPlan, stash: Option<StashList>) -> Result<What, Error> {
    open.state.common.checkpoint = plan.commit.clone();
    open.state.common.checkpoint_tree = plan.tree;
    open.state.here.noted = None;
    let mut slot = None;
    if let Some(story) = &plan.story {
        open.state.here.save_points = stash::drop_of(open, Some(story)).await?;
        shared_stash::put_back(open, stash).await?;
        stash::keep_listed(open).await?;
    }
    if let (Some(id), Some(number), false) = (&plan.story, plan.attempt, plan.closed_told)
        && let Some(commands) = &open.state.source().commands
        && commands.closed.is_some()
    {
        if open.is_looking {
            open.tell(format!(
                "the command after the checkpoint (ralph.doneCommand) was not run for story {id}"
            ));
        } else {
            // The state is saved before the command starts, so that it runs only once.
            if let Some(Intent::Checkpoint(plan)) = &mut open.state.intent {
                plan.closed_told = true;
                open.save()?;
            }
            tell_closed(open, id, number).await?;
        }
    }
    open.state.intent = None;
    if let Some(story) = &plan.story {
        // The loop of a side reads there which messages the side's prompt had.
        if !open.state.here.is_side {
            open.state.settle_messages(story);
        }
        // A remaining backup would overwrite the list of this checkpoint.
        open.site().forget_attempt()?;
        judged::forget(open).await?;
        slot = open.state.running().and_then(|running| running.side);
        open.state.end_running();
        if let (true, Some(before)) = (plan.stands, &plan.before) {
            open.approve_changes(before.clone());
        }
        open.advance(|progress| progress.end(Verdict::Complete, None, None))?;
        let done = open.state.common.progress.completed.last_mut();
        if let (Some(done), Some(attempt), Some(from)) = (done, plan.attempt, plan.before) {
            let to = plan.commit.clone();
            done.work = Some(Accepted { attempt, from, to });
        }
        // A command counts as successful only if the list agrees.
        if open.state.source().is_by_command() {
            let done = open.state.progress().completed.last().cloned();
            open.state.common.unmarked.extend(done);
        }
    }
    judged::settle_gate_files(open)?;
    open.view.note_at_checkpoint(true);
    Ok(What::Checkpoint {
        story: plan.story,
        attempt: plan.attempt,
        oid: plan.commit,
        slot,
    })
}

/// Runs the command after the checkpoint of a story.
async fn tell_closed(open: &Loop<'_>, id: &str, number: u32) -> Result<(), Error> {
    let title = open.state.current();
    let title = title.map_or_else(String::new, |story| story.title.clone());
    let watch = watch::begin(open, Who::Closed).await?;
    marks::tell_closed(open, id, &title, number).await;
    watch::end(open, watch).await
}

/// Returns the event that names the undone stories.
fn go_back(open: &Loop<'_>, plan: &RedoPlan) -> What {
    open.view.note_at_checkpoint(true);
    let first = plan.undone.first().map(|one| one.story.as_str());
    let redone = first.and_then(|first| open.state.progress().redone_at(first));
    What::Redone {
        stories: plan.undone.clone(),
        oid: open.state.checkpoint().clone(),
        words: redone.and_then(|(_, words)| words.map(str::to_owned)),
    }
}

/// Notes that an attempt has failed and is undone.
async fn fail(
    open: &mut Loop<'_>,
    plan: RevertPlan,
    left: Left,
    stash: Option<StashList>,
) -> Result<Vec<What>, Error> {
    shared_stash::put_back(open, stash).await?;
    stash::keep_listed(open).await?;
    judged::forget(open).await?;
    let slot = open.state.running().and_then(|running| running.side);
    open.state.end_running();
    let outlook = match plan.verdict {
        Some(verdict) => {
            let reason = with_lost(plan.reason, &left.lost);
            open.advance(|progress| progress.end(verdict, reason, plan.shown))?
        }
        None => Outlook::Uncounted,
    };
    open.view.note_at_checkpoint(true);
    let mut events = vec![What::Reverted {
        story: Some(plan.story.clone()),
        attempt: Some(plan.attempt),
        oid: open.state.checkpoint().clone(),
        kept: left.kept.first().map(|kept| kept.name.clone()),
        changed: left.changed || plan.beside,
        slot,
    }];
    if outlook == Outlook::RetriesSpent {
        events.extend(retries_spent(open, plan.story));
    }
    Ok(events)
}

/// Returns the events about a story that has no retries left.
fn retries_spent(open: &Loop<'_>, story: String) -> Vec<What> {
    let progress = open.state.progress();
    let deferred = open.puts_off.is_some() && may_wait(open);
    let spent = What::MaxRetriesExceeded {
        story: story.clone(),
        max_retries: progress.max_retries,
        deferred,
    };
    let given_up = (!deferred).then(|| given_up(open, story));
    std::iter::once(spent).chain(given_up).collect()
}

/// Returns whether the story without retries left can be tried again after others: after those that are left, or that were
/// completed beside its attempt.
pub(in crate::engine) fn may_wait(open: &Loop<'_>) -> bool {
    let progress = open.state.progress();
    let id = progress.current().map(|story| &story.id);
    let is_other = |other: &String| Some(other) != id && !progress.skipped.contains(other);
    let is_left = |ids: &Vec<String>| ids.iter().any(is_other);
    let comes_after = !progress.put_off.is_empty()
        || open.puts_off > Some(0)
        || open.open_stories.as_ref().is_none_or(is_left);
    progress.may_put_off() && comes_after
}

/// Returns the event about a story that is given up.
pub(crate) fn given_up(open: &Loop<'_>, story: String) -> What {
    let progress = open.state.progress();
    let current = progress.current();
    let change = typed(open.change());
    What::Error {
        message: format!("story {story} failed, no retries left"),
        hint: Some(format!(
            "git ralph skip {change}, or: git ralph finish {change} --cleanup (or --keep)"
        )),
        exit: Exit::RetriesSpent.code(),
        kind: Some("max_retries_exceeded".to_owned()),
        story: Some(story),
        reason: current.and_then(|current| current.why()).map(ToOwned::to_owned),
        attempts: current.map(|current| current.failures),
        options: closings(),
    }
}

/// Returns the reason for the next attempt, extended by the files that the last attempt removed and that could not be
/// restored.
fn with_lost(reason: Option<String>, lost: &[Vec<u8>]) -> Option<String> {
    if lost.is_empty() {
        return reason;
    }
    let sentence = format!(
        "During that attempt files that git does not track were deleted, and they could not be put back: {}",
        first_few(lost).join(", ")
    );
    Some(reason.map_or_else(|| sentence.clone(), |reason| format!("{reason}\n\n{sentence}")))
}
