//! Work of a loop that is missing since its last checkpoint.

use crate::engine::position::{checkpoint_gone, refuse_operation};
use crate::engine::work_stashed;
use crate::error::Error;
use crate::git::{Head, Repo};
use crate::state::{Phase, State};

const TO_CHECKPOINT: &str = "to continue from the checkpoint, with what came after it as edits";

/// Returns the message of the next step of a loop at rest if its work is gone, and the command that restores it, with
/// its purpose: the branch, which `head` is on, no longer contains the checkpoint, or the user has stashed the work.
pub(super) async fn work_gone(
    repo: &Repo,
    head: &Head,
    state: &State,
) -> Option<(String, Option<(String, &'static str)>)> {
    if !state.is_live() || state.phase() == Phase::Running || state.intent.is_some() {
        return None;
    }
    if state.has_branch() {
        let is_gone = matches!(
            repo.git.is_ancestor(state.checkpoint(), head.oid.as_ref()?).await,
            Ok(false)
        );
        let gone = is_gone.then(|| checkpoint_gone(state))?;
        return Some((
            gone.to_string(),
            gone.hint().map(|command| (command, TO_CHECKPOINT)),
        ));
    }
    let away = work_stashed(repo, state, head).await.ok()??;
    let pop = ("git stash pop".to_owned(), "to have the loop's work again");
    Some((away.to_string(), Some(pop)))
}

/// Returns a message about a git operation in progress in the loop's work tree, unless it belongs to an attempt.
pub(super) async fn operation_in(repo: &Repo, state: &State) -> Option<String> {
    if !state.is_live() || state.phase() == Phase::Running || state.intent.is_some() {
        return None;
    }
    match refuse_operation(repo).await {
        Err(Error::Repository(refusal)) => Some(refusal.to_string()),
        _ => None,
    }
}
