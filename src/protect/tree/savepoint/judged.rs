//! The work of an attempt while gates run with the tests of the last checkpoint instead: keeps the data that git does
//! not store, changes the files, and restores all of it. Ignored files are not touched.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use super::Savepoint;
use crate::fs::{is_file_or_link, leads_to_file, path_below, seen_itself};
use crate::git::GitError;
use crate::git::index_file::{Entry, IndexFile};
use crate::names::Oid;
use crate::protect::records::{Paths, Records};
use crate::protect::trash::put_away;
use crate::protect::tree::exact_bytes::ExactBytes;
use crate::protect::tree::file_modes::MODES;
use crate::protect::tree::fresh_times::Times;
use crate::protect::tree::inventory::Inventory;
use crate::protect::tree::moment::Moment;
use crate::protect::tree::scan;
use crate::protect::tree::stat_changes::tracked_directories;
use crate::protect::{ProtectError, Site};

/// Name of the record of paths that git can list but not store, such as nested repositories.
const UNTRACKED: &str = "untracked";
/// Name of the record of empty directories.
const EMPTY: &str = "empty-directories";

/// Name of the record of the repositories in directories of tracked files.
const REPOSITORIES: &str = "repositories";

/// The copy of the index, byte for byte.
fn real_index(site: Site<'_>) -> PathBuf {
    site.file("judged.real.index")
}

impl Savepoint<'_> {
    /// Records data that git does not store of the work tree that the working index was just read from: the index
    /// itself, permissions, and bytes that a filter changes. One `lstat` for each file.
    pub async fn keep_judged(site: Site<'_>) -> Result<(), ProtectError> {
        let (repo, work) = (site.repo, site.work_index());
        repo.copy_index(&work, &site.file("judged.index"))?;
        repo.copy_index(&repo.index(), &real_index(site))?;
        let records = Records::of(site);
        let inventory = Inventory::take(repo, &work).await?;
        let found = scan::found(site, &inventory).await?;
        records.save_modes(Moment::Judged, &found.modes)?;
        records.save_paths(&Moment::Judged.name(EMPTY), &found.empty)?;
        records.save_paths(&Moment::Judged.name(UNTRACKED), &inventory.added())?;
        let repositories = repositories_in(site, &work)?;
        records.save_paths(&Moment::Judged.name(REPOSITORIES), &repositories)?;
        ExactBytes::of(site, Moment::Judged).record_all(site, &work).await
    }

    /// Changes the work tree, which the working index was just read from, from the tree `judged` to `held`. The files
    /// `put_back` get the bytes and permissions of this savepoint. Returns git's words if an unknown file is in the
    /// way: then nothing has changed.
    pub async fn hold(
        &self,
        [judged, held]: [&Oid; 2],
        put_back: &[Vec<u8>],
    ) -> Result<Option<String>, ProtectError> {
        let (repo, work, top) = (self.site.repo, self.site.work_index(), &self.site.repo.top);
        let mut times = Times::default();
        times.note(top, put_back.iter());
        match repo.switch_work_tree(&work, judged, held).await {
            Err(GitError::Failed { words, .. }) => {
                repo.discard_index(&work)?;
                return Ok(Some(words.trim().to_owned()));
            }
            switched => switched?,
        }
        self.restore_unstored(put_back).await?;
        times.make_distinct(top);
        repo.discard_index(&work)?;
        Ok(None)
    }

    /// Restores data that git does not store of the files that it has just written.
    async fn restore_unstored(&self, paths: &[Vec<u8>]) -> Result<(), ProtectError> {
        let (repo, records) = (self.site.repo, Records::of(self.site));
        let exact = ExactBytes::of(self.site, self.moment);
        exact.restore(&repo.top, paths)?;
        let index = repo.read_index_if_there(&self.site.work_index())?;
        exact.restore_blobs(repo, &index, paths).await?;
        records.restore_links(self.moment, &index, paths, false)?;
        Ok(records.restore_modes_of(self.moment, paths)?)
    }

    /// Restores files of this state that are missing in the tree `now`, which the working index was just read into:
    /// `missing` are the differences, as [`Git::diff_trees`](crate::git::Git::diff_trees) lists them. A file that is in
    /// its place but hidden by a rule keeps its content. Replacements go to the directory `trash`. Files among the
    /// differences that this state lacks are removed. Returns the tree with and without these files.
    pub async fn bring_back(
        &self,
        now: &Oid,
        missing: &[(u8, Vec<u8>)],
        trash: &Path,
    ) -> Result<Oid, ProtectError> {
        let (repo, work, records) = (self.site.repo, self.site.work_index(), Records::of(self.site));
        let (mut hidden, mut gone, mut added) = (Vec::new(), Vec::new(), Vec::new());
        for (status, path) in missing {
            if *status == b'A' {
                added.push(path.clone());
                continue;
            }
            let is_there = is_file_or_link(&path_below(&repo.top, path))?;
            if *status == b'D' && is_there && records.has_only_directories_above(path)? {
                hidden.push(path.clone());
            } else {
                gone.push((*status, path.clone()));
            }
        }
        repo.update_index(&work, &["--add"], &hidden).await?;
        let tree = if hidden.is_empty() {
            now.clone()
        } else {
            repo.git.write_tree(&work).await?
        };
        if gone.is_empty() && added.is_empty() {
            return Ok(tree);
        }
        self.clear_the_way(&gone, trash)?;
        let paths: Vec<Vec<u8>> = gone.into_iter().map(|(_, path)| path).collect();
        let mut entries = repo.git.staged_between(&tree, &self.tree).await?;
        entries.retain(|entry| paths.contains(&entry.path));
        let wanted = repo
            .tree_with(&self.site.file("back.index"), &tree, &entries, &added)
            .await?;
        repo.switch_work_tree(&work, &tree, &wanted).await?;
        self.restore_unstored(&paths).await?;
        Ok(wanted)
    }

    /// Moves repositories made since in directories of this state's files to the directory `trash`: git would treat
    /// such a directory as a submodule, and run commands of its configuration. Returns their paths.
    pub fn take_out_repositories(&self, trash: &Path) -> Result<Vec<Vec<u8>>, ProtectError> {
        let (records, name) = (Records::of(self.site), self.moment.name(REPOSITORIES));
        if !records.knows(&name) {
            return Ok(Vec::new());
        }
        let mut new = repositories_in(self.site, &self.site.file("judged.index"))?;
        let known = records.paths(&name)?;
        new.retain(|path| !known.contains(path));
        for path in &new {
            put_away(self.site, &self.nested, path, trash)?;
        }
        Ok(new.into_iter().collect())
    }

    /// Restores this state exactly. Files in the way go to the directory `trash`.
    pub async fn put_back_judged(&self, trash: &Path) -> Result<(), ProtectError> {
        let (repo, work, top) = (self.site.repo, self.site.work_index(), &self.site.repo.top);
        // Before the files: the index decides which of them are tracked.
        let real = real_index(self.site);
        if leads_to_file(&real)? {
            repo.install_index(&real).await?;
        }
        self.put_back_modes()?;
        let (mut times, untold) = (Times::default(), RefCell::<Vec<String>>::default());
        let notices = &untold;
        let told = Savepoint {
            site: Site { notices, ..self.site },
            ..self.clone()
        };
        let mut touched = told.converge(None, trash, &mut times).await?;
        let (records, exact) = (Records::of(self.site), ExactBytes::of(self.site, self.moment));
        touched.extend(exact.restore(top, &exact.paths()?)?);
        let index = repo.read_index_if_there(&work)?;
        let links = records.restore_links(self.moment, &index, &touched, true)?;
        touched.extend(links);
        touched.extend(exact.restore_blobs(repo, &index, &touched).await?);
        if records.knows_modes(self.moment) {
            exact.restore_as_git_writes(self.site, &work, &touched).await?;
        }
        times.make_distinct(top);
        self.put_back_directories()?;
        let dirs = tracked_directories(repo, &work)?;
        let dirs: Vec<&[u8]> = dirs.iter().map(Vec::as_slice).collect();
        records.restore_modes(self.moment, &touched, &dirs)?;
        Ok(repo.discard_index(&work)?)
    }

    /// Restores the permissions of files and directories that changed and were not rewritten, and reports them.
    pub fn put_back_modes(&self) -> Result<(), ProtectError> {
        self.put_back_modes_of(None).map(drop)
    }

    /// Restores the permissions of files that were rewritten with the same content, according to the working index, and
    /// reports them. Returns whether there are any.
    pub fn put_back_modes_of_rewritten(&self) -> Result<bool, ProtectError> {
        let now = self.site.repo.read_index_or_none(&self.site.work_index())?;
        let was = self.read_index()?;
        let is_other = |entry: Entry<'_>| {
            was.find(entry.path)
                .is_some_and(|was| was.touched != entry.touched)
        };
        if !now.entries().any(is_other) {
            return Ok(false);
        }
        self.put_back_modes_of(Some(&*now))
    }

    fn put_back_modes_of(&self, now: Option<&IndexFile>) -> Result<bool, ProtectError> {
        let records = Records::of(self.site);
        let changed = records.changed_modes(self.moment, &*self.read_index()?, now)?;
        let paths: Vec<Vec<u8>> = changed.iter().cloned().collect();
        records.restore_modes_of(self.moment, &paths)?;
        tell(
            self.site,
            "permissions were changed, which are put back",
            &changed,
        );
        Ok(!changed.is_empty())
    }

    /// Recreates the empty directories that were removed since, and reports them.
    pub fn put_back_directories(&self) -> Result<(), ProtectError> {
        let records = Records::of(self.site);
        let gone = records.make_directories(&records.paths(&self.moment.name(EMPTY))?)?;
        tell(
            self.site,
            "empty directories were removed, which are made again",
            &gone,
        );
        Ok(())
    }

    /// Moves new files to the trash, even if rules hide them. Returns the tracked paths that still differ; submodules
    /// stay unchanged.
    pub(super) async fn clear_new(&self, trash: &Path) -> Result<Vec<Vec<u8>>, ProtectError> {
        let (repo, work, records) = (self.site.repo, self.site.work_index(), Records::of(self.site));
        let name = self.moment.name(UNTRACKED);
        if records.knows(&name) {
            let known = records.paths(&name)?;
            let mut new = repo.outside(&work).await?.untracked;
            new.retain(|path| !known.contains(path) && !self.gate_files.contains_key(path));
            for path in &new {
                put_away(self.site, &self.nested, path, trash)?;
                if !path.ends_with(b"/") {
                    // Directories that are now empty were created with it.
                    repo.remove_file(path)?;
                }
            }
        }
        let mut changed = repo.differences(&work).await?.changed;
        let links = repo.index_entries(&work).await?.submodules;
        changed.retain(|path| !links.contains(path));
        Ok(changed)
    }

    /// Forgets the records of the judged work.
    pub fn forget_judged(site: Site<'_>) -> Result<(), ProtectError> {
        site.repo.discard_index(&site.file("judged.index"))?;
        site.repo.discard_index(&real_index(site))?;
        let records = Records::of(site);
        for name in [MODES, UNTRACKED, EMPTY, REPOSITORIES] {
            records.forget_paths(&Moment::Judged.name(name))?;
        }
        ExactBytes::of(site, Moment::Judged).forget()
    }
}

/// Reports changes to these paths while the work was judged.
fn tell(site: Site<'_>, done: &str, paths: &Paths) {
    site.tell_few(&format!("while gates or a reviewer ran, {done}"), paths);
}

/// Lists the repositories in directories of the files that an index tracks. One `lstat` for each directory.
fn repositories_in(site: Site<'_>, index: &Path) -> Result<Paths, ProtectError> {
    let dirs = tracked_directories(site.repo, index)?;
    let git = dirs.into_iter().filter(|dir| !dir.is_empty());
    let git = git.map(|dir| [&dir[..], b"/.git"].concat());
    Ok(git
        .filter(|path| seen_itself(&path_below(&site.repo.top, path)).is_some())
        .collect())
}
