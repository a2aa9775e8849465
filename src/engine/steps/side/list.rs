//! Holds the loop's list while sides run.

use crate::engine::Loop;
use crate::error::Error;
use crate::git::{StagedEntry, operations_in_progress};
use crate::names::{Oid, typed};
use crate::protect::StoryList;
use crate::refs::KeptRef;
use crate::settings::{ListEdits, Mark};
use crate::stories::Additions;

/// Holds the list in the loop's own work tree from now on: attempts may write to it, but only judged stories are done.
pub fn hold_list(open: &mut Loop<'_>) -> Result<(), Error> {
    if open.held_list.is_some() {
        return Ok(());
    }
    open.held_list = open.site().read_story_list(open.state.source())?;
    open.state.here.holds_list = open.held_list.is_some();
    open.save()
}

/// Restores the list a last time, after all sides. If the user's own work is in its place, a later command restores it.
pub async fn release_list(open: &mut Loop<'_>) -> Result<(), Error> {
    if !put_list_back(open).await? {
        return Ok(());
    }
    open.held_list = None;
    open.state.here.holds_list = false;
    open.save()
}

/// Returns the list that a killed run held, if the checkpoint has it.
pub(crate) async fn left_list(open: &Loop<'_>) -> Result<Option<StoryList>, Error> {
    if !(open.state.here.holds_list && open.state.is_live()) {
        return Ok(None);
    }
    let (site, source) = (open.site(), open.state.source());
    Ok(match list_entry(open).await? {
        Some(entry) if entry.mode == "120000" => site.read_story_list(source)?,
        // The file may be gone or replaced. Its content is read from the checkpoint.
        Some(_) => Some(StoryList::with(Vec::new(), source)),
        None => None,
    })
}

/// Undoes changes to the list since the last checkpoint, except additions; keeps the changed list. Returns `false` if
/// another branch is checked out, or a git operation is in progress: the present list is then the user's.
pub(super) async fn put_list_back(open: &Loop<'_>) -> Result<bool, Error> {
    if !open.state.is_branch_of(&open.position().await?.head)
        || !operations_in_progress(open.repo()).await?.is_empty()
    {
        return Ok(false);
    }
    let source = open.state.source().clone();
    let before = match &open.held_list {
        Some(_) => open.git().file_of(open.state.checkpoint(), &source.path).await?,
        None => None,
    };
    let (Some(mut held), Some(bytes)) = (open.held_list.clone(), before) else {
        return Ok(true);
    };
    held.bytes = bytes;
    let now = held.bytes_after(open.site(), &source)?;
    let seen = now.as_deref().map_err(String::as_str);
    let Some((bytes, what)) = settled(open, &held.bytes, seen, "") else {
        return Ok(true);
    };
    let (message, list) = ("a story list that changed while attempts ran", &source.path);
    let tree = open.read_work_tree().await?.tree;
    let commit = open.commit_on_checkpoint(&tree, message).await?;
    let name = open.change().ralph_ref(&format!("replaced/{}", commit.short()));
    let refs = open
        .keep_refs(&[KeptRef::new(name, commit)], &format!("ralph: {message}"))
        .await?;
    held.write(open.site(), &source, &bytes)?;
    open.view.drop_all();
    let names: Vec<_> = refs.iter().map(|kept| typed(&kept.name)).collect();
    open.tell(format!(
        "{list}: put back, because attempts ran since the last checkpoint: {what} (kept: git show {})",
        names.join(" ")
    ));
    Ok(true)
}

/// Returns the list that must replace the one `seen`, and a description of the undone changes; `None` if the list is
/// allowed. `story` may have changed as an attempt at it may change it.
fn settled(
    open: &Loop<'_>,
    before: &[u8],
    seen: Result<&[u8], &str>,
    story: &str,
) -> Option<(Vec<u8>, String)> {
    let source = open.state.source();
    let kept = match (open.settings().list_edits, seen) {
        (ListEdits::Allow, Ok(seen)) => source.restore_marks(before, seen, |id| id == story)?,
        (ListEdits::None, _) => source.settle(before, seen, story, Additions::ArePutBack),
        _ => source.settle(before, seen, story, Additions::Stay),
    };
    kept.put_back.map(|what| (kept.bytes, what))
}

/// Returns the tree of a checkpoint with its list as an attempt at `story` may leave it, if the list is held: another
/// attempt may have changed it since it was restored. The index gets the list, too.
pub(crate) async fn with_held_list(open: &Loop<'_>, tree: Oid, story: Option<&str>) -> Result<Oid, Error> {
    let (source, git) = (open.state.source(), open.git());
    if open.held_list.is_none() {
        return Ok(tree);
    }
    let before = git.file_of(open.state.checkpoint(), &source.path).await?;
    let now = git.file_of(&tree, &source.path).await?;
    let Some(before) = before else {
        return Ok(tree);
    };
    let seen = now.as_deref().ok_or("it was gone");
    let Some((mut bytes, _)) = settled(open, &before, seen, story.unwrap_or_default()) else {
        return Ok(tree);
    };
    if open.settings().mark == Mark::Auto
        && let Some(story) = source
            .list_in(&before)?
            .stories
            .iter()
            .find(|one| Some(&*one.id) == story)
        && let Some((marked, _)) = source.with_mark(&bytes, story)?
    {
        bytes = marked;
    }
    // The file may be missing, or replaced by a symlink.
    let Some(entry) = list_entry(open).await? else {
        return Ok(tree);
    };
    let repo = open.repo();
    let oid = repo.store_text(&bytes).await?;
    let entries = [StagedEntry { oid, ..entry }];
    repo.set_entries(&repo.index(), &entries).await?;
    let scratch = open.site().file("merge.index");
    Ok(repo.tree_with(&scratch, &tree, &entries, &[]).await?)
}

/// Returns the entry of the list in the last checkpoint, if it has one.
async fn list_entry(open: &Loop<'_>) -> Result<Option<StagedEntry>, Error> {
    let list = [format!(":(top,literal){}", open.state.source().path)];
    let (empty, tree) = (open.repo().empty_tree().await?, open.state.checkpoint_tree());
    let found = open.git().changes_among(&empty, tree, &list).await?;
    Ok(found.into_iter().find_map(|change| change.is))
}
