//! `list --take`: merges what an attempt made of the story list into the list, because the user had made it.

use crate::engine::open_refusal::OpenRefusal;
use crate::engine::step_place::require_on_branch;
use crate::engine::stories::{follow_source, read_list};
use crate::engine::story_refusal::StoryRefusal;
use crate::engine::transition::{self, Known};
use crate::engine::{Loop, numbers, refuse_inside_attempt};
use crate::error::Error;
use crate::state::{Intent, RestorePlan};

/// Merges what an attempt made of the story list into the list of the work tree, as an edit of the user's; the latest attempt
/// at the story if no number is given.
///
/// # Errors
/// If there is no such attempt, it left the list as it was, git does not track the list, or the two cannot be merged; nothing
/// is changed then.
pub async fn take_list(open: &mut Loop<'_>, story: &str, attempt: Option<u32>) -> Result<(), Error> {
    refuse_inside_attempt()?;
    open.require_live()?;
    require_on_branch(open).await?;
    follow_source(open);
    let (change, repo) = (open.change().clone(), open.repo());
    let word = attempt.map_or_else(|| story.to_owned(), |number| format!("{story}@{number}"));
    let found = numbers::range_of(&repo.git, &open.store, &open.state, story, attempt, true).await?;
    let (from, left) = found.ok_or_else(|| OpenRefusal::of_attempt(&change, word.clone()))?;
    let base = repo.git.tree_of_name(&from).await?;
    let left = repo.git.tree_of_name(&left).await?;
    let list = &open.state.source().path;
    let not_taken = |is_conflict| StoryRefusal::ListNotTaken {
        change: change.to_string(),
        attempt: word.clone(),
        source_file: list.clone(),
        is_conflict,
    };
    let (scratch, pathspec) = (open.site().file("list.index"), format!(":(top,literal){list}"));
    let theirs = repo
        .tree_with_those_of(&scratch, [&base, &left], &[pathspec])
        .await?;
    // The user needs the list that an attempt has deleted.
    if theirs == base || repo.git.file_of(&theirs, list).await?.is_none() {
        return Err(not_taken(false).into());
    }
    let now = open.read_work_tree().await?.tree;
    let merged = repo.merge_trees([&base, &now, &theirs]).await?;
    let tree = merged.map_err(|_| not_taken(true))?;
    if tree == now {
        return Ok(());
    }
    let plan = RestorePlan {
        tree,
        trash: String::new(),
        attempt: open.state.here.restored.clone(),
        is_unreviewed: open.state.here.is_unreviewed,
    };
    transition::take(open, Intent::Restore(plan), Known::fresh()).await?;
    read_list(open).await?;
    open.save()
}
