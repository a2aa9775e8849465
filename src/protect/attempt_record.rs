//! The record of the moment before an attempt, and what is done with it when no process of the attempt is alive: repair
//! what would stop git from running, and say what was moved.

use std::fs;
use std::path::PathBuf;

use super::records::Records;
use super::{
    Holder, OwnPosition, ProtectError, Savepoint, Site, UserRefs, control_files, ignored_files, index_flags,
    locks, permissions, story_backup, user_refs,
};
use crate::events::Notices;
use crate::fs::file_error;
use crate::names::Change;
use crate::stories::Source;

/// Who an attempt is, as the subject of a message.
const ATTEMPT: &str = "the attempt";

/// The record of an attempt, in the loop's directory.
pub(crate) struct AttemptRecord<'a> {
    /// Where.
    pub site: Site<'a>,
    /// The change.
    pub change: &'a Change,
    /// The checkpoint that the attempt begins upon.
    pub checkpoint: Savepoint,
    /// Where the stories are.
    pub source: &'a Source,
    /// The name of its trash: story and number.
    pub name: String,
}

impl AttemptRecord<'_> {
    /// Takes the record. One scan of the work tree.
    ///
    /// # Errors
    /// When something cannot be read, or the record cannot be written.
    pub async fn take(&self, refs: &UserRefs) -> Result<(), ProtectError> {
        story_backup::take(self.site, self.source)?;
        ignored_files::record(self.site).await?;
        Records::of(self.site).settle_hidden()?;
        control_files::save(self.site)?;
        refs.record(self.site.dir)
    }

    /// Repairs what would stop git from running: permissions, missing directories, control files, locks, the index.
    /// Returns whether control files had changed: what was read of them before may have been the attempt's.
    ///
    /// # Errors
    /// When something cannot be repaired.
    pub async fn repair(&self, notices: &mut dyn Notices) -> Result<bool, ProtectError> {
        permissions::take_back(self.site, notices);
        let top = &self.site.repo.top;
        if !top.exists() {
            fs::create_dir_all(top).map_err(|source| file_error("make", top, source))?;
            notices.tell("the work tree was deleted; its directory is made anew".to_owned());
        }
        let attempts = self.site.file("attempts");
        if !attempts.exists() {
            for dir in [attempts, self.site.trash()] {
                fs::create_dir_all(&dir).map_err(|source| file_error("make", &dir, source))?;
            }
            notices.tell("the loop's directory below .git was deleted; it is made anew".to_owned());
        }
        self.mend_position(notices).await?;
        let changed = self.repair_control_files(notices).await?;
        let removed = locks::remove_stale(self.site, self.change, Holder::Ended).await?;
        if changed {
            self.repair_index(notices).await?;
        } else {
            control_files::mend_index(self.site, &self.checkpoint, notices).await?;
        }
        if removed > 0 {
            notices.tell("the attempt left locks in the repository; they are removed".to_owned());
        }
        Ok(changed)
    }

    /// Writes HEAD and the loop's branch again where git cannot read them.
    async fn mend_position(&self, notices: &mut dyn Notices) -> Result<bool, ProtectError> {
        let own = OwnPosition {
            change: self.change,
            checkpoint: &self.checkpoint.commit,
            in_attempt: true,
        };
        own.mend(self.site, &self.control_trash(), notices).await
    }

    /// Repairs what an attempt whose git-ralph died left, so that git can run. Returns whether control files had
    /// changed.
    ///
    /// # Errors
    /// As [`AttemptRecord::repair`].
    pub async fn repair_after_crash(&self, notices: &mut dyn Notices) -> Result<bool, ProtectError> {
        permissions::take_back(self.site, notices);
        self.mend_position(notices).await?;
        let changed = self.repair_control_files(notices).await?;
        locks::remove_stale(self.site, self.change, Holder::Ended).await?;
        control_files::mend_index(self.site, &self.checkpoint, notices).await?;
        Ok(changed)
    }

    /// Puts git's own files back; returns whether any had changed. What an agent made of them must not decide how it is
    /// judged.
    ///
    /// # Errors
    /// When a file cannot be moved or written.
    pub async fn repair_control_files(&self, notices: &mut dyn Notices) -> Result<bool, ProtectError> {
        let Some(before) = control_files::load(self.site)? else {
            return Ok(false);
        };
        let trash = self.control_trash();
        let changed = before
            .restore(self.site, &self.checkpoint, ATTEMPT, &trash, notices)
            .await?;
        control_files::forget(self.site)?;
        Ok(changed)
    }

    /// Brings back what an attempt put outside a sparse checkout of its own, and repairs the index.
    ///
    /// # Errors
    /// When git fails.
    pub async fn repair_index(&self, notices: &mut dyn Notices) -> Result<(), ProtectError> {
        control_files::mend_index(self.site, &self.checkpoint, notices).await?;
        index_flags::widen_sparse(self.site, &self.checkpoint, notices).await
    }

    /// Returns the directory for what stood in place of git's own files.
    pub fn control_trash(&self) -> PathBuf {
        self.site.trash().join(format!("{}.git", self.name))
    }

    /// Forgets the record: what a person does is not measured by it.
    ///
    /// # Errors
    /// When a file of it cannot be removed.
    pub fn forget(&self) -> Result<(), ProtectError> {
        user_refs::forget(self.site.dir);
        control_files::forget(self.site)?;
        story_backup::forget(self.site)
    }
}
