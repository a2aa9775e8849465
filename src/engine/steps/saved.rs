//! Says in one line what `start` has saved of the user's state, and where.

use crate::fs::read_if_there;
use crate::git::{GitError, Repo};
use crate::names::{Change, Oid, counted};

/// Counts what was not committed when a loop began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Saved {
    /// Changed files, staged or not.
    uncommitted: usize,
    untracked: usize,
    /// Stash entries.
    stashed: usize,
}

impl Saved {
    /// Counts the differences between HEAD, the index and the work tree. If there certainly are none, no git is asked.
    ///
    /// # Errors
    /// If git fails.
    pub async fn of(repo: &Repo, head: &Oid, staged: &Oid, work_tree: &Oid) -> Result<Self, GitError> {
        let log = read_if_there(&repo.common_dir.join("logs/refs/stash"))?.unwrap_or_default();
        let stashed = log
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .count();
        if staged == work_tree && repo.has_tree(head, staged) {
            return Ok(Self {
                stashed,
                ..Self::default()
            });
        }
        let (all, unstaged) = tokio::join!(
            repo.git.diff_trees(head, work_tree),
            repo.git.diff_trees(staged, work_tree)
        );
        let untracked = unstaged?.iter().filter(|(kind, _)| *kind == b'A').count();
        Ok(Self {
            uncommitted: all?.len().saturating_sub(untracked),
            untracked,
            stashed,
        })
    }

    /// Returns the line; `None` if there was nothing.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_saved_is_one_line() {
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
