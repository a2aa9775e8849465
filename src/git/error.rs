//! The errors of git commands.

use std::path::{Path, PathBuf};

use crate::async_cmd::CommandError;
use crate::error::advice::{Advice, hint, lines};
use crate::error::refusals::refusals;
use crate::fs::{FileError, MAKE_ROOM, owned_by_another};
use crate::names::typed;
use crate::paths::first_few;

/// The hint if git's own words are needed.
const SEE_EACH: &str = "run the same command with -v to see each git command";

/// The hint if a filter's program is missing, or failed.
pub(super) const SEE_FILTERS: &str =
    "install the program of the filter, or see which it is: git config --show-origin --get-regexp '^filter'";

refusals! {
/// The reason why a git command produced no result.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// Git refused.
    #[error("git {verb} failed (exit {code}){}", lines(words.trim().lines()))]
    Failed {
        verb: String,
        /// Its exit code, or 128 + the signal that ended it.
        code: i32,
        words: String,
    }
        => |verb, words| of_another_user(words).unwrap_or_else(|| hint(match verb.as_str() {
            _ if is_of_full_disk(words) => MAKE_ROOM,
            "fetch" | "ls-remote" | "push" => SEE_EACH,
            _ if is_of_filter(words) => SEE_FILTERS,
            _ => SEE_EACH,
        }));
    /// Git could not be run.
    Run(#[from] CommandError) = transparent;
    /// Git's output has an undocumented form.
    #[error("cannot understand the output of git {verb}: {answer:?}")]
    Answer {
        verb: String,
        /// The beginning of the answer.
        answer: String,
    }
        => { hint(SEE_EACH) };
    /// A file could not be read or written.
    File(#[from] FileError) = transparent;
    /// Refs name objects that do not exist.
    #[error(
        "{} name{} that git does not have",
        first_few(.0).join(", "),
        if .0.len() == 1 { "s an object" } else { " objects" }
    )]
    OfNothing(Vec<Vec<u8>>)
        => |(names)| {
            let delete = |name: &Vec<u8>| format!("git update-ref --no-deref -d {}", typed(String::from_utf8_lossy(name)));
            let delete: Vec<String> = names.iter().take(5).map(delete).collect();
            hint(format!(
                "git fetch --refetch <remote> gets the objects from a remote that has them; to go on without: {}",
                delete.join("; ")
            ))
        };
    /// Another git holds a lock.
    #[error("{} exists: another git process is running here, or one crashed", .0.display())]
    Locked(PathBuf)
        => Busy, "if no other git process is running: rm {path}", (path);
}
}

impl GitError {
    /// Returns the error about unexpected output.
    pub(super) fn answer(verb: &str, answer: &str) -> Self {
        Self::Answer {
            verb: verb.to_owned(),
            answer: answer.chars().take(200).collect(),
        }
    }
}

/// Returns whether git reports a failed filter (gitattributes(5)); git calls a long-running one a remote end.
pub(super) fn is_of_filter(words: &str) -> bool {
    let said = [
        "external filter",
        "clean filter '",
        "smudge filter ",
        "the remote end hung up",
    ];
    said.iter().any(|part| words.contains(part))
}

/// Returns the advice for a repository that git rejects because it belongs to another user.
fn of_another_user(words: &str) -> Option<Advice> {
    let (_, path) = words.split_once("dubious ownership in repository at '")?;
    let (path, _) = path.split_once('\'')?;
    owned_by_another(Path::new(path))
}

/// Returns whether git reports that the disk or the quota is full.
fn is_of_full_disk(words: &str) -> bool {
    words.contains("No space left on device") || words.contains("Disk quota exceeded")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::advice::Advise;

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
