//! Selects the ignored files and directories that are copied before an attempt: small ones, up to a total size, without
//! files that a build can recreate.

use std::fs::Metadata;
use std::path::Path;
use std::time::SystemTime;

use super::inventory::{Inventory, Kind};

use crate::fs::{entries_of, path_below, seen_itself};

/// Maximum size of a copied file, and of the content of a copied directory.
const SMALL: u64 = 1024 * 1024;
/// Maximum size of all copies.
const IN_ALL: u64 = 64 * 1024 * 1024;
/// Maximum number of entries of a copied directory; larger ones are not read to the end.
const MANY: usize = 200;
/// Maximum number of directory entries that are read in total.
const LOOKED_AT: usize = 4000;
/// Directories with files that can be recreated.
const CACHES: [&[u8]; 4] = [b"__pycache__", b".mypy_cache", b".pytest_cache", b".ruff_cache"];
/// Suffixes of files made by compilers and build tools.
const BUILT: [&str; 22] = [
    "a",
    "beam",
    "class",
    "d",
    "dll",
    "dylib",
    "elc",
    "exe",
    "gch",
    "hi",
    "la",
    "lo",
    "o",
    "obj",
    "pch",
    "pdb",
    "pyc",
    "pyo",
    "rlib",
    "so",
    "stamp",
    "tsbuildinfo",
];

/// A file, or a directory with everything in it, that is copied as a whole.
#[derive(Debug)]
pub(super) struct Small {
    /// Its parts, the item itself first, directories before their contents; paths relative to the top.
    pub parts: Vec<(Vec<u8>, Metadata)>,
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Small {
    /// Returns the path of the item itself.
    pub fn path(&self) -> &[u8] {
        self.parts
            .first()
            .map(|(path, _)| path.as_slice())
            .unwrap_or_default()
    }

    /// Returns whether it is a directory.
    pub fn is_dir(&self) -> bool {
        self.parts.first().is_some_and(|(_, is)| is.is_dir())
    }

    fn file(top: &Path, path: &[u8]) -> Option<Self> {
        let is = seen_itself(&path_below(top, path))?;
        ((is.is_file() || is.is_symlink()) && is.len() <= SMALL && !is_built(path)).then(|| Self {
            bytes: is.len(),
            modified: is.modified().ok(),
            parts: vec![(path.to_vec(), is)],
        })
    }

    /// Reads a directory as long as it is small; `left` is the remaining number of entries to read.
    fn directory(top: &Path, path: &[u8], left: &mut usize) -> Option<Self> {
        let name = path.rsplit(|byte| *byte == b'/').next()?;
        if CACHES.contains(&name) {
            return None;
        }
        let is = seen_itself(&path_below(top, path))?;
        let (mut bytes, modified) = (0, is.modified().ok());
        let mut open = vec![path.to_vec()];
        let mut parts = vec![(path.to_vec(), is)];
        while let Some(dir) = open.pop() {
            for entry in entries_of(&path_below(top, &dir)).ok()? {
                *left = left.checked_sub(1)?;
                let is = entry.metadata().ok()?;
                let path = [&dir, &b"/"[..], entry.file_name().as_encoded_bytes()].concat();
                let is_git = entry.file_name() == ".git";
                if is_git || !(is.is_dir() || is.is_file() || is.is_symlink()) || parts.len() > MANY {
                    return None;
                }
                if is.is_dir() {
                    open.push(path.clone());
                } else {
                    bytes += is.len();
                }
                if bytes > SMALL {
                    return None;
                }
                parts.push((path, is));
            }
        }
        Some(Self {
            parts,
            bytes,
            modified,
        })
    }
}

/// Selects the paths to copy: those from the start first, and small and old ones before others.
pub(super) fn choose(top: &Path, now: &Inventory, start: &Inventory) -> Vec<Small> {
    let mut left = LOOKED_AT;
    let mut all: Vec<(bool, Small)> = Vec::new();
    // Many later files must not displace the files from the start.
    for later in [false, true] {
        for (path, item) in now.iter() {
            if start.kind_of(path).is_none() != later {
                continue;
            }
            let small = match item.kind {
                Kind::IgnoredFile | Kind::Untracked => Small::file(top, path),
                Kind::IgnoredDirectory | Kind::SelfIgnored => Small::directory(top, path, &mut left)
                    // Without its rules the directory would not be ignored.
                    .or_else(|| Small::file(top, &rules_of(path, item.kind)?)),
                _ => None,
            };
            all.extend(small.map(|small| (later, small)));
        }
    }
    within(all, IN_ALL)
}

fn within(mut all: Vec<(bool, Small)>, mut bound: u64) -> Vec<Small> {
    all.sort_by_key(|(later, small)| (*later, small.bytes, small.modified));
    let fits = |(_, small): (bool, Small)| {
        bound = bound.checked_sub(small.bytes)?;
        Some(small)
    };
    all.into_iter().map_while(fits).collect()
}

/// Returns the file of rules by which a directory ignores itself.
pub(super) fn rules_of(dir: &[u8], kind: Kind) -> Option<Vec<u8>> {
    (kind == Kind::SelfIgnored).then(|| [dir, b"/.gitignore"].concat())
}

/// Returns whether a build recreates files of this name.
pub(super) fn is_built(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let end = name.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    end.len() < name.len() && BUILT.iter().any(|built| end == built.as_bytes())
}

/// Sorts paths so that files that a build recreates come last.
pub(super) fn built_last(paths: &mut [Vec<u8>]) {
    paths.sort_by_key(|path| is_built(path));
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn lay_out(files: &[(&str, usize)]) -> (tempfile::TempDir, Inventory) {
        let dir = tempfile::tempdir().unwrap();
        let mut inventory = Inventory::default();
        for (path, size) in files {
            let file = dir.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "x".repeat(*size)).unwrap();
            let (kind, path) = match path.split_once('/') {
                Some((above, _)) => (Kind::IgnoredDirectory, above),
                None => (Kind::IgnoredFile, *path),
            };
            inventory.insert(dir.path(), path.as_bytes(), kind);
        }
        (dir, inventory)
    }

    fn names(chosen: &[Small]) -> String {
        let names: Vec<_> = chosen
            .iter()
            .map(|small| String::from_utf8_lossy(small.path()))
            .collect();
        names.join(" ")
    }

    #[test]
    fn choice_takes_small_files_but_no_build_products() {
        let (dir, now) = lay_out(&[
            (".env", 1),
            ("large", 1_048_577),
            ("just", 1_048_576),
            ("m.o", 1),
            ("m.pyc", 1),
            ("x.tsbuildinfo", 1),
            (".d", 2),
            ("todo", 3),
            (".idea/deep/x.xml", 4),
            ("venv/large", 1_048_577),
            ("__pycache__/m.pyc", 1),
            ("clone/.git/HEAD", 5),
        ]);
        let chosen = choose(dir.path(), &now, &Inventory::default());
        assert_eq!(names(&chosen), ".env todo .idea just");
        let parts = chosen
            .iter()
            .find(|small| small.is_dir())
            .map(|small| small.parts.len());
        assert_eq!(parts, Some(3));
    }

    #[test]
    fn directories_are_read_no_further_than_they_can_be_copied() {
        let many: Vec<String> = (0..300).map(|number| format!("many/{number}")).collect();
        let files: Vec<(&str, usize)> = many.iter().map(|path| (path.as_str(), 0)).collect();
        let (dir, _) = lay_out(&files);
        let mut left = 1000;
        assert!(Small::directory(dir.path(), b"many", &mut left).is_none());
        assert_eq!(left, 1000 - MANY - 1);
        let (dir, _) = lay_out(&files[..MANY]);
        assert!(Small::directory(dir.path(), b"many", &mut left).is_some());
        assert!(Small::directory(dir.path(), b"many", &mut 199).is_none());
    }

    #[test]
    fn choice_prefers_files_from_the_start_and_keeps_its_bound() {
        let (dir, now) = lay_out(&[("a", 30), ("b", 10), ("c", 20), ("dir/x", 15)]);
        let (_other, start) = lay_out(&[("a", 30)]);
        let all = choose(dir.path(), &now, &start);
        assert_eq!(names(&all), "a b dir c");
        let all = |files: Vec<Small>| {
            files
                .into_iter()
                .map(|small| (small.path() != b"a", small))
                .collect()
        };
        assert_eq!(
            names(&within(all(choose(dir.path(), &now, &start)), 56)),
            "a b dir"
        );
        assert_eq!(names(&within(all(choose(dir.path(), &now, &start)), 54)), "a b");
    }

    #[test]
    fn is_built_recognizes_build_products_by_name() {
        for built in ["m.o", "d/libx.so", "a.b.class", "x.tsbuildinfo", "pip.stamp"] {
            assert!(is_built(built.as_bytes()), "{built}");
        }
        for other in [".env", "o", "d/a", "m.o/settings", "x.ob", "m.o.txt", "m."] {
            assert!(!is_built(other.as_bytes()), "{other}");
        }
        let mut paths = ["m.o", "z", "a.d", "b"].map(|path| path.as_bytes().to_vec());
        built_last(&mut paths);
        assert_eq!(
            paths.map(|path| String::from_utf8(path).unwrap()),
            ["z", "b", "m.o", "a.d"]
        );
    }
}
