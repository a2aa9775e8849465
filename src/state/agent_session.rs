//! The recorded facts about an agent's own session that drives a loop through its hooks: pure data.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::State;
use crate::events::Further;
use crate::names::Oid;

/// The state of an agent's session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSession {
    /// The agent's id of the session.
    pub id: String,
    /// Time of the latest call of one of its hooks.
    pub seen: Timestamp,
    /// Number of attempts that the session has made.
    #[serde(default)]
    pub attempts: u32,
    /// Number of reminders of the promise in this attempt.
    #[serde(default)]
    pub reminders: u32,
    /// The reason for which it was asked about its promise in this attempt.
    pub asked: Option<Further>,
    /// True if the last answer let the session end its turn: from then on only a promise counts.
    #[serde(default)]
    pub released: bool,
    /// The story in the last answer to the session; the user gave the session its first story.
    pub given: Option<Given>,
    /// The known part of a message that grows from turn to turn.
    pub heard: Option<Heard>,
    /// The end of the session, if it has ended.
    pub ended: Option<Ended>,
    /// The service error that ended its last turn.
    pub error: Option<String>,
}

impl AgentSession {
    /// Creates the record of a new session.
    pub fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            seen: Timestamp::now(),
            ..Self::default()
        }
    }

    /// Returns whether the session ended although git-ralph asked it to continue.
    pub fn has_ended_early(&self) -> bool {
        !self.released && self.ended.is_some()
    }

    /// Returns whether the session seems to be working now: one of its hooks was called within this time.
    pub fn is_heard_at_work(&self, within: Option<SignedDuration>) -> bool {
        let silent = Timestamp::now().duration_since(self.seen);
        self.is_at_work() && within.is_none_or(|limit| silent < limit)
    }

    /// Returns whether git-ralph asked the session to continue and no end has been reported since.
    pub fn is_at_work(&self) -> bool {
        !self.released && self.ended.is_none() && self.error.is_none()
    }
}

/// A story that a session was given, and the position of the loop when it was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    /// The story's id.
    pub story: String,
    /// The number that the attempt will have.
    pub attempt: u32,
    /// The checkpoint that it starts from.
    pub checkpoint: Oid,
    /// Time of the answer.
    pub since: Timestamp,
}

/// The known part of a growing message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard {
    /// Its length, in bytes.
    pub length: usize,
    /// A text that identifies these bytes.
    pub mark: String,
}

/// The end of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Time of the end.
    pub at: Timestamp,
    /// The reason, in the agent's own words.
    pub why: Option<String>,
}

impl State {
    /// Returns the session of an agent that works on the loop.
    pub fn session_at_work(&self) -> Option<&AgentSession> {
        let session = self.here.session.as_ref();
        session.filter(|session| session.is_at_work())
    }

    /// Returns the story that an agent's session was given.
    pub fn given(&self) -> Option<&Given> {
        self.here.session.as_ref()?.given.as_ref()
    }

    /// Returns whether a session was given the present story.
    pub fn is_given_to_session(&self) -> bool {
        let (Some(given), Some(story)) = (self.given(), self.current()) else {
            return false;
        };
        given.story == story.id && given.attempt == story.attempt
    }

    /// Completes an interrupted answer to a session that had changed nothing: the attempt is not over, but its number
    /// is used up.
    pub fn follow_cut_off_answer(&mut self) {
        if !self.is_given_to_session() {
            return;
        }
        let session = self.here.session.as_mut();
        if let Some(given) = session.and_then(|session| session.given.as_mut()) {
            given.attempt = given.attempt.saturating_add(1);
        }
    }

    /// Releases the session that drove the loop, because another command makes an attempt: from now on only a promise
    /// of the session counts.
    pub fn leave_session(&mut self) {
        if let Some(session) = &mut self.here.session {
            session.released = true;
            (session.ended, session.error) = (None, None);
        }
    }
}
