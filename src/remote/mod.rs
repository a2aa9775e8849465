//! Transfers a loop to a git remote and back, and holds it there while a run works on it. One ref per loop decides, and
//! it only moves from its expected object (`docs/scale-out.md`).
//!
//! - `record` is the content of the ref, and `lease` decides whether a holder is dead; both are pure.
//! - `server` reads and moves refs on the remote, and `listing` lists the loops there by their commits alone;
//!   `portable` makes objects from a loop, and `received` a loop from objects that `validation` accepts.
//! - `tenure` is the time in which a run holds a loop, and `held_loop` the state that it pushed; `others` knows who else
//!   holds one. `branch` is the copy
//!   of the last checkpoint. `handover` is `push` and `pull`; `queue` lists the remaining work; `prune` removes
//!   finished loops; `grown` decides whether a finished change has new stories; `probe` tests what a remote accepts;
//!   `patience` limits retries, and `reason` explains why a remote did not do what was requested.

mod base;
mod branch;
mod grown;
pub mod handover;
mod held_loop;
pub mod lease;
mod listing;
mod others;
mod patience;
mod portable;
mod prefixes;
pub mod probe;
pub mod prune;
pub mod queue;
mod reason;
mod received;
pub mod record;
pub(crate) mod refusal;
mod server;
mod tenure;
mod validation;

use self::refusal::RemoteRefusal;
use crate::git::{Git, GitError};
use crate::names::{Change, Oid};
use crate::settings::Strategy;

pub use base::last_remote;
pub use lease::Watch;
pub use others::{held_there, require_not_held};
pub use portable::{progress, require_same, taken_along};
pub use server::{Server, There};
pub use tenure::{Taken, Tenure};

/// Returns the previous state of a state commit; the message says which parent it is.
async fn previous(state: &Oid, git: &Git) -> Result<Option<Oid>, GitError> {
    let message = git.message(state).await?;
    let line = message
        .lines()
        .find_map(|line| line.strip_prefix("Ralph-Previous: "));
    Ok(line.and_then(Oid::parse))
}

/// Returns the checkpoints that this state and earlier ones name, as far as they are local.
async fn checkpoints_before(state: &Oid, git: &Git) -> Result<Vec<Oid>, GitError> {
    let bodies = git.bodies_of_first_parents(state).await?;
    let lines = bodies
        .lines()
        .filter_map(|line| line.strip_prefix("Ralph-Checkpoint: "));
    Ok(lines.filter_map(Oid::parse).collect())
}

/// Refuses a loop whose checkpoints cannot travel.
pub fn require_branch(change: &Change, strategy: Strategy) -> Result<(), RemoteRefusal> {
    if strategy.leaves_head() {
        return Err(RemoteRefusal::InPlace(change.to_string()));
    }
    Ok(())
}
