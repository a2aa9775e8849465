//! Operations that git leaves in progress: merges, rebases, cherry-picks, reverts, bisects.

use std::path::PathBuf;

use super::command::GitError;
use super::discover::Repo;
use crate::fs::{Below, Links, read_regular_text};
use crate::names::Oid;

/// Files in the git directory, each with the operation that it stands for.
const MARKERS: &[(&str, &str)] = &[
    ("MERGE_HEAD", "merge"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("sequencer", "cherry-pick or revert"),
    ("BISECT_LOG", "bisect"),
];

/// Files that those operations leave behind besides their markers.
const LEFTOVERS: &[&str] = &[
    "MERGE_MSG",
    "MERGE_MODE",
    "MERGE_RR",
    "AUTO_MERGE",
    "SQUASH_MSG",
    "REBASE_HEAD",
    // Git applies it at the end of the next merge or commit.
    "MERGE_AUTOSTASH",
    "BISECT_START",
    "BISECT_NAMES",
    "BISECT_TERMS",
    "BISECT_EXPECTED_REV",
    "BISECT_ANCESTORS_OK",
];

/// Returns the operations in progress in this work tree, under git's names for them.
#[must_use]
pub fn operations_in_progress(repo: &Repo) -> Vec<&'static str> {
    let mut found: Vec<&'static str> = MARKERS
        .iter()
        .filter(|(file, _)| repo.git_dir.join(file).symlink_metadata().is_ok())
        .map(|(_, name)| *name)
        .collect();
    found.dedup();
    found
}

/// Files with the uncommitted changes that git has put aside for an operation (`--autostash`); nothing else keeps them.
const AUTOSTASHES: &[&str] = &[
    "MERGE_AUTOSTASH",
    "rebase-merge/autostash",
    "rebase-apply/autostash",
];
/// Maximum length of such a file, in bytes.
const MOST: u64 = 1 << 10;

/// Returns the commits of uncommitted changes that git has put aside for the operations in progress.
///
/// # Errors
/// If git cannot tell which of them are there.
pub async fn autostashes(repo: &Repo) -> Result<Vec<Oid>, GitError> {
    let read = |name: &&str| read_regular_text(&repo.git_dir.join(name), Links::Refused, MOST).ok();
    let named = AUTOSTASHES.iter().filter_map(read);
    let mut found = Vec::new();
    for oid in named.filter_map(|text| Oid::parse(text.trim())) {
        let object = format!("{oid}^{{commit}}");
        let output = repo.git.cmd("cat-file", ["-e", &object]).any_exit().await?;
        if output.code == Some(0) {
            found.push(oid);
        }
    }
    Ok(found)
}

/// Ends every operation in progress; HEAD, index and files stay as they are.
///
/// # Errors
/// If a file cannot be removed.
pub fn clear_operations(repo: &Repo) -> Result<(), GitError> {
    let door = Below::new(&repo.git_dir);
    for name in MARKERS.iter().map(|(file, _)| file).chain(LEFTOVERS) {
        let path: PathBuf = repo.git_dir.join(name);
        if path.symlink_metadata().is_ok() {
            door.remove(&path)?;
        }
    }
    Ok(())
}
