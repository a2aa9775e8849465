//! Finds work trees and branches left by finished loops, as after `finish --keep`, whose content also exists in another
//! place; removes them.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::engine::Context;
use crate::engine::work_tree_removal::{Removal, TRASH, is_as_committed, remove_final};
use crate::error::Error;
use crate::fs::{may_exist, read_if_there};
use crate::git::{Git, RefInfo, RepoLayout, WorkTreeInfo, discover, oid_of, operations_in_progress};
use crate::names::{Change, short_branch};
use crate::refs::Update;
use crate::state::{State, Store, changes};

/// The branches of loops, as a git pattern.
const BRANCHES: &str = "ralph/";

/// A branch of a finished loop that another branch contains, and its work tree.
#[derive(Clone, Debug, Serialize)]
pub struct Unneeded {
    /// The change of the loop.
    pub change: Change,
    /// The branch, in short.
    pub branch: String,
    /// The work tree that has it checked out.
    pub worktree: Option<PathBuf>,
    /// What else the work tree has, for which both stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stays: Option<&'static str>,
}

/// Finds the unneeded branches of one finished loop, or of all.
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
    if is_in_use(trees, &name) || !git.is_on_branch(&tip, &[], BRANCHES).await? {
        return Ok(None);
    }
    let (mut worktree, mut stays) = (None, None);
    if let Some(tree) = trees.iter().find(|tree| tree.branch.as_ref() == Some(&name)) {
        let is_own = state.own_work_tree().as_ref() == Some(&tree.top) && tree.locked.is_none();
        if !is_own || tree.top == context.repo.top {
            return Ok(None);
        }
        stays = has_more(&tree.top).await?;
        worktree = Some(tree.top.clone());
    }
    Ok(Some(Unneeded {
        change: state.change.clone(),
        branch: short_branch(&name).to_owned(),
        worktree,
        stays,
    }))
}

/// Files of an operation in a work tree that name the branch it is about (git-rebase(1), git-bisect(1)).
const ABOUT: [&str; 3] = ["rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"];
/// Directories of refs that a work tree has for itself (gitglossary(7), "per-worktree ref").
const OWN_REFS: [&str; 3] = ["refs/worktree", "refs/bisect", "refs/rewritten"];

/// Returns whether an operation in any of these work trees is about a branch.
fn is_in_use(trees: &[WorkTreeInfo], branch: &str) -> bool {
    let dirs = trees
        .iter()
        .filter_map(|tree| RepoLayout::of_work_tree(&tree.top));
    let mut files = dirs.flat_map(|layout| ABOUT.map(|file| layout.git_dir.join(file)));
    files.any(|file| match read_if_there(&file) {
        Ok(None) => false,
        Ok(Some(text)) => {
            let named = text.trim_ascii();
            named == branch.as_bytes() || named == short_branch(branch).as_bytes()
        }
        Err(_) => true,
    })
}

/// Returns what a work tree has that is not in its commit: a file, an operation, a ref of its own, a clone of a submodule. One that is
/// not there may be on a disk that is not.
async fn has_more(top: &Path) -> Result<Option<&'static str>, Error> {
    let Ok((repo, _)) = discover(top).await else {
        return Ok(Some("git cannot read its work tree"));
    };
    let has = |dir: &str| may_exist(&repo.git_dir.join(dir));
    Ok(if has("modules") {
        Some("its work tree has clones of submodules")
    } else if OWN_REFS.into_iter().any(has) || repo.layout().has_hidden_refs() {
        Some("its work tree has refs of its own")
    } else if !operations_in_progress(&repo).await?.is_empty() {
        Some("an operation of git's is in progress in its work tree")
    } else if !is_as_committed(top).await? {
        Some("its work tree has files that are not as committed")
    } else {
        None
    })
}

/// Removes the work tree, whose ignored files go to the trash of the loop, and the branch. Returns why the branch
/// stays, if it does.
pub async fn remove(context: &Context<'_>, unneeded: &Unneeded) -> Result<Option<&'static str>, Error> {
    let store = Store::new(&context.repo.common_dir, &unneeded.change);
    let _lock = store.lock()?;
    let git = &context.repo.git;
    let name = unneeded.change.branch_ref();
    let tip = git.oid_at(&name).await?;
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
        if let Some(why) = has_more(top).await? {
            return Ok(Some(why));
        }
        let trash = store.file("trash").join(TRASH);
        let (own, door) = (Git::at_top(top), store.door());
        if let Removal::Stays(why) = remove_final(git, &own, (true, false), (&door, &trash)).await? {
            return Ok(Some(why));
        }
    }
    let delete = Update::Delete { name, old };
    git.update_refs(&[delete], "ralph: prune --worktrees").await?;
    Ok(None)
}
