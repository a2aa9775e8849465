//! What the user has that git does not keep, and that an attempt must not take away: which files were
//! ignored when the loop began (and the small ones themselves), empty directories, and permissions
//! other than the usual ones (hazards A4, A5, A10, A11, D14, D15).
//!
//! It is kept in `unversioned/` below the loop's directory, never as objects: a mirror push must not
//! carry an ignored secret away.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use nix::sys::stat::{Mode, umask};

use super::Session;
use super::raw_bytes::RawBytes;
use crate::error::Error;
use crate::git::Repo;
use crate::git::index::{self, Entries};
use crate::git::index_file::{Entry, Index, compare};
use crate::git::worktree::Reading;

/// Ignored files up to this size are copied.
const SMALL: u64 = 1024 * 1024;
/// At most this many of them.
const MANY: usize = 1000;

/// File systems stamp with the clock of the last tick: a file made after a moment may look older than it.
const CLOCK_LAG: Duration = Duration::from_millis(100);

/// Unusual permissions at the last checkpoint, and when the loop began.
const MODES: &str = "modes";
const MODES_OF_START: &str = "modes.start";
/// Bytes that git would not give back, as they were when the loop began.
const RAW_OF_START: &str = "raw.start";

type Paths = BTreeSet<Vec<u8>>;

/// The loop's records of what git does not keep.
#[derive(Clone, Debug)]
pub(super) struct Unversioned {
    dir: PathBuf,
    top: PathBuf,
}

impl Unversioned {
    pub fn new(dir: PathBuf, top: &Path) -> Self {
        Self {
            dir,
            top: top.to_owned(),
        }
    }

    /// Records which files are ignored when the loop begins. `index` may be one that does not yet
    /// describe the work tree: what is untracked and not ignored changes nothing here.
    pub async fn record_ignored(&self, repo: &Repo, index: &Path) -> Result<(), Error> {
        if let Err(error) = fs::remove_dir_all(&self.dir)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(file_error("remove", &self.dir, error));
        }
        fs::create_dir_all(&self.dir).map_err(|error| file_error("make", &self.dir, error))?;
        let ignored = repo.ignored_paths(index).await?;
        self.save_paths("ignored", &ignored.into_iter().collect())
    }

    /// Records what else is there when the loop begins; `index` describes the work tree, `oid` is the
    /// length of an object id in bytes, `entries` what the user's index says that needs care.
    pub async fn record_start(
        &self,
        repo: &Repo,
        index: &Path,
        oid: usize,
        entries: &Entries,
    ) -> Result<(), Error> {
        let bytes = fs::read(index).unwrap_or_default();
        let tracked = Index::parse(&bytes, oid).unwrap_or_default();
        let all: Vec<Vec<u8>> = tracked.entries.iter().map(|entry| entry.path.to_vec()).collect();
        // Looking at every file and at every directory: two kinds of work for two processors.
        let looker = self.clone();
        let looking = tokio::task::spawn_blocking(move || {
            let modes = looker.odd_modes(BTreeMap::new(), &all);
            (modes, all)
        });
        let (others, looked) = tokio::join!(repo.untracked_paths(index), looking);
        let (modes, all) = looked.map_err(|lost| file_error("look at", &self.top, io::Error::other(lost)))?;
        // Everything that is not ignored is in the index: directories that are still untracked are empty.
        let empty = others?.into_iter().filter(|path| path.ends_with(b"/"));
        self.save_paths(
            "empty",
            &empty.flat_map(|path| self.directories_in(path)).collect(),
        )?;
        for (name, paths) in [
            ("sparse", &entries.sparse),
            ("assumed", &entries.assumed),
            ("skipped", &entries.skipped),
        ] {
            self.save_paths(name, &paths.iter().cloned().collect())?;
        }
        let raw = RawBytes::new(&self.dir, "raw");
        raw.record(repo, index, oid, &all).await?;
        raw.copy_to(&RawBytes::new(&self.dir, RAW_OF_START))?;
        self.save_modes(MODES_OF_START, &modes)?;
        self.save_modes(MODES, &modes)
    }

    /// An untracked directory and all directories in it, with a final `/`.
    fn directories_in(&self, path: Vec<u8>) -> Vec<Vec<u8>> {
        let mut found = vec![path];
        let mut at = 0;
        while let Some(dir) = found.get(at).cloned() {
            let entries = fs::read_dir(self.top.join(OsStr::from_bytes(&dir)));
            for entry in entries.into_iter().flatten().filter_map(Result::ok) {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) && entry.file_name() != ".git" {
                    found.push([&dir, entry.file_name().as_bytes(), b"/"].concat());
                }
            }
            at += 1;
        }
        found
    }

    /// What git was told not to look at when the loop began, as far as it is in an index with these
    /// paths: taken for unchanged, and skipped.
    fn hidden_at_start(&self, tracked: &Paths) -> Result<[Vec<Vec<u8>>; 2], Error> {
        let known = |name: &str| -> Result<Vec<Vec<u8>>, Error> {
            let paths = self.paths(name)?;
            Ok(paths.into_iter().filter(|path| tracked.contains(path)).collect())
        };
        Ok([known("assumed")?, known("skipped")?])
    }

    /// Whether git was told not to look at anything when the loop began.
    fn has_hidden(&self) -> Result<bool, Error> {
        Ok(!self.paths("assumed")?.is_empty() || !self.paths("skipped")?.is_empty())
    }

    /// Moves files that are no files (pipes, sockets), and ignore rules that hide themselves, out of the
    /// directories of tracked files, where they were made since `since`.
    fn made_unseen(&self, tracked: &Paths, since: SystemTime) -> Result<Vec<Vec<u8>>, Error> {
        let ignored = self.paths("ignored")?;
        let mut dirs: Paths = directories(tracked.iter().map(Vec::as_slice))
            .into_iter()
            .map(<[u8]>::to_vec)
            .collect();
        dirs.insert(Vec::new());
        let mut found = Vec::new();
        for dir in dirs {
            let path = self.top.join(OsStr::from_bytes(&dir));
            let changed = path.metadata().and_then(|metadata| metadata.modified());
            if changed.is_ok_and(|changed| changed < since) {
                continue;
            }
            for entry in fs::read_dir(&path).into_iter().flatten().filter_map(Result::ok) {
                let Ok(kind) = entry.file_type() else { continue };
                let mut name = dir.clone();
                if !name.is_empty() {
                    name.push(b'/');
                }
                name.extend_from_slice(entry.file_name().as_bytes());
                let special = !(kind.is_file() || kind.is_dir() || kind.is_symlink());
                let rules =
                    entry.file_name() == ".gitignore" && !tracked.contains(&name) && !ignored.contains(&name);
                let made = entry.metadata().and_then(|metadata| metadata.created());
                if rules || (special && made.is_ok_and(|made| made >= since)) {
                    found.push(name);
                }
            }
        }
        Ok(found)
    }

    /// What was outside a sparse checkout at the last checkpoint.
    pub fn sparse(&self) -> Result<Vec<Vec<u8>>, Error> {
        Ok(self.paths("sparse")?.into_iter().collect())
    }

    /// Those of `paths` that were not outside a sparse checkout when the loop began.
    pub fn newly_sparse(&self, paths: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Error> {
        if paths.is_empty() {
            return Ok(paths);
        }
        let known = self.paths("sparse")?;
        Ok(paths.into_iter().filter(|path| !known.contains(path)).collect())
    }

    /// Copies the small ignored files that have changed since the last copy.
    pub fn copy_ignored(&self) -> Result<(), Error> {
        for path in self
            .paths("ignored")?
            .iter()
            .filter(|path| !path.ends_with(b"/"))
            .take(MANY)
        {
            let from = self.top.join(OsStr::from_bytes(path));
            let to = self.dir.join("files").join(OsStr::from_bytes(path));
            let Ok(is) = from.symlink_metadata() else { continue };
            let same = to
                .metadata()
                .is_ok_and(|copy| copy.len() == is.len() && copy.modified().ok() == is.modified().ok());
            if is.is_file() && is.len() <= SMALL && !same {
                copy_file(&from, &to)?;
            }
        }
        Ok(())
    }

    /// Puts back the copies of ignored files that are gone, and empty directories.
    fn put_back(&self) -> Result<(), Error> {
        for path in self
            .paths("ignored")?
            .iter()
            .filter(|path| !path.ends_with(b"/"))
            .take(MANY)
        {
            let to = self.top.join(OsStr::from_bytes(path));
            let copy = self.dir.join("files").join(OsStr::from_bytes(path));
            if copy.is_file() && to.symlink_metadata().is_err() {
                copy_file(&copy, &to)?;
            }
        }
        for path in self.paths("empty")? {
            let dir = self.top.join(OsStr::from_bytes(&path));
            if dir.symlink_metadata().is_err() {
                fs::create_dir_all(&dir).map_err(|error| file_error("make", &dir, error))?;
            }
        }
        Ok(())
    }

    /// Whether this untracked directory is, or holds, one that was empty when the loop began.
    fn was_empty(&self, path: &[u8]) -> Result<bool, Error> {
        Ok(path.ends_with(b"/") && self.paths("empty")?.iter().any(|empty| empty.starts_with(path)))
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

    /// Records the permissions of what was touched since the last checkpoint.
    fn record_modes(&self, touched: &[Vec<u8>]) -> Result<(), Error> {
        self.save_modes(MODES, &self.odd_modes(self.modes(MODES)?, touched))
    }

    /// Gives what was touched, and every directory above tracked files, the permissions of the checkpoint.
    fn restore_modes(&self, name: &str, touched: &[Vec<u8>], dirs: &BTreeSet<&[u8]>) -> Result<(), Error> {
        let odd = self.modes(name)?;
        let usual = Usual::now();
        for path in touched.iter().map(Vec::as_slice).chain(dirs.iter().copied()) {
            let file = self.top.join(OsStr::from_bytes(path));
            let Ok(metadata) = file.symlink_metadata() else {
                continue;
            };
            if metadata.is_symlink() {
                continue;
            }
            let mode = metadata.permissions().mode() & 0o777;
            let wanted = odd.get(path).copied().unwrap_or_else(|| usual.of(&metadata));
            if mode != wanted {
                let kept = metadata.permissions().mode() & 0o7000;
                fs::set_permissions(&file, fs::Permissions::from_mode(wanted | kept))
                    .map_err(|error| file_error("change the mode of", &file, error))?;
            }
        }
        Ok(())
    }

    /// `modes` with those of `paths` and of their directories brought up to date: only unusual ones stay.
    fn odd_modes(&self, mut modes: BTreeMap<Vec<u8>, u32>, paths: &[Vec<u8>]) -> BTreeMap<Vec<u8>, u32> {
        let usual = Usual::now();
        let dirs = directories(paths.iter().map(Vec::as_slice));
        for path in paths.iter().map(Vec::as_slice).chain(dirs) {
            let metadata = self.top.join(OsStr::from_bytes(path)).symlink_metadata();
            match metadata {
                Ok(metadata)
                    if !metadata.is_symlink()
                        && metadata.permissions().mode() & 0o777 != usual.of(&metadata) =>
                {
                    modes.insert(path.to_vec(), metadata.permissions().mode() & 0o777);
                }
                _ => {
                    modes.remove(path);
                }
            }
        }
        modes
    }

    fn paths(&self, name: &str) -> Result<Paths, Error> {
        Ok(self
            .read(name)?
            .split(|byte| *byte == 0)
            .filter(|path| !path.is_empty())
            .map(<[u8]>::to_vec)
            .collect())
    }

    fn save_paths(&self, name: &str, paths: &Paths) -> Result<(), Error> {
        let mut bytes = Vec::new();
        for path in paths {
            bytes.extend_from_slice(path);
            bytes.push(0);
        }
        self.write(name, &bytes)
    }

    /// Such a file holds "<octal> <path>" for each path.
    fn modes(&self, name: &str) -> Result<BTreeMap<Vec<u8>, u32>, Error> {
        let mut modes = BTreeMap::new();
        for line in self.paths(name)? {
            let mut parts = line.splitn(2, |byte| *byte == b' ');
            let mode = parts
                .next()
                .and_then(|mode| u32::from_str_radix(std::str::from_utf8(mode).ok()?, 8).ok());
            if let (Some(mode), Some(path)) = (mode, parts.next()) {
                modes.insert(path.to_vec(), mode);
            }
        }
        Ok(modes)
    }

    fn save_modes(&self, name: &str, modes: &BTreeMap<Vec<u8>, u32>) -> Result<(), Error> {
        let lines = modes
            .iter()
            .map(|(path, mode)| [format!("{mode:o} ").as_bytes(), path].concat());
        self.save_paths(name, &lines.collect())
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, Error> {
        let path = self.dir.join(name);
        match fs::read(&path) {
            Ok(bytes) => Ok(bytes),
            // A loop whose directory was deleted knows less, and says so elsewhere.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(file_error("read", &path, error)),
        }
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = self.dir.join(name);
        let error = |error| file_error("write", &path, error);
        fs::create_dir_all(&self.dir).map_err(error)?;
        let mut file = tempfile::Builder::new()
            .prefix(".ralph-")
            .tempfile_in(&self.dir)
            .map_err(error)?;
        file.write_all(bytes).map_err(error)?;
        file.persist(&path)
            .map_err(|failed| error(failed.error))
            .map(drop)
    }
}

/// The permissions that git gives new files under the present umask.
struct Usual(u32);

impl Usual {
    fn now() -> Self {
        // There is no way to read it but to set it.
        let mask = umask(Mode::from_bits_truncate(0o022));
        umask(mask);
        Self(mask.bits())
    }

    fn of(&self, metadata: &fs::Metadata) -> u32 {
        let all = if metadata.is_dir() || metadata.permissions().mode() & 0o100 != 0 {
            0o777
        } else {
            0o666
        };
        all & !self.0
    }
}

impl Session<'_> {
    pub(super) fn unversioned(&self) -> Unversioned {
        Unversioned::new(self.file("unversioned"), &self.engine.repo.top)
    }

    /// Leaves out of a reading what git ignored when the loop began and an attempt made it take in.
    pub(super) async fn leave_out_ignored(
        &mut self,
        work: &Path,
        mut reading: Reading,
    ) -> Result<Reading, Error> {
        let taken = self.unversioned().ignored_at_start(reading.added())?;
        if !taken.is_empty() {
            let repo = &self.engine.repo;
            repo.update_index(work, &["--force-remove"], &taken).await?;
            reading.tree = repo.git.write_tree(work).await?;
            if let Some(changes) = &mut reading.changes {
                changes.retain(|(_, path)| !taken.contains(path));
            }
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

    /// Records permissions and lossy bytes of what the story touched. Called with the new index in place.
    pub(super) async fn record_touched(&self) -> Result<(), Error> {
        let repo = &self.engine.repo;
        let touched = self.touched_between(&self.file("checkpoint.index"), &repo.index());
        if !touched.is_empty() {
            self.unversioned().record_modes(&touched)?;
            let oid = self.oid_length();
            self.raw_bytes()
                .record(repo, &repo.index(), oid, &touched)
                .await?;
            if !self.unversioned().sparse()?.is_empty() {
                let sparse = repo.index_entries(&repo.index(), oid).await?.sparse;
                self.unversioned()
                    .save_paths("sparse", &sparse.into_iter().collect())?;
            }
        }
        self.remember_index()
    }

    /// Brings back what git does not keep. Called with the checkpoint's index in place.
    /// `touched` are the paths that may differ from what they were.
    pub(super) async fn restore_unversioned(&mut self, touched: &[Vec<u8>]) -> Result<(), Error> {
        self.restore_unversioned_as(MODES, &self.raw_bytes(), touched)
            .await?;
        self.remember_index()
    }

    /// Brings back what git does not keep, as it was when the loop began.
    pub(super) async fn restore_unversioned_of_start(&mut self, touched: &[Vec<u8>]) -> Result<(), Error> {
        let raw = RawBytes::new(&self.file("unversioned"), RAW_OF_START);
        self.restore_unversioned_as(MODES_OF_START, &raw, touched).await
    }

    async fn restore_unversioned_as(
        &self,
        modes: &str,
        raw: &RawBytes,
        touched: &[Vec<u8>],
    ) -> Result<(), Error> {
        let unversioned = self.unversioned();
        unversioned.put_back()?;
        let written = raw.restore(&self.engine.repo.top, touched)?;
        if !written.is_empty() {
            // Git takes a file of another size for changed until it has read it again.
            let work = self.file("work.index");
            index::copy(&self.engine.repo.index(), &work)?;
            self.engine.repo.update_index(&work, &["--add"], &written).await?;
            self.install_working_index().await?;
        }
        let tracked = tracked_paths(&self.engine.repo.index(), self.oid_length());
        let dirs = directories(tracked.iter().map(Vec::as_slice));
        unversioned.restore_modes(modes, touched, &dirs)
    }

    /// Puts outside the sparse checkout again what was outside it. Called when the work tree is the
    /// checkpoint's, with the index that describes it.
    pub(super) async fn narrow_sparse(&self, index: &Path) -> Result<(), Error> {
        let repo = &self.engine.repo;
        let mut again = self.unversioned().sparse()?;
        again.retain(|path| repo.exists(path));
        for path in &again {
            // They are as the checkpoint has them, so nothing is lost.
            repo.remove_file(path)?;
        }
        Ok(repo.hide_paths(index, &[], &again).await?)
    }

    /// What an attempt made that git does not list; see [`Unversioned::made_unseen`]. `index` describes
    /// the work tree.
    pub(super) fn made_unseen(&self, index: &Path) -> Result<Vec<Vec<u8>>, Error> {
        let tracked = tracked_paths(index, self.oid_length());
        let since = self
            .state
            .running
            .as_ref()
            .map_or(self.state.started, |running| running.since);
        self.unversioned()
            .made_unseen(&tracked, SystemTime::from(since) - CLOCK_LAG)
    }

    /// Has git not look again at what it did not look at before the loop.
    pub(super) async fn hide_again(&self, index: &Path) -> Result<(), Error> {
        let unversioned = self.unversioned();
        if !unversioned.has_hidden()? {
            return Ok(());
        }
        let tracked = tracked_paths(index, self.oid_length());
        let [assumed, skipped] = unversioned.hidden_at_start(&tracked)?;
        Ok(self.engine.repo.hide_paths(index, &assumed, &skipped).await?)
    }

    /// Length of an object id in bytes.
    pub(super) fn oid_length(&self) -> usize {
        self.state.checkpoint.as_str().len() / 2
    }

    /// Brings back what an attempt put outside a sparse checkout of its own: those files are not deleted,
    /// git was only told not to have them.
    pub(super) async fn widen_sparse(&mut self) -> Result<(), Error> {
        let work = self.file("work.index");
        let repo = &self.engine.repo;
        let made = repo
            .private_index(&repo.index(), &work, Some(&self.state.checkpoint))
            .await?;
        let sparse = self.unversioned().newly_sparse(made.entries.sparse)?;
        if sparse.is_empty() {
            return Ok(());
        }
        repo.show_paths(&work, &sparse).await?;
        repo.check_out_paths(&work, &sparse).await?;
        repo.install_index(&work).await?;
        self.tell("the attempt made the checkout sparse; the files it left out are back");
        Ok(())
    }

    /// Whether an untracked path is an empty directory of the user's.
    pub(super) fn is_users_empty_directory(&self, path: &[u8]) -> Result<bool, Error> {
        self.unversioned().was_empty(path)
    }

    /// Keeps a copy of the index as it is now, to see later what was touched since.
    pub(super) fn remember_index(&self) -> Result<(), Error> {
        index::copy(&self.engine.repo.index(), &self.file("checkpoint.index"))?;
        Ok(())
    }

    /// Whether the real index holds what the one of the last checkpoint holds, and hides nothing.
    pub(super) fn index_is_as_left(&self) -> bool {
        let oid = self.oid_length();
        let now = fs::read(self.engine.repo.index()).unwrap_or_default();
        let was = fs::read(self.file("checkpoint.index")).unwrap_or_default();
        let (Some(now), Some(was)) = (Index::parse(&now, oid), Index::parse(&was, oid)) else {
            return false;
        };
        let plain = |entry: &Entry<'_>| entry.stage == 0 && !entry.assumed && !entry.skipped;
        let mut same =
            now.entries.iter().all(plain) && was.tree.as_ref() == Some(&self.state.checkpoint_tree);
        compare(&was, &now, |was, is| {
            same &= was.map(|was| (was.mode, was.oid)) == is.map(|is| (is.mode, is.oid));
        });
        same
    }

    /// Paths whose files differ between two indexes, or may: they were touched in between.
    pub(super) fn touched_between(&self, was: &Path, is: &Path) -> Vec<Vec<u8>> {
        let oid = self.oid_length();
        let (was, is) = (
            fs::read(was).unwrap_or_default(),
            fs::read(is).unwrap_or_default(),
        );
        let was = Index::parse(&was, oid).unwrap_or_default();
        let is = Index::parse(&is, oid).unwrap_or_default();
        let mut touched = Vec::new();
        compare(&was, &is, |was, is| {
            if was.map(|was| was.touched) != is.map(|is| is.touched) {
                touched.extend(was.or(is).map(|entry| entry.path.to_vec()));
            }
        });
        touched
    }
}

/// Every directory above these paths, quickly when they come in order.
fn directories<'p>(paths: impl Iterator<Item = &'p [u8]>) -> BTreeSet<&'p [u8]> {
    let mut dirs = BTreeSet::new();
    let mut last: &[u8] = b"";
    for path in paths {
        let end = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        let dir = path.get(..end).unwrap_or_default();
        if dir != last {
            dirs.extend(parent_slices(path));
            last = dir;
        }
    }
    dirs
}

/// The directories above a path, without a final `/`.
pub(super) fn parent_slices(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'/')
        .filter_map(|(at, _)| path.get(..at))
}

/// All paths of an index.
fn tracked_paths(index: &Path, oid: usize) -> Paths {
    let bytes = fs::read(index).unwrap_or_default();
    let parsed = Index::parse(&bytes, oid).unwrap_or_default();
    parsed.entries.iter().map(|entry| entry.path.to_vec()).collect()
}

/// Copies a file with its permissions and time, never through a link that stands at `to`.
pub(super) fn copy_file(from: &Path, to: &Path) -> Result<(), Error> {
    let error = |error| file_error("copy", from, error);
    let dir = to.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir).map_err(error)?;
    let metadata = from.metadata().map_err(error)?;
    let mut copy = tempfile::Builder::new()
        .prefix(".ralph-")
        .tempfile_in(dir)
        .map_err(error)?;
    io::copy(&mut File::open(from).map_err(error)?, &mut copy).map_err(error)?;
    copy.flush().map_err(error)?;
    copy.as_file()
        .set_permissions(metadata.permissions())
        .map_err(error)?;
    copy.as_file()
        .set_modified(metadata.modified().map_err(error)?)
        .map_err(error)?;
    copy.persist(to).map_err(|failed| error(failed.error)).map(drop)
}

fn file_error(what: &'static str, path: &Path, source: io::Error) -> Error {
    Error::File {
        what,
        path: path.to_owned(),
        source,
    }
}
