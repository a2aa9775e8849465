//! Protects the parts of a repository that all its work trees share.
//!
//! - `control_files`: git's configuration, hooks and the like; `own_directory`: the loop's directory.
//! - `user_refs`: all refs except the loop's branch; `stash_list`: the entries of the stash.
//! - `packed_refs`: lines because of which git reads no ref.
//! - `linked_work_trees`: the other work trees; `locks`: git's locks.
//! - `record` takes the record before an attempt, and uses it for repairs.
//! - `access`, `directories` and `pipes` make all of it readable and writable for git.

pub(super) mod access;
mod control_files;
pub(super) mod directories;
pub(super) mod linked_work_trees;
mod locks;
pub(super) mod own_directory;
pub(super) mod packed_refs;
pub(super) mod pipes;
mod record;
pub(super) mod stash_list;
mod user_refs;

pub(crate) use control_files::{ControlFiles, recorded_config};
pub(super) use record::RepositoryRecord;
pub(crate) use stash_list::StashList;
pub(crate) use user_refs::{RefChanges, UserRefs};
