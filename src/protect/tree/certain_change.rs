//! Decides without a process whether an attempt has certainly changed a tracked file.

use super::attribute_sources::may_convert;
use super::savepoint::Savepoint;
use crate::fs::{Links, path_below, read_regular, seen_itself};
use crate::git::index_file::{Entry, Index, touched};
use crate::git::is_blob;

/// Maximum size of a file that is read, in bytes.
const MOST: u64 = 1 << 20;
/// Maximum number of files that are read.
const FILES: usize = 8;

impl Savepoint<'_> {
    /// Returns whether a tracked file other than `list` certainly differs from the savepoint; `false` means that
    /// possibly none does. One `lstat` for each file, up to the first of them.
    pub async fn certainly_differs(&self, list: &[u8]) -> bool {
        let index = self.index();
        let Ok(file) = self.site.repo.read_index_or_none(&index) else {
            return false;
        };
        if file.index().and_then(Index::tree) != Some(&self.tree) {
            return false;
        }
        let is_plain = |entry: &Entry<'_>| {
            let is_regular = entry.mode & 0o170_000 == 0o100_000;
            is_regular && entry.stage == 0 && !entry.skipped
        };
        let is_touched = |entry: &Entry<'_>| {
            let file = seen_itself(&path_below(&self.site.repo.top, entry.path));
            file.is_some_and(|file| touched(&file) != entry.touched)
        };
        let candidates = file
            .entries()
            .filter(|entry| entry.path != list)
            .filter(is_plain)
            .filter(is_touched);
        for entry in candidates.take(FILES) {
            let Ok(content) =
                read_regular(&path_below(&self.site.repo.top, entry.path), Links::Refused, MOST)
            else {
                continue;
            };
            // A filter or a line-ending rule can make the same content from other bytes.
            let converts = may_convert(self.site, &index, &file, [entry.path].into_iter()).await;
            if converts.unwrap_or(true) {
                return false;
            }
            if !is_blob(entry.oid, &content) {
                return true;
            }
        }
        false
    }
}
