//! The differences between two trees, by pathspecs, with both sides of each; and trees that combine paths of two trees.

use std::fmt::Write;
use std::path::Path;

use super::command::Git;
use super::discover::Repo;
use super::error::GitError;
use super::objects::StagedEntry;
use crate::names::Oid;

/// The mode of a submodule.
const GITLINK: &str = "160000";
/// The mode of a missing path.
const NOTHING: &str = "000000";

/// A path in which two trees differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathChange {
    /// The path from the top directory.
    pub path: Vec<u8>,
    /// The entry of the first tree; `None` if it has none.
    pub was: Option<StagedEntry>,
    /// The entry of the second tree; `None` if it has none.
    pub is: Option<StagedEntry>,
}

impl StagedEntry {
    /// Returns whether it is a submodule.
    pub fn is_submodule(&self) -> bool {
        self.mode == GITLINK
    }
}

impl PathChange {
    /// Returns whether either side is a submodule.
    pub fn is_of_submodule(&self) -> bool {
        [&self.was, &self.is]
            .into_iter()
            .flatten()
            .any(StagedEntry::is_submodule)
    }

    /// Reads a record of `git diff-tree --raw -z`: `:<old mode> <new mode> <old oid> <new oid> <status>` and a path.
    fn of(meta: &[u8], path: &[u8]) -> Option<Self> {
        Self::renamed(meta, path, path)
    }

    /// Reads such a record of a file that was renamed.
    fn renamed(meta: &[u8], from: &[u8], path: &[u8]) -> Option<Self> {
        let meta = std::str::from_utf8(meta).ok()?;
        let mut words = meta.strip_prefix(':')?.split(' ');
        let (old, new) = (words.next()?, words.next()?);
        let (was, is) = (words.next()?, words.next()?);
        let entry = |mode: &str, oid: &str, path: &[u8]| {
            let oid = Oid::parse(oid)?;
            let path = path.to_vec();
            let mode = mode.to_owned();
            (mode != NOTHING).then_some(StagedEntry { path, mode, oid })
        };
        Some(Self {
            path: path.to_vec(),
            was: entry(old, was, from),
            is: entry(new, is, path),
        })
    }
}

impl Git {
    /// Lists the differences between two trees (or commits) in the matching paths; in all paths without a pathspec. A
    /// renamed file is a deletion and an addition.
    pub async fn changes_among(
        &self,
        from: &Oid,
        to: &Oid,
        pathspecs: &[String],
    ) -> Result<Vec<PathChange>, GitError> {
        if from == to {
            return Ok(Vec::new());
        }
        let mut args = vec![
            "-r",
            "-z",
            "--raw",
            "--no-abbrev",
            "--no-renames",
            "--ignore-submodules=none",
            from.as_str(),
            to.as_str(),
            "--",
        ];
        args.extend(pathspecs.iter().map(String::as_str));
        let fields = self.cmd("diff-tree", args).fields().await?;
        let changes = fields.chunks_exact(2).filter_map(|pair| match pair {
            [meta, path] => PathChange::of(meta, path),
            _ => None,
        });
        Ok(changes.collect())
    }

    /// Lists the paths that a commit between two adds to one of its parents.
    pub async fn added_in_commits(&self, from: &Oid, to: &Oid) -> Result<Vec<Vec<u8>>, GitError> {
        if from == to {
            return Ok(Vec::new());
        }
        self.added_above(&[from], &[to]).await
    }

    /// Lists the paths that a commit below one of `tips`, and below none of `known`, adds to one of its parents.
    pub async fn added_above(&self, known: &[&Oid], tips: &[&Oid]) -> Result<Vec<Vec<u8>>, GitError> {
        let args = [
            "--stdin",
            "-m",
            "-z",
            "--format=",
            "--name-only",
            "--no-renames",
            "--no-ext-diff",
            "--diff-filter=A",
        ];
        let known = known.iter().map(|oid| format!("^{oid}\n"));
        let lines: String = known.chain(tips.iter().map(|oid| format!("{oid}\n"))).collect();
        let mut paths = self.cmd("log", args).stdin(lines).fields().await?;
        paths.retain(|path| !path.is_empty());
        Ok(paths)
    }

    /// Lists the changes of each commit between two of a line of first parents, the oldest first, in the paths that match.
    /// A file that is nearly the same under another name is one change, whose first entry has the old path.
    pub async fn history_among(
        &self,
        from: &Oid,
        to: &Oid,
        pathspecs: &[String],
    ) -> Result<Vec<(Oid, Vec<PathChange>)>, GitError> {
        if from == to {
            return Ok(Vec::new());
        }
        let range = format!("{from}..{to}");
        let commits = self
            .cmd("rev-list", ["--first-parent", "--reverse", &range])
            .text()
            .await?;
        let mut lines = String::new();
        let mut parent = from.as_str();
        for commit in commits.lines() {
            let _ = writeln!(lines, "{commit} {parent}");
            parent = commit;
        }
        let mut args = vec![
            "--stdin",
            "-r",
            "-z",
            "--raw",
            "--no-abbrev",
            "-M90%",
            "--ignore-submodules=none",
            "--",
        ];
        args.extend(pathspecs.iter().map(String::as_str));
        let fields = self.cmd("diff-tree", args).stdin(lines).fields().await?;
        Ok(changes_of_commits(commits.lines().filter_map(Oid::parse), fields))
    }

    /// Returns git's error message about invalid pathspecs; `None` if they are valid.
    pub async fn refused_pathspecs(&self, pathspecs: &[String]) -> Result<Option<String>, GitError> {
        // It lists conflicts, of which there are none: git only parses the pathspecs.
        let args = ["-u", "--"].into_iter();
        let args = args.chain(pathspecs.iter().map(String::as_str));
        let output = self.cmd("ls-files", args).any_exit().await?;
        let words = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Ok((output.code != Some(0)).then(words))
    }

    /// Returns whether a pathspec matches a file that git tracks, or would add.
    pub async fn is_any_file(&self, pathspec: &str) -> Result<bool, GitError> {
        let args = ["-z", "-c", "-o", "--exclude-standard", "--", pathspec];
        Ok(!self.cmd("ls-files", args).fields().await?.is_empty())
    }

    /// Returns whether a pathspec matches an ignored file.
    pub async fn is_any_ignored(&self, pathspec: &str) -> Result<bool, GitError> {
        let args = ["-z", "-o", "-i", "--exclude-standard", "--", pathspec];
        Ok(!self.cmd("ls-files", args).fields().await?.is_empty())
    }
}

/// Reads the changes of these commits, in order. The fields have no commit without changes.
fn changes_of_commits(
    commits: impl Iterator<Item = Oid>,
    fields: Vec<Vec<u8>>,
) -> Vec<(Oid, Vec<PathChange>)> {
    let mut history: Vec<(Oid, Vec<PathChange>)> = commits.map(|commit| (commit, Vec::new())).collect();
    let mut at = 0;
    let mut fields = fields.into_iter();
    while let Some(field) = fields.next() {
        if !field.starts_with(b":") {
            let is_it = |(commit, _): &(Oid, Vec<PathChange>)| commit.as_str().as_bytes() == field;
            at = history.iter().position(is_it).unwrap_or(at);
            continue;
        }
        let path = fields.next().unwrap_or_default();
        let status = field.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
        let change = if status.starts_with(b"R") {
            PathChange::renamed(&field, &path, &fields.next().unwrap_or_default())
        } else {
            PathChange::of(&field, &path)
        };
        if let (Some(change), Some((_, changes))) = (change, history.get_mut(at)) {
            changes.push(change);
        }
    }
    history
}

impl Repo {
    /// Returns whether a pathspec matches a file of a tree.
    pub async fn has_file_of(&self, tree: &Oid, pathspecs: &[String]) -> Result<bool, GitError> {
        let none = self.empty_tree().await?;
        let found = self.git.changes_among(&none, tree, pathspecs).await?;
        Ok(!found.is_empty())
    }

    /// Writes the tree `base`, with the files of `other` that match these pathspecs.
    pub async fn tree_with_those_of(
        &self,
        scratch: &Path,
        [base, other]: [&Oid; 2],
        pathspecs: &[String],
    ) -> Result<Oid, GitError> {
        let changes = self.git.changes_among(base, other, pathspecs).await?;
        self.tree_changed(scratch, base, changes).await
    }

    /// Writes a tree with these changes.
    pub async fn tree_changed(
        &self,
        scratch: &Path,
        base: &Oid,
        changes: Vec<PathChange>,
    ) -> Result<Oid, GitError> {
        if changes.is_empty() {
            return Ok(base.clone());
        }
        let gone = changes.iter().filter(|change| change.is.is_none());
        let gone: Vec<Vec<u8>> = gone.map(|change| change.path.clone()).collect();
        let entries: Vec<StagedEntry> = changes.into_iter().filter_map(|change| change.is).collect();
        self.tree_with(scratch, base, &entries, &gone).await
    }

    /// Writes the tree `base` with these entries in it, and without the paths `gone`. An entry replaces conflicting
    /// ones. `scratch` is a temporary private index.
    pub async fn tree_with(
        &self,
        scratch: &Path,
        base: &Oid,
        entries: &[StagedEntry],
        gone: &[Vec<u8>],
    ) -> Result<Oid, GitError> {
        self.discard_index(scratch)?;
        self.git.read_tree(base, scratch).await?;
        self.update_index(scratch, &["--force-remove"], gone).await?;
        self.set_entries(scratch, entries).await?;
        let tree = self.git.write_tree(scratch).await?;
        self.discard_index(scratch)?;
        Ok(tree)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_both_sides() {
        let zero = "0".repeat(40);
        let one = "1".repeat(40);
        let read = |meta: String| PathChange::of(meta.as_bytes(), b"a b").unwrap();
        let new = read(format!(":000000 100755 {zero} {one} A"));
        assert_eq!(new.was, None);
        assert_eq!(new.is.as_ref().unwrap().mode, "100755");
        assert_eq!(new.path, b"a b");
        let gone = read(format!(":120000 000000 {one} {zero} D"));
        assert_eq!((gone.was.unwrap().mode.as_str(), gone.is), ("120000", None));
        assert!(!new.is_of_submodule());
        assert!(read(format!(":160000 160000 {one} {one} M")).is_of_submodule());
        assert_eq!(PathChange::of(b"100644", b"a"), None);
    }
}
