//! Reports files that a step moves to the trash and no commit has: ignored files, and nested repositories.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use crate::engine::Loop;
use crate::error::Error;
use crate::events::Notices;
use crate::fs::{Below, FileError, entries_of, seen_itself};
use crate::names::{Oid, typed_path};
use crate::paths::{path_of, shown};

/// Maximum number of files that are reported with the command that gets them back.
const MOST_NAMED: usize = 5;

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
        let lacking = self.lacking(open, &[kept]).await?;
        open.tell_few(
            &format!("what no commit has is in {}", self.dir.display()),
            &lacking,
        );
        Ok(())
    }

    /// Reports the entries moved here since that are in none of the trees `kept`, with the command that gets one back.
    pub async fn tell_in_the_way(&self, open: &Loop<'_>, kept: &[&Oid]) -> Result<(), Error> {
        let lacking = self.lacking(open, kept).await?;
        for path in lacking.iter().take(MOST_NAMED) {
            let (place, back) = (self.dir.join(path_of(path)), without_number(path));
            open.tell(format!(
                "{} was in the way, as the rules of the loop do not ignore it; to get it back, ignore it in .git/info/exclude, then: mv -n {} {}",
                shown(back),
                typed_path(&place),
                typed_path(path_of(back))
            ));
        }
        let more = lacking.iter().skip(MOST_NAMED);
        open.tell_few(&format!("so are, in {}", self.dir.display()), more);
        Ok(())
    }

    /// Returns the entries moved here since that are in none of these trees.
    async fn lacking(&self, open: &Loop<'_>, kept: &[&Oid]) -> Result<Vec<Vec<u8>>, Error> {
        let names = moved_in(&self.dir)?;
        let new: Vec<&Vec<u8>> = names.difference(&self.before).collect();
        let mut lacking = Vec::new();
        if new.is_empty() {
            return Ok(lacking);
        }
        let mut files = Vec::new();
        for tree in kept {
            files.extend(open.git().files_of(tree).await?);
        }
        let kept = Kept::of(&files);
        for name in new {
            kept.note_lacking(&self.dir, name.clone(), &mut lacking)?;
        }
        Ok(lacking)
    }

    /// Moves the entries here back to their places in the work tree that are free and that git ignores.
    pub async fn give_back(&self, open: &Loop<'_>) -> Result<(), Error> {
        let (repo, door) = (open.repo(), Below::new(&open.repo().top));
        let mut names: Vec<Vec<u8>> = moved_in(&self.dir)?.into_iter().collect();
        names.retain(|name| {
            without_number(name) == name && seen_itself(&repo.top.join(path_of(name))).is_none()
        });
        let of_rules = names.iter().map(|name| {
            let is_dir = seen_itself(&self.dir.join(path_of(name))).is_some_and(|found| found.is_dir());
            [name.as_slice(), if is_dir { b"/" } else { b"" }].concat()
        });
        let of_rules: Vec<Vec<u8>> = of_rules.collect();
        let ignored = repo.ignored_among(&repo.index(), &of_rules).await?;
        let mut back = Vec::new();
        for (name, of_rules) in names.into_iter().zip(of_rules) {
            let (from, to) = (self.dir.join(path_of(&name)), repo.top.join(path_of(&name)));
            if ignored.contains(&of_rules) && repo.door(&from).move_to(&from, &door, &to).is_ok() {
                back.push(name);
            }
        }
        open.tell_few("back from before the pull", &back);
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
