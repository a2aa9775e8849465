//! Names new files of an accepted attempt that git ignores and that look like its work, such as `lib/sub.py` under a rule
//! `lib/`: gates see them, but no checkpoint has them.

use std::collections::BTreeSet;
use std::path::Path;

use crate::fs::{entries_of, path_below};
use crate::git::index_file::Index;
use crate::git::worktree::Reading;
use crate::paths::parents;
use crate::protect::records::Records;
use crate::protect::{ProtectError, Site};

/// Directories that build tools, package managers and editors fill.
const MADE: &[&[u8]] = &[
    b"bin",
    b"build",
    b"cache",
    b"coverage",
    b"dist",
    b"env",
    b"htmlcov",
    b"log",
    b"logs",
    b"node_modules",
    b"obj",
    b"out",
    b"target",
    b"temp",
    b"tmp",
    b"vendor",
    b"venv",
];

/// The most files in a new directory: a larger one is the product of a tool.
const MOST: usize = 50;

impl Site<'_> {
    /// Names the new ignored files with the ending of a file that the attempt changed, in the directories of its changes,
    /// in the top directory, and in new directories there. Starts no process.
    pub fn tell_unseen_work(self, left: &Reading) -> Result<(), ProtectError> {
        let Some(changes) = left.changes.as_deref().filter(|changes| !changes.is_empty()) else {
            return Ok(());
        };
        let records = Records::of(self);
        let Some(before) = records.inventory_before_attempt()? else {
            return Ok(());
        };
        let index = self.repo.read_index_or_none(&self.repo.index())?;
        let mut known: BTreeSet<&[u8]> = BTreeSet::new();
        let tracked = index.index().into_iter().flat_map(Index::entries);
        let paths = tracked.map(|entry| entry.path);
        for path in paths.chain(changes.iter().map(|(_, path)| path.as_slice())) {
            known.insert(path);
            known.extend(parents(path));
        }
        let endings: BTreeSet<&[u8]> = changes.iter().filter_map(|(_, path)| ending(path)).collect();
        let mut dirs: BTreeSet<&[u8]> = changes.iter().flat_map(|(_, path)| parents(path)).collect();
        dirs.insert(b"");
        let is_unknown = |path: &[u8]| !known.contains(path) && !before.touches(path);
        let mut unseen = Vec::new();
        for dir in dirs {
            for (path, is_dir) in list(&self.repo.top, dir) {
                if is_dir && is_unknown(&path) {
                    unseen.extend(files_in(&self.repo.top, path, &endings));
                } else if !is_dir && is_unknown(&path) && has_ending(&path, &endings) {
                    unseen.push(path);
                }
            }
        }
        let words = "git ignores these new files, so no checkpoint has them (git add -f takes them in)";
        unseen.sort();
        self.tell_few(words, &unseen);
        Ok(())
    }
}

/// Returns the files with one of these endings in a new directory, unless it may be the product of a tool.
fn files_in(top: &Path, dir: Vec<u8>, endings: &BTreeSet<&[u8]>) -> Vec<Vec<u8>> {
    let (mut found, mut seen, mut open) = (Vec::new(), 0, vec![dir]);
    while let Some(dir) = open.pop() {
        if is_made(&dir) {
            continue;
        }
        for (path, is_dir) in list(top, &dir) {
            seen += 1;
            if seen > MOST {
                return Vec::new();
            }
            if is_dir {
                open.push(path);
            } else if has_ending(&path, endings) {
                found.push(path);
            }
        }
    }
    found
}

/// Lists a directory: the paths from the top, and whether each is a directory. Links, and a directory that cannot be read, are
/// passed over.
fn list(top: &Path, dir: &[u8]) -> Vec<(Vec<u8>, bool)> {
    let mut paths = Vec::new();
    for entry in entries_of(&path_below(top, dir)).unwrap_or_default() {
        let name = entry.file_name();
        let path = match dir {
            b"" => name.as_encoded_bytes().to_vec(),
            dir => [dir, b"/", name.as_encoded_bytes()].concat(),
        };
        let kind = entry.file_type().ok();
        if let Some(kind) = kind.filter(|kind| kind.is_dir() || kind.is_file()) {
            paths.push((path, kind.is_dir()));
        }
    }
    paths
}

fn name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

fn is_made(dir: &[u8]) -> bool {
    let name = name(dir);
    name.starts_with(b".") || name.starts_with(b"_") || MADE.contains(&name)
}

/// Returns the ending of a file's name, without the dot.
fn ending(path: &[u8]) -> Option<&[u8]> {
    let name = name(path);
    let at = name.iter().rposition(|byte| *byte == b'.').filter(|at| *at > 0)?;
    name.get(at + 1..).filter(|ending| !ending.is_empty())
}

fn has_ending(path: &[u8], endings: &BTreeSet<&[u8]>) -> bool {
    ending(path).is_some_and(|ending| endings.contains(ending))
}
