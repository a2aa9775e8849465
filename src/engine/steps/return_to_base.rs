//! Returns HEAD between two changes of a run: to its place before the first change, or to the branch of a loop that is
//! active in this work tree. Git checks it out, and refuses to overwrite files; no loop's state changes.

use crate::engine::Context;
use crate::engine::position::branch_gone;
use crate::error::Error;
use crate::git::Head;
use crate::names::short_branch;
use crate::refs::Update;
use crate::state::{State, Store};

/// Returns the place of HEAD before the first change. If an interrupted run left HEAD on the branch of a loop, that is
/// the place at which this loop began.
pub fn place_before(context: &Context<'_>) -> Result<Head, Error> {
    let change = context.change_of_branch();
    let state = change.map(|change| Store::new(&context.repo.common_dir, &change).load());
    let state = state.transpose()?.flatten();
    Ok(state.map_or_else(|| context.head.clone(), |state| state.original_place()))
}

/// Checks out the branch of a loop that is active in this work tree, if HEAD is detached or where the loop began, and
/// no file is changed: a CI job that reuses a directory has checked out its own commit. Some CI systems remove all
/// branches first: the loop's branch is recreated at its checkpoint.
pub async fn return_to_loop(context: &Context<'_>, state: &State) -> Result<(), Error> {
    let (repo, head) = (&context.repo, context.repo.head().await?);
    let is_own = head.branch.is_some() && head.branch != state.original_place().branch;
    if !state.is_at_rest() || is_own || state.is_place(&head) || !state.has_branch() {
        return Ok(());
    }
    let args = ["--quiet", "HEAD", "--"];
    let changed = repo.git.cmd("diff-index", args).any_exit().await?;
    if changed.code != Some(0) {
        return Ok(());
    }
    let branch = state.change.branch_ref();
    if repo.git.refs(&[&branch]).await?.is_empty() {
        let again = Update::Move {
            name: branch,
            new: state.checkpoint().clone(),
            old: None,
        };
        let why = "ralph: the branch was removed";
        if repo.git.update_refs(&[again], why).await.is_err() {
            return Err(branch_gone(state));
        }
    }
    return_to_base(context, &state.loop_head()).await
}

/// Checks out the branch or the commit at which HEAD was.
pub async fn return_to_base(context: &Context<'_>, base: &Head) -> Result<(), Error> {
    let repo = &context.repo;
    let head = repo.head().await?;
    if head == *base || head.branch == base.branch && base.branch.is_some() {
        return Ok(());
    }
    let args: Vec<&str> = match (&base.branch, &base.oid) {
        (Some(branch), _) => vec!["--quiet", short_branch(branch), "--"],
        (None, Some(oid)) => vec!["--quiet", "--detach", oid.as_str(), "--"],
        (None, None) => return Ok(()),
    };
    Ok(repo.git.cmd("checkout", args).done().await?)
}
