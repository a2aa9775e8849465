//! Protects all that an attempt can change: records it before, repairs it after, and restores it after a failure.
//!
//! - `stages` lists the operations before and after an attempt, in order. `AttemptRecord` is taken before an attempt,
//!   and repairs faults that would stop git from running after it; `Savepoint` is a state to which the work tree can be
//!   restored: the last checkpoint, or the beginning of the loop.
//! - `repository` has a file for each part that all work trees share, `tree` one for each part of a work tree. Only
//!   `tree` uses the other one.
//! - `records` keeps lists of paths in the slot; `trash` keeps files that git cannot store; nothing is deleted.
//!
//! All of it takes a [`Site`]: the repository, a slot and a receiver of notices. It does not know the engine or the
//! state of a loop.

mod permissions;
mod records;
mod repository;
mod stages;
mod trash;
mod tree;

use std::path::{Path, PathBuf};

use crate::error::advice::{hint, list};
use crate::error::refusals::refusals;
use crate::events::Notices;
use crate::exit::Exit;
use crate::fs::{Below, FileError, may_be_there};
use crate::git::worktree::WorkTreeError;
use crate::git::{GitError, Repo};
use crate::names::typed_path;
use crate::paths::first_few;
use crate::slot::Slot;

pub(crate) use repository::{RefChanges, StashList, UserRefs, recorded_config};
pub(crate) use stages::{AttemptRecord, GitFiles, Held};
pub(crate) use trash::free_name;
pub(crate) use tree::{KeptModes, RepoLink, Savepoint, StoryList, put_unkept_away};

/// A repository, and the slot of a loop in it.
#[derive(Clone, Copy)]
pub(crate) struct Site<'a> {
    /// The repository.
    pub repo: &'a Repo,
    /// The slot, in the loop's own directory.
    pub slot: &'a Slot,
    /// Receives messages for the user about repairs.
    pub notices: &'a dyn Notices,
}

impl<'a> Site<'a> {
    pub fn new(repo: &'a Repo, slot: &'a Slot, notices: &'a dyn Notices) -> Self {
        Self { repo, slot, notices }
    }

    /// Returns this slot with another work tree of the repository.
    pub fn with_repo(self, repo: &'a Repo) -> Self {
        Self { repo, ..self }
    }

    /// Returns a file in the slot.
    pub fn file(self, name: &str) -> PathBuf {
        self.slot.file(name)
    }

    /// Returns a file in the loop's own directory.
    pub fn loop_file(self, name: &str) -> PathBuf {
        self.slot.loop_dir().join(name)
    }

    /// Returns the handle for both directories.
    pub fn own_door(self) -> Below {
        self.slot.door()
    }

    /// Returns the handle for this path, as [`Repo::door`] does.
    pub fn door(self, path: &Path) -> Below {
        self.repo.door(path)
    }

    /// Returns the private index that a step works with.
    pub fn work_index(self) -> PathBuf {
        self.file("work.index")
    }

    /// Returns the directory for files that git cannot store.
    pub fn trash(self) -> PathBuf {
        self.loop_file("trash")
    }

    /// Reports a notice.
    pub fn tell(self, message: impl Into<String>) {
        self.notices.tell(message.into());
    }

    /// Reports a message with the first of these paths, if there are any.
    pub fn tell_few<'p>(self, words: &str, paths: impl IntoIterator<Item = &'p Vec<u8>>) {
        self.notices.tell_names(words, &first_few(paths));
    }
}

refusals! {
/// The reason why something could not be recorded or restored.
#[derive(Debug, thiserror::Error)]
pub enum ProtectError {
    /// A file could not be read or written.
    File(#[from] FileError) = transparent;
    /// Git failed.
    Git(#[from] GitError) = transparent;
    /// The work tree could not be read or written.
    WorkTree(#[from] WorkTreeError) = transparent;
    /// The git directory is no longer in its place.
    #[error("{} was moved, replaced or deleted during the attempt; nothing was changed since", .0.display())]
    RepositoryGone(PathBuf)
        => |(path)| {
            let is_of_work_tree = path.parent().is_some_and(|above| above.ends_with("worktrees"));
            hint(if is_of_work_tree {
                "move it back, then run: git ralph status; if the work tree was removed: git ralph start <change> --worktree"
            } else {
                "move it back, then run: git ralph status"
            })
            .exit(Exit::Person)
        };
    /// Files through which git can run commands, with git-ralph's copies of them, which prove nothing.
    #[error(
        "a hook or a command in git's configuration changed during the attempt, and git-ralph cannot tell by whom: {}",
        unproven(.0)
    )]
    Unproven(Vec<(PathBuf, PathBuf)>)
        => |(files)| {
            let choices = files.iter().map(|(present, recorded)| choice(present, recorded));
            let choices: Vec<String> = choices.collect();
            hint(format!("{}; then run the same command again", choices.join("; "))).exit(Exit::Person)
        };
    /// Git cannot write a file, although its permissions allow it.
    #[error("the work tree cannot be put back: {0}")]
    Blocked(String)
        => |(words)| hint(if words.contains("unable to read") {
            "git has lost that object: git hash-object -w <file> brings it back from a file with the same content, and git fetch --refetch <remote> from a remote that has it; then run the same command again"
        } else {
            "make room, or make that writable (df, lsattr and ls -l show what is full, immutable or another user's), then run the same command again"
        });
    /// Other processes change the work tree while it is being restored.
    #[error("the work tree keeps changing{}: is something still writing to it?", list(" (", .0, ")"))]
    Restless(Vec<String>)
        => "stop what writes there, then run the same command again";
}
}

fn unproven(files: &[(PathBuf, PathBuf)]) -> String {
    let names: Vec<String> = files
        .iter()
        .map(|(present, _)| present.display().to_string())
        .collect();
    names.join(", ")
}

/// Returns the commands that show a file beside its copy, and choose one of the two.
fn choice(present: &Path, recorded: &Path) -> String {
    let is_gone = !may_be_there(present);
    let (present, recorded) = (typed_path(present), typed_path(recorded));
    if is_gone {
        return format!(
            "to look at the recorded one: cat {recorded}; to put it back: cp -p {recorded} {present}; to go on without it: rm {recorded}"
        );
    }
    format!(
        "to compare: git diff --no-index {recorded} {present}; to keep what is there: cp -p {present} {recorded}; to take the recorded one: cp -p {recorded} {present}"
    )
}
