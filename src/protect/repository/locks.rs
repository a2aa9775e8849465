//! Git's locks: removes stale ones, and leaves those of a running git alone.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::fs::{kind_of, may_be_there, seen_in, seen_itself};
use crate::git::{RefFile, index, locks};
use crate::names::Change;
use crate::protect::trash::set_aside;
use crate::protect::{ProtectError, Site};

impl Site<'_> {
    /// Removes the locks that could stop a step and that no process holds; returns their number.
    pub async fn remove_stale_locks(self, change: &Change) -> Result<usize, ProtectError> {
        let found = all(self, change);
        for lock in &found {
            // Git never makes such a lock.
            if kind_of(lock)?.is_some_and(|found| !found.is_file()) {
                set_aside(self, lock, &self.trash().join("damaged"))?;
            }
        }
        Ok(locks::remove_stale(self.repo, &found).await?)
    }

    /// Removes the locks of other refs that were made since then and that no process holds; returns their number. They
    /// stop no step: one that may be held stays.
    pub async fn remove_stale_ref_locks(self, since: SystemTime) -> Result<usize, ProtectError> {
        let mut found = Vec::new();
        collect(&self.repo.common_dir.join("refs"), &mut found);
        let is_new = |lock: &PathBuf| {
            let modified = seen_itself(lock).and_then(|found| found.modified().ok());
            modified.is_some_and(|modified| modified >= since)
        };
        found.retain(is_new);
        if found.is_empty() || locks::may_be_held(self.repo, &found) != Some(false) {
            return Ok(0);
        }
        Ok(locks::remove_stale(self.repo, &found).await?)
    }

    /// Returns whether another git process may hold a lock now.
    pub fn is_locked(self, change: &Change) -> bool {
        let found = all(self, change);
        !found.is_empty() && locks::may_be_held(self.repo, &found) != Some(false)
    }
}

/// Lists the existing locks that could stop a step.
fn all(site: Site<'_>, change: &Change) -> Vec<PathBuf> {
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
    collect(&repo.common_dir.join(change.ralph_ref("")), &mut locks);
    locks.retain(|lock| may_be_there(lock));
    locks
}

fn collect(dir: &Path, locks: &mut Vec<PathBuf>) {
    for entry in seen_in(dir) {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(&path, locks);
        } else if path.extension().is_some_and(|extension| extension == "lock") {
            locks.push(path);
        }
    }
}
