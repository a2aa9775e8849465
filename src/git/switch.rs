//! Changes the work tree to a git tree, writing only the files that differ.
//!
//! Overwrites only content that was read before: a file that changed meanwhile stops the step.

use std::collections::{BTreeSet, HashSet};
use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::discover::Repo;
use super::error::GitError;
use super::index_file::{Entry, touched};
use crate::fs::{Below, FileError, entries_of, is_there, kind_of, path_below, seen_itself};
use crate::names::Oid;

impl GitError {
    /// Returns whether git did not begin to change the work tree, because a file in it has changed since it was read.
    pub fn is_of_changed_files(&self) -> bool {
        let of_files = [
            "not uptodate",
            "would be overwritten",
            "would lose untracked files",
        ];
        matches!(self, Self::Failed { words, .. } if of_files.iter().any(|of| words.contains(of)))
    }

    /// Returns whether a filter failed that had to write a file.
    pub fn is_of_filter(&self) -> bool {
        matches!(self, Self::Failed { words, .. } if words.contains("smudge filter"))
    }
}

impl Repo {
    /// Returns this repository without smudge filters: git writes files as it stores them. One git process.
    pub async fn without_smudging(&self) -> Result<Self, GitError> {
        let args = ["-z", "--name-only", "--get-regexp", r"^filter\.[^=]*$"];
        let names = self.git.cmd("config", args).any_exit().await?;
        let names = String::from_utf8_lossy(&names.stdout);
        let drivers: BTreeSet<&str> = names
            .split('\0')
            .filter_map(|name| Some(name.rsplit_once('.')?.0))
            .collect();
        let off =
            |driver: &str| ["smudge=", "process=", "required=false"].map(|off| format!("{driver}.{off}"));
        let mut settings = self.git.settings();
        settings.extend(drivers.into_iter().flat_map(off));
        Ok(Self {
            git: self.git.clone().with_settings(settings),
            ..self.clone()
        })
    }

    /// Returns whether this path of the work tree exists.
    pub fn exists(&self, path: &[u8]) -> Result<bool, FileError> {
        is_there(&path_below(&self.top, path))
    }

    /// Finds the obstacle to a new file at this path: the first of its parent directories that is not a directory (a
    /// symlink is not one), or an entry at the path itself.
    pub fn first_in_the_way(&self, path: &[u8]) -> Result<Option<Vec<u8>>, FileError> {
        let slashes = path
            .iter()
            .enumerate()
            .filter(|(_, b)| **b == b'/')
            .map(|(at, _)| at);
        for end in slashes {
            let dir = &path[..end];
            match kind_of(&path_below(&self.top, dir))? {
                Some(found) if found.is_dir() => {}
                Some(_) => return Ok(Some(dir.to_vec())),
                None => return Ok(None),
            }
        }
        Ok(self.exists(path)?.then(|| path.to_vec()))
    }

    /// Finds the obstacles to these changes of the work tree: at each added path, an existing entry that the same
    /// changes do not remove. A directory is removed if all its entries are.
    pub fn in_the_way(&self, changes: &[(u8, Vec<u8>)]) -> Result<Vec<Vec<u8>>, FileError> {
        let of = |wanted: u8| changes.iter().filter(move |(status, _)| *status == wanted);
        let going: HashSet<&[u8]> = of(b'D').map(|(_, path)| path.as_slice()).collect();
        let mut found = Vec::new();
        for (_, path) in of(b'A') {
            found.extend(self.first_in_the_way(path)?);
        }
        found.retain(|path| !goes(&path_below(&self.top, path), path, &going));
        Ok(found)
    }

    /// Changes the work tree from `now` (the tree that `index` was read into) to `target`, writing only differing
    /// files; `index` then describes `target`.
    pub async fn switch_work_tree(&self, index: &Path, now: &Oid, target: &Oid) -> Result<(), GitError> {
        if now == target {
            return Ok(());
        }
        let args = ["--no-sparse-checkout", "-m", "-u", now.as_str(), target.as_str()];
        // The target's attributes apply: those of the work tree may be about to be undone.
        let switch = || {
            let command = self.git.cmd("read-tree", args).index(index);
            command.env("GIT_ATTR_SOURCE", target.as_str()).done()
        };
        match switch().await {
            // With other attributes git may consider a file changed that it reads only because it was written in the
            // second of the index.
            Err(error) if error.is_of_changed_files() && self.trust_times(index)? => switch().await,
            switched => switched,
        }
    }

    /// Makes git trust an index's times of its files, if none was touched since. Returns whether git will trust them.
    /// One `lstat` for each file.
    fn trust_times(&self, index: &Path) -> Result<bool, GitError> {
        let file = self.read_index(index)?;
        let mut newest = SystemTime::now();
        for entry in file.entries().filter(Entry::is_plain_file) {
            match seen_itself(&path_below(&self.top, entry.path)) {
                Some(found) if touched(&found) == entry.touched => {
                    newest = newest.max(found.modified().unwrap_or(newest));
                }
                _ => return Ok(false),
            }
        }
        let later = newest + Duration::from_secs(1);
        let set = File::open(index).and_then(|index| index.set_modified(later));
        Ok(set.is_ok())
    }

    /// Changes the work tree to the content of the index `known`. `changes` lists the differences (`A`: the path is in
    /// the work tree only). The work tree was just read into `index`, which becomes an updated copy of `known`. Returns
    /// whether it was done: if one of these paths changed meanwhile, nothing is touched.
    pub async fn restore_changes(
        &self,
        index: &Path,
        known: &Path,
        changes: &[(u8, Vec<u8>)],
    ) -> Result<bool, GitError> {
        if !self.not_as_read(index, changes)?.is_empty() {
            return Ok(false);
        }
        self.discard_index(index)?;
        self.copy_index(known, index)?;
        let mut wanted = Vec::new();
        for (status, path) in changes {
            if *status == b'A' {
                self.remove_file(path)?;
            } else {
                wanted.push(path.clone());
            }
        }
        if !wanted.is_empty() {
            let taken_for_same = self.touched_in_their_second(known, &wanted)?;
            self.forget_times(index, &taken_for_same)?;
            self.check_out(index, &["-f".as_ref(), "-u".as_ref()], &wanted)
                .await?;
        }
        Ok(true)
    }

    /// Returns the paths whose files were last touched in the second that an index has for them: git may consider such
    /// a file unchanged, and not write it (`git checkout-index`, even with `-f`).
    fn touched_in_their_second(&self, index: &Path, paths: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, GitError> {
        let file = self.read_index(index)?;
        let mut found = Vec::new();
        for path in paths {
            let entry = file.find(path);
            let now = kind_of(&path_below(&self.top, path))?;
            if entry.is_some_and(|entry| now.is_some_and(|now| entry.touched.0 == touched(&now).0)) {
                found.push(path.clone());
            }
        }
        Ok(found)
    }

    /// Returns the paths that changed since the work tree was read into `index`; a path that was absent then must still
    /// be absent. Returns all of them if git-ralph cannot tell.
    pub fn not_as_read(&self, index: &Path, changes: &[(u8, Vec<u8>)]) -> Result<Vec<Vec<u8>>, GitError> {
        let file = self.read_index(index)?;
        let paths = changes.iter().map(|(_, path)| path);
        let Some(read) = file.index() else {
            return Ok(paths.cloned().collect());
        };
        let mut changed = Vec::new();
        for path in paths {
            let now = kind_of(&path_below(&self.top, path))?;
            let is_as_read = match (read.find(path), now) {
                (Some(entry), Some(now)) => entry.touched == touched(&now),
                // An entry in the way was moved with all its content.
                (_, None) => true,
                (None, Some(_)) => self.first_in_the_way(path)?.is_some_and(|way| way != *path),
            };
            if !is_as_read {
                changed.push(path.clone());
            }
        }
        Ok(changed)
    }

    /// Removes a file of the work tree, if it exists, and the directories that are then empty.
    pub fn remove_file(&self, path: &[u8]) -> Result<(), GitError> {
        let file = path_below(&self.top, path);
        let below = Below::new(&self.top);
        below.remove_file(&file)?;
        for dir in file.ancestors().skip(1).take_while(|dir| *dir != self.top) {
            // Stops at the first directory that is not empty.
            if below.remove_empty_dir(dir).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Gives these paths of the work tree their content in `target`; `changes` lists the differences (`A`: the path is
    /// not in the target, and is removed). `scratch` is a temporary private index.
    pub async fn restore_files(
        &self,
        scratch: &Path,
        target: &Oid,
        changes: &[(u8, Vec<u8>)],
    ) -> Result<(), GitError> {
        let mut wanted = Vec::new();
        for (status, path) in changes {
            if *status != b'A' {
                wanted.push(path.clone());
                continue;
            }
            self.remove_file(path)?;
        }
        if wanted.is_empty() {
            return Ok(());
        }
        self.discard_index(scratch)?;
        self.git.read_tree(target, scratch).await?;
        self.check_out(scratch, &["-f".as_ref()], &wanted).await?;
        self.discard_index(scratch)
    }
}

/// Returns whether the entry at `file`, named `path`, is to be removed: it is listed, or it is a directory that
/// contains only listed paths.
fn goes(file: &Path, path: &[u8], going: &HashSet<&[u8]>) -> bool {
    if going.contains(path) {
        return true;
    }
    let is_dir = seen_itself(file).is_some_and(|found| found.is_dir());
    is_dir
        && entries_of(file).is_ok_and(|entries| {
            entries.into_iter().all(|entry| {
                let below = [path, b"/", entry.file_name().as_encoded_bytes()].concat();
                goes(&entry.path(), &below, going)
            })
        })
}
