//! The stages of protection: records before an attempt, repairs and restores after it. Each stage calls all kinds in
//! order, those of the repository and those of the work tree.
//!
//! The record is used once no process of the attempt is alive: to repair faults that would stop git from running, and
//! to restore moved files and refs.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::records::Records;
use super::repository::{
    ControlFiles, RepositoryRecord, UserRefs, access, directories, linked_work_trees, packed_refs,
    pipes as gits_pipes, stash_list,
};
use super::tree::{
    HeldOfTree, InnerGitFiles, RepoLink, Return, Savepoint, damaged_index, foreign_filters, gate_files,
    hidden_files, ignored_files, index_flags, inner_git_files, make_top, pipes, story_backup, submodules,
};
use super::{ProtectError, Site};
use crate::git::Head;
use crate::git::index::Entries;
use crate::git::worktree::Reading;
use crate::names::Change;
use crate::slot::Slot;
use crate::stories::Source;

/// The name of an attempt as the subject of a message.
const ATTEMPT: &str = "the attempt";

/// The part of the record that decides which commands run after the attempt, in memory: the attempt could change the
/// files in the loop's directory.
pub(crate) struct Held {
    control: ControlFiles,
    tree: HeldOfTree,
}

/// Git's own files of the repository and of repositories inside the work tree, and the link to the repository, before
/// processes other than the agent run: gates, reviewers, hooks and trackers.
pub(crate) struct GitFiles {
    control: ControlFiles,
    inner: InnerGitFiles,
    link: RepoLink,
}

impl GitFiles {
    /// Reads the files.
    pub async fn before_command(site: Site<'_>) -> Result<Self, ProtectError> {
        Self::of(site, ControlFiles::read(site)?).await
    }

    /// Reads the files, and keeps a copy in case git-ralph is killed. `others` are the slots of the loops that run
    /// meanwhile.
    pub async fn before_gates(site: Site<'_>, others: &[Slot]) -> Result<Self, ProtectError> {
        Self::of(site, ControlFiles::save(site, others)?).await
    }

    async fn of(site: Site<'_>, control: ControlFiles) -> Result<Self, ProtectError> {
        Ok(Self {
            control,
            inner: InnerGitFiles::read(site).await?,
            link: site.repo_link()?,
        })
    }
}

/// The record of an attempt, in its slot.
pub(crate) struct AttemptRecord<'a> {
    /// The repository and the slot.
    pub site: Site<'a>,
    /// The change.
    pub change: &'a Change,
    /// The required HEAD.
    pub head: Head,
    /// The full name of the ref of the checkpoints.
    pub tip: String,
    /// The checkpoint at the beginning of the attempt.
    pub checkpoint: Savepoint<'a>,
    /// The source of the stories.
    pub source: &'a Source,
    /// Name of the attempt's trash: story and number.
    pub name: String,
    /// True if no other loop of the repository runs: changes to the repository are then the attempt's.
    pub is_alone: bool,
    /// The slots of the other loops that run.
    pub others: Vec<Slot>,
}

impl AttemptRecord<'_> {
    /// Takes the record, and returns the part to keep in memory, and the user's refs: the `known` ones, else those that
    /// git lists during the one scan of the work tree.
    pub async fn before_attempt(&self, known: Option<UserRefs>) -> Result<(Held, UserRefs), ProtectError> {
        let repository = self.repository();
        story_backup::take(self.site, self.source)?;
        let ((), refs) = tokio::try_join!(ignored_files::record(self.site), repository.refs(known))?;
        Records::of(self.site).settle_hidden()?;
        let held = Held {
            control: repository.take(&self.others)?,
            tree: HeldOfTree::take(self.site).await?,
        };
        refs.record(self.site.slot)?;
        Ok((held, refs))
    }

    /// Returns the part of the record that all work trees share.
    fn repository(&self) -> RepositoryRecord<'_> {
        RepositoryRecord {
            site: self.site,
            change: self.change,
            has_branch: self.tip == self.change.branch_ref(),
            since: self.checkpoint.since.into(),
        }
    }

    /// Restores HEAD, its branch and the loop's tip if git cannot read them.
    async fn repair_own_position(&self) -> Result<bool, ProtectError> {
        let (site, trash) = (self.site, self.control_trash());
        packed_refs::repair(site, &trash)?;
        let tip = (self.tip.as_str(), &self.checkpoint.commit);
        site.repair_position(&self.head, tip, true, &trash).await
    }

    /// Repairs anything that would stop git from running: permissions, missing directories, control files, locks, the
    /// index. Returns whether control files had changed: values read from them before may have been the attempt's. `held`
    /// is missing if another process took the record.
    pub async fn after_attempt(&self, held: Option<&Held>) -> Result<bool, ProtectError> {
        access::take_back(self.site);
        make_top(self.site)?;
        let changed = self.repair_gits_files(held).await?;
        let removed = self.repository().remove_stale_locks().await?;
        if changed {
            self.repair_index().await?;
        } else {
            damaged_index::replace(&self.checkpoint).await?;
        }
        self.site.put_users_index_back().await?;
        if removed > 0 {
            self.site
                .tell("the attempt left locks in the repository; they are removed".to_owned());
        }
        Ok(changed)
    }

    /// Returns the linked work trees that are gone since the attempt began.
    pub fn gone_work_trees(&self) -> Result<Vec<PathBuf>, ProtectError> {
        Ok(linked_work_trees::gone(self.site)?)
    }

    /// Records git's own files again before another round of the attempt: they were put back after the last one, but for
    /// settings that run nothing.
    pub fn before_round(&self, held: &mut Held) -> Result<(), ProtectError> {
        held.control = ControlFiles::save(self.site, &self.others)?;
        Ok(())
    }

    /// Repairs the repository after an attempt whose git-ralph died, so that git can run. Returns whether control files
    /// had changed.
    pub async fn after_crash(&self) -> Result<bool, ProtectError> {
        let site = self.site;
        access::take_back(site);
        gits_pipes::clear(site)?;
        directories::restore(site)?;
        pipes::clear(site, self.checkpoint.since.into())?;
        let changed = self.repair_gits_files(None).await?;
        // The user's own work is no attempt of an agent.
        let by_agent = self.checkpoint.has_own_inventory;
        if by_agent {
            foreign_filters::forget(site)?;
            submodules::forget_links(site)?;
        }
        self.repository().remove_stale_locks().await?;
        damaged_index::replace(&self.checkpoint).await?;
        if by_agent {
            inner_git_files::tell_unproven(site).await?;
        }
        site.put_users_index_back().await?;
        Ok(changed)
    }

    /// Restores git's own files from the copy in the slot; returns whether any had changed. An agent's changes to them
    /// must not influence its own verdict.
    pub async fn repair_control_files(&self) -> Result<bool, ProtectError> {
        let Some(before) = ControlFiles::load(self.site)? else {
            return Ok(false);
        };
        let changed = self.put_files_back(&before, &self.checkpoint, ATTEMPT).await?;
        ControlFiles::forget(self.site)?;
        Ok(changed)
    }

    /// Undoes the changes of `who`, which is no agent, to git's own files and those of repositories inside the work
    /// tree; then restores HEAD and the loop's branch if git cannot read them; and removes locks that no process holds.
    /// `known` is the tree whose files no new rule hides. Returns whether git's own files had changed.
    pub async fn after_command(
        &self,
        who: &str,
        before: &GitFiles,
        known: &Savepoint<'_>,
    ) -> Result<bool, ProtectError> {
        let (site, trash) = (self.site, self.control_trash());
        before.link.restore(site)?;
        let inner = before.inner.put_back(site, who, &trash)?;
        let changed = self.put_files_back(&before.control, known, who).await?;
        self.repository().remove_stale_locks_of(who).await?;
        InnerGitFiles::settle(site, inner).await?;
        ControlFiles::forget(site)?;
        Ok(changed)
    }

    /// Undoes changes of parallel attempts to the files that they share: an attempt that began meanwhile would record
    /// them as the original state. Returns whether git's own files had changed.
    pub async fn while_attempts_run(&self, before: &GitFiles) -> Result<bool, ProtectError> {
        let who = "the attempts";
        before.link.restore(self.site)?;
        let inner = before.inner.put_back(self.site, who, &self.control_trash())?;
        InnerGitFiles::settle(self.site, inner).await?;
        if !before.control.differ(self.site).await? {
            return Ok(false);
        }
        self.put_files_back(&before.control, &self.checkpoint, who).await
    }

    /// Restores git's own files after `who`, and then HEAD and the loop's branch if git cannot read them; returns whether
    /// git's own files had changed.
    async fn put_files_back(
        &self,
        before: &ControlFiles,
        known: &Savepoint<'_>,
        who: &str,
    ) -> Result<bool, ProtectError> {
        // All loops of a repository restore the same files.
        let _turn = if self.is_alone {
            None
        } else {
            ControlFiles::turn(self.site).await
        };
        let differed = before.put_back(self.site, who, &self.control_trash()).await?;
        self.repair_own_position().await?;
        let changed = !differed.is_empty();
        let rules = ControlFiles::settle(self.site, differed).await?;
        // Files hidden by the rules stay out of every reading, unless the rules may be another running loop's.
        if self.is_alone
            && let Some(rules) = rules
        {
            hidden_files::leave_out(known, &rules).await?;
        }
        before.show_whole_history(self.site, who).await?;
        Ok(changed)
    }

    /// Restores git's own files, then HEAD and the loop's branch, before any git runs that reads the attempt's
    /// configuration; returns whether git's own files had changed. Without `held`, nothing that can run something is
    /// installed from the copy in the slot.
    async fn repair_gits_files(&self, held: Option<&Held>) -> Result<bool, ProtectError> {
        let (site, trash) = (self.site, self.control_trash());
        let copy;
        let (before, inner) = match held {
            Some(held) => {
                let inner = held.tree.put_back(site, ATTEMPT, &trash)?;
                (Some(&held.control), Some(inner))
            }
            None => {
                copy = ControlFiles::load(site)?;
                (copy.as_ref(), None)
            }
        };
        let Some(before) = before else {
            self.repair_own_position().await?;
            return Ok(false);
        };
        let changed = self.put_files_back(before, &self.checkpoint, ATTEMPT).await?;
        if let Some(inner) = inner {
            InnerGitFiles::settle(site, inner).await?;
        }
        ControlFiles::forget(site)?;
        Ok(changed)
    }

    /// Replaces the index if it is damaged, and brings back files that the attempt excluded by a sparse checkout of its
    /// own.
    pub async fn repair_index(&self) -> Result<(), ProtectError> {
        damaged_index::replace(&self.checkpoint).await?;
        index_flags::widen_sparse(&self.checkpoint).await
    }

    /// Returns the trash directory for files that replaced git's own files.
    fn control_trash(&self) -> PathBuf {
        self.site.trash().join(format!("{}.git", self.name))
    }

    /// Forgets the record: the user's later work is not compared with it.
    pub fn forget(&self) -> Result<(), ProtectError> {
        UserRefs::forget(self.site.slot);
        stash_list::forget(self.site.slot)?;
        Records::of(self.site).settle_hidden()?;
        ControlFiles::forget(self.site)?;
        self.site.forget_attempt()
    }
}

impl Site<'_> {
    /// Restores the directories that git needs, as [`directories::restore`] does.
    pub fn restore_directories(self) -> Result<bool, ProtectError> {
        Ok(directories::restore(self)?)
    }

    /// Records what git does not store when a loop begins with the index of `work`, which has the flags `entries`.
    pub async fn begin_loop(self, work: &Path, entries: &Entries) -> Result<(), ProtectError> {
        self.begin_records(work, entries).await?;
        self.begin_exact_bytes(work).await
    }

    /// Forgets the records of files that the checkpoint of an attempt has: a remaining copy of the story list would
    /// overwrite the checkpoint's list.
    pub fn forget_attempt(self) -> Result<(), ProtectError> {
        story_backup::forget(self)?;
        self.forget_users_index()
    }
}

impl Savepoint<'_> {
    /// Installs the working index, and records the work tree, at the first checkpoint of a loop.
    pub async fn at_first_checkpoint(&self) -> Result<(), ProtectError> {
        Self::install_working_index(self.site).await?;
        self.record_start().await
    }

    /// Installs the working index, and records the work tree, at a later checkpoint; `since` is the beginning of the loop.
    pub async fn at_checkpoint(&self, since: Timestamp) -> Result<(), ProtectError> {
        self.site.put_users_index_back().await?;
        Self::install_working_index(self.site).await?;
        self.record(since).await
    }

    /// Goes back to this checkpoint after an attempt, as [`Savepoint::go_to`] does, and undoes the attempt's changes
    /// outside of a savepoint. `is_known` is true if this process has known the `source` of the stories since before
    /// the attempt.
    pub async fn on_return(
        &self,
        now: Option<Reading>,
        (trash, kept): (&Path, &str),
        (source, is_known): (&Source, bool),
    ) -> Result<Return, ProtectError> {
        let went = self.go_to(now, trash, kept).await?;
        gate_files::restore(self, trash).await?;
        story_backup::put_back(self, (source, is_known))?;
        UserRefs::forget(self.site.slot);
        self.site.put_users_index_back().await?;
        self.site.forget_users_index()?;
        Ok(went)
    }

    /// Moves files that no commit keeps out of a work tree before its removal: files that git would write differently
    /// to the directory `bytes`, and those that only gates made to `trash`.
    pub async fn before_removal(&self, bytes: &Path, trash: &Path) -> Result<(), ProtectError> {
        self.site.keep_before_removal(bytes).await?;
        gate_files::put_away(self, trash)
    }
}
