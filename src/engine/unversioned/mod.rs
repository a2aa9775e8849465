//! What the user has that git does not keep, and that an attempt must not take away: which files were
//! ignored when the loop began (and the small ones themselves), empty directories, and permissions
//! other than the usual ones (hazards A4, A5, A10, A11, D14, D15).
//!
//! It is kept in `unversioned/` below the loop's directory, never as objects: a mirror push must not
//! carry an ignored secret away.

mod covered;
mod flags;
mod ignored;
mod modes;
mod raw_bytes;
mod survey;
mod unseen;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use self::modes::{MODES, MODES_OF_START};
use self::raw_bytes::RawBytes;
use self::survey::survey;
use super::Session;
use super::touched::{tracked_directories, tracked_paths};
use crate::error::Error;
use crate::fs::{Durability, file_error, write_atomically};
use crate::git::Repo;
use crate::git::index::{self, Entries};

/// Bytes that git would not give back, as they were when the loop began.
const RAW_OF_START: &str = "raw.start";

type Paths = BTreeSet<Vec<u8>>;

/// The loop's records of what git does not keep.
#[derive(Clone, Debug)]
pub(super) struct Unversioned {
    dir: PathBuf,
    top: PathBuf,
}

impl Unversioned {
    pub fn new(dir: PathBuf, top: &Path) -> Self {
        Self {
            dir,
            top: top.to_owned(),
        }
    }

    /// Records what is there when the loop begins and does not need the work tree to be read by git first:
    /// what is ignored, unusual permissions, empty directories, and what the user's index hides. One scan of
    /// the directories and a look at every file, beside git's own.
    pub async fn record_start(&self, repo: &Repo, index: &Path, entries: &Entries) -> Result<(), Error> {
        let ignored = self.record_ignored(repo, index).await?;
        self.record_flags(entries)?;
        let top = self.top.clone();
        let walk = tokio::task::spawn_blocking(move || survey(&top, &ignored));
        let found = walk
            .await
            .map_err(|lost| file_error("look at", &self.top, io::Error::other(lost)))?;
        self.save_paths("empty", &found.empty)?;
        self.save_modes(MODES_OF_START, &found.modes)?;
        self.save_modes(MODES, &found.modes)
    }

    /// Records the bytes that git would not give back; `index` describes the work tree, `oid` is the length
    /// of an object id in bytes.
    pub async fn record_raw(&self, repo: &Repo, index: &Path, oid: usize) -> Result<(), Error> {
        if !repo.may_convert(index, oid).await? {
            return Ok(());
        }
        let all: Vec<_> = tracked_paths(index, oid).into_iter().collect();
        let raw = RawBytes::new(&self.dir, "raw");
        raw.record(repo, index, oid, &all).await?;
        raw.copy_to(&RawBytes::new(&self.dir, RAW_OF_START))
    }

    /// Makes the empty directories that are gone.
    fn put_back_directories(&self) -> Result<(), Error> {
        for path in self.paths("empty")? {
            let dir = self.top.join(OsStr::from_bytes(&path));
            if dir.symlink_metadata().is_err() {
                fs::create_dir_all(&dir).map_err(|error| file_error("make", &dir, error))?;
            }
        }
        Ok(())
    }

    /// Whether this untracked directory is, or holds, one that was empty when the loop began.
    fn was_empty(&self, path: &[u8]) -> Result<bool, Error> {
        if !self.knows("empty") {
            return Ok(holds_no_file(&self.top.join(OsStr::from_bytes(path))));
        }
        Ok(path.ends_with(b"/") && self.paths("empty")?.iter().any(|empty| empty.starts_with(path)))
    }

    /// Whether there is such a record; it is gone when an agent deleted the loop's directory.
    fn knows(&self, name: &str) -> bool {
        self.dir.join(name).exists()
    }

    fn paths(&self, name: &str) -> Result<Paths, Error> {
        Ok(self
            .read(name)?
            .split(|byte| *byte == 0)
            .filter(|path| !path.is_empty())
            .map(<[u8]>::to_vec)
            .collect())
    }

    fn save_paths(&self, name: &str, paths: &Paths) -> Result<(), Error> {
        let mut bytes = Vec::new();
        for path in paths {
            bytes.extend_from_slice(path);
            bytes.push(0);
        }
        self.write(name, &bytes)
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, Error> {
        let path = self.dir.join(name);
        match fs::read(&path) {
            Ok(bytes) => Ok(bytes),
            // A loop whose directory was deleted knows less, and says so elsewhere.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(file_error("read", &path, error).into()),
        }
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        fs::create_dir_all(&self.dir).map_err(|error| file_error("make", &self.dir, error))?;
        let path = self.dir.join(name);
        Ok(write_atomically(&path, bytes, 0o600, Durability::Atomic)?)
    }
}

/// Whether this is a directory with nothing but directories in it.
fn holds_no_file(path: &Path) -> bool {
    let is_bare = |entry: io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| {
            entry.file_type().is_ok_and(|kind| kind.is_dir()) && holds_no_file(&entry.path())
        })
    };
    fs::read_dir(path).is_ok_and(|mut entries| entries.all(is_bare))
}

impl Session<'_> {
    pub(super) fn unversioned(&self) -> Unversioned {
        Unversioned::new(self.file("unversioned"), &self.engine.repo.top)
    }

    /// Records permissions and lossy bytes of what the story touched. Called with the new index in place.
    pub(super) async fn record_touched(&self) -> Result<(), Error> {
        let repo = &self.engine.repo;
        let mut touched = self.touched_between(&self.file("checkpoint.index"), &repo.index());
        touched.extend(self.touched_at_once(&repo.index(), self.state.started));
        if !touched.is_empty() {
            self.unversioned().record_modes(&touched)?;
            let oid = self.oid_length();
            self.raw_bytes()
                .record(repo, &repo.index(), oid, &touched)
                .await?;
            if !self.unversioned().sparse()?.is_empty() {
                let sparse = repo.index_entries(&repo.index(), oid).await?.sparse;
                self.unversioned()
                    .save_paths("sparse", &sparse.into_iter().collect())?;
            }
        }
        self.remember_index()
    }

    /// Brings back what git does not keep. Called with the checkpoint's index in place.
    /// `touched` are the paths that may differ from what they were.
    pub(super) async fn restore_unversioned(&mut self, touched: &[Vec<u8>]) -> Result<(), Error> {
        self.unversioned().put_back_ignored()?;
        self.restore_unversioned_as(MODES, &self.raw_bytes(), touched)
            .await?;
        self.remember_index()
    }

    /// Brings back what git does not keep, as it was when the loop began.
    pub(super) async fn restore_unversioned_of_start(&mut self, touched: &[Vec<u8>]) -> Result<(), Error> {
        self.unversioned().put_back_ignored_of_start()?;
        let raw = RawBytes::new(&self.file("unversioned"), RAW_OF_START);
        self.restore_unversioned_as(MODES_OF_START, &raw, touched).await
    }

    async fn restore_unversioned_as(
        &self,
        modes: &str,
        raw: &RawBytes,
        touched: &[Vec<u8>],
    ) -> Result<(), Error> {
        let unversioned = self.unversioned();
        unversioned.put_back_directories()?;
        let written = raw.restore(&self.engine.repo.top, touched)?;
        if !written.is_empty() {
            // Git takes a file of another size for changed until it has read it again.
            let work = self.file("work.index");
            index::copy(&self.engine.repo.index(), &work)?;
            self.engine.repo.update_index(&work, &["--add"], &written).await?;
            self.install_working_index().await?;
        }
        let tracked = tracked_directories(&self.engine.repo.index(), self.oid_length());
        let empty = unversioned.paths("empty")?;
        let bare = |dir: &Vec<u8>| dir.strip_suffix(b"/").unwrap_or(dir).to_vec();
        let empty: Vec<_> = empty.iter().map(bare).collect();
        let dirs: Vec<&[u8]> = tracked.iter().chain(&empty).map(Vec::as_slice).collect();
        unversioned.restore_modes(modes, touched, &dirs)
    }

    /// Whether an untracked path is an empty directory of the user's.
    pub(super) fn is_users_empty_directory(&self, path: &[u8]) -> Result<bool, Error> {
        self.unversioned().was_empty(path)
    }
}
