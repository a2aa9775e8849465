//! Refuses a step of a loop that leaves HEAD in place while its uncommitted work is not in the work tree, as after `git
//! stash`: the step would treat that as edits, or finish the loop without its work.

use std::collections::HashSet;

use crate::engine::Loop;
use crate::engine::repository_refusal::RepositoryRefusal;
use crate::error::Error;
use crate::fs::may_be_there;
use crate::git::{Head, Repo};
use crate::names::Oid;
use crate::paths::{first_few, path_of};
use crate::state::State;

/// Refuses to end the loop if HEAD is on another branch, or the work tree lacks the loop's work. Reads the work tree
/// unless it is as the last step left it.
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
/// staged. The files that `head` has are enough, if the story list is among them: `git stash` leaves new files in
/// place. The list alone is not, unless the stash has it: a user who removes a mark wants the story done again.
pub(super) async fn require_work_in(open: &Loop<'_>, head: Option<&Oid>, now: &Oid) -> Result<(), Error> {
    let refusal = work_away(open.repo(), &open.state, head, Some(now)).await?;
    refusal.map_or(Ok(()), |refusal| Err(refusal.into()))
}

/// Returns the refusal of the next step if the user has stashed the loop's work. Reads no file of the work tree unless
/// the newest stash entry is the user's.
pub async fn work_stashed(
    repo: &Repo,
    state: &State,
    head: &Head,
) -> Result<Option<RepositoryRefusal>, Error> {
    let newest = repo.stash().await?.into_iter().next();
    if newest.is_none_or(|newest| is_own(state, &newest.oid)) {
        return Ok(None);
    }
    work_away(repo, state, head.oid.as_ref(), None).await
}

/// Compares with the tree `now`, or with the files of the work tree.
async fn work_away(
    repo: &Repo,
    state: &State,
    head: Option<&Oid>,
    now: Option<&Oid>,
) -> Result<Option<RepositoryRefusal>, Error> {
    let git = &repo.git;
    let Some(head) = head.filter(|_| !state.has_branch()) else {
        return Ok(None);
    };
    let (head, initial) = (git.tree_of(head).await?, git.tree_of(state.initial()).await?);
    let staged = state.here.save_points.last().map(|point| point.staged.clone());
    let (checkpoint, list) = (state.checkpoint_tree(), state.source().path.as_bytes());
    let of_loop: HashSet<_> = paths(git.diff_trees(&initial, checkpoint).await?).collect();
    for base in [Some(head), staged].into_iter().flatten() {
        let mut changed = git.diff_trees(&base, checkpoint).await?;
        changed.retain(|(_, path)| of_loop.contains(path));
        let (new, edited): (Vec<_>, Vec<_>) = changed.into_iter().partition(|(status, _)| *status == b'A');
        let (new, edited): (Vec<_>, Vec<_>) = (paths(new).collect(), paths(edited).collect());
        let differs: HashSet<_> = match now {
            Some(now) => paths(git.diff_trees(&base, now).await?).collect(),
            None => {
                let there = new
                    .iter()
                    .filter(|path| may_be_there(&repo.top.join(path_of(path))));
                let there = there.cloned();
                paths(git.changed_since(&base).await?).chain(there).collect()
            }
        };
        let is_away = |path: &&Vec<u8>| !differs.contains(*path);
        let work: Vec<_> = new.iter().chain(&edited).filter(|path| *path != list).collect();
        let is_stashed = !edited.is_empty()
            && edited.iter().all(|path| is_away(&path))
            && (edited.iter().any(|path| path != list) || is_list_stashed(repo, state).await?);
        if is_stashed || !work.is_empty() && work.iter().all(is_away) {
            return Ok(Some(RepositoryRefusal::WorkAway {
                change: state.change.to_string(),
                paths: first_few(new.iter().chain(&edited).filter(is_away)),
            }));
        }
    }
    Ok(None)
}

/// Returns whether a stash entry belongs to the loop.
fn is_own(state: &State, entry: &Oid) -> bool {
    state.here.save_points.iter().any(|point| point.entry == *entry)
}

/// Returns whether the user's newest stash entry has the story list of the checkpoint.
async fn is_list_stashed(repo: &Repo, state: &State) -> Result<bool, Error> {
    let entries = repo.stash().await?;
    let Some(newest) = entries.iter().find(|entry| !is_own(state, &entry.oid)) else {
        return Ok(false);
    };
    let tree = repo.git.tree_of(&newest.oid).await?;
    let changes = repo.git.diff_trees(state.checkpoint_tree(), &tree).await?;
    let list = state.source().path.as_bytes();
    Ok(changes.iter().all(|(_, path)| path != list))
}

fn paths(changes: Vec<(u8, Vec<u8>)>) -> impl Iterator<Item = Vec<u8>> {
    changes.into_iter().map(|(_, path)| path)
}
