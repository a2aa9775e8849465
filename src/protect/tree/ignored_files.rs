//! Files that git ignores before an attempt: those from the beginning never enter a checkpoint, and small ones, also in
//! small directories, are restored if an attempt deletes them.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

use super::file_modes::{Modes, mode_of, set_mode};
use super::inner_repositories;
use super::inventory::{Inventory, Kind, holds_no_file};
use super::moment::Moment;
use super::small_ignored::{Small, built_last, choose, is_built, rules_of};
use crate::fs::{
    Below, FileError, entries_of, is_directory, is_there, kind_of, link_of, path_below, seen_itself,
};
use crate::git::worktree::Reading;
use crate::paths::{first_few, path_of};
use crate::protect::permissions::look_with_permissions;
use crate::protect::records::{Records, make_room};
use crate::protect::{ProtectError, Site};

/// Name of the record of the permissions of copied paths. It contains directories that are copied whole, with all
/// entries.
const IGNORED_MODES: &str = "ignored-modes";

impl Records {
    /// Copies the small ignored files and directories that changed since the last copy, and saves the present
    /// inventory: files that a complete story or the user deleted are not restored.
    fn copy_ignored(&self, now: &Inventory) -> Result<(), FileError> {
        self.save_inventory(Moment::Checkpoint, now)?;
        let start = self.inventory_of_start()?.unwrap_or_default();
        let before = self.read_modes(IGNORED_MODES)?;
        // Files from the start that were deleted since are still in the start's record.
        let mut modes = before.clone();
        modes.retain(|path, _| now.kind_of(path).is_none() && start.kind_of(path).is_some());
        for small in choose(&self.top, now, &start) {
            if self.take_copy(&small)? {
                let parts = small.parts.into_iter();
                modes.extend(parts.map(|(path, is)| (path, mode_of(&is))));
            }
        }
        // An older copy of a directory is not its state before the attempt.
        for path in before.keys().filter(|path| !modes.contains_key(*path)) {
            let copy = self.copy_of(path);
            if is_directory(&copy)? {
                self.door.remove(&copy)?;
            }
        }
        // An attempt may change the permissions of the copies too (`chmod -R`).
        if before != modes {
            self.write_modes(IGNORED_MODES, &modes)?;
        }
        Ok(())
    }

    fn copy_of(&self, path: &[u8]) -> PathBuf {
        self.dir.join("files").join(path_of(path))
    }

    /// Copies a file, or a directory with all entries; returns whether the copy is complete.
    fn take_copy(&self, small: &Small) -> Result<bool, FileError> {
        for (path, is) in &small.parts {
            match self.copy_part(path, is) {
                // If git-ralph cannot read a file, the agent cannot read it either; and it may be in use.
                Err(FileError { source, .. })
                    if matches!(
                        source.kind(),
                        io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound
                    ) =>
                {
                    return Ok(false);
                }
                copied => copied?,
            }
        }
        if small.is_dir() {
            let wanted: BTreeSet<&[u8]> = small.parts.iter().map(|(path, _)| path.as_slice()).collect();
            let mut open = vec![small.path().to_vec()];
            while let Some(dir) = open.pop() {
                for entry in entries_of(&self.copy_of(&dir))? {
                    let path = [&dir, &b"/"[..], entry.file_name().as_encoded_bytes()].concat();
                    if !wanted.contains(path.as_slice()) {
                        self.door.remove(&entry.path())?;
                    } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                        open.push(path);
                    }
                }
            }
        }
        Ok(true)
    }

    fn copy_part(&self, path: &[u8], is: &Metadata) -> Result<(), FileError> {
        let from = path_below(&self.top, path);
        let to = self.copy_of(path);
        let copy = kind_of(&to)?;
        if is.is_dir() {
            if !copy.is_some_and(|copy| copy.is_dir()) {
                make_room(&self.door, &self.dir.join("files"), path)?;
                self.door.make_dir(&to, 0o777)?;
            }
            return Ok(());
        }
        let same = copy.is_some_and(|copy| {
            copy.len() == is.len()
                && copy.file_type() == is.file_type()
                && (is.is_symlink() || copy.modified().ok() == is.modified().ok())
        });
        if is.is_symlink() {
            let link = link_of(&from)?;
            if !same || link != link_of(&to)? {
                make_room(&self.door, &self.dir.join("files"), path)?;
                self.door.link(&link, &to)?;
            }
        } else if !same {
            make_room(&self.door, &self.dir.join("files"), path)?;
            self.door.copy(&from, &to)?;
        }
        Ok(())
    }

    /// Restores the copies of ignored paths that existed at that moment and were deleted, and the permissions of the
    /// other files. If a directory is lost, files that were built with it are not restored either.
    pub(super) fn put_back_ignored(&self, moment: Moment) -> Result<Gone, FileError> {
        let inventory = match moment {
            Moment::Start | Moment::Judged => self.inventory_of_start()?.unwrap_or_default(),
            Moment::Checkpoint => self.last_inventory()?,
        };
        let modes = self.read_modes(IGNORED_MODES)?;
        let mut gone = Gone::default();
        let mut directories = Vec::new();
        let unkept = inventory
            .iter()
            .filter(|(_, item)| item.kind.is_ignored() || item.kind.is_whole());
        for (path, item) in unkept {
            let copies = match item.kind {
                Kind::IgnoredDirectory | Kind::SelfIgnored => self.copies_in(path, &modes)?,
                _ => Vec::new(),
            };
            let is_gone = self.is_gone(path);
            let is_emptied = || copies.len() > 1 && holds_no_file(&path_below(&self.top, path));
            if is_gone || is_emptied() {
                gone.all.push(path.clone());
                if !copies.is_empty() {
                    directories.push(copies);
                } else if item.kind != Kind::IgnoredFile {
                    gone.without.push(path.clone());
                }
            } else if let Some(rules) = rules_of(path, item.kind).filter(|rules| self.is_gone(rules)) {
                self.put_back_file(&rules, &modes)?;
            }
        }
        let is_whole = gone.without.is_empty();
        for copies in directories {
            let mut found = Vec::new();
            for path in &copies {
                found.push((path, self.copy(path)?));
            }
            let mut files = found
                .iter()
                .filter(|(_, copy)| !copy.as_ref().is_some_and(Metadata::is_dir));
            let is_made = files.clone().any(|(path, _)| is_built(path))
                || files.all(|(_, copy)| is_empty_file(copy.as_ref()));
            if is_whole || !is_made {
                self.put_back_directory(&copies, &modes)?;
            } else {
                gone.held_back.extend(copies.first().map(|path| (*path).clone()));
            }
        }
        for path in inventory.files() {
            let copy = self.copy(path)?;
            let is_file = copy.as_ref().is_some_and(Metadata::is_file);
            if !is_whole && self.is_gone(path) && (is_built(path) || is_empty_file(copy.as_ref())) {
                if is_file {
                    gone.held_back.push(path.clone());
                }
                continue;
            }
            let now = || kind_of(&path_below(&self.top, path));
            if is_file && now()?.is_some_and(|now| !now.is_file()) {
                gone.replaced.push((path.clone(), self.copy_of(path)));
                continue;
            }
            self.put_back_file(path, &modes)?;
        }
        let is_held_back = |path: &Vec<u8>| gone.held_back.contains(path);
        let for_good = gone
            .all
            .iter()
            .filter(|path| self.is_gone(path) && !is_held_back(path));
        gone.for_good = for_good.cloned().collect();
        built_last(&mut gone.for_good);
        Ok(gone)
    }

    /// Returns the directory and everything copied with it, in order; nothing if a part is lost.
    fn copies_in<'m>(&self, dir: &[u8], modes: &'m Modes) -> Result<Vec<&'m Vec<u8>>, FileError> {
        let below = [dir, b"/"].concat();
        let parts = modes.range(dir.to_vec()..).map(|(path, _)| path);
        let parts = parts.take_while(|path| path.starts_with(dir));
        let parts: Vec<_> = parts
            .filter(|path| path.as_slice() == dir || path.starts_with(&below))
            .collect();
        let mut is_whole = parts.first().is_some_and(|first| first.as_slice() == dir);
        for path in &parts {
            is_whole = is_whole && self.copy(path)?.is_some();
        }
        Ok(if is_whole { parts } else { Vec::new() })
    }

    /// Returns the metadata of the copy of a path, if there is one.
    fn copy(&self, path: &[u8]) -> Result<Option<Metadata>, FileError> {
        kind_of(&self.copy_of(path))
    }

    fn put_back_directory(&self, copies: &[&Vec<u8>], modes: &Modes) -> Result<(), FileError> {
        for path in copies {
            let (to, copy) = (path_below(&self.top, path), self.copy_of(path));
            if !self.has_only_directories_above(path)? {
                return Ok(());
            }
            match kind_of(&copy)? {
                Some(found) if found.is_dir() => Below::new(&self.top).make_dir(&to, 0o777)?,
                _ => self.put_back_file(path, modes)?,
            }
        }
        // A directory may not be writable for its owner.
        for path in copies.iter().rev() {
            if is_directory(&self.copy_of(path))? {
                self.set_mode(path, modes)?;
            }
        }
        Ok(())
    }

    fn put_back_file(&self, path: &[u8], modes: &Modes) -> Result<(), FileError> {
        let (to, copy) = (path_below(&self.top, path), self.copy_of(path));
        let Some(kept) = kind_of(&copy)?.filter(|kept| kept.is_file() || kept.is_symlink()) else {
            return Ok(());
        };
        if !self.has_only_directories_above(path)? {
            return Ok(());
        }
        let below = Below::new(&self.top);
        let is_gone = !look_with_permissions(&self.top, &to, is_there)?;
        if kept.is_symlink() {
            if is_gone {
                below.link(&link_of(&copy)?, &to)?;
            }
            return Ok(());
        }
        if is_gone {
            below.copy(&copy, &to)?;
        }
        self.set_mode(path, modes)
    }

    fn set_mode(&self, path: &[u8], modes: &Modes) -> Result<(), FileError> {
        match modes.get(path) {
            Some(mode) => set_mode(&Below::new(&self.top), &path_below(&self.top, path), *mode),
            None => Ok(()),
        }
    }
}

fn is_empty_file(found: Option<&Metadata>) -> bool {
    found.is_some_and(|found| found.is_file() && found.len() == 0)
}

/// Ignored paths and nested repositories that were missing when the work tree was restored.
#[derive(Debug, Default)]
pub(super) struct Gone {
    /// All missing paths.
    pub all: Vec<Vec<u8>>,
    /// The missing paths without a copy.
    pub for_good: Vec<Vec<u8>>,
    /// The directories among the paths without a copy.
    without: Vec<Vec<u8>>,
    /// Files replaced by something else, with their copies.
    replaced: Vec<(Vec<u8>, PathBuf)>,
    /// Build outputs that would appear complete without these directories.
    held_back: Vec<Vec<u8>>,
}

impl Gone {
    /// Reports paths that could not be restored, and returns them. `trash` may have files that were moved along.
    pub fn tell(&self, site: Site<'_>, trash: &Path) -> Vec<Vec<u8>> {
        if !self.for_good.is_empty() {
            let mut notice = format!(
                "what git does not track is gone from its place, and there is no copy to put back: {}",
                first_few(&self.for_good).join(", ")
            );
            if seen_itself(trash).is_some() {
                notice.push_str(&format!("; what was moved along may be in {}", trash.display()));
            }
            site.tell(notice);
        }
        for (path, copy) in &self.replaced {
            site.tell(format!(
                "what git ignores is left as the attempt made it: {} is no longer a file; a copy of it is {}",
                first_few([path]).join(", "),
                copy.display()
            ));
        }
        let without = first_few(&self.without).join(", ");
        let why = format!("not put back without {without}, which may be what it was made with");
        site.tell_few(&why, &self.held_back);
        self.for_good.iter().chain(&self.held_back).cloned().collect()
    }
}

/// Takes the inventory before an attempt, and copies its small files. One scan of the work tree.
pub(in crate::protect) async fn record(site: Site<'_>) -> Result<(), ProtectError> {
    inner_repositories::record(site, Moment::Checkpoint, &site.repo.index())?;
    let records = Records::of(site);
    records.record_top_mode(Moment::Checkpoint)?;
    let mut now = Inventory::take(site.repo, &site.repo.index()).await?;
    for path in records.empty_directories(Moment::Start)? {
        if is_directory(&path_below(&site.repo.top, &path))? {
            now.insert(&site.repo.top, &path, Kind::EmptyDirectory);
        }
    }
    Ok(records.copy_ignored(&now)?)
}

impl Site<'_> {
    /// Reports the ignored files that an accepted attempt deleted: no checkpoint has them, and they stay deleted. Omits
    /// files that a build recreates.
    pub fn tell_deleted(self) -> Result<(), ProtectError> {
        let records = Records::of(self);
        let Some(before) = records.inventory_before_attempt()? else {
            return Ok(());
        };
        let deleted: Vec<Vec<u8>> = before
            .iter()
            .filter(|(path, item)| item.kind.is_ignored() && !is_built(path) && records.is_gone(path))
            .map(|(path, _)| path.clone())
            .collect();
        if deleted.is_empty() {
            return Ok(());
        }
        let mut notice = format!(
            "the attempt deleted what git ignores, and it stays deleted: {}",
            first_few(&deleted).join(", ")
        );
        let copies: Vec<PathBuf> = deleted.iter().map(|path| records.copy_of(path)).collect();
        match copies.iter().find(|copy| seen_itself(copy).is_some()) {
            Some(only) if copies.len() == 1 => notice.push_str(&format!("; a copy is {}", only.display())),
            Some(_) => notice.push_str(&format!(
                "; copies of small files are in {}",
                records.dir.join("files").display()
            )),
            None => {}
        }
        self.tell(notice);
        Ok(())
    }

    /// Selects the paths that git ignored when the loop began.
    pub fn ignored_at_start<'p>(
        self,
        paths: impl Iterator<Item = &'p Vec<u8>>,
    ) -> Result<Vec<Vec<u8>>, FileError> {
        let mut paths = paths.peekable();
        if paths.peek().is_none() {
            return Ok(Vec::new());
        }
        let start = Records::of(self).inventory_of_start()?.unwrap_or_default();
        Ok(paths.filter(|path| start.holds_back(path)).cloned().collect())
    }
}

/// Removes paths from a reading that git ignored when the loop began and an attempt added, and those that new exclude
/// rules hid.
pub(super) async fn leave_out(
    site: Site<'_>,
    work: &Path,
    mut reading: Reading,
) -> Result<Reading, ProtectError> {
    let records = Records::of(site);
    let taken = site.ignored_at_start(reading.added())?;
    let mut hidden = records.hidden_among(reading.added())?;
    if !hidden.is_empty() {
        // A file in the index is tracked, even if it is ignored.
        let file = site.repo.read_index_or_none(&site.repo.index())?;
        hidden.retain(|path| !file.has(path));
    }
    let left_out = [taken.as_slice(), hidden.as_slice()].concat();
    site.repo.leave_out(work, &mut reading, &left_out).await?;
    let why = "left out, because git ignored it when the loop began";
    site.tell_few(why, &taken);
    let why =
        "left out, because a rule that an attempt added to .git/info/exclude hid it (git add takes it in)";
    site.tell_few(why, &hidden);
    Ok(reading)
}
