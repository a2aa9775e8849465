//! The sessions of agents that a loop knows.

use crate::engine::Loop;
use crate::state::{AgentSession, State};

/// Returns the record of the calling session; makes one if it is new.
pub(super) fn agent_session<'s>(state: &'s mut State, id: &str) -> &'s mut AgentSession {
    let session = &mut state.here.session;
    let known = session.take().filter(|session| session.id == id);
    session.insert(known.unwrap_or_else(|| AgentSession::new(id)))
}

/// Returns another session that called a hook lately, and so seems to work on the loop.
pub(super) fn other_agent_session<'l>(open: &'l Loop<'_>, id: &str) -> Option<&'l AgentSession> {
    let other = open.state.here.session.as_ref()?;
    let is_at_work = other.is_heard_at_work(open.settings().idle_timeout);
    (other.id != id && is_at_work).then_some(other)
}
