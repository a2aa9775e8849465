//! The summary of a loop at the end of a command: its progress, its time and cost, and the next commands.

use super::next_steps::{Driver, NextStep};
use super::status::Status;
use crate::engine::Loop;
use crate::error::Error;
use crate::events::log::{LogEntry, attempts};
use crate::git::DiffSize;

/// The summary of a loop at the end of a command.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The status of the loop.
    pub status: Status,
    /// Number of its attempts.
    pub attempts: usize,
    /// Time of all attempts with their gates and reviews, in seconds.
    pub seconds: f64,
    /// Their cost in US dollars, as far as the agents reported it.
    pub cost: Option<f64>,
    /// Number of attempts without a reported cost.
    pub cost_unknown: usize,
    /// The size of the checkpoints' changes.
    pub changed: DiffSize,
    /// The last attempts at stories that are skipped because they failed.
    pub failed: Vec<LogEntry>,
    /// The commands that can be typed next.
    pub next: Vec<NextStep>,
}

impl Summary {
    /// Returns the summary of an open loop. One git process.
    pub async fn of(open: &Loop<'_>, driver: Driver) -> Result<Self, Error> {
        let mut status = Status::remembered(&open.state);
        let attempts = attempts(&open.file("events.jsonl"))?;
        status.add_attempts(&open.state, &attempts);
        let costs: Vec<f64> = attempts
            .iter()
            .filter_map(|entry| entry.attempt.whole_cost())
            .collect();
        let state = &open.state;
        let failed = state.progress().skipped.iter().filter_map(|id| {
            let last = attempts.iter().rfind(|entry| entry.attempt.story == *id)?;
            last.attempt.verdict.counts().then(|| last.clone())
        });
        let failed = failed.collect();
        Ok(Self {
            attempts: attempts.len(),
            seconds: attempts.iter().map(LogEntry::seconds).sum(),
            cost_unknown: attempts.len() - costs.len(),
            cost: (!costs.is_empty()).then(|| costs.iter().sum()),
            changed: open.git().diff_size(state.initial(), state.checkpoint()).await?,
            failed,
            next: status.next_steps(driver),
            status,
        })
    }
}
