//! The directories in which git creates files: if one of them is a file, git fails for ever. Without the directory of
//! the refs, git finds no repository.

use std::ffi::OsStr;
use std::path::Path;

use crate::fs::{FileError, may_exist, seen, seen_itself};
use crate::protect::Site;
use crate::protect::trash::{free_name, move_away};

/// Directories that every repository may have, parents first.
const DIRS: [&str; 6] = [
    "refs",
    "logs",
    "logs/refs",
    "objects/info",
    "objects/pack",
    "worktrees",
];
/// Directories below those of the refs and of their logs.
const OF_REFS: [&str; 4] = ["heads", "tags", "remotes", "ralph"];
/// The directory of the loops' branches; without such branches, a branch may have this name.
const BRANCHES: &str = "refs/heads/ralph";

/// Moves a file in the place of such a directory to the trash, and creates the directory of the refs if it is missing.
/// Returns whether anything was changed.
pub(in crate::protect) fn restore(site: Site<'_>) -> Result<bool, FileError> {
    let git = &site.repo.common_dir;
    // With reftables, a file replaces a directory (git-init(1), `--ref-format`).
    let has_tables = may_exist(&git.join("reftable"));
    let mut is_done = false;
    for dir in DIRS {
        is_done |= clear(site, &git.join(dir))?;
    }
    let name = site.slot.loop_dir().file_name().unwrap_or_default();
    let own = Path::new("ralph").join(name);
    let own = [own.join("attempts"), own];
    let own = own.iter().rev().map(|dir| dir.as_os_str());
    for dir in OF_REFS.into_iter().map(OsStr::new).chain(own) {
        is_done |= clear(site, &git.join("logs/refs").join(dir))?;
        if !(has_tables && dir == "heads") {
            is_done |= clear(site, &git.join("refs").join(dir))?;
        }
    }
    if is_directory(&git.join(BRANCHES)) {
        is_done |= clear(site, &git.join("logs").join(BRANCHES))?;
    }
    Ok(make_refs(site)? || is_done)
}

/// Moves a file in the place of a directory to the trash; a symlink to a directory stays.
fn clear(site: Site<'_>, dir: &Path) -> Result<bool, FileError> {
    if is_directory(dir) || seen_itself(dir).is_none() {
        return Ok(false);
    }
    let name = dir.file_name().unwrap_or_default();
    let aside = free_name(&site.trash().join("damaged").join(name))?;
    move_away(site, dir, &aside)?;
    site.tell(format!(
        "a file was put in the place of {}; it is moved to {}",
        dir.display(),
        aside.display()
    ));
    Ok(true)
}

/// Makes the directory of the refs: if all refs are packed, it is empty, and `find -type d -empty -delete` removes it.
fn make_refs(site: Site<'_>) -> Result<bool, FileError> {
    let refs = site.repo.common_dir.join("refs");
    if may_exist(&refs) {
        return Ok(false);
    }
    site.door(&refs).make_dir(&refs, 0o777)?;
    site.tell(format!("{} was deleted; it is made again", refs.display()));
    Ok(true)
}

fn is_directory(path: &Path) -> bool {
    seen(path).is_some_and(|found| found.is_dir())
}
