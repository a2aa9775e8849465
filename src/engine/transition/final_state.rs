//! The final state of a loop: its work tree as it is now, and the commit that keeps it.

use crate::engine::Loop;
use crate::error::Error;
use crate::git::worktree::Count;
use crate::names::Oid;

/// The message of that commit.
pub(crate) const FINAL: &str = "final state";

/// Reads the present work tree into a tree; the working index then describes it. One scan.
pub(crate) async fn work_tree_now(open: &Loop<'_>) -> Result<Oid, Error> {
    let checkpoint = open.checkpoint();
    let site = open.site();
    if checkpoint.is_as_left(site).await? {
        checkpoint.working_index(site, open).await?;
        return Ok(checkpoint.tree);
    }
    Ok(checkpoint.read(site, Count::Nothing, open).await?.tree)
}

/// Makes the commit that keeps the final state of the loop: its tip, or a commit on top of it with later work.
pub(crate) async fn final_state(open: &Loop<'_>, tip: &Oid, tree: &Oid, message: &str) -> Result<Oid, Error> {
    let repo = &open.context.repo;
    let of_tip = if tip == open.state.checkpoint() {
        open.state.checkpoint_tree().clone()
    } else {
        repo.git.tree_of(tip).await?
    };
    if of_tip == *tree {
        return Ok(tip.clone());
    }
    Ok(repo.commit_tree(tree, &[tip], message).await?)
}
