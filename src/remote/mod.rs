//! Carries a loop to a git remote and back, and holds it there while a run works on it. One ref a loop decides, and it
//! only moves from the object that was expected (`docs/scale-out.md`).
//!
//! - `record` is what the ref says, and `lease` decides whether a holder is dead; both are pure.
//! - `server` reads and moves refs on the remote; `portable` makes objects of a loop, and a loop of objects.
//! - `tenure` is the time in which a run holds a loop, and `held_loop` what it has put there. `handover` is `push` and `pull`; `queue` lists what is left to do;
//!   `probe` tries out what a remote accepts.

mod base;
pub mod handover;
mod held_loop;
pub mod lease;
mod portable;
pub mod probe;
pub mod queue;
mod received;
pub mod record;
pub(crate) mod refusal;
mod sane;
mod server;
mod tenure;

use self::refusal::RemoteRefusal;
use crate::git::{Git, GitError, Repo};
use crate::names::{Change, Oid};
use crate::settings::Strategy;

pub use lease::Watch;
pub use portable::{require_same, taken_along};
pub use server::{Server, There};
pub use tenure::{Taken, Tenure, drive};

/// Returns the state before a state commit; which parent that is, its message says.
async fn previous(state: &Oid, git: &Git) -> Result<Option<Oid>, GitError> {
    let message = git.message(state).await?;
    let line = message
        .lines()
        .find_map(|line| line.strip_prefix("Ralph-Previous: "));
    Ok(line.and_then(Oid::parse))
}

/// Returns the checkpoints that this state and those before it name, as far as they are here.
async fn checkpoints_before(state: &Oid, git: &Git) -> Result<Vec<Oid>, GitError> {
    let bodies = git.bodies_of_first_parents(state).await?;
    let lines = bodies
        .lines()
        .filter_map(|line| line.strip_prefix("Ralph-Checkpoint: "));
    Ok(lines.filter_map(Oid::parse).collect())
}

/// Refuses a loop whose checkpoints cannot travel.
///
/// # Errors
/// If its strategy is stash.
pub fn require_branch(change: &Change, strategy: Strategy) -> Result<(), RemoteRefusal> {
    match strategy {
        Strategy::Branch => Ok(()),
        Strategy::Stash => Err(RemoteRefusal::InPlace(change.to_string())),
    }
}

/// Returns whether the branch of a loop on a remote may be moved: it is not there, or it is an earlier checkpoint. One that
/// cannot be seen here may be anything. `checkpoint` is the loop's own, if it is here.
async fn may_move(
    repo: &Repo,
    branch: Option<&Oid>,
    there: Option<&There>,
    checkpoint: Option<&Oid>,
) -> bool {
    let Some(branch) = branch else { return true };
    let git = &repo.git;
    if let Some(there) = there
        && let Ok(earlier) = checkpoints_before(&there.oid, git).await
        && earlier.contains(branch)
    {
        return true;
    }
    let Some(checkpoint) = checkpoint.or(there.map(|there| &there.record.checkpoint)) else {
        return false;
    };
    let missing = git.missing(&[branch.to_string()]).await;
    missing.is_ok_and(|missing| missing.is_empty())
        && git.is_ancestor(branch, checkpoint).await.is_ok_and(|is| is)
}
