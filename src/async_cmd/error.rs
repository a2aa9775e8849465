//! Errors of short child processes.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::Passed;
use crate::error::advice::{Advice, Advise, hint};
use crate::exit::Exit;
use crate::names::{counted, quoted};

/// The reason why a child gave no result.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It could not be started.
    #[error("cannot run {program}: {}", spawn_reason(source))]
    Spawn {
        /// The program as named.
        program: String,
        /// The system's reason.
        source: io::Error,
    },
    /// It ran longer than its limit and was ended with all its children.
    #[error("{command} timed out after {}", counted(limit.as_secs(), "second", "seconds"))]
    TimedOut {
        /// The command line.
        command: String,
        /// The limit it passed.
        limit: Duration,
    },
    /// It passed a bound, and was ended with all its children.
    #[error("{command} {passed}, and was ended")]
    TooMuch {
        /// The command line.
        command: String,
        /// The bound.
        passed: Passed,
    },
    /// It waited for a pipe without a writer.
    #[error("{command} waits for {}, which is a pipe", path.display())]
    Waits {
        /// The command line.
        command: String,
        /// The pipe.
        path: PathBuf,
    },
    /// A signal asked us to stop, and it was ended: it only read.
    #[error("{command} was ended, because git-ralph was asked to stop")]
    Stopped {
        /// The command line.
        command: String,
        /// The signal.
        signal: i32,
    },
    /// Its files or its end could not be read.
    #[error("cannot read what {program} printed: {source}")]
    Read {
        /// The program as named.
        program: String,
        /// The system's reason.
        source: io::Error,
    },
}

/// Returns the reason why a program could not be started. If no directory on PATH has it, the error has no number of
/// the system's.
fn spawn_reason(source: &io::Error) -> String {
    match (source.kind(), source.raw_os_error()) {
        (io::ErrorKind::NotFound, None) => "it is not on PATH".to_owned(),
        _ => source.to_string(),
    }
}

impl Advise for CommandError {
    fn advice(&self) -> Advice {
        match self {
            Self::Spawn { .. } => hint("git ralph doctor"),
            Self::TimedOut { .. } => hint("to allow more time: git config ralph.commandTimeout <time>"),
            Self::Waits { path, .. } => hint(format!(
                "rm {}, then run the same command again",
                quoted(&path.to_string_lossy())
            )),
            Self::Stopped { signal, .. } => Advice::default().exit(Exit::Signal(*signal)),
            Self::TooMuch { .. } | Self::Read { .. } => Advice::default(),
        }
    }
}
