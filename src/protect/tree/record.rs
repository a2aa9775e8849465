//! The record of a work tree that is taken before an attempt.

use std::path::Path;

use super::inner_git_files::{InnerGitFiles, PutBackIn};
use super::own_position::OwnPosition;
use super::savepoint::Savepoint;
use super::{
    damaged_index, foreign_filters, hidden_files, ignored_files, index_flags, inner_git_files, pipes,
    submodules, users_index,
};
use crate::events::Notices;
use crate::fs::{Below, may_exist};
use crate::git::Head;
use crate::protect::records::Records;
use crate::protect::{ProtectError, Site};

/// The part of the record of a work tree that decides what git runs after the attempt, as this process holds it.
pub(in crate::protect) struct HeldOfTree {
    filters: foreign_filters::Known,
    inner: InnerGitFiles,
    submodules: submodules::Files,
}

impl HeldOfTree {
    /// Writes the records again, and restores the git files of the repositories inside the work tree. What was there instead
    /// goes to directories in `trash`.
    pub fn put_back(
        &self,
        site: Site<'_>,
        who: &str,
        trash: &Path,
        notices: &dyn Notices,
    ) -> Result<PutBackIn, ProtectError> {
        foreign_filters::write(site, &self.filters)?;
        self.submodules.write(site)?;
        self.inner.put_back(site, who, trash, notices)
    }
}

/// The record of the work tree in which an attempt runs.
#[derive(Clone, Copy)]
pub(in crate::protect) struct TreeRecord<'a> {
    /// The repository and the slot.
    pub site: Site<'a>,
    /// HEAD as it must be.
    pub head: &'a Head,
    /// The full name of the ref on which the checkpoints hang.
    pub tip: &'a str,
    /// The checkpoint at the beginning of the attempt.
    pub checkpoint: &'a Savepoint,
}

impl TreeRecord<'_> {
    /// Records the files that git ignores, and everything else that it does not track. One scan of the work tree.
    pub async fn record_ignored(&self) -> Result<(), ProtectError> {
        ignored_files::record(self.site).await
    }

    /// Counts the files that the last attempt hid as the user's.
    pub fn settle_hidden(&self) -> Result<(), ProtectError> {
        Ok(Records::of(self.site).settle_hidden()?)
    }

    /// Records the index of a user who has one beside the loop's; returns what this process has to hold of the repositories
    /// inside the work tree. The inventory is taken.
    pub async fn take(&self) -> Result<HeldOfTree, ProtectError> {
        let held = HeldOfTree {
            filters: foreign_filters::known(self.site)?,
            inner: InnerGitFiles::read(self.site).await?,
            submodules: submodules::Files::read(self.site)?,
        };
        users_index::take(self.site)?;
        Ok(held)
    }

    /// Makes the top directory again if it was deleted.
    pub fn make_top(&self, notices: &dyn Notices) -> Result<(), ProtectError> {
        let top = &self.site.repo.top;
        if !may_exist(top) {
            Below::new(top).make_dir(top, 0o777)?;
            notices.tell("the work tree was deleted; its directory is recreated".to_owned());
        }
        Ok(())
    }

    /// Restores HEAD, its branch and the loop's tip if git cannot read them.
    pub async fn repair_own_position(
        &self,
        trash: &Path,
        notices: &dyn Notices,
    ) -> Result<bool, ProtectError> {
        let own = OwnPosition {
            head: self.head,
            tip: self.tip,
            checkpoint: &self.checkpoint.commit,
            in_attempt: true,
        };
        own.repair(self.site, trash, notices).await
    }

    /// Replaces the index if it is damaged.
    pub async fn replace_damaged_index(&self, notices: &dyn Notices) -> Result<(), ProtectError> {
        damaged_index::replace(self.site, self.checkpoint, notices).await
    }

    /// Replaces the index if it is damaged, and brings back files that the attempt excluded by a sparse checkout of its
    /// own.
    pub async fn repair_index(&self, notices: &dyn Notices) -> Result<(), ProtectError> {
        self.replace_damaged_index(notices).await?;
        index_flags::widen_sparse(self.site, self.checkpoint, notices).await
    }

    /// Forgets the records of repositories inside the work tree that the attempt could write. A person's work by hand is no
    /// attempt of an agent.
    pub fn forget_unproven(&self) -> Result<(), ProtectError> {
        if self.checkpoint.has_own_inventory {
            foreign_filters::forget(self.site)?;
            submodules::forget_links(self.site)?;
        }
        Ok(())
    }

    /// Says which repositories inside the work tree are as the attempt left them.
    pub async fn tell_unproven(&self, notices: &dyn Notices) -> Result<(), ProtectError> {
        if self.checkpoint.has_own_inventory {
            inner_git_files::tell_unproven(self.site, notices).await?;
        }
        Ok(())
    }

    /// Moves what git would wait for away from the rules in the work tree.
    pub fn clear_pipes(&self, notices: &dyn Notices) -> Result<(), ProtectError> {
        pipes::clear(self.site, self.checkpoint.since.into(), notices)
    }

    /// Reports the ignored files that the attempt deleted.
    pub fn tell_deleted(&self, notices: &dyn Notices) -> Result<(), ProtectError> {
        ignored_files::tell_deleted(self.site, notices)
    }

    /// Leaves the files that replaced exclude rules hid out of every reading, unless `known` has them.
    pub async fn leave_hidden_out(
        &self,
        known: &Savepoint,
        rules: &Path,
        notices: &dyn Notices,
    ) -> Result<(), ProtectError> {
        hidden_files::leave_out(self.site, known, rules, notices).await
    }
}
