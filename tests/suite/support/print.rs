//! What a repository looked like: fingerprints to compare.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::Sandbox;

/// Everything of a repository that a user can lose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Print {
    /// Path to kind, mode, and content or link target; `.git` of the top left out.
    pub files: BTreeMap<PathBuf, String>,
    /// Entries and flags of the index.
    pub index: String,
    /// Where HEAD points.
    pub head: String,
    /// Every ref and its object.
    pub refs: String,
}

impl Print {
    /// Takes the fingerprint of a work tree and its repository.
    pub fn of(sandbox: &Sandbox, top: &Path) -> Self {
        let git = |args: &[&str]| sandbox.git_cmd(args).dir(top).run().stdout;
        Self {
            files: files(top),
            index: git(&["ls-files", "-s", "-v"]),
            head: fs::read_to_string(git_dir(top).join("HEAD")).unwrap_or_default(),
            refs: git(&["for-each-ref", "--format=%(refname) %(objectname)"]),
        }
    }
}

fn git_dir(top: &Path) -> PathBuf {
    let dot = top.join(".git");
    match fs::read_to_string(&dot) {
        Ok(text) => PathBuf::from(text.trim_start_matches("gitdir: ").trim()),
        Err(_) => dot,
    }
}

/// Path to kind, mode, and content or link target, of all but `.git` at the top.
pub fn files(top: &Path) -> BTreeMap<PathBuf, String> {
    walk(top, |path, metadata| {
        let mode = metadata.mode();
        let content = if metadata.is_symlink() {
            exact(fs::read_link(path).unwrap().into_os_string().into_vec())
        } else if metadata.is_file() {
            exact(fs::read(path).unwrap())
        } else {
            String::new()
        };
        format!("{mode:o} {content}")
    })
}

/// Text as it is, anything else with a character a byte, so that no two contents look alike.
fn exact(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|other| {
        let bytes = other.into_bytes();
        let characters: String = bytes.iter().copied().map(char::from).collect();
        format!("\0{} bytes: {characters}", bytes.len())
    })
}

/// Path to modification time, of all files but those in `.git`.
pub fn mtimes(top: &Path) -> BTreeMap<PathBuf, (i64, i64)> {
    let mut times = walk(top, |_, metadata| (metadata.mtime(), metadata.mtime_nsec()));
    times.retain(|path, _| !top.join(path).is_dir());
    times
}

fn walk<T>(top: &Path, look: impl Fn(&Path, &fs::Metadata) -> T + Copy) -> BTreeMap<PathBuf, T> {
    let mut found = BTreeMap::new();
    let mut open = vec![top.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path == top.join(".git") {
                continue;
            }
            let metadata = path.symlink_metadata().unwrap();
            if metadata.is_dir() {
                open.push(path.clone());
            }
            found.insert(path.strip_prefix(top).unwrap().to_owned(), look(&path, &metadata));
        }
    }
    found
}
