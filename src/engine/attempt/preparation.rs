//! Prepares the loop's work tree again (`ralph.worktreeSetup`) for gates on work from another work tree: only that one
//! has the installed files.

use std::ffi::OsString;

use super::begun::Begun;
use super::verdict::Judgement;
use crate::agent::job::Job;
use crate::agent::process::ProcessError;
use crate::engine::boxed::{self, Inside};
use crate::engine::run_command::{Passed, of_work_trees, run_gate_command};
use crate::engine::{Loop, judged};
use crate::error::Error;
use crate::events::News;
use crate::names::Oid;
use crate::settings::to_std;
use crate::state::Prepared;

/// Runs the command as a job like a gate, if `tree` has other inputs than the tree of its last run. Returns why it
/// failed, in words; this decides no verdict: the gates run anyway.
pub(super) async fn repeat(
    open: &Loop<'_>,
    begun: &Begun,
    job: &Job,
    tree: &Oid,
) -> Result<Result<Option<String>, Judgement>, Error> {
    let settings = &begun.settings;
    let is_of_side = begun.slot.is_some() || *open.state.here.prepared.borrow() != Prepared::AtBegin;
    let Some(command) = settings.worktree_setup.as_ref().filter(|_| is_of_side) else {
        return Ok(Ok(None));
    };
    if !has_other_inputs(open, begun, tree).await {
        return Ok(Ok(None));
    }
    // If this process dies, the results of the command are unknown.
    note(open, Prepared::Unknown)?;
    let doing = format!("preparing the work tree again: {command}");
    open.context.observer.hear(News::Doing(&doing));
    let linked = open.state.here.linked.as_ref();
    let (top, from) = (
        &open.repo().top,
        linked.map_or(open.state.work_tree(), |linked| linked.from.as_path()),
    );
    let confined = boxed::of_loop(open, settings, Inside::Setup { top, from }).await?;
    let mut job = Job {
        argv: ["sh", "-c", command].map(OsString::from).into(),
        timeout: settings.verify_timeout.map(to_std),
        idle_timeout: settings.idle_timeout.map(to_std),
        walls: confined.walls,
        ..job.clone()
    };
    job.env.extend(of_work_trees(top, from));
    let log = begun.log.try_clone().map_err(ProcessError::Log)?;
    let passed = run_gate_command(open, job, &log, open.context.stop.clone()).await?;
    // The command may be written for a new work tree, without work that it could delete.
    if let Some(record) = judged::record(open) {
        judged::put_position_back(open, &record).await?;
        judged::put_back_missing(open, &record, "the preparation").await?;
    }
    match passed {
        Passed::Yes => {
            note(open, Prepared::For(tree.clone()))?;
            Ok(Ok(None))
        }
        Passed::Interrupted(signal) => Ok(Err(Judgement::interrupted(signal))),
        Passed::No(failure) => {
            let why = format!("the preparation `{command}` failed ({})", failure.why);
            if failure.is_faultless {
                return Ok(Err(Judgement::broken(&why)));
            }
            open.tell(format!("{why}; the gates run without it"));
            Ok(Ok(Some(why)))
        }
    }
}

/// Returns whether the inputs of the preparation in `tree` differ from those of its last run.
async fn has_other_inputs(open: &Loop<'_>, begun: &Begun, tree: &Oid) -> bool {
    let prepared = open.state.here.prepared.borrow().clone();
    let before = match &prepared {
        Prepared::AtBegin => open.state.checkpoint_tree(),
        Prepared::For(tree) => tree,
        Prepared::Unknown => return true,
    };
    let inputs = begun.settings.all_setup_inputs();
    // Git may have removed that tree meanwhile.
    let changes = open.git().changes_among(before, tree, &inputs).await;
    changes.map_or(true, |changes| !changes.is_empty())
}

fn note(open: &Loop<'_>, prepared: Prepared) -> Result<(), Error> {
    open.state.here.prepared.replace(prepared);
    open.save()
}
