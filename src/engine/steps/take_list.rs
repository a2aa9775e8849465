//! `list --take`: merges an attempt's version of the story list into the list, at the user's request.

use std::path::Path;

use crate::engine::open_refusal::OpenRefusal;
use crate::engine::step_place::require_on_branch;
use crate::engine::stories::{follow_source, read_list};
use crate::engine::story_refusal::StoryRefusal;
use crate::engine::transition::{self, Known};
use crate::engine::{Loop, numbers, refuse_inside_attempt};
use crate::error::Error;
use crate::events::log;
use crate::git::StagedEntry;
use crate::names::Oid;
use crate::state::{Intent, RestorePlan};

/// Merges an attempt's version of the story list into the list of the work tree, as an edit of the user's; the latest
/// attempt at the story if no number is given. No mark of the attempted story is taken: only a checkpoint completes it.
/// Returns false if the list already has all of it.
///
/// # Errors
/// If there is no such attempt, it did not change the list, git does not track the list, or the merge has conflicts;
/// nothing is changed then.
pub async fn take_list(open: &mut Loop<'_>, story: &str, attempt: Option<u32>) -> Result<bool, Error> {
    refuse_inside_attempt()?;
    open.require_live()?;
    require_on_branch(open).await?;
    follow_source(open);
    let (change, repo) = (open.change().clone(), open.repo());
    let word = attempt.map_or_else(|| story.to_owned(), |number| format!("{story}@{number}"));
    let found = versions(open, story, attempt).await?;
    let versions = found.ok_or_else(|| OpenRefusal::of_attempt(&change, word.clone()))?;
    let base = repo.git.tree_of_name(&versions.from).await?;
    let left = repo.git.tree_of_name(&versions.left).await?;
    let list = &open.state.source().path;
    let not_taken = |is_conflict| StoryRefusal::ListNotTaken {
        attempt: word.clone(),
        source_file: list.clone(),
        is_conflict,
        range: (versions.from.clone(), versions.left.clone()),
    };
    let scratch = open.site().file("list.index");
    let is_free = |id: &str| versions.is_alone && id != story;
    let theirs = without_marks(open, [&base, &left], &scratch, is_free).await?;
    // The user needs a list that an attempt has deleted.
    if theirs == base || repo.git.file_of(&theirs, list).await?.is_none() {
        return Err(not_taken(false).into());
    }
    let now = open.read_work_tree().await?.tree;
    let trees = [&base, &now, &theirs];
    let tree = match repo.merge_trees(trees).await? {
        Ok(tree) => Some(tree),
        Err(_) => merged_by_lines(open, trees, &scratch).await?,
    };
    let tree = tree.ok_or_else(|| not_taken(true))?;
    if tree == now {
        return Ok(false);
    }
    let plan = RestorePlan {
        tree,
        trash: String::new(),
        attempt: open.state.here.restored.clone(),
        is_unreviewed: open.state.here.is_unreviewed,
    };
    transition::take(open, Intent::Restore(plan), Known::fresh()).await?;
    read_list(open).await?;
    open.save()?;
    Ok(true)
}

/// The commits whose difference is what an attempt made of the list.
struct Versions {
    from: String,
    left: String,
    /// True if no other attempt was at work: other stories' marks are the user's.
    is_alone: bool,
}

/// Finds the versions of the list before and after an attempt. What was put back beside other attempts has a ref of its
/// own, on the commit where the attempt began.
async fn versions(open: &Loop<'_>, story: &str, attempt: Option<u32>) -> Result<Option<Versions>, Error> {
    let lists = log::lists_of(&open.store.file("events.jsonl"), story, attempt)?;
    let (number, lists) = lists.unwrap_or_default();
    let own = open.change().attempt_ref(story, number);
    let beside = lists.last().filter(|_| !lists.contains(&own));
    if let Some(left) = beside
        && let Some(oid) = open.git().oid_at(left).await?
    {
        return Ok(Some(Versions {
            from: format!("{oid}^"),
            left: oid.to_string(),
            is_alone: true,
        }));
    }
    let range = numbers::range_of(open.git(), &open.store, &open.state, story, attempt, true).await?;
    let Some((from, left)) = range else {
        return Ok(None);
    };
    // Work made beside others is kept on top of what these had completed.
    let below = open.git().tree_of_name(&format!("{left}^")).await?;
    let is_alone = below == open.git().tree_of_name(&from).await?;
    Ok(Some(Versions { from, left, is_alone }))
}

/// Returns the tree `base` with the list of `left`, in which only stories that are `free` have other marks.
async fn without_marks(
    open: &Loop<'_>,
    [base, left]: [&Oid; 2],
    scratch: &Path,
    is_free: impl Fn(&str) -> bool,
) -> Result<Oid, Error> {
    let (repo, source) = (open.repo(), open.state.source());
    let pathspecs = [format!(":(top,literal){}", source.path)];
    let theirs = repo.tree_with_those_of(scratch, [base, left], &pathspecs).await?;
    let was = repo.git.file_of(base, &source.path).await?;
    let is = repo.git.file_of(left, &source.path).await?;
    let kept = was
        .zip(is)
        .and_then(|(was, is)| source.restore_marks(&was, &is, is_free));
    let changes = repo.git.changes_among(base, &theirs, &pathspecs).await?;
    let entry = changes.into_iter().find_map(|change| change.is);
    let (Some(kept), Some(entry)) = (kept, entry) else {
        return Ok(theirs);
    };
    let oid = repo.store_text(&kept.bytes).await?;
    Ok(repo
        .tree_with(scratch, base, &[StagedEntry { oid, ..entry }], &[])
        .await?)
}

/// Merges two trees' changes to the list of the tree `base`, line by line: git treats changes of neighbouring lines as
/// a conflict, and the mark of the attempted story often is next to one.
async fn merged_by_lines(
    open: &Loop<'_>,
    [base, ours, theirs]: [&Oid; 3],
    scratch: &Path,
) -> Result<Option<Oid>, Error> {
    let (repo, list) = (open.repo(), &open.state.source().path);
    let mut lists = Vec::new();
    for tree in [base, ours, theirs] {
        lists.extend(repo.git.file_of(tree, list).await?);
    }
    let pathspec = format!(":(top,literal){list}");
    let changes = repo.git.changes_among(ours, theirs, &[pathspec]).await?;
    let same_kind = changes
        .into_iter()
        .find_map(|change| change.was.zip(change.is))
        .filter(|(was, is)| was.mode == is.mode);
    let ([base, left, right], Some((entry, _))) = (lists.as_slice(), same_kind) else {
        return Ok(None);
    };
    let Some(merged) = merged_lines([base, left, right]) else {
        return Ok(None);
    };
    let oid = repo.store_text(&merged).await?;
    let entries = [StagedEntry { oid, ..entry }];
    Ok(Some(repo.tree_with(scratch, ours, &entries, &[]).await?))
}

/// Merges two texts' changes to a common one, line by line, if all have the same number of lines and no line was
/// changed in two ways.
fn merged_lines(texts: [&[u8]; 3]) -> Option<Vec<u8>> {
    let [base, ours, theirs] =
        texts.map(|text| text.split_inclusive(|byte| *byte == b'\n').collect::<Vec<_>>());
    if ours.len() != base.len() || theirs.len() != base.len() {
        return None;
    }
    let lines = base.iter().zip(ours).zip(theirs);
    lines
        .map(|((base, ours), theirs)| match () {
            () if *base == theirs || ours == theirs => Some(ours),
            () if *base == ours => Some(theirs),
            () => None,
        })
        .collect::<Option<Vec<_>>>()
        .map(|lines| lines.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_merged_where_only_one_side_changed_each() {
        let merged = |texts: [&str; 3]| {
            let merged = merged_lines(texts.map(str::as_bytes))?;
            Some(String::from_utf8(merged).unwrap())
        };
        for (texts, expected) in [
            (["a\nb\nc", "A\nb\nc", "a\nB\nC"], Some("A\nB\nC")),
            (["a\nb\n", "A\nb\n", "A\nB\n"], Some("A\nB\n")),
            (["a\n", "A\n", "b\n"], None),
            (["a\n", "a\nb\n", "A\n"], None),
            (["a\nb\n", "a\nb\n", "b\n"], None),
        ] {
            assert_eq!(merged(texts).as_deref(), expected, "{texts:?}");
        }
    }
}
