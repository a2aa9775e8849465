//! `restore`: puts a kept attempt's work back into the work tree, so that the user can continue it.

use std::collections::HashSet;

use super::put_away::PutAway;
use crate::engine::Loop;
use crate::engine::numbers::{kept_attempt, range_of};
use crate::engine::open_refusal::OpenRefusal;
use crate::engine::repository_refusal::RepositoryRefusal;
use crate::engine::step_place::{is_at_checkpoint, require_on_branch};
use crate::engine::step_refusal::StepRefusal;
use crate::engine::story_refusal::StoryRefusal;
use crate::engine::transition::{self, Known};
use crate::error::{Error, refuse};
use crate::git::{Git, StagedEntry};
use crate::names::{Oid, ref_component, typed};
use crate::paths::shown;
use crate::state::{Ending, Intent, RestorePlan};

/// Restores the work of an attempt in the work tree; the latest attempt at the story without a number. Index and HEAD
/// stay at the checkpoint. Unreviewed work stays there until a reviewer judges it. Returns the attempt's number.
///
/// # Errors
/// If there is no such attempt, its story is skipped or put off, the work tree is not at the checkpoint, a file is in
/// the way, or a checkpoint since has changed a file of the attempt; nothing is changed then.
pub async fn restore(
    open: &mut Loop<'_>,
    story: &str,
    attempt: Option<u32>,
    is_unreviewed: bool,
) -> Result<u32, Error> {
    let found = kept_attempt(open.git(), open.change(), story, attempt).await?;
    let Some((attempt, kept)) = found else {
        let of_story = open
            .state
            .progress()
            .completed
            .iter()
            .filter(|done| done.id == story);
        let mut accepted = of_story.filter_map(|done| Some(done.work.as_ref()?.attempt));
        let change = open.change().to_string();
        if let Some(attempt) = accepted.find(|number| attempt.is_none_or(|wanted| wanted == *number)) {
            if !open.state.is_live() {
                return Err(over(open, story, attempt, true).await?);
            }
            let story = story.to_owned();
            return refuse(StoryRefusal::InCheckpoint {
                change,
                story,
                attempt,
            });
        }
        let attempt = attempt.map_or_else(|| story.to_owned(), |number| format!("{story}@{number}"));
        return refuse(OpenRefusal::UnknownAttempt { change, attempt });
    };
    if !open.state.is_live() {
        return Err(over(open, story, attempt, false).await?);
    }
    require_on_branch(open).await?;
    if !is_at_checkpoint(open).await? {
        return Err(RepositoryRefusal::NotAtCheckpoint(open.change().to_string()).into());
    }
    if open.state.progress().skipped.iter().any(|id| id == story) {
        return refuse(StoryRefusal::LeftOut {
            change: open.change().to_string(),
            story: story.to_owned(),
        });
    }
    let mut tree = on_checkpoint(open, &kept, &format!("{story}@{attempt}")).await?;
    let repo = open.repo();
    if is_unreviewed {
        // Its marks would show the story as done.
        let list = [format!(":(top,literal){}", open.state.source().path)];
        let scratch = open.site().file("restore.index");
        let trees = [&tree, open.state.checkpoint_tree()];
        tree = repo.tree_with_those_of(&scratch, trees, &list).await?;
    }
    let changes = repo.git.diff_trees(open.state.checkpoint_tree(), &tree).await?;
    let in_the_way = repo.in_the_way(&changes)?;
    if !in_the_way.is_empty() {
        let paths = in_the_way.iter();
        return refuse(RepositoryRefusal::InTheWay {
            of: format!("attempt {story}@{attempt}"),
            paths: paths.map(|path| shown(path)).collect(),
        });
    }
    let plan = RestorePlan {
        tree,
        trash: format!("{}.{attempt}", ref_component(story)),
        attempt: Some(format!("{story}@{attempt}")),
        is_unreviewed,
    };
    let redone = format!("redo.{}", plan.trash);
    let left = [&plan.trash, &redone].map(|name| PutAway::all(open, name));
    let tree = plan.tree.clone();
    transition::take(open, Intent::Restore(plan), Known::fresh()).await?;
    for left in left {
        left.tell(open, &tree).await?;
    }
    Ok(attempt)
}

/// Refuses a finished loop, and says how to get the work of an attempt.
async fn over(open: &Loop<'_>, story: &str, attempt: u32, is_complete: bool) -> Result<Error, Error> {
    let (git, state) = (open.git(), &open.state);
    let range = range_of(git, &open.store, state, story, Some(attempt), true).await?;
    let mut refusal = StepRefusal::of_end(state);
    let (Some((from, to)), StepRefusal::LoopFinished { work, .. }) = (range, &mut refusal) else {
        return Ok(refusal.into());
    };
    let (name, is_undone) = (
        format!("{story}@{attempt}"),
        state.here.closed == Some(Ending::Abort),
    );
    let (change, head) = (typed(&state.change), &open.context.head.oid);
    let present = head.as_ref().filter(|_| is_undone).unwrap_or(state.checkpoint());
    *work = if is_complete && !is_undone {
        format!(
            "the loop's end kept the work of {name}; to see it: git ralph diff {change} {}",
            typed(&name)
        )
    } else if applies(git, &from, &to, present).await? {
        let (from, to) = (typed(&from), typed(&to));
        format!(
            "to apply {name} yourself: git diff-tree -p --binary {from} {to} | git apply --whitespace=nowarn"
        )
    } else {
        let branch = format!("{}-{}-{attempt}", state.change, ref_component(story));
        format!(
            "{name} began on other files than these; to have it on a branch: git branch {} {}",
            typed(branch),
            typed(&to)
        )
    };
    Ok(refusal.into())
}

/// Returns whether the files that differ between two commits are in a third one as in the first.
async fn applies(git: &Git, from: &str, to: &str, present: &Oid) -> Result<bool, Error> {
    let (from, to) = (git.tree_of_name(from).await?, git.tree_of_name(to).await?);
    let work = git.diff_trees(&from, &to).await?;
    let since = git.diff_trees(&from, &git.tree_of(present).await?).await?;
    let paths: HashSet<&[u8]> = work.iter().map(|(_, path)| path.as_slice()).collect();
    Ok(since.iter().all(|(_, path)| !paths.contains(path.as_slice())))
}

/// Returns the tree of an attempt. The changes of one that began at an earlier checkpoint are applied to the present
/// one, whose story list stays.
async fn on_checkpoint(open: &Loop<'_>, kept: &Oid, attempt: &str) -> Result<Oid, Error> {
    let (repo, state) = (open.repo(), &open.state);
    let git = &repo.git;
    let tree = git.tree_of(kept).await?;
    let base = git.merge_base(kept, state.checkpoint()).await?;
    let Some(base) = base.filter(|base| base != state.checkpoint()) else {
        return Ok(tree);
    };
    let base = git.tree_of(&base).await?;
    let mut theirs = git.changes_among(&base, &tree, &[]).await?;
    let ours = git.changes_among(&base, state.checkpoint_tree(), &[]).await?;
    let list = state.source().path.as_bytes();
    let is_same = |one: &Option<StagedEntry>, other: &Option<StagedEntry>| {
        let content = |entry: &StagedEntry| (entry.mode.clone(), entry.oid.clone());
        one.as_ref().map(content) == other.as_ref().map(content)
    };
    theirs.retain(|their| {
        let is_there = ours
            .iter()
            .any(|our| our.path == their.path && is_same(&our.is, &their.is));
        their.path != list && !is_there
    });
    let is_below =
        |path: &[u8], dir: &[u8]| path.strip_prefix(dir).is_some_and(|rest| rest.starts_with(b"/"));
    let meets = |path: &[u8]| {
        let mut ours = ours.iter().map(|our| our.path.as_slice());
        ours.any(|our| our == path || is_below(our, path) || is_below(path, our))
    };
    let paths: Vec<String> = theirs
        .iter()
        .filter(|their| meets(&their.path))
        .map(|their| shown(&their.path))
        .collect();
    if !paths.is_empty() {
        return refuse(RepositoryRefusal::ChangedSince {
            attempt: attempt.to_owned(),
            paths,
            from: base.short().to_owned(),
            to: tree.short().to_owned(),
        });
    }
    let scratch = open.site().file("restore.index");
    Ok(repo
        .tree_changed(&scratch, state.checkpoint_tree(), theirs)
        .await?)
}
