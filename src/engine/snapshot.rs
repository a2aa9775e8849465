//! The snapshot of what the user has when a loop begins, as commits that refs keep (contract section 4,
//! hazards 2.2). With the work tree as its tree, HEAD and what was staged as its parents, it has the shape
//! of a stash.

use super::Engine;
use crate::error::Error;
use crate::git::Head;
use crate::names::{Change, Oid};

/// The two commits below the snapshot: HEAD (or one in its place), and what was staged. With the work tree
/// as its tree, the snapshot has the shape of a stash.
pub(super) async fn staged_commit(engine: &Engine<'_>, staged: &Oid) -> Result<(Oid, Oid), Error> {
    let git = &engine.repo.git;
    let head = match &engine.head.oid {
        Some(head) => head.clone(),
        None => {
            let empty = git.empty_tree().await?;
            git.commit_tree(&empty, &[], "no commit yet").await?
        }
    };
    let index = git.commit_tree(staged, &[&head], "what was staged").await?;
    Ok((head, index))
}

/// The commit that keeps what was named when the loop began, with the index file itself as its tree.
pub(super) async fn anchor(engine: &Engine<'_>, has_index: bool, tips: &[Oid]) -> Result<Oid, Error> {
    let git = &engine.repo.git;
    let tree = if has_index {
        git.store_file(&engine.repo.index(), "index").await?
    } else {
        git.empty_tree().await?
    };
    Ok(git.anchor(&tree, tips).await?)
}

pub(super) fn snapshot_message(engine: &Engine<'_>, change: &Change) -> String {
    let Head { branch, oid } = &engine.head;
    format!(
        "before the loop {change}\n\noriginal-branch: {}\noriginal-head: {}\n",
        branch.as_deref().unwrap_or("(detached)"),
        oid.as_ref().map_or("(none)", Oid::as_str),
    )
}
