//! The stash: its list, and adding and dropping single entries without touching index or work tree (git-stash(1)).
//!
//! All work trees share the list, and any process may change it at any time.

use super::command::{Git, failure};
use super::discover::Repo;
use super::error::GitError;
use crate::fs::{Links, file_error, may_exist, read_regular};
use crate::names::Oid;

/// Number of times that the list may change while an entry is being dropped.
const TURNS: usize = 16;

/// Maximum size of the reflog that stores the list, in bytes.
const MOST: u64 = 1 << 28;

/// An entry of the stash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StashEntry {
    /// Its commit.
    pub oid: Oid,
    /// Its message in the list.
    pub message: String,
}

impl StashEntry {
    /// Reads `<oid> <message>`.
    pub fn parse(line: &str) -> Option<Self> {
        let (oid, message) = line.split_once(' ')?;
        Some(Self {
            oid: Oid::parse(oid)?,
            message: message.to_owned(),
        })
    }
}

impl Repo {
    /// Lists the entries of the stash, newest first, from its reflog. Runs git only if the refs are not in files.
    pub async fn stash(&self) -> Result<Vec<StashEntry>, GitError> {
        if may_exist(&self.common_dir.join("reftable")) {
            return self.git.stash_list().await;
        }
        let log = self.layout().stash_log();
        let listed = match read_regular(&log, Links::Followed, MOST) {
            Ok(bytes) => entries_in(&String::from_utf8_lossy(&bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some(Vec::new()),
            Err(error) => return Err(file_error("read", &log, error).into()),
        };
        match listed {
            Some(listed) => Ok(listed),
            None => self.git.stash_list().await,
        }
    }
}

/// Reads the lines of a reflog, `<old> <new> <who> <when>\t<message>`, oldest first; returns `None` for other lines.
fn entries_in(log: &str) -> Option<Vec<StashEntry>> {
    let entry = |line: &str| {
        let (head, message) = line.split_once('\t')?;
        Some(StashEntry {
            oid: Oid::parse(head.split(' ').nth(1)?)?,
            message: message.to_owned(),
        })
    };
    log.lines().rev().map(entry).collect()
}

impl Git {
    /// Lists the entries of the stash, newest first.
    pub async fn stash_list(&self) -> Result<Vec<StashEntry>, GitError> {
        let args = ["list", "-z", "--format=%H %gs"];
        let list = self.cmd_with(&["log.showSignature=false"], "stash", args);
        let entries = list.fields().await?;
        let entries = entries.iter();
        let entries = entries.filter_map(|entry| StashEntry::parse(&String::from_utf8_lossy(entry)));
        Ok(entries.collect())
    }

    /// Adds a commit of the shape of a stash to the list.
    pub async fn stash_store(&self, entry: &StashEntry) -> Result<(), GitError> {
        let args = ["store", "-m", &entry.message, entry.oid.as_str()];
        self.cmd("stash", args).done().await
    }

    /// Deletes the ref of a stash without entries, as after an expired reflog: git would not list an entry stored while
    /// the ref already has its commit.
    pub async fn forget_stash(&self) -> Result<(), GitError> {
        let args = ["--no-deref", "-d", "refs/stash"];
        self.cmd("update-ref", args).any_exit().await.map(drop)
    }

    /// Drops the entry with this commit from the list, at any position; it may be gone already. If the list changes at
    /// the same moment, so that git drops another entry, that entry is stored again; returns these entries.
    pub async fn stash_drop(&self, oid: &Oid) -> Result<Vec<StashEntry>, GitError> {
        let mut stored_again = Vec::new();
        let mut turns = TURNS;
        loop {
            turns -= 1;
            let list = self.stash_list().await?;
            let Some(at) = list.iter().position(|entry| entry.oid == *oid) else {
                return Ok(stored_again);
            };
            let name = format!("stash@{{{at}}}");
            let output = self.cmd("stash", ["drop", &name]).any_exit().await?;
            if output.code != Some(0) {
                // The list has become shorter, or another git has locked it.
                if turns > 0 {
                    continue;
                }
                return Err(failure("stash drop", &output));
            }
            let answer = String::from_utf8_lossy(&output.stdout);
            let not_understood = || GitError::answer("stash drop", &answer);
            let dropped = named_in(&answer).ok_or_else(not_understood)?;
            if dropped == *oid {
                return Ok(stored_again);
            }
            let known = list.into_iter().find(|entry| entry.oid == dropped);
            let entry = match known {
                Some(known) => known,
                None => StashEntry {
                    message: self.message(&dropped).await?.trim().to_owned(),
                    oid: dropped,
                },
            };
            self.stash_store(&entry).await?;
            stored_again.push(entry);
            if turns == 0 {
                return Err(not_understood());
            }
        }
    }
}

/// Returns the object id in git's output, in any language.
fn named_in(text: &str) -> Option<Oid> {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words
        .rfind(|word| Oid::parse(word).is_some())
        .and_then(Oid::parse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reflog_is_the_list() {
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        let log = format!("{one} {one} A <a@b> 1 +0000\tOn main: a\tb\n{one} {two} A <a@b> 2 +0000\tWIP\n");
        let entries = entries_in(&log).unwrap();
        let found: Vec<_> = entries
            .iter()
            .map(|entry| (entry.oid.as_str(), entry.message.as_str()))
            .collect();
        assert_eq!(found, [(two.as_str(), "WIP"), (one.as_str(), "On main: a\tb")]);
        assert_eq!(entries_in(""), Some(Vec::new()));
        assert_eq!(entries_in("odd\n"), None);
    }

    #[test]
    fn the_dropped_commit_is_found_in_any_language() {
        let oid = "0123456789abcdef0123456789abcdef01234567";
        for text in [
            format!("Dropped stash@{{0}} ({oid})\n"),
            format!("stash@{{12}} ({oid}) gelöscht\n"),
        ] {
            assert_eq!(named_in(&text), Oid::parse(oid), "{text}");
        }
        assert_eq!(named_in("Dropped stash@{0}\n"), None);
    }
}
