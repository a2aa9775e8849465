//! Git-ralph's side of a runner: starts it, sends it the process, and receives its messages.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use tokio::net::UnixStream;
use tokio::process::Command as ChildCommand;
use tokio::time::sleep;

use super::channel::{Command, Order, OwnEnd, Printed, VERSION, Word};
use crate::agent::job::Job;
use crate::held;
use crate::processes::{RUNNER, own_program};

/// Maximum time from the end of a runner's channel to the runner's exit.
const NEAR: Duration = Duration::from_secs(5);
/// The exit code of a Rust program that has panicked.
const PANICKED: i32 = 101;

/// A runner that was started.
#[derive(Debug)]
pub(crate) struct Runner {
    child: Box<dyn ChildWrapper>,
    channel: OwnEnd,
}

/// The end of a runner that did not report the end of its process.
#[derive(Debug)]
pub(crate) enum Lost {
    /// A signal ended it.
    Killed(i32),
    /// An internal error ended it.
    Panicked,
    /// It refused to work: it is another version of git-ralph.
    Refused,
}

impl Runner {
    /// Starts a runner that writes to `log`.
    pub(crate) fn start(log: &File) -> io::Result<Self> {
        let (ours, its) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let mut command = ChildCommand::new(own_program()?);
        command
            .arg0("git-ralph")
            .arg(RUNNER)
            .arg(std::process::id().to_string())
            .stdin(Stdio::from(OwnedFd::from(its)))
            .stdout(Stdio::from(log.try_clone()?))
            // The log gets a panic, too. Readers of git-ralph's output do not wait for the runner.
            .stderr(Stdio::from(log.try_clone()?));
        // The runner holds git-ralph's locks until it exits. Its session receives no signals from a terminal.
        let child = held::start(true, || CommandWrap::from(command).wrap(ProcessSession).spawn())?;
        Ok(Self {
            child: child.into_inner(),
            channel: OwnEnd::new(UnixStream::from_std(ours)?),
        })
    }

    /// Makes the runner start the process of a job.
    pub(crate) async fn run(&mut self, job: &Job) -> io::Result<()> {
        let boxed = job.walls.as_ref().map(|walls| walls.around(&job.dir, &job.argv));
        let argv = boxed.as_ref().unwrap_or(&job.argv);
        let hidden = job.walls.iter().flat_map(|walls| &walls.hidden).map(Word::of);
        let command = Command {
            version: VERSION.to_owned(),
            argv: argv.iter().map(Word::of).collect(),
            dir: Word::of(&job.dir),
            env: job
                .env
                .iter()
                .map(|(name, value)| (Word::of(name), Word::of(value)))
                .collect(),
            env_remove: job.env_remove.iter().map(Word::of).chain(hidden).collect(),
            run: job.run.clone(),
        };
        match self.channel.start(&job.stdin, command).await {
            // The exit of the runner gives the reason.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            started => started,
        }
    }

    /// Returns the runner's next message; `None` at the end of the channel.
    pub(crate) async fn next(&mut self) -> Option<Printed> {
        self.channel.next().await
    }

    /// Asks the runner to end its process.
    pub(crate) async fn end(&mut self) {
        let _ = self.channel.send(&Order::End).await;
    }

    /// Asks the runner to shorten the grace period.
    pub(crate) async fn hurry(&mut self) {
        let _ = self.channel.send(&Order::Hurry).await;
    }

    /// Resumes the runner if an agent has stopped it.
    pub(crate) fn wake(&self) {
        self.signal(Signal::SIGCONT);
    }

    /// Kills the runner.
    pub(crate) fn kill(&self) {
        self.signal(Signal::SIGKILL);
    }

    fn signal(&self, signal: Signal) {
        // The process id stays reserved until the runner is waited for.
        if let Some(pid) = self.child.id().and_then(|id| i32::try_from(id).ok()) {
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }

    /// Waits for the runner's exit, which follows the end of its channel.
    pub(crate) async fn wait(mut self) -> io::Result<Lost> {
        let status = tokio::select! {
            status = self.child.wait() => status?,
            () = sleep(NEAR) => {
                self.kill();
                self.child.wait().await?
            }
        };
        Ok(match (status.signal(), status.code()) {
            (Some(signal), _) => Lost::Killed(signal),
            (None, Some(PANICKED)) => Lost::Panicked,
            _ => Lost::Refused,
        })
    }
}
