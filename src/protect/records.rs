//! Records of what git does not store and an attempt must not take away, in `unversioned/` in the slot:
//! lists of paths, permissions, inventories, and copies of small ignored files. They are never objects: a mirror push
//! must not carry an ignored secret away.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::Site;
use super::permissions::look_with_permissions;
use super::tree::inventory::{Inventory, Kind};
use super::tree::moment::Moment;
use super::tree::stat_changes::parents;
use crate::fs::{
    Below, Durability, FileError, Links, file_error, is_directory, is_there, kind_of, may_be_there,
    may_exist, path_below, read_regular,
};
use crate::git::GitError;

/// Name of the inventory before the last attempt, and, at the start, of that when the loop began.
const INVENTORY: &str = "inventory";

/// Name of a file that exists if git ignored executable bits at the start: then each one that is set is recorded.
pub(super) const IGNORES_MODES: &str = "ignores-modes";

/// Name of a file that exists if git wrote links as files at the start: then each link is recorded.
pub(super) const IGNORES_LINKS: &str = "ignores-links";

/// Name of the record of unusual permissions.
pub(super) const MODES: &str = "modes";

/// Paths relative to the top.
pub(super) type Paths = BTreeSet<Vec<u8>>;

/// The records of a loop.
#[derive(Clone, Debug)]
pub(super) struct Records {
    pub(super) dir: PathBuf,
    pub(super) top: PathBuf,
    /// The door to `dir`.
    pub(super) door: Below,
}

impl Records {
    /// Returns the records of this loop.
    pub fn of(site: Site<'_>) -> Self {
        Self {
            dir: site.file("unversioned"),
            top: site.repo.top.clone(),
            door: site.own_door(),
        }
    }

    /// Returns whether a path no longer exists.
    pub fn is_gone(&self, path: &[u8]) -> bool {
        !may_be_there(&path_below(&self.top, path))
    }

    /// Returns whether all components above a path are directories: nothing is written through a symlink.
    pub fn has_only_directories_above(&self, path: &[u8]) -> Result<bool, FileError> {
        for dir in parents(path) {
            let dir = path_below(&self.top, dir);
            let found = look_with_permissions(&self.top, &dir, kind_of)?;
            if found.is_some_and(|found| !found.is_dir()) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Creates the missing empty directories again.
    pub fn put_back_directories(&self) -> Result<(), FileError> {
        for path in self.empty_directories()? {
            let dir = path_below(&self.top, &path);
            if !is_there(&dir)? && self.has_only_directories_above(&path)? {
                Below::new(&self.top).make_dir(&dir, 0o777)?;
            }
        }
        Ok(())
    }

    /// Returns the directories that were empty when the loop began, without a final `/`.
    pub fn empty_directories(&self) -> Result<Vec<Vec<u8>>, FileError> {
        let inventory = self.inventory_of_start()?.unwrap_or_default();
        let empty = inventory
            .iter()
            .filter(|(_, item)| item.kind == Kind::EmptyDirectory);
        Ok(empty.map(|(path, _)| path.clone()).collect())
    }

    /// Takes the inventory of the present work tree. One scan.
    pub async fn take_inventory(&self, site: Site<'_>, index: &Path) -> Result<Inventory, GitError> {
        Inventory::take(site.repo, index).await
    }

    /// Returns the untracked paths of the beginning of the loop, except those in its snapshot; `None` if the record is
    /// lost.
    pub fn inventory_of_start(&self) -> Result<Option<Inventory>, FileError> {
        let name = Moment::Start.name(INVENTORY);
        self.inventory(&name)
    }

    /// Returns the untracked paths from before the last attempt; `None` if there is no record.
    pub fn inventory_before_attempt(&self) -> Result<Option<Inventory>, FileError> {
        self.inventory(INVENTORY)
    }

    fn inventory(&self, name: &str) -> Result<Option<Inventory>, FileError> {
        if !self.knows(name) {
            return Ok(None);
        }
        Ok(Some(Inventory::from_bytes(&self.read(name)?)))
    }

    /// Saves an inventory of that moment; the checkpoint's is the one before the last attempt.
    pub fn save_inventory(&self, moment: Moment, inventory: &Inventory) -> Result<(), FileError> {
        self.write(&moment.name(INVENTORY), &inventory.to_bytes())
    }

    /// Returns whether such a record exists; it is gone if an agent deleted the slot.
    pub fn knows(&self, name: &str) -> bool {
        may_exist(&self.dir.join(name))
    }

    /// Returns whether the permissions of that moment are recorded.
    pub fn knows_modes(&self, moment: Moment) -> bool {
        self.knows(&moment.name(MODES))
    }

    /// Reads a list of paths.
    pub fn paths(&self, name: &str) -> Result<Paths, FileError> {
        Ok(self
            .read(name)?
            .split(|byte| *byte == 0)
            .filter(|path| !path.is_empty())
            .map(<[u8]>::to_vec)
            .collect())
    }

    /// Saves a list of paths.
    pub fn save_paths(&self, name: &str, paths: &Paths) -> Result<(), FileError> {
        let mut bytes = Vec::new();
        for path in paths {
            bytes.extend_from_slice(path);
            bytes.push(0);
        }
        self.write(name, &bytes)
    }

    /// Removes a list of paths.
    pub fn forget_paths(&self, name: &str) -> Result<(), FileError> {
        self.door.remove_file(&self.dir.join(name))
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, FileError> {
        let path = self.dir.join(name);
        match read_regular(&path, Links::Refused, u64::MAX) {
            Ok(bytes) => Ok(bytes),
            // A loop whose directory was deleted knows less.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(file_error("read", &path, error)),
        }
    }

    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), FileError> {
        let path = self.dir.join(name);
        // Most records stay as they are from story to story.
        let most = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if read_regular(&path, Links::Refused, most).is_ok_and(|known| known == bytes) {
            return Ok(());
        }
        self.door.make_dir(&self.dir, 0o777)?;
        self.door.write(&path, bytes, 0o600, Durability::Atomic)
    }
}

/// Removes copies below `dir` that block the place of the copy of the file `path`: a file became a directory, or the
/// other way round.
pub(super) fn make_room(door: &Below, dir: &Path, path: &[u8]) -> Result<(), FileError> {
    for above in parents(path) {
        let above = path_below(dir, above);
        if kind_of(&above)?.is_some_and(|found| !found.is_dir()) {
            door.remove_file(&above)?;
        }
    }
    let copy = path_below(dir, path);
    if is_directory(&copy)? {
        door.remove(&copy)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn unchanged_record_is_not_written_again() {
        let dir = tempfile::tempdir().unwrap();
        let records = Records {
            dir: dir.path().join("unversioned"),
            top: dir.path().to_owned(),
            door: Below::new(dir.path()),
        };
        let file = records.dir.join("inventory");
        let write = |bytes: &[u8]| {
            records.write("inventory", bytes).unwrap();
            assert_eq!(fs::read(&file).unwrap(), bytes);
            file.metadata().unwrap().ino()
        };
        for (bytes, longer) in [(&b""[..], &b"a\0"[..]), (b"a\0", b"a\0b\0")] {
            let first = write(bytes);
            assert_eq!(write(bytes), first);
            assert_ne!(write(longer), first);
            assert_ne!(write(bytes), write(longer));
        }
    }
}
