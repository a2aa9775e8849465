//! Compares the work tree with a savepoint.

use std::path::PathBuf;

use super::Savepoint;
use crate::fs::is_there;
use crate::git::UncleanSubmodule;
use crate::git::worktree::{Count, Reading, Whose};
use crate::protect::records::Records;
use crate::protect::tree::moment::Moment;
use crate::protect::tree::stat_changes::{is_untouched_since, touched_in_same_second};
use crate::protect::tree::{damaged_index, gate_files, ignored_files, submodules};
use crate::protect::{ProtectError, Site};

impl Savepoint<'_> {
    /// Returns whether index and work tree are certainly as they were when the savepoint was recorded; `false` means
    /// only that they may differ. One `lstat` for each file and one scan.
    pub async fn is_as_left(&self) -> Result<bool, ProtectError> {
        let (repo, saved, tree) = (self.site.repo.clone(), self.index(), self.tree.clone());
        let looked = tokio::task::spawn_blocking(move || is_untouched_since(&repo, &saved, &tree));
        // Both take time proportional to the number of files.
        let (is_untouched, is_as_indexed) = tokio::join!(looked, self.site.repo.is_as_indexed(&self.nested));
        Ok(is_untouched.unwrap_or(false) && is_as_indexed?)
    }

    /// Makes the private index that a step works with: a copy of the real one without flags that hide files, and
    /// without the times of files that git may wrongly consider unchanged. One `lstat` for each file that was touched
    /// in the second of the savepoint or later.
    pub async fn working_index(&self) -> Result<PathBuf, ProtectError> {
        let (work, repo) = (self.site.work_index(), self.site.repo);
        damaged_index::replace(self).await?;
        let made = repo.private_index(&work, Some(&self.commit)).await?;
        if made.sound {
            let real = repo.read_index_or_none(&repo.index())?;
            let unseen = touched_in_same_second(repo, &real, self.since);
            repo.forget_times(&work, &unseen)?;
        }
        let records = Records::of(self.site);
        let mut hidden = made.entries.hidden();
        hidden.extend(records.newly_sparse(made.entries.sparse)?);
        repo.show_paths(&work, &hidden).await?;
        if !made.sound {
            let sparse = records.sparse(Moment::Checkpoint)?;
            repo.hide_paths(&work, &[], &sparse).await?;
            // Other git commands read the real one too.
            repo.install_index(&work).await?;
            self.site
                .tell("the index was missing or damaged: recreated from the checkpoint".to_owned());
        }
        Ok(work)
    }

    /// Finds a submodule with content that its commit lacks. Recreates a missing index first, so that git can compare.
    pub async fn unclean_submodule(&self) -> Result<Option<UncleanSubmodule>, ProtectError> {
        if !submodules::is_any(self.site)? {
            return Ok(None);
        }
        self.working_index().await?;
        Ok(self.site.repo.unclean_submodule().await?)
    }

    /// Reads the present work tree into the working index, and compares it with the savepoint. One scan.
    pub async fn read(&self, count: Count) -> Result<Reading, ProtectError> {
        let work = self.working_index().await?;
        let whose = Whose::Loops { nested: &self.nested };
        let known = self.index();
        let reading = self
            .site
            .repo
            .read_work_tree(&work, &self.tree, Some(&known), whose, count)
            .await?;
        let reading = ignored_files::leave_out(self.site, &work, reading).await?;
        gate_files::leave_out(self, &work, reading).await
    }

    /// Replaces the real index by the working index.
    pub async fn install_working_index(site: Site<'_>) -> Result<(), ProtectError> {
        let work = site.work_index();
        if is_there(&work)? {
            site.repo.install_index(&work).await?;
            site.repo.discard_index(&work)?;
        }
        Ok(())
    }
}
