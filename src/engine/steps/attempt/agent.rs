//! Chooses the agent of an attempt by the options of the command.

use std::ffi::OsString;

use crate::agent::Agent;
use crate::engine::attempt::agent_choice::{stand_in, usual_agent};
use crate::engine::attempt::refusal::AttemptRefusal;
use crate::engine::{Loop, Step};
use crate::error::Error;
use crate::settings::{Leave, Settings};
use crate::stories::Story;

/// Options of a step on the command line.
#[derive(Clone, Debug, Default)]
pub struct AttemptOptions {
    /// The agent given after `--`.
    pub agent: Vec<OsString>,
    /// The settings for this step.
    pub settings: Settings,
    /// Number of attempts that this command has begun so far.
    pub started: u32,
    /// True to continue although an agent's own session works on the loop.
    pub force: bool,
    /// The stories of a run that may change tests.
    pub leave: Option<Leave>,
}

/// The agent of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// The agent of the settings or the command line, for a first attempt or a retry.
    Usual,
    /// The agent of `ralph.fallbackAgent`.
    Fallback,
}

/// Reports that the fallback agent makes the attempt.
pub(super) fn tell_fallback(open: &Loop<'_>, why: &str) {
    open.tell(format!("{why}; retrying with ralph.fallbackAgent"));
}

/// Returns the agent of an attempt; an error if its program is missing.
pub(super) fn require_agent(
    open: &Loop<'_>,
    step: Step,
    story: &Story,
    options: &AttemptOptions,
    which: Which,
) -> Result<Agent, Error> {
    let command = if step == Step::Retry { "retry" } else { "next" };
    let (top, settings) = (&open.repo().top, &options.settings);
    let agent = match which {
        Which::Fallback => stand_in(settings, top),
        Which::Usual => usual_agent(&open.state, story, &options.agent, settings, top),
    };
    let agent = agent.ok_or_else(|| AttemptRefusal::NoAgent(command.to_owned()))?;
    match AttemptRefusal::of_missing(&agent.command, top) {
        Some(missing) => Err(missing.into()),
        None => Ok(agent),
    }
}

/// Returns the agent of a first attempt with these options: the fallback if the first is missing.
pub(crate) fn agent_of_attempt(
    open: &Loop<'_>,
    story: &Story,
    options: &AttemptOptions,
) -> Result<Agent, Error> {
    let agent = |which| require_agent(open, Step::Next, story, options, which);
    match agent(Which::Usual) {
        Err(Error::Attempt(refusal))
            if refusal.is_about_agent() && options.settings.fallback_agent.is_some() =>
        {
            agent(Which::Fallback)
        }
        agent => agent,
    }
}

/// Returns whether the run lets this story change tests: the story that it attempts first, or each.
pub(super) fn may_change_tests(
    allowed: &mut Option<String>,
    options: &AttemptOptions,
    story: &Story,
) -> bool {
    match options.leave {
        None => false,
        Some(Leave::All) => true,
        Some(Leave::Story) => *allowed.get_or_insert_with(|| story.id.clone()) == story.id,
    }
}
