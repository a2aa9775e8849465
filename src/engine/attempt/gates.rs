//! Gates (`ralph.verify`): shell commands that must succeed between COMPLETE and the checkpoint.

use std::ffi::OsString;
use std::fs::File;
use std::time::Instant;

use super::agent_run::{Begun, job};
use super::verdict::Judgement;
use crate::agent::process::{Job, ProcessError};
use crate::agent::program_of;
use crate::engine::attempt::refusal::AttemptRefusal;
use crate::engine::boxed::{self, Inside};
use crate::engine::output_tail::{OutputTail, length, printed};
use crate::engine::run_command::{Passed, run_command, variable};
use crate::engine::watch::{self, Who, changed_since};
use crate::engine::{Loop, guard_rail};
use crate::error::Error;
use crate::events::What;
use crate::fs::Durability;
use crate::names::{OUTPUT, Oid};
use crate::settings::{Settings, to_std};
use crate::state::{RunningGate, Verdict};
use crate::stories::Story;

/// Refuses to go on without gates if the loop was begun with some that are not run any more.
pub(super) fn require_proven(open: &Loop<'_>, settings: &Settings) -> Result<(), Error> {
    let gates = &open.state.settings.unproven;
    if gates.is_empty() || !settings.verify.is_empty() {
        return Ok(());
    }
    Err(AttemptRefusal::UnprovenGates {
        change: open.change().to_string(),
        gates: gates.clone(),
    }
    .into())
}

/// Runs the gates; returns the judgement of the first that fails, or a line about each for the checkpoint.
pub(super) async fn run(
    open: &mut Loop<'_>,
    story: &Story,
    settings: &Settings,
    begun: &Begun,
) -> Result<Result<Vec<String>, Judgement>, Error> {
    require_proven(open, settings)?;
    if settings.verify.is_empty() {
        return Ok(Ok(Vec::new()));
    }
    let before = open.read_work_tree().await?.tree;
    let watch = watch::begin(open, Who::Gates).await?;
    let guard = guard_rail::set_up(open, settings.guard).await;
    let confined = match boxed::of_loop(open, settings, Inside::Commands).await {
        Ok(confined) => confined,
        // An agent's attempt has not begun then; a person's work stays as it is.
        Err(Error::Attempt(refusal)) => {
            return Ok(Err(Judgement::new(Verdict::GateFailed, refusal.to_string())));
        }
        Err(error) => return Err(error),
    };
    let mut job = job(open, story, begun, guard);
    job.walls = confined.walls;
    job.env.extend(judged(open, &before));
    let passed = run_all(open, story, settings, begun, &job).await;
    watch::end(open, watch).await?;
    let passed = passed?;
    if passed.is_ok()
        && let Some(names) = changed_since(open, &before).await?
    {
        // It is part of the story; a person should know that the agent did not do it.
        open.tell(format!(
            "the gates changed files, which goes into the checkpoint: {names}"
        ));
    }
    Ok(passed)
}

async fn run_all(
    open: &mut Loop<'_>,
    story: &Story,
    settings: &Settings,
    begun: &Begun,
    job: &Job,
) -> Result<Result<Vec<String>, Judgement>, Error> {
    let mut passed = Vec::new();
    for gate in &settings.verify {
        let about = Some((story.id.as_str(), begun.number));
        let since = Instant::now();
        let mut failures = 0;
        let last = loop {
            let log = begun.log.try_clone().map_err(ProcessError::Log)?;
            match run_gate(open, gate, about, job.clone(), log, settings).await? {
                Passed::No(_) if failures < settings.verify_retries => failures += 1,
                last => break last,
            }
        };
        match last {
            Passed::Yes => {
                let mut result = format!("passed, {}s", since.elapsed().as_secs());
                if failures > 0 {
                    open.tell(format!("the gate `{gate}` passed only at run {}", failures + 1));
                    result += &format!(", at run {}", failures + 1);
                }
                // The checkpoint may be published, and a command line can hold keys.
                passed.push(format!("{} ({result})", program_of(gate)));
            }
            Passed::Interrupted(signal) => return Ok(Err(Judgement::interrupted(signal))),
            Passed::No(failure) => {
                let what = format!("the gate `{gate}` failed ({})", failure.why);
                let reason = failed(&what, &failure.tail);
                return Ok(Err(Judgement::new(Verdict::GateFailed, &reason)));
            }
        }
    }
    Ok(Ok(passed))
}

/// Returns the variables by which a gate finds what is judged: the commit of the last checkpoint, and the tree of the work
/// tree as it is when the first gate begins.
pub(crate) fn judged(open: &Loop<'_>, tree: &Oid) -> [(OsString, OsString); 2] {
    [
        variable("RALPH_CHECKPOINT", open.state.checkpoint.as_str()),
        variable("RALPH_TREE", tree.as_str()),
    ]
}

/// Returns a message that a command failed, with the beginning and the end of its output, if any.
pub(super) fn failed(what: &str, output: &OutputTail) -> String {
    match output.both_ends().trim_end() {
        "" => what.to_owned(),
        shown => format!("{what}\n\n{OUTPUT}\n\n{shown}"),
    }
}

/// Runs one gate to its end, for an attempt at a story or before any.
pub(crate) async fn run_gate(
    open: &mut Loop<'_>,
    gate: &str,
    about: Option<(&str, u32)>,
    job: Job,
    log: File,
    settings: &Settings,
) -> Result<Passed, Error> {
    if about.is_some() {
        open.context.observer.doing(&format!("gate: {gate}"));
        if let Some(running) = &mut open.state.running {
            running.judging = Some(RunningGate::begins(gate));
        }
        // For those who look: nothing relies on it.
        open.save_for(Durability::Atomic)?;
    }
    let since = Instant::now();
    let from = length(&log);
    let to_end = log.try_clone().ok();
    let job = Job {
        argv: ["sh", "-c", gate].map(OsString::from).into(),
        timeout: settings.verify_timeout.map(to_std),
        idle_timeout: settings.idle_timeout.map(to_std),
        ..job
    };
    let stop = open.context.stop.clone();
    let passed = run_command(open, job, log, stop).await?;
    let why = match &passed {
        Passed::Yes => None,
        Passed::No(failure) => Some(failure.why.clone()),
        Passed::Interrupted(_) => return Ok(passed),
    };
    open.emit(What::Gate {
        story: about.map(|(story, _)| story.to_owned()),
        attempt: about.map(|(_, attempt)| attempt),
        command: gate.to_owned(),
        passed: why.is_none(),
        reason: why,
        duration: since.elapsed().as_secs_f64(),
        output: to_end.and_then(|log| printed(&log, from)),
    });
    Ok(passed)
}
