//! What an attempt made that git does not list: pipes, sockets, and ignore rules that hide themselves
//! (hazards D13, D18).

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::{Inventory, Unversioned};
use crate::engine::Session;
use crate::engine::touched::directories;
use crate::error::Error;
use crate::git::index_file::Index;

/// File systems stamp with the clock of the last tick: a file made after a moment may look older than it.
const CLOCK_LAG: Duration = Duration::from_millis(100);

impl Unversioned {
    /// Files that are no files (pipes, sockets), and ignore rules that hide themselves, in the directories of
    /// the files that `index` knows, where they were made since `since` and are not `known` from before.
    fn made_unseen(&self, index: &Index<'_>, known: &Inventory, since: SystemTime) -> Vec<Vec<u8>> {
        let is_tracked = |path: &[u8]| {
            let found = index.entries.binary_search_by(|entry| (*entry.path).cmp(path));
            found.is_ok()
        };
        let mut dirs = directories(index.entries.iter().map(|entry| &*entry.path));
        dirs.insert(b"");
        let mut found = Vec::new();
        for dir in dirs {
            let path = self.top.join(OsStr::from_bytes(dir));
            let changed = path.metadata().and_then(|metadata| metadata.modified());
            if changed.is_ok_and(|changed| changed < since) {
                continue;
            }
            for entry in fs::read_dir(&path).into_iter().flatten().filter_map(Result::ok) {
                let Ok(kind) = entry.file_type() else { continue };
                let mut name = dir.to_vec();
                if !name.is_empty() {
                    name.push(b'/');
                }
                name.extend_from_slice(entry.file_name().as_bytes());
                let special = !(kind.is_file() || kind.is_dir() || kind.is_symlink());
                if known.kind_of(&name).is_some() {
                    continue;
                }
                let rules = entry.file_name() == ".gitignore" && !is_tracked(&name);
                let made = entry.metadata().and_then(|metadata| metadata.created());
                if rules || (special && made.is_ok_and(|made| made >= since)) {
                    found.push(name);
                }
            }
        }
        found
    }
}

impl Session<'_> {
    /// What an attempt made that git does not list; see [`Unversioned::made_unseen`]. `index` describes
    /// the work tree.
    pub(in crate::engine) fn made_unseen(&self, index: &Path) -> Result<Vec<Vec<u8>>, Error> {
        let bytes = fs::read(index).unwrap_or_default();
        let index = Index::parse(&bytes, self.oid_length()).unwrap_or_default();
        let since = self
            .state
            .running
            .as_ref()
            .map_or(self.state.started, |running| running.since);
        let unversioned = self.unversioned();
        let known = self.known_before()?;
        Ok(unversioned.made_unseen(&index, &known, SystemTime::from(since) - CLOCK_LAG))
    }
}
