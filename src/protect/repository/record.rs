//! The record of a repository that is taken before an attempt, for all of its work trees.

use std::time::SystemTime;

use super::{ControlFiles, UserRefs, linked_work_trees};
use crate::git::GitError;
use crate::names::Change;
use crate::protect::{ProtectError, Site};
use crate::slot::Slot;

/// The record of the repository in which an attempt runs.
#[derive(Clone, Copy)]
pub(in crate::protect) struct RepositoryRecord<'a> {
    /// The repository and the slot.
    pub site: Site<'a>,
    /// The change.
    pub change: &'a Change,
    /// True if the checkpoints are on the loop's own branch.
    pub has_branch: bool,
    /// The time at which the attempt began.
    pub since: SystemTime,
}

impl RepositoryRecord<'_> {
    /// Returns the user's refs: the `known` ones, else those that git lists.
    pub async fn refs(&self, known: Option<UserRefs>) -> Result<UserRefs, ProtectError> {
        match known {
            Some(known) => Ok(known),
            None => Ok(UserRefs::read(self.site.repo, self.change, self.has_branch).await?),
        }
    }

    /// Records the other work trees and git's own files; returns the files, to be kept in memory.
    pub fn take(&self, others: &[Slot]) -> Result<ControlFiles, ProtectError> {
        linked_work_trees::record(self.site)?;
        ControlFiles::save(self.site, others)
    }

    /// Removes the locks that no process holds; locks of other refs only if they were made since the attempt began.
    /// Returns their number.
    pub async fn remove_stale_locks(&self) -> Result<usize, ProtectError> {
        self.site.remove_stale_locks_since(self.change, self.since).await
    }

    /// Removes the locks that no process holds after `who`, and reports their removal.
    pub async fn remove_stale_locks_of(&self, who: &str) -> Result<(), ProtectError> {
        match self.remove_stale_locks().await {
            // A later operation that needs a held lock reports it.
            Ok(0) | Err(ProtectError::Git(GitError::Locked(_))) => {}
            Ok(_) => self.site.tell(format!(
                "locks were left in the repository during {who}; they are removed"
            )),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
