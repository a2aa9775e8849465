//! Recovers from a crash: completes a step that had begun to change things, ends an attempt whose process died, and
//! reports both.

use super::attempt::facts::Facts;
use super::attempt::learnings;
use super::numbers;
use super::own_work_tree::go_to_own;
use super::position::{View, refuse_branch_in_the_way};
use super::steps::attempt::clean_up;
use super::steps::revert::Undoing;
use super::steps::side::{left_list, release_list};
use super::steps::start::forget_if_gone;
use super::steps::{leave, revert};
use super::stories::short_names;
use super::story_source::take_commands;
use super::transition::{self, Known};
use super::watch::changed_since;
use super::{Context, Loop, damaged, judged, messages, staged_content};
use crate::agent::orphans::Orphaned;
use crate::engine::repository_refusal::RepositoryRefusal;
use crate::engine::step_place::{require_own_repository, require_own_work_tree};
use crate::error::Error;
use crate::error::advice::Advise;
use crate::events::log::{History, LogEntry};
use crate::events::{Attempt, News, What, seconds_between};
use crate::exit::Exit;
use crate::fs::{FileError, target_of};
use crate::git::Head;
use crate::names::Change;
use crate::protect::{ProtectError, Site};
use crate::state::{Current, Effect, Phase, State, StateError, Store, Verdict};
use jiff::{SignedDuration, Timestamp};

/// Opens a loop for a step: takes its lock, and completes an interrupted step.
pub async fn open<'o>(context: Context<'o>, change: &Change) -> Result<Loop<'o>, Error> {
    open_for(context, change, Purpose::Step).await
}

/// The purpose of opening a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To take a step.
    Step,
    /// To show the loop: a step that was cut off is completed only if that overwrites no edit made since.
    Look,
}

async fn open_for<'o>(
    mut context: Context<'o>,
    change: &Change,
    purpose: Purpose,
) -> Result<Loop<'o>, Error> {
    let store = Store::new(&context.repo.common_dir, change);
    if let Some(state) = store.load()? {
        context = Box::pin(go_to_own(context, &state)).await?;
    }
    let lock = store.lock()?;
    let state = context.state_of(change)?;
    let mut open = Loop::new(context, state, store, lock);
    open.context.observer.hear(News::Names(&short_names(&open.state)));
    match make_ready(&mut open, purpose).await {
        Err(error) if purpose == Purpose::Look && !matches!(error.advice().exit, Exit::Signal(_)) => {
            open.state = uncompleted(&open, error)?;
            allow_retries(&open.context, &mut open.state);
        }
        made => made?,
    }
    Ok(open)
}

/// Reports to a command that only shows the loop why an interrupted step or attempt cannot be completed; returns the
/// saved state, which the command shows. Git's own files are restored before a step begins or the work tree is read;
/// until then git may not be able to show the loop.
fn uncompleted(open: &Loop<'_>, error: Error) -> Result<State, Error> {
    let saved = open.store.load()?;
    let Some((state, step)) = saved.and_then(|state| {
        let step = match &state.intent {
            Some(intent) => intent.step(),
            None if is_of_work_tree(&error) => "an attempt",
            None => return None,
        };
        Some((state, step))
    }) else {
        return Err(error);
    };
    let hint = error.advice().hint;
    let hint = hint.map_or_else(String::new, |hint| format!("\nhint: {hint}"));
    let message = format!("an earlier git-ralph was cut off in {step}, which cannot go on: {error}{hint}");
    open.context.tell(open.change(), message);
    Ok(state)
}

/// Returns whether an error is about the files of the work tree, or its link to the repository.
fn is_of_work_tree(error: &Error) -> bool {
    matches!(
        error,
        Error::WorkTree(_)
            | Error::Protect(ProtectError::WorkTree(_))
            | Error::Repository(RepositoryRefusal::LinkInPlace { .. })
    )
}

/// Prepares a loop that was just read for a step: completes interrupted work.
pub(super) async fn make_ready(open: &mut Loop<'_>, purpose: Purpose) -> Result<(), Error> {
    // A command that changes the loop answers an open question.
    open.state.here.awaiting_choice = None;
    require_own_work_tree(&open.state, open.repo())?;
    require_own_repository(&open.state, open.repo())?;
    open.site().restore_directories()?;
    let at_rest = open.state.is_at_rest();
    // After an attempt, gates or a reviewer, no git runs before its own files are restored.
    let was_cut_off = open.state.phase() == Phase::Running || open.state.is_running();
    if !was_cut_off || open.state.intent.is_some() {
        open.context.head = repaired_position(open).await?;
    }
    if !was_cut_off {
        open.site().slot.make()?;
        open.switch_off_foreign_filters().await?;
    }
    open.is_recovering = true;
    open.is_looking = purpose == Purpose::Look;
    let is_complete = Box::pin(recover(open, purpose)).await?;
    open.is_recovering = false;
    if !is_complete {
        return Ok(());
    }
    open.held_list = left_list(open).await?;
    if open.held_list.is_some() {
        Box::pin(release_list(open)).await?;
    }
    if at_rest {
        // No step begins while another git process runs: a step that fails half-way cannot be undone.
        let removed = open.site().remove_stale_locks(&open.state.change).await?;
        if removed > 0 {
            open.tell("a git that was cut off left locks in the repository; they are removed");
        }
        let head = open.view.head().unwrap_or_else(|| open.context.head.clone());
        open.view = View::of_head(head);
        if purpose == Purpose::Step {
            Box::pin(staged_content::keep(open)).await?;
        }
    }
    allow_retries(&open.context, &mut open.state);
    // The run of a side's loop may be using the work tree that the side has left.
    let is_in_use = purpose == Purpose::Look && open.state.here.is_side;
    if !is_in_use && Box::pin(leave::take_away(open)).await? {
        open.completed = open.state.here.closed.map(Effect::Closed);
    }
    Ok(())
}

/// Recomputes the remaining retries from the present settings.
fn allow_retries(context: &Context<'_>, state: &mut State) {
    let allowed = state.settings_in(&context.configuration).max_retries;
    // During an attempt and in a closed loop, the limit does not change.
    let _ = state.common.progress.limit(allowed);
}

/// Restores the loop's branch if it is damaged or points to another branch; returns HEAD, which may have moved.
async fn repaired_position(open: &Loop<'_>) -> Result<Head, Error> {
    let mut head = open.context.head.clone();
    if open.state.is_live() {
        if damaged::repair_position(open.site(), &open.state).await? {
            head = open.repo().head().await?;
        }
        refuse_branch_in_the_way(open.repo(), &open.state)?;
    }
    Ok(head)
}

/// Reads a loop without taking a step. If no process holds it, an interrupted step is completed first, as in every
/// command.
pub async fn look<'o>(context: Context<'o>, change: &Change) -> Result<(Context<'o>, State), Error> {
    let store = Store::new(&context.repo.common_dir, change);
    let mut state = context.state_of(change)?;
    allow_retries(&context, &mut state);
    take_commands(&mut state, &context.configuration);
    let is_leaving = state.is_leaving();
    let cut_off = state.intent.is_some()
        || state.phase() == Phase::Running
        || state.is_running()
        || state.here.holds_list
        || is_leaving;
    let place = state.work_tree();
    let is_dir = || Ok::<_, FileError>(target_of(place)?.is_some_and(|found| found.is_dir()));
    let here = place == context.repo.top || state.has_own_work_tree() && (is_leaving || is_dir()?);
    let is_held = || {
        let busy =
            |error: &StateError| matches!(error, StateError::Busy { .. } | StateError::Outlived { .. });
        store.lock().is_err_and(|error| busy(&error))
    };
    let slot = store.slot();
    let site = Site::new(&context.repo, &slot, &());
    // A git process of the interrupted attempt is ended first.
    let waits = || (!state.is_running() || state.intent.is_some()) && site.is_locked(change);
    if !cut_off || !here || is_held() || waits() {
        return Ok((context, state));
    }
    let mut open = open_for(context, change, Purpose::Look).await?;
    open.context.repo = open.repo().with_users_index();
    let state = open.state.clone();
    Ok((open.into_context().await?, state))
}

/// Completes the unfinished work of a git-ralph that died. Returns `false` if that waits for a command that takes a
/// step: a command that only shows the loop overwrites no later edit, and does not wait for another git.
async fn recover(open: &mut Loop<'_>, purpose: Purpose) -> Result<bool, Error> {
    if let Some(intent) = open.state.intent.clone() {
        let (step, effect) = (intent.step(), intent.effect());
        end_orphans(open).await?;
        forget_if_gone(open).await?;
        open.site().remove_stale_locks(&open.state.change).await?;
        open.site().put_half_written_away().await?;
        match transition::edits_since_cut_off(open, &intent).await? {
            Some(edits) if purpose == Purpose::Look => {
                let message = format!(
                    "an earlier git-ralph was cut off in {step}; {}; the next command that takes a step completes it, and \
                     keeps that by a ref",
                    edits.words
                );
                open.context.tell(open.change(), message);
                return Ok(false);
            }
            Some(edits) => transition::keep_edits(open, edits).await?,
            None => {}
        }
        transition::apply(open, intent, Known::default()).await?;
        open.completed = effect;
        open.tell(format!(
            "an earlier git-ralph was cut off; {step} is completed now"
        ));
    }
    if open.state.phase() == Phase::Running || open.state.is_running() {
        // Of the attempt, of gates before the first attempt, of a reviewer that the user asked, or of a hook.
        end_orphans(open).await?;
        if purpose == Purpose::Look && open.site().is_locked(&open.state.change) {
            return Ok(false);
        }
    }
    if open.state.phase() == Phase::Running {
        if !open.state.is_by_hand() {
            open.completed = Some(Effect::Undone);
        }
        end_interrupted_attempt(open).await?;
    } else if open.state.is_running() {
        open.context.head = repaired_git_files(open, false).await?;
        if let Some(record) = judged::record(open).filter(|record| record.goes_back) {
            open.site().put_half_written_away().await?;
            judged::put_back(open, record).await?;
        }
        keep_judged(open).await?;
        open.state.end_running();
        open.save()?;
    }
    // Hooks run in the command whose step they belong to, or not at all.
    open.due.borrow_mut().clear();
    Ok(true)
}

/// Restores git's own files and position, before any git runs that reads them; returns HEAD. With `is_attempt`, an
/// attempt may have changed the cached facts about the work tree.
async fn repaired_git_files(open: &Loop<'_>, is_attempt: bool) -> Result<Head, Error> {
    let mut record = open.attempt_record();
    record.checkpoint.has_own_inventory &= is_attempt;
    if record.after_crash().await? {
        // A configuration read before this point may contain planted hooks.
        open.context.configuration.hooks.replace(None);
    }
    let head = repaired_position(open).await?;
    open.switch_off_foreign_filters().await?;
    Ok(head)
}

/// Restores the tree that was judged when git-ralph died. The user's later edits to a work tree judged by `complete`
/// stay, unless other tests are in it. Returns whether files differ from that tree now.
async fn put_judged_back(open: &Loop<'_>) -> Result<bool, Error> {
    open.site().put_half_written_away().await?;
    let Some(record) = judged::record(open) else {
        return judged::release(open).await.map(|()| false);
    };
    let is_users = open.state.is_by_hand();
    // Work of an agent that is judged again is restored as after its attempt.
    let stays = is_users && open.state.unreviewed().is_none();
    if stays && record.in_place.is_none() && !record.goes_back {
        return keep_judged(open).await;
    }
    judged::put_back(open, record).await?;
    open.tell("git-ralph was cut off while gates or a reviewer ran; the judged work is back");
    // The caller undoes an attempt, and its ref keeps the tree.
    if is_users {
        judged::forget(open).await?;
    }
    Ok(false)
}

/// Keeps the tree that was judged when git-ralph died, if the work tree differs from it; returns whether it does.
async fn keep_judged(open: &Loop<'_>) -> Result<bool, Error> {
    let Some(record) = judged::record(open) else {
        return judged::release(open).await.map(|()| false);
    };
    judged::put_files_back(open, &record).await?;
    let changed = changed_since(open, &record.tree).await?;
    if let Some(names) = &changed {
        let kept = judged::keep_commit(open, &record.commit).await?;
        open.tell(format!(
            "files differ from what was there when gates or a reviewer began: {names}; to compare: git diff {kept}; to have \
             one as it was: git restore --source {kept} <file>"
        ));
    }
    judged::forget(open).await?;
    Ok(changed.is_some())
}

/// Ends an attempt whose git-ralph died and whose processes are ended: keeps its work, and undoes it.
async fn end_interrupted_attempt(open: &mut Loop<'_>) -> Result<(), Error> {
    // The attempt could change the commands that the state has from the command line that began the loop.
    let configured = &open.context.configuration.settings;
    let forgotten = open.state.here.commands.forget_commands(configured);
    if !forgotten.is_empty() {
        open.save()?;
        open.tell(format!(
            "git-ralph was killed during an attempt, which could have written what the loop was begun with: no longer used is {}",
            forgotten.join(", ")
        ));
    }
    open.context.head = repaired_git_files(open, true).await?;
    let differs = put_judged_back(open).await?;
    if open.state.is_by_hand() {
        return forget_what_was_said(open, differs);
    }
    let Some(story) = open.state.current().cloned() else {
        return Ok(());
    };
    let mut facts = Facts::default();
    clean_up(open, &story.id, story.attempt, true, &mut facts).await?;
    learnings::claim(open, &story.id, story.attempt);
    let position = open.position().await?;
    let left = revert::read_what_is_left(open).await?;
    let ended = cut_off(open, &story)?;
    let reason = ended.reason.clone();
    let size = open.size_of(&left).await;
    messages::take(open, Some((&story.id, story.attempt)))?;
    open.emit(What::AttemptEnded(Box::new(ended.with_size(size))));
    let undoing = Undoing {
        story: story.id.clone(),
        attempt: story.attempt,
        verdict: Some(Verdict::Interrupted),
        reason,
        facts,
        ..Undoing::default()
    };
    revert::undo(open, undoing, &position, left).await?;
    open.tell(format!(
        "attempt {} of story {} was interrupted; it does not count, and what it left is kept: git ralph log",
        story.attempt, story.id
    ));
    Ok(())
}

/// Returns the end of the attempt of a killed git-ralph. Its real end is unknown: the last event's time is used.
fn cut_off(open: &Loop<'_>, story: &Current) -> Result<Attempt, Error> {
    let now = Timestamp::now();
    let running = open.state.running();
    let began = running.as_ref().map_or(now, |running| running.since);
    let (seen, time) = last_seen(open, story)?.unwrap_or((began, "how long it ran is not known"));
    let reason = Some(format!("git-ralph was cut off during the attempt; {time}"));
    Ok(Attempt {
        duration: seconds_between(began, seen.min(now)),
        rounds: running.as_ref().and_then(|running| running.rounds),
        slot: running.as_ref().and_then(|running| running.side),
        cost_usd: running.and_then(|running| running.cost_usd),
        ..Attempt::ended(&story.id, story.attempt, Verdict::Interrupted, reason, began)
    })
}

/// Returns the last time at which the agent of an attempt is known to have run, with a description: the start of its
/// first gate or reviewer, else the last write to its log.
fn last_seen(open: &Loop<'_>, story: &Current) -> Result<Option<(Timestamp, &'static str)>, Error> {
    let history = History::read(&open.file("events.jsonl"))?.latest();
    let entry = history
        .iter()
        .rfind(|entry| entry.attempt.is(&story.id, story.attempt));
    let began = |(ended, took): (Timestamp, f64)| {
        let took = SignedDuration::try_from_secs_f64(took).ok()?;
        ended.checked_sub(took).ok()
    };
    let running = open.state.running();
    let judging = running.and_then(|running| running.judging);
    let judged = entry.iter().flat_map(|entry| entry.judged());
    let first = judged.filter_map(began).chain(judging.map(|gate| gate.since));
    if let Some(first) = first.min() {
        return Ok(Some((first, "the time is up to its first gate or review")));
    }
    let written = target_of(&numbers::log_of(open, &story.id, story.attempt))?;
    let written = written.and_then(|found| found.modified().ok());
    let written = written.and_then(|time| Timestamp::try_from(time).ok());
    Ok(written.map(|time| (time, "the time is up to its last output")))
}

/// Returns whether the events have a complete verdict for an attempt that never got its checkpoint.
fn was_called_complete(open: &Loop<'_>, story: &Current) -> Result<bool, Error> {
    let reader = open.history()?;
    let entry = reader
        .history
        .ended()
        .rfind(|entry| entry.attempt.is(&story.id, story.attempt));
    Ok(entry.is_some_and(LogEntry::lacks_checkpoint))
}

/// Forgets an interrupted `complete` or `fail` that changed at most the story list: the work tree is the user's, and
/// stays; `differs` says whether it differs from before.
fn forget_what_was_said(open: &mut Loop<'_>, differs: bool) -> Result<(), Error> {
    if let Some(story) = open.state.current().cloned()
        && was_called_complete(open, &story)?
    {
        let ended = cut_off(open, &story)?;
        open.emit(What::AttemptEnded(Box::new(ended)));
    }
    let (site, state) = (open.site(), &open.state);
    site.put_cut_off_list_back(state.source())?;
    open.state.follow_cut_off_answer();
    open.advance(|progress| progress.end(Verdict::Interrupted, None, None))?;
    open.state.end_running();
    open.save()?;
    let place = if differs {
        ""
    } else {
        "; the work tree is as it was"
    };
    open.tell(format!(
        "an earlier git-ralph was cut off before it did what was asked{place}"
    ));
    Ok(())
}

async fn end_orphans(open: &Loop<'_>) -> Result<(), Error> {
    let Some(running) = open.state.running() else {
        return Ok(open.site().slot.make()?);
    };
    let attempt = Orphaned {
        run: running.run,
        pid: running.pid,
        started: running.started,
        since: running.since,
        work_tree: &open.repo().top,
    };
    let mut stop = open.context.stop.clone();
    let told = attempt.end(async move {
        stop.asked(1).await;
    });
    for text in told.await? {
        open.tell(text);
    }
    // An agent that an earlier version started uses the guard in its old place until the agent ends.
    Ok(open.site().slot.make()?)
}
