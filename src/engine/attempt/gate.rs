//! The user's commands that are run as the agent is (same directory, same process control), with a time limit of their
//! own: gates, and hooks.

use std::ffi::OsString;
use std::fs::File;

use super::output_tail::OutputTail;
use crate::agent::process::{self, Ending, Job, Listener};
use crate::engine::Loop;
use crate::error::Error;
use crate::events::{Observer, Stream};
use crate::protect::RepoLink;
use crate::settings::{Settings, to_std};
use crate::signal::Stop;

/// What a command came to.
pub(crate) enum Passed {
    /// It succeeded.
    Yes,
    /// It did not; how, in words, and the end of its output.
    No(String, OutputTail),
    /// We were asked to stop by this signal.
    Interrupted(i32),
}

/// Runs one gate to its end.
pub(super) async fn run_gate(
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

/// Runs a command to its end.
pub(crate) async fn run_command(
    open: &mut Loop<'_>,
    job: Job,
    mut log: File,
    mut stop: Stop,
) -> Result<Passed, Error> {
    let link = RepoLink::of(&open.context.repo);
    let mut listener = CommandListener {
        change: open.state.change.to_string(),
        observer: &mut *open.context.observer,
        tail: OutputTail::default(),
    };
    let ended = process::run(job, &mut log, &mut stop, &mut listener).await?;
    let tail = listener.tail;
    let (site, _, mut recorder) = open.parts();
    link.restore(site, &mut recorder)?;
    open.view.drop_all();
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

/// Listens to a command.
struct CommandListener<'a> {
    change: String,
    observer: &'a mut dyn Observer,
    tail: OutputTail,
}

impl Listener for CommandListener<'_> {
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
