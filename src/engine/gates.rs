//! Gates (`ralph.verify`): shell commands that must succeed between COMPLETE and the checkpoint. They
//! run as the agent does: same directory, same limits, same end.

use std::ffi::OsString;

use super::run_agent::{Begun, Outcome};
use super::verdict::Judgement;
use super::{Session, wall};
use crate::adapters::Story;
use crate::agent::process::{self, Ending, Job, Listener};
use crate::error::Error;
use crate::events::{Observer, Stream};
use crate::settings::Settings;
use crate::state::Verdict;

/// Lines of some output that go into a reason.
const LINES: usize = 40;

impl Session<'_> {
    /// Runs the gates; gives the judgement of the first that says no.
    pub(super) async fn gates(
        &mut self,
        story: &Story,
        settings: &Settings,
        begun: &Begun,
        outcome: &mut Outcome,
    ) -> Result<Option<Judgement>, Error> {
        for gate in &settings.verify {
            self.tell(format!("gate: {gate}"));
            let mut tail = Tail::default();
            let job = Job {
                argv: ["sh", "-c", gate].map(OsString::from).into(),
                timeout: settings.timeout.map(wall),
                idle_timeout: settings.idle_timeout.map(wall),
                ..self.job(story, begun)
            };
            let mut log = begun.log.try_clone().map_err(process::ProcessError::Log)?;
            let mut stop = self.engine.stop.clone();
            let mut ears = GateEars {
                change: self.state.change.to_string(),
                observer: &mut *self.engine.observer,
                tail: &mut tail,
            };
            let ended = process::run(job, &mut log, &mut stop, &mut ears).await?;
            let why = match ended.ending {
                Ending::Exited(0) => continue,
                Ending::Interrupted(signal) => {
                    outcome.signal = Some(signal);
                    return Ok(Some(Judgement::new(
                        Verdict::Interrupted,
                        format!("stopped by signal {signal}"),
                    )));
                }
                Ending::Exited(code) => format!("exit code {code}"),
                Ending::Killed(signal) => format!("ended by signal {signal}"),
                Ending::TimedOut(why) => why,
                Ending::NotStarted(error) => error.to_string(),
            };
            let reason = format!(
                "the gate `{gate}` failed ({why}); the end of its output:\n\n{}",
                tail.text()
            );
            return Ok(Some(Judgement::new(Verdict::GateFailed, reason.trim_end())));
        }
        Ok(None)
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
        let text = String::from_utf8_lossy(&self.0);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }
}
