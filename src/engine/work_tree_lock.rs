//! The lock (git-worktree(1)) of a work tree that a loop made for itself, held until the loop is closed, so that git
//! neither prunes nor removes the work tree. The reason of the lock names the change, and marks a work tree that is
//! being made: if git was killed, some of its files may be missing.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::fs::{Below, Durability, FileError, Links, file_error, read_regular_text};
use crate::git::{Repo, RepoLayout};
use crate::names::Change;
use crate::state::Store;

/// Maximum length of a lock reason, in bytes.
const MOST_OF_A_REASON: u64 = 1 << 16;
/// Name of the file with the reason of a lock (gitrepository-layout(5), `worktrees/<id>/locked`).
const LOCKED: &str = "locked";
/// The prefix of each reason.
const OURS: &str = "git ralph: ";
/// The suffix of the reason while a work tree is being made.
const BEING_MADE: &str = " (being made)";

/// Returns the reason for which the work tree of a loop is locked.
pub(super) fn reason(change: &Change) -> String {
    format!("{OURS}{change}")
}

/// Returns the reason for which a work tree is locked while it is being made.
pub(super) fn making(change: &Change) -> String {
    format!("{OURS}{change}{BEING_MADE}")
}

/// Returns the reason for which a work tree is locked.
fn reason_of(top: &Path) -> Option<String> {
    let lock = RepoLayout::of_work_tree(top)?.git_dir.join(LOCKED);
    let reason = read_regular_text(&lock, Links::Refused, MOST_OF_A_REASON).ok()?;
    Some(reason.trim_end().to_owned())
}

/// Returns whether this work tree is locked for this reason.
pub(super) fn is_locked(top: &Path, reason: &str) -> bool {
    reason_of(top).is_some_and(|found| found == reason)
}

/// Returns whether git-ralph was cut off while it made this work tree.
pub(super) fn is_half_made(change: &Change, top: &Path) -> bool {
    is_locked(top, &making(change))
}

/// Returns the change whose loop locked a work tree, and whether the work tree is being made.
pub(super) fn owner(top: &Path) -> Option<(Change, bool)> {
    let reason = reason_of(top)?;
    let name = reason.strip_prefix(OURS)?;
    let begun = name.strip_suffix(BEING_MADE);
    let change = Change::new(begun.unwrap_or(name)).ok()?;
    Some((change, begun.is_some()))
}

/// Lists the work trees that a killed git-ralph began to make, with their changes.
pub fn half_made(repo: &Repo) -> Result<Vec<(Change, PathBuf)>, FileError> {
    let trees = repo.layout().linked_work_trees()?;
    let begun = trees.filter_map(|top| match owner(&top)? {
        (change, true) => Some((change, top)),
        _ => None,
    });
    // Another process may be making it.
    let is_left = |change: &Change| Store::new(&repo.common_dir, change).lock_making().is_ok();
    Ok(begun.filter(|(change, _)| is_left(change)).collect())
}

/// Notes that a work tree is complete, in a file with these permissions.
///
/// # Errors
/// If its git directory cannot be found or written: the work tree counts as half made then.
pub(super) fn note_made(change: &Change, top: &Path, mode: u32) -> Result<(), Error> {
    note(top, &reason(change), mode)
}

/// Notes that a complete work tree is being changed into a new one.
pub(super) fn note_making(change: &Change, top: &Path, mode: u32) -> Result<(), Error> {
    note(top, &making(change), mode)
}

fn note(top: &Path, reason: &str, mode: u32) -> Result<(), Error> {
    let Some(layout) = RepoLayout::of_work_tree(top) else {
        let unknown = io::Error::other("it names no git directory that can be read");
        return Err(file_error("read", &top.join(".git"), unknown).into());
    };
    let door = Below::new(&layout.git_dir);
    let reason = format!("{reason}\n");
    Ok(door.write(Path::new(LOCKED), reason.as_bytes(), mode, Durability::Atomic)?)
}
