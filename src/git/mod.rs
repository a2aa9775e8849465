//! Git, as typed verbs over the git binary.
//!
//! Every call goes through [`Git::cmd`], which pins the settings and variables with which a user's configuration, hooks
//! or environment could change the result. Uses only object ids and full ref names; never merges, checks out or commits
//! with porcelain. Paths are bytes. This module does not know loops, stories or agents.

mod apart;
mod checksum;
mod command;
mod convert;
mod discover;
mod error;
mod filters;
mod foreign;
pub mod hooks;
mod identity;
pub mod index;
pub mod index_file;
mod index_times;
mod known_indexes;
mod known_refs;
mod large_files;
pub mod layout;
mod linked_worktrees;
mod listing;
pub mod locks;
mod loose;
mod merges;
mod new_entries;
mod new_objects;
mod objects;
mod old_rules;
mod operations;
mod own_config;
mod own_files;
mod patches;
mod path_changes;
mod ref_file;
mod ref_values;
mod refs;
pub mod remote;
mod shallow;
mod sharing;
mod stamp;
mod stash;
mod submodules;
mod switch;
mod too_deep;
mod users_own;
mod waits;
pub mod worktree;

pub use apart::{Temporary, quoted, temporary_in};
pub use command::{Git, REPOSITORY_VARIABLES, joined_z, split_z};
pub use discover::{Head, Repo, discover, discover_in_files};
pub use error::GitError;
pub use filters::Filters;
pub use foreign::{Kind, batch};
pub use hooks::Hooks;
pub use identity::{Identities, Signers};
pub use layout::{LayoutHead, RepoLayout, git_directories, is_same_dir, leads_nowhere, path_in};
pub use linked_worktrees::{BeginsAt, WorkTreeInfo};
pub use new_objects::{is_blob, is_commit};
pub use objects::{Described, StagedEntry, added_in};
pub use operations::{autostashes, clear_operations, operations_in_progress};
pub use own_files::{OwnFiles, PutBack, Runs};
pub use patches::{DiffSize, FileStat};
pub use path_changes::PathChange;
pub use ref_file::{RefFile, last_logged};
pub use ref_values::{RefValue, RefValues};
pub use refs::{RefInfo, oid_of};
pub use remote::Pushed;
pub use shallow::Shallow;
pub use sharing::Sharing;
pub use stash::StashEntry;
pub use submodules::{
    UncleanSubmodule, Uncloned, check_out_submodules, copy_all_commits, copy_commit, copy_objects,
    shared_submodule, submodule_repositories,
};
pub use waits::{RULES, endless_file};
