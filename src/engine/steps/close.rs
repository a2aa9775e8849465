//! `finish` of a loop that left HEAD in its place: the work is in the work tree already, uncommitted.

use crate::engine::position::branch_tip;
use crate::engine::{Loop, journal, stash};
use crate::error::Error;
use crate::events::What;
use crate::names::short_branch;
use crate::refs::Update;
use crate::state::{ClosePlan, Intent, Progress};

/// Closes the loop; its stash entries stay if `keep`. Moves neither HEAD nor index nor files.
pub(super) async fn close(open: &mut Loop<'_>, keep: bool) -> Result<(), Error> {
    let tip = open.position().await?.tip;
    let plan = ClosePlan {
        finished: tip.unwrap_or_else(|| open.state.checkpoint.clone()),
        keep,
    };
    journal::begin(open, Intent::Close(plan.clone()))?;
    apply(open, plan).await
}

/// Applies the plan of `finish` in its place.
pub(crate) async fn apply(open: &mut Loop<'_>, plan: ClosePlan) -> Result<(), Error> {
    let name = open.state.change.ralph_ref("finished");
    let head = open.position().await?.head;
    let tip = branch_tip(&open.context.repo.git, &open.state, &head).await?;
    let mut updates = vec![Update::Set {
        name: name.clone(),
        new: plan.finished.clone(),
    }];
    updates.extend(tip.filter(|tip| *tip == plan.finished).map(|old| Update::Delete {
        name: open.state.tip_ref(),
        old,
    }));
    let why = format!("ralph: finish {}", open.state.change);
    open.view.drop_refs();
    open.context.repo.git.update_refs(&updates, &why).await?;
    if !plan.keep {
        stash::drop_all(open).await?;
    }
    open.advance(Progress::close)?;
    journal::end(open)?;
    open.emit(What::Finished {
        how: if plan.keep { "keep" } else { "cleanup" }.to_owned(),
        branch: head.branch.map(|branch| short_branch(&branch).to_owned()),
        kept: name,
        worktree: None,
    });
    Ok(())
}
