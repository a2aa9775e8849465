//! An agent's session in the status of a loop.

use jiff::Timestamp;
use serde::Serialize;

use crate::state::{Given, State};

/// An agent's session in a status.
#[derive(Clone, Debug, Serialize)]
pub struct SessionStatus {
    /// The agent's id of the session.
    pub id: String,
    /// True if git-ralph asked it to continue, and no end and no error was reported since.
    pub at_work: bool,
    /// Time of the latest call of one of its hooks.
    pub seen: Timestamp,
    /// The id of the story that it was given, if that is still open.
    pub story: Option<String>,
    /// True if it ended although git-ralph asked it to continue.
    pub ended_early: bool,
    /// The error of its service that stopped it.
    pub error: Option<String>,
}

impl SessionStatus {
    /// Describes the session of a live loop; returns `None` if the loop has continued without it.
    pub(super) fn of(state: &State) -> Option<Self> {
        let session = state.here.session.as_ref().filter(|_| state.is_live())?;
        let attempted = |story: &str| state.current_at(story).map_or(0, |current| current.attempt);
        let tip = state.checkpoint();
        let is_past = |given: &&Given| given.checkpoint != *tip || given.attempt <= attempted(&given.story);
        if session.given.as_ref().is_some_and(|given| is_past(&given)) {
            return None;
        }
        Some(Self {
            id: session.id.clone(),
            at_work: session.is_at_work(),
            seen: session.seen,
            story: session.given.as_ref().map(|given| given.story.clone()),
            ended_early: session.has_ended_early(),
            error: session.error.clone(),
        })
    }
}
