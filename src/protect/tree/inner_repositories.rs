//! Repositories in directories with tracked files (`git init` in `src/`): git silently skips them, and a git command in
//! such a directory uses another repository.

use std::path::Path;

use super::moment::Moment;
use super::stat_changes::tracked_directories;
use crate::fs::{FileError, those_where};
use crate::paths::shown;
use crate::protect::records::Records;
use crate::protect::trash::put_away;
use crate::protect::{ProtectError, Site};

/// Name of the record of the repositories at a moment.
const NAME: &str = "inner-repositories";

/// Records the existing repositories; `index` lists the tracked files.
pub(super) fn record(site: Site<'_>, moment: Moment, index: &Path) -> Result<(), ProtectError> {
    let found = find(site, index)?.into_iter().collect();
    Ok(Records::of(site).save_paths(&moment.name(NAME), &found)?)
}

/// Returns the top directories of the repositories recorded before an attempt.
pub(super) fn recorded(site: Site<'_>) -> Result<Vec<Vec<u8>>, FileError> {
    let records = Records::of(site);
    let paths = records.paths(&Moment::Checkpoint.name(NAME))?;
    let top = |path: Vec<u8>| path.strip_suffix(b"/.git").map(<[u8]>::to_vec);
    Ok(paths.into_iter().filter_map(top).collect())
}

/// Moves repositories made since that moment to the trash; returns their paths. The savepoint's index is in place.
pub(super) fn clear(site: Site<'_>, moment: Moment, trash: &Path) -> Result<Vec<Vec<u8>>, ProtectError> {
    let records = Records::of(site);
    let name = moment.name(NAME);
    if !records.knows(&name) {
        return Ok(Vec::new());
    }
    let before = records.paths(&name)?;
    let made: Vec<Vec<u8>> = find(site, &site.repo.index())?
        .into_iter()
        .filter(|path| !before.contains(path))
        .collect();
    for path in &made {
        put_away(site, &[], path, trash)?;
        site.tell(format!(
            "a repository was made in a directory with tracked files; {} is moved to {}",
            shown(path),
            trash.display()
        ));
    }
    Ok(made)
}

/// Finds the `.git` of directories with tracked files, except the top. One `lstat` for each such directory.
fn find(site: Site<'_>, index: &Path) -> Result<Vec<Vec<u8>>, ProtectError> {
    let repo = site.repo;
    let dirs = tracked_directories(repo, index)?.into_iter();
    let inner = dirs.map(|dir| [dir.as_slice(), b"/.git"].concat());
    Ok(those_where(inner, |inner| repo.exists(inner))?)
}
