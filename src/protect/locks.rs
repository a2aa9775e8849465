//! Locks that a killed git left behind.

use std::fs;
use std::path::{Path, PathBuf};

use super::{ProtectError, Site};
use crate::fs::remove_file;
use crate::git::index;
use crate::names::Change;

/// Removes locks that a killed git left; returns how many there were. Only called when no process of the attempt, or of
/// the step that was cut off, is alive; a git that the user runs in another window gets a moment to finish.
pub(crate) async fn remove_stale(site: Site<'_>, change: &Change) -> Result<usize, ProtectError> {
    let repo = site.repo;
    let branch = change.branch_ref();
    let mut locks = vec![
        index::lock_of(&repo.index()),
        index::lock_of(&site.work_index()),
        repo.git_dir.join("HEAD.lock"),
        repo.common_dir.join("packed-refs.lock"),
        repo.common_dir.join(format!("{branch}.lock")),
    ];
    collect(&repo.common_dir.join(change.ralph_ref("")), &mut locks);
    locks.retain(|lock| lock.exists());
    index::wait_for_locks(&locks).await;
    let mut removed = 0;
    for lock in locks {
        removed += usize::from(lock.exists());
        remove_file(&lock)?;
    }
    Ok(removed)
}

fn collect(dir: &Path, locks: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok) {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(&path, locks);
        } else if path.extension().is_some_and(|extension| extension == "lock") {
            locks.push(path);
        }
    }
}
