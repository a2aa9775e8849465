//! What git was told not to look at when the loop began: files taken for unchanged, skipped, and those
//! outside a sparse checkout (hazards A1 to A3, D12).

use std::path::Path;

use super::{Paths, Unversioned};
use crate::engine::Session;
use crate::engine::touched::tracked_paths;
use crate::error::Error;
use crate::git::index::Entries;

impl Unversioned {
    /// Records what the user's index says.
    pub(super) fn record_flags(&self, entries: &Entries) -> Result<(), Error> {
        for (name, paths) in [
            ("sparse", &entries.sparse),
            ("sparse.start", &entries.sparse),
            ("assumed", &entries.assumed),
            ("skipped", &entries.skipped),
        ] {
            self.save_paths(name, &paths.iter().cloned().collect())?;
        }
        Ok(())
    }

    /// What git was told not to look at when the loop began, as far as it is in an index with these
    /// paths: taken for unchanged, and skipped.
    fn hidden_at_start(&self, tracked: &Paths) -> Result<[Vec<Vec<u8>>; 2], Error> {
        let known = |name: &str| -> Result<Vec<Vec<u8>>, Error> {
            let paths = self.paths(name)?;
            Ok(paths.into_iter().filter(|path| tracked.contains(path)).collect())
        };
        Ok([known("assumed")?, known("skipped")?])
    }

    /// Whether git was told not to look at anything when the loop began.
    fn has_hidden(&self) -> Result<bool, Error> {
        Ok(!self.paths("assumed")?.is_empty() || !self.paths("skipped")?.is_empty())
    }

    /// What was outside a sparse checkout at the last checkpoint.
    pub fn sparse(&self) -> Result<Vec<Vec<u8>>, Error> {
        Ok(self.paths("sparse")?.into_iter().collect())
    }

    /// What was outside a sparse checkout when the loop began.
    pub fn sparse_at_start(&self) -> Result<Vec<Vec<u8>>, Error> {
        Ok(self.paths("sparse.start")?.into_iter().collect())
    }

    /// Those of `paths` that were not outside a sparse checkout when the loop began.
    pub fn newly_sparse(&self, paths: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Error> {
        if paths.is_empty() {
            return Ok(paths);
        }
        let known = self.paths("sparse")?;
        Ok(paths.into_iter().filter(|path| !known.contains(path)).collect())
    }
}

impl Session<'_> {
    /// Puts outside the sparse checkout again what was outside it. Called when the work tree is the
    /// checkpoint's, with the index that describes it.
    pub(in crate::engine) async fn narrow_sparse(&self, index: &Path) -> Result<(), Error> {
        let repo = &self.engine.repo;
        let mut again = self.unversioned().sparse()?;
        again.retain(|path| repo.exists(path));
        for path in &again {
            // They are as the checkpoint has them, so nothing is lost.
            repo.remove_file(path)?;
        }
        Ok(repo.hide_paths(index, &[], &again).await?)
    }

    /// Brings back what an attempt put outside a sparse checkout of its own: those files are not deleted,
    /// git was only told not to have them.
    pub(crate) async fn widen_sparse(&mut self) -> Result<(), Error> {
        let work = self.file("work.index");
        let repo = &self.engine.repo;
        let made = repo
            .private_index(&repo.index(), &work, Some(&self.state.checkpoint))
            .await?;
        let sparse = self.unversioned().newly_sparse(made.entries.sparse)?;
        if sparse.is_empty() {
            return Ok(());
        }
        repo.show_paths(&work, &sparse).await?;
        repo.check_out_paths(&work, &sparse).await?;
        repo.install_index(&work).await?;
        self.tell("the attempt made the checkout sparse; the files it left out are back");
        Ok(())
    }

    /// Has git not look again at what it did not look at before the loop.
    pub(in crate::engine) async fn hide_again(&self, index: &Path) -> Result<(), Error> {
        let unversioned = self.unversioned();
        if !unversioned.has_hidden()? {
            return Ok(());
        }
        let tracked = tracked_paths(index, self.oid_length());
        let [assumed, skipped] = unversioned.hidden_at_start(&tracked)?;
        Ok(self.engine.repo.hide_paths(index, &assumed, &skipped).await?)
    }
}
