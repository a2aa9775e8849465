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
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

use super::command::{Command, Printed};
use super::schedule::worst;
use crate::error::Error;
use crate::exit::Exit;
use crate::held::UnderWay;
use crate::names::Change;
use crate::processes::own_program;
use crate::signal::Stop;
use crate::slot::SLOT;

/// The word that has the program work on one of several changes; its parent's number, the change and what was typed follow.
pub const VERB: &str = "run-change";

/// The longest line that is printed as one, in bytes.
const LONGEST_LINE: u64 = 1 << 20;
/// The most lines that wait to be printed.
const MOST_LINES: usize = 64;
/// The longest wait for what is left of its output after a process has ended.
const DRAIN: Duration = Duration::from_secs(1);

/// Works on these changes in their order, on so many at once; returns the worst exit code. `typed` is the command line after
/// the program's name.
pub async fn beside(
    command: &impl Command,
    typed: &[OsString],
    changes: Vec<Change>,
    jobs: usize,
    stop: &Stop,
) -> Result<Exit, Error> {
    let _under_way = UnderWay::begin();
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
            let run = Run::start(typed, change, slot, &sender).map_err(Error::system("start git-ralph"))?;
            running.spawn(run.attend(stop.clone()));
        }
        // What a process has printed is shown before its end.
        tokio::select! {
            biased;
            Some(line) = printed.recv() => command.show(&line),
            ended = running.join_next() => match ended {
                Some(Ok((change, slot, ended))) => {
                    slots.insert(slot);
                    if ended != Exit::Done {
                        command.say(&format!("{change} ended with exit code {}", ended.code()));
                    }
                    exit = worst([exit, ended].into_iter()).unwrap_or(ended);
                }
                Some(Err(_)) => exit = Exit::Error,
                None => break,
            },
        }
    }
    if !left.is_empty() {
        let left: Vec<&str> = left.iter().map(Change::as_str).collect();
        command.say(&format!("not begun: {}", left.join(", ")));
    }
    Ok(stop.signal().map_or(exit, Exit::Signal))
}

/// A process that works on one change.
struct Run {
    change: Change,
    slot: usize,
    child: Child,
    readers: Vec<JoinHandle<()>>,
}

impl Run {
    fn start(typed: &[OsString], change: Change, slot: usize, lines: &Sender<Printed>) -> io::Result<Self> {
        let mut child = ChildCommand::new(own_program()?)
            .arg0("git-ralph")
            .arg(VERB)
            .arg(std::process::id().to_string())
            .arg(change.as_str())
            .args(typed)
            .env(SLOT, slot.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let (to_show, to_tell) = (change.clone(), change.clone());
        let answers = child.stdout.take().map(|output| {
            let to_line = move |text| Printed::Answer(to_show.clone(), text);
            tokio::spawn(read(output, lines.clone(), to_line))
        });
        let narration = child.stderr.take().map(|output| {
            let to_line = move |text| Printed::Narration(to_tell.clone(), text);
            tokio::spawn(read(output, lines.clone(), to_line))
        });
        Ok(Self {
            change,
            slot,
            child,
            readers: answers.into_iter().chain(narration).collect(),
        })
    }

    /// Hands on each request to stop, and waits for the end.
    async fn attend(mut self, mut stop: Stop) -> (Change, usize, Exit) {
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
        for mut reader in self.readers {
            // What it has left behind may hold the pipe.
            tokio::select! {
                _ = &mut reader => {}
                () = sleep(DRAIN) => reader.abort(),
            }
        }
        (self.change, self.slot, status.map_or(Exit::Error, exit_of))
    }

    fn ask_to_stop(&self, signal: i32) {
        // Its number is its own until it is waited for.
        let number = self.child.id().and_then(|id| i32::try_from(id).ok());
        if let (Some(number), Ok(signal)) = (number, Signal::try_from(signal)) {
            let _ = kill(Pid::from_raw(number), signal);
        }
    }
}

/// Sends the lines of a stream.
async fn read(stream: impl AsyncRead + Unpin, lines: Sender<Printed>, to_line: impl Fn(String) -> Printed) {
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut stream)
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut line)
            .await
        {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(&line));
        if lines.send(to_line(text.into_owned())).await.is_err() {
            return;
        }
    }
}

fn exit_of(status: ExitStatus) -> Exit {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    match (status.signal(), code) {
        (Some(signal), _) => Exit::Signal(signal),
        (None, Some(0)) => Exit::Done,
        (None, code) => code.map_or(Exit::Error, Exit::from),
    }
}

/// Has the system ask this process to stop when the one with this number ends, which started it. Returns false if that
/// has ended already.
pub fn stop_with(parent: u32) -> bool {
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_pdeathsig(Signal::SIGTERM);
    parent_id() == parent
}
