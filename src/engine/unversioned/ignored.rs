//! Files that git ignored when the loop began: they never enter a checkpoint, and the small ones come back
//! when an attempt deletes them (hazards A4, A5, D14).

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::{Paths, Unversioned};
use crate::engine::Session;
use crate::error::Error;
use crate::fs::{FileError, copy_file, file_error, remove_dir};
use crate::git::Repo;
use crate::git::worktree::Reading;

/// Ignored files up to this size are copied.
const SMALL: u64 = 1024 * 1024;
/// The record of files that are ignored before an attempt and were not when the loop began.
const LATER: &str = "ignored.later";
/// At most this many of them.
const MANY: usize = 1000;

impl Unversioned {
    /// Records which files are ignored when the loop begins. `index` may be one that does not yet
    /// describe the work tree: what is untracked and not ignored changes nothing here.
    pub(super) async fn record_ignored(&self, repo: &Repo, index: &Path) -> Result<Paths, Error> {
        remove_dir(&self.dir)?;
        let ignored = repo.ignored_paths(index).await?.into_iter().collect();
        self.save_paths("ignored", &ignored)?;
        Ok(ignored)
    }

    /// Copies the small ignored files that have changed since the last copy, `now` being those that are ignored
    /// now, and notes which are gone: a complete story or a person deleted them, and no later attempt brings
    /// them back.
    pub fn copy_ignored(&self, now: &Paths) -> Result<(), Error> {
        // What came after the beginning comes back too, but may enter a checkpoint.
        let later: Paths = now.difference(&self.paths("ignored")?).cloned().collect();
        if later != self.paths(LATER)? {
            self.save_paths(LATER, &later)?;
        }
        let mut gone = Paths::new();
        for path in &self.small_ignored()? {
            let from = self.top.join(OsStr::from_bytes(path));
            let to = self.dir.join("files").join(OsStr::from_bytes(path));
            let Ok(is) = from.symlink_metadata() else {
                gone.insert(path.clone());
                continue;
            };
            let same = to
                .metadata()
                .is_ok_and(|copy| copy.len() == is.len() && copy.modified().ok() == is.modified().ok());
            if is.is_file() && is.len() <= SMALL && !same {
                match copy_file(&from, &to) {
                    // What we may not read the agent may not read either; it can still be somebody else's.
                    Err(FileError { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied => {}
                    copied => copied?,
                }
            }
        }
        if gone != self.paths("gone")? {
            self.save_paths("gone", &gone)?;
        }
        Ok(())
    }

    /// Puts back the copies of ignored files that are gone, and the permissions of the others.
    pub(super) fn put_back_ignored(&self) -> Result<(), Error> {
        let gone = self.paths("gone")?;
        let mut wanted = self.small_ignored()?;
        wanted.retain(|path| !gone.contains(path));
        self.put_back_files(&wanted)
    }

    /// Puts back what was ignored when the loop began.
    pub(super) fn put_back_ignored_of_start(&self) -> Result<(), Error> {
        let ignored: Vec<_> = self.paths("ignored")?.into_iter().collect();
        self.put_back_files(&ignored)
    }

    fn put_back_files(&self, paths: &[Vec<u8>]) -> Result<(), Error> {
        for path in paths {
            let to = self.top.join(OsStr::from_bytes(path));
            let copy = self.dir.join("files").join(OsStr::from_bytes(path));
            let Ok(kept) = copy.metadata() else { continue };
            match to.symlink_metadata() {
                Err(_) => copy_file(&copy, &to)?,
                Ok(is) if is.is_file() && is.permissions() != kept.permissions() => {
                    fs::set_permissions(&to, kept.permissions())
                        .map_err(|error| file_error("change the mode of", &to, error))?;
                }
                Ok(_) => {}
            }
        }
        Ok(())
    }

    /// The ignored files of which copies are kept, as far as they are small.
    fn small_ignored(&self) -> Result<Vec<Vec<u8>>, Error> {
        // Those of the beginning come first: many later ones must not take their places.
        let all = self.paths("ignored")?.into_iter().chain(self.paths(LATER)?);
        let files = all.filter(|path| !path.ends_with(b"/"));
        Ok(files.take(MANY).collect())
    }

    /// Those of `paths` that were ignored when the loop began.
    fn ignored_at_start<'p>(&self, paths: impl Iterator<Item = &'p Vec<u8>>) -> Result<Vec<Vec<u8>>, Error> {
        let mut paths = paths.peekable();
        if paths.peek().is_none() {
            return Ok(Vec::new());
        }
        let ignored = self.paths("ignored")?;
        let was_ignored = |path: &&'p Vec<u8>| {
            let below = path
                .iter()
                .enumerate()
                .filter(|(_, byte)| **byte == b'/')
                .any(|(at, _)| path.get(..=at).is_some_and(|dir| ignored.contains(dir)));
            below || ignored.contains(*path)
        };
        Ok(paths.filter(was_ignored).cloned().collect())
    }
}

impl Session<'_> {
    /// Copies the small ignored files before an attempt. One look at the directories.
    pub(crate) async fn copy_ignored(&self) -> Result<(), Error> {
        let repo = &self.engine.repo;
        let now = repo.ignored_paths(&repo.index()).await?;
        self.unversioned().copy_ignored(&now.into_iter().collect())
    }

    /// Leaves out of a reading what git ignored when the loop began and an attempt made it take in.
    pub(in crate::engine) async fn leave_out_ignored(
        &mut self,
        work: &Path,
        mut reading: Reading,
    ) -> Result<Reading, Error> {
        let taken = self.unversioned().ignored_at_start(reading.added())?;
        let mut left_out = self.unversioned().covered_among(reading.added())?;
        left_out.extend(taken.iter().cloned());
        if !left_out.is_empty() {
            let repo = &self.engine.repo;
            repo.update_index(work, &["--force-remove"], &left_out).await?;
            reading.tree = repo.git.write_tree(work).await?;
            if let Some(changes) = &mut reading.changes {
                changes.retain(|(_, path)| !left_out.contains(path));
            }
        }
        if !taken.is_empty() {
            let names: Vec<_> = taken
                .iter()
                .take(5)
                .map(|path| String::from_utf8_lossy(path))
                .collect();
            let told = format!(
                "left out, because git ignored it when the loop began: {}",
                names.join(", ")
            );
            self.tell(told);
        }
        Ok(reading)
    }
}
