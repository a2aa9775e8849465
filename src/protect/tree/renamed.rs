//! Ignored files and directories that were moved when an attempt renamed a directory. Git does not know them, but
//! device, inode and birth time show that they are the same files, and they are renamed back.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::inventory::{Identity, Inventory};
use super::moment::Moment;
use super::savepoint::Savepoint;
use crate::fs::{Below, FileError, path_below, seen_in};
use crate::paths::named_in;
use crate::protect::ProtectError;
use crate::protect::records::Records;

impl Savepoint<'_> {
    /// Renames ignored paths and nested repositories back to their old places in the work tree; returns whether any had
    /// moved. One `lstat` for each ignored path, and a walk of the work tree if one is gone.
    pub fn rename_back(&self) -> Result<bool, ProtectError> {
        let records = Records::of(self.site);
        let known = match self.moment {
            Moment::Start => records.inventory_of_start()?,
            // The user may have renamed a directory since.
            Moment::Judged => None,
            Moment::Checkpoint if !self.has_own_inventory => None,
            Moment::Checkpoint => records.inventory_before_attempt()?,
        };
        let Some(known) = known else { return Ok(false) };
        let top = &self.site.repo.top;
        let wanted = gone(&known, &records)?;
        if wanted.is_empty() {
            return Ok(false);
        }
        let (below, mut back) = (Below::new(top), Vec::new());
        for (path, found) in find(top, &known, &wanted) {
            let place = path_below(top, &path);
            if below.rename(&found, &below, &place).is_ok() {
                back.push(path);
            }
        }
        back.sort();
        let what = "what was ignored was renamed along; it is back in its place";
        self.site.tell_few(what, &back);
        Ok(!back.is_empty())
    }
}

/// Lists the missing paths that can be restored: git-ralph writes nothing through a symlink.
fn gone(known: &Inventory, records: &Records) -> Result<HashMap<Identity, Vec<u8>>, FileError> {
    let mut gone = HashMap::new();
    let movable = known
        .iter()
        .filter(|(_, item)| item.kind.is_ignored() || item.kind.is_whole());
    for (path, item) in movable {
        if let Some(identity) = item.identity
            && records.is_gone(path)
            && records.has_only_directories_above(path)?
        {
            gone.insert(identity, path.clone());
        }
    }
    Ok(gone)
}

/// Finds their present places below the top; does not search directories of the inventory that are in place.
fn find(top: &Path, known: &Inventory, wanted: &HashMap<Identity, Vec<u8>>) -> Vec<(Vec<u8>, PathBuf)> {
    let mut found = Vec::new();
    let mut dirs = vec![Vec::new()];
    while let Some(dir) = dirs.pop() {
        for entry in seen_in(&path_below(top, &dir)) {
            if dir.is_empty() && entry.file_name() == ".git" {
                continue;
            }
            let path = named_in(&dir, entry.file_name().as_encoded_bytes());
            let Ok(is) = entry.metadata() else { continue };
            let is_known = known
                .kind_of(&path)
                .is_some_and(|kind| kind.is_whole() || !is.is_dir());
            match Identity::of(&is).and_then(|identity| wanted.get(&identity)) {
                Some(place) if !is_known => found.push((place.clone(), entry.path())),
                _ if is.is_dir() && !is_known => dirs.push(path),
                _ => {}
            }
        }
    }
    found
}
