//! The journal: a step writes its plan as the state's intent before it changes anything, and applies it. After a crash
//! the same functions apply it again, from the top.

use super::Loop;
use super::steps::{abort, checkpoint, finish, restore, revert, start};
use crate::error::Error;
use crate::state::Intent;

/// Writes down what a step is about to do.
pub(super) fn begin(open: &mut Loop<'_>, intent: Intent) -> Result<(), Error> {
    open.state.intent = Some(intent);
    open.save()
}

/// Writes down that the step is done, with whatever else it has changed in the state.
pub(super) fn end(open: &mut Loop<'_>) -> Result<(), Error> {
    open.state.intent = None;
    open.save()
}

/// Applies a plan that a crash cut off; it is harmless to do all of it again.
pub(super) async fn apply(open: &mut Loop<'_>, intent: Intent) -> Result<(), Error> {
    match intent {
        Intent::Start(plan) => start::apply(open, &plan, None).await,
        Intent::Checkpoint(plan) => checkpoint::apply(open, plan).await,
        Intent::Revert(plan) => revert::apply(open, plan, None).await,
        Intent::Cleanup(plan) => finish::apply_cleanup(open, &plan, None).await,
        Intent::Keep(plan) => finish::apply_keep(open, plan).await,
        Intent::Abort(plan) => abort::apply(open, &plan, None).await,
        Intent::Restore(plan) => restore::apply(open, &plan).await,
    }
}
