//! The inventories among the records, and checks whether their paths still exist.

use std::collections::BTreeSet;

use super::inventory::{Inventory, Kind};
use super::moment::Moment;
use crate::fs::{Below, FileError, is_there, kind_of, may_be_there, path_below};
use crate::paths::{directories, parents};
use crate::protect::permissions::look_with_permissions;
use crate::protect::records::{Paths, Records};

/// Name of the inventory before the last attempt, and, with the start's prefix, of the one when the loop began.
const INVENTORY: &str = "inventory";

impl Records {
    /// Returns whether a path no longer exists.
    pub(super) fn is_gone(&self, path: &[u8]) -> bool {
        !may_be_there(&path_below(&self.top, path))
    }

    /// Returns whether all components above a path are directories: git-ralph writes nothing through a symlink.
    pub(super) fn has_only_directories_above(&self, path: &[u8]) -> Result<bool, FileError> {
        for dir in parents(path) {
            let dir = path_below(&self.top, dir);
            let found = look_with_permissions(&self.top, &dir, kind_of)?;
            if found.is_some_and(|found| !found.is_dir()) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Creates the missing ones of these directories, and returns them.
    pub(super) fn make_directories<'p>(
        &self,
        paths: impl IntoIterator<Item = &'p Vec<u8>>,
    ) -> Result<Paths, FileError> {
        let mut made = Paths::new();
        for path in paths {
            let dir = path_below(&self.top, path);
            if !is_there(&dir)? && self.has_only_directories_above(path)? {
                Below::new(&self.top).make_dir(&dir, 0o777)?;
                made.insert(path.clone());
            }
        }
        Ok(made)
    }

    /// Returns the directories that were empty when the loop began, without a final `/`; for a checkpoint, only those
    /// that still existed before the last attempt.
    pub(super) fn empty_directories(&self, moment: Moment) -> Result<Vec<Vec<u8>>, FileError> {
        let inventory = match moment {
            Moment::Checkpoint => self.last_inventory()?,
            _ => self.inventory_of_start()?.unwrap_or_default(),
        };
        let empty = inventory
            .iter()
            .filter(|(_, item)| item.kind == Kind::EmptyDirectory);
        Ok(empty.map(|(path, _)| path.clone()).collect())
    }

    /// Returns the untracked paths when the loop began, except those in its snapshot; `None` if the record is lost.
    pub(super) fn inventory_of_start(&self) -> Result<Option<Inventory>, FileError> {
        let name = Moment::Start.name(INVENTORY);
        self.inventory(&name)
    }

    /// Returns the untracked paths from before the last attempt; `None` if there is no record.
    pub(super) fn inventory_before_attempt(&self) -> Result<Option<Inventory>, FileError> {
        self.inventory(INVENTORY)
    }

    /// Returns the untracked paths from before the last attempt; without a record, those from when the loop began.
    pub(super) fn last_inventory(&self) -> Result<Inventory, FileError> {
        match self.inventory_before_attempt()? {
            Some(before) => Ok(before),
            None => Ok(self.inventory_of_start()?.unwrap_or_default()),
        }
    }

    fn inventory(&self, name: &str) -> Result<Option<Inventory>, FileError> {
        if !self.knows(name) {
            return Ok(None);
        }
        Ok(Some(Inventory::from_bytes(&self.read(name)?)))
    }

    /// Removes these paths, and the ignored directories around them, from the inventory before the last attempt: they
    /// are deleted with undone work, and must not be restored by that inventory.
    pub(super) fn forget_before_attempt(&self, gone: &[Vec<u8>]) -> Result<(), FileError> {
        let Some(mut before) = self.inventory_before_attempt()? else {
            return Ok(());
        };
        let paths: BTreeSet<&[u8]> = gone.iter().map(Vec::as_slice).collect();
        let around = directories(paths.iter().copied());
        let goes = |path: &[u8], kind: Kind| {
            let mut above = parents(path);
            paths.contains(path)
                || above.any(|dir| paths.contains(dir))
                || kind.is_ignored() && around.contains(path)
        };
        if before.iter().any(|(path, item)| goes(path, item.kind)) {
            before.retain(|path, kind| !goes(path, kind));
            self.save_inventory(Moment::Checkpoint, &before)?;
        }
        Ok(())
    }

    /// Saves an inventory of that moment; the checkpoint's is the one before the last attempt.
    pub(super) fn save_inventory(&self, moment: Moment, inventory: &Inventory) -> Result<(), FileError> {
        self.write(&moment.name(INVENTORY), &inventory.to_bytes())
    }
}
