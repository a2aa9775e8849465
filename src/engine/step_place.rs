//! The place where a step of a loop may begin: its work tree, with the required branch checked out, and no git
//! operation in progress.

use super::position::{Position, refuse_operation, require_place};
use super::{Context, Loop};
use crate::engine::open_refusal::OpenRefusal;
use crate::engine::repository_refusal::RepositoryRefusal;
use crate::error::{Error, refuse};
use crate::git::{Head, Repo, discover, operations_in_progress};
use crate::state::{DotGit, Phase, State};

/// Refuses a step that needs the loop's own list while a branch with another list, or none, is checked out. Runs git
/// only if the branch is not known to be right.
pub async fn require_own_list(open: &Loop<'_>) -> Result<(), Error> {
    let is_there = |head: Head| open.state.is_branch_of(&head);
    if !open.state.is_live() || open.view.head().is_some_and(is_there) {
        return Ok(());
    }
    require_on_branch(open).await.map(drop)
}

/// Returns the position of HEAD and the branch, if HEAD is on the branch that the loop needs. The error names a git
/// operation that moved HEAD away.
pub(super) async fn require_on_branch(open: &Loop<'_>) -> Result<Position, Error> {
    let position = open.position().await?;
    if let Err(away) = position.require_on_branch(&open.state) {
        refuse_operation(open.repo()).await?;
        return Err(away);
    }
    Ok(position)
}

/// Returns whether the work tree is at the checkpoint and no git operation is in progress. One scan.
pub(super) async fn is_at_checkpoint(open: &Loop<'_>) -> Result<bool, Error> {
    let reading = open.read_work_tree().await?;
    let same = open.checkpoint().is_state_of(&reading)?;
    Ok(same && operations_in_progress(open.repo()).await?.is_empty())
}

/// Refuses a step of a live loop in a work tree other than its own.
pub(super) fn require_own_work_tree(state: &State, repo: &Repo) -> Result<(), Error> {
    if state.work_tree() == repo.top || !state.is_live() {
        return Ok(());
    }
    refuse(OpenRefusal::OtherWorkTree {
        change: state.change.to_string(),
        path: state.here.worktree.to_string(),
    })
}

/// Refuses to complete an interrupted attempt if `.git` leads to another repository than when the loop began: the
/// attempt may have replaced `.git`, and would choose the repository that gets the commits.
pub(super) fn require_own_repository(state: &State, repo: &Repo) -> Result<(), Error> {
    let was_cut_off = state.phase() == Phase::Running || !state.is_at_rest();
    if state.here.dot_git == DotGit::Other || !was_cut_off || DotGit::of(&repo.top)? == DotGit::Directory {
        return Ok(());
    }
    refuse(RepositoryRefusal::LinkInPlace {
        link: repo.top.join(".git"),
        git_dir: repo.git_dir.clone(),
    })
}

/// Refuses a step that a loop may not begin in this work tree, at the present HEAD.
pub async fn require_step_here(context: &Context<'_>, state: &State) -> Result<(), Error> {
    let (repo, head) = if state.has_own_work_tree() {
        discover(state.work_tree()).await?
    } else {
        require_own_work_tree(state, &context.repo)?;
        (context.repo.clone(), context.head.clone())
    };
    refuse_operation(&repo).await?;
    if state.is_branch_of(&head) {
        return Ok(());
    }
    require_place(&repo.git, state, &head).await
}
