//! Keeps files that git does not reproduce: a filter, a line-ending or an encoding rule changes their bytes when git
//! writes them. Copies are kept outside git, and restored by a revert. Repositories without such rules have no cost.

mod restore;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::attribute_sources::may_convert;
use super::moment::Moment;
use crate::fs::{
    Below, FileError, entries_of, has_same_bytes, is_regular, is_there, may_exist, path_below, read,
    target_of, those_where,
};
use crate::git::index_file::IndexFile;
use crate::git::{GitError, Repo, is_blob};
use crate::names::Oid;
use crate::paths::path_of;
use crate::protect::records::{Paths, Records, make_room};
use crate::protect::trash::free_name;
use crate::protect::{ProtectError, Site};

/// Name of the directory of the copies; the copies of the loop's start are beside it.
const RAW: &str = "raw";

/// Name of the record of the files whose bytes are git's conversion of their blobs, and not the blobs themselves.
const CONVERTED: &str = "converted";

/// The version of a file in another checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// It is absent.
    None,
    /// The version at the start of the loop.
    OfStart,
    /// Another version, of which no bytes are kept.
    Other,
}

/// Git's versions of files that it converts.
#[derive(Debug, Default)]
struct Smudged {
    /// Files whose content git-lfs has.
    stored: Paths,
    /// Files that git may not have written: a failing filter gives no output, and must not stop a step.
    unknown: Paths,
    failed: Option<GitError>,
}

/// The kept copies.
#[derive(Clone, Debug)]
pub(super) struct ExactBytes {
    /// Directory of the copies, by path.
    kept: PathBuf,
    /// Directory where git writes its version of a file, for comparison.
    scratch: PathBuf,
    /// The handle for both directories.
    door: Below,
    /// The records of the loop, and the name of the record of the converted files; the trash has none.
    converted: Option<(Records, String)>,
}

impl ExactBytes {
    /// Returns the copies of a savepoint.
    pub fn of(site: Site<'_>, moment: Moment) -> Self {
        let mut this = Self::below(site, &site.file("unversioned"), &moment.name(RAW));
        this.converted = Some((Records::of(site), moment.name(CONVERTED)));
        this
    }

    fn below(site: Site<'_>, dir: &Path, name: &str) -> Self {
        Self {
            kept: dir.join(name),
            scratch: dir.join("smudged"),
            door: site.own_door(),
            converted: None,
        }
    }

    /// Returns the files that git converted at this savepoint; `None` if unknown.
    fn converted(&self) -> Result<Option<Paths>, ProtectError> {
        Ok(match &self.converted {
            Some((records, name)) if records.knows(name) => Some(records.paths(name)?),
            _ => None,
        })
    }

    fn save_converted(&self, paths: &Paths) -> Result<(), ProtectError> {
        if let Some((records, name)) = &self.converted {
            records.save_paths(name, paths)?;
        }
        Ok(())
    }

    /// Writes git's version of the `paths` that it converts to the scratch directory. `index` describes the work tree,
    /// and has the content `file`.
    async fn smudge(
        &self,
        repo: &Repo,
        index: &Path,
        file: &IndexFile,
        paths: &[Vec<u8>],
    ) -> Result<Smudged, ProtectError> {
        // Git has no content for a path that a story deleted or removed from the index.
        let is_known = |path: &&Vec<u8>| file.index().is_none_or(|index| index.find(path).is_some());
        // Without duplicates: git fails to create a file a second time.
        let known: BTreeSet<Vec<u8>> = paths.iter().filter(is_known).cloned().collect();
        let known = regular(&repo.top, known)?;
        let mut found = repo.conversions(index, &known).await?;
        let mut stored = Paths::new();
        let large: BTreeMap<Vec<u8>, Oid> = found
            .large
            .into_iter()
            .filter_map(|path| Some((path.clone(), object_of(file, &path)?)))
            .collect();
        let oids: Vec<Oid> = large.values().cloned().collect();
        let files = repo.large_files(&oids).await?;
        for (path, oid) in large {
            match files.get(&oid) {
                Some(file) if has_same_size(&repo.top.join(path_of(&path)), file)? => {
                    stored.insert(path);
                }
                _ => found.paths.push(path),
            }
        }
        self.door.remove(&self.scratch)?;
        let failed = repo.write_copies(index, &found.paths, &self.scratch).await.err();
        let unknown = failed.iter().flat_map(|_| found.paths.clone()).collect();
        Ok(Smudged {
            stored,
            unknown,
            failed,
        })
    }

    /// Updates the copies of `paths`: keeps the bytes of files that git would write differently. `index` describes the
    /// work tree, and has the content `file`.
    pub async fn record(
        &self,
        site: Site<'_>,
        index: &Path,
        file: &IndexFile,
        paths: &[Vec<u8>],
    ) -> Result<(), ProtectError> {
        let repo = site.repo;
        let converts = may_convert(site, index, file, paths.iter().map(Vec::as_slice)).await?;
        let mut converted = self.converted()?;
        if !converts && !may_exist(&self.kept) && converted.as_ref().is_none_or(Paths::is_empty) {
            return Ok(());
        }
        let was_converted = converted.clone().unwrap_or_default();
        let mut paths = paths.to_vec();
        if paths.iter().any(|path| path.ends_with(b".gitattributes")) {
            // Git considers untouched files unchanged, although other rules apply to them now.
            paths.extend(was_converted.iter().cloned());
        }
        let Smudged { stored, unknown, .. } = if converts {
            self.smudge(repo, index, file, &paths).await?
        } else {
            Smudged::default()
        };
        for path in &paths {
            let name = path_of(path);
            let (is, kept) = (repo.top.join(name), self.kept.join(name));
            let smudged = self.scratch.join(name);
            let (is_file, has_two) = (is_regular(&is)?, is_regular(&smudged)?);
            let is_blob = || Ok::<_, FileError>(is_blob_of(file, path, &read(&is)?));
            let is_kept = is_file
                && if unknown.contains(path) {
                    true
                } else if has_two {
                    !has_same_bytes(&is, &smudged)?
                } else {
                    was_converted.contains(path) && !stored.contains(path) && !is_blob()?
                };
            // A copy in the trash stays there: an interrupted step put it there.
            let is_trash = self.converted.is_none() && is_regular(&kept)?;
            if is_kept && is_trash && !has_same_bytes(&is, &kept)? {
                self.door.copy(&is, &free_name(&kept)?)?;
            } else if is_kept && !is_trash {
                make_room(&self.door, &self.kept, path)?;
                self.door.copy(&is, &kept)?;
            } else if !is_kept && !is_trash && is_regular(&kept)? {
                self.door.remove_file(&kept)?;
            }
            if let Some(converted) = &mut converted {
                let is_other = is_file && has_two && !is_kept && !is_blob()?;
                if is_other || stored.contains(path) {
                    converted.insert(path.clone());
                } else {
                    converted.remove(path);
                }
            }
        }
        if let Some(converted) = converted {
            self.save_converted(&converted)?;
        }
        Ok(self.door.remove(&self.scratch)?)
    }

    /// Records the bytes of all files again; `index` describes the work tree.
    pub async fn record_all(&self, site: Site<'_>, index: &Path) -> Result<(), ProtectError> {
        self.forget()?;
        self.save_converted(&Paths::new())?;
        let file = site.repo.read_index_if_there(index)?;
        let all: Vec<_> = file.entries().map(|entry| entry.path.to_vec()).collect();
        self.record(site, index, &file, &all).await
    }

    /// Forgets the kept bytes.
    pub fn forget(&self) -> Result<(), ProtectError> {
        if let Some((records, name)) = &self.converted {
            records.forget_paths(name)?;
        }
        Ok(self.door.remove(&self.kept)?)
    }

    /// Records the bytes of all files when the loop begins; `index` describes the work tree.
    pub async fn begin(site: Site<'_>, index: &Path) -> Result<(), ProtectError> {
        let (now, start) = (Self::of(site, Moment::Checkpoint), Self::of(site, Moment::Start));
        now.record_all(site, index).await?;
        start.save_converted(&now.converted()?.unwrap_or_default())?;
        now.copy_to(&start)
    }

    /// Replaces these copies by those for another checkpoint, in which these files have the given versions; `index` has
    /// the present versions.
    pub async fn follow(
        &self,
        site: Site<'_>,
        index: &Path,
        changes: &[(Vec<u8>, Version)],
    ) -> Result<(), ProtectError> {
        let start = Self::of(site, Moment::Start);
        let (mut converted, of_start) = (self.converted()?, start.converted()?.unwrap_or_default());
        let others = changes.iter().filter(|(_, version)| *version == Version::Other);
        let others: Vec<Vec<u8>> = others.map(|(path, _)| path.clone()).collect();
        let file = site.repo.read_index_if_there(index)?;
        let mut by_rules = Paths::new();
        if may_convert(site, index, &file, others.iter().map(Vec::as_slice)).await? {
            let found = site.repo.conversions(index, &others).await?;
            by_rules.extend(found.paths.into_iter().chain(found.large));
        }
        for (path, version) in changes {
            let name = path_of(path);
            let (kept, other) = (self.kept.join(name), start.kept.join(name));
            let is_of_start = *version == Version::OfStart;
            if is_of_start && is_regular(&other)? {
                make_room(&self.door, &self.kept, path)?;
                self.door.copy(&other, &kept)?;
            } else if is_regular(&kept)? {
                self.door.remove_file(&kept)?;
            }
            if let Some(converted) = &mut converted {
                // For another version, git's conversion is the best available.
                if is_of_start && of_start.contains(path) || by_rules.contains(path) {
                    converted.insert(path.clone());
                } else {
                    converted.remove(path);
                }
            }
        }
        match converted {
            Some(converted) => self.save_converted(&converted),
            None => Ok(()),
        }
    }

    /// Copies all kept files to another place.
    fn copy_to(&self, other: &Self) -> Result<(), ProtectError> {
        for path in self.paths()? {
            let name = path_of(&path);
            other.door.copy(&self.kept.join(name), &other.kept.join(name))?;
        }
        Ok(())
    }

    /// Returns the paths of all kept files.
    pub fn paths(&self) -> Result<Vec<Vec<u8>>, ProtectError> {
        let mut found = Vec::new();
        let mut open = vec![PathBuf::new()];
        while let Some(below) = open.pop() {
            for entry in entries_of(&self.kept.join(&below))? {
                let path = below.join(entry.file_name());
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    open.push(path);
                } else {
                    found.push(path.into_os_string().into_encoded_bytes());
                }
            }
        }
        Ok(found)
    }
}

/// Returns the object of a file in an index without hidden entries.
fn object_of(index: &IndexFile, path: &[u8]) -> Option<Oid> {
    let entry = index.index()?.find(path)?;
    entry.is_plain_file().then(|| entry.object()).flatten()
}

/// Returns whether an index has these bytes for a file.
fn is_blob_of(index: &IndexFile, path: &[u8], bytes: &[u8]) -> bool {
    let entry = index.index().and_then(|index| index.find(path));
    entry.is_some_and(|entry| is_blob(entry.oid, bytes))
}

/// Returns whether two files exist and have the same size.
fn has_same_size(one: &Path, other: &Path) -> Result<bool, FileError> {
    let size = |file: &Path| Ok::<_, FileError>(target_of(file)?.map(|found| found.len()));
    Ok(size(one)? == size(other)?)
}

/// Returns the paths at which a directory has regular files.
fn regular(top: &Path, paths: impl IntoIterator<Item = Vec<u8>>) -> Result<Vec<Vec<u8>>, FileError> {
    those_where(paths, |path| is_regular(&path_below(top, path)))
}

/// Copies files to the trash before they are overwritten, if git has them only in another form. `work` describes the
/// work tree.
pub(super) async fn keep_in_trash(
    site: Site<'_>,
    work: &Path,
    touched: &[Vec<u8>],
    trash: &Path,
) -> Result<(), ProtectError> {
    let top = &site.repo.top;
    let touched = regular(top, touched.iter().cloned())?;
    if touched.is_empty() {
        return Ok(());
    }
    let kept = ExactBytes::below(site, trash, RAW);
    let file = site.repo.read_index_if_there(work)?;
    kept.record(site, work, &file, &touched).await?;
    if is_there(&kept.kept)? {
        site.tell(format!(
            "bytes that git would not give back are kept in {}",
            kept.kept.display()
        ));
    }
    Ok(())
}

impl Site<'_> {
    /// Copies files that git could not reproduce to the trash, before the work tree is switched from the tree `now` to
    /// another one. `work` describes the work tree.
    pub async fn keep_before_switch(
        self,
        work: &Path,
        [now, target]: [&Oid; 2],
        trash: &Path,
    ) -> Result<(), ProtectError> {
        let file = self.repo.read_index_if_there(work)?;
        if now == target || !may_convert(self, work, &file, file.paths()).await? {
            return Ok(());
        }
        let changes = self.repo.git.diff_trees(now, target).await?;
        let going = changes.into_iter().filter(|(status, _)| *status != b'A');
        let going: Vec<Vec<u8>> = going.map(|(_, path)| path).collect();
        keep_in_trash(self, work, &going, trash).await
    }

    /// Copies files that git could not reproduce to the trash, before the whole work tree is removed. Its index
    /// describes it.
    pub async fn keep_before_removal(self, trash: &Path) -> Result<(), ProtectError> {
        let index = self.repo.index();
        let file = self.repo.read_index_if_there(&index)?;
        if !may_convert(self, &index, &file, file.paths()).await? {
            return Ok(());
        }
        let all: Vec<Vec<u8>> = file.entries().map(|entry| entry.path.to_vec()).collect();
        keep_in_trash(self, &index, &all, trash).await
    }

    /// Restores the bytes that were kept in the trash, after the files themselves.
    pub fn restore_from_trash(self, trash: &Path) -> Result<(), ProtectError> {
        let kept = ExactBytes::below(self, trash, RAW);
        kept.restore(&self.repo.top, &kept.paths()?).map(drop)
    }
}
