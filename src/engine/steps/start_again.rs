//! `start` on a change that may have a loop already: it is live and stays as it is, or it is aborted first.

use super::abort::abort;
use super::preflight::StartOptions;
use super::start::begin;
use crate::engine::{Context, Loop, open, refuse_inside_attempt};
use crate::error::Error;
use crate::names::Change;
use crate::state::Store;

/// What `start` came to.
pub struct Started<'o> {
    /// The loop.
    pub open: Loop<'o>,
    /// Whether it was live already, and nothing was changed.
    pub already: bool,
}

/// Begins a loop, or finds it live already.
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

/// Aborts a live loop so that it can begin anew, and returns the repository as it is then.
async fn abort_for_restart(mut open: Loop<'_>) -> Result<Context<'_>, Error> {
    if open.state.is_live() {
        abort(&mut open).await?;
    }
    let mut context = open.context;
    context.head = context.repo.head().await?;
    Ok(context)
}
