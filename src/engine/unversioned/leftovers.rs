//! What is left in the work tree after the files that git tracks have been put back: what came with the
//! attempt goes to the trash, and what was there before it stays where it is.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::Inventory;
use super::inventory::{Kind, holds_no_file};
use crate::engine::Session;
use crate::engine::touched::{directories, tracked_directories};
use crate::error::Error;
use crate::git::{GitError, Repo};

impl Session<'_> {
    /// Whether an attempt is being undone whose beginning has an inventory of its own: nobody takes one when a
    /// person sets to work.
    fn has_own_inventory(&self) -> bool {
        let running = self.state.running.as_ref();
        running.is_some_and(|running| !running.by_hand)
    }

    /// What git did not track when the loop began, and before the attempt that is being undone.
    pub(in crate::engine) fn known_before(&self) -> Result<Inventory, Error> {
        let unversioned = self.unversioned();
        let top = &self.engine.repo.top;
        let mut known = unversioned.inventory_of_start()?.unwrap_or_default();
        for path in self.users_nested() {
            known.insert(top, &path, Kind::NestedRepository);
        }
        for path in unversioned.covered()? {
            known.insert(top, &path, Kind::Untracked);
        }
        if self.has_own_inventory() {
            known.extend(unversioned.inventory_before_attempt()?.unwrap_or_default());
        }
        Ok(known)
    }

    /// Moves to the trash what git calls untracked below the top and was not there before. `index` describes
    /// the work tree; `undone` are paths that were put there by what is undone.
    pub(in crate::engine) async fn clear_leftovers(
        &mut self,
        untracked: &[Vec<u8>],
        index: &Path,
        undone: &[Vec<u8>],
        trash: &Path,
    ) -> Result<(), Error> {
        if untracked.is_empty() {
            return Ok(());
        }
        let mut known = self.known_before()?;
        let mut going = Inventory::default();
        let has_record = self.has_own_inventory() && self.unversioned().inventory_before_attempt()?.is_some();
        if !has_record {
            // What git ignores may be anybody's, but for what stands in a directory that goes.
            let made = if self.has_own_inventory() {
                BTreeSet::new()
            } else {
                self.made_with(index, undone)
            };
            let mut now = Inventory::take(&self.engine.repo, index).await?;
            going = now.clone();
            let goes = |path: &[u8]| made.iter().any(|dir| path.starts_with(dir));
            now.retain(|path, kind| kind.is_ignored() && !goes(path));
            going.retain(|path, kind| kind.is_ignored() && goes(path) && known.kind_of(path).is_none());
            known.extend(now);
        }
        let repo = &self.engine.repo;
        let mut away = new_among(repo, index, &known, untracked).await?;
        if self.unversioned().inventory_of_start()?.is_none() {
            // Nobody knows any more which empty directories are the user's.
            away.retain(|path| !holds_no_file(&repo.top.join(OsStr::from_bytes(path))));
        }
        let mut went = BTreeSet::new();
        for path in &away {
            self.move_to_trash(path, trash)?;
            if going.touches(path) {
                went.insert(String::from_utf8_lossy(path).into_owned());
            }
        }
        if !went.is_empty() {
            let went: Vec<_> = went.into_iter().take(5).collect();
            self.tell(format!(
                "what git ignores in {} went with it to {}",
                went.join(" and "),
                trash.display()
            ));
        }
        Ok(())
    }

    /// Directories, with a final `/`, that came with the files of what is undone.
    fn made_with(&self, index: &Path, undone: &[Vec<u8>]) -> BTreeSet<Vec<u8>> {
        let stay: BTreeSet<Vec<u8>> = tracked_directories(index, self.oid_length())
            .into_iter()
            .collect();
        let mut undone: Vec<&[u8]> = undone.iter().map(Vec::as_slice).collect();
        undone.sort_unstable();
        let made = directories(undone.into_iter());
        let made = made.into_iter().filter(|dir| !stay.contains(*dir));
        made.map(|dir| [dir, b"/"].concat()).collect()
    }

    /// Moves to the trash what stands in the way of what is put back, and says so where it was not the attempt
    /// that put it there.
    pub(in crate::engine) fn clear_out_of_the_way(&mut self, path: &[u8], trash: &Path) -> Result<(), Error> {
        let is_known = !self.has_own_inventory() || self.known_before()?.touches(path);
        self.move_to_trash(path, trash)?;
        if is_known {
            self.tell(format!(
                "{} was in the way, and is in {}",
                String::from_utf8_lossy(path),
                trash.display()
            ));
        }
        Ok(())
    }
}

/// What is new among that which git calls untracked beside `index`, and what new things stand beside known ones
/// without being ignored.
async fn new_among(
    repo: &Repo,
    index: &Path,
    known: &Inventory,
    untracked: &[Vec<u8>],
) -> Result<Vec<Vec<u8>>, GitError> {
    let left = known.sort_out(&repo.top, untracked);
    let ignored = repo.ignored_among(index, &left.beside).await?;
    let ignored: BTreeSet<Vec<u8>> = ignored.into_iter().collect();
    let mut new = left.new;
    new.extend(left.beside.into_iter().filter(|path| !ignored.contains(path)));
    Ok(new)
}

/// What is untracked beside `index` in a repository without an inventory of its own; all that git ignores is
/// taken for having been there.
pub(in crate::engine) async fn untracked_beside_ignored(
    repo: &Repo,
    index: &Path,
) -> Result<Vec<Vec<u8>>, GitError> {
    let untracked = repo.differences(index).await?.untracked;
    if untracked.is_empty() {
        return Ok(untracked);
    }
    let mut known = Inventory::take(repo, index).await?;
    known.retain(|_, kind| kind.is_ignored());
    new_among(repo, index, &known, &untracked).await
}
