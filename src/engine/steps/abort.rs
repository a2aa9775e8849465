//! `abort`: goes back to the state before `start`; a ref keeps the loop's work.

use super::leave;
use super::original::{ORIGINAL_INDEX, original_now, restore_original_index};
use crate::engine::position::branch_tip;
use crate::engine::repository_refusal::RepositoryRefusal;
use crate::engine::steps::finish_refusal::FinishRefusal;
use crate::engine::{Loop, journal, lifecycle_hooks, stash};
use crate::error::Error;
use crate::events::What;
use crate::fs::remove_file;
use crate::git::worktree::Reading;
use crate::git::{index, operations_in_progress};
use crate::protect::{Moment, Savepoint, users_index};
use crate::refs::Update;
use crate::state::{AbortPlan, Intent, Progress};

/// Restores HEAD, index and work tree to their state before the loop, and closes the loop. The present state is kept as
/// `refs/ralph/<change>/finished`. Two scans of the work tree. A work tree that the loop made for itself is left, as
/// there was none before.
///
/// # Errors
/// If a person is needed (exit 7): HEAD is elsewhere, or the original branch has moved, is gone or is checked out
/// elsewhere. Nothing is changed then.
pub async fn abort(open: &mut Loop<'_>) -> Result<(), Error> {
    if open.state.linked.is_none() {
        return abort_in_place(open).await;
    }
    Box::pin(leave::give_up(open)).await?;
    lifecycle_hooks::tell_hooks(open, None).await?;
    Box::pin(leave::take_away(open)).await
}

/// Does the same in the loop's work tree, even if that is its own: it stays.
pub(super) async fn abort_in_place(open: &mut Loop<'_>) -> Result<(), Error> {
    abort_untold(open).await?;
    tell(open);
    lifecycle_hooks::tell_hooks(open, None).await?;
    Ok(())
}

/// Does the same, and emits no event.
pub(super) async fn abort_untold(open: &mut Loop<'_>) -> Result<(), Error> {
    open.require_live()?;
    let position = open.position().await?;
    let tip = position.require_tip(&open.state)?;
    if let Some(operation) = operations_in_progress(&open.context.repo).first() {
        return Err(RepositoryRefusal::OperationInProgress((*operation).to_owned()).into());
    }
    if original_now(&open.context.repo, &open.state).await? != open.state.original_head {
        return Err(FinishRefusal::OriginalMoved {
            change: open.change().to_string(),
            branch: open.state.original_name(),
        }
        .into());
    }
    let now = open.read_work_tree().await?;
    let repo = &open.context.repo;
    let finished = if now.tree == repo.git.tree_of(&tip).await? {
        tip.clone()
    } else {
        repo.commit_tree(&now.tree, &[&tip], "what was there when the loop was aborted")
            .await?
    };
    let plan = AbortPlan { finished, tip };
    journal::begin(open, Intent::Abort(plan.clone()))?;
    apply(open, &plan, Some(now)).await
}

/// Emits the event that the loop is aborted.
pub(crate) fn tell(open: &mut Loop<'_>) {
    open.emit(What::Finished {
        how: "abort".to_owned(),
        branch: open.state.original_branch.clone(),
        kept: open.state.change.ralph_ref("finished"),
        worktree: None,
    });
}

/// Applies the plan of `abort`. `now` is the work tree if the working index was just read from it.
pub(crate) async fn apply(open: &mut Loop<'_>, plan: &AbortPlan, now: Option<Reading>) -> Result<(), Error> {
    let why = format!("ralph: abort {}", open.state.change);
    let kept = open.state.change.ralph_ref("finished");
    let keep = Update::Set {
        name: kept.clone(),
        new: plan.finished.clone(),
    };
    let git = &open.context.repo.git;
    git.update_refs(&[keep], &why).await?;
    let initial = open.state.before.initial.clone();
    let start = Savepoint {
        tree: git.tree_of(&initial).await?,
        commit: initial,
        moment: Moment::Start,
        ..open.checkpoint()
    };
    let (site, _, mut recorder) = open.parts();
    let trash = site.trash().join("abort");
    start.go_to(site, now, &trash, &kept, &mut recorder).await?;
    open.view.drop_all();
    let original = open.state.original_place();
    let repo = &open.context.repo;
    if repo.head().await? != original {
        repo.set_head(&original, &why).await?;
    }
    install_original_index(open).await?;
    stash::drop_all(open).await?;
    let git = &open.context.repo.git;
    let head = open.context.repo.head().await?;
    if branch_tip(git, &open.state, &head).await?.as_ref() == Some(&plan.tip) {
        let delete = Update::Delete {
            name: open.state.tip_ref(),
            old: plan.tip.clone(),
        };
        git.update_refs(&[delete], &why).await?;
    }
    open.advance(Progress::close)?;
    journal::end(open)
}

/// Installs the user's index, byte for byte.
async fn install_original_index(open: &mut Loop<'_>) -> Result<(), Error> {
    let copy = open.file(ORIGINAL_INDEX);
    users_index::forget(open.site())?;
    let repo = &open.context.repo.with_users_index();
    if !copy.exists() && open.state.before.index {
        restore_original_index(&repo.git, open.state.before.anchor.as_ref(), &open.store).await?;
    }
    if copy.exists() {
        return Ok(repo.install_index(&copy).await?);
    }
    if open.state.before.index {
        // The loop's directory was lost, but the snapshot still has the staged content.
        let staged = format!("{}^2", open.state.before.snapshot);
        let work = open.site().work_index();
        index::discard(&work)?;
        repo.git.cmd("read-tree", [staged]).index(&work).done().await?;
        repo.install_index(&work).await?;
        return Ok(index::discard(&work)?);
    }
    Ok(remove_file(&repo.index())?)
}
