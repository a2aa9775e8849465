//! Gates (`ralph.verify`): shell commands that must succeed between COMPLETE and the checkpoint. Each is run once when
//! the loop begins too, so that a person hears of one that is red before any work.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;

use jiff::Timestamp;

use super::agent_run::{Begun, job, plain_job, run_name};
use super::gate::{Passed, run_gate};
use super::guard_rail;
use super::verdict::Judgement;
use super::watch::{self, Who};
use crate::agent::process::ProcessError;
use crate::engine::Loop;
use crate::engine::steps::manual;
use crate::error::Error;
use crate::fs::file_error;
use crate::guard::GitSettings;
use crate::names::Oid;
use crate::settings::Settings;
use crate::state::{Running, Verdict};
use crate::stories::Story;

/// What the gates printed when the loop began, in its directory.
const START_LOG: &str = "gates-at-start.log";

/// How many paths are named when a gate has changed some.
const NAMED: usize = 5;

/// Runs the gates; returns the judgement of the first that says no.
pub(super) async fn run(
    open: &mut Loop<'_>,
    story: &Story,
    settings: &Settings,
    begun: &Begun,
) -> Result<Option<Judgement>, Error> {
    if settings.verify.is_empty() {
        return Ok(None);
    }
    let before = open.read_work_tree().await?.tree;
    let watch = watch::begin(open, Who::Gates).await?;
    let guard = guard_rail::set_up(open, settings.guard).await;
    let refused = run_all(open, story, settings, begun, &guard).await;
    watch::end(open, watch).await?;
    let refused = refused?;
    if refused.is_none()
        && let Some(names) = changed_since(open, &before).await?
    {
        // It is part of the story; a person should know that the agent did not do it.
        open.tell(format!(
            "the gates changed files, which goes into the checkpoint: {names}"
        ));
    }
    Ok(refused)
}

async fn run_all(
    open: &mut Loop<'_>,
    story: &Story,
    settings: &Settings,
    begun: &Begun,
    guard: &GitSettings,
) -> Result<Option<Judgement>, Error> {
    for gate in &settings.verify {
        let job = job(open, story, begun, guard.clone());
        let log = begun.log.try_clone().map_err(ProcessError::Log)?;
        match run_gate(open, gate, job, log, settings).await? {
            Passed::Yes => {}
            Passed::Interrupted(signal) => return Ok(Some(Judgement::interrupted(signal))),
            Passed::No(why, tail) => {
                let reason = format!(
                    "the gate `{gate}` failed ({why}); the end of its output:\n\n{}",
                    tail.text()
                );
                return Ok(Some(Judgement::new(Verdict::GateFailed, reason.trim_end())));
            }
        }
    }
    Ok(None)
}

/// Returns the files that are not as they are in this tree, in words; `None` when all are.
pub(crate) async fn changed_since(open: &mut Loop<'_>, before: &Oid) -> Result<Option<String>, Error> {
    let after = open.read_work_tree().await?.tree;
    let changes = open.context.repo.git.diff_trees(before, &after).await?;
    if changes.is_empty() {
        return Ok(None);
    }
    let names = changes.iter().take(NAMED);
    let mut names: Vec<_> = names
        .map(|(_, path)| String::from_utf8_lossy(path).into_owned())
        .collect();
    if changes.len() > NAMED {
        names.push(format!("{} more", changes.len() - NAMED));
    }
    Ok(Some(names.join(", ")))
}

/// Runs each gate once before any work and reports which are red. Afterwards the work tree is as it was.
pub(crate) async fn run_at_start(open: &mut Loop<'_>, settings: &Settings) -> Result<(), Error> {
    if settings.verify.is_empty() {
        return Ok(());
    }
    let path = open.file(START_LOG);
    let log = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&path)
        .map_err(|error| file_error("write", &path, error))?;
    let run = run_name(Timestamp::now());
    // Should this process die, the next command ends what the gates have started.
    open.state.running = Some(Running::gates(&run));
    open.save()?;
    let watch = watch::begin(open, Who::Gates).await?;
    let guard = guard_rail::set_up(open, settings.guard).await;
    let mut told = Ok(());
    for gate in &settings.verify {
        let job = plain_job(open, &run, guard.clone());
        let log = log
            .try_clone()
            .map_err(|error| file_error("write", &path, error))?;
        match run_gate(open, gate, job, log, settings).await {
            Ok(Passed::Yes) => {}
            Ok(Passed::No(why, _)) => {
                open.tell(format!("the gate `{gate}` is red before any work ({why})"));
            }
            Ok(Passed::Interrupted(_)) => break,
            Err(error) => {
                told = Err(error);
                break;
            }
        }
    }
    watch::end(open, watch).await?;
    told?;
    open.state.running = None;
    open.save()?;
    if !open.checkpoint().is_as_left(open.site()).await? && manual::revert(open).await? {
        open.tell("the gates changed files; that is undone, and kept: git ralph log");
    }
    Ok(())
}
