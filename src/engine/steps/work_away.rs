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

/// Refuses a work tree with the tree `now` which is as `head`, or as what was staged, in every file that the loop has
/// changed: in those that `head` has, if there are any, because `git stash` leaves new files where they are.
pub(super) async fn require_work_in(open: &Loop<'_>, head: Option<&Oid>, now: &Oid) -> Result<(), Error> {
    let (state, git) = (&open.state, open.git());
    let Some(head) = head.filter(|_| !state.has_branch()) else {
        return Ok(());
    };
    let (head, initial) = (git.tree_of(head).await?, git.tree_of(state.initial()).await?);
    let staged = state.here.save_points.last().map(|point| point.staged.clone());
    let checkpoint = state.checkpoint_tree();
    let of_loop: HashSet<_> = paths(git.diff_trees(&initial, checkpoint).await?).collect();
    for base in [Some(head), staged].into_iter().flatten() {
        let mut work = git.diff_trees(&base, checkpoint).await?;
        work.retain(|(_, path)| of_loop.contains(path));
        if work.iter().any(|(status, _)| *status != b'A') {
            work.retain(|(status, _)| *status != b'A');
        }
        let differs: HashSet<_> = paths(git.diff_trees(&base, now).await?).collect();
        let work: Vec<Vec<u8>> = paths(work).collect();
        if !work.is_empty() && work.iter().all(|path| !differs.contains(path)) {
            return Err(RepositoryRefusal::WorkAway {
                change: open.change().to_string(),
                paths: first_few(&work),
            }
            .into());
        }
    }
    Ok(())
}

fn paths(changes: Vec<(u8, Vec<u8>)>) -> impl Iterator<Item = Vec<u8>> {
    changes.into_iter().map(|(_, path)| path)
}
