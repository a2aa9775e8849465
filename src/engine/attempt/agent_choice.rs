//! Chooses the agent of an attempt.

use std::ffi::OsString;
use std::path::Path;

use crate::agent::Agent;
use crate::settings::Settings;
use crate::state::State;
use crate::stories::Story;

/// Chooses the agent of a step or of a new loop: the given command, else the agent of the settings.
pub fn agent_of(given: &[OsString], settings: &Settings, top: &Path) -> Option<Agent> {
    Agent::choose(given, settings.agent.as_deref(), &settings.agents, top)
}

/// Chooses the agent that stands in for one that cannot work, if the settings name one.
pub(crate) fn stand_in(settings: &Settings, top: &Path) -> Option<Agent> {
    let name = settings.fallback_agent.as_deref()?;
    Agent::choose(&[], Some(name), &settings.agents, top)
}

/// Chooses the agent of the next attempt at a story: a retry can have one of its own.
pub fn usual_agent(
    state: &State,
    story: &Story,
    given: &[OsString],
    settings: &Settings,
    top: &Path,
) -> Option<Agent> {
    let has_failed = state.failures_of(&story.id) > 0;
    match &settings.retry_agent {
        Some(name) if has_failed && given.is_empty() => Agent::choose(&[], Some(name), &settings.agents, top),
        _ => agent_of(given, settings, top),
    }
}
