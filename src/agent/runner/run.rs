//! The runner: starts one process, copies its output to the log and to git-ralph, and ends all its processes.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::process::{ExitStatusExt, parent_id};
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::Signal;
use process_wrap::tokio::{CommandWrap, ProcessSession};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::process::Command as ChildCommand;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};

use super::channel::{self, Command, News, Order, Orders, Outgoing, Received, VERSION, Word};
use super::output::{Child, Chunk, Pipes};
use crate::agent::process_tree::{self, AttemptProcesses};
use crate::exit::Exit;
use crate::held;
use crate::processes::runs_our_program;
use crate::trace;

/// Maximum time to read remaining output from the pipes after all processes have ended.
const DRAIN: Duration = Duration::from_secs(1);
/// The interval at which the runner reaps dead orphans and checks its parent.
const SECOND: Duration = Duration::from_secs(1);

/// Runs the process that git-ralph sends over standard input; standard output is the log.
pub async fn run() -> Exit {
    let asked = async {
        let mut runner = Runner::begin()?;
        let (stdin, command) = runner.parent.command().await?;
        Some((runner, stdin, command))
    };
    let Some((mut runner, stdin, command)) = asked.await else {
        trace::begin(0);
        tracing::error!("run-attempt is for git-ralph alone, of the same version");
        return Exit::Usage;
    };
    runner.run_process(stdin, command).await;
    runner.outgoing_to_its_end().await;
    Exit::Done
}

/// The runner's view of git-ralph.
struct Parent {
    number: u32,
    orders: Orders,
}

impl Parent {
    /// Returns standard input, and the command to run with it.
    async fn command(&mut self) -> Option<(Vec<u8>, Command)> {
        let Some(Received::Stdin(stdin)) = self.orders.next().await else {
            return None;
        };
        match self.orders.next().await? {
            Received::Order(Order::Start(command)) if command.version == VERSION => Some((stdin, command)),
            _ => None,
        }
    }

    /// Returns whether git-ralph has ended: its children then have another parent.
    fn is_gone(&self) -> bool {
        parent_id() != self.number
    }

    /// Waits for the next order; returns `None` if git-ralph has ended.
    async fn order(&mut self) -> Option<Order> {
        loop {
            match self.orders.next().await? {
                Received::Order(order) => return Some(order),
                Received::Stdin(_) => {}
            }
        }
    }

    /// Waits until the grace period of the process must end: git-ralph is in a hurry, or has ended.
    async fn hurries(&mut self) {
        while matches!(self.order().await, Some(Order::End | Order::Start(_))) {}
    }

    /// Waits until git-ralph has ended.
    async fn ends(&mut self) {
        while self.order().await.is_some() {}
    }
}

struct Runner {
    parent: Parent,
    outgoing: Outgoing,
    /// The log; `None` after a failed write.
    log: Option<File>,
    /// SIGCONT, which the kernel sends when the parent ends.
    wakes: tokio::signal::unix::Signal,
}

impl Runner {
    /// Takes the channel from standard input and the log from standard output. Returns `None` if the parent is not
    /// git-ralph of the same build.
    fn begin() -> Option<Self> {
        let channel = io::stdin().as_fd().try_clone_to_owned().ok()?;
        let channel = std::os::unix::net::UnixStream::from(channel);
        channel.set_nonblocking(true).ok()?;
        let channel = UnixStream::from_std(channel).ok()?;
        let number = parent_id();
        let peer = channel.peer_cred().ok()?;
        // Some systems do not report the peer's process id.
        let is_parents = peer.pid().is_none_or(|pid| u32::try_from(pid) == Ok(number));
        if !is_parents || runs_our_program(i32::try_from(number).ok()?) == Some(false) {
            return None;
        }
        // An agent may stop the runner: this signal resumes it when git-ralph ends.
        #[cfg(all(target_os = "linux", not(feature = "without-proc")))]
        {
            let _ = nix::sys::prctl::set_pdeathsig(Signal::SIGCONT);
            // The runner was started as `/proc/self/exe`.
            let _ = nix::sys::prctl::set_name(c"git-ralph");
        }
        let wakes = signal(SignalKind::from_raw(Signal::SIGCONT as i32)).ok()?;
        // A service manager may send these to every process. Git-ralph decides how to react.
        let ignored = [
            SignalKind::hangup(),
            SignalKind::interrupt(),
            SignalKind::quit(),
            SignalKind::terminate(),
        ];
        for kind in ignored {
            // A handled signal does not end the runner, and, unlike an ignored one, is not inherited as ignored.
            let _ = signal(kind).ok()?;
        }
        let log = File::from(io::stdout().as_fd().try_clone_to_owned().ok()?);
        let (orders, outgoing) = channel::runners_end(channel);
        Some(Self {
            parent: Parent { number, orders },
            outgoing,
            log: Some(log),
            wakes,
        })
    }

    /// Starts the process, and returns when none of its processes is left.
    async fn run_process(&mut self, stdin: Vec<u8>, command: Command) {
        process_tree::adopt_orphans();
        let mut child = match spawn(&command) {
            Ok(child) => child,
            Err(error) => return self.outgoing.news(&News::NotStarted((&error).into())),
        };
        let pid = child.id().and_then(|id| i32::try_from(id).ok());
        let processes = AttemptProcesses::started(pid, command.run, Vec::new());
        self.outgoing.news(&News::Started(pid));
        feed(&mut child, stdin);
        let mut pipes = Pipes::of(&mut child);
        let is_orphaned = self.watch(&processes, &mut child, &mut pipes).await;
        let news = self
            .end_all(&processes, &mut child, &mut pipes, is_orphaned)
            .await;
        let deadline = Instant::now() + DRAIN;
        while pipes.are_open() {
            tokio::select! {
                chunk = pipes.read() => self.take(&chunk),
                () = sleep_until(deadline) => break,
            }
        }
        self.outgoing.news(&news);
    }

    /// Waits until the process has exited or must be ended; returns whether git-ralph has ended.
    async fn watch(&mut self, processes: &AttemptProcesses, child: &mut Child, pipes: &mut Pipes) -> bool {
        let mut seconds = interval_at(Instant::now() + SECOND, SECOND);
        seconds.set_missed_tick_behavior(MissedTickBehavior::Skip);
        while !self.parent.is_gone() {
            tokio::select! {
                biased;
                order = self.parent.order() => match order {
                    Some(Order::End) => return false,
                    Some(_) => {}
                    None => return true,
                },
                // Before the pipes: a background process may keep them full for ever.
                status = child.wait() => {
                    let news = match status.map(|status| (status.code(), status.signal())) {
                        Ok((Some(code), _)) => News::Exited(code),
                        Ok((None, signal)) => News::Killed(signal.unwrap_or_default()),
                        Err(error) => News::NotStarted((&error).into()),
                    };
                    self.outgoing.news(&news);
                    return false;
                }
                _ = self.wakes.recv() => {}
                () = self.outgoing.flush(), if self.outgoing.has_bytes() => {}
                chunk = pipes.read(), if pipes.are_open() && self.outgoing.has_room() => self.take(&chunk),
                _ = seconds.tick() => processes.reap_orphans(),
            }
        }
        true
    }

    /// Ends all processes while still reading their output, so that none of them blocks on a full pipe.
    async fn end_all(
        &mut self,
        processes: &AttemptProcesses,
        child: &mut Child,
        pipes: &mut Pipes,
        is_orphaned: bool,
    ) -> News {
        let Self {
            parent,
            outgoing,
            log,
            ..
        } = self;
        let ending = process_tree::end(processes, async {
            // The next command must not wait long.
            if !is_orphaned {
                parent.hurries().await;
            }
        });
        tokio::pin!(ending);
        let mut is_reaped = false;
        loop {
            tokio::select! {
                found = &mut ending => {
                    let process_tree::Found { alive, ended } = found;
                    return News::Ended { alive, ended };
                }
                // After the leader is reaped, it no longer counts as living.
                _ = child.wait(), if !is_reaped => is_reaped = true,
                () = outgoing.flush(), if outgoing.has_bytes() => {}
                chunk = pipes.read(), if pipes.are_open() && outgoing.has_room() => take(log, outgoing, &chunk),
            }
        }
    }

    fn take(&mut self, chunk: &Chunk) {
        take(&mut self.log, &mut self.outgoing, chunk);
    }

    /// Sends the remaining frames, unless git-ralph has ended.
    async fn outgoing_to_its_end(&mut self) {
        let Self { parent, outgoing, .. } = self;
        tokio::select! {
            () = outgoing.flush() => {}
            () = parent.ends() => {}
        }
    }
}

/// Copies output to the log and to git-ralph.
fn take(log: &mut Option<File>, outgoing: &mut Outgoing, chunk: &Chunk) {
    if chunk.bytes.is_empty() {
        return;
    }
    outgoing.output(chunk.stream, &chunk.bytes);
    let Some(open) = log else { return };
    if let Err(error) = open.write_all(&chunk.bytes) {
        *log = None;
        outgoing.news(&News::LogFailed((&error).into()));
    }
}

fn spawn(command: &Command) -> io::Result<Child> {
    let (program, args) = command
        .argv
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no command was given"))?;
    let mut child = ChildCommand::new(&program.0);
    child
        .args(args.iter().map(|Word(arg)| arg))
        .current_dir(&command.dir.0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for Word(name) in &command.env_remove {
        child.env_remove(name);
    }
    child.envs(command.env.iter().map(|(name, value)| (&name.0, &value.0)));
    child.env(process_tree::VARIABLE, &command.run);
    let child = held::start(false, || CommandWrap::from(child).wrap(ProcessSession).spawn())?;
    // The plain child inside waits only for the leader; `process_tree` finds the other processes.
    Ok(child.into_inner())
}

/// Writes standard input in a separate task: a large prompt does not fit into a pipe.
fn feed(child: &mut Child, bytes: Vec<u8>) {
    if let Some(mut stdin) = child.stdin().take() {
        tokio::spawn(async move {
            // An agent need not read its prompt to the end.
            let _ = stdin.write_all(&bytes).await;
        });
    }
}
