//! `finish`: brings the work back to the original branch as uncommitted changes, or leaves it on the loop's branch.

use std::path::Path;

use super::adopt::refuse_uncommitted;
use super::leave;
use super::prune::prune;
use super::side;
use super::work_away::require_work_here;
use crate::engine::position::refuse_operation;
use crate::engine::steps::finish_refusal::FinishRefusal;
use crate::engine::transition::{self, FINAL, Known, final_state, merged, original_now, work_tree_now};
use crate::engine::{Loop, lifecycle_hooks};
use crate::error::Error;
use crate::names::Oid;
use crate::names::typed;
use crate::state::{EndPlan, EndStep, Ending, Intent};

/// The destination of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// Back to the original branch, uncommitted; the loop's branch is deleted.
    Cleanup {
        /// True if the content staged before the loop is staged again, except for files that the loop changed.
        index: bool,
    },
    /// Stay on the loop's branch.
    Keep,
}

/// Returns the refusal to finish a closed loop in another way than it `was` finished. `None` if the way is the same, git has
/// no commands for it, or the loop's branch is gone or merged: then there is nothing to bring back.
pub async fn refuse_other_way(
    open: &Loop<'_>,
    was: Ending,
    how: Finish,
) -> Result<Option<FinishRefusal>, Error> {
    let state = &open.state;
    let refusal = FinishRefusal::of_other_way(state, was, how == Finish::Keep);
    if refusal.is_none() || was != Ending::Keep {
        return Ok(refusal);
    }
    let git = open.git();
    let Some(tip) = git.oid_at(&open.change().branch_ref()).await? else {
        return Ok(None);
    };
    let original = state.begun_on().map(|name| format!("refs/heads/{name}"));
    let original = match original {
        Some(name) => git.oid_at(&name).await?,
        None => None,
    };
    match original {
        Some(original) if git.is_ancestor(&tip, &original).await? => Ok(None),
        _ => Ok(refusal),
    }
}

/// Closes the loop. The work of a loop with its own work tree goes `into` this work tree, else into the one that has
/// the loop's original branch checked out.
///
/// # Errors
/// If the user is needed (exit 7): HEAD has moved, or the original branch is gone, checked out in another work tree, or
/// has new commits that conflict. Nothing is changed then.
pub async fn finish(open: &mut Loop<'_>, how: Finish, into: Option<&Path>) -> Result<(), Error> {
    open.require_live()?;
    let has_own = open.state.has_own_work_tree();
    if into.is_some() && !has_own {
        return Err(FinishRefusal::NoWorkTreeOfItsOwn(open.change().to_string()).into());
    }
    let (name, branch) = match how {
        Finish::Cleanup { .. } => ("cleanup", open.state.begun_on().cloned()),
        Finish::Keep => ("keep", Some(open.state.common.branch.clone())),
    };
    let in_place = !open.state.has_branch();
    lifecycle_hooks::before_finish(open, name, branch).await?;
    let mut target = None;
    let (plan, known) = match how {
        _ if in_place => (close(open, how == Finish::Keep).await?, Known::fresh()),
        Finish::Cleanup { .. } if has_own => {
            let (plan, known, lock) = Box::pin(leave::plan_to_bring(open, into)).await?;
            target = Some(lock);
            (plan, known)
        }
        Finish::Cleanup { index } => cleanup(open, index).await?,
        Finish::Keep => (keep(open, false).await?, Known::fresh()),
    };
    let stay = how == Finish::Keep && !open.state.here.save_points.is_empty();
    let unreviewed = open.state.unreviewed().map(str::to_owned);
    Box::pin(side::remove_all(open)).await?;
    transition::take(open, Intent::End(plan), known).await?;
    drop(target);
    if stay && let Some(words) = kept_entries(open).await? {
        open.tell(words);
    }
    if let Some(attempt) = unreviewed {
        open.tell(format!(
            "no reviewer has judged the work of {attempt}, which is in the work tree, and its story is not complete"
        ));
    }
    lifecycle_hooks::tell_hooks(open, None).await?;
    // The loop is closed; refs and files that cannot be pruned now are pruned with a later loop.
    if let Err(error) = prune(&open.context, None, false).await {
        open.tell(format!(
            "git ralph prune cannot remove the data of older loops: {error}"
        ));
    }
    Box::pin(leave::take_away(open)).await?;
    Ok(())
}

/// Closes a local loop that a remote has, so that another can begin in this work tree. Its commits stay on its branch,
/// and no hook runs: the loop has not ended.
pub async fn set_aside(open: &mut Loop<'_>) -> Result<(), Error> {
    open.require_live()?;
    refuse_uncommitted(&open.context).await?;
    let plan = keep(open, true).await?;
    Box::pin(side::remove_all(open)).await?;
    transition::take(open, Intent::End(plan), Known::fresh()).await
}

async fn keep(open: &Loop<'_>, aside: bool) -> Result<EndPlan, Error> {
    let position = open.position().await?;
    if position.tip.is_none() {
        open.tell(format!(
            "branch {} no longer exists; to bring it back: git branch {} {}",
            open.state.common.branch,
            typed(&open.state.common.branch),
            open.state.checkpoint().short()
        ));
    }
    let finished = position.tip.unwrap_or_else(|| open.state.checkpoint().clone());
    Ok(EndPlan {
        aside,
        ..EndPlan::new(EndStep::Keep, finished)
    })
}

/// Closes a loop that left HEAD in place: the work is already in the work tree, uncommitted. Its stash entries stay if
/// `keep`.
async fn close(open: &Loop<'_>, keep: bool) -> Result<EndPlan, Error> {
    refuse_operation(open.repo()).await?;
    require_work_here(open).await?;
    let tip = open.position().await?.tip;
    let finished = tip.unwrap_or_else(|| open.state.checkpoint().clone());
    Ok(EndPlan {
        keep,
        ..EndPlan::new(EndStep::Close, finished)
    })
}

/// Names the loop's entries in the list of the stash, if it has any, and the commands that drop them.
async fn kept_entries(open: &Loop<'_>) -> Result<Option<String>, Error> {
    let points = &open.state.here.save_points;
    let list = open.git().stash_list().await?;
    let mut names = Vec::new();
    let mut drops = Vec::new();
    for (at, entry) in list.iter().enumerate() {
        if let Some(point) = points.iter().find(|point| point.entry == entry.oid) {
            names.push(format!("ralph:{}:{}", open.change(), point.story));
            drops.push(format!("git stash drop {at}"));
        }
    }
    if names.is_empty() {
        return Ok(None);
    }
    // The numbers of those below one change when it is dropped.
    drops.reverse();
    let (names, drops) = (names.join(", "), drops.join(" && "));
    let them = if points.len() > 1 { "them" } else { "it" };
    Ok(Some(format!(
        "the stash keeps {names}, as before attempts that were not complete (git stash list); to drop {them}: {drops}"
    )))
}

/// Checks whether `finish --cleanup` is possible now; changes nothing.
pub async fn can_clean_up(open: &Loop<'_>) -> Result<(), Error> {
    open.require_live()?;
    if open.state.has_own_work_tree() {
        Box::pin(leave::can_bring(open)).await?;
    } else if open.state.has_branch() {
        cleanup(open, false).await?;
    } else {
        require_work_here(open).await?;
    }
    Ok(())
}

/// Makes the plan of `finish --cleanup`; includes the tree of the working index, if the work tree was read.
async fn cleanup(open: &Loop<'_>, index: bool) -> Result<(EndPlan, Known), Error> {
    refuse_operation(open.repo()).await?;
    let position = open.position().await?;
    let tip = position.require_tip(&open.state)?;
    let original = original_now(open.repo(), &open.state).await?;
    let mut known = Known::fresh();
    let (finished, merged) = match (open.state.common.original_head.clone(), original.clone()) {
        (Some(was), Some(now)) if was != now => {
            let git = open.git().clone();
            let (ours, theirs) = tokio::join!(work_tree_now(open), git.existing_trees([&was, &now]));
            let (ours, [was, now]) = (ours?, theirs?);
            let branch = open.state.common.original_branch.clone().unwrap_or_default();
            let of = format!("the new commits of {branch}");
            let trees = [&was, &now, &ours];
            let merged = merged(open, open.repo(), trees, &ours, [branch, of]).await?;
            known.tree = Some(ours.clone());
            (final_state(open, &tip, &ours, FINAL).await?, Some(merged))
        }
        _ => (tip.clone(), None),
    };
    let staged = if index {
        Some(staged_again(open, original.as_ref(), &finished).await?)
    } else {
        None
    };
    let plan = EndPlan {
        tip: Some(tip),
        original,
        merged,
        staged,
        ..EndPlan::new(EndStep::Cleanup, finished)
    };
    Ok((plan, known))
}

/// Makes the tree of an index with the content staged before the loop on top of `original`, except for files that the
/// loop changed.
async fn staged_again(open: &Loop<'_>, original: Option<&Oid>, finished: &Oid) -> Result<Oid, Error> {
    let (site, state) = (open.site(), &open.state);
    let git = &site.repo.git;
    let snapshot = &state.here.before.snapshot;
    let was_staged = git.tree_of_name(&format!("{snapshot}^2")).await?;
    let was = site.repo.tree_at(state.common.original_head.as_ref()).await?;
    let before = git.tree_of(snapshot).await?;
    let after = git.tree_of(finished).await?;
    let changed = git.diff_trees(&before, &after).await?;
    let mut staged = git.staged_between(&was, &was_staged).await?;
    staged.retain(|entry| !changed.iter().any(|(_, path)| *path == entry.path));
    let scratch = site.file("staged.index");
    let original = site.repo.tree_at(original).await?;
    Ok(site.repo.tree_with(&scratch, &original, &staged, &[]).await?)
}
