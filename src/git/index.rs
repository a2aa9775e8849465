//! Index files: makes private copies to work with, and replaces the real one.
//!
//! A copy keeps the modification time of its source: git compares it with the times of the entries to know
//! which of them may have changed within the same tick, and a copy that looks newer would hide such a change.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::command::joined_z;
use super::discover::Repo;
use super::error::GitError;
use super::index_file::{GITLINK, Index, IndexFile};
use super::objects::StagedEntry;
use crate::fs::{
    Below, FileError, Links, entries_of, file_error, is_absent, is_no_such_file, is_regular, may_exist,
    open_regular, path_below, target_of, those_where,
};
use crate::names::{Oid, hex};

/// Time to wait for another git that has locked the index.
const LOCK_WAIT: Duration = Duration::from_secs(5);
const LOCK_POLL: Duration = Duration::from_millis(50);

/// Copies an index with its modification time to a place below `door`; returns `false` if there is none.
fn copy(from: &Path, door: &Below, to: &Path) -> Result<bool, GitError> {
    let Some(metadata) = target_of(from)? else {
        return Ok(false);
    };
    let modified = metadata.modified().map_err(|e| file_error("read", from, e))?;
    let mut source = open_regular(from, Links::Followed).map_err(|e| file_error("read", from, e))?;
    // Git replaces its index and needs no write permission for it; git-ralph writes into copies.
    let mode = metadata.permissions().mode() | 0o600;
    // The entry at `to` may be a link to a file outside: it is replaced, not written.
    door.replace(to, |copy| {
        io::copy(&mut source, copy)?;
        copy.set_permissions(fs::Permissions::from_mode(mode))?;
        copy.set_modified(modified)
    })?;
    Ok(true)
}

/// Removes a private index and the lock that a killed git may have left beside it.
pub fn discard(door: &Below, index: &Path) -> Result<(), GitError> {
    for path in [index, &lock_of(index)] {
        door.remove_file(path)?;
    }
    Ok(())
}

/// Returns `<index>.lock`, as git names it.
pub fn lock_of(index: &Path) -> PathBuf {
    let mut name = index.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

/// Entries of an index that are not ordinary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entries {
    /// Paths with conflicts.
    pub unmerged: Vec<Vec<u8>>,
    /// True if a path has both a conflict and an entry without one: git writes no tree of such an index.
    pub contradicts_itself: bool,
    /// Paths that git assumes to be unchanged.
    pub assumed: Vec<Vec<u8>>,
    /// Paths that git skips, although the files exist.
    pub skipped: Vec<Vec<u8>>,
    /// Paths outside a sparse checkout: skip-worktree is set and the file is missing.
    pub sparse: Vec<Vec<u8>>,
    /// Paths of submodules.
    pub submodules: Vec<Vec<u8>>,
}

impl Entries {
    /// Returns all existing paths that git does not check.
    pub fn hidden(&self) -> Vec<Vec<u8>> {
        let mut hidden = [self.assumed.as_slice(), &self.skipped].concat();
        hidden.sort();
        hidden.dedup();
        hidden
    }

    fn put_flagged(
        &mut self,
        path: &[u8],
        assumed: bool,
        skipped: bool,
        exists: impl Fn() -> Result<bool, FileError>,
    ) -> Result<(), FileError> {
        if assumed {
            self.assumed.push(path.to_vec());
        }
        if skipped {
            let place = if exists()? {
                &mut self.skipped
            } else {
                &mut self.sparse
            };
            place.push(path.to_vec());
        }
        Ok(())
    }
}

/// A new private index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrivateIndex {
    /// True if the source existed and could be read.
    pub sound: bool,
    /// Its entries that need special treatment.
    pub entries: Entries,
}

impl Repo {
    /// Reads an index file, from memory if it has not changed since the last read.
    pub fn read_index(&self, index: &Path) -> Result<Arc<IndexFile>, GitError> {
        let read = self.known_indexes.read(index, self.oid_length, SystemTime::now());
        read.map_err(|source| file_error("read", index, source).into())
    }

    /// Reads an index file as [`Repo::read_index`] does; a missing one is empty.
    pub fn read_index_if_there(&self, index: &Path) -> Result<Arc<IndexFile>, GitError> {
        match self.read_index(index) {
            Err(GitError::File(error)) if is_absent(&error.source) => Ok(Arc::default()),
            read => read,
        }
    }

    /// Reads an index file as [`Repo::read_index`] does; a missing one, or one that is no file, is empty.
    pub fn read_index_or_none(&self, index: &Path) -> Result<Arc<IndexFile>, GitError> {
        match self.read_index(index) {
            Err(GitError::File(error)) if is_no_such_file(&error.source) => Ok(Arc::default()),
            read => read,
        }
    }

    /// Returns the tree that an index has according to its cache.
    pub fn held_tree(&self, index: &Path) -> Option<Oid> {
        self.read_index(index).ok()?.index()?.tree().cloned()
    }

    /// Returns whether an index file exists and is undamaged. Without a checksum (`index.skipHash`) it counts as
    /// undamaged.
    pub fn is_intact(&self, index: &Path) -> Result<bool, GitError> {
        match self.read_index(index) {
            Err(GitError::File(error)) if is_no_such_file(&error.source) => Ok(false),
            read => Ok(read?.is_whole()),
        }
    }

    /// Reads the entries of an index that need special treatment. Starts no git if git-ralph can read the index.
    pub async fn index_entries(&self, index: &Path) -> Result<Entries, GitError> {
        match self.read_index(index)?.index() {
            Some(parsed) => Ok(self.flagged_in(parsed)?),
            None => self.listed_entries(index).await,
        }
    }

    fn flagged_in(&self, index: Index<'_>) -> Result<Entries, FileError> {
        let mut entries = Entries::default();
        let mut last = None;
        for entry in index.entries() {
            let path = entry.path;
            if entry.stage != 0 {
                entries.contradicts_itself |= last == Some((path, 0));
                entries.unmerged.push(path.to_vec());
            } else if entry.mode == GITLINK {
                entries.submodules.push(path.to_vec());
            } else {
                entries.put_flagged(path, entry.assumed, entry.skipped, || self.exists(path))?;
            }
            last = Some((path, entry.stage));
        }
        Ok(entries)
    }

    /// Returns the files with changes that git does not see, as it assumes them to be unchanged or skips them. One git process
    /// if there may be any.
    pub async fn changed_in_hiding(&self, index: &Path) -> Result<Vec<Vec<u8>>, GitError> {
        let mut hidden = self.index_entries(index).await?.hidden();
        // A path is one line of git's input.
        hidden.retain(|path| {
            !path.contains(&b'\n') && is_regular(&path_below(&self.top, path)).unwrap_or_default()
        });
        if hidden.is_empty() {
            return Ok(hidden);
        }
        let names = hidden.join(&b'\n');
        let now = self
            .git
            .cmd("hash-object", ["--stdin-paths"])
            .stdin(names)
            .text()
            .await?;
        let file = self.read_index(index)?;
        let mut now = now.lines();
        hidden.retain(|path| {
            let known = file.find(path).map(|entry| hex(entry.oid));
            known.as_deref() != now.next()
        });
        Ok(hidden)
    }

    async fn listed_entries(&self, index: &Path) -> Result<Entries, GitError> {
        let listed = self
            .git
            .cmd("ls-files", ["-v", "-s", "-z"])
            .index(index)
            .fields()
            .await?;
        let mut entries = Entries::default();
        let mut last: Option<&[u8]> = None;
        for line in &listed {
            // "<tag> <mode> <oid> <stage>\t<path>"
            let Some(tab) = line.iter().position(|b| *b == b'\t') else {
                continue;
            };
            let (meta, path) = (&line[..tab], &line[tab + 1..]);
            let tag = meta.first().copied().unwrap_or_default();
            if !meta.ends_with(b" 0") {
                entries.contradicts_itself |= last == Some(path);
                entries.unmerged.push(path.to_vec());
                continue;
            }
            last = Some(path);
            if meta.get(2..8) == Some(b"160000") {
                entries.submodules.push(path.to_vec());
            } else {
                let skipped = tag.eq_ignore_ascii_case(&b's');
                entries.put_flagged(path, tag.is_ascii_lowercase(), skipped, || self.exists(path))?;
            }
        }
        Ok(entries)
    }

    /// Makes git check these paths again.
    pub async fn show_paths(&self, index: &Path, paths: &[Vec<u8>]) -> Result<(), GitError> {
        self.update_index(index, &["--no-assume-unchanged"], paths)
            .await?;
        self.update_index(index, &["--no-skip-worktree"], paths).await
    }

    /// Stages the intent to add (`git add -N`) for these paths that are in the work tree and not in `index`.
    pub async fn intend_to_add(&self, index: &Path, paths: &[Vec<u8>]) -> Result<(), GitError> {
        let file = self.read_index(index)?;
        let new = paths.iter().filter(|path| !file.has(path)).cloned();
        let new = those_where(new, |path| self.exists(path))?;
        if new.is_empty() {
            return Ok(());
        }
        let args = [
            "-N",
            "-f",
            "--sparse",
            "--pathspec-from-file=-",
            "--pathspec-file-nul",
        ];
        self.git
            .cmd("add", args)
            .index(index)
            .env("GIT_LITERAL_PATHSPECS", "1")
            .stdin(joined_z(&new))
            .done()
            .await
    }

    /// Adds entries to an index, or removes them.
    pub async fn set_entries(&self, index: &Path, entries: &[StagedEntry]) -> Result<(), GitError> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut input = Vec::new();
        for entry in entries {
            input.extend_from_slice(format!("{} {}\t", entry.mode, entry.oid).as_bytes());
            input.extend_from_slice(&entry.path);
            input.push(0);
        }
        let args = ["-z", "--index-info"];
        self.git
            .cmd("update-index", args)
            .index(index)
            .stdin(input)
            .done()
            .await
    }

    /// Writes the missing ones of these paths of an index into the work tree.
    pub async fn check_out_paths(&self, index: &Path, paths: &[Vec<u8>]) -> Result<(), GitError> {
        self.check_out(index, &["-u".as_ref()], paths).await
    }

    /// Writes these paths of an index as git checks them out, including those that it skips, with more flags of
    /// git-checkout-index(1).
    pub(super) async fn check_out(
        &self,
        index: &Path,
        flags: &[&OsStr],
        paths: &[Vec<u8>],
    ) -> Result<(), GitError> {
        let all = ["--ignore-skip-worktree-bits", "-z", "--stdin"].map(OsStr::new);
        let args = all.iter().chain(flags);
        let command = self.git.cmd("checkout-index", args).index(index);
        command.stdin(joined_z(paths)).done().await
    }

    /// Makes git stop checking these paths.
    pub async fn hide_paths(
        &self,
        index: &Path,
        assumed: &[Vec<u8>],
        skipped: &[Vec<u8>],
    ) -> Result<(), GitError> {
        self.update_index(index, &["--assume-unchanged"], assumed).await?;
        self.update_index(index, &["--skip-worktree"], skipped).await
    }

    /// Makes the private index `to` from the work tree's index, as [`Repo::private_copy`] does.
    pub async fn private_index(&self, to: &Path, fallback: Option<&Oid>) -> Result<PrivateIndex, GitError> {
        self.private_copy(&self.index(), to, fallback).await
    }

    /// Makes the private index `to` from `from`, or from the commit `fallback` (or empty) if `from` is missing or
    /// damaged. Usually starts no git process.
    pub async fn private_copy(
        &self,
        from: &Path,
        to: &Path,
        fallback: Option<&Oid>,
    ) -> Result<PrivateIndex, GitError> {
        let door = self.door(to);
        discard(&door, to)?;
        // Only git-ralph uses it, but a killed git may have left its lock.
        let lock = lock_of(to);
        if may_exist(&lock) {
            wait_while(|| may_exist(&lock)).await;
            discard(&door, &lock)?;
        }
        let known = self.read_index(from).ok();
        if copy(from, &door, to)? && self.unsplit(to).await? {
            // The entries of the source serve for the copy, if the source certainly did not change meanwhile.
            let is_same = known
                .filter(|known| known.index().is_some())
                .is_some_and(|known| {
                    let now = self.read_index(from);
                    now.is_ok_and(|now| Arc::ptr_eq(&known, &now))
                });
            // This reads the whole file, so it also proves that it is undamaged.
            if let Ok(entries) = self.index_entries(if is_same { from } else { to }).await
                && !entries.contradicts_itself
            {
                return Ok(PrivateIndex { sound: true, entries });
            }
        }
        discard(&door, to)?;
        let source = fallback.map_or("--empty", Oid::as_str);
        self.git.cmd("read-tree", [source]).index(to).done().await?;
        Ok(PrivateIndex::default())
    }

    /// Converts an index with a shared file (`core.splitIndex`) to a complete one: a private index must not depend on a
    /// file that the real one may drop. Returns whether it could be read.
    async fn unsplit(&self, index: &Path) -> Result<bool, GitError> {
        let shared = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with("sharedindex.");
        if !entries_of(&self.git_dir)?.iter().any(shared) {
            return Ok(true);
        }
        let args = ["-q", "--no-split-index"];
        let whole = self.git.cmd("update-index", args).index(index).any_exit().await?;
        Ok(whole.code == Some(0))
    }

    /// Copies an index with its modification time to a place of git-ralph's; returns `false` if it is missing.
    pub fn copy_index(&self, from: &Path, to: &Path) -> Result<bool, GitError> {
        copy(from, &self.door(to), to)
    }

    /// Removes a private index, as [`discard`] does.
    pub fn discard_index(&self, index: &Path) -> Result<(), GitError> {
        discard(&self.door(index), index)
    }

    /// Replaces the repository's index with a copy of `index`, by git's own protocol: an exclusive
    /// `index.lock`, then a rename.
    pub async fn install_index(&self, index: &Path) -> Result<(), GitError> {
        let real = self.index();
        let lock_path = lock_of(&real);
        let door = self.door(&real);
        let mut lock = open_lock(&door, &lock_path).await?;
        let written = self
            .sharing
            .apply(&lock)
            .and_then(|()| write_copy(&mut lock, index))
            .and_then(|()| door.rename(&lock_path, &door, &real));
        written.map_err(|source| {
            // A remaining lock would block every later git command.
            let _ = door.remove_file(&lock_path);
            file_error("write", &real, source).into()
        })
    }
}

/// Waits briefly for locks to be released; most are.
pub(super) async fn wait_while(is_held: impl Fn() -> bool) {
    let deadline = tokio::time::Instant::now() + LOCK_WAIT / 5;
    while is_held() && tokio::time::Instant::now() < deadline {
        tokio::time::sleep(LOCK_POLL).await;
    }
}

async fn open_lock(door: &Below, path: &Path) -> Result<File, GitError> {
    let deadline = tokio::time::Instant::now() + LOCK_WAIT;
    loop {
        match door.make_file(path, 0o666) {
            Ok(file) => return Ok(file),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if tokio::time::Instant::now() >= deadline {
                    return Err(GitError::Locked(path.to_owned()));
                }
                tokio::time::sleep(LOCK_POLL).await;
            }
            Err(source) => return Err(file_error("write", path, source).into()),
        }
    }
}

fn write_copy(lock: &mut File, index: &Path) -> io::Result<()> {
    let mut source = open_regular(index, Links::Followed)?;
    let modified = source.metadata()?.modified()?;
    io::copy(&mut source, lock)?;
    lock.sync_all()?;
    lock.set_modified(modified)
}
