//! Makes a checkpoint of the user's edits and commits since the last one, before an attempt, so that a failed attempt
//! does not undo them.

use super::checkpoint::{self, NewCheckpoint};
use super::side::with_held_list;
use super::work_away;
use crate::engine::checkpoint_message::CHECKPOINT;
use crate::engine::position::{checkpoint_gone, refuse_operation};
use crate::engine::repository_refusal::RepositoryRefusal;
use crate::engine::{Loop, numbers, transition, users_head};
use crate::error::Error;
use crate::state::Intent;

/// Prepares the loop for an attempt: its branch is checked out, and the work tree matches the checkpoint. One scan of
/// the work tree; none if this process has just made the checkpoint or returned to it.
pub(crate) async fn commit_manual_edits(open: &mut Loop<'_>, story: &str) -> Result<(), Error> {
    if open.view.is_at_checkpoint() {
        return Ok(());
    }
    // The operation may have detached HEAD.
    refuse_operation(open.repo()).await?;
    users_head::follow(open).await?;
    let mut position = open.position().await?;
    if !position.is_on_branch(&open.state) {
        let own = open.state.loop_head();
        let is_at_tip = position.tip.as_ref() == Some(open.state.checkpoint());
        let is_only_detached = position.head.branch.is_none() && position.head.oid == own.oid && is_at_tip;
        if !is_only_detached {
            return position.require_on_branch(&open.state);
        }
        let why = "ralph: back on the branch";
        open.repo().set_head(&own, why).await?;
        open.view.drop_refs();
        open.tell(format!(
            "HEAD was detached and is put back to {}",
            open.state.common.branch
        ));
        position.head = own;
    }
    open.switch_off_foreign_filters().await?;
    let checkpoint = open.checkpoint();
    if let Some(unclean) = checkpoint.unclean_submodule().await? {
        return Err(RepositoryRefusal::from(unclean).into());
    }
    let tip = match &position.tip {
        Some(tip) if open.git().is_ancestor(&checkpoint.commit, tip).await? => tip.clone(),
        _ => return Err(checkpoint_gone(&open.state)),
    };
    // An attempt's changes to the user's refs are measured from here; both git processes run in parallel.
    let (is_as_left, refs) = tokio::join!(checkpoint.is_as_left(), open.read_user_refs());
    open.view.note_refs(refs?);
    if tip == checkpoint.commit && is_as_left? {
        return Ok(());
    }
    let mut reading = open.read_work_tree().await?;
    reading.tree = with_held_list(open, reading.tree, None).await?;
    if tip == checkpoint.commit && reading.tree == checkpoint.tree {
        let started = open.state.common.started;
        return Ok(checkpoint.record_unseen_edits(started).await?);
    }
    work_away::require_work_in(open, position.head.oid.as_ref(), &reading.tree).await?;
    reading.require_converted()?;
    let whose = match open.state.given() {
        Some(given) if numbers::still_stands(open, given)? => {
            format!(" (an agent's session was given story {})", given.story)
        }
        _ => String::new(),
    };
    let new = NewCheckpoint {
        story: None,
        attempt: None,
        parent: tip,
        subject: format!("{CHECKPOINT}edits before {story}"),
        body: String::new(),
        stash: None,
        stands: false,
        is_known_unchanged: false,
        beside: (Vec::new(), None),
    };
    let (plan, known) = checkpoint::plan(open, new, &position, reading.tree).await?;
    transition::take(open, Intent::Checkpoint(plan), known).await?;
    let what = match &open.held_list {
        // The attempts of sides can have written here, too.
        Some(_) => format!("changes in {} that no checkpoint had", open.repo().top.display()),
        None => format!("your edits since the last checkpoint{whose}"),
    };
    open.tell(format!("{what} were committed before story {story}"));
    Ok(())
}
