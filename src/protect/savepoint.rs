//! A state that the work tree can be restored to: the last checkpoint, or the beginning of the loop. Only differing
//! paths are touched; files that git does not store go to the trash.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use jiff::Timestamp;

use super::exact_bytes::{self, ExactBytes};
use super::fresh_times::Times;
use super::ignored_files::Gone;
use super::inner_repositories;
use super::moment::Moment;
use super::records::Records;
use super::scan;
use super::stat_changes::{is_untouched_since, touched_between, touched_in_same_second, tracked_directories};
use super::trash::put_away;
use super::{
    ProtectError, Site, control_files, ignored_files, index_flags, permissions, submodules, unlisted_files,
};
use crate::events::Notices;
use crate::fs::make_accessible;
use crate::git::index::{self, Entries};
use crate::git::index_file::IndexFile;
use crate::git::worktree::{Count, Reading, Whose};
use crate::names::Oid;
use crate::paths::first_few;

/// Differing paths, with git's status letters.
type Changes = Vec<(u8, Vec<u8>)>;

/// Number of times that the work tree may change while it is being restored.
const TURNS: usize = 4;

/// A state that the work tree can be restored to.
#[derive(Clone, Debug)]
pub(crate) struct Savepoint {
    /// Its tree.
    pub tree: Oid,
    /// The commit with that tree.
    pub commit: Oid,
    /// Its kind, which names its records.
    pub moment: Moment,
    /// The user's nested repositories, which are left alone; relative to the top.
    pub nested: Vec<Vec<u8>>,
    /// The beginning of the work that would be undone.
    pub since: Timestamp,
    /// True if an inventory was taken before that work: none is taken when a person starts to work.
    pub has_own_inventory: bool,
}

/// The result of going back to a savepoint.
#[derive(Debug)]
pub(crate) struct Return {
    /// The paths that were touched since that state, or on the way back.
    pub touched: Vec<Vec<u8>>,
    /// Untracked paths that could not be restored.
    pub lost: Vec<Vec<u8>>,
}

impl Savepoint {
    /// Returns the index that describes it.
    pub fn index(&self, site: Site<'_>) -> PathBuf {
        site.file(match self.moment {
            Moment::Start => "start.index",
            Moment::Checkpoint => "checkpoint.index",
        })
    }

    /// Records what git does not store when a loop begins. `index` is the user's, with the flags `entries`; this does
    /// not wait until the work tree has been read. One scan of the directories and one `lstat` for each file.
    ///
    /// # Errors
    /// If something cannot be read or written.
    pub async fn begin_records(site: Site<'_>, index: &Path, entries: &Entries) -> Result<(), ProtectError> {
        scan::begin(site, index, entries).await?;
        Ok(inner_repositories::record(site, Moment::Start, index)?)
    }

    /// Records the bytes that git would not reproduce when a loop begins; `index` describes the work tree.
    ///
    /// # Errors
    /// If a file cannot be read or copied.
    pub async fn begin_exact_bytes(site: Site<'_>, index: &Path) -> Result<(), ProtectError> {
        ExactBytes::begin(site, index).await
    }

    /// Records indexes and submodules when the first checkpoint is made, with its index in place.
    ///
    /// # Errors
    /// If something cannot be read or written.
    pub async fn record_start(&self, site: Site<'_>) -> Result<(), ProtectError> {
        self.remember_index(site)?;
        index::copy(&site.repo.index(), &site.file("start.index"))?;
        submodules::record_start(site).await
    }

    /// Records the paths that a story touched, with the index of its checkpoint in place; `since` is the beginning of
    /// the loop.
    ///
    /// # Errors
    /// If something cannot be read or written.
    pub async fn record(&self, site: Site<'_>, since: Timestamp) -> Result<(), ProtectError> {
        let repo = site.repo;
        let index = repo.index();
        let (was, now) = (self.read_index(site), repo.read_index(&index).unwrap_or_default());
        let mut touched = touched_between(&was, &now);
        touched.extend(touched_in_same_second(repo, &now, since));
        if !touched.is_empty() {
            self.record_touched(site, &index, &now, &touched).await?;
            let records = Records::of(site);
            if !records.sparse(Moment::Checkpoint)?.is_empty() {
                let sparse = repo.index_entries(&index).await?.sparse;
                records.record_sparse(sparse)?;
            }
        }
        self.remember_index(site)?;
        submodules::record(site).await
    }

    /// Records permissions and exact bytes of paths that a person touched since the checkpoint in a way that git would
    /// not see: an attempt must not take that along. The working index describes the work tree.
    ///
    /// # Errors
    /// If something cannot be read or written.
    pub async fn record_unseen_edits(&self, site: Site<'_>, since: Timestamp) -> Result<(), ProtectError> {
        let work = site.work_index();
        let (known, now) = (
            self.read_index(site),
            site.repo.read_index(&work).unwrap_or_default(),
        );
        let mut touched = touched_between(&known, &now);
        touched.extend(touched_in_same_second(site.repo, &known, since));
        self.record_touched(site, &work, &now, &touched).await
    }

    async fn record_touched(
        &self,
        site: Site<'_>,
        index: &Path,
        file: &IndexFile,
        touched: &[Vec<u8>],
    ) -> Result<(), ProtectError> {
        Records::of(site).record_modes(touched)?;
        ExactBytes::of(site, self.moment)
            .record(site, index, file, touched)
            .await
    }

    /// Reads the copy of the index; it is empty if it cannot be read.
    fn read_index(&self, site: Site<'_>) -> Arc<IndexFile> {
        site.repo.read_index(&self.index(site)).unwrap_or_default()
    }

    /// Keeps a copy of the present index, to find later changes.
    fn remember_index(&self, site: Site<'_>) -> Result<(), ProtectError> {
        index::copy(&site.repo.index(), &self.index(site))?;
        Ok(())
    }

    /// Returns whether index and work tree are certainly as they were when the savepoint was recorded; `false` means
    /// only that they may differ. One `lstat` for each file and one scan.
    ///
    /// # Errors
    /// If git cannot read the work tree.
    pub async fn is_as_left(&self, site: Site<'_>) -> Result<bool, ProtectError> {
        let (repo, saved, tree) = (site.repo.clone(), self.index(site), self.tree.clone());
        let looked = tokio::task::spawn_blocking(move || is_untouched_since(&repo, &saved, &tree));
        // Each takes as long as there are files.
        let (is_untouched, is_as_indexed) = tokio::join!(looked, site.repo.is_as_indexed(&self.nested));
        Ok(is_untouched.unwrap_or(false) && is_as_indexed?)
    }

    /// Makes the private index that a step works with: a copy of the real one without flags that hide files.
    ///
    /// # Errors
    /// If git cannot make it.
    pub async fn working_index(
        &self,
        site: Site<'_>,
        notices: &mut dyn Notices,
    ) -> Result<PathBuf, ProtectError> {
        let (work, repo) = (site.work_index(), site.repo);
        control_files::mend_index(site, self, notices).await?;
        let made = repo
            .private_index(&repo.index(), &work, Some(&self.commit))
            .await?;
        let records = Records::of(site);
        let mut hidden = made.entries.hidden();
        hidden.extend(records.newly_sparse(made.entries.sparse)?);
        repo.show_paths(&work, &hidden).await?;
        if !made.sound {
            let sparse = records.sparse(Moment::Checkpoint)?;
            repo.hide_paths(&work, &[], &sparse).await?;
            // Other git commands read the real one too.
            repo.install_index(&work).await?;
            notices.tell("the index was missing or damaged: made anew from the checkpoint".to_owned());
        }
        Ok(work)
    }

    /// Finds a submodule with uncommitted changes. A missing index is made first, so that git can find out.
    ///
    /// # Errors
    /// If git cannot find out.
    pub async fn dirty_submodule(
        &self,
        site: Site<'_>,
        notices: &mut dyn Notices,
    ) -> Result<Option<String>, ProtectError> {
        if !submodules::is_any(site) {
            return Ok(None);
        }
        self.working_index(site, notices).await?;
        let dirty = site.repo.dirty_submodule().await?;
        Ok(dirty.map(|path| String::from_utf8_lossy(&path).into_owned()))
    }

    /// Reads the present work tree into the working index, and compares it with the savepoint. One scan.
    ///
    /// # Errors
    /// If something can be neither read nor stored.
    pub async fn read(
        &self,
        site: Site<'_>,
        count: Count,
        notices: &mut dyn Notices,
    ) -> Result<Reading, ProtectError> {
        let work = self.working_index(site, notices).await?;
        let whose = Whose::Loops { nested: &self.nested };
        let known = self.index(site);
        let reading = site
            .repo
            .read_work_tree(&work, &self.tree, Some(&known), whose, count)
            .await?;
        ignored_files::leave_out(site, &work, reading, notices).await
    }

    /// Puts the working index in place of the real one.
    ///
    /// # Errors
    /// If it cannot be written.
    pub async fn install_working_index(site: Site<'_>) -> Result<(), ProtectError> {
        let work = site.work_index();
        if work.exists() {
            site.repo.install_index(&work).await?;
            index::discard(&work)?;
        }
        Ok(())
    }

    /// Goes back to this state: submodules, files, index, and what git does not store. `now` is the work tree if the
    /// working index was just read from it. Removed files go to the directory `trash`; the content of submodules is
    /// kept under the ref `kept`. Paths that could not be restored are reported.
    ///
    /// # Errors
    /// If the work tree keeps changing, or something cannot be restored. A second call continues.
    pub async fn go_to(
        &self,
        site: Site<'_>,
        now: Option<Reading>,
        trash: &Path,
        kept: &str,
        notices: &mut dyn Notices,
    ) -> Result<Return, ProtectError> {
        // A failed attempt is kept, and so read, before it is undone.
        let is_unread = self.moment == Moment::Start || now.is_none();
        let is_other = is_unread && self.rename_back(site, notices)?;
        let now = if self.put_back_submodules(site, kept, trash, notices).await? || is_other {
            None
        } else {
            now
        };
        let mut times = Times::default();
        let mut touched = self.converge(site, now, trash, &mut times, notices).await?;
        Self::install_working_index(site).await?;
        let gone = self.put_back_unversioned(site, &touched, times, notices).await?;
        let lost = gone.tell(trash, notices);
        touched.extend(gone.all);
        touched.extend(inner_repositories::clear(site, self.moment, trash, notices)?);
        Records::of(site).forget_just_hidden()?;
        Ok(Return { touched, lost })
    }

    /// Restores what git does not store. Called with the savepoint's index in place.
    async fn put_back_unversioned(
        &self,
        site: Site<'_>,
        touched: &[Vec<u8>],
        times: Times,
        notices: &mut dyn Notices,
    ) -> Result<Gone, ProtectError> {
        let repo = site.repo;
        let records = Records::of(site);
        let gone = records.put_back_ignored(self.moment)?;
        records.put_back_directories()?;
        let exact = ExactBytes::of(site, self.moment);
        let mut written = exact.restore(&repo.top, touched)?;
        // If the record is lost, nobody knows which files had other bytes than git would write.
        if records.knows_modes(self.moment) {
            match exact.restore_as_git_writes(site, &repo.index(), touched).await {
                Err(ProtectError::Git(error)) => notices.tell(format!(
                    "git cannot convert files as it should, so what it does not see in them stays: {error}"
                )),
                others => written.extend(others?),
            }
        }
        let distinct = times.make_distinct(&repo.top);
        if !written.is_empty() || !distinct.is_empty() {
            let work = site.work_index();
            index::copy(&repo.index(), &work)?;
            if !written.is_empty() || !repo.note_times(&work, &distinct)? {
                // Git takes a file of another size for changed until it has read it again.
                written.extend(distinct);
                repo.update_index(&work, &["--add"], &written).await?;
            }
            Self::install_working_index(site).await?;
        }
        let tracked = tracked_directories(repo, &repo.index());
        let empty = records.empty_directories()?;
        let dirs: Vec<&[u8]> = tracked.iter().chain(&empty).map(Vec::as_slice).collect();
        records.restore_modes(self.moment, touched, &dirs)?;
        // On the way back to the beginning of the loop, the user's own index is installed later.
        if self.moment == Moment::Checkpoint {
            self.remember_index(site)?;
        }
        Ok(gone)
    }

    /// Restores the files to this state, touching only what differs, until nothing changes any more.
    async fn converge(
        &self,
        site: Site<'_>,
        mut now: Option<Reading>,
        trash: &Path,
        times: &mut Times,
        notices: &mut dyn Notices,
    ) -> Result<Vec<Vec<u8>>, ProtectError> {
        let (repo, work, known) = (site.repo, site.work_index(), self.index(site));
        let (mut touched, mut changed, mut added) = (Vec::new(), Vec::new(), Vec::new());
        let mut refused = None;
        for turn in 0..TURNS {
            let mut now = match now.take() {
                Some(now) => now,
                None => self.read(site, Count::Nothing, notices).await?,
            };
            let was = self.read_index(site);
            touched.extend(touched_between(&was, &repo.read_index(&work).unwrap_or_default()));
            touched.extend(touched_in_same_second(repo, &was, self.since));
            if turn == 0 {
                exact_bytes::keep_in_trash(site, &work, &touched, trash, notices).await?;
            }
            let changes = match now.changes.take() {
                Some(changes) if now.nested.is_empty() && now.base == self.tree => changes,
                _ => repo.git.diff_trees(&self.tree, &now.tree).await?,
            };
            times.note(
                &repo.top,
                touched.iter().chain(changes.iter().map(|(_, path)| path)),
            );
            let came = changes.iter().filter(|(status, _)| *status == b'A');
            added.extend(came.map(|(_, path)| path.clone()));
            let seen = changes.clone();
            // If a file changed meanwhile, none is changed; the next turn sees it.
            let done = match self.restore_rules(site, &changes).await? {
                Some(tree) => {
                    let changes = repo.git.diff_trees(&self.tree, &tree).await?;
                    self.clear_the_way(site, &changes, trash, notices)?;
                    repo.switch_work_tree(&work, &tree, &self.tree)
                        .await
                        .map(|()| true)
                }
                None => {
                    let (tree, changes) = self.leave_ignored(site, now, changes).await?;
                    self.clear_the_way(site, &changes, trash, notices)?;
                    if turn == 0 && repo.held_tree(&known).as_ref() == Some(&self.tree) {
                        let restored = repo.restore_changes(&work, &known, &changes);
                        restored.await
                    } else {
                        repo.switch_work_tree(&work, &tree, &self.tree)
                            .await
                            .map(|()| true)
                    }
                }
            };
            if !matches!(done, Ok(true)) {
                refused = done.err().map(|error| error.to_string());
                // The switch names no file; the one that is being written is the one that prevents it.
                changed = repo.not_as_read(&work, &seen).unwrap_or_default();
                permissions::open_directories(site, &known);
                make_accessible(&repo.top);
                continue;
            }
            let before = self.known_before(site)?;
            let since = SystemTime::from(self.since);
            for path in unlisted_files::made_since(site, &work, &before, since) {
                put_away(site, &self.nested, &path, trash)?;
            }
            let left = repo.differences(&work).await?;
            self.clear_leftovers(site, &left.untracked, &work, &added, trash, notices)
                .await?;
            changed = left.changed;
            if changed.is_empty() {
                index_flags::narrow_sparse(site, self.moment, &work).await?;
                return Ok(touched);
            }
        }
        Err(match refused {
            // Nothing was written meanwhile: the system refuses.
            Some(words) if changed.is_empty() => ProtectError::Blocked(words),
            _ => ProtectError::Restless(first_few(&changed)),
        })
    }

    /// Restores ignore and attribute rules first, if the attempt changed any: they decide which files belong to whom,
    /// and a file's content. The working index is then the savepoint's, and paths that it lacks are left for the trash.
    /// Returns the tree of the tracked files.
    async fn restore_rules(&self, site: Site<'_>, changes: &Changes) -> Result<Option<Oid>, ProtectError> {
        let (repo, work) = (site.repo, site.work_index());
        let mut rules = changes.clone();
        rules.retain(|(_, path)| is_rules(path));
        if rules.is_empty() {
            return Ok(None);
        }
        repo.restore_files(&site.file("rules.index"), &self.tree, &rules)
            .await?;
        repo.private_index(&self.index(site), &work, Some(&self.commit))
            .await?;
        Ok(Some(repo.read_tracked(&work).await?))
    }

    /// Removes paths from the working index that the savepoint's ignore rules match, or that were untracked then, and
    /// that the savepoint lacks: an agent may have force-added the user's files.
    async fn leave_ignored(
        &self,
        site: Site<'_>,
        now: Reading,
        mut changes: Changes,
    ) -> Result<(Oid, Changes), ProtectError> {
        let (repo, work) = (site.repo, site.work_index());
        let added = changes.iter().filter(|(status, _)| *status == b'A');
        let added: Vec<Vec<u8>> = added.map(|(_, path)| path.clone()).collect();
        let known = self.known_before(site)?;
        // The attempt removed the rule that hid the path.
        let (was_there, mut added): (Vec<_>, Vec<_>) =
            added.into_iter().partition(|path| known.holds_back(path));
        if now.nested.is_empty() && !added.is_empty() {
            // git-ralph added all paths that the attempt's own index lacks, and it leaves ignored files out.
            let file = repo.read_index(&repo.index()).unwrap_or_default();
            if let Some(its) = file.index() {
                added.retain(|path| its.find(path).is_some());
            }
        }
        let mut ignored = repo.ignored_among(&work, &added).await?;
        ignored.extend(was_there);
        if ignored.is_empty() {
            return Ok((now.tree, changes));
        }
        repo.update_index(&work, &["--force-remove"], &ignored).await?;
        let ignored: HashSet<Vec<u8>> = ignored.into_iter().collect();
        changes.retain(|(_, path)| !ignored.contains(path));
        Ok((repo.git.write_tree(&work).await?, changes))
    }

    /// Moves paths to the trash that are in the way of the savepoint's and that git does not know (ignored files, files
    /// under a rule that the attempt added): git would not overwrite them. `changes` lists the differences between the
    /// work tree and the savepoint.
    fn clear_the_way(
        &self,
        site: Site<'_>,
        changes: &Changes,
        trash: &Path,
        notices: &mut dyn Notices,
    ) -> Result<(), ProtectError> {
        let goes = |path: &[u8]| {
            changes
                .iter()
                .any(|(status, gone)| *status == b'A' && gone == path)
        };
        for (_, path) in changes.iter().filter(|(status, _)| *status == b'D') {
            if let Some(in_the_way) = site.repo.first_in_the_way(path)
                && !goes(&in_the_way)
            {
                self.clear_out_of_the_way(site, &in_the_way, trash, notices)?;
            }
        }
        Ok(())
    }
}

fn is_rules(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    name == b".gitignore" || name == b".gitattributes"
}
