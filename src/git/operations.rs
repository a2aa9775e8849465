//! Operations that git leaves in progress: merges, rebases, cherry-picks, reverts, bisects.

use super::discover::Repo;
use super::error::GitError;
use crate::fs::{Below, Links, is_there, regular_text_if_there};
use crate::names::Oid;

/// Files in the git directory, each with its operation.
const MARKERS: &[(&str, &str)] = &[
    ("MERGE_HEAD", "merge"),
    ("rebase-merge", "rebase"),
    ("rebase-apply/applying", "am"),
    ("rebase-apply", "rebase"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("sequencer", "cherry-pick or revert"),
    ("BISECT_LOG", "bisect"),
];

/// Other files that these operations leave.
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

/// Returns the operations in progress in this work tree, by git's names.
pub async fn operations_in_progress(repo: &Repo) -> Result<Vec<&'static str>, GitError> {
    let refs = hidden_refs(repo).await?;
    let mut found: Vec<&'static str> = Vec::new();
    for (file, name) in MARKERS {
        let path = repo.git_dir.join(file);
        if is_there(&path)? || refs.iter().any(|(found, _)| found == file) {
            found.push(name);
        }
    }
    found.dedup();
    // Both use the same directory.
    if found.contains(&"am") {
        found.retain(|name| *name != "rebase");
    }
    Ok(found)
}

/// Lists the operations' files that are refs, with their commits, if only git can read refs (reftable).
async fn hidden_refs(repo: &Repo) -> Result<Vec<(String, Oid)>, GitError> {
    if !repo.layout().has_hidden_refs() {
        return Ok(Vec::new());
    }
    let names = MARKERS.iter().map(|(file, _)| file).chain(LEFTOVERS).copied();
    let args = ["--include-root-refs", "--format=%(refname) %(objectname)"];
    let args = args.into_iter().chain(names);
    let listed = repo.git.cmd("for-each-ref", args).text().await?;
    let refs = listed.lines().filter_map(|line| {
        let (name, oid) = line.split_once(' ')?;
        Some((name.to_owned(), Oid::parse(oid)?))
    });
    Ok(refs.collect())
}

/// Files that name uncommitted changes stored for an operation (`--autostash`); no ref keeps them.
const AUTOSTASHES: &[&str] = &[
    "MERGE_AUTOSTASH",
    "rebase-merge/autostash",
    "rebase-apply/autostash",
];
/// Maximum length of such a file, in bytes.
const MOST: u64 = 1 << 10;

/// Returns the commits of uncommitted changes that git stored for the operations in progress.
pub async fn autostashes(repo: &Repo) -> Result<Vec<Oid>, GitError> {
    let mut named = Vec::new();
    for name in AUTOSTASHES {
        let text = regular_text_if_there(&repo.git_dir.join(name), Links::Refused, MOST)?;
        named.extend(text.and_then(|text| Oid::parse(text.trim())));
    }
    let hidden = hidden_refs(repo).await?.into_iter();
    let hidden = hidden.filter(|(name, _)| AUTOSTASHES.contains(&name.as_str()));
    let mut found = Vec::new();
    for oid in named.into_iter().chain(hidden.map(|(_, oid)| oid)) {
        let object = format!("{oid}^{{commit}}");
        let output = repo.git.cmd("cat-file", ["-e", &object]).any_exit().await?;
        if output.code == Some(0) {
            found.push(oid);
        }
    }
    Ok(found)
}

/// Ends every operation in progress; HEAD, index and files stay unchanged.
pub async fn clear_operations(repo: &Repo) -> Result<(), GitError> {
    for (name, _) in hidden_refs(repo).await? {
        repo.git
            .cmd("update-ref", ["--no-deref", "-d", &name])
            .done()
            .await?;
    }
    let door = Below::new(&repo.git_dir);
    for name in MARKERS.iter().map(|(file, _)| file).chain(LEFTOVERS) {
        door.remove(&repo.git_dir.join(name))?;
    }
    Ok(())
}
