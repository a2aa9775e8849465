//! Processes of git-ralph that each work on a part of a run: their start, their output, their end.
//!
//! Such a process has its own process group, so that a terminal's Ctrl-C reaches it once, through its parent run; and
//! it is asked to stop when the run is killed.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::{ExitStatusExt, parent_id};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::process::{Child as Process, Command as ChildCommand};
use tokio::sync::mpsc::Sender;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::command::Printed;
use crate::exit::Exit;
use crate::processes::{ONE_OF_SEVERAL, own_program};
use crate::signal::{self, Stop};
use crate::slot::SLOT;

/// Maximum length of a line that is printed as one, in bytes.
const LONGEST_LINE: u64 = 1 << 20;
/// Maximum wait for remaining output after a process has ended.
const DRAIN: Duration = Duration::from_secs(1);

/// A process that works on a part of a run.
pub(super) struct Child<T> {
    part: T,
    place: u16,
    process: Process,
    /// The tasks that read its output.
    readers: Vec<JoinHandle<()>>,
    /// Signals the tasks that the process has ended.
    has_ended: watch::Sender<bool>,
}

impl<T> Child<T> {
    /// Starts a process for a part of a run, in this directory. Its arguments are the `words` about its part, then the
    /// command line of the run without the program. Its lines are labelled with a `name`.
    pub(super) fn start(
        (part, name): (T, &str),
        words: [&str; 3],
        typed: &[OsString],
        place: u16,
        lines: &Sender<Printed>,
    ) -> io::Result<Self> {
        let mut process = ChildCommand::new(own_program()?)
            .arg0("git-ralph")
            .arg(ONE_OF_SEVERAL)
            .arg(std::process::id().to_string())
            .args(words.map(OsStr::new))
            .args(typed)
            .env(SLOT, place.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let (has_ended, ended) = watch::channel(false);
        let (to_show, to_tell) = (name.to_owned(), name.to_owned());
        let answers = process.stdout.take().map(|output| {
            let to_line = move |text| Printed::Answer(to_show.clone(), text);
            tokio::spawn(read(output, ended.clone(), lines.clone(), to_line))
        });
        let narration = process.stderr.take().map(|output| {
            let to_line = move |text| Printed::Narration(to_tell.clone(), text);
            tokio::spawn(read(output, ended.clone(), lines.clone(), to_line))
        });
        Ok(Self {
            part,
            place,
            process,
            readers: answers.into_iter().chain(narration).collect(),
            has_ended,
        })
    }

    /// Forwards each stop request, and waits for the end.
    pub(super) async fn attend(mut self, mut stop: Stop) -> (T, u16, Ended) {
        let mut times = 1;
        let status = loop {
            tokio::select! {
                status = self.process.wait() => break status,
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
        (self.part, self.place, Ended::of(status.ok()))
    }

    fn ask_to_stop(&self, signal: i32) {
        // The process id stays reserved until the process is waited for.
        let number = self.process.id().and_then(|id| i32::try_from(id).ok());
        // A lost lease has no signal number.
        let signal = Signal::try_from(signal).unwrap_or(Signal::SIGTERM);
        if let Some(number) = number {
            let _ = kill(Pid::from_raw(number), signal);
        }
    }
}

/// Sends the lines of a stream until its end, or until it is silent after the process has ended: background processes
/// may hold the pipe.
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

/// Waits for the end of the process, and then for the time in which output can still arrive.
async fn silence(ended: &mut watch::Receiver<bool>) {
    let _ = ended.wait_for(|ended| *ended).await;
    sleep(DRAIN).await;
}

/// The end of a process for a part of a run.
pub(super) struct Ended {
    pub exit: Exit,
    /// A description of an unsuccessful end.
    pub why: Option<String>,
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
            // The process was asked to stop, and this run was not.
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

/// Makes the kernel ask this process to stop when its `parent` ends. Returns false if the parent has already ended.
pub fn stop_with(parent: u32) -> bool {
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_pdeathsig(Signal::SIGTERM);
    parent_id() == parent
}
