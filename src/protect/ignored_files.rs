//! Files that git ignores before an attempt: those that were there at the beginning never enter a checkpoint, and the
//! small ones come back when an attempt deletes them.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::file_modes::Modes;
use super::inventory::Inventory;
use super::records::Records;
use super::savepoint::Moment;
use super::{ProtectError, Site};
use crate::events::Notices;
use crate::fs::{FileError, copy_file, file_error};
use crate::git::worktree::Reading;
use crate::paths::first_few;

/// Ignored files up to this size are copied.
const SMALL: u64 = 1024 * 1024;
/// The record of the permissions of those that are copied.
const IGNORED_MODES: &str = "ignored-modes";
/// At most this many of them are copied.
const MANY: usize = 1000;

impl Records {
    /// Copies the small ignored files that have changed since the last copy, and keeps the inventory of what is there
    /// now: what a complete story or a person deleted does not come back.
    fn copy_ignored(&self, now: &Inventory) -> Result<(), FileError> {
        if self.inventory_before_attempt()?.as_ref() != Some(now) {
            self.save_inventory(Moment::Checkpoint, now)?;
        }
        let mut modes = Modes::new();
        for (path, is) in self.to_copy(now)? {
            modes.insert(path.clone(), is.permissions().mode() & 0o777);
            let from = self.top.join(OsStr::from_bytes(path));
            let to = self.copy_of(path);
            let same = to
                .metadata()
                .is_ok_and(|copy| copy.len() == is.len() && copy.modified().ok() == is.modified().ok());
            if !same {
                match copy_file(&from, &to) {
                    // What we may not read the agent may not read either; it can still be somebody else's.
                    Err(FileError { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied => {}
                    copied => copied?,
                }
            }
        }
        // An attempt may change the permissions of the copies too (`chmod -R`).
        if self.read_modes(IGNORED_MODES)? != modes {
            self.write_modes(IGNORED_MODES, &modes)?;
        }
        Ok(())
    }

    fn copy_of(&self, path: &[u8]) -> PathBuf {
        self.dir.join("files").join(OsStr::from_bytes(path))
    }

    /// Selects the small files of the inventory that are copied.
    fn to_copy<'i>(&self, now: &'i Inventory) -> Result<Vec<(&'i Vec<u8>, Metadata)>, FileError> {
        let start = self.inventory_of_start()?.unwrap_or_default();
        // Those that were there at the beginning come first: many later ones must not take their places.
        let (first, later): (Vec<_>, Vec<_>) = now.files().partition(|path| start.kind_of(path).is_some());
        let small = |path: &'i Vec<u8>| {
            let is = self.top.join(OsStr::from_bytes(path)).symlink_metadata().ok()?;
            (is.is_file() && is.len() <= SMALL).then_some((path, is))
        };
        let all = first.into_iter().chain(later);
        Ok(all.filter_map(small).take(MANY).collect())
    }

    /// Puts back the copies of ignored files that were there at that moment and are gone, and the permissions of the
    /// others. Returns the paths that were gone, and of these the ones of which there is no copy.
    pub(super) fn put_back_ignored(&self, moment: Moment) -> Result<Gone, FileError> {
        let before = match moment {
            Moment::Start => None,
            Moment::Checkpoint => self.inventory_before_attempt()?,
        };
        let inventory = match before {
            Some(before) => before,
            None => self.inventory_of_start()?.unwrap_or_default(),
        };
        let mut gone = Gone::default();
        let unkept = inventory
            .iter()
            .filter(|(_, item)| item.kind.is_ignored() || item.kind.is_whole());
        gone.all.extend(
            unkept
                .map(|(path, _)| path.clone())
                .filter(|path| self.is_gone(path)),
        );
        let modes = self.read_modes(IGNORED_MODES)?;
        for path in inventory.files() {
            let to = self.top.join(OsStr::from_bytes(path));
            let copy = self.copy_of(path);
            let Ok(kept) = copy.symlink_metadata() else {
                continue;
            };
            if !kept.is_file() || !self.has_only_directories_above(path) {
                continue;
            }
            let is = match to.symlink_metadata() {
                Ok(is) => is,
                Err(_) => {
                    copy_file(&copy, &to)?;
                    kept
                }
            };
            let mode = modes.get(path).copied();
            if let Some(mode) = mode.filter(|mode| is.is_file() && is.permissions().mode() & 0o777 != *mode) {
                fs::set_permissions(&to, fs::Permissions::from_mode(mode))
                    .map_err(|error| file_error("change the mode of", &to, error))?;
            }
        }
        gone.for_good
            .extend(gone.all.iter().filter(|path| self.is_gone(path)).cloned());
        Ok(gone)
    }

    /// Selects those of `paths` that were ignored when the loop began.
    fn ignored_at_start<'p>(
        &self,
        paths: impl Iterator<Item = &'p Vec<u8>>,
    ) -> Result<Vec<Vec<u8>>, FileError> {
        let mut paths = paths.peekable();
        if paths.peek().is_none() {
            return Ok(Vec::new());
        }
        let start = self.inventory_of_start()?.unwrap_or_default();
        Ok(paths.filter(|path| start.holds_back(path)).cloned().collect())
    }
}

/// Ignored paths, and repositories of their own, that were gone when the work tree was put back.
#[derive(Debug, Default)]
pub(super) struct Gone {
    /// All of them.
    pub all: Vec<Vec<u8>>,
    /// Those of which there is no copy.
    pub for_good: Vec<Vec<u8>>,
}

/// Takes the inventory before an attempt, and copies the small ignored files. One scan of the work tree.
pub(super) async fn record(site: Site<'_>) -> Result<(), ProtectError> {
    let records = Records::of(site);
    let now = records.take_inventory(site, &site.repo.index()).await?;
    Ok(records.copy_ignored(&now)?)
}

/// Leaves out of a reading what git ignored when the loop began and an attempt made it take in, and what new exclude
/// rules hid.
pub(super) async fn leave_out(
    site: Site<'_>,
    work: &Path,
    mut reading: Reading,
    notices: &mut dyn Notices,
) -> Result<Reading, ProtectError> {
    let records = Records::of(site);
    let taken = records.ignored_at_start(reading.added())?;
    let mut left_out = records.hidden_among(reading.added())?;
    left_out.extend(taken.iter().cloned());
    if !left_out.is_empty() {
        let repo = site.repo;
        repo.update_index(work, &["--force-remove"], &left_out).await?;
        reading.tree = repo.git.write_tree(work).await?;
        if let Some(changes) = &mut reading.changes {
            changes.retain(|(_, path)| !left_out.contains(path));
        }
    }
    if !taken.is_empty() {
        notices.tell(format!(
            "left out, because git ignored it when the loop began: {}",
            first_few(&taken).join(", ")
        ));
    }
    Ok(reading)
}
