//! Records the parts of a savepoint that git does not store.

use std::path::Path;

use jiff::Timestamp;

use super::Savepoint;
use crate::fs::is_there;
use crate::git::index::Entries;
use crate::git::index_file::IndexFile;
use crate::git::{PathChange, StagedEntry};
use crate::protect::records::Records;
use crate::protect::tree::exact_bytes::{ExactBytes, Version};
use crate::protect::tree::moment::Moment;
use crate::protect::tree::stat_changes::{touched_between, touched_in_same_second};
use crate::protect::tree::{inner_repositories, scan, submodules};
use crate::protect::{ProtectError, Site};

impl Site<'_> {
    /// Records data that git does not store when a loop begins. `index` is the user's, with the flags `entries`; does
    /// not wait for the reading of the work tree. One scan of the directories and one `lstat` for each file.
    pub async fn begin_records(self, index: &Path, entries: &Entries) -> Result<(), ProtectError> {
        scan::begin(self, index, entries).await?;
        inner_repositories::record(self, Moment::Start, index)
    }

    /// Records the bytes that git would not reproduce when a loop begins; `index` describes the work tree.
    pub async fn begin_exact_bytes(self, index: &Path) -> Result<(), ProtectError> {
        ExactBytes::begin(self, index).await
    }
}

impl Savepoint<'_> {
    /// Records indexes and submodules when the first checkpoint is made, with its index in place.
    pub async fn record_start(&self) -> Result<(), ProtectError> {
        self.remember_indexes_of_start()?;
        self.record_submodules_of_start().await
    }

    /// Records the submodules before a pulled loop moves them: `abort` restores these.
    pub async fn record_submodules_of_start(&self) -> Result<(), ProtectError> {
        submodules::record_start(self.site).await
    }

    /// Records the submodules of the checkpoint.
    pub async fn record_submodules(&self) -> Result<(), ProtectError> {
        submodules::record(self.site).await
    }

    /// Records indexes when a loop has been pulled, with its index in place. The submodules before it are recorded.
    pub async fn record_pulled(&self) -> Result<(), ProtectError> {
        self.remember_indexes_of_start()?;
        self.record_submodules().await
    }

    fn remember_indexes_of_start(&self) -> Result<(), ProtectError> {
        self.remember_index()?;
        let (repo, start) = (self.site.repo, self.site.file("start.index"));
        repo.copy_index(&repo.index(), &start)?;
        Ok(())
    }

    /// Records the paths that a story touched, with the index of its checkpoint in place; `since` is the beginning of
    /// the loop.
    pub async fn record(&self, since: Timestamp) -> Result<(), ProtectError> {
        let repo = self.site.repo;
        let index = repo.index();
        let (was, now) = (self.read_index()?, repo.read_index_or_none(&index)?);
        let mut touched = touched_between(&was, &now);
        touched.extend(touched_in_same_second(repo, &now, since));
        if !touched.is_empty() {
            self.record_touched(&index, &now, &touched).await?;
            let records = Records::of(self.site);
            if !records.sparse(Moment::Checkpoint)?.is_empty() {
                let sparse = repo.index_entries(&index).await?.sparse;
                records.record_sparse(sparse)?;
            }
        }
        self.remember_index()?;
        submodules::record(self.site).await
    }

    /// Changes the records of the last checkpoint to those of this earlier or pulled one, before the files change.
    /// Files that are as at the start of the loop get the start's records; other versions have none. Can be repeated.
    pub async fn follow_checkpoint(&self) -> Result<(), ProtectError> {
        let (repo, index) = (self.site.repo, self.index());
        if !is_there(&index)? {
            return Ok(());
        }
        let was = repo.git.write_tree(&index).await?;
        let changes = repo.git.changes_among(&was, &self.tree, &[]).await?;
        let start = repo.read_index_or_none(&self.site.file("start.index"))?;
        let is_of_start = |entry: &StagedEntry| {
            let known = start.index().and_then(|start| start.find(&entry.path));
            known.is_some_and(|known| known.object().as_ref() == Some(&entry.oid))
        };
        let changes: Vec<(Vec<u8>, Version)> = changes
            .into_iter()
            .map(|PathChange { path, is, .. }| {
                let version = match is {
                    None => Version::None,
                    Some(entry) if is_of_start(&entry) => Version::OfStart,
                    Some(_) => Version::Other,
                };
                (path, version)
            })
            .collect();
        Records::of(self.site).narrow_modes()?;
        let copies = ExactBytes::of(self.site, Moment::Checkpoint);
        copies.follow(self.site, &index, &changes).await
    }

    /// Records permissions and exact bytes of paths that the user touched since the checkpoint in a way that git does
    /// not see: undoing an attempt must not undo these edits. The working index describes the work tree.
    pub async fn record_unseen_edits(&self, since: Timestamp) -> Result<(), ProtectError> {
        let work = self.site.work_index();
        let (known, now) = (self.read_index()?, self.site.repo.read_index_or_none(&work)?);
        let mut touched = touched_between(&known, &now);
        touched.extend(touched_in_same_second(self.site.repo, &known, since));
        self.record_touched(&work, &now, &touched).await
    }

    async fn record_touched(
        &self,
        index: &Path,
        file: &IndexFile,
        touched: &[Vec<u8>],
    ) -> Result<(), ProtectError> {
        Records::of(self.site).record_modes(touched)?;
        ExactBytes::of(self.site, self.moment)
            .record(self.site, index, file, touched)
            .await
    }
}
