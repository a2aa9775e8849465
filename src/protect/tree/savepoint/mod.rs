//! A state that the work tree can be restored to: the last checkpoint, or the beginning of the loop.
//!
//! `record` records the data that git does not store, `read` compares the work tree with it, `go_to` restores it.
//! `judged` is a further state: the work of an attempt, while gates run with the tests of the checkpoint.

mod go_to;
mod judged;
mod read;
mod record;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;

use crate::git::index_file::IndexFile;
use crate::git::{GitError, StagedEntry};
use crate::names::Oid;
use crate::protect::tree::moment::Moment;
use crate::protect::{ProtectError, Site};

pub(crate) use go_to::Return;

/// A state that the work tree can be restored to.
#[derive(Clone)]
pub(crate) struct Savepoint<'a> {
    /// Its repository and slot.
    pub site: Site<'a>,
    /// Its tree.
    pub tree: Oid,
    /// The commit with that tree.
    pub commit: Oid,
    /// Its kind, which names its records.
    pub moment: Moment,
    /// The user's nested repositories, which are not touched; relative to the top.
    pub nested: Vec<Vec<u8>>,
    /// New files that only gates made, by path: they are not touched while they have that content.
    pub gate_files: BTreeMap<Vec<u8>, StagedEntry>,
    /// The start of the work that would be undone.
    pub since: Timestamp,
    /// True if an inventory was taken before that work: the user's work has none.
    pub has_own_inventory: bool,
}

impl<'a> Savepoint<'a> {
    /// Returns the savepoint of a checkpoint; `since` is the start of the attempt, else of the loop.
    pub fn of_checkpoint(site: Site<'a>, tree: Oid, commit: Oid, since: Timestamp) -> Self {
        Self {
            site,
            tree,
            commit,
            moment: Moment::Checkpoint,
            nested: Vec::new(),
            gate_files: BTreeMap::new(),
            since,
            has_own_inventory: false,
        }
    }

    /// Returns the savepoint of the beginning of the loop that has this checkpoint.
    pub fn of_start(self, tree: Oid, commit: Oid) -> Self {
        Self {
            tree,
            commit,
            moment: Moment::Start,
            ..self
        }
    }

    /// Returns the savepoint of an attempt's work on this checkpoint; `since` is when it was read.
    pub fn of_judged(self, tree: Oid, commit: Oid, since: Timestamp) -> Self {
        Self {
            tree,
            commit,
            moment: Moment::Judged,
            since,
            ..self
        }
    }

    /// Returns the index that describes this state.
    pub fn index(&self) -> PathBuf {
        self.site.file(match self.moment {
            Moment::Start => "start.index",
            Moment::Checkpoint => "checkpoint.index",
            Moment::Judged => "judged.index",
        })
    }

    /// Reads the copy of the index; an empty one if there is none.
    fn read_index(&self) -> Result<Arc<IndexFile>, GitError> {
        self.site.repo.read_index_or_none(&self.index())
    }

    /// Keeps a copy of the present index, to find later changes.
    fn remember_index(&self) -> Result<(), ProtectError> {
        self.site
            .repo
            .copy_index(&self.site.repo.index(), &self.index())?;
        Ok(())
    }
}
