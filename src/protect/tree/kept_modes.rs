//! The permissions of files that git rewrites in a user's work tree, or writes into a new one: git gives all of them
//! the usual ones, and a private file would become readable.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::file_modes::{LINK, Usual, set_mode};
use super::moment::Moment;
use crate::fs::{Below, FileError, kind_of, path_below};
use crate::git::{GitError, Repo, added_in, split_z};
use crate::names::Oid;
use crate::paths::directories;
use crate::protect::records::Records;
use crate::protect::{ProtectError, Site};

/// The record of the permissions to set after a switch: its two trees, then for each path its permissions and the path.
const NOTED: &str = "modes-to-give";
/// Number of digits of permissions in that record.
const DIGITS: usize = 4;

/// Unusual permissions of files and directories, by path.
#[derive(Default)]
pub(crate) struct KeptModes(BTreeMap<Vec<u8>, KeptMode>);

struct KeptMode {
    bits: u32,
    is_dir: bool,
}

impl KeptModes {
    /// Reads the unusual permissions of these paths, of their directories, and of the top, in a work tree.
    pub fn read<'p>(repo: &Repo, paths: impl Iterator<Item = &'p [u8]>) -> Result<Self, FileError> {
        let mut kept = Self::default();
        let paths: Vec<&[u8]> = paths.collect();
        let dirs = directories(paths.iter().copied());
        for path in paths.into_iter().chain(dirs).chain([&b""[..]]) {
            kept.add(repo, path)?;
        }
        Ok(kept)
    }

    fn add(&mut self, repo: &Repo, path: &[u8]) -> Result<(), FileError> {
        let found = kind_of(&path_below(&repo.top, path))?;
        if let Some(found) = found.filter(|found| found.is_file() || found.is_dir())
            && let Some(mode) = Usual::in_work_tree(repo).unusual(&found)
        {
            // The content may differ: set-id bits are not restored.
            let kept = KeptMode {
                bits: mode & 0o777,
                is_dir: found.is_dir(),
            };
            self.0.insert(path.to_vec(), kept);
        }
        Ok(())
    }

    /// Adds other permissions, which take precedence.
    pub fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Reads the permissions in `source` of files added by these changes, and of directories missing in `target`.
    pub fn of_new(source: &Repo, target: &Repo, changes: &[(u8, Vec<u8>)]) -> Result<Self, FileError> {
        let mut kept = Self::default();
        let new: Vec<&[u8]> = added_in(changes).map(Vec::as_slice).collect();
        for dir in directories(new.iter().copied()) {
            if kind_of(&path_below(&target.top, dir))?.is_none() {
                kept.add(source, dir)?;
            }
        }
        for path in new {
            kept.add(source, path)?;
        }
        Ok(kept)
    }

    /// Returns the recorded permissions of the last checkpoint, for files only.
    fn recorded(records: &Records) -> Result<Self, FileError> {
        let moment = Moment::Checkpoint;
        if !records.knows_modes(moment) {
            return Ok(Self::default());
        }
        let modes = records.modes(moment)?.into_iter();
        let modes = modes.filter(|(path, mode)| *mode != LINK && !path.is_empty());
        let kept = modes.map(|(path, mode)| {
            let (bits, is_dir) = (mode & 0o777, false);
            (path, KeptMode { bits, is_dir })
        });
        Ok(Self(kept.collect()))
    }

    /// Returns the permissions recorded for this switch.
    fn noted(records: &Records, switch: &str) -> Result<Self, FileError> {
        let fields = split_z(&records.read(NOTED)?);
        let mut fields = fields.into_iter();
        if fields.next().as_deref() != Some(switch.as_bytes()) {
            return Ok(Self::default());
        }
        let kept = fields.filter_map(|field| {
            let (mode, path) = field.split_at_checked(DIGITS)?;
            let (kind, bits) = str::from_utf8(mode).ok()?.split_at_checked(1)?;
            let mode = KeptMode {
                bits: u32::from_str_radix(bits, 8).ok()? & 0o777,
                is_dir: kind == "d",
            };
            Some((path.to_vec(), mode))
        });
        Ok(Self(kept.collect()))
    }

    /// Returns the record of these permissions for a switch.
    fn note(&self, switch: &str) -> Vec<u8> {
        let mut note = format!("{switch}\0").into_bytes();
        for (path, mode) in &self.0 {
            let kind = if mode.is_dir { 'd' } else { 'f' };
            note.extend_from_slice(format!("{kind}{:03o}", mode.bits).as_bytes());
            note.extend_from_slice(path);
            note.push(0);
        }
        note
    }

    /// Sets these permissions in a work tree; executable bits stay as git wrote them.
    pub fn give(&self, repo: &Repo) -> Result<(), FileError> {
        let below = Below::new(&repo.top);
        for (path, mode) in &self.0 {
            if path.is_empty() {
                below.set_mode(&repo.top, mode.bits)?;
                continue;
            }
            let file = path_below(&repo.top, path);
            let Some(found) = kind_of(&file)? else { continue };
            if found.is_dir() != mode.is_dir {
                continue;
            }
            let mode = mode.bits;
            let is_executable = found.permissions().mode() & 0o100 != 0;
            let mode = match (found.is_file(), is_executable, mode & 0o100 != 0) {
                (true, true, false) => mode | (mode & 0o444) >> 2,
                (true, false, true) => mode & !0o111,
                (true, ..) => mode,
                (false, ..) => mode | found.permissions().mode() & 0o7000,
            };
            set_mode(&below, &file, mode)?;
        }
        Ok(())
    }
}

impl Site<'_> {
    /// Sets the recorded permissions of the last checkpoint, whose tree is `checkpoint`, on files into which git has
    /// written the content of another tree.
    pub async fn give_recorded_modes(self, [checkpoint, now]: [&Oid; 2]) -> Result<(), ProtectError> {
        let mut kept = KeptModes::recorded(&Records::of(self))?;
        if kept.0.is_empty() {
            return Ok(());
        }
        let changes = self.repo.git.diff_trees(checkpoint, now).await?.into_iter();
        let written: BTreeSet<Vec<u8>> = changes.map(|(_, path)| path).collect();
        kept.0.retain(|path, _| written.contains(path));
        Ok(kept.give(self.repo)?)
    }

    /// Switches the files of a user's work tree from the tree `now`, which `work` describes, to another one. Files that
    /// git could not reproduce go to the directory `trash`. Files keep their permissions; new ones get those of the
    /// work tree `source`. Returns git's refusal.
    pub async fn switch_users_files(
        self,
        work: &Path,
        [now, target]: [&Oid; 2],
        source: &Repo,
        trash: &Path,
    ) -> Result<Result<(), GitError>, ProtectError> {
        self.keep_before_switch(work, [now, target], trash).await?;
        let changes = self.repo.git.diff_trees(now, target).await?;
        let mut kept = KeptModes::of_new(source, self.repo, &changes)?;
        for (_, path) in changes.iter().filter(|(status, _)| *status != b'A') {
            kept.add(self.repo, path)?;
        }
        self.note_modes(&mut kept, [now, target])?;
        let switched = self.repo.switch_work_tree(work, now, target).await;
        if switched.is_ok() {
            self.write_large(work, [now, target]).await?;
        }
        self.give_noted_modes(&kept)?;
        Ok(switched)
    }

    /// Records the permissions to set after a switch between these trees: if this process dies, git has written some
    /// files with other permissions. The record of a process that died takes precedence.
    pub fn note_modes(self, kept: &mut KeptModes, [now, target]: [&Oid; 2]) -> Result<(), FileError> {
        let (records, switch) = (Records::of(self), format!("{now} {target}"));
        kept.0.extend(KeptModes::noted(&records, &switch)?.0);
        if kept.0.is_empty() {
            return Ok(());
        }
        records.write(NOTED, &kept.note(&switch))
    }

    /// Sets the recorded permissions.
    pub fn give_noted_modes(self, kept: &KeptModes) -> Result<(), FileError> {
        kept.give(self.repo)?;
        Records::of(self).forget_paths(NOTED)
    }
}
