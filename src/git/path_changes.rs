//! The differences between two trees, by pathspecs, with both sides of each; and trees with some paths of another one.

use std::path::Path;

use super::command::Git;
use super::discover::Repo;
use super::error::GitError;
use super::objects::StagedEntry;
use crate::names::Oid;

/// The mode of a submodule.
const GITLINK: &str = "160000";
/// The mode of a path that is not there.
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

impl PathChange {
    /// Returns whether one of the two is a submodule.
    #[must_use]
    pub fn is_of_submodule(&self) -> bool {
        [&self.was, &self.is]
            .into_iter()
            .flatten()
            .any(|entry| entry.mode == GITLINK)
    }

    /// Reads a record of `git diff-tree --raw -z`: ":<old mode> <new mode> <old oid> <new oid> <status>" and a path.
    fn of(meta: &[u8], path: &[u8]) -> Option<Self> {
        let meta = std::str::from_utf8(meta).ok()?;
        let mut words = meta.strip_prefix(':')?.split(' ');
        let (old, new) = (words.next()?, words.next()?);
        let (was, is) = (words.next()?, words.next()?);
        let entry = |mode: &str, oid: &str| {
            let oid = Oid::parse(oid)?;
            let path = path.to_vec();
            let mode = mode.to_owned();
            (mode != NOTHING).then_some(StagedEntry { mode, oid, path })
        };
        Some(Self {
            path: path.to_vec(),
            was: entry(old, was),
            is: entry(new, is),
        })
    }
}

impl Git {
    /// Lists the differences between two trees (or commits) in the paths that match; in all paths without a pathspec.
    /// A renamed file is one that is gone and one that is new.
    ///
    /// # Errors
    /// If a tree is missing, or git refuses a pathspec.
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

    /// Returns git's own words about pathspecs that it refuses; `None` if it takes them.
    ///
    /// # Errors
    /// If git cannot be run.
    pub async fn refused_pathspecs(&self, pathspecs: &[String]) -> Result<Option<String>, GitError> {
        // It lists conflicts, of which there are none: all of it is the reading of the pathspecs.
        let args = ["-u", "--"].into_iter();
        let args = args.chain(pathspecs.iter().map(String::as_str));
        let output = self.cmd("ls-files", args).any_exit().await?;
        let words = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Ok((output.code != Some(0)).then(words))
    }

    /// Returns whether a file that git tracks, or would track, matches a pathspec.
    ///
    /// # Errors
    /// If git refuses the pathspec.
    pub async fn is_any_file(&self, pathspec: &str) -> Result<bool, GitError> {
        let args = ["-z", "-c", "-o", "--exclude-standard", "--", pathspec];
        Ok(!self.cmd("ls-files", args).fields().await?.is_empty())
    }
}

impl Repo {
    /// Writes the tree `base` with these entries in it, and without the paths `gone`. An entry takes the place of what is
    /// in its way. `scratch` is a private index to work with.
    ///
    /// # Errors
    /// If git cannot write it.
    pub async fn tree_with(
        &self,
        scratch: &Path,
        base: &Oid,
        entries: &[StagedEntry],
        gone: &[Vec<u8>],
    ) -> Result<Oid, GitError> {
        self.discard_index(scratch)?;
        self.git
            .cmd("read-tree", [base.as_str()])
            .index(scratch)
            .done()
            .await?;
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
