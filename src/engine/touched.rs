//! What was touched since an index was kept, told by the file states that it holds: no look at a file.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use jiff::Timestamp;

use super::Session;
use crate::error::Error;
use crate::git::index;
use crate::git::index_file::{Entry, GITLINK, Index, compare, touched};

impl Session<'_> {
    /// Length of an object id in bytes.
    pub(super) fn oid_length(&self) -> usize {
        self.state.checkpoint.as_str().len() / 2
    }

    /// Keeps a copy of the index as it is now, to see later what was touched since.
    pub(super) fn remember_index(&self) -> Result<(), Error> {
        index::copy(&self.engine.repo.index(), &self.file("checkpoint.index"))?;
        Ok(())
    }

    /// Whether the real index holds what the one of the last checkpoint holds, hides nothing, and no file was
    /// touched since: git would not tell of one that only got other permissions. A look at every file.
    pub(super) fn index_is_as_left(&self) -> bool {
        let oid = self.oid_length();
        let now = fs::read(self.engine.repo.index()).unwrap_or_default();
        let was = fs::read(self.file("checkpoint.index")).unwrap_or_default();
        let (Some(now), Some(was)) = (Index::parse(&now, oid), Index::parse(&was, oid)) else {
            return false;
        };
        let plain = |entry: &Entry<'_>| entry.stage == 0 && !entry.assumed && !entry.skipped;
        let mut same =
            now.entries.iter().all(plain) && was.tree.as_ref() == Some(&self.state.checkpoint_tree);
        compare(&was, &now, |was, is| {
            same &= was.map(|was| (was.mode, was.oid)) == is.map(|is| (is.mode, is.oid));
        });
        let top = &self.engine.repo.top;
        let untouched = |entry: &Entry<'_>| {
            let file = top.join(OsStr::from_bytes(&entry.path)).symlink_metadata();
            entry.mode == GITLINK || file.is_ok_and(|file| touched(&file) == entry.touched)
        };
        same && now.entries.iter().all(untouched)
    }

    /// Paths whose files differ between two indexes, or may: they were touched in between.
    pub(super) fn touched_between(&self, was: &Path, is: &Path) -> Vec<Vec<u8>> {
        let oid = self.oid_length();
        let (was, is) = (
            fs::read(was).unwrap_or_default(),
            fs::read(is).unwrap_or_default(),
        );
        let was = Index::parse(&was, oid).unwrap_or_default();
        let is = Index::parse(&is, oid).unwrap_or_default();
        let mut touched = Vec::new();
        compare(&was, &is, |was, is| {
            if was.map(|was| was.touched) != is.map(|is| is.touched) {
                touched.extend(was.or(is).map(|entry| entry.path.to_vec()));
            }
        });
        touched
    }
}

impl Session<'_> {
    /// Paths of an index whose files were touched since it was written, but in the same second as before: git
    /// may be built to compare whole seconds, and sees no other permissions then. Looks at the few files alone
    /// that were last touched in the second of `since` or later.
    pub(super) fn touched_at_once(&self, index: &Path, since: Timestamp) -> Vec<Vec<u8>> {
        let bytes = fs::read(index).unwrap_or_default();
        let known = Index::parse(&bytes, self.oid_length()).unwrap_or_default();
        let top = &self.engine.repo.top;
        let is_late = |entry: &&Entry<'_>| i64::from(entry.touched.0) >= since.as_second();
        let differs = |entry: &&Entry<'_>| {
            let file = top.join(OsStr::from_bytes(&entry.path)).symlink_metadata();
            entry.mode != GITLINK && file.is_ok_and(|file| touched(&file) != entry.touched)
        };
        let late = known.entries.iter().filter(is_late).filter(differs);
        late.map(|entry| entry.path.to_vec()).collect()
    }
}

/// All paths of an index; `oid` is the length of an object id in bytes.
pub(super) fn tracked_paths(index: &Path, oid: usize) -> BTreeSet<Vec<u8>> {
    let bytes = fs::read(index).unwrap_or_default();
    let parsed = Index::parse(&bytes, oid).unwrap_or_default();
    parsed.entries.iter().map(|entry| entry.path.to_vec()).collect()
}

/// Every directory above these paths, quickly when they come in order.
pub(super) fn directories<'p>(paths: impl Iterator<Item = &'p [u8]>) -> BTreeSet<&'p [u8]> {
    let mut dirs = BTreeSet::new();
    let mut last: &[u8] = b"";
    for path in paths {
        let end = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        let dir = path.get(..end).unwrap_or_default();
        if dir != last {
            dirs.extend(parent_slices(path));
            last = dir;
        }
    }
    dirs
}

/// The directories above a path, without a final `/`.
pub(super) fn parent_slices(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'/')
        .filter_map(|(at, _)| path.get(..at))
}

/// Every directory above the files of an index; `oid` is the length of an object id in bytes.
pub(super) fn tracked_directories(index: &Path, oid: usize) -> Vec<Vec<u8>> {
    let bytes = fs::read(index).unwrap_or_default();
    let parsed = Index::parse(&bytes, oid).unwrap_or_default();
    let dirs = directories(parsed.entries.iter().map(|entry| &*entry.path));
    dirs.into_iter().map(<[u8]>::to_vec).collect()
}
