//! Finds files made by an attempt that git does not list: pipes, sockets, and ignore rules that hide themselves.

use std::path::Path;
use std::time::SystemTime;

use super::inventory::Inventory;
use super::pipes::CLOCK_LAG;
use crate::fs::{path_below, seen, seen_in};
use crate::git::GitError;
use crate::paths::{directories, named_in};
use crate::protect::Site;

/// Finds special files, and ignore rules that hide themselves, in the directories of the files in `index`, if they were
/// made since `since` and are not in `known`. `index` describes the work tree.
pub(super) fn made_since(
    site: Site<'_>,
    index: &Path,
    known: &Inventory,
    since: SystemTime,
) -> Result<Vec<Vec<u8>>, GitError> {
    let since = since - CLOCK_LAG;
    let file = site.repo.read_index_or_none(index)?;
    let mut dirs = directories(file.paths());
    dirs.insert(b"");
    let mut found = Vec::new();
    for dir in dirs {
        let path = path_below(&site.repo.top, dir);
        let changed = seen(&path).and_then(|found| found.modified().ok());
        if changed.is_some_and(|changed| changed < since) {
            continue;
        }
        for entry in seen_in(&path) {
            let Ok(kind) = entry.file_type() else { continue };
            let name = named_in(dir, entry.file_name().as_encoded_bytes());
            if known.kind_of(&name).is_some() {
                continue;
            }
            let special = !(kind.is_file() || kind.is_dir() || kind.is_symlink());
            let rules = entry.file_name() == ".gitignore" && !file.has(&name);
            let made = entry.metadata().and_then(|metadata| metadata.created());
            if rules || (special && made.is_ok_and(|made| made >= since)) {
                found.push(name);
            }
        }
    }
    Ok(found)
}
