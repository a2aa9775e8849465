//! `redo`: goes back to the checkpoint before a completed story, so that the loop does it again.

use std::collections::BTreeSet;

use crate::engine::checkpoint_message::{ATTEMPT_TRAILER, CHECKPOINT};
use crate::engine::open_loop::advance;
use crate::engine::repository_refusal::RepositoryRefusal;
use crate::engine::stories::{read_list, remembering};
use crate::engine::story_refusal::StoryRefusal;
use crate::engine::transition::{self, Known};
use crate::engine::{Loop, refuse_inside_attempt};
use crate::error::Error;
use crate::events::What;
use crate::events::log::read_events;
use crate::git::Described;
use crate::names::Oid;
use crate::paths::shown;
use crate::refs::KeptRef;
use crate::state::{Intent, RedoPlan, Redone, State, Stood, Undone, Verdict};

/// A checkpoint of the loop.
struct Made {
    oid: Oid,
    /// The checkpoint before it.
    below: Oid,
    /// The story and the attempt; `None` if the user made it.
    by: Option<(String, u32)>,
}

/// Undoes a completed story and all that was completed after it; the user's own edits since stay. The next attempt is at
/// this story, and its prompt has `words`.
///
/// # Errors
/// If the story has no checkpoint in this loop, later ones have and `with_later` is false, the work tree is not at the last
/// checkpoint, an edit does not fit the earlier files, or the list would still have the story as done; nothing is changed
/// then.
pub async fn redo(
    open: &mut Loop<'_>,
    story: &str,
    words: Option<String>,
    with_later: bool,
) -> Result<(), Error> {
    refuse_inside_attempt()?;
    open.require_live()?;
    let position = open.position().await?;
    position.require_on_branch(&open.state)?;
    let since = since(open, story).await?;
    let undone: Vec<Undone> = since.iter().filter_map(|made| undone(open, made)).collect();
    let mut ids: Vec<String> = Vec::new();
    for one in &undone {
        if !ids.contains(&one.story) {
            ids.push(one.story.clone());
        }
    }
    if ids.len() > 1 && !with_later {
        return Err(StoryRefusal::BuiltOn {
            change: open.change().to_string(),
            story: story.to_owned(),
            later: ids.split_off(1),
        }
        .into());
    }
    if position.tip.as_ref() != Some(open.state.checkpoint()) || !open.is_at_checkpoint().await? {
        return Err(RepositoryRefusal::EditsSince {
            change: open.change().to_string(),
            has_branch: open.state.has_branch(),
        }
        .into());
    }
    let from = open.state.checkpoint().clone();
    let next = before(open, &since, &ids, &undone, words).await?;
    require_open(open, &next, story).await?;
    let mut kept = Vec::new();
    for made in &since {
        if let Some(one) = undone.iter().find(|one| one.oid == made.oid) {
            kept.push(keep(open, made, one).await?);
        }
    }
    kept.push(KeptRef {
        name: open.change().ralph_ref(&format!("replaced/{}", from.short())),
        oid: from.clone(),
    });
    open.state = next;
    let plan = RedoPlan { from, undone, kept };
    transition::take(open, Intent::Redo(plan), Known::fresh()).await?;
    read_list(open).await?;
    open.save()
}

/// Returns the checkpoints since the last one of a story, which is the first of them. The loop's events know them; without
/// these, their messages.
async fn since(open: &Loop<'_>, story: &str) -> Result<Vec<Made>, Error> {
    let state = &open.state;
    let git = &open.context.repo.git;
    let history = git
        .history_since(Some(state.initial()), state.checkpoint(), ATTEMPT_TRAILER)
        .await?;
    let told = read_events(&open.file("events.jsonl"))?.into_iter();
    let told: BTreeSet<String> = told
        .filter_map(|event| match event.what {
            What::Checkpoint { oid, .. } => Some(oid.to_string()),
            _ => None,
        })
        .collect();
    let are_told = told.contains(state.checkpoint().as_str());
    let is_checkpoint = |commit: &Described| {
        let is_called = commit.subject.starts_with(CHECKPOINT);
        told.contains(commit.oid.as_str()) || !are_told && is_called
    };
    let mut below = state.initial().clone();
    let mut made: Vec<Made> = Vec::new();
    // An agent's or the user's own commits belong to the checkpoint on top of them.
    for Described { oid, trailer, .. } in history.into_iter().filter(is_checkpoint) {
        let by = trailer.and_then(|by| {
            let (story, number) = by.rsplit_once('@')?;
            Some((story.to_owned(), number.parse().ok()?))
        });
        let new = Made { oid, below, by };
        below = new.oid.clone();
        made.push(new);
    }
    let is_it = |made: &Made| made.by.as_ref().is_some_and(|(id, _)| id == story);
    let Some(first) = made.iter().rposition(is_it) else {
        return Err(StoryRefusal::NoCheckpoint {
            change: open.change().to_string(),
            story: story.to_owned(),
        }
        .into());
    };
    Ok(made.split_off(first))
}

fn undone(open: &Loop<'_>, made: &Made) -> Option<Undone> {
    let (story, attempt) = made.by.clone()?;
    Some(Undone {
        kept: open.change().attempt_ref(&story, attempt),
        story,
        attempt,
        oid: made.oid.clone(),
    })
}

/// Makes the commit that keeps the work of a story. It has the list from before: who restores it completes the story.
async fn keep(open: &Loop<'_>, made: &Made, one: &Undone) -> Result<KeptRef, Error> {
    let repo = &open.context.repo;
    let list = &open.state.source().path;
    let changes = repo.git.changes_among(&made.oid, &made.below, &[]).await?;
    let of_list = changes.into_iter().find(|change| change.path == list.as_bytes());
    let (mut entries, mut gone) = (Vec::new(), Vec::new());
    if let Some(change) = of_list {
        entries.extend(change.is.clone());
        gone.extend(change.is.is_none().then_some(change.path));
    }
    let tree = repo.git.tree_of(&made.oid).await?;
    let scratch = open.site().file("redo.index");
    let tree = repo.tree_with(&scratch, &tree, &entries, &gone).await?;
    let message = format!("attempt {} at {}: {}", one.attempt, one.story, Verdict::Redone);
    Ok(KeptRef {
        name: one.kept.clone(),
        oid: repo.commit_tree(&tree, &[&made.below], &message).await?,
    })
}

/// Returns the state before the first of these commits, with the user's own on top of it.
async fn before(
    open: &Loop<'_>,
    since: &[Made],
    ids: &[String],
    undone: &[Undone],
    words: Option<String>,
) -> Result<State, Error> {
    let repo = &open.context.repo;
    let mut state = open.state.clone();
    let target = since[0].below.clone();
    let common = &mut state.common;
    let stood = std::mem::take(&mut common.stood);
    let is_undone = |one: &&Stood| since.iter().any(|made| made.oid == one.to);
    common.stood = stood.iter().filter(|one| !is_undone(one)).cloned().collect();
    common.checkpoint_tree = repo.git.tree_of(&target).await?;
    common.checkpoint = target;
    let mut until: Option<Oid> = None;
    for made in since {
        until = until.or_else(|| {
            stood
                .iter()
                .rfind(|one| one.from == made.below)
                .map(|one| one.to.clone())
        });
        let is_stood_for = until.is_some();
        until = until.filter(|until| *until != made.oid);
        if made.by.is_some() {
            continue;
        }
        let tree = match repo
            .merge(&made.below, &common.checkpoint_tree, &made.oid)
            .await?
        {
            Ok(tree) => tree,
            Err(paths) => {
                return Err(RepositoryRefusal::EditsBuiltOn {
                    commit: made.oid.short().to_owned(),
                    story: ids[0].clone(),
                    paths: paths.iter().map(|path| shown(path)).collect(),
                }
                .into());
            }
        };
        if tree == common.checkpoint_tree {
            continue;
        }
        let message = repo.git.message(&made.oid).await?;
        let commit = repo
            .commit_tree(&tree, &[&common.checkpoint], message.trim_end())
            .await?;
        if is_stood_for {
            common.stood.push(Stood {
                from: common.checkpoint.clone(),
                to: commit.clone(),
            });
        }
        (common.checkpoint, common.checkpoint_tree) = (commit, tree);
    }
    common.unmarked.retain(|one| !ids.contains(&one.id));
    common.list.by_list.retain(|id| !ids.contains(id));
    common.unchanged = 0;
    let redone = undone.iter().enumerate().map(|(number, one)| Redone {
        story: one.story.clone(),
        kept: one.kept.clone(),
        words: words.clone().filter(|_| number == 0),
    });
    let redone = redone.collect();
    advance(&mut state, |progress| progress.redo(redone))?;
    Ok(state)
}

/// Refuses if the list of this state still has the story as done.
async fn require_open(open: &Loop<'_>, next: &State, story: &str) -> Result<(), Error> {
    let source = next.source();
    let tree = open
        .context
        .repo
        .git
        .file_of(next.checkpoint_tree(), &source.path)
        .await;
    let listing = match tree {
        Ok(Some(bytes)) if !source.is_by_command() => source.list_in(&bytes)?,
        _ => source.list(&open.context.repo.top).await?,
    };
    let listing = remembering(next, listing);
    if listing.stories.iter().any(|one| one.id == story && one.done) {
        return Err(StoryRefusal::StillDone {
            change: next.change.to_string(),
            story: story.to_owned(),
            source_file: source.path.clone(),
        }
        .into());
    }
    Ok(())
}
