//! Errors of steps that the progress of the loop does not allow.

use std::path::PathBuf;

use crate::error::refusals::refusals;
use crate::names::counted;

refusals! {
/// The reason why a step may not follow now.
#[derive(Debug, thiserror::Error)]
pub enum StepRefusal {
    #[error("story {story} failed and can be retried ({} left)", counted(*left, "retry", "retries"))]
    RetryFirst {
        change: String,
        story: String,
        left: u32,
    }
        => RetriesLeft, "git ralph retry {change}", change;
    #[error("story {story} failed and has no retries left")]
    RetriesSpent { change: String, story: String }
        => RetriesSpent, "git ralph retry {change} --max-retries <n>, git ralph skip {change} {story}, or git ralph finish {change}", change, story;
    #[error("no story has failed")]
    NothingFailed(String)
        => "git ralph next {change}", (change);
    #[error("loop '{0}' is already finished")]
    LoopFinished(String)
        => "to begin a new loop: git ralph start {change}", (change);
    /// Another command has continued the loop while the user was asked how to finish it.
    #[error("loop '{0}' has changed while the question was asked: nothing was done")]
    AnsweredElsewhere(String)
        => Busy, "git ralph status {change}", (change);
    /// `prune` was called for a loop that is not closed.
    #[error("loop '{0}' is still active: nothing was removed")]
    LoopLive(String)
        => "git ralph finish {change}", (change);
    #[error(
        "the state of loop '{change}' does not fit the repository: {checkpoint} is not one of its checkpoints"
    )]
    Unfit {
        change: String,
        /// The abbreviated object id.
        checkpoint: String,
        file: PathBuf,
    }
        => "mv {file} {file}.damaged && git ralph start {change} --resume", file, change;
    /// A defect of git-ralph.
    #[error("loop '{0}' is not in a state that allows this")]
    WrongPhase(String)
        => "git ralph status {change}", (change);
}
}
