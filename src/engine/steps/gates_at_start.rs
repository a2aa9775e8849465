//! Runs the gates when a loop begins: a gate that cannot be run, or fails before any work, would fail every story. So
//! the loop does not begin with such a gate, unless the user allows it.

use jiff::Timestamp;

use super::abort::plan_in_place;
use super::preflight::StartOptions;
use super::side;
use super::start_refusal::StartRefusal;
use crate::engine::attempt::gates::{run_gate, variables};
use crate::engine::boxed::{self, Inside};
use crate::engine::run_command::{Passed, plain_job, run_name};
use crate::engine::step_place::is_at_checkpoint;
use crate::engine::watch::{self, Who};
use crate::engine::{Loop, guard_rail, judged, lifecycle_hooks, transition};
use crate::error::Error;
use crate::events::{Event, News, What};
use crate::fs::{Durability, file_error};
use crate::refs::Update;
use crate::state::{Intent, Running, RunningGate};

/// Runs each gate once before any work. Afterwards the work tree is unchanged.
///
/// # Errors
/// [`StartRefusal::RedGate`] if a gate fails and that is not allowed, or [`Error::Stopped`]. The loop is aborted then, as
/// after any other error, and removed completely if it `is_first` of its change.
pub(super) async fn run_gates(
    open: &mut Loop<'_>,
    options: &StartOptions,
    is_first: bool,
) -> Result<(), Error> {
    if options.settings.verify.is_empty() {
        return Ok(());
    }
    let red = run_all(open, options).await;
    let changed = undo_changes(open).await?;
    open.state.end_running();
    open.save()?;
    let error = match red {
        Ok(None) => return Ok(()),
        Ok(Some(red)) if options.allow_red => {
            open.tell(format!("warning: {red}; no story is complete until it passes"));
            return Ok(());
        }
        Ok(Some(red)) => red.into(),
        Err(error) => error,
    };
    let (plan, known) = plan_in_place(open).await?;
    Box::pin(side::remove_all(open)).await?;
    let events = transition::take_untold(open, Intent::End(plan), known).await?;
    if is_first && !changed {
        forget(open).await?;
        // The event file was removed.
        // A work tree of its own is on no branch; the one in which the command was typed is where it was.
        let original = &open.state.common.original_branch;
        let linked = open.state.here.linked.as_ref();
        let branch = linked.map_or(original, |linked| &linked.branch).clone();
        let event = Event::now(open.change().as_str(), What::StartUndone { branch });
        open.context.observer.hear(News::Event(&event));
    } else {
        for event in events {
            open.emit(event);
        }
        lifecycle_hooks::tell_hooks(open, None).await?;
    }
    Err(error)
}

/// Undoes and keeps the changes of the gates to existing files; new files stay, but not in the checkpoints. Returns
/// whether there were any.
async fn undo_changes(open: &Loop<'_>) -> Result<bool, Error> {
    let known = open.state.here.gate_files.clone();
    let is_same = open.checkpoint().is_as_left().await? || is_at_checkpoint(open).await?;
    let is_at_tip = open.position().await?.tip.as_ref() == Some(open.state.checkpoint());
    let record = judged::record(open);
    if let Some(record) = record.filter(|_| !is_same || !is_at_tip) {
        judged::put_back(open, record).await?;
    }
    judged::forget(open).await?;
    Ok(!is_same || open.state.here.gate_files != known)
}

/// Removes the records of a loop that did not begin; all content that they kept is back in its place.
async fn forget(open: &Loop<'_>) -> Result<(), Error> {
    let change = &open.state.change;
    let git = open.git();
    let refs = git.refs(&[&change.ralph_ref("")]).await?;
    let deletions: Vec<Update> = refs
        .into_iter()
        .map(|found| Update::delete(found.name, found.oid))
        .collect();
    git.update_refs(&deletions, &format!("ralph: refused start {change}"))
        .await?;
    Ok(open.store.remove_files()?)
}

/// Runs all gates and returns the first that fails.
async fn run_all(open: &Loop<'_>, options: &StartOptions) -> Result<Option<StartRefusal>, Error> {
    let settings = &options.settings;
    let path = open.store.gates_log();
    let log = open.store.door().begin_file(&path)?;
    let run = run_name(Timestamp::now());
    // If this process dies, the next command ends the processes that the gates have started.
    open.state.begin_running(Running::gates(&run));
    let tree = open.read_work_tree().await?.tree;
    judged::keep(open, &tree, Some(&tree)).await?;
    let watch = watch::begin(open, Who::Gates).await?;
    let guard = guard_rail::set_up(open, settings.guard, None).await;
    let confined = boxed::of_loop(open, settings, Inside::Commands).await?;
    let mut red = Ok(None);
    for gate in &settings.verify {
        let begins = RunningGate::begins(gate);
        open.context.observer.hear(News::Begins(&begins.heading()));
        open.state.note_running(|running| running.gate = Some(begins));
        // Display only.
        open.save_for(Durability::Atomic)?;
        let mut job = plain_job(open, &run, guard.clone());
        job.env.extend(variables(open, open.state.checkpoint_tree()));
        job.walls.clone_from(&confined.walls);
        let log = log
            .try_clone()
            .map_err(|error| file_error("write", &path, error))?;
        match run_gate(open, gate, None, job, log, settings).await {
            Ok(Passed::Yes) => {}
            Ok(Passed::No(failure)) => {
                let failed = || StartRefusal::RedGate {
                    change: open.change().to_string(),
                    command: gate.clone(),
                    cannot_be_run: failure.cannot_be_run,
                    is_typed: options.typed.verify.contains(gate),
                    why: failure.why,
                };
                red = red.map(|first: Option<StartRefusal>| first.or_else(|| Some(failed())));
            }
            Ok(Passed::Interrupted(signal)) => {
                red = Err(Error::Stopped(signal));
                break;
            }
            Err(error) => {
                red = Err(error);
                break;
            }
        }
    }
    watch::end(open, watch).await?;
    red
}
