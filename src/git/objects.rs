//! Objects: trees, commits, blobs, and merges that change no file of the work tree.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::command::Git;
use super::discover::Repo;
use super::error::GitError;
use super::foreign::FOREIGN;
use super::loose;
use crate::fs::is_seen_as_file;
use crate::names::Oid;
use crate::paths::percent;

/// An index entry that differs from a tree; mode `000000` means a missing entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagedEntry {
    /// The path, relative to the top.
    #[serde(with = "percent")]
    pub path: Vec<u8>,
    /// The mode, as git prints it.
    pub mode: String,
    /// The object.
    pub oid: Oid,
}

/// A commit of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// The commit.
    pub oid: Oid,
    /// Its subject.
    pub subject: String,
    /// The value of the requested trailer.
    pub trailer: Option<String>,
}

/// Returns the paths of differences that only the second state has.
pub fn added_in(changes: &[(u8, Vec<u8>)]) -> impl Iterator<Item = &Vec<u8>> {
    let added = changes.iter().filter(|(status, _)| *status == b'A');
    added.map(|(_, path)| path)
}

impl Git {
    /// Reads a tree into an index.
    pub(super) async fn read_tree(&self, tree: &Oid, index: &Path) -> Result<(), GitError> {
        self.cmd("read-tree", [tree.as_str()]).index(index).done().await
    }

    /// Writes the tree of an index.
    pub async fn write_tree(&self, index: &Path) -> Result<Oid, GitError> {
        self.cmd("write-tree", ["--missing-ok"]).index(index).oid().await
    }

    /// Reads a file of a commit; returns `None` if the commit has no such file.
    ///
    /// # Errors
    /// If git fails, or cannot read the commit or its file: this does not mean that the file is missing.
    pub async fn file_of(&self, commit: &Oid, name: &str) -> Result<Option<Vec<u8>>, GitError> {
        let spec = format!("{commit}:{name}");
        let output = self.cmd("cat-file", ["blob", &spec]).any_exit().await?;
        if output.code == Some(0) {
            return Ok(Some(output.stdout));
        }
        self.require_no_file(commit, name).await?;
        Ok(None)
    }

    /// Checks that a readable commit has no file of this name.
    async fn require_no_file(&self, commit: &Oid, name: &str) -> Result<(), GitError> {
        // No commit has a file outside of the work tree.
        if Path::new(name).is_absolute() {
            return Ok(());
        }
        let listed = self.cmd("ls-tree", ["--full-tree", commit.as_str(), "--", name]);
        let listed = listed.text().await?;
        if listed.starts_with("100") {
            return Err(GitError::answer("ls-tree", &listed));
        }
        Ok(())
    }

    /// Reads a file of a commit, following symlinks inside the commit; returns `None` if there is no such file.
    pub async fn file_behind(&self, commit: &Oid, name: &str) -> Result<Option<Vec<u8>>, GitError> {
        let spec = format!("{commit}:{name}\n");
        let args = ["--batch", "--follow-symlinks"];
        let found = self
            .cmd("cat-file", args)
            .stdin(spec.into_bytes())
            .bytes()
            .await?;
        // "<oid> blob <size>", the content, and the end of a line.
        let Some(end) = found.iter().position(|byte| *byte == b'\n') else {
            return Ok(None);
        };
        let (head, content) = (String::from_utf8_lossy(&found[..end]), &found[end + 1..]);
        let mut words = head.split(' ').skip(1);
        let (Some("blob"), Some(Ok(size))) = (words.next(), words.next().map(str::parse::<usize>)) else {
            self.require_no_file(commit, name).await?;
            return Ok(None);
        };
        Ok(content.get(..size).map(<[u8]>::to_vec))
    }

    /// Returns the tree of a commit.
    pub async fn tree_of(&self, commit: &Oid) -> Result<Oid, GitError> {
        self.tree_of_name(commit.as_str()).await
    }

    /// Returns the tree that a revision names.
    pub async fn tree_of_name(&self, revision: &str) -> Result<Oid, GitError> {
        let name = format!("{revision}^{{tree}}");
        self.cmd("rev-parse", ["--verify", "-q", &name]).oid().await
    }

    /// Returns the commit of a revision.
    pub async fn commit_of_name(&self, revision: &str) -> Result<Oid, GitError> {
        let name = format!("{revision}^{{commit}}");
        self.cmd("rev-parse", ["--verify", "-q", &name]).oid().await
    }

    /// Lists the paths of the files of a tree.
    pub async fn files_of(&self, tree: &Oid) -> Result<Vec<Vec<u8>>, GitError> {
        self.cmd("ls-tree", ["-r", "-z", "--name-only", tree.as_str()])
            .fields()
            .await
    }

    /// Lists the staged entries of an index with the tree `to`, relative to `from`.
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

    /// Returns the message of a commit.
    pub async fn message(&self, commit: &Oid) -> Result<String, GitError> {
        let args = ["-s", "--format=%B", commit.as_str(), "--"];
        self.cmd("show", args).text().await
    }

    /// Returns the parents of a commit.
    pub async fn parents_of(&self, commit: &Oid) -> Result<Vec<Oid>, GitError> {
        let args = ["-s", "--format=%P", commit.as_str(), "--"];
        let text = self.cmd("show", args).text().await?;
        Ok(text.split_whitespace().filter_map(Oid::parse).collect())
    }

    /// Returns the messages of a commit and its first-parent history, newest first, one after another.
    pub async fn bodies_of_first_parents(&self, commit: &Oid) -> Result<String, GitError> {
        let args = ["--first-parent", "--format=%B", commit.as_str(), "--"];
        let log = self.cmd("log", args).within(FOREIGN);
        log.text().await
    }

    /// Lists the commits after `base` (or from the beginning) up to `tip`, oldest first, each with the value of its
    /// trailer of this name (`git interpret-trailers`), if it has one.
    pub async fn history_since(
        &self,
        base: Option<&Oid>,
        tip: &Oid,
        trailer: &str,
    ) -> Result<Vec<Described>, GitError> {
        let range = base.map_or_else(|| tip.to_string(), |base| format!("{base}..{tip}"));
        let format = format!("--format=%H%x00%s%x00%(trailers:key={trailer},valueonly,separator=%x00)");
        let args = ["--reverse", "--first-parent", &format, &range, "--"];
        let text = self.cmd("log", args).text().await?;
        let commits = text.lines().filter_map(|line| {
            let mut fields = line.split('\0');
            Some(Described {
                oid: Oid::parse(fields.next()?)?,
                subject: fields.next()?.to_owned(),
                trailer: fields.next().filter(|value| !value.is_empty()).map(str::to_owned),
            })
        });
        Ok(commits.collect())
    }

    /// Lists the paths that differ between two trees, with the status letter git gives them (`A`, `M`, `D`,
    /// `T`).
    pub async fn diff_trees(&self, from: &Oid, to: &Oid) -> Result<Vec<(u8, Vec<u8>)>, GitError> {
        if from == to {
            return Ok(Vec::new());
        }
        self.name_changes(from, to, &["--no-renames"]).await
    }

    /// Lists the paths of one tree that the other one lacks, except those of files that were renamed.
    pub async fn deleted(&self, from: &Oid, to: &Oid) -> Result<Vec<Vec<u8>>, GitError> {
        let deleted = self.name_changes(from, to, &["-M", "--diff-filter=D"]).await?;
        Ok(deleted.into_iter().map(|(_, path)| path).collect())
    }

    async fn name_changes(
        &self,
        from: &Oid,
        to: &Oid,
        options: &[&str],
    ) -> Result<Vec<(u8, Vec<u8>)>, GitError> {
        let args = ["-r", "-z", "--name-status"].iter().chain(options);
        let args = args.copied().chain([from.as_str(), to.as_str()]);
        Ok(paths_and_letters(&self.cmd("diff-tree", args).fields().await?))
    }

    /// Lists the paths of the index that differ between a commit and the work tree, as [`Self::diff_trees`] does.
    pub async fn changed_since(&self, from: &Oid) -> Result<Vec<(u8, Vec<u8>)>, GitError> {
        let args = [
            "-z",
            "--name-status",
            "--no-renames",
            "--ignore-submodules=dirty",
            from.as_str(),
            "--",
        ];
        Ok(paths_and_letters(&self.cmd("diff", args).fields().await?))
    }
}

/// Reads what git prints with `--name-status -z`.
fn paths_and_letters(fields: &[Vec<u8>]) -> Vec<(u8, Vec<u8>)> {
    let pairs = fields.chunks_exact(2).filter_map(|pair| match pair {
        [status, path] => Some((*status.first()?, path.clone())),
        _ => None,
    });
    pairs.collect()
}

impl Repo {
    /// Returns whether a commit certainly has this tree; starts no process, and so reads only loose commits.
    pub fn has_tree(&self, commit: &Oid, tree: &Oid) -> bool {
        loose::tree(&self.common_dir.join("objects"), commit).as_ref() == Some(tree)
    }

    /// Selects the missing objects. Starts a git process only for objects that are not loose.
    pub async fn missing(&self, oids: &[&Oid]) -> Result<Vec<Oid>, GitError> {
        let objects = self.common_dir.join("objects");
        let has_file = |oid: &Oid| {
            let (dir, name) = oid.as_str().split_at(2);
            is_seen_as_file(&objects.join(dir).join(name))
        };
        let asked: Vec<&Oid> = oids.iter().copied().filter(|oid| !has_file(oid)).collect();
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let answer = self.git.ask_about(asked, "--batch-check").text().await?;
        Ok(answer
            .lines()
            .filter_map(|line| Oid::parse(line.strip_suffix(" missing")?))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[tokio::test]
    async fn file_that_cannot_be_read_is_not_absent() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at_top(dir.path());
        git.cmd("init", ["-q"]).done().await.unwrap();
        let blob = git.cmd("hash-object", ["-w", "--stdin"]).stdin("x\n");
        let blob = blob.oid().await.unwrap();
        let tree = git
            .cmd("mktree", [""; 0])
            .stdin(format!("100644 blob {blob}\tlist\n"));
        let tree = tree.oid().await.unwrap();
        let user = ["user.name=U", "user.email=u@e"];
        let commit = git.cmd_with(&user, "commit-tree", [tree.as_str(), "-m", "x"]);
        let commit = commit.oid().await.unwrap();
        assert_eq!(git.file_of(&commit, "list").await.unwrap().unwrap(), b"x\n");
        assert_eq!(git.file_behind(&commit, "list").await.unwrap().unwrap(), b"x\n");
        assert_eq!(git.file_of(&commit, "other").await.unwrap(), None);
        assert_eq!(git.file_behind(&commit, "other").await.unwrap(), None);
        let (first, rest) = blob.as_str().split_at(2);
        fs::remove_file(dir.path().join(".git/objects").join(first).join(rest)).unwrap();
        git.file_of(&commit, "list").await.unwrap_err();
        git.file_behind(&commit, "list").await.unwrap_err();
    }
}
