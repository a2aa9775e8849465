//! What a loop came to when a command ends: how far it is, what it took, and what comes next.

use super::next_steps::{Driver, NextStep};
use super::status::Status;
use crate::engine::Loop;
use crate::error::Error;
use crate::events::log::{LogEntry, attempts};
use crate::git::DiffSize;

/// Where a loop is when a command ends.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Where the loop stands.
    pub status: Status,
    /// How many attempts it has had.
    pub attempts: usize,
    /// The time of all of them, in seconds.
    pub seconds: f64,
    /// What they cost, in US dollars, as far as the agents said so.
    pub cost: Option<f64>,
    /// What the checkpoints changed.
    pub changed: DiffSize,
    /// The last attempts at stories that are skipped because they failed.
    pub failed: Vec<LogEntry>,
    /// What can be typed next.
    pub next: Vec<NextStep>,
}

impl Summary {
    /// Returns the summary of an open loop. One git process.
    ///
    /// # Errors
    /// When git or the events cannot be read.
    pub async fn of(open: &Loop<'_>, driver: Driver) -> Result<Self, Error> {
        let status = Status::remembered(&open.state);
        let attempts = attempts(&open.file("events.jsonl"))?;
        let costs: Vec<f64> = attempts
            .iter()
            .filter_map(|entry| entry.attempt.cost_usd)
            .collect();
        let state = &open.state;
        let failed = state.progress.skipped.iter().filter_map(|id| {
            let last = attempts.iter().rfind(|entry| entry.attempt.story == *id)?;
            last.attempt.verdict.counts().then(|| last.clone())
        });
        let failed = failed.collect();
        let git = &open.context.repo.git;
        Ok(Self {
            attempts: attempts.len(),
            seconds: attempts.iter().map(|entry| entry.attempt.duration).sum(),
            cost: (!costs.is_empty()).then(|| costs.iter().sum()),
            changed: git.diff_size(&state.before.initial, &state.checkpoint).await?,
            failed,
            next: status.next_steps(driver),
            status,
        })
    }
}
