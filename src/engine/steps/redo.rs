//! `redo`: goes back to the checkpoint before a completed story, so that the loop does it again.

use super::put_away::PutAway;
use crate::engine::open_loop::advance;
use crate::engine::position::refuse_operation;
use crate::engine::repository_refusal::RepositoryRefusal;
use crate::engine::step_place::{is_at_checkpoint, require_on_branch};
use crate::engine::stories::{read_list, remembering};
use crate::engine::story_refusal::StoryRefusal;
use crate::engine::transition::{self, Known};
use crate::engine::{Loop, refuse_inside_attempt, users_head};
use crate::error::{Error, refuse};
use crate::git::oid_of;
use crate::names::Oid;
use crate::paths::shown;
use crate::refs::KeptRef;
use crate::state::{Accepted, ApprovedRange, Completed, Intent, RedoPlan, Redone, State, Undone, Verdict};

/// A completed story with its checkpoint.
type Made<'s> = (&'s Completed, &'s Accepted);

/// Undoes a completed story and all stories completed after it; the user's own edits since stay. The next attempt is at
/// this story, and its prompt has `words`.
///
/// # Errors
/// If the story has no checkpoint in this loop, later stories have one and `with_later` is false, the work tree is not
/// at the last checkpoint, an edit does not apply to the earlier files, a submodule was moved since, or the list would
/// still show the story as done; nothing is changed then.
pub async fn redo(
    open: &mut Loop<'_>,
    story: &str,
    words: Option<String>,
    with_later: bool,
) -> Result<(), Error> {
    refuse_inside_attempt()?;
    open.require_live()?;
    refuse_operation(open.repo()).await?;
    users_head::follow(open).await?;
    let position = require_on_branch(open).await?;
    let completed = open.state.progress().completed.clone();
    let made = since(open, &completed, story).await?;
    let mut later: Vec<String> = made.iter().skip(1).map(|(done, _)| done.id.clone()).collect();
    later.dedup();
    if !later.is_empty() && !with_later {
        return refuse(StoryRefusal::BuiltOn {
            change: open.change().to_string(),
            story: story.to_owned(),
            words,
            later,
        });
    }
    let has_commits = position.tip.as_ref() != Some(open.state.checkpoint());
    if has_commits || !is_at_checkpoint(open).await? {
        return refuse(RepositoryRefusal::EditsSince {
            change: open.change().to_string(),
            can_stash: open.state.has_branch() && !has_commits,
        });
    }
    let from = open.state.checkpoint().clone();
    refuse_moved_submodule(open, story, &made[0].1.from).await?;
    let next = before(open, &made, words).await?;
    require_open(open, &next, story).await?;
    let mut plan = RedoPlan {
        undone: Vec::new(),
        attempts: Vec::new(),
        kept: vec![KeptRef::new(
            open.change().ralph_ref(&format!("replaced/{}", from.short())),
            from.clone(),
        )],
        from: from.clone(),
    };
    let attempts = open.change().ralph_ref("attempts");
    let there = open.git().refs(&[&attempts]).await?;
    for (done, work) in &made {
        let kept = keep(open, &done.id, work, &next).await?;
        plan.undone.push(Undone {
            story: done.id.clone(),
            attempt: work.attempt,
            oid: work.to.clone(),
            kept: kept.name.clone(),
        });
        let other = oid_of(&there, &kept.name).filter(|oid| *oid != kept.oid);
        plan.kept
            .extend(other.map(|oid| KeptRef::beside(&kept.name, &oid)));
        plan.attempts.push(kept);
    }
    open.state = next;
    let put_away = PutAway::before(open, &plan.trash())?;
    transition::take(open, Intent::Redo(plan), Known::fresh()).await?;
    let listing = read_list(open).await?;
    open.save()?;
    if listing.find(story).is_some_and(|one| one.done) {
        let list = &open.state.source().path;
        open.tell(format!(
            "{list} still lists story {story} as done: mark it as open there"
        ));
    }
    put_away.tell(open, &from).await
}

/// Returns the stories completed since the last completion of `story`, which is the first of them.
async fn since<'s>(open: &Loop<'_>, completed: &'s [Completed], story: &str) -> Result<Vec<Made<'s>>, Error> {
    let first = completed.iter().rposition(|done| done.id == story);
    let made = first.map_or(&[][..], |first| &completed[first..]);
    let known: Option<Vec<Made<'s>>> = made
        .iter()
        .map(|done| Some((done, done.work.as_ref()?)))
        .collect();
    let known = known.unwrap_or_default();
    let git = open.git();
    let mut is_line = !known.is_empty();
    for (_, work) in &known {
        // Another machine may have written the state.
        is_line = is_line
            && git.is_ancestor(&work.from, &work.to).await?
            && git.is_ancestor(&work.to, open.state.checkpoint()).await?;
    }
    if !is_line || !git.is_ancestor(open.state.initial(), &known[0].1.from).await? {
        return refuse(StoryRefusal::NoCheckpoint {
            change: open.change().to_string(),
            story: story.to_owned(),
        });
    }
    Ok(known)
}

/// Refuses to undo a move of a submodule: only its checkout before the last attempt is known.
async fn refuse_moved_submodule(open: &Loop<'_>, story: &str, target: &Oid) -> Result<(), Error> {
    let git = open.git();
    let target = git.tree_of(target).await?;
    let changes = git
        .changes_among(&target, open.state.checkpoint_tree(), &[])
        .await?;
    let moved = changes.iter().find(|change| change.is_of_submodule());
    match moved {
        Some(change) => refuse(RepositoryRefusal::SubmoduleMoved {
            story: story.to_owned(),
            path: shown(&change.path),
        }),
        None => Ok(()),
    }
}

/// Makes the commit that keeps the work of a story. It has the earlier list: restoring it completes the story.
async fn keep(open: &Loop<'_>, story: &str, work: &Accepted, next: &State) -> Result<KeptRef, Error> {
    let repo = open.repo();
    // The list may have been archived since.
    let lists = [open.state.source(), next.source()];
    let lists = lists.map(|source| format!(":(top,literal){}", source.path));
    let scratch = open.site().file("redo.index");
    let tree = repo.git.tree_of(&work.to).await?;
    let from = repo.git.tree_of(&work.from).await?;
    let tree = repo.tree_with_those_of(&scratch, [&tree, &from], &lists).await?;
    let message = format!("attempt {} at {story}: {}", work.attempt, Verdict::Redone);
    Ok(KeptRef::new(
        open.change().attempt_ref(story, work.attempt),
        repo.commit_tree(&tree, &[&work.from], &message).await?,
    ))
}

/// Returns the state before these stories, with the user's own edits since applied to it.
async fn before(open: &Loop<'_>, made: &[Made<'_>], words: Option<String>) -> Result<State, Error> {
    let repo = open.repo();
    let mut state = open.state.clone();
    let common = &mut state.common;
    let last = std::mem::replace(&mut common.checkpoint, made[0].1.from.clone());
    common.checkpoint_tree = repo.git.tree_of(&common.checkpoint).await?;
    let starts = made.iter().skip(1).map(|(_, work)| &work.from).chain([&last]);
    let edits: Vec<(&Oid, &Oid)> = made.iter().map(|(_, work)| &work.to).zip(starts).collect();
    let approved = common.approved.clone();
    common
        .approved
        .retain(|one| edits.iter().all(|(from, to)| one.to != **from && one.to != **to));
    for (from, to) in edits.into_iter().filter(|(from, to)| from != to) {
        let merged = repo.merge(from, &common.checkpoint_tree, to).await?;
        let tree = merged.map_err(|paths| RepositoryRefusal::EditsBuiltOn {
            commit: to.short().to_owned(),
            story: made[0].0.id.clone(),
            paths: paths.iter().map(|path| shown(path)).collect(),
        })?;
        if tree == common.checkpoint_tree {
            continue;
        }
        let message = repo.git.message(to).await?;
        let commit = repo
            .commit_tree(&tree, &[&common.checkpoint], message.trim_end())
            .await?;
        if approved.iter().any(|one| one.from == *from) {
            common.approved.push(ApprovedRange {
                from: common.checkpoint.clone(),
                to: commit.clone(),
            });
        }
        (common.checkpoint, common.checkpoint_tree) = (commit, tree);
    }
    if let Some(path) = common.source.before_archive()
        && let tree = &common.checkpoint_tree
        && repo.git.file_of(tree, &common.source.path).await?.is_none()
        && repo.git.file_of(tree, &path).await?.is_some()
    {
        common.source.path = path;
    }
    let is_undone = |id: &String| made.iter().any(|(done, _)| done.id == *id);
    common.unmarked.retain(|one| !is_undone(&one.id));
    common.list.by_list.retain(|id| !is_undone(id));
    common.unchanged = 0;
    let mut redone: Vec<Redone> = Vec::new();
    for (done, work) in made {
        redone.retain(|one| one.story != done.id);
        redone.push(Redone {
            story: done.id.clone(),
            kept: open.change().attempt_ref(&done.id, work.attempt),
            words: None,
        });
    }
    if let Some(first) = redone.first_mut() {
        first.words = words;
    }
    advance(&mut state, |progress| progress.redo(redone, made.len()))?;
    Ok(state)
}

/// Refuses if the list of this state still shows the story as done. The list of a command is unknown.
async fn require_open(open: &Loop<'_>, next: &State, story: &str) -> Result<(), Error> {
    let (source, git) = (next.source(), open.git());
    let of = |tree| git.file_of(tree, &source.path);
    let is_known = !source.is_by_command();
    let listing = match of(next.checkpoint_tree()).await? {
        Some(bytes) if is_known => source.list_in(&bytes)?,
        None if is_known && of(open.state.checkpoint_tree()).await?.is_none() => {
            source.list(&open.repo().top).await?
        }
        _ => return Ok(()),
    };
    let listing = remembering(next, listing);
    if listing.find(story).is_some_and(|one| one.done) {
        return refuse(StoryRefusal::StillDone {
            change: next.change.to_string(),
            story: story.to_owned(),
            source_file: source.path.clone(),
        });
    }
    Ok(())
}
