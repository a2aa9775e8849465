//! Saves the state before an attempt as a stash entry, for a loop that leaves HEAD in its place.

use std::collections::HashSet;

use super::start_refusal::StartRefusal;
use crate::engine::Loop;
use crate::engine::stash::message;
use crate::error::Error;
use crate::git::{StagedEntry, added_in};
use crate::names::Oid;
use crate::paths::first_few;
use crate::state::{SavePlan, SavePoint};

/// Makes the plan to store the state before an attempt at a story, and its entry unless it exists. Returns `None` for a
/// loop without entries.
pub(crate) async fn plan(open: &Loop<'_>, story: &str) -> Result<Option<SavePlan>, Error> {
    if open.state.has_branch() {
        return Ok(None);
    }
    let staged = staged_now(open).await?;
    let head = open.state.loop_head().oid;
    let mut points = open.state.here.save_points.iter();
    let known = points.find(|point| point.story == story);
    let is_same = |point: &SavePoint| {
        point.tree == open.state.common.checkpoint_tree
            && point.staged == staged
            && Some(&point.head) == head.as_ref()
    };
    let old = known.cloned();
    let point = match (known, &head) {
        (Some(known), _) if is_same(known) => known.clone(),
        (_, Some(head)) => SavePoint {
            story: story.to_owned(),
            entry: shape(open, story, &staged, head).await?,
            tree: open.state.checkpoint_tree().clone(),
            staged: staged.clone(),
            head: head.clone(),
        },
        (_, None) => return Ok(None),
    };
    Ok(Some(SavePlan {
        old: old.filter(|old| old.entry != point.entry).map(|old| old.entry),
        point,
    }))
}

/// Writes the tree of the user's staged content.
async fn staged_now(open: &Loop<'_>) -> Result<Oid, Error> {
    let repo = open.repo().with_users_index();
    let scratch = open.site().file("stash.index");
    let head = open.state.loop_head().oid;
    let made = repo.private_index(&scratch, head.as_ref()).await?;
    if !made.entries.unmerged.is_empty() {
        let mut unmerged = made.entries.unmerged;
        unmerged.dedup();
        return Err(StartRefusal::Unmerged(first_few(&unmerged)).into());
    }
    let staged = match repo.held_tree(&scratch) {
        Some(staged) => staged,
        None => repo.git.write_tree(&scratch).await?,
    };
    repo.discard_index(&scratch)?;
    Ok(staged)
}

/// Makes the commit of an entry: the tracked files of the checkpoint, with HEAD, the staged content and the untracked
/// files as its parents.
async fn shape(open: &Loop<'_>, story: &str, staged: &Oid, head: &Oid) -> Result<Oid, Error> {
    let (repo, tree) = (open.repo(), open.state.checkpoint_tree());
    let git = &repo.git;
    let base = git.tree_of(head).await?;
    let changes = git.diff_trees(staged, tree).await?;
    let mut untracked: HashSet<&Vec<u8>> = added_in(&changes).collect();
    if base != *staged && !untracked.is_empty() {
        let new = git.diff_trees(&base, tree).await?;
        let new: HashSet<&Vec<u8>> = added_in(&new).collect();
        untracked.retain(|path| new.contains(path));
    }
    let message = message(open, story);
    let on = format!("{}: {}", open.state.common.branch, head.short());
    let index = repo
        .commit_tree(staged, &[head], &format!("index on {on}"))
        .await?;
    if untracked.is_empty() {
        return Ok(repo.commit_tree(tree, &[head, &index], &message).await?);
    }
    let mut files = git.staged_between(staged, tree).await?;
    files.retain(|entry| untracked.contains(&entry.path));
    let none: Vec<StagedEntry> = files
        .iter()
        .map(|entry| StagedEntry {
            mode: "0".to_owned(),
            oid: entry.oid.clone(),
            path: entry.path.clone(),
        })
        .collect();
    let scratch = open.site().file("stash.index");
    repo.discard_index(&scratch)?;
    git.cmd("read-tree", ["--empty"]).index(&scratch).done().await?;
    repo.set_entries(&scratch, &files).await?;
    let untracked = git.write_tree(&scratch).await?;
    repo.discard_index(&scratch)?;
    git.cmd("read-tree", [tree.as_str()])
        .index(&scratch)
        .done()
        .await?;
    repo.set_entries(&scratch, &none).await?;
    let tracked = git.write_tree(&scratch).await?;
    repo.discard_index(&scratch)?;
    let untracked = repo
        .commit_tree(&untracked, &[], &format!("untracked files on {on}"))
        .await?;
    Ok(repo
        .commit_tree(&tracked, &[head, &index, &untracked], &message)
        .await?)
}
