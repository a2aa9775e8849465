//! Hides paths from git that it ignored when the loop began: files assumed unchanged, skipped files, and those outside a
//! sparse checkout (git-update-index(1), git-sparse-checkout(1)).

use std::path::Path;

use super::moment::Moment;
use super::savepoint::Savepoint;
use super::stat_changes::tracked_paths;
use crate::fs::{FileError, those_where};
use crate::git::index::Entries;
use crate::protect::records::{Paths, Records};
use crate::protect::{ProtectError, Site};

/// Names of the records; the first is also kept for the start of the loop.
const SPARSE: &str = "sparse";
const ASSUMED: &str = "assumed";
const SKIPPED: &str = "skipped";

impl Records {
    /// Records the flags of the user's index.
    pub(super) fn record_flags(&self, entries: &Entries) -> Result<(), FileError> {
        for (name, paths) in [
            (SPARSE.to_owned(), &entries.sparse),
            (Moment::Start.name(SPARSE), &entries.sparse),
            (ASSUMED.to_owned(), &entries.assumed),
            (SKIPPED.to_owned(), &entries.skipped),
        ] {
            self.save_paths(&name, &paths.iter().cloned().collect())?;
        }
        Ok(())
    }

    /// Records the paths outside a sparse checkout at a checkpoint.
    pub(super) fn record_sparse(&self, sparse: Vec<Vec<u8>>) -> Result<(), FileError> {
        self.save_paths(SPARSE, &sparse.into_iter().collect())
    }

    /// Returns the paths outside a sparse checkout at that moment.
    pub(super) fn sparse(&self, moment: Moment) -> Result<Vec<Vec<u8>>, FileError> {
        Ok(self.paths(&moment.name(SPARSE))?.into_iter().collect())
    }

    /// Selects those of `paths` that were not outside a sparse checkout at the last checkpoint.
    pub(super) fn newly_sparse(&self, paths: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, FileError> {
        if paths.is_empty() {
            return Ok(paths);
        }
        let known = self.paths(SPARSE)?;
        Ok(paths.into_iter().filter(|path| !known.contains(path)).collect())
    }
}

/// Excludes the paths outside the sparse checkout again. Called when the work tree is the savepoint's, with the index
/// that describes it.
pub(super) async fn narrow_sparse(site: Site<'_>, moment: Moment, index: &Path) -> Result<(), ProtectError> {
    let repo = site.repo;
    let again = those_where(Records::of(site).sparse(moment)?, |path| repo.exists(path))?;
    for path in &again {
        // The savepoint has the same content, so nothing is lost.
        repo.remove_file(path)?;
    }
    Ok(repo.hide_paths(index, &[], &again).await?)
}

/// Restores files that an attempt excluded by its own sparse checkout: they are not deleted, but git does not check
/// them out.
pub(in crate::protect) async fn widen_sparse(checkpoint: &Savepoint<'_>) -> Result<(), ProtectError> {
    let site = checkpoint.site;
    let (repo, work) = (site.repo, site.work_index());
    let made = repo.private_index(&work, Some(&checkpoint.commit)).await?;
    let sparse = Records::of(site).newly_sparse(made.entries.sparse)?;
    if sparse.is_empty() {
        return Ok(());
    }
    repo.show_paths(&work, &sparse).await?;
    repo.check_out_paths(&work, &sparse).await?;
    repo.install_index(&work).await?;
    site.tell("the attempt made the checkout sparse; the files it left out are back".to_owned());
    Ok(())
}

impl Site<'_> {
    /// Hides paths from git again that it ignored before the loop.
    pub async fn hide_again(self, index: &Path) -> Result<(), ProtectError> {
        let records = Records::of(self);
        let (assumed, skipped) = (records.paths(ASSUMED)?, records.paths(SKIPPED)?);
        if assumed.is_empty() && skipped.is_empty() {
            return Ok(());
        }
        let tracked = tracked_paths(self.repo, index)?;
        let known = |paths: Paths| -> Vec<Vec<u8>> {
            let paths = paths.into_iter();
            paths.filter(|path| tracked.contains(path)).collect()
        };
        let (assumed, skipped) = (known(assumed), known(skipped));
        Ok(self.repo.hide_paths(index, &assumed, &skipped).await?)
    }
}
