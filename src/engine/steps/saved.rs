//! Describes in one line which state of the user `start` has saved, and where.

use std::collections::BTreeSet;

use crate::fs::{FileError, read_if_there};
use crate::git::{GitError, Repo};
use crate::names::{Change, Oid, counted};

/// Counts of the user's uncommitted changes when a loop began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Saved {
    /// Changed files, staged or not.
    uncommitted: usize,
    untracked: usize,
    /// Stash entries.
    stashed: usize,
}

impl Saved {
    /// Counts uncommitted changes: the paths that differ between HEAD and the index, or between the index and the work
    /// tree, and the stash entries.
    pub fn of(repo: &Repo, staged: &[(u8, Vec<u8>)], unstaged: &[(u8, Vec<u8>)]) -> Result<Self, FileError> {
        let log = read_if_there(&repo.common_dir.join("logs/refs/stash"))?.unwrap_or_default();
        let stashed = log
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .count();
        let edited = unstaged.iter().filter(|(kind, _)| *kind != b'A');
        let uncommitted: BTreeSet<&[u8]> = edited.chain(staged).map(|(_, path)| path.as_slice()).collect();
        Ok(Self {
            uncommitted: uncommitted.len(),
            untracked: unstaged.iter().filter(|(kind, _)| *kind == b'A').count(),
            stashed,
        })
    }

    /// Returns the line; `None` if all counts are zero.
    pub fn words(self, change: &Change) -> Option<String> {
        let some = |count: usize, one: &str, many: &str| (count > 0).then(|| counted(count, one, many));
        let files = [
            some(self.uncommitted, "uncommitted file", "uncommitted files"),
            some(self.untracked, "untracked file", "untracked files"),
        ];
        let files: Vec<String> = files.into_iter().flatten().collect();
        let kept = |what: String, name: &str| format!("{what} in {}", change.ralph_ref(name));
        let parts = [
            (!files.is_empty()).then(|| kept(files.join(" and "), "start")),
            some(self.stashed, "stash entry", "stash entries").map(|entries| kept(entries, "anchor")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| format!("saved: {}", parts.join(", ")))
    }
}

/// Lists the differences between HEAD and the tree of the index. Starts no git if there certainly are none.
pub(super) async fn staged_changes(
    repo: &Repo,
    head: &Oid,
    staged: &Oid,
) -> Result<Vec<(u8, Vec<u8>)>, GitError> {
    if repo.has_tree(head, staged) {
        return Ok(Vec::new());
    }
    repo.git.diff_trees(head, staged).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_of_saved_files_is_one_line() {
        let words = |uncommitted, untracked, stashed| {
            let saved = Saved {
                uncommitted,
                untracked,
                stashed,
            };
            saved.words(&Change::new("c").unwrap())
        };
        assert_eq!(words(0, 0, 0), None);
        assert_eq!(
            words(2, 1, 0).unwrap(),
            "saved: 2 uncommitted files and 1 untracked file in refs/ralph/c/start"
        );
        assert_eq!(
            words(0, 3, 1).unwrap(),
            "saved: 3 untracked files in refs/ralph/c/start, 1 stash entry in refs/ralph/c/anchor"
        );
        assert_eq!(
            words(0, 0, 2).unwrap(),
            "saved: 2 stash entries in refs/ralph/c/anchor"
        );
    }
}
