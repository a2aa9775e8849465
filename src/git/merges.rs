//! Merges trees in the object database. Files of an attempt do not influence how: the attributes are the target's, and
//! no merge driver is run.

use std::path::Path;

use super::apart::temporary_in;
use super::command::{failure, split_z};
use super::discover::Repo;
use super::error::GitError;
use super::old_rules::put;
use crate::fs::{Below, path_below};
use crate::names::Oid;

/// The result: a tree, or the paths with conflicts.
type Merged = Result<Oid, Vec<Vec<u8>>>;

/// Settings of every merge, independent of the user's.
const SETTINGS: [&str; 3] = [
    "merge.directoryRenames=conflict",
    "merge.renames=true",
    "merge.renormalize=false",
];

impl Repo {
    /// Merges `theirs` into the target `ours` with the common state `base` (each a tree, or a commit with that tree),
    /// in the object database. The inner `Err` has the conflicting paths.
    pub async fn merge(&self, base: &Oid, ours: &Oid, theirs: &Oid) -> Result<Merged, GitError> {
        let trees = self.git.existing_trees([base, ours, theirs]).await?;
        self.merge_trees(trees.each_ref()).await
    }

    /// Merges two trees, `theirs` into the target `ours`, with the tree `base` in common.
    pub async fn merge_trees(&self, [base, ours, theirs]: [&Oid; 3]) -> Result<Merged, GitError> {
        // Git reads the attributes for a merge from the work tree in which it runs.
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

    /// Merges two texts' changes to a common one; if both added lines at the same place, those of `ours` come first.
    pub async fn merge_texts(&self, [ours, base, theirs]: [&[u8]; 3]) -> Result<Vec<u8>, GitError> {
        let place = temporary_in(&self.git_dir)?;
        let door = Below::new(place.path());
        for (name, text) in [("ours", ours), ("base", base), ("theirs", theirs)] {
            put(&door, &place.path().join(name), text)?;
        }
        let git = self.git.clone().in_dir(place.path());
        let args = ["-p", "--union", "ours", "base", "theirs"];
        git.cmd("merge-file", args)
            .env("GIT_DIR", &self.git_dir)
            .bytes()
            .await
    }

    /// Writes the attributes files of a tree into a directory.
    async fn write_attributes(&self, tree: &Oid, place: &Path) -> Result<(), GitError> {
        let door = Below::new(place);
        for (path, rules) in self.files_called(tree, b".gitattributes").await? {
            put(&door, &path_below(place, &path), &rules)?;
        }
        Ok(())
    }

    /// Returns settings that replace each merge driver by a failing program: such a path is a conflict.
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
