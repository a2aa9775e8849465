//! Decides whether git may convert files of the work tree at all, by every place from which git reads attributes
//! (gitattributes(5)). Only git itself can tell whether it converts a certain file.

use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::fs::{FileError, may_exist, path_below};
use crate::git::index_file::IndexFile;
use crate::paths::of_user;
use crate::paths::{directories, path_of};
use crate::protect::records::{Paths, Records};
use crate::protect::{ProtectError, Site};

/// Name of the record of the system's attributes file.
const OF_SYSTEM: &str = "system-attributes";
/// Name of an attributes file in a work tree.
const RULES: &str = ".gitattributes";

/// Records the paths from which git reads the system's attributes.
pub(super) fn record(site: Site<'_>, files: Vec<PathBuf>) -> Result<Paths, FileError> {
    let files: Paths = files
        .into_iter()
        .map(|file| file.into_os_string().into_vec())
        .collect();
    Records::of(site).save_paths(OF_SYSTEM, &files)?;
    Ok(files)
}

/// Returns whether git may convert these files: the configuration says so, or there are attributes. `index` describes
/// the work tree, and has the content `file`. Checks for one file in each directory above them.
pub(super) async fn may_convert<'p>(
    site: Site<'_>,
    index: &Path,
    file: &IndexFile,
    paths: impl Iterator<Item = &'p [u8]>,
) -> Result<bool, ProtectError> {
    let repo = site.repo;
    let of_repository = repo.common_dir.join("info/attributes");
    // `core.attributesFile` is a setting, and not considered here.
    let of_user = of_user("XDG_CONFIG_HOME", ".config").map(|config| config.join("git/attributes"));
    if repo.converts
        || [of_user, Some(of_repository)]
            .into_iter()
            .flatten()
            .any(|file| may_exist(&file))
    {
        return Ok(true);
    }
    let records = Records::of(site);
    let of_system = if records.knows(OF_SYSTEM) {
        records.paths(OF_SYSTEM)?
    } else {
        record(site, repo.git.system_attributes().await?)?
    };
    let may_exist_at = |path: &Vec<u8>| may_exist(path_of(path));
    if of_system.iter().any(may_exist_at) {
        return Ok(true);
    }
    let Some(known) = file.index() else {
        return Ok(repo.tracks_attributes(index).await?);
    };
    let is_rules = |path: &[u8]| {
        let dir = path.strip_suffix(RULES.as_bytes());
        dir.is_some_and(|dir| dir.is_empty() || dir.ends_with(b"/"))
    };
    Ok(known.entries().any(|entry| is_rules(entry.path)) || has_unlisted_rules(&repo.top, paths))
}

/// Returns whether a directory above these paths has an attributes file that the index does not list: git ignores the
/// file as content, but applies its rules.
fn has_unlisted_rules<'p>(top: &Path, paths: impl Iterator<Item = &'p [u8]>) -> bool {
    let mut dirs = directories(paths);
    dirs.insert(b"");
    let rules = |dir: &[u8]| path_below(top, dir).join(RULES);
    dirs.into_iter().any(|dir| may_exist(&rules(dir)))
}
