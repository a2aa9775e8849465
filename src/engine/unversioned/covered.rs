//! Files that a rule hid which came into `.git/info/exclude` while an attempt ran, and went with the rest of
//! that file: no checkpoint takes them in, and no later attempt takes them along.

use std::path::Path;

use super::Unversioned;
use crate::engine::Session;
use crate::error::Error;

/// The record of such files from before the attempt that runs or was the last.
const COVERED: &str = "covered";
/// Those of that attempt; they go with it when it fails, as all that is new.
const JUST_COVERED: &str = "covered.now";

impl Unversioned {
    /// Takes what the last attempt hid and left for the user's. Called before an attempt.
    pub fn settle_covered(&self) -> Result<(), Error> {
        let mut now = self.paths(JUST_COVERED)?;
        if now.is_empty() {
            return Ok(());
        }
        now.extend(self.paths(COVERED)?);
        self.save_paths(COVERED, &now)?;
        self.save_paths(JUST_COVERED, &super::Paths::new())
    }

    /// Returns the files that a rule of an earlier attempt hid.
    pub(super) fn covered(&self) -> Result<super::Paths, Error> {
        self.paths(COVERED)
    }

    /// Those of `paths` that such a rule hid.
    pub(super) fn covered_among<'p>(
        &self,
        paths: impl Iterator<Item = &'p Vec<u8>>,
    ) -> Result<Vec<Vec<u8>>, Error> {
        let mut covered = self.paths(COVERED)?;
        covered.extend(self.paths(JUST_COVERED)?);
        Ok(paths.filter(|path| covered.contains(*path)).cloned().collect())
    }
}

impl Session<'_> {
    /// Leaves out of every reading what these rules cover and the checkpoint does not have.
    pub(in crate::engine) async fn leave_out_covered(&mut self, rules: &Path) -> Result<(), Error> {
        let known = self.file("checkpoint.index");
        let covered = self.engine.repo.covered_by(&known, rules).await?;
        let unversioned = self.unversioned();
        let before = unversioned.paths(COVERED)?;
        let covered: super::Paths = covered
            .into_iter()
            .filter(|path| !before.contains(path))
            .collect();
        unversioned.save_paths(JUST_COVERED, &covered)?;
        if !covered.is_empty() {
            let names = covered.iter().take(5).map(|path| String::from_utf8_lossy(path));
            let names: Vec<_> = names.collect();
            self.tell(format!(
                "no checkpoint takes in what its rules hid (to go on ignoring it, add the rule again): {}",
                names.join(", ")
            ));
        }
        Ok(())
    }
}
