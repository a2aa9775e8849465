//! Lists the paths of a work tree beyond the content of an index: changed, untracked and ignored ones.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use super::command::split_z;
use super::discover::Repo;
use super::error::GitError;

/// The result of `Repo::differences`; paths are relative to the top, directories end in `/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// Tracked paths whose content, mode or presence differs.
    pub changed: Vec<Vec<u8>>,
    /// Paths that are in the work tree only.
    pub untracked: Vec<Vec<u8>>,
}

/// A prefix that makes a path certainly relative to the top.
const HERE: &[u8] = b"./";

/// Returns the input that queries these paths.
pub(super) fn names_of(paths: &[Vec<u8>]) -> Vec<u8> {
    let names = paths.iter().map(|path| [HERE, path.as_slice(), b"\0"].concat());
    names.collect::<Vec<_>>().concat()
}

/// Returns the path of a query.
pub(super) fn from_top(name: &[u8]) -> Vec<u8> {
    name.strip_prefix(HERE).unwrap_or(name).to_vec()
}

/// The result of `Repo::outside`; paths are relative to the top, directories end in `/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outside {
    /// Paths that git would add; those with a final `/` are repositories.
    pub untracked: Vec<Vec<u8>>,
    /// Ignored files, and directories that are ignored as such.
    pub ignored: Vec<Vec<u8>>,
}

impl Repo {
    /// Lists the differences between `index` and the work tree: changed or missing tracked files, and untracked entries
    /// under the present ignore rules (a whole directory if nothing inside is tracked). Scans the work tree once.
    pub async fn differences(&self, index: &Path) -> Result<Differences, GitError> {
        let args = ["-t", "-z", "-m", "-d", "-o", "--exclude-standard", "--directory"];
        let fields = self.git.cmd("ls-files", args).index(index).fields().await?;
        let mut differences = Differences::default();
        for field in fields {
            match field.split_at_checked(2) {
                Some((b"? ", path)) => differences.untracked.push(path.to_vec()),
                Some((_, path)) => differences.changed.push(path.to_vec()),
                None => {}
            }
        }
        Ok(differences)
    }

    /// Returns whether the work tree matches the repository's own index, except for untracked directories with these
    /// names. Scans the work tree once, in one process; writes nothing.
    pub async fn is_as_indexed(&self, aside: &[Vec<u8>]) -> Result<bool, GitError> {
        let args = [
            "-z",
            "-m",
            "-d",
            "-o",
            "--exclude-standard",
            "--directory",
            "--no-empty-directory",
        ];
        let different = self.git.cmd("ls-files", args).fields().await?;
        let is_aside = |path: &Vec<u8>| {
            path.strip_suffix(b"/")
                .is_some_and(|dir| aside.iter().any(|a| a == dir))
        };
        Ok(different.iter().all(is_aside))
    }

    /// Lists the paths in the work tree that are not in `index`, one by one: a directory represents its contents only
    /// if an ignore rule matches the directory itself, or if it is a repository. Scans the work tree once; writes
    /// nothing.
    pub async fn outside(&self, index: &Path) -> Result<Outside, GitError> {
        let args = [
            "--porcelain=v2",
            "-z",
            "--untracked-files=all",
            "--ignored=matching",
            "--no-renames",
            "--ignore-submodules=all",
        ];
        let fields = self.git.cmd("status", args).index(index).fields().await?;
        let mut outside = Outside::default();
        for field in fields {
            match field.split_at_checked(2) {
                Some((b"? ", path)) => outside.untracked.push(path.to_vec()),
                Some((b"! ", path)) => outside.ignored.push(path.to_vec()),
                _ => {}
            }
        }
        Ok(outside)
    }

    /// Lists the files that are not in `index` and are covered by the ignore rules of one file, `rules`.
    pub async fn covered_by(&self, index: &Path, rules: &Path) -> Result<Vec<Vec<u8>>, GitError> {
        let args = ["-z", "-o", "-i", "-X"].map(OsStr::new);
        let args = args.into_iter().chain([rules.as_os_str()]);
        self.git.cmd("ls-files", args).index(index).fields().await
    }

    /// Returns which of these paths the ignore rules of the work tree cover, tracked or not.
    pub async fn ignored_among(&self, index: &Path, paths: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, GitError> {
        let covered = self.check_ignore(index, paths, &["--no-index"]).await?;
        Ok(covered.iter().map(|name| from_top(name)).collect())
    }

    /// Returns which of these paths the ignore rules in one of the files `rules` cover.
    pub async fn ignored_by(
        &self,
        index: &Path,
        paths: &[Vec<u8>],
        rules: &BTreeSet<Vec<u8>>,
    ) -> Result<Vec<Vec<u8>>, GitError> {
        let answers = self.check_ignore(index, paths, &["-v"]).await?;
        // The file, the line, the rule, the path.
        let covered = answers.chunks_exact(4).filter_map(|answer| match answer {
            [file, _, _, path] => rules.contains(file).then(|| from_top(path)),
            _ => None,
        });
        Ok(covered.collect())
    }

    async fn check_ignore(
        &self,
        index: &Path,
        paths: &[Vec<u8>],
        options: &[&str],
    ) -> Result<Vec<Vec<u8>>, GitError> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        // A name that begins with a colon would be a pattern; this command cannot take literal pathspecs.
        let args = ["-z", "--stdin"].iter().chain(options).copied();
        let asked = self.git.cmd("check-ignore", args);
        let asked = asked.index(index).stdin(names_of(paths));
        Ok(split_z(&asked.answer().await?.unwrap_or_default()))
    }
}
