//! Scans the user's work tree once when the loop begins, for data that neither git nor an index records: unusual
//! permissions, empty directories, pipes and sockets.

use std::io;
use std::path::Path;

use super::attribute_sources;
use super::file_modes::{IGNORES_LINKS, IGNORES_MODES, Modes, UMASK, Usual};
use super::inventory::{Inventory, Kind};
use super::moment::Moment;
use crate::fs::{FileError, entries_of, file_error, path_below, seen_itself, umask_now};
use crate::git::index::Entries;
use crate::protect::records::{Paths, Records};
use crate::protect::{ProtectError, Site};

/// Begins the records of a loop with all data for which git need not read the work tree: ignored files, unusual
/// permissions, empty directories, and the paths that the user's index hides. One scan of the directories and one
/// `lstat` for each file, in addition to git's own.
pub(super) async fn begin(site: Site<'_>, index: &Path, entries: &Entries) -> Result<(), ProtectError> {
    let records = Records::of(site);
    records.door.remove(&records.dir)?;
    let (inventory, attributes) = tokio::join!(
        Inventory::take(site.repo, index),
        site.repo.git.system_attributes()
    );
    attribute_sources::record(site, attributes?)?;
    let mut inventory = inventory?;
    // The snapshot contains them.
    inventory.retain(|_, kind| kind != Kind::Untracked);
    records.record_flags(entries)?;
    records.write(UMASK, format!("{:o}", umask_now()).as_bytes())?;
    if site.repo.ignores_modes {
        records.write(IGNORES_MODES, b"")?;
    }
    if site.repo.ignores_links {
        records.write(IGNORES_LINKS, b"")?;
    }
    let found = found(site, &inventory).await?;
    for (paths, kind) in [
        (&found.empty, Kind::EmptyDirectory),
        (&found.special, Kind::Special),
    ] {
        for path in paths {
            inventory.insert(&records.top, path, kind);
        }
    }
    records.save_inventory(Moment::Start, &inventory)?;
    records.save_modes(Moment::Start, &found.modes)?;
    records.record_top_mode(Moment::Start)?;
    Ok(records.save_modes(Moment::Checkpoint, &found.modes)?)
}

/// Scans the work tree except for the ignored paths of an inventory, nested repositories and git's own directory.
pub(super) async fn found(site: Site<'_>, inventory: &Inventory) -> Result<Found, FileError> {
    let records = Records::of(site);
    let (top, usual, ignored) = (records.top.clone(), records.usual(), inventory.clone());
    let walk = tokio::task::spawn_blocking(move || scan(&top, &ignored, &usual));
    walk.await
        .map_err(|lost| file_error("look at", &records.top, io::Error::other(lost)))
}

/// The result of the scan; paths relative to the top.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Permissions that differ from the usual ones.
    pub modes: Modes,
    /// Directories without entries, with a final `/`.
    pub empty: Paths,
    /// Paths that are neither a file nor a directory nor a symlink.
    special: Paths,
}

/// Scans all entries below `top` except for `ignored` paths, nested repositories and git's own directory. Unreadable
/// directories are skipped.
fn scan(top: &Path, ignored: &Inventory, usual: &Usual) -> Found {
    let mut found = Found::default();
    let is_ignored = |path: &[u8]| ignored.kind_of(path).is_some_and(Kind::is_ignored);
    let mut open = vec![Vec::new()];
    while let Some(dir) = open.pop() {
        let Ok(entries) = entries_of(&path_below(top, &dir)) else {
            continue;
        };
        let mut is_empty = true;
        for entry in entries {
            is_empty = false;
            let path = [&dir, entry.file_name().as_encoded_bytes()].concat();
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                let below = [&path[..], b"/"].concat();
                let leave = entry.file_name() == ".git"
                    || is_ignored(&path)
                    || seen_itself(&entry.path().join(".git")).is_some();
                if leave {
                    continue;
                }
                open.push(below);
            } else if is_ignored(&path) {
                continue;
            } else if !metadata.is_file() && !metadata.is_symlink() {
                found.special.insert(path);
                continue;
            }
            if let Some(mode) = usual.unusual(&metadata) {
                found.modes.insert(path, mode);
            }
        }
        if is_empty && !dir.is_empty() {
            found.empty.insert(dir);
        }
    }
    found
}
