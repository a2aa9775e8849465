//! Errors of steps that the progress of the loop does not allow.

use crate::async_cmd::quoted;
use crate::error::{Advice, Advise, hint};
use crate::exit::Exit;

/// Tells why a step may not follow now.
#[derive(Debug, thiserror::Error)]
pub enum StepRefusal {
    #[error("the story {story} failed and can be retried ({left} left)")]
    RetryFirst {
        change: String,
        story: String,
        left: u32,
    },
    #[error("the story {story} failed and has no retries left")]
    RetriesSpent { change: String, story: String },
    #[error("no story has failed")]
    NothingFailed(String),
    #[error("the loop '{0}' is finished")]
    LoopFinished(String),
    /// `prune` of a loop that is not closed.
    #[error("the loop '{0}' is not finished: nothing of it is removed")]
    LoopLive(String),
    /// A defect of git-ralph.
    #[error("the loop '{0}' is in no state for this")]
    WrongPhase(String),
}

impl Advise for StepRefusal {
    fn advice(&self) -> Advice {
        match self {
            Self::RetryFirst { change, .. } => {
                hint(format!("git ralph retry {change}")).exit(Exit::RetriesLeft)
            }
            Self::RetriesSpent { change, story } => {
                let story = quoted(story);
                hint(format!(
                    "git ralph finish {change}, or: git ralph skip {change} {story}"
                ))
                .exit(Exit::RetriesSpent)
            }
            Self::NothingFailed(change) => hint(format!("git ralph next {change}")),
            Self::LoopFinished(change) => hint(format!("git ralph start {change}")),
            Self::LoopLive(change) => hint(format!("git ralph finish {change}")),
            Self::WrongPhase(change) => hint(format!("git ralph status {change}")),
        }
    }
}
