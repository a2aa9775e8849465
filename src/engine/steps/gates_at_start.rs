//! The gates when a loop begins: a person hears of one that is red before any work.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;

use jiff::Timestamp;

use super::manual;
use crate::engine::attempt::gates::run_gate;
use crate::engine::run_command::{Passed, plain_job, run_name};
use crate::engine::watch::{self, Who};
use crate::engine::{Loop, guard_rail};
use crate::error::Error;
use crate::fs::file_error;
use crate::settings::Settings;
use crate::state::Running;

/// What the gates printed when the loop began, in its directory.
const LOG: &str = "gates-at-start.log";

/// Runs each gate once before any work and reports which are red. Afterwards the work tree is as it was.
pub(super) async fn run_gates(open: &mut Loop<'_>, settings: &Settings) -> Result<(), Error> {
    if settings.verify.is_empty() {
        return Ok(());
    }
    let path = open.file(LOG);
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
