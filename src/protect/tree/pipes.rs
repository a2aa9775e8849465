//! Pipes and the like, and links to them, in the place of files that git opens: it would wait for them. They are moved away before any git
//! runs after an attempt, in git's own directory and among the rules of the work tree.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::own_position::set_aside;
use super::stat_changes::tracked_directories;
use crate::events::Notices;
use crate::fs::{path_below, seen, seen_in, seen_itself};
use crate::git::RULES;
use crate::paths::shown;
use crate::protect::records::Records;
use crate::protect::trash::{free_name, move_away};
use crate::protect::{ProtectError, Site};

/// File systems use the clock of the last tick for timestamps: a change may look slightly older than it is.
const CLOCK_LAG: Duration = Duration::from_millis(100);

/// Moves what git would wait for to the trash, if it is in git's directory, or in a directory of the work tree that has
/// changed since then.
pub(in crate::protect) fn clear(
    site: Site<'_>,
    since: SystemTime,
    notices: &dyn Notices,
) -> Result<(), ProtectError> {
    let repo = site.repo;
    let mut found = Vec::new();
    let mut open = vec![repo.common_dir.clone()];
    if !repo.git_dir.starts_with(&repo.common_dir) {
        open.push(repo.git_dir.clone());
    }
    let own = repo.common_dir.join("ralph");
    while let Some(dir) = open.pop() {
        for (path, is_dir) in entries(&dir, leads_to_pipe) {
            if !is_dir {
                found.push(path);
            } else if path != own {
                open.push(path);
            }
        }
    }
    for path in found {
        set_aside(site, &path, &site.trash().join("damaged"))?;
        let path = shown(path.as_os_str().as_bytes());
        notices.tell(format!("{path} was no file; it is moved away"));
    }
    for path in rules_changed_since(site, since - CLOCK_LAG)? {
        let place = free_name(&site.trash().join("damaged").join(OsStr::from_bytes(&path)))?;
        let from = path_below(&repo.top, &path);
        move_away(site, &from, &place)?;
        notices.tell(format!(
            "{} was no file; it is moved to {}",
            shown(&path),
            place.display()
        ));
    }
    Ok(())
}

/// Lists the directories in a directory, and what is neither a file nor a directory, without reading any. Of the links,
/// those that count are chosen by `is_bad_link`.
fn entries(dir: &Path, is_bad_link: fn(&Path) -> bool) -> impl Iterator<Item = (PathBuf, bool)> {
    seen_in(dir).filter_map(move |entry| {
        let kind = entry.file_type().ok()?;
        let is_good = kind.is_file() || kind.is_symlink() && !is_bad_link(&entry.path());
        (!is_good).then(|| (entry.path(), kind.is_dir()))
    })
}

/// Returns whether a link leads to a pipe, a device or the like. Nothing stands in the null device, so it is no obstacle,
/// and people use it to switch off a hook.
fn leads_to_pipe(link: &Path) -> bool {
    let is_other = seen(link).is_some_and(|target| !target.is_file() && !target.is_dir());
    is_other
        && link
            .canonicalize()
            .is_ok_and(|target| target != Path::new("/dev/null"))
}

/// Finds pipes in the place of git's rules. Only directories are looked at that have changed, and those that are new and
/// not ignored since before.
fn rules_changed_since(site: Site<'_>, since: SystemTime) -> Result<Vec<Vec<u8>>, ProtectError> {
    let top = &site.repo.top;
    let tracked = tracked_directories(site.repo, &site.repo.index())?;
    let known = Records::of(site).inventory_before_attempt()?.unwrap_or_default();
    let mut open = tracked.clone();
    open.push(Vec::new());
    let tracked: BTreeSet<Vec<u8>> = tracked.into_iter().collect();
    let mut found = Vec::new();
    while let Some(dir) = open.pop() {
        let path = path_below(top, &dir);
        let is = seen_itself(&path).filter(fs::Metadata::is_dir);
        let changed = is.and_then(|is| is.modified().ok());
        if changed.is_none_or(|changed| changed < since && (dir.is_empty() || tracked.contains(&dir))) {
            continue;
        }
        // Git follows no link there (gitattributes(5), gitignore(5)).
        for (path, is_dir) in entries(&path, |_| false) {
            let Some(name) = path.file_name() else { continue };
            let mut below = dir.clone();
            if !below.is_empty() {
                below.push(b'/');
            }
            below.extend_from_slice(name.as_bytes());
            if is_dir {
                let is_left = name == ".git" || tracked.contains(&below) || known.kind_of(&below).is_some();
                if !is_left {
                    open.push(below);
                }
            } else if RULES.iter().any(|rules| name == *rules) {
                found.push(below);
            }
        }
    }
    Ok(found)
}
