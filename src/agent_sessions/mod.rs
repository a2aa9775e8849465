//! Lets an agent's own session drive the loop: its hooks ask git-ralph when it stops, and the answer is the next
//! prompt, or that it may end. The session's message is judged like any agent's last message, by the same functions as
//! `complete` and `fail`; between two stops no step is in progress, so that a session may end at any time.
//!
//! - `hook_input`: the input of a hook; `transcript`: the last message, if the input has none; `usage`: tokens and cost;
//! - `locate`: the loop of the session, found before any process starts;
//! - `stop`: from the last message to the answer;
//! - `answer`: the answer to the agent.
//!
//! A hook never breaks a session: errors are reported to its user, and the session may end.

mod answer;
mod hook_input;
mod locate;
mod session;
mod stop;
mod transcript;
mod usage;

use jiff::Timestamp;

use crate::engine::{self, Context, Loop};
use crate::error::Error;
use crate::events::Observer;
use crate::state::Ended;
use session::{agent_session, other_agent_session};

pub use answer::Answer;
pub use hook_input::HookInput;
pub use locate::{LoopHere, locate};

/// An event at which an agent calls git-ralph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum Event {
    /// The agent has ended its turn.
    Stop,
    /// An error of the agent's service has ended the turn.
    StopFailure,
    /// The session ends.
    SessionEnd,
}

impl Event {
    /// Returns the event of this name on the command line.
    pub fn named(name: &str) -> Option<Self> {
        name.parse().ok()
    }

    /// Returns whether the agent's own name for its event can mean this one.
    pub fn may_be(self, name: Option<&str>) -> bool {
        let names: &[&str] = match self {
            Self::Stop => &["Stop", "AfterAgent", "agentStop"],
            Self::StopFailure => &["StopFailure"],
            Self::SessionEnd => &["SessionEnd", "sessionEnd"],
        };
        name.is_none_or(|name| names.contains(&name))
    }
}

/// Handles the call of an agent's hook; returns the answer to the agent.
///
/// # Errors
/// As `complete` and `fail`. Nothing is lost then.
pub async fn answer(
    event: Event,
    call: &HookInput,
    here: &LoopHere,
    observer: &dyn Observer,
) -> Result<Answer, Error> {
    let context = Context::open(&here.top, observer).await?;
    let change = here.change.clone().or_else(|| context.change_of_branch());
    let Some(change) = change else {
        return Ok(Answer::Nothing);
    };
    let open = engine::open(context, &change).await?;
    if !open.state.is_live() {
        return Ok(Answer::Nothing);
    }
    match event {
        Event::Stop => stop::agent_stopped(open, call).await,
        Event::StopFailure => agent_failed(open, call),
        Event::SessionEnd => agent_session_ended(open, call),
    }
}

/// Records that an error of the agent's service ended the turn.
fn agent_failed(mut open: Loop<'_>, call: &HookInput) -> Result<Answer, Error> {
    if other_agent_session(&open, &call.session).is_some() {
        return Ok(Answer::Nothing);
    }
    let error = call.error.clone().unwrap_or_else(|| "unknown".to_owned());
    let session = agent_session(&mut open.state, &call.session);
    session.seen = Timestamp::now();
    session.error = Some(error.clone());
    open.save()?;
    open.tell(format!("an error has stopped the agent's session: {error}"));
    Ok(Answer::Nothing)
}

/// Records that the session has ended; one that git-ralph asked to continue leaves its story unfinished.
fn agent_session_ended(mut open: Loop<'_>, call: &HookInput) -> Result<Answer, Error> {
    let session = open.state.here.session.as_mut();
    let Some(session) = session.filter(|session| session.id == call.session) else {
        return Ok(Answer::Nothing);
    };
    let (was_at_work, now) = (session.is_at_work(), Timestamp::now());
    session.seen = now;
    session.ended = Some(Ended {
        at: now,
        why: call.why.clone(),
    });
    open.save()?;
    if was_at_work {
        open.tell("the agent's session has ended, but the loop is still active");
    }
    Ok(Answer::Nothing)
}
