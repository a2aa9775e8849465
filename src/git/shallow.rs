//! Commits whose parents git ignores (`git fetch --depth`, "shallow" in gitrepository-layout(5)): if the parents are
//! present after all, such a line hides existing history.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::discover::Repo;
use super::error::GitError;
use crate::fs::{Below, Durability, FileError, Links, regular_text_if_there};
use crate::names::Oid;

/// The shallow commits at one moment, as git writes them: one per line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shallow(String);

impl Shallow {
    /// Reads a shallow file; returns none if there is no file.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let text = regular_text_if_there(path, Links::Followed, u64::MAX)?;
        Ok(Self(text.unwrap_or_default()))
    }

    /// Writes the shallow commits, with these permissions, below `door`; removes the file if there are none.
    pub fn write(&self, door: &Below, path: &Path, mode: u32) -> Result<(), FileError> {
        if self.0.is_empty() {
            return door.remove_file(path);
        }
        door.write(path, self.0.as_bytes(), mode, Durability::Atomic)
    }
}

impl Repo {
    /// Returns the path of the file that lists shallow commits.
    pub fn shallow_file(&self) -> PathBuf {
        self.common_dir.join("shallow")
    }

    /// Removes commits from the shallow file that were added since `before` although their parents are present; returns
    /// their number. Commits whose parents are missing stay in it.
    pub async fn restore_history(&self, before: &Shallow) -> Result<usize, GitError> {
        let path = self.shallow_file();
        let now = Shallow::read(&path)?;
        let known: BTreeSet<&str> = before.0.lines().collect();
        let is_oid = |line: &str| Oid::parse(line).is_some();
        // Git refuses to read any commit if one line is invalid.
        let readable: Vec<&str> = now.0.lines().filter(|line| is_oid(line)).collect();
        if readable.len() < now.0.lines().count() {
            self.write_shallow(&readable)?;
        }
        let new: Vec<&str> = readable
            .iter()
            .filter(|line| !known.contains(*line))
            .copied()
            .collect();
        if new.is_empty() {
            return Ok(0);
        }
        let listed = self
            .git
            .cmd(
                "rev-list",
                ["--no-walk", "--ignore-missing", "--parents", "--stdin"],
            )
            .env("GIT_SHALLOW_FILE", "")
            .stdin(new.join("\n") + "\n")
            .text()
            .await?;
        let families: Vec<Vec<&str>> = listed.lines().map(|line| line.split(' ').collect()).collect();
        let parents: BTreeSet<&str> = families
            .iter()
            .flat_map(|family| family.iter().skip(1))
            .copied()
            .collect();
        let checked = self.git.ask_about(&parents, "--batch-check").text().await?;
        let missing: BTreeSet<&str> = checked
            .lines()
            .filter_map(|line| line.strip_suffix(" missing"))
            .collect();
        let whole: BTreeSet<&str> = families
            .iter()
            .filter(|family| family.iter().skip(1).all(|parent| !missing.contains(parent)))
            .filter_map(|family| family.first().copied())
            .collect();
        if !whole.is_empty() {
            let left = readable.into_iter().filter(|line| !whole.contains(line));
            self.write_shallow(&left.collect::<Vec<&str>>())?;
        }
        Ok(whole.len())
    }

    fn write_shallow(&self, lines: &[&str]) -> Result<(), FileError> {
        let path = self.shallow_file();
        let left = Shallow(lines.iter().map(|line| format!("{line}\n")).collect());
        left.write(&self.door(&path), &path, self.sharing.file_mode())
    }
}
