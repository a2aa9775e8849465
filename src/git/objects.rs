//! Objects: trees, commits, blobs and merges that touch no file of the work tree.

use std::ffi::OsStr;
use std::path::Path;

use super::command::{Git, GitError, failure, split_z};
use crate::names::Oid;

/// An index entry that differs from a tree; mode `000000` means that it is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedEntry {
    /// The mode, as git prints it.
    pub mode: String,
    /// The object.
    pub oid: Oid,
    /// The path, relative to the top.
    pub path: Vec<u8>,
}

impl Git {
    /// Writes the tree that an index holds.
    ///
    /// # Errors
    /// If the index has unmerged entries or cannot be read.
    pub async fn write_tree(&self, index: &Path) -> Result<Oid, GitError> {
        self.cmd("write-tree", ["--missing-ok"]).index(index).oid().await
    }

    /// Writes the tree without entries.
    ///
    /// # Errors
    /// If git cannot write objects.
    pub async fn empty_tree(&self) -> Result<Oid, GitError> {
        self.cmd("mktree", [""; 0]).oid().await
    }

    /// Stores a file unchanged in a tree of its own, under `name`.
    ///
    /// # Errors
    /// If the file cannot be read or git cannot write objects.
    pub async fn store_file(&self, file: &Path, name: &str) -> Result<Oid, GitError> {
        let args: [&OsStr; 4] = [
            "-w".as_ref(),
            "--no-filters".as_ref(),
            "--".as_ref(),
            file.as_os_str(),
        ];
        // Object ids do not compress, and trying takes long for a large index.
        let quick = ["core.looseCompression=0"];
        let blob = self.cmd_with(&quick, "hash-object", args).oid().await?;
        let entry = format!("100644 blob {blob}\t{name}\n");
        self.cmd("mktree", [""; 0]).stdin(entry).oid().await
    }

    /// Reads a file in the top directory of a commit; returns `None` if there is no such file.
    ///
    /// # Errors
    /// If git cannot be run.
    pub async fn file_of(&self, commit: &Oid, name: &str) -> Result<Option<Vec<u8>>, GitError> {
        let spec = format!("{commit}:{name}");
        let output = self.cmd("cat-file", ["blob", &spec]).any_exit().await?;
        Ok((output.code == Some(0)).then_some(output.stdout))
    }

    /// Returns the tree of a commit.
    ///
    /// # Errors
    /// If the commit is missing.
    pub async fn tree_of(&self, commit: &Oid) -> Result<Oid, GitError> {
        self.tree_of_name(commit.as_str()).await
    }

    /// Returns the tree that a revision names.
    ///
    /// # Errors
    /// If it does not exist.
    pub async fn tree_of_name(&self, revision: &str) -> Result<Oid, GitError> {
        let name = format!("{revision}^{{tree}}");
        self.cmd("rev-parse", ["--verify", "-q", &name]).oid().await
    }

    /// Returns the commit of a revision.
    ///
    /// # Errors
    /// If it does not exist.
    pub async fn commit_of_name(&self, revision: &str) -> Result<Oid, GitError> {
        let name = format!("{revision}^{{commit}}");
        self.cmd("rev-parse", ["--verify", "-q", &name]).oid().await
    }

    /// Lists the staged entries of an index with the tree `to`, relative to `from`.
    ///
    /// # Errors
    /// If a tree is missing.
    pub async fn staged_between(&self, from: &Oid, to: &Oid) -> Result<Vec<StagedEntry>, GitError> {
        let args = ["-r", "-z", "--raw", "--no-renames", from.as_str(), to.as_str()];
        let fields = self.cmd("diff-tree", args).fields().await?;
        let entries = fields.chunks_exact(2).filter_map(|pair| {
            let [meta, path] = pair else { return None };
            // ":<old mode> <new mode> <old oid> <new oid> <status>"
            let meta = String::from_utf8_lossy(meta).into_owned();
            let mut words = meta.split(' ').skip(1);
            let (mode, oid) = (words.next()?, words.nth(1)?);
            Some(StagedEntry {
                mode: mode.to_owned(),
                oid: Oid::parse(oid)?,
                path: path.clone(),
            })
        });
        Ok(entries.collect())
    }

    /// Makes a commit object; no ref points to it yet, no hook runs, nothing is signed.
    ///
    /// # Errors
    /// If git cannot write objects.
    pub async fn commit_tree(&self, tree: &Oid, parents: &[&Oid], message: &str) -> Result<Oid, GitError> {
        let mut args = vec![tree.as_str()];
        for parent in parents {
            args.extend(["-p", parent.as_str()]);
        }
        args.extend(["-F", "-"]);
        self.cmd("commit-tree", args).stdin(message).oid().await
    }

    /// Returns the message of a commit.
    ///
    /// # Errors
    /// If the commit is missing.
    pub async fn message(&self, commit: &Oid) -> Result<String, GitError> {
        let args = ["-s", "--format=%B", commit.as_str(), "--"];
        let bytes = self.cmd("show", args).bytes().await?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Lists the commits after `base` (or from the beginning) up to `tip` with their subjects, oldest first.
    ///
    /// # Errors
    /// If a commit is missing.
    pub async fn subjects_since(
        &self,
        base: Option<&Oid>,
        tip: &Oid,
    ) -> Result<Vec<(Oid, String)>, GitError> {
        let range = base.map_or_else(|| tip.to_string(), |base| format!("{base}..{tip}"));
        let args = ["--reverse", "--first-parent", "--format=%H %s", &range, "--"];
        let bytes = self.cmd("log", args).bytes().await?;
        let text = String::from_utf8_lossy(&bytes);
        let commits = text.lines().filter_map(|line| {
            let (oid, subject) = line.split_once(' ')?;
            Some((Oid::parse(oid)?, subject.to_owned()))
        });
        Ok(commits.collect())
    }

    /// Makes a commit that keeps a tree and any number of other commits alive, even if an attempt deletes the refs that
    /// name them.
    ///
    /// # Errors
    /// If git cannot write objects.
    pub async fn anchor(&self, tree: &Oid, commits: &[Oid]) -> Result<Oid, GitError> {
        let mut text = format!("tree {tree}\n");
        for commit in commits {
            text.push_str(&format!("parent {commit}\n"));
        }
        let who = "git-ralph <git-ralph@localhost> 0 +0000";
        text.push_str(&format!(
            "author {who}\ncommitter {who}\n\neverything that was named when the loop began\n"
        ));
        // The arguments of commit-tree could become too long.
        self.cmd("hash-object", ["-t", "commit", "-w", "--stdin"])
            .stdin(text)
            .oid()
            .await
    }

    /// Makes a temporary commit of the tree of `treeish`, only to be merged.
    async fn made_up(&self, treeish: &Oid, parent: Option<&Oid>) -> Result<Oid, GitError> {
        let tree = format!("{treeish}^{{tree}}");
        let mut args = vec![tree.as_str(), "-m", "made up for a merge"];
        if let Some(parent) = parent {
            args.extend(["-p", parent.as_str()]);
        }
        self.cmd("commit-tree", args).oid().await
    }

    /// Lists the paths that differ between two trees, with the status letter git gives them (`A`, `M`, `D`,
    /// `T`).
    ///
    /// # Errors
    /// If a tree is missing.
    pub async fn diff_trees(&self, from: &Oid, to: &Oid) -> Result<Vec<(u8, Vec<u8>)>, GitError> {
        if from == to {
            return Ok(Vec::new());
        }
        let args = [
            "-r",
            "-z",
            "--name-status",
            "--no-renames",
            from.as_str(),
            to.as_str(),
        ];
        let fields = self.cmd("diff-tree", args).fields().await?;
        Ok(fields
            .chunks_exact(2)
            .filter_map(|pair| match pair {
                [status, path] => Some((*status.first()?, path.clone())),
                _ => None,
            })
            .collect())
    }

    /// Merges `theirs` into `ours` with the common state `base` (each a tree, or a commit that stands for its
    /// tree), in the object database. The inner `Err` holds the conflicting paths.
    ///
    /// # Errors
    /// If git cannot merge at all (an older git than 2.38, missing objects).
    pub async fn merge_trees(
        &self,
        base: &Oid,
        ours: &Oid,
        theirs: &Oid,
    ) -> Result<Result<Oid, Vec<Vec<u8>>>, GitError> {
        // Temporary commits name the base explicitly: histories may be shallow or unrelated.
        let base = self.made_up(base, None).await?;
        let (ours, theirs) = tokio::join!(self.made_up(ours, Some(&base)), self.made_up(theirs, Some(&base)));
        let (ours, theirs) = (ours?, theirs?);
        let args = [
            "--write-tree",
            "--name-only",
            "--no-messages",
            "-z",
            ours.as_str(),
            theirs.as_str(),
        ];
        let output = self.cmd("merge-tree", args).any_exit().await?;
        let mut fields = split_z(&output.stdout).into_iter();
        let tree = fields
            .next()
            .and_then(|tree| Oid::parse(&String::from_utf8_lossy(&tree)));
        match (output.code, tree) {
            (Some(0), Some(tree)) => Ok(Ok(tree)),
            (Some(1), Some(_)) => Ok(Err(fields.collect())),
            _ => Err(failure("merge-tree", &output)),
        }
    }
}
