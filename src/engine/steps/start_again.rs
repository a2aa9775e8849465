//! `start` on a change that may already have a live loop: it stays as it is, or is aborted first.

use super::abort::abort;
use super::preflight::StartOptions;
use super::start::begin;
use crate::engine::{Context, Loop, open, refuse_inside_attempt};
use crate::error::Error;
use crate::names::Change;
use crate::state::Store;

/// The result of `start`.
pub struct Started<'o> {
    /// The loop.
    pub open: Loop<'o>,
    /// True if it was already live, and nothing was changed.
    pub already: bool,
}

/// Begins a loop, or finds that it is already live.
///
/// # Errors
/// Everything that `start` refuses; nothing is changed then.
pub async fn start<'o>(
    mut context: Context<'o>,
    change: &Change,
    options: &StartOptions,
) -> Result<Started<'o>, Error> {
    refuse_inside_attempt()?;
    let store = Store::new(&context.repo.common_dir, change);
    if store.load()?.is_some_and(|state| state.is_live()) {
        let open = open(context, change).await?;
        if open.state.is_live() && !options.restart {
            return Ok(Started { open, already: true });
        }
        context = abort_for_restart(open).await?;
    }
    Ok(Started {
        open: begin(context, change, options).await?,
        already: false,
    })
}

/// Aborts a live loop so that a new one can begin; returns the repository afterwards.
async fn abort_for_restart(mut open: Loop<'_>) -> Result<Context<'_>, Error> {
    if open.state.is_live() {
        abort(&mut open).await?;
    }
    let mut context = open.context;
    // The loop may have worked with an index of its own.
    context.repo = context.repo.with_users_index();
    context.head = context.repo.head().await?;
    Ok(context)
}
