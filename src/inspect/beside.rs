//! Reports the parallel attempts of a loop, including those that the loop has not taken in yet.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Serialize;

use super::at_work::RunningAttempt;
use crate::events::log::LogEntry;
use crate::names::Change;
use crate::state::{Phase, State, Store, Verdict, sides};

/// The stage of a parallel attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Its process runs.
    #[default]
    Running,
    /// Its agent has made a promise; the loop has not judged it yet.
    Promised,
    /// It has ended without success; the loop has not counted it yet.
    Failed,
    /// Its process is gone.
    Interrupted,
}

/// An attempt beside others in a status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ParallelAttempt {
    /// The story's id.
    pub story: String,
    /// Its title.
    pub title: String,
    /// The attempt's number.
    pub attempt: u32,
    /// The number of its side.
    pub slot: u16,
    /// The name under which its output is found.
    pub side: Change,
    /// Its work tree.
    pub worktree: String,
    /// The path of its work tree.
    #[serde(skip)]
    pub top: PathBuf,
    /// Retries that are left if it fails.
    #[serde(skip)]
    pub left: u32,
    /// Time of its beginning; null once its agent has ended.
    pub since: Option<Timestamp>,
    /// Time of its last output, or of its beginning; null once its agent has ended.
    pub last_output: Option<Timestamp>,
    /// Its stage.
    #[serde(rename = "phase")]
    pub stage: Stage,
}

impl ParallelAttempt {
    /// Returns the parallel attempts of a loop, in the order of their places, except the one being judged.
    pub fn all_of(common_dir: &Path, state: &State) -> Vec<Self> {
        let judged = state.attempted().map(|story| story.id.as_str());
        let mut all = Self::all_there(common_dir, &state.change);
        all.retain(|one| Some(one.story.as_str()) != judged);
        all
    }

    /// Returns the parallel attempts, including the one being judged.
    pub(super) fn all_there(common_dir: &Path, change: &Change) -> Vec<Self> {
        let sides = sides(common_dir, change).unwrap_or_default();
        sides
            .iter()
            .filter_map(|side| Self::of(common_dir, side))
            .collect()
    }

    /// Returns the attempt of a side; `None` if none has begun.
    fn of(common_dir: &Path, side: &Change) -> Option<Self> {
        let state = Store::new(common_dir, side).load_live().ok()??;
        let running = RunningAttempt::of(common_dir, &state);
        let stage = match (&running, state.phase()) {
            (Some(_), _) => Stage::Running,
            // The other stories of its list are not its own.
            (None, Phase::Complete) => Stage::Promised,
            (None, Phase::Failed | Phase::Exhausted) => Stage::Failed,
            (None, _) => Stage::Interrupted,
        };
        let (story, title, attempt) = match state.current() {
            Some(story) => (&story.id, &story.title, story.attempt),
            None => {
                let made = state.progress().completed.last();
                let made = made.filter(|_| stage == Stage::Promised)?;
                (&made.id, &made.title, made.work.as_ref()?.attempt)
            }
        };
        Some(Self {
            story: story.clone(),
            title: title.clone(),
            attempt,
            slot: side.side_of().map_or(1, |(_, place)| place),
            side: side.clone(),
            worktree: state.here.worktree.to_string(),
            top: state.work_tree().to_owned(),
            left: state
                .progress()
                .max_retries
                .saturating_sub(state.failures_of(story)),
            since: running.as_ref().map(|running| running.since),
            last_output: running.map(|running| running.last_output),
            stage,
        })
    }

    /// Returns whether the loop already has it among its own attempts.
    pub(super) fn is_among(&self, attempts: &[LogEntry]) -> bool {
        let mut own = attempts.iter().map(|entry| &entry.attempt);
        own.any(|own| {
            own.verdict != Verdict::Interrupted && (&own.story, own.attempt) == (&self.story, self.attempt)
        })
    }

    /// Returns whether its process runs.
    pub fn is_running(&self) -> bool {
        self.stage == Stage::Running
    }
}
