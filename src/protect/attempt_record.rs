//! Records the state before an attempt, and uses the record once no process of the attempt is alive: repairs what would
//! stop git from running, and restores what was moved.

use std::path::PathBuf;

use super::records::Records;
use super::repository::{
    ControlFiles, UserRefs, access, linked_work_trees, locks, pipes as gits_pipes, stash_list, user_refs,
};
use super::tree::inner_git_files::{InnerGitFiles, PutBackIn};
use super::tree::{
    OwnPosition, Savepoint, damaged_index, foreign_filters, hidden_files, ignored_files, index_flags,
    inner_git_files, pipes, story_backup, submodules, users_index,
};
use super::{ProtectError, Site};
use crate::events::Notices;
use crate::fs::{Below, may_exist};
use crate::git::{GitError, Head};
use crate::names::Change;
use crate::stories::Source;

/// The name of an attempt as the subject of a message.
const ATTEMPT: &str = "the attempt";

/// The part of the record that decides what is run after the attempt, as this process holds it: what is in the loop's
/// directory, the attempt can write.
pub(crate) struct Held {
    control: ControlFiles,
    filters: foreign_filters::Known,
    inner: InnerGitFiles,
    submodules: submodules::Files,
}

/// The record of an attempt, in its slot.
pub(crate) struct AttemptRecord<'a> {
    /// The repository and the slot.
    pub site: Site<'a>,
    /// The change.
    pub change: &'a Change,
    /// HEAD as it must be.
    pub head: Head,
    /// The full name of the ref on which the checkpoints hang.
    pub tip: String,
    /// The checkpoint at the beginning of the attempt.
    pub checkpoint: Savepoint,
    /// The source of the stories.
    pub source: &'a Source,
    /// Name of the attempt's trash: story and number.
    pub name: String,
    /// True if no other loop of the repository runs: what was done to the repository is the attempt's doing.
    pub is_alone: bool,
}

impl AttemptRecord<'_> {
    /// Takes the record, and returns what has to be held of it, and the user's refs in it: those that are known, else
    /// git is asked for them during the one scan of the work tree.
    pub async fn take(&self, known: Option<UserRefs>) -> Result<(Held, UserRefs), ProtectError> {
        story_backup::take(self.site, self.source)?;
        let read_refs = async {
            match known {
                Some(known) => Ok(known),
                None => Ok(UserRefs::read(self.site.repo, self.change, self.has_branch()).await?),
            }
        };
        let ((), refs) = tokio::try_join!(ignored_files::record(self.site), read_refs)?;
        Records::of(self.site).settle_hidden()?;
        linked_work_trees::record(self.site)?;
        let held = Held {
            control: ControlFiles::save(self.site)?,
            filters: foreign_filters::known(self.site)?,
            inner: InnerGitFiles::read(self.site).await?,
            submodules: submodules::Files::read(self.site)?,
        };
        users_index::take(self.site)?;
        refs.record(self.site.slot)?;
        Ok((held, refs))
    }

    /// Tells if the checkpoints hang on the loop's own branch.
    fn has_branch(&self) -> bool {
        self.tip == self.change.branch_ref()
    }

    /// Repairs anything that would stop git from running: permissions, missing directories, control files, locks, the
    /// index. Returns whether control files had changed: values read from them before may have been the attempt's. `held`
    /// is missing if another process took the record.
    pub async fn repair(&self, held: Option<Held>, notices: &dyn Notices) -> Result<bool, ProtectError> {
        access::take_back(self.site, notices);
        let top = &self.site.repo.top;
        if !may_exist(top) {
            Below::new(top).make_dir(top, 0o777)?;
            notices.tell("the work tree was deleted; its directory is recreated".to_owned());
        }
        let changed = self.repair_gits_files(held, notices).await?;
        let removed = locks::remove_stale(self.site, self.change).await?;
        if changed {
            self.repair_index(notices).await?;
        } else {
            damaged_index::replace(self.site, &self.checkpoint, notices).await?;
        }
        users_index::put_back(self.site).await?;
        if removed > 0 {
            notices.tell("the attempt left locks in the repository; they are removed".to_owned());
        }
        linked_work_trees::tell_gone(self.site, notices)?;
        Ok(changed)
    }

    /// Reports the ignored files that an accepted attempt deleted. No process.
    pub fn tell_deleted(&self, notices: &dyn Notices) -> Result<(), ProtectError> {
        ignored_files::tell_deleted(self.site, notices)
    }

    /// Restores HEAD and the loop's branch if git cannot read them.
    async fn repair_position(&self, notices: &dyn Notices) -> Result<bool, ProtectError> {
        let own = OwnPosition {
            head: &self.head,
            tip: &self.tip,
            checkpoint: &self.checkpoint.commit,
            in_attempt: true,
        };
        own.repair(self.site, &self.control_trash(), notices).await
    }

    /// Repairs the repository after an attempt whose git-ralph died, so that git can run. Returns whether control files
    /// had changed.
    pub async fn repair_after_crash(&self, notices: &dyn Notices) -> Result<bool, ProtectError> {
        access::take_back(self.site, notices);
        gits_pipes::clear(self.site, notices)?;
        pipes::clear(self.site, self.checkpoint.since.into(), notices)?;
        let changed = self.repair_gits_files(None, notices).await?;
        // The attempt could write it. The user's work by hand is no attempt of an agent.
        if self.checkpoint.has_own_inventory {
            foreign_filters::forget(self.site)?;
            submodules::forget_links(self.site)?;
        }
        locks::remove_stale(self.site, self.change).await?;
        damaged_index::replace(self.site, &self.checkpoint, notices).await?;
        if self.checkpoint.has_own_inventory {
            inner_git_files::tell_unproven(self.site, notices).await?;
        }
        users_index::put_back(self.site).await?;
        Ok(changed)
    }

    /// Restores git's own files from the copy in the slot; returns whether any had changed. An agent's changes
    /// to them must not influence its own verdict.
    pub async fn repair_control_files(&self, notices: &dyn Notices) -> Result<bool, ProtectError> {
        let Some(before) = ControlFiles::load(self.site)? else {
            return Ok(false);
        };
        let changed = self
            .put_files_back(&before, &self.checkpoint, ATTEMPT, notices)
            .await?;
        ControlFiles::forget(self.site)?;
        Ok(changed)
    }

    /// Restores git's own files after `who`, which ran outside of an attempt's agent; then HEAD and the loop's branch if git
    /// cannot read them; and removes locks that no process holds. `known` has the files that no new rule hides. Returns
    /// whether git's own files had changed.
    pub async fn repair_after(
        &self,
        who: &str,
        before: &ControlFiles,
        known: &Savepoint,
        notices: &dyn Notices,
    ) -> Result<bool, ProtectError> {
        let changed = self.put_files_back(before, known, who, notices).await?;
        match locks::remove_stale(self.site, self.change).await {
            // What needs a lock that is held says so.
            Ok(0) | Err(ProtectError::Git(GitError::Locked(_))) => {}
            Ok(_) => notices.tell(format!(
                "locks were left in the repository during {who}; they are removed"
            )),
            Err(error) => return Err(error),
        }
        Ok(changed)
    }

    /// Restores git's own files after `who`, and then HEAD and the loop's branch if git cannot read them; returns whether
    /// git's own files had changed.
    async fn put_files_back(
        &self,
        before: &ControlFiles,
        known: &Savepoint,
        who: &str,
        notices: &dyn Notices,
    ) -> Result<bool, ProtectError> {
        let differed = before
            .put_back(self.site, who, &self.control_trash(), notices)
            .await?;
        self.repair_position(notices).await?;
        let changed = !differed.is_empty();
        let rules = ControlFiles::settle(self.site, differed, notices).await?;
        // What the rules hid stays out of every reading. Where another loop runs, they may be its own, and hide nothing.
        if self.is_alone
            && let Some(rules) = rules
        {
            hidden_files::leave_out(self.site, known, &rules, notices).await?;
        }
        before.show_whole_history(self.site, who, notices).await?;
        Ok(changed)
    }

    /// Restores git's own files, then HEAD and the loop's branch, before any git runs that reads the attempt's
    /// configuration; returns whether git's own files had changed. Without `held`, nothing that can run something is
    /// installed from the copy in the slot.
    async fn repair_gits_files(
        &self,
        held: Option<Held>,
        notices: &dyn Notices,
    ) -> Result<bool, ProtectError> {
        let (site, trash) = (self.site, self.control_trash());
        let (before, inner) = match held {
            Some(held) => {
                foreign_filters::write(site, &held.filters)?;
                held.submodules.write(site)?;
                (
                    Some(held.control),
                    held.inner.put_back(site, ATTEMPT, &trash, notices)?,
                )
            }
            None => (ControlFiles::load(site)?, PutBackIn::default()),
        };
        let Some(before) = before else {
            self.repair_position(notices).await?;
            return Ok(false);
        };
        let changed = self
            .put_files_back(&before, &self.checkpoint, ATTEMPT, notices)
            .await?;
        inner.settle(site).await?;
        ControlFiles::forget(site)?;
        Ok(changed)
    }

    /// Brings back files that an attempt excluded by a sparse checkout of its own, and repairs the index.
    pub async fn repair_index(&self, notices: &dyn Notices) -> Result<(), ProtectError> {
        damaged_index::replace(self.site, &self.checkpoint, notices).await?;
        index_flags::widen_sparse(self.site, &self.checkpoint, notices).await
    }

    /// Returns the directory for files found in place of git's own files.
    pub fn control_trash(&self) -> PathBuf {
        self.site.trash().join(format!("{}.git", self.name))
    }

    /// Forgets the record: the user's work is not compared with it.
    pub fn forget(&self) -> Result<(), ProtectError> {
        user_refs::forget(self.site.slot);
        stash_list::forget(self.site.slot)?;
        Records::of(self.site).settle_hidden()?;
        users_index::forget(self.site)?;
        ControlFiles::forget(self.site)?;
        story_backup::forget(self.site)
    }
}
