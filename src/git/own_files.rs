//! Git's own files that an agent can use to hide work or to change what git does: configuration,
//! exclude and attribute rules, sparse-checkout patterns, hooks.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::command::GitError;
use super::discover::Repo;
use crate::fs::{Durability, FileError, file_error, remove_dir, write_atomically};

/// Those files of one repository, as they were at one moment, by their paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnFiles(BTreeMap<PathBuf, Entry>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    File { mode: u32, bytes: Vec<u8> },
    Link(PathBuf),
}

/// Directories of a saved copy: for the files of the common git directory, and of a linked work tree's.
const PLACES: [&str; 2] = ["common", "worktree"];

impl OwnFiles {
    /// Reads them from the repository.
    ///
    /// # Errors
    /// When one is there but cannot be read.
    pub fn read(repo: &Repo) -> Result<Self, GitError> {
        let mut files = Self::default();
        files.take_place(PLACES[0], &repo.common_dir)?;
        if repo.git_dir != repo.common_dir {
            files.take_place(PLACES[1], &repo.git_dir)?;
        }
        Ok(files)
    }

    /// Reads a copy that [`OwnFiles::save`] made; empty when there is none.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn load(copy: &Path) -> Result<Self, GitError> {
        let mut files = Self::default();
        for place in PLACES {
            files.take_place(place, &copy.join(place))?;
        }
        Ok(files)
    }

    /// Writes a copy into the directory `copy`, in the place of an older one. It is there as a whole
    /// or not at all: half a copy would look as if the other files had been added since.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&self, copy: &Path) -> Result<(), FileError> {
        Self::discard(copy)?;
        let new = copy.with_extension("new");
        remove_dir(&new)?;
        fs::create_dir_all(&new).map_err(|error| file_error("make", &new, error))?;
        for (name, entry) in &self.0 {
            put(&new.join(name), entry)?;
        }
        fs::rename(&new, copy).map_err(|error| file_error("rename", &new, error))
    }

    /// Removes a copy, as a whole like [`OwnFiles::save`].
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn discard(copy: &Path) -> Result<(), FileError> {
        let old = copy.with_extension("old");
        remove_dir(&old)?;
        match fs::rename(copy, &old) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(file_error("rename", copy, error)),
            Ok(()) => remove_dir(&old),
        }
    }

    /// Brings the repository's files back to this state; what is there instead goes to `trash`.
    /// Gives the paths that differed.
    ///
    /// # Errors
    /// When a file cannot be read, moved or written.
    pub fn restore(&self, repo: &Repo, trash: &Path) -> Result<Vec<PathBuf>, GitError> {
        let now = Self::read(repo)?;
        let mut differed = Vec::new();
        let names: Vec<&PathBuf> = self
            .0
            .keys()
            .chain(now.0.keys().filter(|name| !self.0.contains_key(*name)))
            .collect();
        for name in names {
            let (was, is) = (self.0.get(name), now.0.get(name));
            if was == is {
                continue;
            }
            let path = in_repository(repo, name);
            if let Some(is) = is {
                put(&trash.join("git").join(name), is)?;
            }
            match was {
                Some(was) => put(&path, was)?,
                None => fs::remove_file(&path).map_err(|error| file_error("remove", &path, error))?,
            }
            differed.push(path);
        }
        Ok(differed)
    }

    fn take_place(&mut self, place: &str, dir: &Path) -> Result<(), GitError> {
        for name in ["config", "config.worktree"] {
            self.take(&Path::new(place).join(name), &dir.join(name))?;
        }
        for name in ["info", "hooks"] {
            self.take_dir(&Path::new(place).join(name), &dir.join(name))?;
        }
        Ok(())
    }

    fn take(&mut self, name: &Path, path: &Path) -> Result<(), GitError> {
        let Ok(metadata) = path.symlink_metadata() else {
            return Ok(());
        };
        let entry = if metadata.is_symlink() {
            Entry::Link(fs::read_link(path).map_err(|error| file_error("read", path, error))?)
        } else if metadata.is_file() {
            Entry::File {
                mode: metadata.permissions().mode() & 0o7777,
                bytes: fs::read(path).map_err(|error| file_error("read", path, error))?,
            }
        } else {
            return Ok(());
        };
        self.0.insert(name.to_owned(), entry);
        Ok(())
    }

    /// The files of a directory, without the samples that git puts there and runs never.
    fn take_dir(&mut self, name: &Path, dir: &Path) -> Result<(), GitError> {
        let Ok(entries) = fs::read_dir(dir) else {
            return Ok(());
        };
        for entry in entries.filter_map(Result::ok) {
            let path = entry.path();
            if path.extension().is_none_or(|extension| extension != "sample") {
                self.take(&name.join(entry.file_name()), &path)?;
            }
        }
        Ok(())
    }
}

fn in_repository(repo: &Repo, name: &Path) -> PathBuf {
    match name.strip_prefix(PLACES[0]) {
        Ok(rest) => repo.common_dir.join(rest),
        Err(_) => repo.git_dir.join(name.strip_prefix(PLACES[1]).unwrap_or(name)),
    }
}

fn put(path: &Path, entry: &Entry) -> Result<(), FileError> {
    let error = |error| file_error("write", path, error);
    let dir = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir).map_err(error)?;
    match entry {
        Entry::File { mode, bytes } => write_atomically(path, bytes, *mode, Durability::Atomic),
        Entry::Link(target) => {
            if path.symlink_metadata().is_ok() {
                fs::remove_file(path).map_err(error)?;
            }
            symlink(target, path).map_err(error)
        }
    }
}
