//! One gate: a shell command that runs as the agent does (same directory, same process control), with a time
//! limit of its own.

use std::ffi::OsString;
use std::fs::File;

use super::Session;
use super::home::Home;
use super::output_tail::OutputTail;
use crate::agent::process::{self, Ending, Job, Listener};
use crate::error::Error;
use crate::events::{Observer, Stream};
use crate::settings::{Settings, to_std};

/// What a gate came to.
pub(super) enum Passed {
    /// It succeeded.
    Yes,
    /// It did not; how, in words, and the end of its output.
    No(String, OutputTail),
    /// We were asked to stop by this signal.
    Interrupted(i32),
}

impl Session<'_> {
    /// Runs one gate to its end.
    pub(super) async fn run_gate(
        &mut self,
        gate: &str,
        job: Job,
        mut log: File,
        settings: &Settings,
    ) -> Result<Passed, Error> {
        self.tell(format!("gate: {gate}"));
        let mut tail = OutputTail::default();
        let job = Job {
            argv: ["sh", "-c", gate].map(OsString::from).into(),
            timeout: settings.verify_timeout.map(to_std),
            idle_timeout: settings.idle_timeout.map(to_std),
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
}

/// Listens to a gate or a hook.
pub(super) struct GateEars<'a> {
    pub change: String,
    pub observer: &'a mut dyn Observer,
    pub tail: &'a mut OutputTail,
}

impl Listener for GateEars<'_> {
    fn started(&mut self, _pid: i32) {}

    fn output(&mut self, stream: Stream, bytes: &[u8]) {
        self.tail.push(bytes);
        self.observer.output(&self.change, stream, bytes);
    }

    fn tick(&mut self) {
        self.observer.tick();
    }

    fn stopping(&mut self) {
        self.observer
            .activity("asked it to stop; once more (Ctrl-C) kills it");
    }
}
