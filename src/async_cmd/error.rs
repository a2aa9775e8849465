//! Errors of short child processes.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::Passed;
use crate::error::advice::{Advice, hint};
use crate::error::refusals::refusals;
use crate::exit::Exit;
use crate::names::{counted, quoted};

refusals! {
/// The reason why a child gave no result.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It could not be started.
    #[error("cannot run {program}: {}", spawn_reason(source))]
    Spawn { program: String, source: io::Error }
        => "git ralph doctor";
    /// It ran longer than its limit and was ended with all its children.
    #[error("{command} timed out after {}", counted(limit.as_secs(), "second", "seconds"))]
    TimedOut { command: String, limit: Duration }
        => "to allow more time: git config ralph.commandTimeout <time>";
    /// It passed a bound, and was ended with all its children.
    #[error("{command} {passed}, and was ended")]
    TooMuch { command: String, passed: Passed };
    /// It waited for a pipe without a writer.
    #[error("{command} waits for {}, which is a pipe", path.display())]
    Waits { command: String, path: PathBuf }
        => |path| hint(format!(
            "rm {}, then run the same command again",
            quoted(&path.to_string_lossy())
        ));
    /// A signal asked us to stop, and it was ended: it only read.
    #[error("{command} was ended, because git-ralph was asked to stop")]
    Stopped { command: String, signal: i32 }
        => |signal| Advice::default().exit(Exit::Signal(*signal));
    /// Its files or its end could not be read.
    #[error("cannot read what {program} printed: {source}")]
    Read { program: String, source: io::Error };
}
}

/// Returns the reason why a program could not be started. If no directory on PATH has it, the error has no number of
/// the system's.
fn spawn_reason(source: &io::Error) -> String {
    match (source.kind(), source.raw_os_error()) {
        (io::ErrorKind::NotFound, None) => "it is not on PATH".to_owned(),
        _ => source.to_string(),
    }
}
