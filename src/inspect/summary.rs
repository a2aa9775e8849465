//! The summary of a loop at the end of a command: its progress, its time and cost.

use super::status::{Status, printed_nothing};
use crate::engine::stories::{Upcoming, listing_of, upcoming};
use crate::engine::{Loop, raised_by};
use crate::error::Error;
use crate::events::Attempt;
use crate::events::tally::Tally;
use crate::git::DiffSize;
use crate::state::Phase;
use std::time::Duration;

/// The summary of a loop at the end of a command.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The status of the loop.
    pub status: Status,
    /// Its attempts.
    pub tally: Tally,
    /// The duration of a run that ends; `None` for another command.
    pub run: Option<Duration>,
    /// The size of the checkpoints' changes.
    pub changed: DiffSize,
    /// The last attempts at stories that are skipped because they failed.
    pub failed: Vec<Failed>,
}

/// The last attempt at a story that is skipped because it failed.
#[derive(Clone, Debug)]
pub struct Failed {
    /// The attempt.
    pub attempt: Attempt,
    /// True if its log is empty.
    pub printed_nothing: bool,
}

impl Summary {
    /// Returns the summary of an open loop. One git process.
    pub async fn of(open: &Loop<'_>) -> Result<Self, Error> {
        let mut status = Status::remembered(&open.state);
        let tally = open.tally()?;
        status.add_attempts(&open.repo().common_dir, &open.state, &tally);
        status.raised_by = raised_by(&open.state, tally.cost, &open.settings());
        let state = &open.state;
        if state.phase() == Phase::Exhausted
            && let Some(spent) = state.current()
            // A tracker's command is not run for a hint.
            && !state.source().is_by_command()
            && let Ok(listing) = listing_of(state, &open.repo().top).await
        {
            let mut left_out = state.progress().skipped.clone();
            left_out.push(spent.id.clone());
            if !matches!(upcoming(&listing, &left_out), Upcoming::Story(_)) {
                status.not_put_off.push(spent.id.clone());
            }
        }
        let failed = state.progress().skipped.iter().filter_map(|id| {
            let last = tally.latest(id)?;
            last.verdict.counts().then(|| Failed {
                printed_nothing: printed_nothing(&open.repo().common_dir, &open.state, last),
                attempt: last.clone(),
            })
        });
        Ok(Self {
            failed: failed.collect(),
            tally,
            run: None,
            changed: open.git().diff_size(state.initial(), state.checkpoint()).await?,
            status,
        })
    }
}
