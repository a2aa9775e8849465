//! Handles the rest of the work tree after tracked files have been restored: paths that the attempt made go to the
//! trash, and earlier paths stay.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use jiff::Timestamp;

use super::inventory::{Inventory, Kind, holds_no_file};
use super::moment::Moment;
use super::pipes::CLOCK_LAG;
use super::savepoint::Savepoint;
use super::stat_changes::{tracked_directories, tracked_paths};
use crate::fs::{entries_of, path_below, seen_itself};
use crate::git::worktree::Reading;
use crate::git::{GitError, Repo};
use crate::paths::directories;
use crate::paths::{first_few, shown};
use crate::protect::ProtectError;
use crate::protect::records::Records;
use crate::protect::trash::put_away;

impl Savepoint<'_> {
    /// Returns the untracked paths from when the loop began, and those from before the attempt that is being undone.
    pub(super) fn known_before(&self) -> Result<Inventory, ProtectError> {
        let records = Records::of(self.site);
        let top = &self.site.repo.top;
        let mut known = records.inventory_of_start()?.unwrap_or_default();
        for path in &self.nested {
            known.insert(top, path, Kind::NestedRepository);
        }
        for path in records.hidden()? {
            known.insert(top, &path, Kind::Untracked);
        }
        if self.moment == Moment::Checkpoint {
            for path in self.gate_files.keys() {
                known.insert(top, path, Kind::Untracked);
            }
        }
        if self.has_own_inventory {
            known.extend(records.inventory_before_attempt()?.unwrap_or_default());
        }
        Ok(known)
    }

    /// Moves these files of an attempt to the trash.
    pub fn put_new_away(&self, paths: &[Vec<u8>], trash: &Path) -> Result<(), ProtectError> {
        for path in paths {
            put_away(self.site, &self.nested, path, trash)?;
        }
        Ok(())
    }

    /// Returns whether a work tree that was read is in this state. Earlier paths that git cannot store stay.
    pub fn is_state_of(&self, reading: &Reading) -> Result<bool, ProtectError> {
        if reading.tree != self.tree || reading.unstorable.is_empty() {
            return Ok(reading.tree == self.tree);
        }
        let mut known = self.known_before()?;
        known.extend(
            Records::of(self.site)
                .inventory_before_attempt()?
                .unwrap_or_default(),
        );
        let left = known.sort_out(&self.site.repo.top, &reading.unstorable)?;
        Ok(left.new.is_empty() && left.beside.is_empty())
    }

    /// Moves files with the agent's prefix that it created in the top directory for its own use to the trash; known
    /// files stay, and so do ignored ones: they are harmless, and may be the user's. Returns whether any file was
    /// moved.
    pub async fn clear_agent_files(&self, prefix: &str, trash: &Path) -> Result<bool, ProtectError> {
        let (repo, top) = (self.site.repo, &self.site.repo.top);
        let tracked = tracked_paths(repo, &self.index())?;
        let known = self.known_before()?;
        let is_new = |name: &[u8]| {
            let inside = [name, b"/"].concat();
            name.starts_with(prefix.as_bytes())
                && !known.touches(name)
                && !tracked.contains(name)
                && !tracked.iter().any(|path| path.starts_with(&inside))
        };
        let mut names: Vec<Vec<u8>> = entries_of(top)?
            .into_iter()
            .map(|entry| entry.file_name().into_encoded_bytes())
            .collect();
        names.retain(|name| is_new(name));
        let ignored = repo.ignored_among(&repo.index(), &names).await?;
        names.retain(|name| !ignored.contains(name));
        for name in &names {
            put_away(self.site, &self.nested, name, trash)?;
        }
        Ok(!names.is_empty())
    }

    /// Moves new untracked paths below the top to the trash. `index` describes the work tree; `undone` are the paths of
    /// the undone work.
    pub(super) async fn clear_leftovers(
        &self,
        untracked: &[Vec<u8>],
        index: &Path,
        undone: &[Vec<u8>],
        trash: &Path,
    ) -> Result<(), ProtectError> {
        if untracked.is_empty() {
            return Ok(());
        }
        let records = Records::of(self.site);
        let mut known = self.known_before()?;
        let mut going = Inventory::default();
        if !self.has_own_inventory || records.inventory_before_attempt()?.is_none() {
            // Ignored files may belong to any process, except in a directory that is removed.
            let made = if self.has_own_inventory {
                BTreeSet::new()
            } else {
                made_with(self.site.repo, index, undone)?
            };
            let mut now = Inventory::take(self.site.repo, index).await?;
            going = now.clone();
            let goes = |path: &[u8]| made.iter().any(|dir| path.starts_with(dir));
            now.retain(|path, kind| kind.is_ignored() && !goes(path));
            going.retain(|path, kind| kind.is_ignored() && goes(path) && known.kind_of(path).is_none());
            known.extend(now);
        }
        let mut away = new_among(self.site.repo, index, &known, untracked).await?;
        // Without the record it is unknown which empty directories are the user's.
        let all_stay = records.inventory_of_start()?.is_none();
        // The time of a change of its entries, or of its move.
        let changed =
            |found: Metadata| Timestamp::new(found.ctime(), i32::try_from(found.ctime_nsec()).ok()?).ok();
        let since = self.since.checked_sub(CLOCK_LAG).ok();
        away.retain(|path| {
            let dir = path_below(&self.site.repo.top, path);
            // No inventory has the empty directories made by an accepted attempt.
            let stays = all_stay
                || seen_itself(&dir)
                    .and_then(changed)
                    .is_some_and(|changed| Some(changed) < since);
            !(stays && holds_no_file(&dir))
        });
        if !self.has_own_inventory {
            records.forget_before_attempt(&away)?;
        }
        let mut went = BTreeSet::new();
        for path in &away {
            put_away(self.site, &self.nested, path, trash)?;
            if going.touches(path) {
                went.insert(path.clone());
            }
        }
        if !went.is_empty() {
            self.site.tell(format!(
                "what git ignores in {} went with it to {}",
                first_few(&went).join(" and "),
                trash.display()
            ));
        }
        Ok(())
    }

    /// Moves paths that block the savepoint's files and are unknown to git (ignored files, files under a rule that the
    /// attempt added) to the trash: git would not overwrite them. `changes` lists the differences between the work tree
    /// and the savepoint.
    pub(super) fn clear_the_way(&self, changes: &[(u8, Vec<u8>)], trash: &Path) -> Result<(), ProtectError> {
        let goes = |path: &[u8]| {
            changes
                .iter()
                .any(|(status, gone)| *status == b'A' && gone == path)
        };
        for (_, path) in changes.iter().filter(|(status, _)| *status == b'D') {
            if let Some(in_the_way) = self.site.repo.first_in_the_way(path)?
                && !goes(&in_the_way)
            {
                self.clear_out_of_the_way(&in_the_way, trash)?;
            }
        }
        Ok(())
    }

    /// Moves paths that block restored ones to the trash, and reports those that the attempt did not create.
    fn clear_out_of_the_way(&self, path: &[u8], trash: &Path) -> Result<(), ProtectError> {
        let is_known = !self.has_own_inventory || self.known_before()?.touches(path);
        put_away(self.site, &self.nested, path, trash)?;
        if is_known {
            self.site.tell(format!(
                "{} was in the way, and is in {}",
                shown(path),
                trash.display()
            ));
        }
        Ok(())
    }
}

/// Returns the directories, with a final `/`, that were created with the undone files.
fn made_with(repo: &Repo, index: &Path, undone: &[Vec<u8>]) -> Result<BTreeSet<Vec<u8>>, GitError> {
    let stay: BTreeSet<Vec<u8>> = tracked_directories(repo, index)?.into_iter().collect();
    let mut undone: Vec<&[u8]> = undone.iter().map(Vec::as_slice).collect();
    undone.sort_unstable();
    let made = directories(undone.into_iter());
    let made = made.into_iter().filter(|dir| !stay.contains(*dir));
    Ok(made.map(|dir| [dir, b"/"].concat()).collect())
}

/// Selects the new paths among those that git calls untracked beside `index`, and those new ones beside known paths
/// that are not ignored.
async fn new_among(
    repo: &Repo,
    index: &Path,
    known: &Inventory,
    untracked: &[Vec<u8>],
) -> Result<Vec<Vec<u8>>, GitError> {
    let left = known.sort_out(&repo.top, untracked)?;
    let ignored = repo.ignored_among(index, &left.beside).await?;
    let ignored: BTreeSet<Vec<u8>> = ignored.into_iter().collect();
    let mut new = left.new;
    new.extend(left.beside.into_iter().filter(|path| !ignored.contains(path)));
    Ok(new)
}

/// Returns the untracked paths beside `index` in a repository without its own inventory; all ignored paths count as
/// known.
pub(super) async fn untracked_beside_ignored(repo: &Repo, index: &Path) -> Result<Vec<Vec<u8>>, GitError> {
    let untracked = repo.differences(index).await?.untracked;
    if untracked.is_empty() {
        return Ok(untracked);
    }
    let mut known = Inventory::take(repo, index).await?;
    known.retain(|_, kind| kind.is_ignored());
    new_among(repo, index, &known, &untracked).await
}
