//! Finds a loop whose work tree was moved to another directory.

use std::path::{Path, PathBuf};

use super::State;
use crate::fs::{seen_bytes, seen_in};
use crate::git::{RepoLayout, path_in};
use crate::paths::WorkTreePath;

/// Updates the loop's work tree in the state, if the recorded one does not belong to this repository and exactly one
/// other has its HEAD where the loop needs it: git checks a branch out in one work tree only.
pub(super) fn follow(state: &mut State, common_dir: &Path) {
    let named = state.work_tree();
    let is_ours = |layout: &RepoLayout| layout.shares(common_dir);
    if state.has_own_work_tree()
        || !state.is_live()
        || RepoLayout::of_work_tree(named).is_some_and(|at| is_ours(&at))
    {
        return;
    }
    let Some(branch) = state.loop_head().branch else {
        return;
    };
    let has_branch = |top: &PathBuf| {
        let layout = RepoLayout::of_work_tree(top).filter(is_ours);
        layout.is_some_and(|layout| layout.head().target() == Some(&branch))
    };
    let mut found = work_trees(common_dir).into_iter().filter(has_branch);
    if let (Some(top), None) = (found.next(), found.next()) {
        state.here.worktree = WorkTreePath::new(&top);
    }
}

/// Lists the tops of the work trees that may exist, by their files (gitrepository-layout(5), `worktrees`).
fn work_trees(common_dir: &Path) -> Vec<PathBuf> {
    let main = common_dir.parent().map(Path::to_owned);
    let linked = seen_in(&common_dir.join("worktrees")).filter_map(|entry| {
        let file = seen_bytes(&entry.path().join("gitdir"))?;
        path_in(&file).parent().map(Path::to_owned)
    });
    main.into_iter().chain(linked).collect()
}
