//! The record of a work tree that is taken before an attempt.

use std::path::Path;

use super::inner_git_files::InnerGitFiles;
use super::{foreign_filters, submodules, users_index};
use crate::fs::{Below, may_exist};
use crate::git::PutBack;
use crate::protect::{ProtectError, Site};

/// The part of a work tree's record that decides which commands git runs after the attempt, kept in memory.
pub(in crate::protect) struct HeldOfTree {
    filters: foreign_filters::Known,
    inner: InnerGitFiles,
    submodules: submodules::Files,
}

impl HeldOfTree {
    /// Records the user's index if the loop has its own; returns the records of repositories inside the work tree, to
    /// be kept in memory. The inventory is already taken.
    pub async fn take(site: Site<'_>) -> Result<Self, ProtectError> {
        let held = Self {
            filters: foreign_filters::known(site)?,
            inner: InnerGitFiles::read(site).await?,
            submodules: submodules::Files::read(site)?,
        };
        users_index::take(site)?;
        Ok(held)
    }

    /// Rewrites the records, and restores the git files of the repositories inside the work tree. Their replacements go
    /// to directories in `trash`.
    pub fn put_back(&self, site: Site<'_>, who: &str, trash: &Path) -> Result<Vec<PutBack>, ProtectError> {
        foreign_filters::write(site, &self.filters)?;
        self.submodules.write(site)?;
        self.inner.put_back(site, who, trash)
    }
}

/// Recreates the top directory if it was deleted.
pub(in crate::protect) fn make_top(site: Site<'_>) -> Result<(), ProtectError> {
    let top = &site.repo.top;
    if !may_exist(top) {
        Below::new(top).make_dir(top, 0o777)?;
        site.tell("the work tree was deleted; its directory is recreated".to_owned());
    }
    Ok(())
}
