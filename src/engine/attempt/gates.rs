//! Gates (`ralph.verify`): shell commands that must succeed between COMPLETE and the checkpoint.

use std::ffi::OsString;
use std::fs::File;
use std::sync::Arc;
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
use crate::engine::{Loop, guard_rail, judged};
use crate::error::{Error, refuse};
use crate::events::{GateEnded, News, What};
use crate::fs::Durability;
use crate::names::{OUTPUT, Oid};
use crate::paths::first_few;
use crate::sandbox::Walls;
use crate::settings::{Settings, to_std};
use crate::state::{JudgedTree, RunningGate, Verdict};

/// The setting that names the directory of hooks: the guard sets it for the processes of an attempt.
const HOOKS_PATH: &str = "core.hooksPath";

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
    /// The record of the judged tree.
    pub record: &'a JudgedTree,
    /// The restored tests, if this round runs with original tests.
    pub held: Option<&'a [Vec<u8>]>,
}

/// The duration of a gate, and the number of the run in which it passed.
#[derive(Clone, Copy, Debug)]
pub(super) struct GateTime {
    seconds: u64,
    run: u32,
    /// True if the gate deleted files of the work, and so judged others.
    is_on_others: bool,
}

impl GateTime {
    /// Returns the duration and the run in words.
    pub fn words(self) -> String {
        let at = match self.run {
            1 => String::new(),
            run => format!(", at run {run}"),
        };
        let on = if self.is_on_others { ", on other files" } else { "" };
        format!("{}s{at}{on}", self.seconds)
    }

    /// Returns whether the gate judged other files than those of the work.
    pub fn is_on_others(self) -> bool {
        self.is_on_others
    }

    /// Notes the files of the work that the gate deleted before it passed, and warns the user.
    pub fn note_taken(&mut self, open: &Loop<'_>, gate: &str, taken: &[Vec<u8>]) {
        if taken.is_empty() {
            return;
        }
        self.is_on_others = true;
        open.tell(format!(
            "{} took files of the work away, and passed on others: {}; so nothing rests on the gates \
             (gates-on-other-files); have it leave files as they are: git config --edit (ralph.verify)",
            named(gate),
            first_few(taken).join(", ")
        ));
    }
}

/// Runs all gates once, each watched, on the files of the round: files that a gate deletes are restored before the next
/// process. Returns the judgement of the first failing gate, or the duration of each.
pub(super) async fn run_round(
    open: &Loop<'_>,
    begun: &Begun,
    round: Round<'_>,
) -> Result<Result<Vec<GateTime>, Judgement>, Error> {
    let confined = match boxed::of_loop(open, &begun.settings, Inside::Commands).await {
        Ok(confined) => confined,
        // An agent's attempt has not begun yet; the user's work stays unchanged.
        Err(Error::Attempt(refusal)) => {
            return Ok(Err(Judgement::new(Verdict::GateFailed, refusal.to_string())));
        }
        Err(error) => return Err(error),
    };
    let settings = &begun.settings;
    // A failure of the second run blames the attempt's test changes: a flaky failure must not.
    let retries = settings
        .former
        .verify_retries
        .max(u32::from(round.held.is_some()));
    let mut passed: Vec<GateTime> = Vec::new();
    let mut unprepared = None;
    for gate in &settings.verify {
        let since = Instant::now();
        let mut failures = 0;
        let last = loop {
            let prepares = passed.is_empty() && failures == 0 && round.held.is_none();
            let ran = run_watched(open, begun, round, confined.walls.as_ref(), (gate, prepares)).await?;
            unprepared = unprepared.or(ran.unprepared);
            match ran.passed {
                Ok(Passed::No(_)) if failures < retries => failures += 1,
                Ok(last) => break last,
                Err(judgement) => return Ok(Err(judgement)),
            }
            if let Err(judgement) = put_back(open, gate, round, false).await? {
                return Ok(Err(judgement));
            }
        };
        match last {
            Passed::Yes => {
                let mut time = GateTime {
                    seconds: since.elapsed().as_secs(),
                    run: failures + 1,
                    is_on_others: false,
                };
                if failures > 0 {
                    open.tell(format!("{} passed only at run {}", named(gate), time.run));
                }
                let is_last = passed.len() + 1 == settings.verify.len();
                if round.held.is_some() || !is_last {
                    match put_back(open, gate, round, is_last).await? {
                        Ok(taken) => time.note_taken(open, gate, &taken),
                        Err(judgement) => return Ok(Err(judgement)),
                    }
                }
                passed.push(time);
            }
            Passed::Interrupted(signal) => return Ok(Err(Judgement::interrupted(signal))),
            Passed::No(failure) => {
                let mut what = format!("{} failed ({})", named(gate), failure.why);
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

/// One run of a gate.
struct Ran {
    passed: Result<Passed, Judgement>,
    /// The reason why the preparation before it failed.
    unprepared: Option<String>,
}

/// Runs a gate once, watched, and the preparation before it if it `prepares`.
async fn run_watched(
    open: &Loop<'_>,
    begun: &Begun,
    round: Round<'_>,
    walls: Option<&Arc<Walls>>,
    (gate, prepares): (&str, bool),
) -> Result<Ran, Error> {
    let settings = &begun.settings;
    let watch = watch::begin(open, Who::Gates).await?;
    let guard = guard_rail::set_up(open, settings.guard, None).await;
    let mut job = job(open, begun, guard);
    job.walls = walls.cloned();
    job.env.extend(variables(open, round.tree));
    let about = About {
        story: &begun.story.id,
        attempt: begun.number,
        held: round.held.is_some(),
        slot: begun.slot,
    };
    let ran = async {
        let prepared = if prepares {
            preparation::repeat(open, begun, &job, round.tree).await?
        } else {
            Ok(None)
        };
        let unprepared = match prepared {
            Ok(unprepared) => unprepared,
            Err(judgement) => {
                return Ok(Ran {
                    passed: Err(judgement),
                    unprepared: None,
                });
            }
        };
        let log = begun.log.try_clone().map_err(ProcessError::Log)?;
        let passed = run_gate(open, gate, Some(about), job.clone(), log, settings).await?;
        Ok(Ran {
            passed: Ok(passed),
            unprepared,
        })
    };
    let ran = ran.await;
    watch::end(open, watch).await?;
    ran
}

/// Restores files that a gate deleted and the next process is to judge. Returns the paths of the work among them. The
/// caller of a round with other tests restores all files after its last gate.
async fn put_back(
    open: &Loop<'_>,
    gate: &str,
    round: Round<'_>,
    is_last: bool,
) -> Result<Result<Vec<Vec<u8>>, Judgement>, Error> {
    let who = named(gate);
    let Some(tests) = round.held else {
        let back = judged::put_back_missing(open, round.record, &who).await?;
        return Ok(Ok(back.of_work));
    };
    let undone = (!is_last).then_some(who.as_str());
    let back = judged::put_back_shown(open, round.record, tests, undone).await?;
    Ok(back.map_err(|words| {
        let reason = format!("{who} took files away, which cannot be put back: {words}");
        Judgement::new(Verdict::GateFailed, reason)
    }))
}

/// Names a gate, as the subject of a sentence.
pub(super) fn named(gate: &str) -> String {
    format!("the gate `{gate}`")
}

/// The attempt that a gate judges.
#[derive(Clone, Copy)]
pub(crate) struct About<'a> {
    story: &'a str,
    attempt: u32,
    /// True in the run with the original tests.
    held: bool,
    slot: Option<u16>,
}

/// Returns the variables by which a gate finds the judged work: the commit of the last checkpoint, and the tree of the
/// work tree when the first gate begins.
pub(crate) fn variables(open: &Loop<'_>, tree: &Oid) -> [(OsString, OsString); 2] {
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
    // Programs that install hooks, such as pre-commit, refuse where it is set.
    if settings.guard
        && let Passed::No(failure) = &passed
        && failure.tail.both_ends().contains(HOOKS_PATH)
    {
        open.tell(format!(
            "the guard sets {HOOKS_PATH} for gates; if {} needs it unset: git config ralph.guard false",
            named(gate)
        ));
    }
    Ok(passed)
}
