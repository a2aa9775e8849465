//! Errors of steps that the progress of the loop does not allow.

use std::path::PathBuf;

use crate::error::advice::{Advice, Advise, hint};
use crate::exit::Exit;
use crate::names::counted;
use crate::names::{typed, typed_path};

/// The reason why a step may not follow now.
#[derive(Debug, thiserror::Error)]
pub enum StepRefusal {
    #[error("story {story} failed and can be retried ({} left)", counted(*left, "retry", "retries"))]
    RetryFirst {
        change: String,
        story: String,
        left: u32,
    },
    #[error("story {story} failed and has no retries left")]
    RetriesSpent { change: String, story: String },
    #[error("no story has failed")]
    NothingFailed(String),
    #[error("loop '{0}' is already finished")]
    LoopFinished(String),
    /// Another command has gone on with the loop while a person was asked how to finish it.
    #[error("loop '{0}' has changed while the question was asked: nothing was done")]
    AnsweredElsewhere(String),
    /// `prune` was called for a loop that is not closed.
    #[error("loop '{0}' is still active: nothing was removed")]
    LoopLive(String),
    #[error(
        "the state of loop '{change}' does not fit the repository: {checkpoint} is not one of its checkpoints"
    )]
    Unfit {
        change: String,
        /// The abbreviated object id.
        checkpoint: String,
        /// The state file.
        file: PathBuf,
    },
    /// A defect of git-ralph.
    #[error("loop '{0}' is not in a state that allows this")]
    WrongPhase(String),
}

impl Advise for StepRefusal {
    fn advice(&self) -> Advice {
        match self {
            Self::RetryFirst { change, .. } => {
                hint(format!("git ralph retry {change}", change = typed(change))).exit(Exit::RetriesLeft)
            }
            Self::RetriesSpent { change, story } => {
                let story = typed(story);
                hint(format!(
                    "git ralph retry {change} --max-retries <n>, git ralph skip {change} {story}, or git ralph finish {change}",
                    change = typed(change)
                ))
                .exit(Exit::RetriesSpent)
            }
            Self::NothingFailed(change) => hint(format!("git ralph next {change}", change = typed(change))),
            Self::LoopFinished(change) => hint(format!(
                "to begin a new loop: git ralph start {change}",
                change = typed(change)
            )),
            Self::LoopLive(change) => hint(format!("git ralph finish {change}", change = typed(change))),
            Self::Unfit { change, file, .. } => {
                let file = typed_path(file);
                hint(format!(
                    "mv {file} {file}.damaged && git ralph start {change} --resume",
                    change = typed(change)
                ))
            }
            Self::AnsweredElsewhere(change) => {
                hint(format!("git ralph status {change}", change = typed(change))).exit(Exit::Busy)
            }
            Self::WrongPhase(change) => hint(format!("git ralph status {change}", change = typed(change))),
        }
    }
}
