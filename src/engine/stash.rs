//! Stash entries of a loop that leaves HEAD in its place: before an attempt, the state of the work tree is stored as one,
//! in the shape that `git stash -u` gives it, without touching index or work tree.
//!
//! An entry is known by its commit alone, never by its position or message. A ref keeps the commit, so that an entry that
//! somebody dropped can be stored again. A loop without entries is not concerned by anything here.

use std::collections::HashSet;

use super::{Loop, journal};
use crate::engine::steps::start_refusal::StartRefusal;
use crate::error::Error;
use crate::git::{StagedEntry, StashEntry, index};
use crate::names::{Oid, ref_component};
use crate::paths::first_few;
use crate::refs::Update;
use crate::settings::Strategy;
use crate::state::{Intent, SavePlan, SavePoint};

/// Stores the state before an attempt at a story, unless its entry is there already.
pub(crate) async fn save(open: &mut Loop<'_>, story: &str) -> Result<(), Error> {
    if open.state.strategy != Strategy::Stash {
        return Ok(());
    }
    let staged = staged_now(open).await?;
    let head = open.state.loop_head().oid;
    let known = open.state.save_points.iter().find(|point| point.story == story);
    let is_same = |point: &SavePoint| {
        point.tree == open.state.checkpoint_tree
            && point.staged == staged
            && Some(&point.head) == head.as_ref()
    };
    let old = known.cloned();
    let point = match (known, &head) {
        (Some(known), _) if is_same(known) => known.clone(),
        (_, Some(head)) => SavePoint {
            story: story.to_owned(),
            entry: shape(open, story, &staged, head).await?,
            tree: open.state.checkpoint_tree.clone(),
            staged: staged.clone(),
            head: head.clone(),
        },
        (_, None) => return Ok(()),
    };
    let plan = SavePlan {
        old: old.filter(|old| old.entry != point.entry).map(|old| old.entry),
        point,
    };
    journal::begin(open, Intent::Save(plan.clone()))?;
    apply(open, plan).await
}

/// Applies the plan of a save.
pub(crate) async fn apply(open: &mut Loop<'_>, plan: SavePlan) -> Result<(), Error> {
    let SavePlan { point, old } = plan;
    let keep = Update::Set {
        name: kept(open, &point.story),
        new: point.entry.clone(),
    };
    open.view.drop_refs();
    let git = &open.context.repo.git;
    git.update_refs(&[keep], "ralph: the state before an attempt")
        .await?;
    let list = git.stash_list().await?;
    if list.iter().all(|entry| entry.oid != point.entry) {
        git.stash_store(&entry_of(open, &point)).await?;
    }
    if let Some(old) = &old {
        drop_entry(open, old).await?;
    }
    let points = &mut open.state.save_points;
    points.retain(|other| other.story != point.story);
    points.push(point);
    journal::end(open)
}

/// Drops the entry of a story that is complete; the caller saves the state.
pub(crate) async fn drop_of(open: &mut Loop<'_>, story: &str) -> Result<(), Error> {
    let Some(point) = open
        .state
        .save_points
        .iter()
        .find(|point| point.story == story)
        .cloned()
    else {
        return Ok(());
    };
    drop_entry(open, &point.entry).await?;
    let name = kept(open, &point.story);
    open.view.drop_refs();
    let git = &open.context.repo.git;
    let refs = git.refs(&[&name]).await?;
    if let Some(found) = refs.into_iter().find(|found| found.name == name) {
        let delete = Update::Delete { name, old: found.oid };
        git.update_refs(&[delete], "ralph: the story is complete").await?;
    }
    open.state.save_points.retain(|point| point.story != story);
    Ok(())
}

/// Drops all entries of the loop; the caller saves the state.
pub(crate) async fn drop_all(open: &mut Loop<'_>) -> Result<(), Error> {
    let points = open.state.save_points.iter();
    let stories: Vec<String> = points.map(|point| point.story.clone()).collect();
    for story in stories {
        drop_of(open, &story).await?;
    }
    Ok(())
}

/// Stores the loop's entries again that somebody has dropped, and reports them.
pub(crate) async fn keep_listed(open: &mut Loop<'_>) -> Result<(), Error> {
    if open.state.save_points.is_empty() {
        return Ok(());
    }
    let list = open.context.repo.stash().await?;
    let listed: HashSet<&Oid> = list.iter().map(|entry| &entry.oid).collect();
    for point in open.state.save_points.clone() {
        if !listed.contains(&point.entry) {
            let entry = entry_of(open, &point);
            open.view.drop_refs();
            open.context.repo.git.stash_store(&entry).await?;
            open.tell(format!(
                "the stash entry '{}' was gone; it is stored again",
                entry.message
            ));
        }
    }
    Ok(())
}

async fn drop_entry(open: &mut Loop<'_>, oid: &Oid) -> Result<(), Error> {
    open.view.drop_refs();
    for other in open.context.repo.git.stash_drop(oid).await? {
        open.tell(format!(
            "the stash changed in the same moment; the entry '{}' is stored again, as the newest",
            other.message
        ));
    }
    Ok(())
}

/// Returns the ref that keeps the commit of a story's entry.
fn kept(open: &Loop<'_>, story: &str) -> String {
    let story = ref_component(story);
    open.change().ralph_ref(&format!("saved/{story}"))
}

fn entry_of(open: &Loop<'_>, point: &SavePoint) -> StashEntry {
    StashEntry {
        oid: point.entry.clone(),
        message: message(open, &point.story),
    }
}

/// Returns the message of a story's entry, in the form that `git stash push -m` gives it.
fn message(open: &Loop<'_>, story: &str) -> String {
    let on = match &open.state.original_branch {
        Some(branch) => branch.as_str(),
        None => "(no branch)",
    };
    format!("On {on}: ralph:{}:{story}", open.change())
}

/// Writes the tree that the user has staged.
async fn staged_now(open: &Loop<'_>) -> Result<Oid, Error> {
    let repo = open.context.repo.with_users_index();
    let scratch = open.file("stash.index");
    let head = open.state.loop_head().oid;
    let made = repo.private_index(&repo.index(), &scratch, head.as_ref()).await?;
    if !made.entries.unmerged.is_empty() {
        let mut unmerged = made.entries.unmerged;
        unmerged.dedup();
        return Err(StartRefusal::Unmerged(first_few(&unmerged)).into());
    }
    let staged = match repo.held_tree(&scratch) {
        Some(staged) => staged,
        None => repo.git.write_tree(&scratch).await?,
    };
    index::discard(&scratch)?;
    Ok(staged)
}

/// Makes the commit of an entry: the tracked files of the checkpoint, with HEAD, the staged content and the untracked
/// files as its parents.
async fn shape(open: &Loop<'_>, story: &str, staged: &Oid, head: &Oid) -> Result<Oid, Error> {
    let (repo, tree) = (&open.context.repo, &open.state.checkpoint_tree);
    let git = &repo.git;
    let base = git.tree_of(head).await?;
    let added = |changes: Vec<(u8, Vec<u8>)>| -> HashSet<Vec<u8>> {
        let added = changes.into_iter().filter(|(status, _)| *status == b'A');
        added.map(|(_, path)| path).collect()
    };
    let mut untracked = added(git.diff_trees(staged, tree).await?);
    if base != *staged && !untracked.is_empty() {
        let new = added(git.diff_trees(&base, tree).await?);
        untracked.retain(|path| new.contains(path));
    }
    let message = message(open, story);
    let on = format!("{}: {}", open.state.branch, head.short());
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
    let scratch = open.file("stash.index");
    index::discard(&scratch)?;
    git.cmd("read-tree", ["--empty"]).index(&scratch).done().await?;
    repo.set_entries(&scratch, &files).await?;
    let untracked = git.write_tree(&scratch).await?;
    index::discard(&scratch)?;
    git.cmd("read-tree", [tree.as_str()])
        .index(&scratch)
        .done()
        .await?;
    repo.set_entries(&scratch, &none).await?;
    let tracked = git.write_tree(&scratch).await?;
    index::discard(&scratch)?;
    let untracked = repo
        .commit_tree(&untracked, &[], &format!("untracked files on {on}"))
        .await?;
    Ok(repo
        .commit_tree(&tracked, &[head, &index, &untracked], &message)
        .await?)
}
