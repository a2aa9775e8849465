//! Goes back to a savepoint. Only differing paths are touched; files that git does not store go to the trash.

use std::collections::HashSet;
use std::path::Path;
use std::time::SystemTime;

use super::Savepoint;
use crate::fs::{Below, is_there, path_below};
use crate::git::worktree::{Count, Reading};
use crate::git::{GitError, StagedEntry, added_in};
use crate::names::Oid;
use crate::paths::first_few;
use crate::protect::records::Records;
use crate::protect::trash::put_away;
use crate::protect::tree::exact_bytes::{self, ExactBytes};
use crate::protect::tree::fresh_times::Times;
use crate::protect::tree::ignored_files::Gone;
use crate::protect::tree::moment::Moment;
use crate::protect::tree::stat_changes::{touched_between, touched_in_same_second, tracked_directories};
use crate::protect::tree::{index_flags, inner_repositories, unlisted_files};
use crate::protect::{ProtectError, Site};

/// Differing paths, with git's status letters.
type Changes = Vec<(u8, Vec<u8>)>;

/// Number of times that the work tree may change while it is being restored.
const TURNS: usize = 4;

/// The result of going back to a savepoint.
#[derive(Debug)]
pub(crate) struct Return {
    /// The paths that were touched since that state, or on the way back.
    pub touched: Vec<Vec<u8>>,
    /// Untracked paths that could not be restored.
    pub lost: Vec<Vec<u8>>,
}

impl Savepoint<'_> {
    /// Goes back to this state: submodules, files, index, and data that git does not store. `now` is the present tree
    /// if the working index was just read from it. Removed files go to the directory `trash`; the content of submodules
    /// is kept under the ref `kept`. Paths that could not be restored are reported.
    pub async fn go_to(
        &self,
        now: Option<Reading>,
        trash: &Path,
        kept: &str,
    ) -> Result<Return, ProtectError> {
        // A failed attempt is kept, and therefore read, before it is undone.
        let is_unread = self.moment == Moment::Start || now.is_none();
        let is_other = is_unread && self.rename_back()?;
        let now = if self.put_back_submodules(kept, trash).await? || is_other {
            None
        } else {
            now
        };
        let unstorable = now.as_ref().map(|now| now.unstorable.clone());
        let mut times = Times::default();
        let mut touched = self.converge(now, trash, &mut times).await?;
        Self::install_working_index(self.site).await?;
        let gone = self.put_back_unversioned(&touched, times).await?;
        let lost = gone.tell(self.site, trash);
        tell_unstorable(self.site, &unstorable.unwrap_or_default(), trash);
        touched.extend(gone.all);
        touched.extend(inner_repositories::clear(self.site, self.moment, trash)?);
        Records::of(self.site).forget_just_hidden()?;
        Ok(Return { touched, lost })
    }

    /// Restores data that git does not store. Called with the savepoint's index in place.
    async fn put_back_unversioned(&self, touched: &[Vec<u8>], times: Times) -> Result<Gone, ProtectError> {
        let repo = self.site.repo;
        let records = Records::of(self.site);
        let gone = records.put_back_ignored(self.moment)?;
        let empty = records.empty_directories(self.moment)?;
        records.make_directories(&empty)?;
        let exact = ExactBytes::of(self.site, self.moment);
        let mut written = exact.restore(&repo.top, touched)?;
        let index = repo.read_index_if_there(&repo.index())?;
        written.extend(records.restore_links(self.moment, &index, touched, true)?);
        written.extend(exact.restore_blobs(repo, &index, touched).await?);
        // Without the record it is unknown which files differed from git's version.
        if records.knows_modes(self.moment) {
            let index = repo.index();
            let others = exact.restore_as_git_writes(self.site, &index, touched);
            written.extend(others.await?);
        }
        let distinct = times.make_distinct(&repo.top);
        if !written.is_empty() || !distinct.is_empty() {
            let work = self.site.work_index();
            repo.copy_index(&repo.index(), &work)?;
            if !written.is_empty() || !repo.note_times(&work, &distinct)? {
                // Git considers a file of another size changed until it has read it again.
                written.extend(distinct);
                repo.update_index(&work, &["--add"], &written).await?;
                // Because of new rules, git stores other bytes for these files.
                let now = repo.read_index_or_none(&work)?;
                let others = written.iter().filter_map(|path| {
                    let (was, is) = (index.index()?.find(path)?, now.index()?.find(path)?);
                    let oid = was.object().filter(|_| was.oid != is.oid)?;
                    let (path, mode) = (path.clone(), format!("{:o}", was.mode));
                    Some(StagedEntry { path, mode, oid })
                });
                repo.set_entries(&work, &others.collect::<Vec<_>>()).await?;
            }
            Self::install_working_index(self.site).await?;
        }
        let tracked = tracked_directories(repo, &repo.index())?;
        let dirs: Vec<&[u8]> = tracked.iter().chain(&empty).map(Vec::as_slice).collect();
        records.restore_modes(self.moment, touched, &dirs)?;
        records.restore_top_mode(self.moment)?;
        // When the loop is aborted, the user's own index is installed later.
        if self.moment == Moment::Checkpoint {
            self.remember_index()?;
        }
        Ok(gone)
    }

    /// Restores the files to this state, touching only differing ones, until nothing changes any more.
    pub(super) async fn converge(
        &self,
        mut now: Option<Reading>,
        trash: &Path,
        times: &mut Times,
    ) -> Result<Vec<Vec<u8>>, ProtectError> {
        let (repo, work, known) = (self.site.repo, self.site.work_index(), self.index());
        let (mut touched, mut changed, mut added) = (Vec::new(), Vec::new(), Vec::new());
        let (mut refused, mut plain) = (None, None);
        for turn in 0..TURNS {
            let writer = plain.as_ref().unwrap_or(repo);
            let switch = async |from: &Oid| {
                writer
                    .switch_work_tree(&work, from, &self.tree)
                    .await
                    .map(|()| true)
            };
            let mut now = match now.take() {
                Some(now) => now,
                None => self.read(Count::Nothing).await?,
            };
            let was = self.read_index()?;
            touched.extend(touched_between(&was, &*repo.read_index_or_none(&work)?));
            touched.extend(touched_in_same_second(repo, &was, self.since));
            let changes = match now.changes.take() {
                Some(changes) if now.nested.is_empty() && now.base == self.tree => changes,
                _ => repo.git.diff_trees(&self.tree, &now.tree).await?,
            };
            // Because of new rules, git also writes an untouched file.
            touched.extend(changes.iter().map(|(_, path)| path.clone()));
            if turn == 0 {
                exact_bytes::keep_in_trash(self.site, &work, &touched, trash).await?;
            }
            times.note(&repo.top, touched.iter());
            added.extend(added_in(&changes).cloned());
            let seen = changes.clone();
            // If a file changed meanwhile, git changes none; the next turn sees it.
            let done = match self.restore_rules(&changes).await? {
                Some(tree) => {
                    let changes = repo.git.diff_trees(&self.tree, &tree).await?;
                    self.clear_the_way(&changes, trash)?;
                    switch(&tree).await
                }
                None => {
                    let (tree, changes) = self.leave_ignored(now, changes).await?;
                    self.clear_the_way(&changes, trash)?;
                    if turn == 0 && repo.held_tree(&known).as_ref() == Some(&self.tree) {
                        writer.restore_changes(&work, &known, &changes).await
                    } else {
                        switch(&tree).await
                    }
                }
            };
            if !matches!(done, Ok(true)) {
                if done.as_ref().is_err_and(GitError::is_of_filter) {
                    // Kept content of these files is written afterwards.
                    plain = Some(repo.without_smudging().await?);
                }
                let is_of_changed_files = done.as_ref().err().is_none_or(GitError::is_of_changed_files);
                refused = done.err().map(|error| error.to_string());
                // A file that git had begun to write when it failed was not changed by another process.
                changed = if is_of_changed_files {
                    repo.not_as_read(&work, &seen).unwrap_or_default()
                } else {
                    Vec::new()
                };
                open_directories(self.site, &known);
                Below::new(&repo.top).make_accessible(&repo.top);
                continue;
            }
            changed = if self.moment == Moment::Judged {
                self.clear_new(trash).await?
            } else {
                self.clear_unlisted(&added, trash).await?
            };
            let exact = ExactBytes::of(self.site, self.moment);
            changed = exact.without_exact(repo, &work, changed).await?;
            if changed.is_empty() {
                index_flags::narrow_sparse(self.site, self.moment, &work).await?;
                return Ok(touched);
            }
        }
        Err(match refused {
            // No other process wrote meanwhile: the operating system refuses.
            Some(words) if changed.is_empty() => ProtectError::Blocked(words),
            _ => ProtectError::Restless(first_few(&changed)),
        })
    }

    /// Moves paths of the undone work that are in no tree to the trash: `added` are its new paths. Returns the tracked
    /// paths that still differ.
    async fn clear_unlisted(&self, added: &[Vec<u8>], trash: &Path) -> Result<Vec<Vec<u8>>, ProtectError> {
        let work = self.site.work_index();
        let before = self.known_before()?;
        let since = SystemTime::from(self.since);
        for path in unlisted_files::made_since(self.site, &work, &before, since)? {
            put_away(self.site, &self.nested, &path, trash)?;
        }
        let left = self.site.repo.differences(&work).await?;
        self.clear_leftovers(&left.untracked, &work, added, trash).await?;
        Ok(left.changed)
    }

    /// Restores ignore and attribute rules first, if the attempt changed any: they decide which files are tracked, and
    /// a file's content. The working index is then the savepoint's, and paths that it lacks are left for the trash.
    /// Returns the tree of the tracked files.
    async fn restore_rules(&self, changes: &Changes) -> Result<Option<Oid>, ProtectError> {
        let (repo, work) = (self.site.repo, self.site.work_index());
        let mut rules = changes.clone();
        rules.retain(|(_, path)| is_rules(path));
        if rules.is_empty() {
            return Ok(None);
        }
        repo.restore_files(&self.site.file("rules.index"), &self.tree, &rules)
            .await?;
        repo.private_copy(&self.index(), &work, Some(&self.commit))
            .await?;
        Ok(Some(repo.read_tracked(&work).await?))
    }

    /// Removes paths from the working index that the savepoint lacks and that its ignore rules match, or that were
    /// untracked then: an agent may have force-added the user's files.
    async fn leave_ignored(
        &self,
        now: Reading,
        mut changes: Changes,
    ) -> Result<(Oid, Changes), ProtectError> {
        let (repo, work) = (self.site.repo, self.site.work_index());
        let added: Vec<Vec<u8>> = added_in(&changes).cloned().collect();
        let known = self.known_before()?;
        // The attempt removed the rule that hid the path.
        let (was_there, mut added): (Vec<_>, Vec<_>) =
            added.into_iter().partition(|path| known.holds_back(path));
        if now.nested.is_empty() && !added.is_empty() {
            // git-ralph added all paths that the attempt's own index lacks, without ignored files.
            let file = repo.read_index_or_none(&repo.index())?;
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
}

fn is_rules(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    name == b".gitignore" || name == b".gitattributes"
}

/// Reports files that are in the trash and in no commit.
fn tell_unstorable(site: Site<'_>, unstorable: &[Vec<u8>], trash: &Path) {
    let is_in = |dir: &Path, path: &[u8]| is_there(&path_below(dir, path)).unwrap_or(false);
    let is_moved = |path: &&Vec<u8>| is_in(trash, path) && !is_in(&site.repo.top, path);
    let moved = unstorable.iter().filter(is_moved);
    let what = format!(
        "no commit has what git cannot store; it is in {}",
        trash.display()
    );
    site.tell_few(&what, moved);
}

/// Makes every directory of the files that `index` tracks writable; their permissions are restored with the savepoint.
fn open_directories(site: Site<'_>, index: &Path) {
    let below = Below::new(&site.repo.top);
    for dir in tracked_directories(site.repo, index).unwrap_or_default() {
        let path = path_below(&site.repo.top, &dir);
        if below.is_dir(&path) {
            below.give(&path, 0o700);
        }
    }
}
