//! Repositories in directories that have tracked files (`git init` in `src/`): git silently skips them, and anybody who
//! works in such a directory then works on another repository.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::Site;
use super::records::Records;
use super::stat_changes::tracked_directories;
use super::trash::put_away;
use crate::events::Notices;
use crate::fs::FileError;

/// Name of the record of those that were there before the attempt.
const NAME: &str = "inner-repositories";

/// Records the existing ones before an attempt.
pub(super) fn record(site: Site<'_>) -> Result<(), FileError> {
    let (records, found) = (Records::of(site), find(site).into_iter().collect());
    if records.knows(NAME) && records.paths(NAME)? == found {
        return Ok(());
    }
    records.save_paths(NAME, &found)
}

/// Moves those made by an attempt to the trash; returns their paths.
pub(super) fn clear(
    site: Site<'_>,
    trash: &Path,
    notices: &mut dyn Notices,
) -> Result<Vec<Vec<u8>>, FileError> {
    let records = Records::of(site);
    if !records.knows(NAME) {
        return Ok(Vec::new());
    }
    let before = records.paths(NAME)?;
    let made: Vec<Vec<u8>> = find(site)
        .into_iter()
        .filter(|path| !before.contains(path))
        .collect();
    for path in &made {
        put_away(site, &[], path, trash)?;
        notices.tell(format!(
            "a repository was made in a directory with tracked files; {} is moved to {}",
            String::from_utf8_lossy(path),
            trash.display()
        ));
    }
    Ok(made)
}

/// Finds the `.git` of directories with tracked files, except the top. One `lstat` for each such directory.
fn find(site: Site<'_>) -> Vec<Vec<u8>> {
    let repo = site.repo;
    let dirs = tracked_directories(&repo.index(), repo.oid_length).into_iter();
    let inner = dirs.map(|dir| [dir.as_slice(), b"/.git"].concat());
    inner
        .filter(|path| repo.top.join(OsStr::from_bytes(path)).symlink_metadata().is_ok())
        .collect()
}
