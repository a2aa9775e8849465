//! The errors of git commands.

use std::path::PathBuf;

use crate::async_cmd::CommandError;
use crate::error::advice::{Advice, Advise, hint};
use crate::exit::Exit;
use crate::fs::{FileError, MAKE_ROOM};
use crate::names::typed_path;

/// The reason why a git command produced no result.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// Git refused.
    #[error("git {verb} failed (exit {code}){}", quote_words(words))]
    Failed {
        /// The subcommand.
        verb: String,
        /// Its exit code, or 128 + the signal that ended it.
        code: i32,
        /// Git's own message.
        words: String,
    },
    /// Git could not be run at all.
    #[error(transparent)]
    Run(#[from] CommandError),
    /// Git answered in an undocumented form.
    #[error("cannot understand the output of git {verb}: {answer:?}")]
    Answer {
        /// The subcommand.
        verb: String,
        /// The beginning of the answer.
        answer: String,
    },
    /// A file.
    #[error(transparent)]
    File(#[from] FileError),
    /// Another git holds a lock.
    #[error("{} exists: another git process is running here, or one crashed", .0.display())]
    Locked(PathBuf),
}

impl Advise for GitError {
    fn advice(&self) -> Advice {
        match self {
            Self::Locked(path) => hint(format!(
                "if no other git process is running: rm {}",
                typed_path(path)
            ))
            .exit(Exit::Busy),
            Self::Failed { words, .. } if is_of_full_disk(words) => hint(MAKE_ROOM),
            Self::Failed { .. } | Self::Answer { .. } => {
                hint("run the same command with -v to see each git command")
            }
            Self::Run(error) => error.advice(),
            Self::File(error) => error.advice(),
        }
    }
}

/// Returns whether git says that the system has no room left.
fn is_of_full_disk(words: &str) -> bool {
    words.contains("No space left on device") || words.contains("Disk quota exceeded")
}

fn quote_words(words: &str) -> String {
    words.trim().lines().map(|line| format!("\n  {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_has_a_hint_that_helps() {
        let hint_of = |words: &str| {
            let (verb, words) = ("write-tree".to_owned(), words.to_owned());
            let code = 128;
            GitError::Failed { verb, code, words }.advice().hint.unwrap()
        };
        let full = "error: unable to create temporary file: No space left on device\nfatal: git-write-tree";
        assert_eq!(hint_of(full), MAKE_ROOM);
        assert!(hint_of("fatal: bad object").contains("-v"));
    }
}
