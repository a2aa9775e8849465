//! The summary of a loop at the end of a command: its progress, its time and cost.

use super::status::Status;
use crate::engine::{Loop, raised_by};
use crate::error::Error;
use crate::events::log::LogEntry;
use crate::git::DiffSize;
use std::time::Duration;

/// The summary of a loop at the end of a command.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The status of the loop.
    pub status: Status,
    /// Its attempts.
    pub attempts: Vec<LogEntry>,
    /// The time of the run that ends; `None` for another command.
    pub run: Option<Duration>,
    /// The size of the checkpoints' changes.
    pub changed: DiffSize,
    /// The last attempts at stories that are skipped because they failed.
    pub failed: Vec<LogEntry>,
}

impl Summary {
    /// Returns the summary of an open loop. One git process.
    pub async fn of(open: &Loop<'_>) -> Result<Self, Error> {
        let mut status = Status::remembered(&open.state);
        let attempts = open.attempts()?;
        status.add_attempts(&open.state, &attempts);
        status.raised_by = raised_by(&open.state, &attempts, &open.settings());
        let state = &open.state;
        let failed = state.progress().skipped.iter().filter_map(|id| {
            let last = attempts.iter().rfind(|entry| entry.attempt.story == *id)?;
            last.attempt.verdict.counts().then(|| last.clone())
        });
        Ok(Self {
            failed: failed.collect(),
            attempts,
            run: None,
            changed: open.git().diff_size(state.initial(), state.checkpoint()).await?,
            status,
        })
    }
}
