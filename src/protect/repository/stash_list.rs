//! The entries of the stash before an attempt. All work trees and their users share the list (git-stash(1)), so the
//! attempt need not have made or dropped an entry that has changed meanwhile.

use std::collections::HashSet;

use super::user_refs::UserRefs;
use crate::fs::{FileError, Links, regular_text_if_there};
use crate::git::{GitError, Repo, StashEntry};
use crate::names::Oid;
use crate::protect::ProtectError;
use crate::slot::Slot;

/// Name of the record in the slot; it exists only during an attempt, and if there are entries.
const RECORD: &str = "stash-before";

/// The stash list at one moment, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StashList(Vec<StashEntry>);

impl UserRefs {
    /// Reads the present stash list; starts no process if these refs have no stash.
    pub async fn stash_list(&self, repo: &Repo) -> Result<StashList, GitError> {
        if self.has_stash() {
            StashList::read(repo).await
        } else {
            Ok(StashList::default())
        }
    }
}

impl StashList {
    /// Reads the present list.
    pub async fn read(repo: &Repo) -> Result<Self, GitError> {
        Ok(Self(repo.stash().await?))
    }

    /// Records the list before an attempt.
    pub fn record(&self, slot: &Slot) -> Result<(), ProtectError> {
        if !self.has_entries() {
            return Ok(forget(slot)?);
        }
        let lines = self
            .0
            .iter()
            .map(|entry| format!("{} {}\n", entry.oid, entry.message));
        let text = lines.collect::<String>();
        Ok(slot.door().write_private(&slot.file(RECORD), &text)?)
    }

    /// Reads the record of the attempt's beginning; an empty list without one.
    pub fn recorded(slot: &Slot) -> Result<Self, FileError> {
        let text = regular_text_if_there(&slot.file(RECORD), Links::Refused, u64::MAX)?.unwrap_or_default();
        Ok(Self(text.lines().filter_map(StashEntry::parse).collect()))
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
pub(in crate::protect) fn forget(slot: &Slot) -> Result<(), FileError> {
    slot.door().remove_file(&slot.file(RECORD))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparison_finds_new_and_missing_entries() {
        let entry = |digit: char| StashEntry {
            oid: Oid::parse(&digit.to_string().repeat(40)).unwrap(),
            message: format!("On main: work {digit}"),
        };
        let before = StashList(['2', '1'].map(entry).into());
        let now = StashList(['3', '2'].map(entry).into());
        assert_eq!(before.not_in(&now), [entry('1')]);
        assert_eq!(now.not_in(&before), [entry('3')]);
        let dir = tempfile::tempdir().unwrap();
        let slot = Slot::of(&dir.path().join("ralph/c"));
        slot.make().unwrap();
        before.record(&slot).unwrap();
        assert_eq!(StashList::recorded(&slot).unwrap(), before);
        StashList::default().record(&slot).unwrap();
        assert_eq!(StashList::recorded(&slot).unwrap(), StashList::default());
    }
}
