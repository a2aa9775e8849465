//! The record of a work tree that is taken before an attempt.

use std::path::Path;

use super::inner_git_files::InnerGitFiles;
use super::{foreign_filters, submodules, users_index};
use crate::fs::{Below, may_exist};
use crate::git::PutBack;
use crate::protect::{ProtectError, Site};

/// The part of the record of a work tree that decides what git runs after the attempt, as this process holds it.
pub(in crate::protect) struct HeldOfTree {
    filters: foreign_filters::Known,
    inner: InnerGitFiles,
    submodules: submodules::Files,
}

impl HeldOfTree {
    /// Records the index of a user who has one beside the loop's; returns what this process has to hold of the repositories
    /// inside the work tree. The inventory is taken.
    pub async fn take(site: Site<'_>) -> Result<Self, ProtectError> {
        let held = Self {
            filters: foreign_filters::known(site)?,
            inner: InnerGitFiles::read(site).await?,
            submodules: submodules::Files::read(site)?,
        };
        users_index::take(site)?;
        Ok(held)
    }

    /// Writes the records again, and restores the git files of the repositories inside the work tree. What was there instead
    /// goes to directories in `trash`.
    pub fn put_back(&self, site: Site<'_>, who: &str, trash: &Path) -> Result<Vec<PutBack>, ProtectError> {
        foreign_filters::write(site, &self.filters)?;
        self.submodules.write(site)?;
        self.inner.put_back(site, who, trash)
    }
}

/// Makes the top directory again if it was deleted.
pub(in crate::protect) fn make_top(site: Site<'_>) -> Result<(), ProtectError> {
    let top = &site.repo.top;
    if !may_exist(top) {
        Below::new(top).make_dir(top, 0o777)?;
        site.tell("the work tree was deleted; its directory is recreated".to_owned());
    }
    Ok(())
}
