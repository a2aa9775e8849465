//! Runs all short child processes (git and the adapters' commands).
//!
//! A child runs in its own process group, so that Ctrl-C on the terminal ends the loop and interrupts no git command.
//! Its output goes to unnamed files: a grandchild that keeps them open does not make git-ralph wait. The time limit and
//! the kill of the whole group are inside the blocking closure. This module does not depend on git or agents.

mod bounds;
mod error;
mod readers;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::fs::seen;
use crate::held;
pub use crate::names::quoted;
use crate::processes::own::OwnChild;

pub use self::bounds::{Bounds, Passed};
pub use self::error::CommandError;
use self::readers::Reader;
pub use self::readers::end_readers;

/// The time between the request to a child to end and its kill.
const GRACE: Duration = Duration::from_secs(5);

/// The time after which git-ralph checks what a child waits for, if the caller knows how.
const SUSPICION: Duration = Duration::from_secs(2);

/// Finds a file in a directory for which a child waits without end.
pub type Examine = fn(&Path) -> Option<PathBuf>;

/// A child process to run; `Display` can be pasted into a shell.
#[derive(Clone, Debug, Default)]
pub struct Command {
    program: OsString,
    args: Vec<OsString>,
    dir: Option<PathBuf>,
    env: Vec<(OsString, Option<OsString>)>,
    stdin: Option<Vec<u8>>,
    limit: Duration,
    with_locks: bool,
    /// True if it changes nothing, so that it may be ended at any time.
    only_reads: bool,
    examine: Option<(PathBuf, Examine)>,
    bounds: Option<Bounds>,
    /// The number of arguments that are the same in every call; the short form for users leaves them out.
    usual: usize,
}

/// The exit of a child, and its output.
#[derive(Clone, Debug)]
pub struct Output {
    /// The exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// All of its standard output.
    pub stdout: Vec<u8>,
    /// All of its standard error.
    pub stderr: Vec<u8>,
}

impl Command {
    /// Makes a command with nothing on standard input, the caller's environment and a limit of 10 minutes.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            limit: Duration::from_secs(600),
            ..Self::default()
        }
    }

    /// Lets the child inherit the locks of git-ralph, and keep them if git-ralph is killed.
    pub fn with_locks(mut self) -> Self {
        self.with_locks = true;
        self
    }

    /// Lets the child inherit no lock: it may run longer than git-ralph.
    pub fn without_locks(mut self) -> Self {
        self.with_locks = false;
        self
    }

    /// Lets a request to stop end the child at once, because it changes nothing.
    pub fn only_reading(mut self) -> Self {
        self.only_reads = true;
        self
    }

    /// Checks a child that does not end: it may wait without end.
    pub fn examined(mut self, dir: &Path, examine: Examine) -> Self {
        self.examine = Some((dir.to_owned(), examine));
        self
    }

    /// Ends the child if it passes these bounds.
    pub fn within(mut self, bounds: Bounds) -> Self {
        self.bounds = Some(bounds);
        self
    }

    /// Leaves the arguments so far out of the short form for users.
    pub fn in_short(mut self) -> Self {
        self.usual = self.args.len();
        self
    }

    /// Returns the short form: no environment, and no arguments that are the same in every call.
    fn short(&self) -> String {
        let words = std::iter::once(&self.program).chain(self.args.iter().skip(self.usual));
        let words: Vec<String> = words.map(|word| quoted(&word.to_string_lossy())).collect();
        words.join(" ")
    }

    /// Appends an argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Appends arguments.
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(|a| a.as_ref().to_owned()));
        self
    }

    /// Sets the directory it runs in.
    pub fn dir(mut self, dir: &Path) -> Self {
        self.dir = Some(dir.to_owned());
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env
            .push((name.as_ref().to_owned(), Some(value.as_ref().to_owned())));
        self
    }

    /// Removes an environment variable.
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().to_owned(), None));
        self
    }

    /// Sets its standard input.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// Sets its time limit.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    fn program_name(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.env {
            if let Some(value) = value {
                write!(
                    f,
                    "{}={} ",
                    name.to_string_lossy(),
                    quoted(&value.to_string_lossy())
                )?;
            }
        }
        f.write_str(&quoted(&self.program.to_string_lossy()))?;
        for arg in &self.args {
            write!(f, " {}", quoted(&arg.to_string_lossy()))?;
        }
        Ok(())
    }
}

/// Finds a program as `execvp` would: by its path when it has a `/` (from `dir`), else on PATH.
pub fn find_program(program: &OsStr, dir: &Path) -> Option<PathBuf> {
    if program.is_empty() {
        return None;
    }
    let candidates: Vec<PathBuf> = if program.to_string_lossy().contains('/') {
        vec![dir.join(program)]
    } else {
        let path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&path)
            .map(|place| dir.join(place).join(program))
            .collect()
    };
    candidates.into_iter().find(|file| {
        seen(file).is_some_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    })
}

/// Runs a command to its end, off the runtime's thread.
///
/// # Errors
/// If it cannot be started or read, or passes its limit. An exit code other than 0 is no error here.
pub async fn run(command: Command) -> Result<Output, CommandError> {
    let program = command.program_name();
    match tokio::task::spawn_blocking(move || run_blocking(&command)).await {
        Ok(result) => result,
        Err(lost) => Err(CommandError::Read {
            program,
            source: io::Error::other(lost),
        }),
    }
}

fn run_blocking(command: &Command) -> Result<Output, CommandError> {
    tracing::trace!(target: "git_ralph::command", "{command}");
    let begun = Instant::now();
    let result = run_to_its_end(command);
    let took = begun.elapsed().as_secs_f64() * 1e3;
    tracing::debug!(target: "git_ralph::command", "{} ({took:.1} ms)", command.short());
    result
}

fn run_to_its_end(command: &Command) -> Result<Output, CommandError> {
    let read_error = |source| CommandError::Read {
        program: command.program_name(),
        source,
    };
    let out = scratch().map_err(read_error)?;
    let err = scratch().map_err(read_error)?;
    // By its path the system can spawn the child without a fork.
    let here = command.dir.as_deref().unwrap_or(Path::new("."));
    let program = find_program(&command.program, here).ok_or_else(|| CommandError::Spawn {
        program: command.program_name(),
        source: io::ErrorKind::NotFound.into(),
    })?;
    let mut expression = duct::cmd(program, &command.args)
        .unchecked()
        .stdout_file(out.try_clone().map_err(read_error)?)
        .stderr_file(err.try_clone().map_err(read_error)?)
        .before_spawn(|child| {
            child.process_group(0);
            Ok(())
        });
    expression = match &command.stdin {
        Some(bytes) => expression.stdin_bytes(bytes.clone()),
        None => expression.stdin_null(),
    };
    if let Some(dir) = &command.dir {
        expression = expression.dir(dir);
    }
    // duct applies the innermost setting last, so the first of two settings of one name wins.
    for (name, value) in command.env.iter().rev() {
        expression = match value {
            Some(value) => expression.env(name, value),
            None => expression.env_remove(name),
        };
    }
    let begun = Instant::now();
    let start = || held::start(command.with_locks, || expression.start());
    let started = OwnChild::start(start, duct::Handle::pids);
    let (handle, _own) = started.map_err(|source| CommandError::Spawn {
        program: command.program_name(),
        source,
    })?;
    let reader = command.only_reads.then(|| Reader::of(&groups(&handle), begun));
    let status = wait(command, &handle, [&out, &err])?;
    if let Some(signal) = reader
        .and_then(Reader::ended_by)
        .filter(|_| status.signal().is_some())
    {
        return Err(CommandError::Stopped {
            command: command.short(),
            signal,
        });
    }
    Ok(Output {
        code: status.code(),
        signal: status.signal(),
        stdout: contents(out).map_err(read_error)?,
        stderr: contents(err).map_err(read_error)?,
    })
}

/// Waits for the end of a child, within its time limit and unless it waits without end.
fn wait(command: &Command, handle: &duct::Handle, printed: [&File; 2]) -> Result<ExitStatus, CommandError> {
    let read_error = |source| CommandError::Read {
        program: command.program_name(),
        source,
    };
    let too_much = |passed| CommandError::TooMuch {
        command: command.short(),
        passed,
    };
    let by_output = || command.bounds.and_then(|bounds| bounds.passed_by(printed));
    let begun = Instant::now();
    let mut patience = SUSPICION;
    let mut look = patience;
    loop {
        let mut time = command.limit.saturating_sub(begun.elapsed());
        if command.examine.is_some() {
            time = time.min(look.saturating_sub(begun.elapsed()));
        }
        if command.bounds.is_some() {
            time = time.min(bounds::PAUSE);
        }
        if let Some(output) = handle.wait_timeout(time).map_err(read_error)? {
            let status = output.status;
            return by_output().map_or(Ok(status), |passed| Err(too_much(passed)));
        }
        if let Some(bounds) = command.bounds
            && let Some(passed) = by_output().or_else(|| bounds.passed_in(&pids(handle)))
        {
            end_group(handle).map_err(read_error)?;
            return Err(too_much(passed));
        }
        if begun.elapsed() >= command.limit {
            end_group(handle).map_err(read_error)?;
            return Err(CommandError::TimedOut {
                command: command.to_string(),
                limit: command.limit,
            });
        }
        if begun.elapsed() < look {
            continue;
        }
        if let Some(path) = examine(command, handle) {
            end_group(handle).map_err(read_error)?;
            return Err(CommandError::Waits {
                command: command.short(),
                path,
            });
        }
        patience *= 2;
        look = begun.elapsed() + patience;
    }
}

/// Finds the file for which a child waits. Opens a pipe to find its reader; the child is killed at once, because it would
/// continue as if it had read the pipe.
fn examine(command: &Command, handle: &duct::Handle) -> Option<PathBuf> {
    let (dir, examine) = command.examine.as_ref()?;
    let found = examine(dir)?;
    signal_groups(handle, Signal::SIGKILL);
    Some(found)
}

/// Makes an unnamed file: in memory if the system can, else on disk.
fn scratch() -> io::Result<File> {
    #[cfg(target_os = "linux")]
    if let Ok(file) = memfd_create(c"output", MFdFlags::MFD_CLOEXEC) {
        return Ok(File::from(file));
    }
    tempfile::tempfile()
}

fn end_group(handle: &duct::Handle) -> io::Result<()> {
    signal_groups(handle, Signal::SIGTERM);
    let ended = handle.wait_timeout(GRACE)?.is_some();
    signal_groups(handle, Signal::SIGKILL);
    if !ended {
        handle.wait()?;
    }
    Ok(())
}

fn pids(handle: &duct::Handle) -> Vec<i32> {
    let pids = handle.pids().into_iter();
    pids.filter_map(|pid| i32::try_from(pid).ok()).collect()
}

/// Returns the process groups of a child.
fn groups(handle: &duct::Handle) -> Vec<Pid> {
    pids(handle).into_iter().map(Pid::from_raw).collect()
}

fn signal_groups(handle: &duct::Handle, signal: Signal) {
    for group in groups(handle) {
        // The group may be gone already.
        let _ = killpg(group, signal);
    }
}

fn contents(mut file: File) -> io::Result<Vec<u8>> {
    file.rewind()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
