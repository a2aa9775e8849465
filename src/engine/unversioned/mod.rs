//! What the user has that git does not keep, and that an attempt must not take away: which files were
//! ignored when the loop began (and the small ones themselves), empty directories, and permissions
//! other than the usual ones (hazards A4, A5, A10, A11, D14, D15).
//!
//! It is kept in `unversioned/` below the loop's directory, never as objects: a mirror push must not
//! carry an ignored secret away.

mod covered;
mod flags;
mod ignored;
mod inventory;
mod leftovers;
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

pub(super) use self::inventory::Inventory;
use self::inventory::Kind;
pub(super) use self::leftovers::untracked_beside_ignored;
use self::modes::{MODES, MODES_OF_START};
use self::raw_bytes::RawBytes;
use self::survey::survey;
use super::Session;
use super::touched::{tracked_directories, tracked_paths};
use crate::error::Error;
use crate::fs::{Durability, file_error, remove_dir, write_atomically};
use crate::git::Repo;
use crate::git::index::{self, Entries};

/// Bytes that git would not give back, as they were when the loop began.
const RAW_OF_START: &str = "raw.start";

/// What git did not track when the loop began, and before the last attempt.
const INVENTORY_OF_START: &str = "inventory.start";
const INVENTORY: &str = "inventory";

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
        remove_dir(&self.dir)?;
        let mut inventory = Inventory::take(repo, index).await?;
        // The snapshot has them.
        inventory.retain(|_, kind| kind != Kind::Untracked);
        self.record_flags(entries)?;
        let top = self.top.clone();
        let walk = tokio::task::spawn_blocking(move || (survey(&top, &inventory), inventory));
        let (found, mut inventory) = walk
            .await
            .map_err(|lost| file_error("look at", &self.top, io::Error::other(lost)))?;
        for (paths, kind) in [
            (&found.empty, Kind::EmptyDirectory),
            (&found.special, Kind::Special),
        ] {
            for path in paths {
                inventory.insert(&self.top, path, kind);
            }
        }
        self.save_inventory(INVENTORY_OF_START, &inventory)?;
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
        for path in self.empty_directories()? {
            let dir = self.top.join(OsStr::from_bytes(&path));
            if dir.symlink_metadata().is_err() {
                fs::create_dir_all(&dir).map_err(|error| file_error("make", &dir, error))?;
            }
        }
        Ok(())
    }

    /// Directories that were empty when the loop began, without a final `/`.
    fn empty_directories(&self) -> Result<Vec<Vec<u8>>, Error> {
        let inventory = self.inventory_of_start()?.unwrap_or_default();
        let empty = inventory
            .iter()
            .filter(|(_, item)| item.kind == Kind::EmptyDirectory);
        Ok(empty.map(|(path, _)| path.clone()).collect())
    }

    /// What git did not track when the loop began, but for what its snapshot holds; `None` where the record
    /// is lost.
    fn inventory_of_start(&self) -> Result<Option<Inventory>, Error> {
        if self.knows(INVENTORY_OF_START) {
            return Ok(Some(Inventory::from_bytes(&self.read(INVENTORY_OF_START)?)));
        }
        // The records of earlier versions.
        if !self.knows("ignored") {
            return Ok(None);
        }
        let mut inventory = Inventory::from_list(self.paths("ignored")?);
        for path in self.paths("empty")? {
            inventory.insert(&self.top, &path, Kind::EmptyDirectory);
        }
        Ok(Some(inventory))
    }

    /// What git did not track before the last attempt; `None` where there is no record.
    fn inventory_before_attempt(&self) -> Result<Option<Inventory>, Error> {
        if self.knows(INVENTORY) {
            return Ok(Some(Inventory::from_bytes(&self.read(INVENTORY)?)));
        }
        if !self.knows("ignored.later") {
            return Ok(None);
        }
        let (mut paths, gone) = (self.paths("ignored")?, self.paths("gone")?);
        paths.extend(self.paths("ignored.later")?);
        paths.retain(|path| !gone.contains(path));
        Ok(Some(Inventory::from_list(paths)))
    }

    fn save_inventory(&self, name: &str, inventory: &Inventory) -> Result<(), Error> {
        self.write(name, &inventory.to_bytes())
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
        match crate::fs::read_regular(&path, crate::fs::Links::Refused, u64::MAX) {
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
        let empty = unversioned.empty_directories()?;
        let dirs: Vec<&[u8]> = tracked.iter().chain(&empty).map(Vec::as_slice).collect();
        unversioned.restore_modes(modes, touched, &dirs)
    }
}
