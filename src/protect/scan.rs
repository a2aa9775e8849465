//! Walks over the user's tree once when the loop begins, to find what neither git nor an index records: unusual
//! permissions, empty directories, pipes and sockets.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::file_modes::{Modes, Usual};
use super::inventory::{Inventory, Kind};
use super::records::Paths;

/// The result of the walk; paths relative to the top.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Permissions that git would not give.
    pub modes: Modes,
    /// Directories without entries, with a final `/`.
    pub empty: Paths,
    /// Paths that are neither a file nor a directory nor a symlink.
    pub special: Paths,
}

/// Walks over everything below `top` except for `ignored` paths, nested repositories and git's own directory.
/// Unreadable directories are skipped.
pub(super) fn scan(top: &Path, ignored: &Inventory, usual: &Usual) -> Found {
    let mut found = Found::default();
    let is_ignored = |path: &[u8]| ignored.kind_of(path).is_some_and(Kind::is_ignored);
    let mut open = vec![Vec::new()];
    while let Some(dir) = open.pop() {
        let Ok(entries) = fs::read_dir(top.join(OsStr::from_bytes(&dir))) else {
            continue;
        };
        let mut is_empty = true;
        for entry in entries.filter_map(Result::ok) {
            is_empty = false;
            let path = [&dir, entry.file_name().as_bytes()].concat();
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                let below = [&path[..], b"/"].concat();
                let leave = entry.file_name() == ".git"
                    || is_ignored(&path)
                    || entry.path().join(".git").symlink_metadata().is_ok();
                if leave {
                    continue;
                }
                open.push(below);
            } else if metadata.is_symlink() || is_ignored(&path) {
                continue;
            } else if !metadata.is_file() {
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
