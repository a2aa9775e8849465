//! Notes why a step or a run ended early.

use nix::sys::signal::Signal;

use super::StepEnd;
use super::stop_request::{BY_REQUEST, BY_REQUEST_NOW, is_request};
use crate::engine::Loop;
use crate::engine::attempt::refusal::AttemptRefusal;
use crate::engine::attempt::verdict::Unjudged;
use crate::error::Error;
use crate::signal;

/// Returns the reason why a step ended early, in words; `None` if its story is the reason.
pub(super) fn stopped_by(end: &Result<StepEnd, Error>) -> Option<String> {
    match end {
        Ok(StepEnd::Limited(limit)) => Some(at_limit(limit)),
        Ok(StepEnd::Interrupted(signal)) => Some(by_signal(*signal)),
        Ok(StepEnd::Asked) => Some(BY_REQUEST.to_owned()),
        Err(
            error @ Error::Attempt(
                AttemptRefusal::AgentUnable { .. }
                | AttemptRefusal::NothingChanged { .. }
                | AttemptRefusal::NoVerdict { .. },
            ),
        ) => Some(error.to_string()),
        Err(error @ Error::Attempt(AttemptRefusal::NeedsTests { .. })) => {
            let hint = error.hint().unwrap_or_default();
            Some(format!("{error}; {hint}"))
        }
        Ok(_) | Err(_) => None,
    }
}

/// The beginning of the description of a step that a limit ended.
const AT_LIMIT: &str = "stopped at a limit: ";

/// Returns the description of a step that a limit ended.
pub fn at_limit(limit: &str) -> String {
    format!("{AT_LIMIT}{limit}")
}

/// Returns why an attempt was not judged, from the noted reason for which its step ended.
pub(crate) fn unjudged(noted: &str) -> Option<Unjudged> {
    if noted == BY_REQUEST {
        return Some(Unjudged::Asked);
    }
    let limit = noted.strip_prefix(AT_LIMIT)?;
    Some(Unjudged::Limited(limit.to_owned()))
}

/// Returns the description of a step that a signal ended.
pub fn by_signal(signal: i32) -> String {
    format!("stopped by {}", signal::name(signal))
}

/// Notes the reason why a step or a run ended early, for `git ralph status`.
pub(crate) fn note_stopped(open: &mut Loop<'_>, why: Option<String>) {
    let Some(mut why) = why else {
        return;
    };
    let term = Signal::SIGTERM as i32;
    if why == by_signal(term) && is_request(open, term) {
        BY_REQUEST_NOW.clone_into(&mut why);
    }
    open.state.here.stopped = Some(why);
    open.state.end_wait();
    if let Err(error) = open.save().and_then(|()| Ok(open.store.forget_stop()?)) {
        open.tell(format!("cannot note why it stopped: {error}"));
    }
}
