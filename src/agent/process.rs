//! Runs one process of an attempt, an agent or a gate, from its start until nothing of it is alive.
//!
//! It runs in a session of its own with `GIT_RALPH_RUN` in its environment. At its end, or if a time limit or a signal
//! demands it, the whole session and every process with that variable are ended: TERM, a grace period, KILL. This
//! module knows nothing of stories or git.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::Signal;
use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};

use super::patience::{Patience, Spent};
use super::process_tree::{self, AttemptProcesses};
use crate::error::refusals::refusals;
use crate::events::Stream;
use crate::held;
use crate::names::counted;
use crate::sandbox::Walls;
use crate::signal::Stop;

/// The most bytes of one read; larger reads gain nothing.
const READ_SIZE: usize = 64 * 1024;
/// The longest wait for output that is left in the pipes after everything has ended.
const DRAIN: Duration = Duration::from_secs(1);
/// The interval at which a listener learns that time passes.
const SECOND: Duration = Duration::from_secs(1);

/// The exit code that stands for the end by a signal, without the signal's number.
const SIGNALLED: i32 = 128;

/// A program to run, and its limits.
#[derive(Clone, Debug)]
pub struct Job {
    /// Program and arguments.
    pub argv: Vec<OsString>,
    /// The directory it runs in.
    pub dir: PathBuf,
    /// Variables set for it.
    pub env: Vec<(OsString, OsString)>,
    /// Variables removed for it.
    pub env_remove: Vec<&'static str>,
    /// Its standard input, to the end.
    pub stdin: Vec<u8>,
    /// The value of `GIT_RALPH_RUN`.
    pub run: String,
    /// The longest time that it may run.
    pub timeout: Option<Duration>,
    /// The longest time without output that shows progress.
    pub idle_timeout: Option<Duration>,
    /// The box that it runs in.
    pub walls: Option<Arc<Walls>>,
}

/// The way in which a process ended.
#[derive(Debug)]
pub enum Ending {
    /// It exited with this code.
    Exited(i32),
    /// A signal ended it that was not git-ralph's.
    Killed(i32),
    /// It reached this limit of its time, or of the time without progress; with the reason in words.
    TimedOut(String, Duration),
    /// This signal asked git-ralph to stop.
    Interrupted(i32),
    /// It could not be started.
    NotStarted(io::Error),
}

impl Ending {
    /// Returns the ending of a program of which a box has told the exit code: that of a signal is the one that shells give,
    /// for what they have started.
    fn out_of_box(self) -> Self {
        match self {
            Self::Exited(code) if Signal::try_from(code - SIGNALLED).is_ok() => {
                Self::Killed(code - SIGNALLED)
            }
            other => other,
        }
    }
}

/// A process that has ended.
#[derive(Debug)]
pub struct Ended {
    /// The way in which it ended.
    pub ending: Ending,
    /// Processes that it left running and that were ended.
    pub left_running: usize,
}

refusals! {
/// A failure to end a process or to write its log.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// So many processes survive SIGKILL.
    #[error("cannot end {} of the attempt", counted(*.0, "process", "processes"))]
    Immortal(usize)
        => "kill them, then run: git ralph status";
    /// The log cannot be written.
    #[error("cannot write the log of the attempt: {0}")]
    Log(io::Error)
        => "its processes were ended; to see what comes next: git ralph status";
}
}

/// Listens to a process while it runs.
pub trait Listener {
    /// The process was started; its process id is also its session.
    fn started(&mut self, pid: i32);
    /// The process printed these bytes.
    fn output(&mut self, stream: Stream, bytes: &[u8]);
    /// The process is asked to end, because git-ralph was asked to stop.
    fn stopping(&mut self);
    /// Another second has passed.
    fn tick(&mut self) {}
    /// Returns true if the output since the last call shows progress.
    fn made_progress(&mut self) -> bool {
        true
    }
}

/// Runs a job until nothing of it is alive. All output goes to `log` and to `listener`.
///
/// # Errors
/// If the log cannot be written, or a process cannot be ended; the caller must not touch the work tree then. Whatever
/// the error, every process that can be ended has been.
pub async fn run(
    job: Job,
    log: &mut File,
    stop: &mut Stop,
    listener: &mut dyn Listener,
) -> Result<Ended, ProcessError> {
    process_tree::adopt_orphans();
    let others = process_tree::others();
    let mut child = match spawn(&job) {
        Ok(child) => child,
        Err(error) => {
            return Ok(Ended {
                ending: Ending::NotStarted(error),
                left_running: 0,
            });
        }
    };
    let is_boxed = job.walls.is_some();
    let is_shell = job.argv.first().is_some_and(|program| program == "sh");
    let pid = child.id().and_then(|id| i32::try_from(id).ok());
    let processes = AttemptProcesses::started(pid, job.run, others);
    if let Some(pid) = pid {
        listener.started(pid);
    }
    feed(&mut child, job.stdin);
    let mut pipes = Pipes::of(&mut child);
    let mut tee = Tee {
        log: Some(log),
        listener,
        late: None,
    };
    let ending = watch(
        &processes,
        &mut child,
        &mut pipes,
        &mut tee,
        stop,
        job.timeout,
        job.idle_timeout,
    )
    .await;
    // No return before all have been ended: a process that is alive now would go on without us.
    if matches!(ending, Ok(Ending::Interrupted(_))) {
        tee.listener.stopping();
    }
    let asked_to_end = !matches!(ending, Ok(Ending::Exited(_) | Ending::Killed(_)));
    let ending = ending.map(|ending| {
        if is_boxed && !is_shell {
            ending.out_of_box()
        } else {
            ending
        }
    });
    let left_running = end_all(&processes, &mut child, &mut pipes, &mut tee, stop, asked_to_end).await?;
    // In a box there is one more, its first process, which ends after all others.
    let left_running = left_running.saturating_sub(usize::from(is_boxed));
    let deadline = Instant::now() + DRAIN;
    while pipes.open() {
        tokio::select! {
            chunk = pipes.read() => tee.take_late(&chunk),
            () = sleep_until(deadline) => break,
        }
    }
    let ending = ending.map_err(ProcessError::Log)?;
    match tee.late {
        Some(error) => Err(ProcessError::Log(error)),
        None => Ok(Ended {
            ending,
            left_running: if asked_to_end { 0 } else { left_running },
        }),
    }
}

type Child = Box<dyn ChildWrapper>;

fn spawn(job: &Job) -> io::Result<Child> {
    let boxed = job.walls.as_ref().map(|walls| walls.around(&job.dir, &job.argv));
    let argv = boxed.as_ref().unwrap_or(&job.argv);
    let (program, args) = argv
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no command was given"))?;
    let mut command = Command::new(program);
    command
        .args(args)
        .current_dir(&job.dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for name in &job.env_remove {
        command.env_remove(name);
    }
    for name in job.walls.iter().flat_map(|walls| &walls.hidden) {
        command.env_remove(name);
    }
    command.envs(job.env.iter().map(|(name, value)| (name, value)));
    command.env(process_tree::VARIABLE, &job.run);
    let child = held::start(false, || CommandWrap::from(command).wrap(ProcessSession).spawn())?;
    // The plain child inside waits for the leader alone; who else is left is for `process_tree` to see.
    Ok(child.into_inner())
}

/// Writes standard input from a task of its own: a large prompt does not fit a pipe.
fn feed(child: &mut Child, bytes: Vec<u8>) {
    if let Some(mut stdin) = child.stdin().take() {
        tokio::spawn(async move {
            // An agent that does not read its prompt to the end is free to do so.
            let _ = stdin.write_all(&bytes).await;
        });
    }
}

/// Waits until the process has ended or has to be ended.
async fn watch(
    processes: &AttemptProcesses,
    child: &mut Child,
    pipes: &mut Pipes,
    tee: &mut Tee<'_>,
    stop: &mut Stop,
    timeout: Option<Duration>,
    idle_timeout: Option<Duration>,
) -> io::Result<Ending> {
    let begun = Instant::now();
    let mut patience = Patience::begin(begun, timeout, idle_timeout);
    let mut seconds = interval_at(begun + SECOND, SECOND);
    seconds.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        let now = Instant::now();
        patience.look(now);
        if let Some(Spent { why, limit }) = patience.spent(now) {
            return Ok(Ending::TimedOut(why, limit));
        }
        tokio::select! {
            // Signals first: they win over anything printed at the same moment.
            biased;
            signal = stop.asked(1) => return Ok(Ending::Interrupted(signal)),
            // Before the pipes: a process left behind may keep them full for ever.
            status = child.wait() => {
                return Ok(match status {
                    Ok(status) => match (status.code(), status.signal()) {
                        (Some(code), _) => Ending::Exited(code),
                        (None, signal) => Ending::Killed(signal.unwrap_or_default()),
                    },
                    Err(error) => Ending::NotStarted(error),
                });
            }
            chunk = pipes.read(), if pipes.open() => {
                tee.take(&chunk)?;
                let now = Instant::now();
                patience.look(now);
                let progress = tee.listener.made_progress();
                if progress || !chunk.bytes.is_empty() {
                    patience.heard(now, progress);
                }
            }
            // What to make of it is decided by the look at the clock.
            () = at(patience.next()) => {}
            _ = seconds.tick() => {
                // They come to us for as long as it runs.
                processes.reap_orphans();
                tee.listener.tick();
            }
        }
    }
}

async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Ends every process of the attempt while still reading their output, so that none of them blocks on a full pipe.
/// Returns their number.
async fn end_all(
    processes: &AttemptProcesses,
    child: &mut Child,
    pipes: &mut Pipes,
    tee: &mut Tee<'_>,
    stop: &mut Stop,
    asked_to_end: bool,
) -> Result<usize, ProcessError> {
    let mut impatient = stop.clone();
    let ending = process_tree::end(processes, async move {
        // The second request to stop ends the grace.
        if asked_to_end {
            impatient.asked(2).await;
        } else {
            impatient.asked(1).await;
        }
    });
    tokio::pin!(ending);
    let mut reaped = false;
    loop {
        tokio::select! {
            found = &mut ending => {
                return match found {
                    process_tree::Found { alive: 0, ended } => Ok(ended),
                    process_tree::Found { alive, .. } => Err(ProcessError::Immortal(alive)),
                };
            }
            // Reaping the leader takes it off the list of the living.
            _ = child.wait(), if !reaped => reaped = true,
            chunk = pipes.read(), if pipes.open() => tee.take_late(&chunk),
        }
    }
}

/// Copies output to the log and to the listener.
struct Tee<'a> {
    /// The log, until it cannot be written.
    log: Option<&'a mut File>,
    listener: &'a mut dyn Listener,
    /// The failure to write what was printed while the processes were being ended.
    late: Option<io::Error>,
}

impl Tee<'_> {
    fn take(&mut self, chunk: &Chunk) -> io::Result<()> {
        if !chunk.bytes.is_empty() {
            self.listener.output(chunk.stream, &chunk.bytes);
        }
        let Some(log) = &mut self.log else { return Ok(()) };
        let written = log.write_all(&chunk.bytes);
        if written.is_err() {
            self.log = None;
        }
        written
    }

    fn take_late(&mut self, chunk: &Chunk) {
        if let Err(error) = self.take(chunk) {
            self.late = Some(error);
        }
    }
}

struct Chunk {
    stream: Stream,
    bytes: Vec<u8>,
}

type Pipe = Box<dyn AsyncRead + Unpin>;

/// The two output pipes; a closed one is `None`.
struct Pipes {
    stdout: Option<Pipe>,
    stderr: Option<Pipe>,
}

impl Pipes {
    fn of(child: &mut Child) -> Self {
        Self {
            stdout: child.stdout().take().map(|pipe| Box::new(pipe) as Pipe),
            stderr: child.stderr().take().map(|pipe| Box::new(pipe) as Pipe),
        }
    }

    fn open(&self) -> bool {
        self.stdout.is_some() || self.stderr.is_some()
    }

    async fn read(&mut self) -> Chunk {
        let (stream, bytes) = tokio::select! {
            bytes = read_some(&mut self.stdout), if self.stdout.is_some() => (Stream::Stdout, bytes),
            bytes = read_some(&mut self.stderr), if self.stderr.is_some() => (Stream::Stderr, bytes),
            else => std::future::pending().await,
        };
        Chunk { stream, bytes }
    }
}

/// Reads the available bytes; if there are none, the pipe is at its end and is closed.
async fn read_some(pipe: &mut Option<Pipe>) -> Vec<u8> {
    let Some(open) = pipe else { return Vec::new() };
    let mut bytes = Vec::with_capacity(READ_SIZE);
    match open.read_buf(&mut bytes).await {
        Ok(0) | Err(_) => *pipe = None,
        Ok(_) => {}
    }
    bytes
}
