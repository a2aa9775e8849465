//! Files that an attempt made and hides by its own ignore rules: the earlier rules decide which files git would add.

use std::path::PathBuf;

use crate::fs::{Durability, Links, may_exist, read_regular};
use crate::names::Oid;
use crate::protect::records::Records;
use crate::protect::{ProtectError, Site};

/// Name of the copy of the user's own ignore rules from before an attempt.
const EXCLUDES: &str = "excludes";

/// Maximum size of a file of such rules, in bytes.
const MOST: u64 = 1024 * 1024;

fn copy(site: Site<'_>) -> PathBuf {
    site.file(EXCLUDES)
}

impl Site<'_> {
    /// Copies the user's own ignore rules (`core.excludesFile`) before an attempt, which could change them. One git
    /// process.
    pub async fn record_excludes(self) -> Result<(), ProtectError> {
        let file = self.repo.excludes_file().await?;
        let rules = file.and_then(|file| read_regular(&file, Links::Followed, MOST).ok());
        let rules = rules.unwrap_or_default();
        Ok(self
            .own_door()
            .write(&copy(self), &rules, 0o600, Durability::Atomic)?)
    }

    /// Finds the files matching pathspecs that an attempt made, that are missing from the working index, which the work
    /// tree was just read into, and that the earlier ignore rules do not cover; `tree` is the checkpoint's. One scan of
    /// the work tree; more processes only if there are new ignored files.
    pub async fn hidden_by_new(self, tree: &Oid, pathspecs: &[String]) -> Result<Vec<Vec<u8>>, ProtectError> {
        let (repo, work, records) = (self.repo, self.work_index(), Records::of(self));
        let before = records.last_inventory()?;
        let was_there = |path: &[u8]| {
            let kind = before.kind_of(path);
            before.holds_back(path) || kind.is_some_and(super::inventory::Kind::is_whole)
        };
        let outside = repo.outside(&work).await?;
        let mut new = outside.untracked;
        new.extend(outside.ignored);
        new.retain(|path| !was_there(path));
        if new.is_empty() {
            return Ok(Vec::new());
        }
        let is_new = |path: &Vec<u8>| {
            let is_in = |new: &Vec<u8>| new == path || new.ends_with(b"/") && path.starts_with(new);
            new.iter().any(is_in) && !was_there(path)
        };
        let mut files = repo.others_among(&work, pathspecs).await?;
        files.retain(is_new);
        let mut first = Vec::new();
        let copy = copy(self);
        // A session that the user started has no copy.
        let own = if may_exist(&copy) {
            Some(copy)
        } else {
            repo.excludes_file().await?
        };
        let repositorys = repo.common_dir.join("info/exclude");
        for rules in own.into_iter().chain([repositorys]) {
            first.extend(read_regular(&rules, Links::Followed, MOST).unwrap_or_default());
            first.push(b'\n');
        }
        let scratch = self.file("rules");
        Ok(repo.uncovered_by(tree, first, &scratch, &files).await?)
    }
}
