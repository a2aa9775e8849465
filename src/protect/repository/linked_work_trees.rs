//! Linked work trees (git-worktree(1)): an attempt can remove one, including its uncommitted files. Git-ralph cannot
//! restore it, and reports it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::user_refs::is_of_side;
use crate::fs::{FileError, may_exist};
use crate::protect::Site;
use crate::protect::records::{Paths, Records};

/// Name of the record of the work trees before the attempt.
const NAME: &str = "linked-work-trees";

/// Records the existing work trees before an attempt.
pub(super) fn record(site: Site<'_>) -> Result<(), FileError> {
    let (records, found) = (Records::of(site), find(site)?);
    if found.is_empty() && !records.knows(NAME) {
        return Ok(());
    }
    records.save_paths(NAME, &found)
}

/// Returns those that are gone since.
pub(in crate::protect) fn gone(site: Site<'_>) -> Result<Vec<PathBuf>, FileError> {
    let records = Records::of(site);
    if !records.knows(NAME) {
        return Ok(Vec::new());
    }
    let paths = records.paths(NAME)?.into_iter();
    let mut dirs: Vec<PathBuf> = paths
        .map(|path| PathBuf::from(OsString::from_vec(path)))
        .collect();
    dirs.retain(|dir| {
        let name = dir.file_name().and_then(OsStr::to_str);
        !name.is_some_and(|name| is_of_side(site.repo, name)) && !may_exist(dir)
    });
    Ok(dirs)
}

/// Returns whether a work tree with this top directory existed before the attempt.
pub(in crate::protect) fn was_there(site: Site<'_>, top: &Path) -> Result<bool, FileError> {
    let records = Records::of(site);
    Ok(records.knows(NAME) && records.paths(NAME)?.contains(top.as_os_str().as_encoded_bytes()))
}

fn find(site: Site<'_>) -> Result<Paths, FileError> {
    let dirs = site.repo.layout().linked_work_trees()?;
    Ok(dirs.map(|dir| dir.into_os_string().into_vec()).collect())
}
