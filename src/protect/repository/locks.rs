//! Git's locks: removes stale ones, and leaves those of a running git alone.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::fs::{kind_of, may_be_there, seen_in, seen_itself};
use crate::git::{RefFile, index, locks};
use crate::names::Change;
use crate::protect::trash::set_aside;
use crate::protect::{ProtectError, Site};

impl Site<'_> {
    /// Removes the locks that could block a step and that no process holds; returns their number.
    pub async fn remove_stale_locks(self, change: &Change) -> Result<usize, ProtectError> {
        self.remove_stale(&all(self, change, &self.locks_of_refs(&change.ralph_ref(""))))
            .await
    }

    async fn remove_stale(self, found: &[PathBuf]) -> Result<usize, ProtectError> {
        for lock in found {
            // Git never makes such a lock.
            if kind_of(lock)?.is_some_and(|found| !found.is_file()) {
                set_aside(self, lock, &self.trash().join("damaged"))?;
            }
        }
        Ok(locks::remove_stale(self.repo, found).await?)
    }

    /// Does the same, and then removes the locks of other refs that were made since `since` and that no process holds.
    /// They block no step: a lock that may be held stays.
    pub async fn remove_stale_locks_since(
        self,
        change: &Change,
        since: SystemTime,
    ) -> Result<usize, ProtectError> {
        let mut found = self.locks_of_refs("refs");
        let removed = self.remove_stale(&all(self, change, &found)).await?;
        let is_new = |lock: &PathBuf| {
            let modified = seen_itself(lock).and_then(|found| found.modified().ok());
            modified.is_some_and(|modified| modified >= since)
        };
        found.retain(is_new);
        if found.is_empty() || locks::may_be_held(self.repo, &found) != Some(false) {
            return Ok(removed);
        }
        Ok(removed + locks::remove_stale(self.repo, &found).await?)
    }

    /// Lists the locks of refs in a directory, recursively.
    fn locks_of_refs(self, dir: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        collect(&self.repo.common_dir.join(dir), &mut found);
        found
    }

    /// Returns whether another git process may hold a lock now.
    pub fn is_locked(self, change: &Change) -> bool {
        let found = all(self, change, &self.locks_of_refs(&change.ralph_ref("")));
        !found.is_empty() && locks::may_be_held(self.repo, &found) != Some(false)
    }
}

/// Lists the existing locks that could block a step; `of_refs` are the locks of refs, including the loop's own.
fn all(site: Site<'_>, change: &Change, of_refs: &[PathBuf]) -> Vec<PathBuf> {
    let repo = site.repo;
    let mut locks = locks::of_git(repo);
    locks.push(index::lock_of(&site.work_index()));
    locks.extend(locks::of_stash(repo));
    let mut refs = vec![change.branch_ref()];
    if repo.git.own_index().is_some()
        && let RefFile::Symbolic(branch) = RefFile::read(&repo.git_dir.join("HEAD"))
    {
        refs.push(branch);
    }
    locks.extend(
        refs.iter()
            .map(|name| repo.common_dir.join(format!("{name}.lock"))),
    );
    let own = repo.common_dir.join(change.ralph_ref(""));
    locks.extend(of_refs.iter().filter(|lock| lock.starts_with(&own)).cloned());
    locks.retain(|lock| may_be_there(lock));
    locks
}

fn collect(dir: &Path, locks: &mut Vec<PathBuf>) {
    for entry in seen_in(dir) {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(&entry.path(), locks);
        } else if Path::new(&entry.file_name())
            .extension()
            .is_some_and(|extension| extension == "lock")
        {
            locks.push(entry.path());
        }
    }
}
