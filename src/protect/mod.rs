//! Protects what an attempt can touch: records it before, repairs and judges it after, and restores it after a failure.
//!
//! - `AttemptRecord` is taken before an attempt and repairs what would stop git from running after it; `Savepoint` is a
//!   state that the work tree can be restored to: the last checkpoint, or the beginning of the loop.
//! - `inventory` knows every path that git does not track, each with exactly one kind; `leftovers` uses it.
//! - `trash` holds what git cannot store; nothing is deleted.
//! - One file each: `user_refs`, `submodules`, `foreign_filters` (of submodules), `control_files` (configuration, hooks
//!   and the like), `inner_git_files` (those of repositories inside), `inner_work_trees` (linked ones that an attempt left
//!   inside), `half_written` (by a git-ralph that was killed), `ignored_files` (by `small_ignored`), `renamed`, `gate_files` (that only gates made),
//!   `hidden_files` (by new exclude rules), `new_rules` (of ignored files), `file_modes`, `index_flags`, `exact_bytes` (that filters change, by
//!   `attribute_sources`), `linked_work_trees`, `stash_list`, `unlisted_files` (pipes, rules that hide themselves),
//!   `stat_changes`, `fresh_times`, `permissions`, `pipes` (that git would wait for), `repo_link`, `own_directory`, `own_position`, `locks`,
//!   `story_backup`, `story_list`, `users_index`.
//!
//! All of it takes the repository, a slot and a receiver of notices. It knows neither the engine nor
//! the state of a loop.

mod attempt_record;
mod attribute_sources;
mod control_files;
mod exact_bytes;
mod file_modes;
mod foreign_filters;
mod fresh_times;
mod gate_files;
mod half_written;
mod hidden_files;
mod ignored_files;
mod index_flags;
mod inner_git_files;
mod inner_repositories;
mod inner_work_trees;
mod inventory;
mod left_work_tree;
mod leftovers;
mod linked_work_trees;
mod locks;
mod moment;
mod new_rules;
mod own_directory;
mod own_position;
mod permissions;
mod pipes;
mod records;
mod renamed;
mod repo_link;
mod savepoint;
mod scan;
mod small_ignored;
mod stash_list;
mod stat_changes;
pub(crate) mod story_backup;
mod story_list;
mod submodules;
#[cfg(test)]
mod tests;
mod trash;
mod unlisted_files;
pub(crate) mod user_refs;
pub(crate) mod users_index;

use std::path::{Path, PathBuf};

use crate::error::advice::hint;
use crate::error::refusals::refusals;
use crate::exit::Exit;
use crate::fs::{Below, FileError, may_be_there};
use crate::git::worktree::WorkTreeError;
use crate::git::{GitError, Repo};
use crate::names::typed_path;
use crate::slot::Slot;

pub(crate) use attempt_record::{AttemptRecord, Held};
pub(crate) use control_files::ControlFiles;
pub(crate) use exact_bytes::{keep_before_removal, keep_before_switch, restore_from_trash};
pub(crate) use file_modes::tell_links_as_files;
pub(crate) use foreign_filters::switched_off as switched_off_filters;
pub(crate) use gate_files::{put_away as put_gate_files_away, restore as restore_gate_files};
pub(crate) use half_written::put_half_written_away;
pub(crate) use index_flags::hide_again;
pub(crate) use inner_git_files::InnerGitFiles;
pub(crate) use inner_work_trees::take_out as take_out_work_trees;
pub(crate) use left_work_tree::put_unkept_away;
pub(crate) use linked_work_trees::linked_work_trees;
pub(crate) use locks::{is_locked, remove_stale as remove_stale_locks};
pub(crate) use moment::Moment;
pub(crate) use new_rules::{hidden_by_new, record_excludes};
pub(crate) use own_position::OwnPosition;
pub(crate) use repo_link::RepoLink;
pub(crate) use savepoint::{Return, Savepoint};
pub(crate) use stash_list::StashList;
pub(crate) use story_list::{LeftList, StoryList};
pub(crate) use user_refs::{RefChange, UserRefs};

/// A repository, and the slot of a loop in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site<'a> {
    /// The repository.
    pub repo: &'a Repo,
    /// The slot, in the loop's own directory.
    pub slot: &'a Slot,
}

impl Site<'_> {
    /// Returns a file in the slot.
    pub fn file(self, name: &str) -> PathBuf {
        self.slot.file(name)
    }

    /// Returns a file in the loop's own directory.
    pub fn loop_file(self, name: &str) -> PathBuf {
        self.slot.loop_dir().join(name)
    }

    /// Returns the door to both directories.
    pub fn own_door(self) -> Below {
        self.slot.door()
    }

    /// Returns the door to this path, as [`Repo::door`] does.
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
        => Person, "move it back, then run: git ralph status";
    /// Files that can make git run something, with git-ralph's copies of them, which prove nothing.
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
    /// Git cannot write a file, whatever its permissions.
    #[error("the work tree cannot be put back: {0}")]
    Blocked(String)
        => "make room, or make that writable (df and lsattr show what is full or immutable), then run the same command again";
    /// The work tree changes while it is being restored.
    #[error("the work tree keeps changing{}: is something still writing to it?", named(.0))]
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

/// Returns the commands that show a file beside its copy, and take one of the two.
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

fn named(paths: &[String]) -> String {
    if paths.is_empty() {
        String::new()
    } else {
        format!(" ({})", paths.join(", "))
    }
}
