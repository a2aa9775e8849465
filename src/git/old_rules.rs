//! Applies the ignore rules of a tree, which may differ from the work tree's.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::command::{Git, split_z};
use super::discover::Repo;
use super::error::GitError;
use super::listing::{from_top, names_of};
use crate::fs::{Below, Durability, FileError, is_file_or_link, path_below};
use crate::names::Oid;
use crate::paths::{is_of_work_tree, of_user};

/// The name of a file with ignore rules.
const RULES: &[u8] = b".gitignore";

impl Repo {
    /// Lists the files of the work tree that are not in `index` and match the pathspecs, even ignored ones; lists the
    /// files of a nested repository one by one.
    pub async fn others_among(&self, index: &Path, pathspecs: &[String]) -> Result<Vec<Vec<u8>>, GitError> {
        let args = ["-z", "-o", "--"].into_iter();
        let args = args.chain(pathspecs.iter().map(String::as_str));
        let listed = self.git.cmd("ls-files", args).index(index).fields().await?;
        let (nested, mut files): (Vec<_>, Vec<_>) = listed.into_iter().partition(|path| path.ends_with(b"/"));
        for dir in nested {
            let inner = Git::at_top(&path_below(&self.top, &dir)).offline();
            let listed = inner.cmd("ls-files", ["-z", "-c", "-o"]).fields().await?;
            for path in listed.into_iter().map(|file| [dir.as_slice(), &file].concat()) {
                if is_file_or_link(&path_below(&self.top, &path))? {
                    files.push(path);
                }
            }
        }
        Ok(files)
    }

    /// Returns the path of the user's own file of ignore rules (`core.excludesFile`), which may be missing.
    pub async fn excludes_file(&self) -> Result<Option<PathBuf>, GitError> {
        let args = ["--type=path", "--get", "core.excludesFile"];
        let output = self.git.cmd("config", args).any_exit().await?;
        let path = output.stdout.strip_suffix(b"\n").unwrap_or(&output.stdout);
        if output.code == Some(0) {
            return Ok((!path.is_empty()).then(|| path_below(&self.top, path)));
        }
        let config = of_user("XDG_CONFIG_HOME", ".config");
        Ok(config.map(|config| config.join("git/ignore")))
    }

    /// Returns the paths that ignore rules do not cover: the rules `first`, then the rules in `tree`, but not those of
    /// the work tree. `scratch` is the path of a temporary directory.
    pub async fn uncovered_by(
        &self,
        tree: &Oid,
        first: Vec<u8>,
        scratch: &Path,
        paths: &[Vec<u8>],
    ) -> Result<Vec<Vec<u8>>, GitError> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let door = self.door(scratch);
        door.remove(scratch)?;
        door.make_dir(scratch, 0o700)?;
        self.write_rules(tree, first, &door, scratch).await?;
        // A name that begins with a colon would be a pattern.
        let covered = self
            .git
            .cmd_with(
                &["core.excludesFile=/dev/null"],
                "check-ignore",
                ["--no-index", "-z", "--stdin"],
            )
            .env("GIT_DIR", &self.git_dir)
            .env("GIT_WORK_TREE", scratch)
            .stdin(names_of(paths))
            .answer()
            .await;
        door.remove(scratch)?;
        let covered = split_z(&covered?.unwrap_or_default());
        let covered: HashSet<Vec<u8>> = covered.iter().map(|name| from_top(name)).collect();
        Ok(paths
            .iter()
            .filter(|path| !covered.contains(*path))
            .cloned()
            .collect())
    }

    /// Writes the ignore files of a tree below `dir`; the top one begins with the rules `first`.
    async fn write_rules(
        &self,
        tree: &Oid,
        first: Vec<u8>,
        door: &Below,
        dir: &Path,
    ) -> Result<(), GitError> {
        let mut top = first;
        for (path, rules) in self.files_called(tree, RULES).await? {
            if path == RULES {
                top.push(b'\n');
                top.extend(rules);
            } else if is_of_work_tree(&path) {
                put(door, &path_below(dir, &path), &rules)?;
            }
        }
        Ok(put(door, &path_below(dir, RULES), &top)?)
    }

    /// Returns the files of this name in a tree, each with its content. As in git, symlinks do not count.
    pub(super) async fn files_called(
        &self,
        tree: &Oid,
        name: &[u8],
    ) -> Result<Vec<(Vec<u8>, Vec<u8>)>, GitError> {
        let mut found = Vec::new();
        let listed = self.git.cmd("ls-tree", ["-r", "-z", tree.as_str()]);
        for entry in listed.fields().await? {
            // "<mode> <kind> <oid>\t<path>"
            let mut parts = entry.splitn(2, |byte| *byte == b'\t');
            let (Some(meta), Some(path)) = (parts.next(), parts.next()) else {
                continue;
            };
            let is_named = path.rsplit(|byte| *byte == b'/').next() == Some(name);
            let oid = String::from_utf8_lossy(meta.rsplit(|byte| *byte == b' ').next().unwrap_or_default());
            if is_named && meta.starts_with(b"100") {
                let bytes = self.git.cmd("cat-file", ["blob", &oid]).bytes().await?;
                found.push((path.to_vec(), bytes));
            }
        }
        Ok(found)
    }
}

/// Writes a file, and makes the directories above it.
pub(super) fn put(door: &Below, file: &Path, bytes: &[u8]) -> Result<(), FileError> {
    if let Some(above) = file.parent() {
        door.make_dir(above, 0o700)?;
    }
    door.write(file, bytes, 0o600, Durability::Atomic)
}
