//! Reports files that a step moves to the trash and no commit has: ignored files, and nested repositories.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use crate::engine::Loop;
use crate::error::Error;
use crate::events::Notices;
use crate::fs::{FileError, entries_of, seen_itself};
use crate::names::Oid;
use crate::paths::path_of;

/// A directory in the trash before a step; it may not exist yet.
pub(super) struct PutAway {
    dir: PathBuf,
    before: BTreeSet<Vec<u8>>,
}

impl PutAway {
    /// Records the content of the directory of this name in the trash of a loop.
    pub fn before(open: &Loop<'_>, name: &str) -> Result<Self, FileError> {
        let dir = open.site().trash().join(name);
        let before = moved_in(&dir)?;
        Ok(Self { dir, before })
    }

    /// Returns the directory of this name as if it were empty before.
    pub fn all(open: &Loop<'_>, name: &str) -> Self {
        let (dir, before) = (open.site().trash().join(name), BTreeSet::new());
        Self { dir, before }
    }

    /// Reports the entries moved here since that are not in the tree `kept`. One git process if there are any.
    pub async fn tell(&self, open: &Loop<'_>, kept: &Oid) -> Result<(), Error> {
        let names = moved_in(&self.dir)?;
        let new: Vec<&Vec<u8>> = names.difference(&self.before).collect();
        if new.is_empty() {
            return Ok(());
        }
        let kept = Kept::of(&open.git().files_of(kept).await?);
        let mut lacking = Vec::new();
        for name in new {
            kept.note_lacking(&self.dir, name.clone(), &mut lacking)?;
        }
        open.tell_few(
            &format!("what no commit has is in {}", self.dir.display()),
            &lacking,
        );
        Ok(())
    }
}

/// Returns the names of the files moved to `dir`, including those in numbered directories because a name was taken.
fn moved_in(dir: &Path) -> Result<BTreeSet<Vec<u8>>, FileError> {
    let mut found = BTreeSet::new();
    for name in names_in(dir)? {
        let place = dir.join(path_of(&name));
        if !is_number(&name) || !seen_itself(&place).is_some_and(|found| found.is_dir()) {
            found.insert(name);
            continue;
        }
        found.extend(
            names_in(&place)?
                .iter()
                .map(|below| [&*name, b"/", below].concat()),
        );
    }
    Ok(found)
}

fn is_number(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(u8::is_ascii_digit)
}

/// Returns the path that a file had before it was moved: without the number of the directory.
fn without_number(path: &[u8]) -> &[u8] {
    let mut parts = path.splitn(2, |byte| *byte == b'/');
    match (parts.next(), parts.next()) {
        (Some(number), Some(rest)) if is_number(number) => rest,
        _ => path,
    }
}

fn names_in(dir: &Path) -> Result<BTreeSet<Vec<u8>>, FileError> {
    let entries = entries_of(dir)?.into_iter();
    Ok(entries
        .map(|entry| entry.file_name().into_encoded_bytes())
        .collect())
}

/// The paths of a tree: its files, and the directories above them.
struct Kept(HashSet<Vec<u8>>);

impl Kept {
    fn of(files: &[Vec<u8>]) -> Self {
        let mut paths = HashSet::new();
        for file in files {
            let ends = file.iter().enumerate().filter(|(_, byte)| **byte == b'/');
            paths.extend(ends.map(|(end, _)| file[..end].to_vec()));
            paths.insert(file.clone());
        }
        Self(paths)
    }

    /// Notes the entries at `path` below `dir` that the tree lacks; of a missing directory, only the directory.
    fn note_lacking(&self, dir: &Path, path: Vec<u8>, lacking: &mut Vec<Vec<u8>>) -> Result<(), FileError> {
        if !self.0.contains(&path) && !self.0.contains(without_number(&path)) {
            lacking.push(path);
            return Ok(());
        }
        let place = dir.join(path_of(&path));
        if !seen_itself(&place).is_some_and(|found| found.is_dir()) {
            return Ok(());
        }
        for name in names_in(&place)? {
            self.note_lacking(dir, [&*path, b"/", &*name].concat(), lacking)?;
        }
        Ok(())
    }
}
