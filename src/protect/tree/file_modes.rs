//! Permissions that git does not record, and symlinks that git writes as files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::moment::Moment;
use crate::fs::{
    Below, Durability, FileError, is_regular, kind_of, link_of, path_below, read, those_where, umask_now,
};
use crate::git::Repo;
use crate::git::index_file::{Entry, IndexFile, touched};
use crate::names::Oid;
use crate::paths::is_of_work_tree;
use crate::paths::{directories, path_of};
use crate::protect::permissions::look_with_permissions;
use crate::protect::records::{Paths, Records};
use crate::protect::{ProtectError, Site};

/// Name of a file that exists if git ignored executable bits at the start: then each set bit is recorded.
pub(super) const IGNORES_MODES: &str = "ignores-modes";

/// Name of a file that exists if git wrote symlinks as files at the start: then each symlink is recorded.
pub(super) const IGNORES_LINKS: &str = "ignores-links";

/// Name of the record of the umask at the start: a later command may run with another umask.
pub(super) const UMASK: &str = "umask";

/// Name of the record of unusual permissions.
pub(super) const MODES: &str = "modes";

/// Name of the record of the permissions of the top directory.
const TOP_MODE: &str = "top-mode";

/// Permissions by path, with the set-id and sticky bits. A symlink has [`LINK`].
pub(super) type Modes = BTreeMap<Vec<u8>, u32>;

/// The mode of a symlink, in the record and in an index.
pub(super) const LINK: u32 = 0o12_0000;

impl Records {
    /// Returns whether the permissions of that moment are recorded.
    pub(super) fn knows_modes(&self, moment: Moment) -> bool {
        self.knows(&moment.name(MODES))
    }

    /// Records the permissions of the top directory at that moment; for the checkpoint, they are those before the last
    /// attempt.
    pub(super) fn record_top_mode(&self, moment: Moment) -> Result<(), FileError> {
        let name = moment.name(TOP_MODE);
        let mode = kind_of(&self.top)?.map_or(String::new(), |found| format!("{:o}", mode_of(&found)));
        if self.read(&name)? != mode.as_bytes() {
            self.write(&name, mode.as_bytes())?;
        }
        Ok(())
    }

    /// Restores the permissions of the top directory.
    pub(super) fn restore_top_mode(&self, moment: Moment) -> Result<(), FileError> {
        let recorded = self.read(&moment.name(TOP_MODE))?;
        let mode = str::from_utf8(&recorded).ok();
        match (
            mode.and_then(|mode| u32::from_str_radix(mode, 8).ok()),
            self.top.parent(),
        ) {
            (Some(mode), Some(above)) => set_mode(&Below::new(above), &self.top, mode),
            _ => Ok(()),
        }
    }

    /// Records the permissions of paths touched since the last checkpoint.
    pub(super) fn record_modes(&self, touched: &[Vec<u8>]) -> Result<(), FileError> {
        // After a loss of the record, a new one would claim that all other files have the usual permissions.
        if !self.knows_modes(Moment::Checkpoint) {
            return Ok(());
        }
        let modes = self.odd_modes(self.modes(Moment::Checkpoint)?, touched)?;
        self.save_modes(Moment::Checkpoint, &modes)
    }

    /// Records for the last checkpoint no wider permissions than at the start of the loop: on the way back to an
    /// earlier checkpoint it is unknown which of them a story has changed.
    pub(super) fn narrow_modes(&self) -> Result<(), FileError> {
        let moments = [Moment::Checkpoint, Moment::Start];
        if moments.iter().any(|moment| !self.knows_modes(*moment)) {
            return Ok(());
        }
        let mut modes = self.modes(Moment::Checkpoint)?;
        for (path, start) in self.modes(Moment::Start)? {
            let mode = modes.entry(path).or_insert(start);
            if ![*mode, start].contains(&LINK) {
                *mode &= start | !0o777;
            }
        }
        self.save_modes(Moment::Checkpoint, &modes)
    }

    /// Restores the permissions of that moment only for these paths.
    pub(super) fn restore_modes_of(&self, moment: Moment, paths: &[Vec<u8>]) -> Result<(), FileError> {
        if !self.knows_modes(moment) {
            return Ok(());
        }
        let (odd, usual, below) = (self.modes(moment)?, self.usual(), Below::new(&self.top));
        for path in paths {
            self.restore_mode(path, &odd, &usual, &below)?;
        }
        Ok(())
    }

    /// Restores the permissions of a path, if it exists: the recorded unusual ones, else the usual ones.
    fn restore_mode(&self, path: &[u8], odd: &Modes, usual: &Usual, below: &Below) -> Result<(), FileError> {
        let file = path_below(&self.top, path);
        let Some(metadata) = look_with_permissions(&self.top, &file, kind_of)? else {
            return Ok(());
        };
        let wanted = odd.get(path).copied().unwrap_or_else(|| usual.of(&metadata));
        if wanted == LINK {
            return Ok(());
        }
        // Earlier versions did not record these bits of directories.
        let inherited = if metadata.is_dir() && !self.knows(UMASK) {
            metadata.permissions().mode() & 0o7000
        } else {
            0
        };
        set_mode(below, &file, wanted | inherited)
    }

    /// Restores the permissions of that moment for touched paths and for every directory above tracked files.
    pub(super) fn restore_modes(
        &self,
        moment: Moment,
        touched: &[Vec<u8>],
        dirs: &[&[u8]],
    ) -> Result<(), FileError> {
        if !self.knows_modes(moment) {
            return Ok(());
        }
        let odd = self.modes(moment)?;
        let (usual, below) = (self.usual(), Below::new(&self.top));
        // A path may have lost unusual permissions without being touched otherwise.
        let unusual = odd.keys().map(Vec::as_slice);
        let touched = touched.iter().map(Vec::as_slice);
        for path in touched.chain(dirs.iter().copied()).chain(unusual) {
            self.restore_mode(path, &odd, &usual, &below)?;
        }
        Ok(())
    }

    /// Returns the files of an index, and the directories above them, whose permissions have changed since that moment
    /// in a way that git does not see, and that were not rewritten since, or only with their content in the index
    /// `now`. One `lstat` for each.
    pub(super) fn changed_modes(
        &self,
        moment: Moment,
        index: &IndexFile,
        now: Option<&IndexFile>,
    ) -> Result<Paths, FileError> {
        let mut changed = Paths::new();
        if !self.knows_modes(moment) {
            return Ok(changed);
        }
        let (odd, usual) = (self.modes(moment)?, self.usual());
        let files = index.entries().filter(Entry::is_plain_file);
        let files = files.map(|entry| (entry.path, Some(entry)));
        // Directories first: they may have to be made accessible.
        let dirs = directories(index.paths()).into_iter().map(|dir| (dir, None));
        for (path, entry) in dirs.chain(files) {
            let found = look_with_permissions(&self.top, &path_below(&self.top, path), kind_of)?;
            let is_same = |found: &fs::Metadata| {
                entry.as_ref().is_none_or(|entry| {
                    let is_executable = (entry.mode ^ mode_of(found)) & 0o100 == 0;
                    let is_known = |now: Entry<'_>| now.oid == entry.oid && now.touched == touched(found);
                    let is_rewritten = || now.and_then(|now| now.find(entry.path)).is_some_and(is_known);
                    let has_content = entry.touched.2 == touched(found).2 || is_rewritten();
                    has_content && (is_executable || usual.ignores_modes)
                })
            };
            if let Some(found) = found.filter(is_same)
                && usual.unusual(&found) != odd.get(path).copied()
            {
                changed.insert(path.to_vec());
            }
        }
        Ok(changed)
    }

    /// Turns files that git wrote for symlinks back into symlinks, and the reverse, as at that moment; returns their
    /// paths. Restores the `wanted` ones, or all symlinks of that moment. `index` describes the files.
    pub(super) fn restore_links(
        &self,
        moment: Moment,
        index: &IndexFile,
        wanted: &[Vec<u8>],
        all: bool,
    ) -> Result<Vec<Vec<u8>>, FileError> {
        if !self.knows(IGNORES_LINKS) || !self.knows_modes(moment) {
            return Ok(Vec::new());
        }
        let (mut made, below) = (Vec::new(), Below::new(&self.top));
        let mut links = self.modes(moment)?;
        links.retain(|_, mode| *mode == LINK);
        let others = links.keys().filter(|_| all);
        let paths: BTreeSet<&Vec<u8>> = wanted.iter().chain(others).collect();
        for path in paths {
            let entry = index.find(path);
            if entry.is_none_or(|entry| entry.mode != LINK) {
                continue;
            }
            let file = path_below(&self.top, path);
            match look_with_permissions(&self.top, &file, kind_of)? {
                Some(found) if found.is_file() && links.contains_key(path) && below.exists(&file)? => {
                    below.link(path_of(&read(&file)?), &file)?;
                }
                Some(found) if found.is_symlink() && !links.contains_key(path) && below.is_free(&file)? => {
                    let target = link_of(&file)?;
                    below.write(
                        &file,
                        target.as_os_str().as_encoded_bytes(),
                        0o666,
                        Durability::Atomic,
                    )?;
                }
                _ => continue,
            }
            made.push(path.clone());
        }
        Ok(made)
    }

    /// Returns the usual permissions in this work tree.
    pub(super) fn usual(&self) -> Usual {
        let recorded = self.read(UMASK).ok();
        let recorded =
            recorded.and_then(|text| u32::from_str_radix(std::str::from_utf8(&text).ok()?, 8).ok());
        Usual {
            umask: recorded.unwrap_or_else(umask_now) & 0o777,
            ignores_modes: self.knows(IGNORES_MODES),
            ignores_links: self.knows(IGNORES_LINKS),
        }
    }

    /// Updates the permissions of `paths` and of their directories in `modes`, which keeps only unusual ones.
    fn odd_modes(&self, mut modes: Modes, paths: &[Vec<u8>]) -> Result<Modes, FileError> {
        let usual = self.usual();
        let dirs = directories(paths.iter().map(Vec::as_slice));
        for path in paths.iter().map(Vec::as_slice).chain(dirs) {
            let found = kind_of(&path_below(&self.top, path))?;
            match found.and_then(|found| usual.unusual(&found)) {
                Some(mode) => modes.insert(path.to_vec(), mode),
                None => modes.remove(path),
            };
        }
        Ok(modes)
    }

    pub(super) fn modes(&self, moment: Moment) -> Result<Modes, FileError> {
        self.read_modes(&moment.name(MODES))
    }

    /// Reads a record of permissions, with `<octal> <path>` for each path.
    pub(super) fn read_modes(&self, name: &str) -> Result<Modes, FileError> {
        let mut modes = BTreeMap::new();
        for line in self.paths(name)? {
            let mut parts = line.splitn(2, |byte| *byte == b' ');
            let mode = parts
                .next()
                .and_then(|mode| u32::from_str_radix(std::str::from_utf8(mode).ok()?, 8).ok());
            let path = parts.next().filter(|path| is_of_work_tree(path));
            if let (Some(mode), Some(path)) = (mode, path) {
                modes.insert(path.to_vec(), mode);
            }
        }
        Ok(modes)
    }

    /// Saves the permissions of that moment.
    pub(super) fn save_modes(&self, moment: Moment, modes: &Modes) -> Result<(), FileError> {
        self.write_modes(&moment.name(MODES), modes)
    }

    /// Writes a record of permissions.
    pub(super) fn write_modes(&self, name: &str, modes: &Modes) -> Result<(), FileError> {
        let lines = modes
            .iter()
            .map(|(path, mode)| [format!("{mode:o} ").as_bytes(), path].concat());
        self.save_paths(name, &lines.collect())
    }
}

impl Site<'_> {
    /// Completes git's switch of the work tree between these trees: writes the content of large files, and reports the
    /// symlinks that git wrote as files. The working index describes the second tree.
    pub async fn after_switch(self, [was, now]: [&Oid; 2]) -> Result<(), ProtectError> {
        let repo = self.repo;
        self.write_large(&self.work_index(), [was, now]).await?;
        if !repo.ignores_links {
            return Ok(());
        }
        let index = repo.read_index_if_there(&self.work_index())?;
        let is_link = |path: &Vec<u8>| index.find(path).is_some_and(|entry| entry.mode == LINK);
        let changes = repo.git.diff_trees(was, now).await?.into_iter();
        let links = changes.map(|(_, path)| path).filter(is_link);
        let written = those_where(links, |path| is_regular(&path_below(&repo.top, path)))?;
        self.tell_few(
            "git writes links as files here (core.symlinks is false); each of these holds the target of a link",
            &written,
        );
        Ok(())
    }
}

/// The permissions that git gives new files under the present umask.
pub(super) struct Usual {
    umask: u32,
    /// True if git ignores executable bits: then each set bit is unusual.
    ignores_modes: bool,
    /// True if git writes symlinks as files: then each symlink is unusual.
    ignores_links: bool,
}

impl Usual {
    /// Returns the usual permissions of a work tree in which no loop works.
    pub fn in_work_tree(repo: &Repo) -> Self {
        Self {
            umask: umask_now(),
            ignores_modes: repo.ignores_modes,
            ignores_links: false,
        }
    }

    /// Returns the usual permissions of a file like this one.
    pub fn of(&self, metadata: &fs::Metadata) -> u32 {
        let is_executable = metadata.permissions().mode() & 0o100 != 0 && !self.ignores_modes;
        let all = if metadata.is_dir() || is_executable {
            0o777
        } else {
            0o666
        };
        all & !self.umask
    }

    /// Returns the permissions of a file if they are not the usual ones; a symlink has none of its own.
    pub fn unusual(&self, metadata: &fs::Metadata) -> Option<u32> {
        if metadata.is_symlink() {
            return self.ignores_links.then_some(LINK);
        }
        let mode = mode_of(metadata);
        (mode != self.of(metadata)).then_some(mode)
    }
}

/// Returns the permissions of a file or directory, with its set-id and sticky bits.
pub(super) fn mode_of(metadata: &fs::Metadata) -> u32 {
    metadata.permissions().mode() & 0o7777
}

/// Sets the permissions of a file of the work tree, unless it is behind a symlink, or has several hard links.
pub(super) fn set_mode(below: &Below, file: &Path, mode: u32) -> Result<(), FileError> {
    let Some(found) = kind_of(file)? else {
        return Ok(());
    };
    if mode_of(&found) == mode || !below.exists(file)? {
        return Ok(());
    }
    below.set_mode(file, mode)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn permissions_are_not_restored_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (top, out) = (dir.path().join("top"), dir.path().join("out"));
        fs::create_dir_all(&top).unwrap();
        fs::create_dir_all(&out).unwrap();
        fs::write(out.join("file"), "of the user").unwrap();
        std::os::unix::fs::symlink(&out, top.join("link")).unwrap();
        let records = Records {
            dir: dir.path().join("unversioned"),
            top,
            door: Below::new(dir.path()),
        };
        let before = out.join("file").metadata().unwrap().mode();
        let modes = [(b"link/file".to_vec(), 0o4711)].into();
        records.save_modes(Moment::Checkpoint, &modes).unwrap();
        records.restore_modes(Moment::Checkpoint, &[], &[]).unwrap();
        assert_eq!(out.join("file").metadata().unwrap().mode(), before);
    }

    #[test]
    fn record_keeps_permissions_that_cannot_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let records = Records {
            dir: dir.path().join("unversioned"),
            top: dir.path().to_owned(),
            door: Below::new(dir.path()),
        };
        fs::create_dir(&records.dir).unwrap();
        records.save_modes(Moment::Checkpoint, &[].into()).unwrap();
        records.record_modes(&[b"none".to_vec()]).unwrap();
        let refused = vec![b'n'; 256];
        records.record_modes(std::slice::from_ref(&refused)).unwrap_err();
        assert!(!records.is_gone(&refused) && records.is_gone(b"none"));
    }
}
