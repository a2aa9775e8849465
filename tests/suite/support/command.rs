//! One command of a test: its environment is built from nothing, its time is limited.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, Once, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};

use super::{DEADLINE, STARTS};

/// What a command left.
#[derive(Debug, Clone)]
pub struct Output {
    /// The exit code; 128 + n when signal n ended it.
    pub code: i32,
    /// All of its standard output.
    pub stdout: String,
    /// All of its standard error.
    pub stderr: String,
    shown: String,
}

impl Output {
    /// Asserts the exit code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "wrong exit code of {}", self.text());
        self
    }

    /// Asserts that standard error holds a text.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(
            self.stderr.contains(text),
            "{text:?} is not said by {}",
            self.text()
        );
        self
    }

    /// Asserts that standard output is empty.
    #[track_caller]
    pub fn answers_nothing(self) -> Self {
        assert_eq!(self.stdout, "", "something on standard output of {}", self.text());
        self
    }

    /// Standard output as one JSON document.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in the answer of {}", self.text()))
    }

    /// Standard output as one JSON document a line.
    #[track_caller]
    pub fn events(&self) -> Vec<serde_json::Value> {
        self.stdout
            .lines()
            .map(|line| {
                serde_json::from_str(line)
                    .unwrap_or_else(|error| panic!("{error} in the line {line:?} of {}", self.text()))
            })
            .collect()
    }

    fn text(&self) -> String {
        let mut text = format!("`{}` (exit code {})", self.shown, self.code);
        let _ = write!(text, "\n-- stdout\n{}\n-- stderr\n{}", self.stdout, self.stderr);
        text
    }
}

#[derive(Debug)]
enum Stdin {
    Null,
    Terminal(String),
    Bytes(Vec<u8>),
}

/// A command about to run.
#[derive(Debug)]
pub struct Cmd {
    program: OsString,
    args: Vec<OsString>,
    dir: PathBuf,
    env: Vec<(OsString, OsString)>,
    stdin: Stdin,
    /// The columns of the terminal that it prints to.
    columns: Option<u16>,
    deadline: Duration,
}

impl Cmd {
    /// A command in a directory, with nothing in its environment.
    pub fn new(program: impl AsRef<OsStr>, dir: &Path) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            dir: dir.to_owned(),
            env: Vec::new(),
            stdin: Stdin::Null,
            columns: None,
            deadline: DEADLINE,
        }
    }

    /// Appends arguments.
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args
            .extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// The directory it runs in.
    pub fn dir(mut self, dir: &Path) -> Self {
        dir.clone_into(&mut self.dir);
        self
    }

    /// Sets a variable.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env
            .push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Allows for a program that takes much longer than others.
    pub fn patiently(mut self) -> Self {
        self.deadline = 3 * DEADLINE;
        self
    }

    /// Has somebody at a terminal type this.
    pub fn typing(mut self, text: &str) -> Self {
        self.stdin = Stdin::Terminal(text.to_owned());
        self
    }

    /// Has it read this on standard input, to the end.
    pub fn reading(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Stdin::Bytes(bytes.into());
        self
    }

    /// Has it print to a terminal of so many columns; what is seen there is `stdout`, line ends as in a file.
    pub fn on_terminal(mut self, columns: u16) -> Self {
        self.columns = Some(columns);
        self.env("TERM", "xterm")
    }

    /// The program's place on the `PATH` that it gets. By its name alone the library would look for it in a fork of
    /// this process, which is large; by its place it needs no copy.
    fn place(&self) -> OsString {
        let path = self.env.iter().rfind(|(name, _)| name == "PATH");
        let Some((_, path)) = path.filter(|_| Path::new(&self.program).components().count() == 1) else {
            return self.program.clone();
        };
        let mut places = std::env::split_paths(path).map(|dir| dir.join(&self.program));
        let found = places.find(|place| place.is_file());
        found.map_or_else(|| self.program.clone(), PathBuf::into_os_string)
    }

    /// Starts it in a process group of its own.
    pub fn start(self) -> Running {
        let mut command = with_signals(&self.place());
        command
            .args(&self.args)
            .current_dir(&self.dir)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut terminal = None;
        match &self.stdin {
            Stdin::Null => command.stdin(Stdio::null()),
            Stdin::Bytes(bytes) => {
                let mut file = tempfile::tempfile().unwrap();
                file.write_all(bytes).unwrap();
                file.rewind().unwrap();
                command.stdin(Stdio::from(file))
            }
            Stdin::Terminal(text) => {
                let pair = openpty(None, None).unwrap();
                let mut master = File::from(pair.master);
                master.write_all(text.as_bytes()).unwrap();
                terminal = Some(OwnedFd::from(master));
                command.stdin(Stdio::from(pair.slave))
            }
        };
        let terminal_seen = self.columns.map(|columns| {
            let size = Winsize {
                ws_row: 24,
                ws_col: columns,
                ws_xpixel: 0,
                ws_ypixel: 0,
            };
            let pair = openpty(Some(&size), None).unwrap();
            command.stdout(Stdio::from(pair.slave.try_clone().unwrap()));
            command.stderr(Stdio::from(pair.slave));
            Terminal::read(File::from(pair.master))
        });
        let shown = format!("{} {:?}", self.program.to_string_lossy(), self.args);
        let no_program_is_written = STARTS.read().unwrap_or_else(PoisonError::into_inner);
        let child = command
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {shown}: {error}"));
        drop(no_program_is_written);
        Running {
            pid: Pid::from_raw(i32::try_from(child.id()).unwrap()),
            child,
            deadline: self.deadline,
            shown,
            seen: terminal_seen,
            keyboard: terminal,
        }
    }

    /// Runs it on a terminal to its end, where somebody types each answer when its question has been asked.
    #[track_caller]
    pub fn answering(self, answers: &[(&str, &str)]) -> Output {
        let running = self.on_terminal(100).typing("").start();
        let mut before = 0;
        for (question, answer) in answers {
            super::wait_until(question, || running.seen()[before..].contains(question));
            before = running.seen().len();
            running.types(answer);
        }
        running.end()
    }

    /// Runs it to its end.
    #[track_caller]
    pub fn run(self) -> Output {
        self.start().end()
    }
}

/// A command that no signal is ignored for. Whoever runs the tests in the background of a script ignores some, and
/// the program rightly goes on ignoring those.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where the tests start a process"
)]
fn with_signals(program: &OsStr) -> Command {
    static ONCE: Once = Once::new();
    ONCE.call_once(catch_ignored_signals);
    Command::new(program)
}

/// Catches the signals that this process was started to ignore, and does nothing then: what is ignored is inherited, and
/// what is caught is not.
fn catch_ignored_signals() {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let is_ignored = |signal: &SignalKind| mask.unwrap_or(0) & (1 << (signal.as_raw_value() - 1)) != 0;
    let runtime = runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .unwrap();
    let _runtime = runtime.enter();
    let wanted = [
        SignalKind::interrupt(),
        SignalKind::hangup(),
        SignalKind::terminate(),
    ];
    for kind in wanted.into_iter().filter(is_ignored) {
        // It stays caught when nothing listens.
        drop(signal(kind).unwrap());
    }
}

/// A command that runs.
#[derive(Debug)]
pub struct Running {
    /// Its process, which leads a group of its own.
    pub pid: Pid,
    child: Child,
    deadline: Duration,
    shown: String,
    seen: Option<Terminal>,
    keyboard: Option<OwnedFd>,
}

/// What was printed to a terminal so far.
#[derive(Debug)]
struct Terminal {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Terminal {
    /// Reads until nothing has the terminal open any more.
    fn read(mut master: File) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&bytes);
        let reader = thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(count @ 1..) = master.read(&mut chunk) {
                seen.lock().unwrap().extend_from_slice(&chunk[..count]);
            }
        });
        Self { bytes, reader }
    }

    fn text(&self) -> String {
        let bytes = self.bytes.lock().unwrap();
        String::from_utf8_lossy(&bytes).replace("\r\n", "\n")
    }
}

impl Running {
    /// Sends a signal to the process alone.
    pub fn signal(&self, signal: Signal) {
        kill(self.pid, signal).unwrap();
    }

    /// Sends a signal to its whole group.
    pub fn signal_group(&self, signal: Signal) {
        killpg(self.pid, signal).unwrap();
    }

    /// Has the person at its terminal type this.
    pub fn types(&self, text: &str) {
        let keyboard = self.keyboard.as_ref().unwrap().try_clone().unwrap();
        File::from(keyboard).write_all(text.as_bytes()).unwrap();
    }

    /// What its terminal has shown so far.
    pub fn seen(&self) -> String {
        self.seen.as_ref().map(Terminal::text).unwrap_or_default()
    }

    /// Waits until its terminal has shown more than no seconds after these words: on a busy machine it skips some.
    #[track_caller]
    pub fn counts_after(&self, words: &str) {
        let counts = |rest: &str| rest.starts_with(|first| ('1'..='9').contains(&first));
        super::wait_until(words, || self.seen().split(words).skip(1).any(counts));
    }

    /// Waits until the process itself has ended, whoever may hold its output open still.
    pub fn wait_for_its_end(mut self) {
        self.child.wait().unwrap();
    }

    /// Kills its group, and waits until all of it has ended: what git has started may end later than git.
    #[track_caller]
    pub fn kill_group(self) {
        killpg(self.pid, Signal::SIGKILL).unwrap();
        let group = self.pid.to_string();
        self.wait_for_its_end();
        super::wait_until("its group has ended", || {
            super::living(|stat, _| stat.split(' ').nth(2) == Some(&group)).is_empty()
        });
    }

    /// Waits for its end; after the deadline its group is killed and the test fails.
    #[track_caller]
    pub fn end(self) -> Output {
        let (sender, receiver) = mpsc::channel();
        let child = self.child;
        thread::spawn(move || sender.send(child.wait_with_output()));
        let Ok(output) = receiver.recv_timeout(self.deadline) else {
            let _ = killpg(self.pid, Signal::SIGKILL);
            panic!("{} does not end", self.shown);
        };
        let output = output.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let by_signal = || 128 + output.status.signal().unwrap_or_default();
        let seen = self.seen.map(|terminal| {
            let seen = Arc::clone(&terminal.bytes);
            terminal.reader.join().unwrap();
            let bytes = seen.lock().unwrap().clone();
            text(bytes).replace("\r\n", "\n")
        });
        Output {
            code: output.status.code().unwrap_or_else(by_signal),
            stdout: seen.unwrap_or_else(|| text(output.stdout)),
            stderr: text(output.stderr),
            shown: self.shown,
        }
    }
}
