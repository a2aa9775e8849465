//! Restores the bytes of files that git restores differently, or not at all.

use std::collections::BTreeSet;
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use super::{ExactBytes, is_blob_of, object_of, regular};
use crate::fs::{
    Below, FileError, file_error, has_same_bytes, is_regular, kind_of, may_exist, read, target_of,
};
use crate::git::Repo;
use crate::git::index_file::{Entry, IndexFile};
use crate::names::Oid;
use crate::paths::{first_few, path_of};
use crate::protect::tree::attribute_sources::may_convert;
use crate::protect::{ProtectError, Site};

/// Number of blobs that are read at once.
const BLOBS: usize = 64;

impl ExactBytes {
    /// Restores the kept bytes of the `paths` that differ; returns the paths that it wrote.
    pub fn restore(&self, top: &Path, paths: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, ProtectError> {
        let (mut written, below) = (Vec::new(), Below::new(top));
        if !may_exist(&self.kept) {
            return Ok(written);
        }
        for path in paths {
            let name = path_of(path);
            let (file, kept) = (top.join(name), self.kept.join(name));
            if is_regular(&kept)? && below.is_regular(&file)? && !has_same_bytes(&file, &kept)? {
                write_now(&below, &file, &mut open(&kept)?)?;
                written.push(path.clone());
            }
        }
        Ok(written)
    }

    /// Selects the `paths`, which git considers changed, without those that have the bytes of their blob, the bytes
    /// that git writes, or kept bytes: because of new rules, or of a lossy filter, git considers a file changed that it
    /// has just written. `index` describes the savepoint.
    pub async fn without_exact(
        &self,
        repo: &Repo,
        index: &Path,
        mut paths: Vec<Vec<u8>>,
    ) -> Result<Vec<Vec<u8>>, ProtectError> {
        if paths.is_empty() {
            return Ok(paths);
        }
        let (file, below) = (repo.read_index_or_none(index)?, Below::new(&repo.top));
        self.smudge(repo, index, &file, &paths).await?;
        let mut exact = BTreeSet::new();
        for path in &paths {
            let is = repo.top.join(path_of(path));
            let entry = file.index().and_then(|index| index.find(path));
            let entry = entry.filter(Entry::is_plain_file);
            let found = kind_of(&is)?.filter(std::fs::Metadata::is_file);
            if let (Some(entry), Some(found)) = (entry, found)
                && below.exists(&is)?
                && (found.mode() ^ entry.mode) & 0o100 == 0
            {
                let smudged = self.scratch.join(path_of(path));
                let is_written = is_regular(&smudged)? && has_same_bytes(&is, &smudged)?;
                let is_kept = is_regular(&self.kept.join(path_of(path)))?;
                if is_written || is_kept || is_blob_of(&file, path, &read(&is)?) {
                    exact.insert(path.clone());
                }
            }
        }
        self.door.remove(&self.scratch)?;
        paths.retain(|path| !exact.contains(path));
        Ok(paths)
    }

    /// Writes the blobs to the `paths` that had these bytes and lost them: git now converts them, or considered them
    /// unchanged. Returns the paths that it wrote. `file` describes the savepoint.
    pub async fn restore_blobs(
        &self,
        repo: &Repo,
        file: &IndexFile,
        paths: &[Vec<u8>],
    ) -> Result<Vec<Vec<u8>>, ProtectError> {
        let (below, mut wanted) = (Below::new(&repo.top), Vec::new());
        let Some(converted) = self.converted()? else {
            return Ok(Vec::new());
        };
        for path in paths {
            let is = repo.top.join(path_of(path));
            let is_blob = !converted.contains(path) && !is_regular(&self.kept.join(path_of(path)))?;
            if is_blob
                && let Some(oid) = object_of(file, path)
                && below.is_regular(&is)?
                && !is_blob_of(file, path, &read(&is)?)
            {
                wanted.push((path, is, oid));
            }
        }
        let mut written = Vec::new();
        for some in wanted.chunks(BLOBS) {
            let oids: Vec<Oid> = some.iter().map(|(_, _, oid)| oid.clone()).collect();
            let contents = repo.git.contents(&oids).await?;
            for (path, is, oid) in some {
                if let Some(content) = contents.get(oid) {
                    write_now(&below, is, &mut content.as_slice())?;
                    written.push((*path).clone());
                }
            }
        }
        Ok(written)
    }

    /// Writes git's version of the `paths` that differ from it, had it as far as is known, and have no kept bytes: an
    /// attempt changed them in a way that git does not see. Also writes content that git-lfs omitted. Returns the paths
    /// that it wrote. `index` describes the savepoint.
    pub async fn restore_as_git_writes(
        &self,
        site: Site<'_>,
        index: &Path,
        paths: &[Vec<u8>],
    ) -> Result<Vec<Vec<u8>>, ProtectError> {
        let file = site.repo.read_index_if_there(index)?;
        let kept: BTreeSet<Vec<u8>> = regular(&self.kept, paths.iter().cloned())?.into_iter().collect();
        let converted = self.converted()?;
        let is_converted = |path: &&Vec<u8>| converted.as_ref().is_none_or(|known| known.contains(*path));
        let unkept = paths.iter().filter(|path| !kept.contains(*path));
        let unkept: BTreeSet<&Vec<u8>> = unkept.filter(is_converted).collect();
        let unkept: Vec<Vec<u8>> = unkept.into_iter().cloned().collect();
        let mut written = Vec::new();
        if unkept.is_empty() {
            return Ok(written);
        }
        if may_convert(site, index, &file, unkept.iter().map(Vec::as_slice)).await? {
            match self.write_as_git(site.repo, index, &file, &unkept).await {
                Err(ProtectError::Git(error)) => site.tell(format!(
                    "a filter of git failed, so what only it would restore is not: {error}"
                )),
                others => written = others?,
            }
        }
        if converted.is_some() {
            let (large, unconverted) = restore_large(site, &file, &unkept).await?;
            written.extend(large);
            if !unconverted.is_empty() {
                site.tell(format!(
                    "git's rules for line endings or filters have changed, or a filter fails or leaves bytes out, so these have the bytes that git \
                     stores, and not those that they had: {}",
                    first_few(&unconverted).join(", ")
                ));
            }
        }
        Ok(written)
    }

    async fn write_as_git(
        &self,
        repo: &Repo,
        index: &Path,
        file: &IndexFile,
        paths: &[Vec<u8>],
    ) -> Result<Vec<Vec<u8>>, ProtectError> {
        let (below, mut written) = (Below::new(&repo.top), Vec::new());
        if let Some(error) = self.smudge(repo, index, file, paths).await?.failed {
            return Err(error.into());
        }
        for path in paths {
            let (is, smudged) = (repo.top.join(path_of(path)), self.scratch.join(path_of(path)));
            let is_other =
                |is: &Path| Ok::<_, FileError>(!below.is_regular(is)? || !has_same_bytes(is, &smudged)?);
            if is_regular(&smudged)? && below.is_free(&is)? && is_other(&is)? {
                write_now(&below, &is, &mut open(&smudged)?)?;
                written.push(path.clone());
            }
        }
        self.door.remove(&self.scratch)?;
        Ok(written)
    }
}

impl Site<'_> {
    /// Writes the content of files for which a switch between these trees has left pointers of git-lfs, as checkout
    /// does if it omits the content; reports files whose content is not local. `work` describes the files.
    pub(in crate::protect) async fn write_large(
        self,
        work: &Path,
        [was, now]: [&Oid; 2],
    ) -> Result<(), ProtectError> {
        let (repo, file) = (self.repo, self.repo.read_index_if_there(work)?);
        if was == now || !may_convert(self, work, &file, file.paths()).await? {
            return Ok(());
        }
        let changes = repo.git.diff_trees(was, now).await?;
        let paths: Vec<Vec<u8>> = changes.into_iter().map(|(_, path)| path).collect();
        let large: Vec<Vec<u8>> = repo.conversions(work, &paths).await?.large.into_iter().collect();
        if large.is_empty() {
            return Ok(());
        }
        let (written, left) = restore_large(self, &file, &large).await?;
        repo.update_index(work, &["--add"], &written).await?;
        self.tell_few(
            "these are pointers of git-lfs, whose content is not in its store here; git lfs pull fetches it",
            &left,
        );
        Ok(())
    }
}

/// Writes the content of the `paths` for which git has left pointers of git-lfs. Returns the paths that it wrote, and
/// those that have the bytes of their blobs for another reason.
async fn restore_large(
    site: Site<'_>,
    file: &IndexFile,
    paths: &[Vec<u8>],
) -> Result<(Vec<Vec<u8>>, Vec<Vec<u8>>), ProtectError> {
    let repo = site.repo;
    let (below, mut left) = (Below::new(&repo.top), Vec::new());
    for path in paths {
        let is = repo.top.join(path_of(path));
        if let Some(oid) = object_of(file, path)
            && below.is_regular(&is)?
            && is_blob_of(file, path, &read(&is)?)
        {
            left.push((path, is, oid));
        }
    }
    let oids: Vec<Oid> = left.iter().map(|(_, _, oid)| oid.clone()).collect();
    let (files, mut written) = (repo.large_files(&oids).await?, Vec::new());
    let mut unconverted = Vec::new();
    for (path, is, oid) in left {
        if let Some(content) = files.get(&oid) {
            write_now(&below, &is, &mut open(content)?)?;
            written.push(path.clone());
        } else {
            unconverted.push(path.clone());
        }
    }
    Ok((written, unconverted))
}

/// Writes a file with its present permissions and the present time: a build must notice the change.
fn write_now(below: &Below, file: &Path, source: &mut impl io::Read) -> Result<(), FileError> {
    let mode = target_of(file)?.map_or(0o644, |found| found.permissions().mode() & 0o7777);
    below.replace(file, |file| {
        io::copy(source, file)?;
        file.set_permissions(Permissions::from_mode(mode))
    })
}

fn open(file: &Path) -> Result<File, FileError> {
    File::open(file).map_err(|error| file_error("read", file, error))
}
