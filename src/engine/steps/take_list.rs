//! `list --take`: merges an attempt's version of the story list into the list, at the user's request.

use std::path::Path;

use crate::engine::open_refusal::OpenRefusal;
use crate::engine::step_place::require_on_branch;
use crate::engine::stories::{follow_source, read_list};
use crate::engine::story_refusal::StoryRefusal;
use crate::engine::transition::{self, Known};
use crate::engine::{Loop, numbers, refuse_inside_attempt};
use crate::error::Error;
use crate::git::StagedEntry;
use crate::names::Oid;
use crate::state::{Intent, RestorePlan};

/// Merges an attempt's version of the story list into the list of the work tree, as an edit of the user's; the latest
/// attempt at the story if no number is given.
///
/// # Errors
/// If there is no such attempt, it did not change the list, git does not track the list, or the merge has conflicts;
/// nothing is changed then.
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
