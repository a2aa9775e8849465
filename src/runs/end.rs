//! Decides the consequences of the end of one change for the others.

use super::one::Ended;
use super::schedule::End;
use crate::engine::attempt::refusal::AttemptRefusal;
use crate::engine::story_refusal::StoryRefusal;
use crate::error::Error;
use crate::exit::Exit;
use crate::remote::refusal::RemoteRefusal;
use crate::state::StateError;

/// Returns the end for the schedule, and the reason in words. On a terminal the user was asked, and has left the change
/// unchanged.
pub(super) fn end_of(ended: &Result<Ended, Error>, was_asked: bool) -> (End, String) {
    let error = match ended {
        Ok(ended) if ended.may_go_on => return (End::Closed, String::new()),
        Ok(ended) if ended.exit == Exit::RetriesSpent && !was_asked => {
            return (End::NeedsUser, "a story has no retries left".to_owned());
        }
        Ok(_) => return (End::Stopped, String::new()),
        Err(error) => error,
    };
    let end = match error {
        Error::Remote(RemoteRefusal::Held { .. } | RemoteRefusal::Lost { .. })
        | Error::State(StateError::Busy { .. }) => End::Taken,
        Error::Remote(RemoteRefusal::Over { .. }) => End::Over,
        Error::Story(StoryRefusal::NothingLeft { live: false, .. }) => End::WasComplete,
        error if is_about_one(error) => End::NeedsUser,
        _ => End::Stopped,
    };
    let why = match error {
        Error::Remote(refusal @ RemoteRefusal::WentBack { .. }) => refusal.with_hint(),
        error => error.to_string(),
    };
    (end, why)
}

/// Returns whether an error concerns only the loop of one change: the others can continue.
fn is_about_one(error: &Error) -> bool {
    match error {
        Error::Remote(refusal) => matches!(
            refusal,
            RemoteRefusal::Unintelligible { .. }
                | RemoteRefusal::NotFetched { .. }
                | RemoteRefusal::Gone { .. }
                | RemoteRefusal::NoState { .. }
                | RemoteRefusal::Mistaken { .. }
                | RemoteRefusal::Another(_)
                | RemoteRefusal::Behind { .. }
                | RemoteRefusal::Different { .. }
                | RemoteRefusal::WentBack { .. }
                | RemoteRefusal::LoopBelowOtherRefs { .. }
                | RemoteRefusal::NoBranch { .. }
                | RemoteRefusal::Refused { .. }
        ),
        // A missing agent, or one without credit, is missing for all of them.
        Error::Attempt(refusal) => matches!(
            refusal,
            AttemptRefusal::NothingChanged { .. }
                | AttemptRefusal::UnprovenGates { .. }
                | AttemptRefusal::SessionAtWork { .. }
        ),
        Error::Start(_)
        | Error::Story(_)
        | Error::Step(_)
        | Error::Source(_)
        | Error::Finish(_)
        | Error::Hook(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_of_another_process_here_is_taken() {
        let busy = StateError::Busy {
            change: "a".to_owned(),
            holder: None,
        };
        assert_eq!(end_of(&Err(busy.into()), false).0, End::Taken);
    }
}
