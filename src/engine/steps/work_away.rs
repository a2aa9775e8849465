//! Refuses a step of a loop that leaves HEAD in its place while its work, which is uncommitted, is not in the work tree,
//! as after `git stash`: the step would take that for edits, or call the work finished where it is not.

use std::collections::HashSet;

use crate::engine::Loop;
use crate::engine::repository_refusal::RepositoryRefusal;
use crate::error::Error;
use crate::names::Oid;
use crate::paths::first_few;

/// Refuses to end the loop here if HEAD is on another branch, or the work tree has nothing of the loop's work. Reads the
/// work tree unless it is as the last step left it.
///
/// # Errors
/// [`RepositoryRefusal::HeadElsewhere`], or [`RepositoryRefusal::WorkAway`].
pub(super) async fn require_work_here(open: &Loop<'_>) -> Result<(), Error> {
    let position = open.position().await?;
    let (own, head) = (open.state.loop_head(), &position.head);
    let is_detached = own.branch.is_none() && head.branch.is_none();
    let goes_on = match (&own.oid, &head.oid) {
        (Some(was), Some(now)) if is_detached => open.git().is_ancestor(was, now).await?,
        _ => false,
    };
    if !goes_on {
        position.require_on_branch(&open.state)?;
    }
    if open.view.is_at_checkpoint() || open.checkpoint().is_as_left().await? {
        return Ok(());
    }
    let reading = open.read_work_tree().await?;
    require_work_in(open, head.oid.as_ref(), &reading.tree).await
}

/// Refuses a work tree with the tree `now` in which every file that the loop has changed is as in `head`, or as it was
/// staged. Those that `head` has are enough, if the story list is among them: `git stash` leaves new files where they are.
/// The list alone is not, unless it is in the stash: who takes a mark out of it wants the story done again.
pub(super) async fn require_work_in(open: &Loop<'_>, head: Option<&Oid>, now: &Oid) -> Result<(), Error> {
    let (state, git) = (&open.state, open.git());
    let Some(head) = head.filter(|_| !state.has_branch()) else {
        return Ok(());
    };
    let (head, initial) = (git.tree_of(head).await?, git.tree_of(state.initial()).await?);
    let staged = state.here.save_points.last().map(|point| point.staged.clone());
    let (checkpoint, list) = (state.checkpoint_tree(), state.source().path.as_bytes());
    let of_loop: HashSet<_> = paths(git.diff_trees(&initial, checkpoint).await?).collect();
    for base in [Some(head), staged].into_iter().flatten() {
        let mut changed = git.diff_trees(&base, checkpoint).await?;
        changed.retain(|(_, path)| of_loop.contains(path));
        let differs: HashSet<_> = paths(git.diff_trees(&base, now).await?).collect();
        let (new, edited): (Vec<_>, Vec<_>) = changed.into_iter().partition(|(status, _)| *status == b'A');
        let (new, edited): (Vec<_>, Vec<_>) = (paths(new).collect(), paths(edited).collect());
        let is_away = |path: &&Vec<u8>| !differs.contains(*path);
        let work: Vec<_> = new.iter().chain(&edited).filter(|path| *path != list).collect();
        let is_stashed = !edited.is_empty()
            && edited.iter().all(|path| is_away(&path))
            && (edited.iter().any(|path| path != list) || is_list_stashed(open).await?);
        if is_stashed || !work.is_empty() && work.iter().all(is_away) {
            return Err(RepositoryRefusal::WorkAway {
                change: open.change().to_string(),
                paths: first_few(new.iter().chain(&edited).filter(is_away)),
            }
            .into());
        }
    }
    Ok(())
}

/// Returns whether the user's newest stash entry has the story list of the checkpoint.
async fn is_list_stashed(open: &Loop<'_>) -> Result<bool, Error> {
    let (state, git) = (&open.state, open.git());
    let own: HashSet<&Oid> = state.here.save_points.iter().map(|point| &point.entry).collect();
    let entries = open.repo().stash().await?;
    let Some(newest) = entries.iter().find(|entry| !own.contains(&entry.oid)) else {
        return Ok(false);
    };
    let tree = git.tree_of(&newest.oid).await?;
    let changes = git.diff_trees(state.checkpoint_tree(), &tree).await?;
    let list = state.source().path.as_bytes();
    Ok(changes.iter().all(|(_, path)| path != list))
}

fn paths(changes: Vec<(u8, Vec<u8>)>) -> impl Iterator<Item = Vec<u8>> {
    changes.into_iter().map(|(_, path)| path)
}
