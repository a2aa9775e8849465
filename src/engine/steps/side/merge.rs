//! Merges the work of a side with the last checkpoint.

use super::Made;
use crate::engine::Loop;
use crate::error::Error;
use crate::git::StagedEntry;
use crate::names::Oid;
use crate::settings::ListEdits;
use crate::stories::{Additions, Story};

/// Returns the last checkpoint's tree with the attempt's changes; the inner error has the paths that both have changed.
/// The story list keeps the marks of the checkpoint, and gets the attempt's allowed additions.
pub(super) async fn merged(
    open: &Loop<'_>,
    (made, story): (&Made, &Story),
    theirs: &Oid,
) -> Result<Result<Oid, Vec<Vec<u8>>>, Error> {
    let (repo, git, tip) = (open.repo(), open.git(), open.state.checkpoint_tree());
    let base = git.tree_of(&made.base).await?;
    if base == *tip {
        return Ok(Ok(theirs.clone()));
    }
    let path = &open.state.source().path;
    let list = [format!(":(top,literal){path}")];
    let scratch = open.site().file("merge.index");
    let base = repo.tree_with_those_of(&scratch, [&base, tip], &list).await?;
    let without_list = repo.tree_with_those_of(&scratch, [theirs, tip], &list).await?;
    let tree = if base == *tip {
        without_list
    } else {
        match repo.merge_trees([&base, tip, &without_list]).await? {
            Ok(tree) => tree,
            Err(paths) => return Ok(Err(paths)),
        }
    };
    let Some(before) = git.file_of(tip, path).await? else {
        return Ok(Ok(tree));
    };
    let lists = [
        git.file_of(&made.base, path).await?,
        git.file_of(theirs, path).await?,
    ];
    let Some(kept) = with_additions(open, story, &before, lists).await? else {
        return Ok(Err(vec![path.clone().into_bytes()]));
    };
    let entry = git.changes_among(&repo.empty_tree().await?, tip, &list).await?;
    let entry = entry.into_iter().find_map(|change| change.is);
    match entry.filter(|_| kept != before) {
        None => Ok(Ok(tree)),
        Some(entry) => {
            let oid = repo.store_text(&kept).await?;
            let entries = [StagedEntry { oid, ..entry }];
            Ok(Ok(repo.tree_with(&scratch, &tree, &entries, &[]).await?))
        }
    }
}

/// Returns the list of the checkpoint with the additions of the attempt at this story since it began; `None` if the two
/// cannot be combined.
async fn with_additions(
    open: &Loop<'_>,
    story: &Story,
    tip: &[u8],
    [base, theirs]: [Option<Vec<u8>>; 2],
) -> Result<Option<Vec<u8>>, Error> {
    let source = open.state.source();
    let additions = match open.settings().list_edits {
        ListEdits::None => Additions::ArePutBack,
        ListEdits::Allow | ListEdits::Additions => Additions::Stay,
    };
    let (Some(base), Some(theirs)) = (base, theirs) else {
        return Ok(Some(tip.to_vec()));
    };
    let kept = source.settle(&base, Ok(&theirs), &story.id, additions);
    if kept.put_back.is_some() && open.settings().list_edits == ListEdits::Allow {
        // Other edits are allowed only if nothing else was changed.
        return Ok(None);
    }
    let kept = kept.bytes;
    // Its marks count if the agent makes them.
    let tip_with_marks = || {
        let marked = source.restore_marks(&kept, tip, |id| id != story.id);
        marked.map_or_else(|| tip.to_vec(), |marked| marked.bytes)
    };
    let (Some((base_marked, _)), Some((marked, _))) =
        (source.with_mark(&base, story)?, source.with_mark(tip, story)?)
    else {
        return Ok(None);
    };
    if base_marked == kept {
        return Ok(Some(tip_with_marks()));
    }
    let is_settled = |merged: &[u8]| {
        let settled = source.settle(&marked, Ok(merged), &story.id, additions);
        settled.put_back.is_none()
    };
    let merged = open.repo().merge_texts([&marked, &base_marked, &kept]).await?;
    if is_settled(&merged) {
        return Ok(Some(merged));
    }
    // Lines that both added at one place do not form valid JSON together.
    let with_new = [&marked, &base_marked].map(|list| source.with_new_of(list, &base_marked, &kept));
    if let [Some(with_new), Some(alone)] = with_new
        && source.is_same(&alone, &kept)
        && is_settled(&with_new)
    {
        return Ok(Some(with_new));
    }
    Ok(source.is_same(&base, &kept).then(tip_with_marks))
}
