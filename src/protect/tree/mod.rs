//! Protects the content of one work tree, and restores it after an attempt.
//!
//! - `record` takes the record before an attempt, and uses it for repairs.
//! - `savepoint`: the states to which it can be restored; `moment`: the state that a record describes.
//! - `inventory` has every untracked path, with exactly one kind; `inventories` are those of the moments; `leftovers`
//!   and `renamed` use them.
//! - `ignored_files` (by `small_ignored`), `new_rules` (of ignored files), `hidden_files` (by new exclude rules),
//!   `hidden_rules` (that hide themselves),
//!   `unseen_work` (that git ignores), `unlisted_files` (pipes, rules that hide themselves), `gate_files` (that only gates made), `half_written` (by a
//!   git-ralph that was killed).
//! - `file_modes`, `kept_modes` (where git writes the user's files again), `index_flags`, `users_index`, `exact_bytes` (that filters change, by `attribute_sources`),
//!   `stat_changes`, `certain_change`, `fresh_times`, `damaged_index`, `pipes` (that git would wait for), `scan`.
//! - `repo_link` and `own_position` lead from it to its repository.
//! - `submodules`, `foreign_filters` (of submodules), `inner_git_files` (of repositories inside), `inner_repositories`,
//!   `inner_work_trees` (linked ones that an attempt left inside), `left_work_tree` (that is left for good).
//! - `story_backup`, `story_list`.

mod attribute_sources;
mod certain_change;
pub(super) mod damaged_index;
mod exact_bytes;
mod file_modes;
pub(super) mod foreign_filters;
mod fresh_times;
pub(super) mod gate_files;
mod half_written;
pub(super) mod hidden_files;
mod hidden_rules;
pub(super) mod ignored_files;
pub(super) mod index_flags;
pub(super) mod inner_git_files;
mod inner_repositories;
mod inner_work_trees;
mod inventories;
mod inventory;
mod kept_modes;
mod left_work_tree;
mod leftovers;
mod moment;
mod new_rules;
mod own_position;
pub(super) mod pipes;
mod record;
mod renamed;
mod repo_link;
mod savepoint;
mod scan;
mod small_ignored;
mod stat_changes;
pub(super) mod story_backup;
mod story_list;
pub(super) mod submodules;
#[cfg(test)]
mod tests;
mod unlisted_files;
mod unseen_work;
mod users_index;

pub(super) use inner_git_files::InnerGitFiles;
pub(crate) use kept_modes::KeptModes;
pub(crate) use left_work_tree::put_unkept_away;
pub(super) use record::{HeldOfTree, make_top};
pub(crate) use repo_link::RepoLink;
pub(super) use savepoint::Return;
pub(crate) use savepoint::Savepoint;
pub(crate) use story_list::StoryList;
