//! The entries of the stash before an attempt. All work trees and everybody who works in them share the list
//! (git-stash(1)), so an entry that came or went meanwhile need not be the attempt's doing.

use std::collections::HashSet;
use std::path::Path;

use super::ProtectError;
use crate::fs::{Below, FileError, Links, regular_text_if_there};
use crate::git::{GitError, Repo, StashEntry};
use crate::names::Oid;

/// Name of the record in the loop's directory; it exists only during an attempt, and if there are entries.
const RECORD: &str = "stash-before";

/// The list at one moment, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StashList(Vec<StashEntry>);

impl StashList {
    /// Reads the present list.
    pub async fn read(repo: &Repo) -> Result<Self, GitError> {
        Ok(Self(repo.stash().await?))
    }

    /// Records the list before an attempt.
    pub fn record(&self, dir: &Path) -> Result<(), ProtectError> {
        if !self.has_entries() {
            return Ok(forget(dir)?);
        }
        let lines = self
            .0
            .iter()
            .map(|entry| format!("{} {}\n", entry.oid, entry.message));
        Ok(Below::of_loop(dir).write_private(&dir.join(RECORD), &lines.collect::<String>())?)
    }

    /// Reads the record of the attempt's beginning; the list is empty if there is none.
    pub fn recorded(dir: &Path) -> Result<Self, FileError> {
        let text = regular_text_if_there(&dir.join(RECORD), Links::Refused, u64::MAX)?.unwrap_or_default();
        let entries = text.lines().filter_map(|line| {
            let (oid, message) = line.split_once(' ')?;
            Some(StashEntry {
                oid: Oid::parse(oid)?,
                message: message.to_owned(),
            })
        });
        Ok(Self(entries.collect()))
    }

    /// Returns the commits of the entries.
    pub fn oids(&self) -> impl Iterator<Item = &Oid> {
        self.0.iter().map(|entry| &entry.oid)
    }

    /// Returns whether there are entries.
    pub fn has_entries(&self) -> bool {
        !self.0.is_empty()
    }

    /// Returns the entries that `other` lacks, newest first.
    pub fn not_in(&self, other: &Self) -> Vec<StashEntry> {
        let theirs: HashSet<&Oid> = other.oids().collect();
        let missing = self.0.iter().filter(|entry| !theirs.contains(&entry.oid));
        missing.cloned().collect()
    }
}

/// Forgets the record.
pub(super) fn forget(dir: &Path) -> Result<(), FileError> {
    Below::of_loop(dir).remove_file(&dir.join(RECORD))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_that_came_or_went_are_found() {
        let entry = |digit: char| StashEntry {
            oid: Oid::parse(&digit.to_string().repeat(40)).unwrap(),
            message: format!("On main: work {digit}"),
        };
        let before = StashList(['2', '1'].map(entry).into());
        let now = StashList(['3', '2'].map(entry).into());
        assert_eq!(before.not_in(&now), [entry('1')]);
        assert_eq!(now.not_in(&before), [entry('3')]);
        let dir = tempfile::tempdir().unwrap();
        before.record(dir.path()).unwrap();
        assert_eq!(StashList::recorded(dir.path()).unwrap(), before);
        StashList::default().record(dir.path()).unwrap();
        assert_eq!(StashList::recorded(dir.path()).unwrap(), StashList::default());
    }
}
