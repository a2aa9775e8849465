//! Finds work trees and branches that finished loops left, as after `finish --keep`, and that hold nothing which is not
//! elsewhere; removes them.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::engine::Context;
use crate::engine::work_tree_removal::{Removal, TRASH, remove_final};
use crate::error::Error;
use crate::fs::may_exist;
use crate::git::{Git, RefInfo, WorkTreeInfo, oid_of};
use crate::names::{Change, short_branch};
use crate::refs::Update;
use crate::state::{State, Store, changes};

/// The branches of loops, as patterns of git's.
const BRANCHES: &str = "ralph/";

/// A branch of a finished loop that another branch contains, and its work tree, if that has nothing else.
#[derive(Clone, Debug, Serialize)]
pub struct Unneeded {
    /// The change of the loop.
    pub change: Change,
    /// The branch, in short.
    pub branch: String,
    /// The work tree that has it checked out.
    pub worktree: Option<PathBuf>,
}

/// Finds those of one finished loop, or of all.
pub async fn unneeded(context: &Context<'_>, change: Option<&Change>) -> Result<Vec<Unneeded>, Error> {
    let all = match change {
        Some(change) => vec![change.clone()],
        None => changes(&context.repo.common_dir)?,
    };
    let mut found = Vec::new();
    let mut seen: Option<(Vec<RefInfo>, Vec<WorkTreeInfo>)> = None;
    for change in all {
        let store = Store::new(&context.repo.common_dir, &change);
        let Ok(Some(state)) = store.load() else { continue };
        if state.is_live() || !state.has_branch() {
            continue;
        }
        let (refs, trees) = match &seen {
            Some(seen) => seen,
            None => {
                let pattern = format!("refs/heads/{BRANCHES}");
                let refs = context.repo.git.refs(&[&pattern]).await?;
                seen.insert((refs, context.repo.work_trees().await?))
            }
        };
        found.extend(of_loop(context, &state, refs, trees).await?);
    }
    Ok(found)
}

async fn of_loop(
    context: &Context<'_>,
    state: &State,
    refs: &[RefInfo],
    trees: &[WorkTreeInfo],
) -> Result<Option<Unneeded>, Error> {
    let name = state.change.branch_ref();
    let git = &context.repo.git;
    let Some(tip) = oid_of(refs, &name) else {
        return Ok(None);
    };
    if !git.is_on_branch(&tip, &[], BRANCHES).await? {
        return Ok(None);
    }
    let mut worktree = None;
    if let Some(tree) = trees.iter().find(|tree| tree.branch.as_ref() == Some(&name)) {
        let is_own = state.own_work_tree().as_ref() == Some(&tree.top) && tree.locked.is_none();
        if !is_own || tree.top == context.repo.top || !is_as_committed(&tree.top).await? {
            return Ok(None);
        }
        worktree = Some(tree.top.clone());
    }
    Ok(Some(Unneeded {
        change: state.change.clone(),
        branch: short_branch(&name).to_owned(),
        worktree,
    }))
}

/// Returns whether a work tree has nothing but its commit, and what git ignores. One with submodules is not removed, so no git
/// runs in these.
async fn is_as_committed(top: &Path) -> Result<bool, Error> {
    if !may_exist(top) {
        return Ok(true);
    }
    let args = [
        "--porcelain",
        "-z",
        "--untracked-files=all",
        "--ignore-submodules=all",
    ];
    Ok(Git::at_top(top).cmd("status", args).fields().await?.is_empty())
}

/// Removes one: the work tree, whose ignored files go to the trash of the loop, and the branch. Returns why it stays, if it
/// does.
pub async fn remove(context: &Context<'_>, unneeded: &Unneeded) -> Result<Option<&'static str>, Error> {
    let store = Store::new(&context.repo.common_dir, &unneeded.change);
    let _lock = store.lock()?;
    let git = &context.repo.git;
    let name = unneeded.change.branch_ref();
    let tip = oid_of(&git.refs(&[&name]).await?, &name);
    if store.load_live()?.is_some() {
        return Ok(Some("its loop is active"));
    }
    let Some(old) = tip else {
        return Ok(Some("its branch is gone"));
    };
    if !git.is_on_branch(&old, &[], BRANCHES).await? {
        return Ok(Some("its branch has moved"));
    }
    if let Some(top) = &unneeded.worktree {
        let trash = store.file("trash").join(TRASH);
        if let Removal::Stays(why) =
            remove_final(git, &Git::at_top(top), false, (&store.door(), &trash)).await?
        {
            return Ok(Some(why));
        }
    }
    let delete = Update::Delete { name, old };
    git.update_refs(&[delete], "ralph: prune --worktrees").await?;
    Ok(None)
}
