//! Errors of steps that the progress of the loop does not allow.

use std::path::PathBuf;

use crate::error::advice::hint;
use crate::error::refusals::refusals;
use crate::names::counted;
use crate::state::State;

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
    /// The work of another story is in the work tree, and waits for a reviewer.
    #[error("the work of {attempt} is in the work tree, no reviewer has judged it, and another story is next")]
    Unreviewed { change: String, attempt: String }
        => Person, "git ralph revert {change} undoes it; to judge it, make its story the next one (git ralph stories {change})", change;
    /// The work waits for a reviewer, and no setting names one.
    #[error("no reviewer has judged the work of {attempt}, and none is configured")]
    NoReviewerNow { change: String, attempt: String }
        => Person, "git config ralph.review <name>, then run the same command again; or git ralph complete {change} accepts the work, and git ralph revert {change} undoes it", change;
    #[error("no story has failed")]
    NothingFailed(String)
        => "git ralph next {change}", (change);
    #[error("loop '{change}' is over: {end}")]
    LoopFinished {
        change: String,
        /// The words about how it was closed.
        end: String,
        /// The command for its work, and what that does.
        work: String,
        /// The command that begins it again, if a story is open.
        again: Option<String>,
    }
        => |work, again| {
            let again = again.iter().map(|again| format!("; to begin again: {again}"));
            hint(format!("{work}{}", again.collect::<String>()))
        };
    /// Another command has continued the loop while the user was asked how to finish it.
    #[error("loop '{0}' has changed while the question was asked: nothing was done")]
    AnsweredElsewhere(String)
        => Busy, "git ralph status {change}", (change);
    /// `complete` was called for the work of an interrupted attempt, which is now undone.
    #[error("an attempt that was cut off is undone now: the work tree is not the one that you saw")]
    UndoneNow(String)
        => "look at it, then run the same command again; what was undone: git ralph log {change}", (change);
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
    /// A command for one of several parallel attempts: the loop that takes it in decides about it.
    #[error("'{side}' is an attempt of '{change}', beside others: it has no commands of its own that change something")]
    OfSide { side: String, change: String }
        => "git ralph status {change}", change;
    /// A process that was to work on a story beside others made no attempt.
    #[error("no attempt at story {story} began in {side}: {why}")]
    NotBegunBeside {
        change: String,
        story: String,
        side: String,
        /// What it said, or its end, in words.
        why: String,
    }
        => "git ralph run {change} --jobs 1", change;
    /// A defect of git-ralph.
    #[error("loop '{0}' is not in a state that allows this")]
    WrongPhase(String)
        => "git ralph status {change}", (change);
}
}

impl StepRefusal {
    /// Refuses a step of a finished loop.
    pub fn of_end(state: &State) -> Self {
        Self::LoopFinished {
            change: state.change.to_string(),
            end: state.end_in_words(),
            work: format!("its commits: {}", state.show_commits()),
            again: state.begin_again(None, false),
        }
    }
}
