//! Untracked paths of a work tree before an attempt, by kind: a path that existed then is never moved away for being
//! untracked.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

use crate::fs::{FileError, Links, entries_of, kind_of, path_below, read_regular, seen, seen_itself};
use crate::git::{GitError, Repo};
use crate::paths::is_of_work_tree;
use crate::paths::parents;
use crate::protect::permissions::look_with_permissions;

/// The kind of an untracked path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::FromRepr)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Git would add it.
    Untracked = b'u',
    /// An ignored file or link.
    IgnoredFile = b'f',
    /// A directory that an ignore rule matches itself, or an ignored repository; its contents are not listed.
    IgnoredDirectory = b'd',
    /// A directory whose own rules ignore everything in it, themselves included; its contents are not listed.
    SelfIgnored = b'i',
    /// A nested repository that is not ignored.
    NestedRepository = b'n',
    /// A pipe, a socket or a device, which git does not list.
    Special = b's',
    /// An empty directory, which git does not list.
    EmptyDirectory = b'e',
}

impl Kind {
    /// Returns whether everything below such a path belongs to it.
    pub fn is_whole(self) -> bool {
        matches!(
            self,
            Self::IgnoredDirectory | Self::SelfIgnored | Self::NestedRepository
        )
    }

    /// Returns whether an ignore rule covers it.
    pub fn is_ignored(self) -> bool {
        matches!(
            self,
            Self::IgnoredFile | Self::IgnoredDirectory | Self::SelfIgnored
        )
    }
}

/// Identifies a file even after it is renamed: device and inode, and, because inodes are reused, the time of its birth
/// in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    dev: u64,
    ino: u64,
    born: u128,
}

impl Identity {
    /// Returns the identity of a file; `None` if the file system has no birth time, and for a file with several hard
    /// links: which of them was renamed is unknown.
    pub fn of(found: &Metadata) -> Option<Self> {
        if !found.is_dir() && found.nlink() > 1 {
            return None;
        }
        let born = found.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(Self {
            dev: found.dev(),
            ino: found.ino(),
            born: born.as_nanos(),
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let mut number = || u128::from_str_radix(parts.next()?, 16).ok();
        Some(Self {
            dev: number()?.try_into().ok()?,
            ino: number()?.try_into().ok()?,
            born: number()?,
        })
    }
}

/// An entry: its kind, and the identity of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub kind: Kind,
    pub identity: Option<Identity>,
}

/// The untracked paths of a work tree, each with one kind; relative to the top, without a final `/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Inventory(BTreeMap<Vec<u8>, Item>);

/// The relation of a path to the inventory.
enum Found {
    /// The path was in the inventory.
    Known,
    /// The path is a directory that contained a known path.
    Holding,
    /// The path is new.
    New,
}

/// Untracked paths, classified by the inventory.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Leftovers {
    /// Paths without any known content.
    pub new: Vec<Vec<u8>>,
    /// New paths beside known ones: git's ignore rules decide whether they are removed.
    pub beside: Vec<Vec<u8>>,
}

impl Inventory {
    /// Takes the inventory of all paths that git lists besides the content of `index`. One scan of the work tree.
    pub async fn take(repo: &Repo, index: &Path) -> Result<Self, GitError> {
        let outside = repo.outside(index).await?;
        let mut inventory = Self::default();
        let kinds = |path: &[u8], [of_directory, of_file]: [Kind; 2]| {
            if path.ends_with(b"/") {
                of_directory
            } else {
                of_file
            }
        };
        for path in &outside.untracked {
            let kind = kinds(path, [Kind::NestedRepository, Kind::Untracked]);
            inventory.insert(&repo.top, path, kind);
        }
        let own_rules: BTreeSet<&[u8]> = outside
            .ignored
            .iter()
            .filter_map(|path| ignoring_itself(&repo.top, path))
            .collect();
        for path in &outside.ignored {
            if let Some(dir) = parents(path).find(|dir| own_rules.contains(dir)) {
                if !inventory.0.contains_key(dir) {
                    inventory.insert(&repo.top, dir, Kind::SelfIgnored);
                }
                continue;
            }
            let kind = kinds(path, [Kind::IgnoredDirectory, Kind::IgnoredFile]);
            inventory.insert(&repo.top, path, kind);
        }
        Ok(inventory)
    }

    /// Adds a path below `top`.
    pub fn insert(&mut self, top: &Path, path: &[u8], kind: Kind) {
        let found = seen_itself(&path_below(top, path));
        let identity = found.and_then(|found| Identity::of(&found));
        self.0.insert(bare(path).to_vec(), Item { kind, identity });
    }

    /// Adds all entries of another inventory; the existing entry of a path stays.
    pub fn extend(&mut self, other: Self) {
        for (path, item) in other.0 {
            self.0.entry(path).or_insert(item);
        }
    }

    /// Drops the entries for which `holds` is false.
    pub fn retain(&mut self, mut holds: impl FnMut(&[u8], Kind) -> bool) {
        self.0.retain(|path, item| holds(path, item.kind));
    }

    /// Returns its paths in order, each with its entry.
    pub fn iter(&self) -> impl Iterator<Item = (&Vec<u8>, Item)> {
        self.0.iter().map(|(path, item)| (path, *item))
    }

    /// Returns the paths that git would add; those of directories with a final `/`.
    pub fn added(&self) -> BTreeSet<Vec<u8>> {
        let own = |(path, item): (&Vec<u8>, Item)| match item.kind {
            Kind::Untracked => Some(path.clone()),
            Kind::NestedRepository => Some([path, &b"/"[..]].concat()),
            _ => None,
        };
        self.iter().filter_map(own).collect()
    }

    /// Returns the paths of files that can be copied.
    pub fn files(&self) -> impl Iterator<Item = &Vec<u8>> {
        let is_file = |kind| matches!(kind, Kind::IgnoredFile | Kind::Untracked);
        self.iter()
            .filter(move |(_, item)| is_file(item.kind))
            .map(|(path, _)| path)
    }

    /// Returns the kind of the entry of this path: its own, or that of the directory that it belongs to.
    pub fn kind_of(&self, path: &[u8]) -> Option<Kind> {
        let path = bare(path);
        let above = path
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'/')
            .filter_map(|(at, _)| self.0.get(path.get(..at)?))
            .map(|item| item.kind)
            .find(|kind| kind.is_whole());
        above.or_else(|| self.0.get(path).map(|item| item.kind))
    }

    /// Returns whether a file at this path must stay out of git: it existed then and was left out, itself or with its
    /// ignored directory.
    pub fn holds_back(&self, path: &[u8]) -> bool {
        let kind = self.kind_of(path);
        kind.is_some_and(|kind| kind.is_ignored() || kind == Kind::Untracked)
    }

    /// Returns whether the path, or one below it, was in the inventory.
    pub fn touches(&self, path: &[u8]) -> bool {
        self.kind_of(path).is_some() || self.has_below(path)
    }

    fn has_below(&self, path: &[u8]) -> bool {
        let below = [bare(path), b"/"].concat();
        let next = self.0.range(below.clone()..).next();
        next.is_some_and(|(found, _)| found.starts_with(&below))
    }

    /// Classifies the paths that git calls untracked below `top`, including whole directories: known ones stay, and a
    /// directory that contained a known path is searched.
    pub fn sort_out(&self, top: &Path, untracked: &[Vec<u8>]) -> Result<Leftovers, FileError> {
        let mut left = Leftovers::default();
        let mut open: Vec<Vec<u8>> = Vec::new();
        for path in untracked {
            match self.found(top, path)? {
                Found::Known => {}
                Found::Holding => open.push(bare(path).to_vec()),
                Found::New => left.new.push(path.clone()),
            }
        }
        while let Some(dir) = open.pop() {
            for entry in look_with_permissions(top, &path_below(top, &dir), entries_of)? {
                let path = [&dir, &b"/"[..], entry.file_name().as_encoded_bytes()].concat();
                match self.found(top, &path)? {
                    Found::Known => {}
                    Found::Holding => open.push(path),
                    Found::New => left.beside.push(path),
                }
            }
        }
        Ok(left)
    }

    fn found(&self, top: &Path, path: &[u8]) -> Result<Found, FileError> {
        let kind = self.kind_of(path);
        let is = || kind_of(&path_below(top, bare(path)));
        Ok(match kind {
            Some(Kind::EmptyDirectory) | None => {
                let may_hold = kind.is_some() || self.has_below(path);
                if may_hold && is()?.is_some_and(|is| is.is_dir()) {
                    Found::Holding
                } else {
                    Found::New
                }
            }
            Some(Kind::Special) if is()?.is_some_and(|is| is.is_dir() || is.is_file() || is.is_symlink()) => {
                Found::New
            }
            Some(_) => Found::Known,
        })
    }

    /// Returns its record: for each path the letter of its kind, its identity, and the path.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (path, item) in &self.0 {
            bytes.push(item.kind as u8);
            let identity = match item.identity {
                Some(Identity { dev, ino, born }) => format!(" {dev:x}.{ino:x}.{born:x} "),
                None => " - ".to_owned(),
            };
            bytes.extend_from_slice(identity.as_bytes());
            bytes.extend_from_slice(path);
            bytes.push(0);
        }
        bytes
    }

    /// Reads a record; omits unreadable lines, and paths that lead out of the work tree.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let item = |field: &[u8]| {
            let mut parts = field.splitn(3, |byte| *byte == b' ');
            let ([letter], identity, path) = (parts.next()?, parts.next()?, parts.next()?) else {
                return None;
            };
            let kind = Kind::from_repr(*letter)?;
            let identity = std::str::from_utf8(identity).ok().and_then(Identity::parse);
            is_of_work_tree(path).then_some(())?;
            Some((path.to_vec(), Item { kind, identity }))
        };
        Self(bytes.split(|byte| *byte == 0).filter_map(item).collect())
    }
}

/// Returns the directory of an ignored `.gitignore` whose only rules ignore everything.
fn ignoring_itself<'p>(top: &Path, path: &'p [u8]) -> Option<&'p [u8]> {
    let dir = path.strip_suffix(b"/.gitignore")?;
    let rules = read_regular(&path_below(top, path), Links::Refused, 1024).ok()?;
    let mut lines = rules.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    // A comment, which virtualenv writes, is no rule.
    let is_rule = |line: &&[u8]| !line.is_empty() && !line.starts_with(b"#");
    (lines.by_ref().find(is_rule) == Some(b"*") && !lines.any(|line| is_rule(&line))).then_some(dir)
}

/// Returns a path without the final `/` of a directory.
fn bare(path: &[u8]) -> &[u8] {
    path.strip_suffix(b"/").unwrap_or(path)
}

/// Returns whether a directory contains only directories, recursively.
pub(super) fn holds_no_file(path: &Path) -> bool {
    let is_bare = |entry: &fs::DirEntry| {
        entry.file_type().is_ok_and(|kind| kind.is_dir()) && holds_no_file(&entry.path())
    };
    let is_dir = seen(path).is_some_and(|found| found.is_dir());
    is_dir && entries_of(path).is_ok_and(|entries| entries.iter().all(is_bare))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(list: &[&str]) -> Vec<Vec<u8>> {
        list.iter().map(|path| path.as_bytes().to_vec()).collect()
    }

    fn kinds() -> impl Iterator<Item = Kind> {
        (0..=u8::MAX).filter_map(Kind::from_repr)
    }

    fn letter(kind: Kind) -> char {
        char::from(kind as u8)
    }

    fn of(top: &Path, entries: &[(&str, Kind)]) -> Inventory {
        let mut inventory = Inventory::default();
        for (path, kind) in entries {
            inventory.insert(top, path.as_bytes(), *kind);
        }
        inventory
    }

    #[test]
    fn inventory_survives_its_serialization() {
        let top = tempfile::tempdir().unwrap();
        fs::write(top.path().join("a b\n"), "").unwrap();
        let all = kinds().map(|kind| (format!("{}/ x", letter(kind)), kind));
        let all: Vec<_> = all.collect();
        let mut inventory = of(top.path(), &[("a b\n", Kind::IgnoredFile)]);
        for (path, kind) in &all {
            inventory.insert(top.path(), path.as_bytes(), *kind);
        }
        assert_eq!(Inventory::from_bytes(&inventory.to_bytes()), inventory);
        assert_eq!(inventory.iter().count(), 8);
        let identity = inventory.iter().find_map(|(_, item)| item.identity);
        assert!(identity.is_some());
        assert_eq!(
            Inventory::from_bytes(b"x 1.1 path\0nonsense\0\0"),
            Inventory::default()
        );
    }

    #[test]
    fn sort_out_finds_new_files_beside_recorded_ones() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path();
        for made in ["d/e", "d/new", "d/t/x", "whole/x", "empty", "n/.git"] {
            fs::create_dir_all(top.join(made)).unwrap();
        }
        for file in [
            "d/.env",
            "d/x",
            "d/e/f",
            "d/t/x/y",
            "whole/x/y",
            "empty/z",
            "d/pipe",
        ] {
            fs::write(top.join(file), "").unwrap();
        }
        let inventory = of(
            top,
            &[
                ("d/.env", Kind::IgnoredFile),
                ("d/e/f", Kind::IgnoredFile),
                ("d/t/", Kind::IgnoredDirectory),
                ("d/pipe", Kind::Special),
                ("empty/", Kind::EmptyDirectory),
                ("n/", Kind::NestedRepository),
            ],
        );
        let mut left = inventory
            .sort_out(top, &paths(&["d/", "whole/", "empty/", "n/", "file"]))
            .unwrap();
        left.beside.sort();
        // The replacement of a pipe is no longer a pipe.
        assert_eq!(left.beside, paths(&["d/new", "d/pipe", "d/x", "empty/z"]));
        assert_eq!(left.new, paths(&["whole/", "file"]));
        // A path that may contain a known one is not new.
        let refused = "n".repeat(256);
        let inventory = of(top, &[(&format!("{refused}/x"), Kind::IgnoredFile)]);
        inventory
            .sort_out(top, &paths(&[&format!("{refused}/")]))
            .unwrap_err();
    }

    #[test]
    fn inventory_holds_back_only_ignored_and_left_out_files() {
        let kinds: Vec<_> = kinds().map(|kind| (letter(kind).to_string(), kind)).collect();
        let mut inventory = Inventory::default();
        for (path, kind) in &kinds {
            inventory.insert(Path::new("/nonexistent"), path.as_bytes(), *kind);
        }
        let held = kinds
            .iter()
            .filter(|(path, _)| inventory.holds_back(path.as_bytes()));
        let held: String = held.map(|(path, _)| path.as_str()).collect();
        assert_eq!(held, "dfiu");
        assert!(inventory.holds_back(b"d/below"));
        assert!(!inventory.holds_back(b"f/below"));
    }
}
