//! Files whose bytes do not survive git: a filter, a line-ending or an encoding rule makes something
//! else of them when git writes them (hazards A6, A7). Their bytes are kept beside git, and come back
//! after a revert. Only repositories that have such rules pay for it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::engine::Session;
use crate::engine::files::{copy_file, file_error, remove_dir};
use crate::engine::touched::parent_slices;
use crate::error::Error;
use crate::git::Repo;
use crate::git::index_file::Index;

/// The bytes that are kept, as files.
#[derive(Clone, Debug)]
pub(super) struct RawBytes {
    /// Copies, by path.
    kept: PathBuf,
    /// Where git writes what it would make of a file, for comparison.
    scratch: PathBuf,
}

impl RawBytes {
    pub fn new(dir: &Path, name: &str) -> Self {
        Self {
            kept: dir.join(name),
            scratch: dir.join("smudged"),
        }
    }

    /// Brings the copies of `paths` up to date: keeps the bytes of those that git would write otherwise.
    /// `index` describes the work tree, `oid` is the length of an object id in bytes.
    pub async fn record(
        &self,
        repo: &Repo,
        index: &Path,
        oid: usize,
        paths: &[Vec<u8>],
    ) -> Result<(), Error> {
        if !repo.may_convert(index, oid).await? {
            return Ok(());
        }
        // What a story deleted, or has git forget, has no content that git could write.
        let bytes = fs::read(index).unwrap_or_default();
        let known = Index::parse(&bytes, oid);
        let is_known = |path: &&Vec<u8>| {
            let entries = known.as_ref().map(|index| &index.entries);
            entries.is_none_or(|entries| entries.binary_search_by(|entry| (*entry.path).cmp(path)).is_ok())
        };
        let known: Vec<Vec<u8>> = paths.iter().filter(is_known).cloned().collect();
        let converted = repo.converted_paths(index, &known).await?;
        remove_dir(&self.scratch)?;
        repo.write_copies(index, &converted, &self.scratch).await?;
        for path in paths {
            let name = OsStr::from_bytes(path);
            let (file, kept) = (repo.top.join(name), self.kept.join(name));
            let is_regular = file.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
            let smudged = self.scratch.join(name);
            if is_regular && smudged.is_file() && fs::read(&file).ok() != fs::read(&smudged).ok() {
                self.make_room(path)?;
                copy_file(&file, &kept)?;
            } else if kept.is_file() {
                fs::remove_file(&kept).map_err(|error| file_error("remove", &kept, error))?;
            }
        }
        remove_dir(&self.scratch)
    }

    /// Copies all that is kept to another name.
    pub fn copy_to(&self, other: &Self) -> Result<(), Error> {
        let mut open = vec![PathBuf::new()];
        while let Some(below) = open.pop() {
            for entry in fs::read_dir(self.kept.join(&below))
                .into_iter()
                .flatten()
                .filter_map(Result::ok)
            {
                let path = below.join(entry.file_name());
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    open.push(path);
                } else {
                    copy_file(&self.kept.join(&path), &other.kept.join(&path))?;
                }
            }
        }
        Ok(())
    }

    /// Removes copies that stand where the copy of `path` goes: a file is a directory now, or the other
    /// way round.
    fn make_room(&self, path: &[u8]) -> Result<(), Error> {
        for dir in parent_slices(path) {
            let dir = self.kept.join(OsStr::from_bytes(dir));
            if dir.is_file() {
                fs::remove_file(&dir).map_err(|error| file_error("remove", &dir, error))?;
            }
        }
        let kept = self.kept.join(OsStr::from_bytes(path));
        if kept.is_dir() {
            remove_dir(&kept)?;
        }
        Ok(())
    }

    /// Writes the kept bytes back where `paths` have others; gives those that it wrote.
    pub fn restore(&self, top: &Path, paths: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, Error> {
        let mut written = Vec::new();
        if !self.kept.exists() {
            return Ok(written);
        }
        for path in paths {
            let name = OsStr::from_bytes(path);
            let (file, kept) = (top.join(name), self.kept.join(name));
            let is_regular = file.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
            if is_regular && kept.is_file() && fs::read(&file).ok() != fs::read(&kept).ok() {
                copy_file(&kept, &file)?;
                written.push(path.clone());
            }
        }
        Ok(written)
    }
}

impl Session<'_> {
    pub(super) fn raw_bytes(&self) -> RawBytes {
        RawBytes::new(&self.file("unversioned"), "raw")
    }
}
