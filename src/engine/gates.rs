//! Gates (`ralph.verify`): shell commands that must succeed between COMPLETE and the checkpoint. They
//! run as the agent does: same directory, same process control, a time limit of their own.

use std::ffi::OsString;
use std::fs::File;

use super::baseline::Baseline;
use super::home::Home;
use super::run_agent::{Begun, Outcome};
use super::verdict::Judgement;
use super::{Session, wall};
use crate::adapters::Story;
use crate::agent::process::{self, Ending, Job, Listener, ProcessError};
use crate::error::Error;
use crate::events::{Observer, Stream};
use crate::names::Oid;
use crate::settings::{Settings, VerifyBaseline};
use crate::state::Verdict;

/// Lines of some output that go into a reason.
const LINES: usize = 40;
/// Paths that are named when a gate has changed some.
const NAMED: usize = 5;

/// What a gate came to.
pub(super) enum Passed {
    /// It succeeded.
    Yes,
    /// It did not; how, in words, and the end of its output.
    No(String, Tail),
    /// We were asked to stop by this signal.
    Interrupted(i32),
}

impl Session<'_> {
    /// Runs the gates; gives the judgement of the first that says no.
    pub(super) async fn gates(
        &mut self,
        story: &Story,
        settings: &Settings,
        begun: &Begun,
        outcome: &mut Outcome,
    ) -> Result<Option<Judgement>, Error> {
        if settings.verify.is_empty() {
            return Ok(None);
        }
        let before = self.read_work_tree().await?.tree;
        let known = match settings.verify_baseline {
            VerifyBaseline::Same => self.baseline(),
            VerifyBaseline::Strict => Baseline::default(),
        };
        for gate in &settings.verify {
            let job = self.job(story, begun, Vec::new());
            let log = begun.log.try_clone().map_err(ProcessError::Log)?;
            match self.run_gate(gate, job, log, settings).await? {
                Passed::Yes => {}
                Passed::Interrupted(signal) => {
                    outcome.signal = Some(signal);
                    let why = format!("stopped by signal {signal}");
                    return Ok(Some(Judgement::new(Verdict::Interrupted, why)));
                }
                Passed::No(why, tail) if known.is_same(gate, &why, &tail) => self.tell(format!(
                    "the gate `{gate}` is red ({why}), in the same way as before the loop; that is not held against the story"
                )),
                Passed::No(why, tail) => {
                    let reason = format!(
                        "the gate `{gate}` failed ({why}); the end of its output:\n\n{}",
                        tail.text()
                    );
                    return Ok(Some(Judgement::new(Verdict::GateFailed, reason.trim_end())));
                }
            }
        }
        self.tell_changed_by_gates(&before).await?;
        Ok(None)
    }

    /// Runs one gate to its end.
    pub(super) async fn run_gate(
        &mut self,
        gate: &str,
        job: Job,
        mut log: File,
        settings: &Settings,
    ) -> Result<Passed, Error> {
        self.tell(format!("gate: {gate}"));
        let mut tail = Tail::default();
        let job = Job {
            argv: ["sh", "-c", gate].map(OsString::from).into(),
            timeout: settings.verify_timeout.map(wall),
            idle_timeout: settings.idle_timeout.map(wall),
            ..job
        };
        let mut stop = self.engine.stop.clone();
        let mut ears = GateEars {
            change: self.state.change.to_string(),
            observer: &mut *self.engine.observer,
            tail: &mut tail,
        };
        let home = Home::of(&self.engine.repo);
        let ended = process::run(job, &mut log, &mut stop, &mut ears).await?;
        self.come_home(&home)?;
        let why = match ended.ending {
            Ending::Exited(0) => return Ok(Passed::Yes),
            Ending::Interrupted(signal) => return Ok(Passed::Interrupted(signal)),
            Ending::Exited(code) => format!("exit code {code}"),
            Ending::Killed(signal) => format!("ended by signal {signal}"),
            Ending::TimedOut(why) => why,
            Ending::NotStarted(error) => error.to_string(),
        };
        Ok(Passed::No(why, tail))
    }

    /// What gates change is part of the story; a person shall know that the agent did not do it.
    async fn tell_changed_by_gates(&mut self, before: &Oid) -> Result<(), Error> {
        let after = self.read_work_tree().await?.tree;
        let changes = self.engine.repo.git.diff_trees(before, &after).await?;
        if changes.is_empty() {
            return Ok(());
        }
        let names = changes.iter().take(NAMED);
        let mut names: Vec<_> = names
            .map(|(_, path)| String::from_utf8_lossy(path).into_owned())
            .collect();
        if changes.len() > NAMED {
            names.push(format!("{} more", changes.len() - NAMED));
        }
        self.tell(format!(
            "the gates changed files, which goes into the checkpoint: {}",
            names.join(", ")
        ));
        Ok(())
    }
}

/// Listens to a gate.
struct GateEars<'a> {
    change: String,
    observer: &'a mut dyn Observer,
    tail: &'a mut Tail,
}

impl Listener for GateEars<'_> {
    fn started(&mut self, _pid: i32) {}

    fn output(&mut self, stream: Stream, bytes: &[u8]) {
        self.tail.push(bytes);
        self.observer.output(&self.change, stream, bytes);
    }

    fn stopping(&mut self) {
        self.observer
            .activity("asked it to stop; once more (Ctrl-C) kills it");
    }
}

/// The end of some output, in bounded memory.
#[derive(Default)]
pub(super) struct Tail(Vec<u8>);

impl Tail {
    const KEPT: usize = 16 * 1024;

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
        let excess = self.0.len().saturating_sub(Self::KEPT);
        self.0.drain(..excess);
    }

    /// Its last lines.
    pub(super) fn text(&self) -> String {
        let text = self.all();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }

    /// All that is kept of it.
    pub(super) fn all(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}
