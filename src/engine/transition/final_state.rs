//! The final state of a loop: its present work tree, the commit that keeps it, and its merge into another state.

use crate::engine::Loop;
use crate::engine::repository_refusal::RepositoryRefusal;
use crate::engine::steps::finish_refusal::FinishRefusal;
use crate::error::Error;
use crate::git::Repo;
use crate::git::worktree::Count;
use crate::names::Oid;
use crate::paths::shown;

/// The message of that commit.
pub(crate) const FINAL: &str = "final state";

/// Reads the present work tree into a tree; the working index then describes the tree. One scan.
pub(crate) async fn work_tree_now(open: &Loop<'_>) -> Result<Oid, Error> {
    let checkpoint = open.checkpoint();
    if checkpoint.is_as_left().await? {
        checkpoint.working_index().await?;
        return Ok(checkpoint.tree);
    }
    Ok(checkpoint.read(Count::Nothing).await?.tree)
}

/// Makes the commit that keeps the final state of the loop: its tip, or a commit on top of it with later work.
pub(crate) async fn final_state(open: &Loop<'_>, tip: &Oid, tree: &Oid, message: &str) -> Result<Oid, Error> {
    let of_tip = if tip == open.state.checkpoint() {
        open.state.checkpoint_tree().clone()
    } else {
        open.repo().git.tree_of(tip).await?
    };
    if of_tip == *tree {
        return Ok(tip.clone());
    }
    Ok(open.repo().commit_tree(tree, &[tip], message).await?)
}

/// Merges the work of the loop, in the object database: the trees of its beginning, of the target, and of the work.
/// `present` is the tree of the present files. The names are those of the target and of the files to write.
pub(crate) async fn merged(
    open: &Loop<'_>,
    repo: &Repo,
    trees: [&Oid; 3],
    present: &Oid,
    [branch, of]: [String; 2],
) -> Result<Oid, Error> {
    let text = |paths: Vec<Vec<u8>>| paths.iter().map(|path| shown(path)).collect();
    let merged = repo.merge_trees(trees).await?;
    let merged = merged.map_err(|paths| FinishRefusal::Conflict {
        change: open.change().to_string(),
        branch,
        paths: text(paths),
    })?;
    let in_the_way = repo.in_the_way(&repo.git.diff_trees(present, &merged).await?)?;
    if in_the_way.is_empty() {
        return Ok(merged);
    }
    let paths = text(in_the_way);
    Err(RepositoryRefusal::InTheWay { of, paths }.into())
}
