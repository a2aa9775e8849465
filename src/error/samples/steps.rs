//! Samples of the errors of steps that the progress of the loop does not allow.

use super::{change, path, story};
use crate::error::StepRefusal;

pub(super) fn step() -> Vec<StepRefusal> {
    vec![
        StepRefusal::RetryFirst {
            change: change(),
            story: story(),
            left: 2,
        },
        StepRefusal::RetriesSpent {
            change: change(),
            story: story(),
        },
        StepRefusal::Unreviewed {
            change: change(),
            attempt: "2@1".to_owned(),
        },
        StepRefusal::NoReviewerNow {
            change: change(),
            attempt: "2@1".to_owned(),
        },
        StepRefusal::NothingFailed(change()),
        StepRefusal::UndoneNow(change()),
        StepRefusal::LoopFinished {
            change: change(),
            end: "closed by git ralph abort 3m ago; 1 of 2 stories were complete".to_owned(),
            work: "its commits: git log refs/ralph/add-login/finished".to_owned(),
            again: Some("git ralph start add-login".to_owned()),
        },
        StepRefusal::WrongPhase(change()),
        StepRefusal::LoopLive(change()),
        StepRefusal::AnsweredElsewhere(change()),
        StepRefusal::Unfit {
            change: change(),
            checkpoint: "0123456789".to_owned(),
            file: path("/r/.git/ralph/add-login.toml"),
        },
        StepRefusal::OfSide {
            side: "add-login+2".to_owned(),
            change: change(),
        },
        StepRefusal::NotBegunBeside {
            change: change(),
            story: story(),
            side: "add-login+2".to_owned(),
            why: "its process ended with exit code 1".to_owned(),
        },
    ]
}
