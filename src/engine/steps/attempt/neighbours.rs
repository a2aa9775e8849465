//! Other loops of the repository that run beside an attempt: their changes to the loop's branch are undone, and do not
//! affect the verdict.

use crate::engine::Loop;
use crate::error::Error;
use crate::fs::read_if_there;
use crate::names::{Oid, short_branch};
use crate::refs::{KeptRef, Update};

/// Restores the loop's branch to its last value in this work tree, if another process moved it away from the last
/// checkpoint while another loop ran. The reflog of HEAD in the loop's own work tree records the attempt's own moves.
pub(super) async fn put_branch_back(open: &Loop<'_>) -> Result<(), Error> {
    if !open.store.may_another_have_run(open.state.work_began().into()) {
        return Ok(());
    }
    put_back(open).await
}

/// Does the same if another loop has just run.
pub(crate) async fn put_back(open: &Loop<'_>) -> Result<(), Error> {
    let tip = open.position().await?.tip;
    if contains_checkpoint(open, tip.as_ref()).await? {
        return Ok(());
    }
    let Some(last) = last_of_head(open)? else {
        return Ok(());
    };
    if !contains_checkpoint(open, Some(&last)).await? {
        return Ok(());
    }
    let name = open.state.tip_ref();
    let mut at = "its deletion".to_owned();
    if let Some(tip) = &tip {
        let kept = open.state.attempt_ref();
        let kept = kept.unwrap_or_else(|| open.change().ralph_ref("replaced"));
        let wanted = KeptRef::new(format!("{kept}-{}", tip.short()), tip.clone());
        open.keep_refs(&[wanted], "ralph: a branch that was moved from outside")
            .await?;
        at = format!("a move to {}", tip.short());
    }
    let back = Update::Move {
        name: name.clone(),
        new: last,
        old: tip,
    };
    open.update_refs(&[back], "ralph: moved from outside, put back")
        .await?;
    open.tell(format!(
        "{at} of {} while another loop was running is undone; it says nothing about this attempt",
        short_branch(&name)
    ));
    Ok(())
}

async fn contains_checkpoint(open: &Loop<'_>, tip: Option<&Oid>) -> Result<bool, Error> {
    Ok(match tip {
        Some(tip) => open.git().is_ancestor(open.state.checkpoint(), tip).await?,
        None => false,
    })
}

/// Returns the last value of HEAD in the reflog of this work tree.
fn last_of_head(open: &Loop<'_>) -> Result<Option<Oid>, Error> {
    let log = read_if_there(&open.repo().git_dir.join("logs/HEAD"))?.unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let last = log.lines().next_back();
    Ok(last.and_then(|line| Oid::parse(line.split(' ').nth(1)?)))
}
