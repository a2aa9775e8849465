//! Pipes and other special files in the place of ignore and attribute files in the work tree: git would wait for them.
//! They are moved away before any git runs after an attempt, once git's own directories have none.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, SystemTime};

use super::stat_changes::tracked_directories;
use crate::fs::{path_below, seen_itself};
use crate::git::RULES;
use crate::paths::{named_in, path_of, shown};
use crate::protect::records::Records;
use crate::protect::repository::pipes::entries;
use crate::protect::trash::{free_name, move_away};
use crate::protect::{ProtectError, Site};

/// File systems use the clock of the last tick for timestamps: a change may look slightly older than it is.
pub(super) const CLOCK_LAG: Duration = Duration::from_millis(100);

/// Moves such files in directories of the work tree that have changed since `since` to the trash.
pub(in crate::protect) fn clear(site: Site<'_>, since: SystemTime) -> Result<(), ProtectError> {
    for path in rules_changed_since(site, since - CLOCK_LAG)? {
        let place = free_name(&site.trash().join("damaged").join(path_of(&path)))?;
        let from = path_below(&site.repo.top, &path);
        move_away(site, &from, &place)?;
        site.tell(format!(
            "{} was no file; it is moved to {}",
            shown(&path),
            place.display()
        ));
    }
    Ok(())
}

/// Finds special files in the place of git's rules. Searches only directories that have changed, and new ones that were
/// not ignored before.
fn rules_changed_since(site: Site<'_>, since: SystemTime) -> Result<Vec<Vec<u8>>, ProtectError> {
    let tracked = tracked_directories(site.repo, &site.repo.index())?;
    let known = Records::of(site).inventory_before_attempt()?.unwrap_or_default();
    let mut open = tracked.clone();
    open.push(Vec::new());
    let tracked: BTreeSet<Vec<u8>> = tracked.into_iter().collect();
    let mut found = Vec::new();
    while let Some(dir) = open.pop() {
        let path = path_below(&site.repo.top, &dir);
        let is = seen_itself(&path).filter(fs::Metadata::is_dir);
        let changed = is.and_then(|is| is.modified().ok());
        if changed.is_none_or(|changed| changed < since && (dir.is_empty() || tracked.contains(&dir))) {
            continue;
        }
        // Git follows no symlink there (gitattributes(5), gitignore(5)).
        for (path, is_dir) in entries(&path, |_| false) {
            let Some(name) = path.file_name() else { continue };
            let below = named_in(&dir, name.as_encoded_bytes());
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
