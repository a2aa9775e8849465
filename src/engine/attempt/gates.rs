//! Gates (`ralph.verify`): shell commands that must succeed between COMPLETE and the checkpoint.

use std::ffi::OsString;
use std::fs::File;

use super::agent_run::{Begun, job};
use super::verdict::Judgement;
use crate::agent::process::{Job, ProcessError};
use crate::engine::run_command::{Passed, run_command};
use crate::engine::watch::{self, Who, changed_since};
use crate::engine::{Loop, guard_rail};
use crate::error::Error;
use crate::guard::GitSettings;
use crate::settings::{Settings, to_std};
use crate::state::Verdict;
use crate::stories::Story;

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

/// Runs one gate to its end.
pub(crate) async fn run_gate(
    open: &mut Loop<'_>,
    gate: &str,
    job: Job,
    log: File,
    settings: &Settings,
) -> Result<Passed, Error> {
    open.tell(format!("gate: {gate}"));
    let job = Job {
        argv: ["sh", "-c", gate].map(OsString::from).into(),
        timeout: settings.verify_timeout.map(to_std),
        idle_timeout: settings.idle_timeout.map(to_std),
        ..job
    };
    let stop = open.context.stop.clone();
    run_command(open, job, log, stop).await
}
