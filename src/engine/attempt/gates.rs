//! Gates (`ralph.verify`): shell commands that must succeed between COMPLETE and the checkpoint.

use std::ffi::OsString;
use std::fs::File;
use std::time::Instant;

use super::agent_run::job;
use super::begun::Begun;
use super::preparation;
use super::verdict::Judgement;
use crate::agent::job::Job;
use crate::agent::process::ProcessError;
use crate::engine::attempt::refusal::AttemptRefusal;
use crate::engine::boxed::{self, Inside};
use crate::engine::output_tail::{OutputTail, length, printed};
use crate::engine::run_command::{Passed, run_gate_command, variable};
use crate::engine::watch::{self, Who};
use crate::engine::{Loop, guard_rail};
use crate::error::{Error, refuse};
use crate::events::{GateEnded, News, What};
use crate::fs::Durability;
use crate::names::{OUTPUT, Oid};
use crate::settings::{Settings, to_std};
use crate::state::{RunningGate, Verdict};

/// Refuses to go on without gates if the loop was begun with some that are not run any more.
pub(crate) fn require_proven(open: &Loop<'_>, settings: &Settings) -> Result<(), Error> {
    let gates = &open.state.here.commands.unproven;
    if gates.is_empty() || !settings.verify.is_empty() {
        return Ok(());
    }
    refuse(AttemptRefusal::UnprovenGates {
        change: open.change().to_string(),
        gates: gates.clone(),
    })
}

/// One run of all gates.
#[derive(Clone, Copy)]
pub(super) struct Round<'a> {
    /// The tree of the work tree.
    pub tree: &'a Oid,
    /// True if it has tests as they were at the last checkpoint.
    pub held: bool,
}

/// The time that a gate took, and the number of the run at which it passed.
#[derive(Clone, Copy, Debug)]
pub(super) struct GateTime {
    seconds: u64,
    run: u32,
}

impl GateTime {
    /// Returns it in words.
    pub fn words(self) -> String {
        let at = match self.run {
            1 => String::new(),
            run => format!(", at run {run}"),
        };
        format!("{}s{at}", self.seconds)
    }
}

/// Runs all gates once, watched; returns the judgement of the first that fails, or the time of each.
pub(super) async fn run_round(
    open: &Loop<'_>,
    begun: &Begun,
    round: Round<'_>,
) -> Result<Result<Vec<GateTime>, Judgement>, Error> {
    let confined = match boxed::of_loop(open, &begun.settings, Inside::Commands).await {
        Ok(confined) => confined,
        // An agent's attempt has not begun then; the user's work stays as it is.
        Err(Error::Attempt(refusal)) => {
            return Ok(Err(Judgement::new(Verdict::GateFailed, refusal.to_string())));
        }
        Err(error) => return Err(error),
    };
    let watch = watch::begin(open, Who::Gates).await?;
    let guard = guard_rail::set_up(open, begun.settings.guard, None).await;
    let mut job = job(open, begun, guard);
    job.walls = confined.walls;
    job.env.extend(judged(open, round.tree));
    let passed = run_all(open, begun, &job, round).await;
    watch::end(open, watch).await?;
    passed
}

async fn run_all(
    open: &Loop<'_>,
    begun: &Begun,
    job: &Job,
    Round { tree, held }: Round<'_>,
) -> Result<Result<Vec<GateTime>, Judgement>, Error> {
    let settings = &begun.settings;
    // A failure of the second run accuses the attempt of its tests: one that comes and goes does not.
    let retries = settings.former.verify_retries.max(u32::from(held));
    let mut passed = Vec::new();
    let mut unprepared = None;
    if !held {
        unprepared = match preparation::repeat(open, begun, job, tree).await? {
            Ok(unprepared) => unprepared,
            Err(judgement) => return Ok(Err(judgement)),
        };
    }
    for gate in &settings.verify {
        let about = About {
            story: &begun.story.id,
            attempt: begun.number,
            held,
            slot: begun.slot,
        };
        let since = Instant::now();
        let mut failures = 0;
        let last = loop {
            let log = begun.log.try_clone().map_err(ProcessError::Log)?;
            match run_gate(open, gate, Some(about), job.clone(), log, settings).await? {
                Passed::No(_) if failures < retries => failures += 1,
                last => break last,
            }
        };
        match last {
            Passed::Yes => {
                let seconds = since.elapsed().as_secs();
                let at = failures + 1;
                if failures > 0 {
                    open.tell(format!("the gate `{gate}` passed only at run {at}"));
                }
                passed.push(GateTime { seconds, run: at });
            }
            Passed::Interrupted(signal) => return Ok(Err(Judgement::interrupted(signal))),
            Passed::No(failure) => {
                let mut what = format!("the gate `{gate}` failed ({})", failure.why);
                if let Some(why) = &unprepared {
                    what = format!("{what}; before it, {why}");
                }
                let reason = failed(&what, &failure.tail);
                return Ok(Err(if failure.is_faultless {
                    Judgement::broken(&reason)
                } else {
                    Judgement::new(Verdict::GateFailed, &reason)
                }));
            }
        }
    }
    Ok(Ok(passed))
}

/// The attempt that a gate judges.
#[derive(Clone, Copy)]
pub(crate) struct About<'a> {
    story: &'a str,
    attempt: u32,
    /// True in the run with the tests as they were.
    held: bool,
    slot: Option<u16>,
}

/// Returns the variables by which a gate finds what is judged: the commit of the last checkpoint, and the tree of the work
/// tree as it is when the first gate begins.
pub(crate) fn judged(open: &Loop<'_>, tree: &Oid) -> [(OsString, OsString); 2] {
    [
        variable("RALPH_CHECKPOINT", open.state.checkpoint().as_str()),
        variable("RALPH_TREE", tree.as_str()),
    ]
}

/// Returns a message that a command failed, with the beginning and the end of its output, if any.
pub(crate) fn failed(what: &str, output: &OutputTail) -> String {
    match output.both_ends().trim_end() {
        "" => what.to_owned(),
        shown => format!("{what}\n\n{OUTPUT}\n\n{shown}"),
    }
}

/// Runs one gate to its end, for an attempt at a story or before any.
pub(crate) async fn run_gate(
    open: &Loop<'_>,
    gate: &str,
    about: Option<About<'_>>,
    job: Job,
    log: File,
    settings: &Settings,
) -> Result<Passed, Error> {
    if let Some(about) = about {
        let when = if about.held {
            ", with the tests as they were"
        } else {
            ""
        };
        open.context
            .observer
            .hear(News::Doing(&format!("gate{when}: {gate}")));
        open.state
            .note_running(|running| running.judging = Some(RunningGate::begins(gate)));
        // Display only.
        open.save_for(Durability::Atomic)?;
    }
    let since = Instant::now();
    let from = length(&log);
    let job = Job {
        argv: ["sh", "-c", gate].map(OsString::from).into(),
        timeout: settings.verify_timeout.map(to_std),
        idle_timeout: settings.idle_timeout.map(to_std),
        ..job
    };
    let stop = open.context.stop.clone();
    let passed = run_gate_command(open, job, &log, stop).await?;
    let why = match &passed {
        Passed::Yes => None,
        Passed::No(failure) => Some(failure.why.clone()),
        Passed::Interrupted(_) => return Ok(passed),
    };
    open.emit(What::Gate(GateEnded {
        story: about.map(|about| about.story.to_owned()),
        attempt: about.map(|about| about.attempt),
        command: gate.to_owned(),
        passed: why.is_none(),
        reason: why,
        duration: since.elapsed().as_secs_f64(),
        output: printed(&log, from),
        held: about.is_some_and(|about| about.held),
        slot: about.and_then(|about| about.slot),
    }));
    Ok(passed)
}
