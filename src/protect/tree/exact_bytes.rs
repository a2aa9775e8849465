//! Keeps files whose bytes do not survive git: a filter, a line-ending or an encoding rule changes them when git writes
//! them. Copies are kept outside git, and restored by a revert. Repositories without such rules pay nothing.

use std::collections::BTreeSet;
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::attribute_sources::may_convert;
use super::moment::Moment;
use crate::fs::{
    Below, Durability, FileError, entries_of, file_error, has_same_bytes, is_regular, is_there, may_exist,
    path_below, read, target_of,
};
use crate::git::Repo;
use crate::git::index_file::IndexFile;
use crate::names::Oid;
use crate::paths::path_of;
use crate::protect::records::make_room;
use crate::protect::{ProtectError, Site};

/// Name of the directory of the copies; that of the start of the loop is beside it.
const RAW: &str = "raw";

/// The kept copies.
#[derive(Clone, Debug)]
pub(super) struct ExactBytes {
    /// Directory of the copies, by path.
    kept: PathBuf,
    /// Directory where git writes its version of a file, for comparison.
    scratch: PathBuf,
    /// The door to both.
    door: Below,
}

impl ExactBytes {
    /// Returns the copies of a savepoint.
    pub fn of(site: Site<'_>, moment: Moment) -> Self {
        Self::below(site, &site.file("unversioned"), &moment.name(RAW))
    }

    fn below(site: Site<'_>, dir: &Path, name: &str) -> Self {
        Self {
            kept: dir.join(name),
            scratch: dir.join("smudged"),
            door: site.own_door(),
        }
    }

    /// Writes git's version of those of `paths` that it converts to the scratch directory. `index` describes the work
    /// tree.
    async fn smudge(&self, repo: &Repo, index: &Path, paths: &[Vec<u8>]) -> Result<(), ProtectError> {
        // Git has no content to write for a path that a story deleted or removed from the index.
        let file = repo.read_index_if_there(index)?;
        let is_known = |path: &&Vec<u8>| file.index().is_none_or(|index| index.find(path).is_some());
        // Without duplicates: git fails to create a file a second time.
        let known: BTreeSet<Vec<u8>> = paths.iter().filter(is_known).cloned().collect();
        let known = regular(&repo.top, known)?;
        let converted = repo.converted_paths(index, &known).await?;
        self.door.remove(&self.scratch)?;
        Ok(repo.write_copies(index, &converted, &self.scratch).await?)
    }

    /// Updates the copies of `paths`: keeps the bytes of those that git would write differently. `index` describes the
    /// work tree; `file` is what is in it.
    pub async fn record(
        &self,
        site: Site<'_>,
        index: &Path,
        file: &IndexFile,
        paths: &[Vec<u8>],
    ) -> Result<(), ProtectError> {
        let repo = site.repo;
        if !may_convert(site, index, file, paths.iter().map(Vec::as_slice)).await? {
            return Ok(());
        }
        self.smudge(repo, index, paths).await?;
        for path in paths {
            let name = path_of(path);
            let (file, kept) = (repo.top.join(name), self.kept.join(name));
            let smudged = self.scratch.join(name);
            if is_regular(&file)? && is_regular(&smudged)? && !has_same_bytes(&file, &smudged)? {
                make_room(&self.door, &self.kept, path)?;
                self.door.copy(&file, &kept)?;
            } else if is_regular(&kept)? {
                self.door.remove_file(&kept)?;
            }
        }
        Ok(self.door.remove(&self.scratch)?)
    }

    /// Records the bytes of all files again; `index` describes the work tree.
    pub async fn record_all(&self, site: Site<'_>, index: &Path) -> Result<(), ProtectError> {
        self.forget()?;
        let file = site.repo.read_index_if_there(index)?;
        let all: Vec<_> = file.entries().map(|entry| entry.path.to_vec()).collect();
        self.record(site, index, &file, &all).await
    }

    /// Forgets the kept bytes.
    pub fn forget(&self) -> Result<(), ProtectError> {
        Ok(self.door.remove(&self.kept)?)
    }

    /// Records the bytes of all files when the loop begins; `index` describes the work tree.
    pub async fn begin(site: Site<'_>, index: &Path) -> Result<(), ProtectError> {
        let file = site.repo.read_index_if_there(index)?;
        if !may_convert(site, index, &file, file.paths()).await? {
            return Ok(());
        }
        let all: Vec<_> = file.entries().map(|entry| entry.path.to_vec()).collect();
        let raw = Self::of(site, Moment::Checkpoint);
        raw.record(site, index, &file, &all).await?;
        raw.copy_to(&Self::of(site, Moment::Start))
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

    /// Restores the kept bytes of those of `paths` that differ; returns the paths that it wrote.
    pub fn restore(&self, top: &Path, paths: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, ProtectError> {
        let (mut written, below) = (Vec::new(), Below::new(top));
        if !may_exist(&self.kept) {
            return Ok(written);
        }
        for path in paths {
            let name = path_of(path);
            let (file, kept) = (top.join(name), self.kept.join(name));
            if is_regular(&kept)? && below.is_regular(&file)? && !has_same_bytes(&file, &kept)? {
                // An attempt that changes all permissions reaches the kept file too.
                let mode = target_of(&file)?.map_or(0o644, |found| found.permissions().mode() & 0o7777);
                let mut source = File::open(&kept).map_err(|error| file_error("read", &kept, error))?;
                below.replace(&file, |file| {
                    io::copy(&mut source, file)?;
                    file.set_permissions(Permissions::from_mode(mode))
                })?;
                // A build must notice the change.
                let _ = below.touch(&file);
                written.push(path.clone());
            }
        }
        Ok(written)
    }

    /// Writes git's version of those of `paths` that differ from it and have no kept bytes: an attempt changed them in
    /// a way that git does not see. Returns the paths that it wrote. `index` describes the savepoint.
    pub async fn restore_as_git_writes(
        &self,
        site: Site<'_>,
        index: &Path,
        paths: &[Vec<u8>],
    ) -> Result<Vec<Vec<u8>>, ProtectError> {
        let (repo, mut written) = (site.repo, Vec::new());
        let below = Below::new(&repo.top);
        let file = repo.read_index_if_there(index)?;
        if paths.is_empty() || !may_convert(site, index, &file, paths.iter().map(Vec::as_slice)).await? {
            return Ok(written);
        }
        let kept: BTreeSet<Vec<u8>> = regular(&self.kept, paths.iter().cloned())?.into_iter().collect();
        let unkept: Vec<Vec<u8>> = paths
            .iter()
            .filter(|path| !kept.contains(*path))
            .cloned()
            .collect();
        self.smudge(repo, index, &unkept).await?;
        for path in unkept {
            let name = path_of(&path);
            let (file, smudged) = (repo.top.join(name), self.scratch.join(name));
            let is_other = |file: &Path| {
                Ok::<_, FileError>(!below.is_regular(file)? || !has_same_bytes(file, &smudged)?)
            };
            if is_regular(&smudged)? && below.is_free(&file)? && is_other(&file)? {
                // The file gets the present time: a build must notice the change.
                let bytes = read(&smudged)?;
                let mode = target_of(&file)?.map_or(0o644, |found| found.permissions().mode() & 0o777);
                below.write(&file, &bytes, mode, Durability::Atomic)?;
                written.push(path);
            }
        }
        self.door.remove(&self.scratch)?;
        Ok(written)
    }
}

/// Returns those of these paths below a directory at which regular files are.
fn regular(top: &Path, paths: impl IntoIterator<Item = Vec<u8>>) -> Result<Vec<Vec<u8>>, FileError> {
    let mut found = Vec::new();
    for path in paths {
        if is_regular(&path_below(top, &path))? {
            found.push(path);
        }
    }
    Ok(found)
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
    let recorded = kept.record(site, work, &file, &touched).await;
    if let Err(ProtectError::Git(_)) = recorded {
        // A filter that fails gives no answer, and must not prevent the step: all files are kept.
        for path in &touched {
            let name = path_of(path);
            kept.door.copy(&top.join(name), &kept.kept.join(name))?;
        }
        kept.door.remove(&kept.scratch)?;
    } else {
        recorded?;
    }
    if is_there(&kept.kept)? {
        site.notices.tell(format!(
            "bytes that git would not give back are kept in {}",
            kept.kept.display()
        ));
    }
    Ok(())
}

impl Site<'_> {
    /// Copies files to the trash whose bytes git could not give back, before the work tree is switched from the tree `now`
    /// to another one. `work` describes the work tree.
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

    /// Copies files to the trash whose bytes git could not give back, before the whole work tree is removed. Its index
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
