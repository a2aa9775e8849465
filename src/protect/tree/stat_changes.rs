//! Finds files that were touched since an index was written, by the stat data in it (gitformat-index(5)): with `lstat`
//! alone, without reading a file's content.

use std::collections::BTreeSet;
use std::path::Path;

use jiff::Timestamp;

use crate::fs::{kind_of, path_below, seen_itself};
use crate::git::index_file::{Entry, GITLINK, IndexFile, compare, touched};
use crate::git::{GitError, Repo};
use crate::names::Oid;
use crate::paths::directories;

/// Returns the paths whose files were touched between two indexes, or which git considers changed because of new rules:
/// they differ or may differ.
pub(crate) fn touched_between(was: &IndexFile, is: &IndexFile) -> Vec<Vec<u8>> {
    let mut touched = Vec::new();
    compare(was, is, |was, is| {
        if was.map(|was| (was.touched, was.oid)) != is.map(|is| (is.touched, is.oid)) {
            touched.extend(was.or(is).map(|entry| entry.path.to_vec()));
        }
    });
    touched
}

/// Returns the paths of an index whose files were touched after it was written, even in the same second: a git that
/// compares whole seconds sees neither changed permissions nor new content of the same length with an old modification
/// time. Checks only the few files that were last touched in the second of `since` or later.
pub(crate) fn touched_in_same_second(repo: &Repo, index: &IndexFile, since: Timestamp) -> Vec<Vec<u8>> {
    let is_late = |entry: &Entry<'_>| i64::from(entry.touched.0) >= since.as_second();
    let differs = |entry: &Entry<'_>| {
        let file = kind_of(&path_below(&repo.top, entry.path));
        let differs = file.map(|file| file.is_some_and(|file| touched(&file) != entry.touched));
        entry.mode != GITLINK && differs.unwrap_or(true)
    };
    let late = index.entries().filter(is_late).filter(differs);
    late.map(|entry| entry.path.to_vec()).collect()
}

/// Returns whether the real index has the same content as the index `saved` with this tree, hides nothing, and no file
/// was touched since: git would not report a change of permissions. One `lstat` for each file.
pub(crate) fn is_untouched_since(repo: &Repo, saved: &Path, tree: &Oid) -> bool {
    let (Ok(now), Ok(was)) = (repo.read_index(&repo.index()), repo.read_index(saved)) else {
        return false;
    };
    let (Some(index), Some(saved)) = (now.index(), was.index()) else {
        return false;
    };
    let plain = |entry: Entry<'_>| entry.stage == 0 && !entry.assumed && !entry.skipped;
    let mut same = index.entries().all(plain) && saved.tree() == Some(tree);
    compare(&was, &now, |was, is| {
        same &= was.map(|was| (was.mode, was.oid)) == is.map(|is| (is.mode, is.oid));
    });
    let untouched = |entry: Entry<'_>| {
        let file = seen_itself(&path_below(&repo.top, entry.path));
        entry.mode == GITLINK || file.is_some_and(|file| touched(&file) == entry.touched)
    };
    same && index.entries().all(untouched)
}

/// Returns all paths of an index.
pub(crate) fn tracked_paths(repo: &Repo, index: &Path) -> Result<BTreeSet<Vec<u8>>, GitError> {
    let file = repo.read_index_or_none(index)?;
    Ok(file.entries().map(|entry| entry.path.to_vec()).collect())
}

/// Returns every directory above the files of an index.
pub(crate) fn tracked_directories(repo: &Repo, index: &Path) -> Result<Vec<Vec<u8>>, GitError> {
    let file = repo.read_index_or_none(index)?;
    let dirs = directories(file.paths());
    Ok(dirs.into_iter().map(<[u8]>::to_vec).collect())
}
