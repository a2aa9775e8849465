//! HEAD in a loop that leaves it in its place: accepts the user's commits, and removes an attempt's commits from the
//! branch again, and keeps them.

use super::attempt::facts::Facts;
use super::position::Position;
use super::{Loop, shared_stash};
use crate::engine::steps::finish_refusal::FinishRefusal;
use crate::error::{Error, refuse};
use crate::names::short_branch;
use crate::protect::RefChanges;
use crate::refs::{KeptRef, Update};

/// The stash, whose entries are the reflog of this ref (git-stash(1)).
const STASH: &str = "refs/stash";

/// Accepts the commits that the user has made on HEAD since the last step, and records the new position of HEAD. A HEAD
/// on another branch stays there.
pub(crate) async fn follow(open: &mut Loop<'_>) -> Result<(), Error> {
    if open.state.has_branch() {
        return Ok(());
    }
    let head = open.position().await?.head;
    let own = open.state.loop_head();
    if head.branch != own.branch || head.oid == own.oid {
        return Ok(());
    }
    let (Some(now), Some(was)) = (head.oid, own.oid) else {
        let head = open.state.common.original_head.as_ref();
        return refuse(FinishRefusal::OriginalGone {
            branch: open.state.original_name(),
            oid: head.map(ToString::to_string).unwrap_or_default(),
        });
    };
    // The user may have checked out another commit at a detached HEAD.
    if own.branch.is_none() && !open.git().is_ancestor(&was, &now).await? {
        return Ok(());
    }
    open.tell(format!(
        "{} moved from {} to {}; continuing from there",
        open.state.common.branch,
        was.short(),
        now.short()
    ));
    open.state.here.moved_head = Some(now);
    open.save()
}

/// Returns the moves that put the branch of HEAD back after an attempt, and the refs that keep its commits, named after
/// `name`. HEAD itself is put back by the step.
pub(crate) async fn put_back(
    open: &Loop<'_>,
    position: &Position,
    name: &str,
) -> Result<(Vec<Update>, Vec<KeptRef>), Error> {
    let (mut updates, mut kept) = (Vec::new(), Vec::new());
    if open.state.has_branch() || open.state.is_work_of_user() {
        return Ok((updates, kept));
    }
    let own = open.state.loop_head();
    let Some(was) = own.oid else {
        return Ok((updates, kept));
    };
    let is_on = position.head.branch == own.branch;
    let at = match &own.branch {
        Some(branch) if !is_on => open.user_refs().await?.at(branch),
        _ => position.head.oid.clone(),
    };
    let detached = position
        .head
        .oid
        .clone()
        .filter(|_| position.head.branch.is_none());
    for oid in [&at, &detached].into_iter().flatten() {
        if !open.git().is_ancestor(oid, &was).await? {
            kept.push(KeptRef::beside(name, oid));
        }
    }
    kept.dedup();
    let moved = own.branch.filter(|_| at.as_ref() != Some(&was));
    if let Some(branch) = moved {
        open.tell(format!(
            "the branch {} was moved during the attempt; it is put back to {}{}",
            short_branch(&branch),
            was.short(),
            kept.first().map_or_else(String::new, |kept| format!(
                ", and its commits are kept as {}",
                kept.name
            ))
        ));
        updates.push(Update::Move {
            name: branch,
            new: was,
            old: at,
        });
    }
    Ok((updates, kept))
}

/// Removes from `changes` the changes of an attempt that are always undone: to the branch of HEAD, and to the stash, if
/// the attempt added nothing to it.
pub(crate) async fn leave_out(open: &Loop<'_>, facts: &Facts, changes: &mut RefChanges) -> Result<(), Error> {
    if open.state.has_branch() {
        return Ok(());
    }
    let own = open.state.loop_head().branch;
    changes.leave_refs_out(|name| own.as_deref() == Some(name));
    if changes.has_ref(STASH)
        && shared_stash::new_entries(open, facts)
            .await?
            .is_some_and(|new| new.is_empty())
    {
        changes.leave_refs_out(|name| name == STASH);
    }
    Ok(())
}
