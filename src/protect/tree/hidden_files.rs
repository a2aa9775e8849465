//! Files hidden by a rule that an attempt added to `.git/info/exclude`, and that was removed when the file was
//! restored: no checkpoint contains them, and no later attempt removes them.

use std::path::Path;

use super::savepoint::Savepoint;
use crate::fs::FileError;
use crate::protect::ProtectError;
use crate::protect::records::{Paths, Records};

/// Name of the record of the files hidden before the present or last attempt.
const HIDDEN: &str = "covered";
/// Name of the record of the files hidden by that attempt; a failure removes them, like every new file.
const JUST_HIDDEN: &str = "covered.now";

impl Records {
    /// Counts the files that the last attempt hid as the user's while they exist. Called before an attempt.
    pub(in crate::protect) fn settle_hidden(&self) -> Result<(), FileError> {
        let (known, now) = (self.paths(HIDDEN)?, self.paths(JUST_HIDDEN)?);
        if known.is_empty() && now.is_empty() {
            return Ok(());
        }
        let there = known.into_iter().chain(now).filter(|path| !self.is_gone(path));
        self.save_paths(HIDDEN, &there.collect())?;
        self.forget_just_hidden()
    }

    /// Forgets the files that an attempt hid, after they were removed with it: later files at their paths are ordinary
    /// work.
    pub(super) fn forget_just_hidden(&self) -> Result<(), FileError> {
        if self.knows(JUST_HIDDEN) {
            self.save_paths(JUST_HIDDEN, &Paths::new())?;
        }
        Ok(())
    }

    /// Returns the files hidden by a rule of an earlier attempt.
    pub(super) fn hidden(&self) -> Result<Paths, FileError> {
        self.paths(HIDDEN)
    }

    /// Selects the `paths` that such a rule hid.
    pub(super) fn hidden_among<'p>(
        &self,
        paths: impl Iterator<Item = &'p Vec<u8>>,
    ) -> Result<Vec<Vec<u8>>, FileError> {
        let mut hidden = self.paths(HIDDEN)?;
        hidden.extend(self.paths(JUST_HIDDEN)?);
        Ok(paths.filter(|path| hidden.contains(*path)).cloned().collect())
    }
}

/// Excludes files from all later readings that match these rules and are missing in the checkpoint.
pub(in crate::protect) async fn leave_out(
    checkpoint: &Savepoint<'_>,
    rules: &Path,
) -> Result<(), ProtectError> {
    let site = checkpoint.site;
    let covered = site.repo.covered_by(&checkpoint.index(), rules).await?;
    let records = Records::of(site);
    let before = records.hidden()?;
    let covered: Vec<Vec<u8>> = covered
        .into_iter()
        .filter(|path| !before.contains(path))
        .collect();
    site.tell_few(
        "files that rules of an attempt hid stay out of checkpoints (to keep ignoring them, add the rule again)",
        &covered,
    );
    Ok(records.save_paths(JUST_HIDDEN, &covered.into_iter().collect())?)
}
