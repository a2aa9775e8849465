//! Works on several changes side by side: each in a process of its own, which works on that change alone, in a work tree
//! of its own. A change that cannot go on stops none of the others.
//!
//! Such a process is a run like any other: its loop is held by it, and every command finds it. It has a process group of its
//! own, so that a terminal's Ctrl-C reaches it once, through this one; and it is asked to stop when this one is killed.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::{ExitStatusExt, parent_id};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::process::{Child, Command as ChildCommand};
use tokio::sync::mpsc::{self, Sender};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

use super::command::{Command, Printed};
use super::schedule::worst;
use crate::engine::Context;
use crate::exit::Exit;
use crate::git::Head;
use crate::held::UnderWay;
use crate::names::{Change, Oid};
use crate::processes::{ONE_OF_SEVERAL, own_program};
use crate::signal::{self, Stop};
use crate::slot::SLOT;

/// The longest line that is printed as one, in bytes.
const LONGEST_LINE: u64 = 1 << 20;
/// The most lines that wait to be printed.
const MOST_LINES: usize = 64;
/// The longest wait for what is left of its output after a process has ended.
const DRAIN: Duration = Duration::from_secs(1);

/// Works on these changes in their order, on so many at once; returns the worst exit code. `typed` is the command line after
/// the program's name; each begins at the HEAD of now.
pub async fn beside(
    command: &impl Command,
    typed: &[OsString],
    changes: Vec<Change>,
    jobs: usize,
    context: &Context<'_>,
) -> Exit {
    let _under_way = UnderWay::begin();
    let (head, stop) = (&context.head, &context.stop);
    let (sender, mut printed) = mpsc::channel(MOST_LINES);
    let mut running = JoinSet::new();
    let number = changes.len();
    let mut left = VecDeque::from(changes);
    let mut slots: BTreeSet<usize> = (1..=jobs.min(number)).collect();
    let mut exit = Exit::Done;
    loop {
        while stop.signal().is_none()
            && let Some(&slot) = slots.first()
            && let Some(change) = left.pop_front()
        {
            slots.remove(&slot);
            command.say(&format!("change {} of {number}: {change}", number - left.len()));
            match Run::start(typed, change.clone(), head, slot, &sender) {
                Ok(run) => {
                    running.spawn(run.attend(stop.clone()));
                }
                Err(error) => {
                    slots.insert(slot);
                    command.warn(&format!(
                        "{change} cannot begin: git-ralph cannot be started: {error}"
                    ));
                    exit = Exit::Error;
                }
            }
        }
        // What a process has printed is shown before its end.
        tokio::select! {
            biased;
            Some(line) = printed.recv() => command.relay(&line),
            ended = running.join_next() => match ended {
                Some(Ok((change, slot, ended))) => {
                    slots.insert(slot);
                    if let Some(why) = ended.why {
                        command.warn(&format!("{change} {why}"));
                    }
                    exit = worst([exit, ended.exit].into_iter()).unwrap_or(exit);
                }
                Some(Err(_)) => {
                    command.warn("the end of a change is not known: git ralph status");
                    exit = Exit::Error;
                }
                None => break,
            },
        }
    }
    if !left.is_empty() {
        let left: Vec<&str> = left.iter().map(Change::as_str).collect();
        command.say(&format!("not begun: {}", left.join(", ")));
    }
    stop.signal().map_or(exit, Exit::Signal)
}

/// A process that works on one change.
struct Run {
    change: Change,
    slot: usize,
    child: Child,
    /// The tasks that read its output, until that ends.
    readers: Vec<JoinHandle<()>>,
    /// Tells them that the process has ended.
    has_ended: watch::Sender<bool>,
}

impl Run {
    fn start(
        typed: &[OsString],
        change: Change,
        head: &Head,
        slot: usize,
        lines: &Sender<Printed>,
    ) -> io::Result<Self> {
        let mut child = ChildCommand::new(own_program()?)
            .arg0("git-ralph")
            .arg(ONE_OF_SEVERAL)
            .arg(std::process::id().to_string())
            .arg(change.as_str())
            .arg(head.oid.as_ref().map_or("", Oid::as_str))
            .arg(head.branch.as_deref().unwrap_or_default())
            .args(typed)
            .env(SLOT, slot.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let (has_ended, ended) = watch::channel(false);
        let (to_show, to_tell) = (change.clone(), change.clone());
        let answers = child.stdout.take().map(|output| {
            let to_line = move |text| Printed::Answer(to_show.clone(), text);
            tokio::spawn(read(output, ended.clone(), lines.clone(), to_line))
        });
        let narration = child.stderr.take().map(|output| {
            let to_line = move |text| Printed::Narration(to_tell.clone(), text);
            tokio::spawn(read(output, ended.clone(), lines.clone(), to_line))
        });
        Ok(Self {
            change,
            slot,
            child,
            readers: answers.into_iter().chain(narration).collect(),
            has_ended,
        })
    }

    /// Hands on each request to stop, and waits for the end.
    async fn attend(mut self, mut stop: Stop) -> (Change, usize, Ended) {
        let mut times = 1;
        let status = loop {
            tokio::select! {
                status = self.child.wait() => break status,
                signal = stop.asked(times) => {
                    self.ask_to_stop(signal);
                    times += 1;
                }
            }
        };
        self.has_ended.send_replace(true);
        for reader in self.readers {
            let _ = reader.await;
        }
        (self.change, self.slot, Ended::of(status.ok()))
    }

    fn ask_to_stop(&self, signal: i32) {
        // Its number is its own until it is waited for.
        let number = self.child.id().and_then(|id| i32::try_from(id).ok());
        if let (Some(number), Ok(signal)) = (number, Signal::try_from(signal)) {
            let _ = kill(Pid::from_raw(number), signal);
        }
    }
}

/// Sends the lines of a stream to its end, or until nothing comes from it any more after the process has ended: what that has
/// left behind may hold the pipe.
async fn read(
    stream: impl AsyncRead + Unpin,
    mut ended: watch::Receiver<bool>,
    lines: Sender<Printed>,
    to_line: impl Fn(String) -> Printed,
) {
    let mut stream = BufReader::new(stream).take(LONGEST_LINE);
    let mut line = Vec::new();
    loop {
        let is_over = tokio::select! {
            biased;
            read = stream.read_until(b'\n', &mut line) => matches!(read, Ok(0) | Err(_)),
            () = silence(&mut ended) => true,
        };
        if !line.is_empty() {
            let text = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(&line)).into_owned();
            if lines.send(to_line(text)).await.is_err() {
                return;
            }
        }
        if is_over {
            return;
        }
        line.clear();
        stream.set_limit(LONGEST_LINE);
    }
}

/// Waits for the end of the process, and then for the time in which something can still come from it.
async fn silence(ended: &mut watch::Receiver<bool>) {
    let _ = ended.wait_for(|ended| *ended).await;
    sleep(DRAIN).await;
}

/// The end of the work on one change.
struct Ended {
    exit: Exit,
    /// The words about an end that was not good.
    why: Option<String>,
}

impl Ended {
    fn of(status: Option<ExitStatus>) -> Self {
        let code = status.and_then(|status| status.code());
        let (exit, why) = match (code, status.and_then(|status| status.signal())) {
            (Some(0), _) => {
                return Self {
                    exit: Exit::Done,
                    why: None,
                };
            }
            // It was asked to stop, and this run was not.
            (Some(code @ 129..), _) => (
                Exit::Limit,
                format!("was stopped by {}", signal::name(code - 128)),
            ),
            (Some(code), _) => {
                let exit = u8::try_from(code).map_or(Exit::Error, Exit::from);
                (exit, format!("ended with exit code {code}"))
            }
            (None, Some(signal)) => (Exit::Error, format!("was ended by {}", signal::name(signal))),
            (None, None) => (Exit::Error, "has an end that is not known".to_owned()),
        };
        Self { exit, why: Some(why) }
    }
}

/// Has the system ask this process to stop when the one with this number ends, which started it. Returns false if that
/// has ended already.
pub fn stop_with(parent: u32) -> bool {
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_pdeathsig(Signal::SIGTERM);
    parent_id() == parent
}
