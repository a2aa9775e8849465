//! Finds the new entries of a tree by comparing the indexes of two trees, without a process.

use std::path::Path;

use super::discover::Repo;
use super::error::GitError;
use super::index_file::{self, GITLINK};
use crate::names::Oid;

/// The differences from one tree to another.
#[derive(Debug, Default)]
pub(super) struct New {
    /// The changed paths, with git's status letters; `None` if git must be asked.
    pub changes: Option<Vec<(u8, Vec<u8>)>>,
    /// The new gitlinks.
    pub links: Vec<Vec<u8>>,
}

/// Compares two indexes instead of their trees; returns `None` unless they certainly have these trees.
pub(super) fn compared(repo: &Repo, known: &Path, base: &Oid, index: &Path, tree: &Oid) -> Option<New> {
    let (was, is) = (repo.read_index(known).ok()?, repo.read_index(index).ok()?);
    if was.index()?.tree() != Some(base) || is.index()?.tree() != Some(tree) {
        return None;
    }
    let mut changes = Vec::new();
    let mut links = Vec::new();
    index_file::compare(&was, &is, |was, is| {
        let Some(path) = is.or(was).map(|entry| entry.path.to_vec()) else {
            return;
        };
        let old = was.map(|entry| (entry.mode, entry.oid));
        let new = is.map(|entry| (entry.mode, entry.oid));
        let (old_mode, new_mode) = (old.map(|old| old.0), new.map(|new| new.0));
        if new_mode == Some(GITLINK) && old_mode != Some(GITLINK) {
            links.push(path.clone());
        }
        let status = match (old_mode, new_mode) {
            (Some(_), None) => b'D',
            (None, Some(_)) => b'A',
            (Some(old), Some(new)) if old >> 12 != new >> 12 => b'T',
            _ if old != new => b'M',
            _ => return,
        };
        changes.push((status, path));
    });
    Some(New {
        changes: Some(changes),
        links,
    })
}

impl Repo {
    /// Lists the differences between two trees, as `Git::diff_trees` does. Each comes with an index that may have it:
    /// if both do, no git is run.
    pub async fn differences_of_trees(
        &self,
        (from, from_index): (&Oid, &Path),
        (to, to_index): (&Oid, &Path),
    ) -> Result<Vec<(u8, Vec<u8>)>, GitError> {
        match compared(self, from_index, from, to_index, to).and_then(|new| new.changes) {
            Some(changes) => Ok(changes),
            None => self.git.diff_trees(from, to).await,
        }
    }
}

/// Returns whether an index certainly has no gitlinks.
pub(super) fn has_no_links(repo: &Repo, index: &Path) -> bool {
    repo.read_index(index).is_ok_and(|file| {
        file.index()
            .is_some_and(|index| index.entries().all(|entry| entry.mode != GITLINK))
    })
}
