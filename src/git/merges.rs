//! Merges trees in the object database. What an attempt wrote has no say in how: the attributes are those of the target, and
//! no merge driver is run.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::apart::temporary_in;
use super::command::{failure, split_z};
use super::discover::Repo;
use super::error::GitError;
use crate::fs::{Below, Durability};
use crate::names::Oid;

/// The result: a tree, or the paths with conflicts.
type Merged = Result<Oid, Vec<Vec<u8>>>;

/// Settings of every merge, whatever the user's are.
const SETTINGS: [&str; 3] = [
    "merge.directoryRenames=conflict",
    "merge.renames=true",
    "merge.renormalize=false",
];

impl Repo {
    /// Merges `theirs` into the target `ours` with the common state `base` (each a tree, or a commit that stands for its
    /// tree), in the object database. The inner `Err` holds the conflicting paths.
    pub async fn merge(&self, base: &Oid, ours: &Oid, theirs: &Oid) -> Result<Merged, GitError> {
        let trees = self.git.existing_trees([base, ours, theirs]).await?;
        self.merge_trees(trees.each_ref()).await
    }

    /// Merges two trees, `theirs` into the target `ours`, with the tree `base` in common.
    pub async fn merge_trees(&self, [base, ours, theirs]: [&Oid; 3]) -> Result<Merged, GitError> {
        // Git reads the attributes for a merge from the work tree that it is in.
        let place = temporary_in(&self.git_dir)?;
        self.write_attributes(ours, place.path()).await?;
        let drivers = self.drivers().await?;
        let settings: Vec<&str> = SETTINGS
            .into_iter()
            .chain(drivers.iter().map(String::as_str))
            .collect();
        // Commits made for this merge name the base explicitly: histories may be shallow or unrelated.
        let base = self.made_up(base, &[]).await?;
        let ours = self.made_up(ours, std::slice::from_ref(&base)).await?;
        let theirs = self.made_up(theirs, std::slice::from_ref(&base)).await?;
        let args = [
            "--write-tree",
            "--name-only",
            "--no-messages",
            "-z",
            ours.as_str(),
            theirs.as_str(),
        ];
        let git = self.git.clone().in_dir(place.path());
        let command = git
            .cmd_with(&settings, "merge-tree", args)
            .env("GIT_DIR", &self.git_dir)
            .env("GIT_WORK_TREE", place.path())
            .index(&place.path().join("index"));
        let output = command.any_exit().await?;
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

    /// Writes the attributes files of a tree into a directory.
    async fn write_attributes(&self, tree: &Oid, place: &Path) -> Result<(), GitError> {
        let door = Below::new(place);
        for path in self
            .git
            .cmd("ls-tree", ["-r", "-z", tree.as_str()])
            .fields()
            .await?
        {
            let mut parts = path.splitn(2, |byte| *byte == b'\t');
            let (Some(entry), Some(path)) = (parts.next(), parts.next()) else {
                continue;
            };
            let is_rules = path == b".gitattributes" || path.ends_with(b"/.gitattributes");
            // Git follows no link to attributes.
            let entry = String::from_utf8_lossy(entry);
            let mut words = entry.split(' ');
            let (mode, oid) = (words.next(), words.nth(1));
            let (true, Some(true), Some(oid)) = (is_rules, mode.map(|mode| mode.starts_with("100")), oid)
            else {
                continue;
            };
            let bytes = self.git.cmd("cat-file", ["blob", oid]).bytes().await?;
            let path = Path::new(OsStr::from_bytes(path));
            if let Some(dir) = path.parent() {
                door.make_dir(&place.join(dir), 0o700)?;
            }
            door.write(&place.join(path), &bytes, 0o600, Durability::Atomic)?;
        }
        Ok(())
    }

    /// Returns settings that put a program which fails into the place of each merge driver: such a path is a conflict.
    async fn drivers(&self) -> Result<Vec<String>, GitError> {
        let args = ["-z", "--name-only", "--get-regexp", r"^merge\..*\.driver$"];
        let listed = self.git.cmd("config", args).any_exit().await?;
        let names = split_z(&listed.stdout);
        Ok(names
            .iter()
            .map(|name| format!("{}=false", String::from_utf8_lossy(name)))
            .collect())
    }
}
