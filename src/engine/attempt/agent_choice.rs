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

/// Chooses the agent that replaces one that cannot work, if the settings name one.
pub(crate) fn stand_in(settings: &Settings, top: &Path) -> Option<Agent> {
    let name = settings.fallback_agent.as_deref()?;
    Agent::choose(&[], Some(name), &settings.agents, top)
}

/// Chooses the agent of the next attempt at a story; the settings can name another agent for retries.
pub fn usual_agent(
    state: &State,
    story: &Story,
    given: &[OsString],
    settings: &Settings,
    top: &Path,
) -> Option<Agent> {
    let failures = state.failures_of(&story.id) as usize;
    let rungs = settings.retry_agent.iter();
    match rungs.take(failures).next_back() {
        Some(name) if given.is_empty() => Agent::choose(&[], Some(name), &settings.agents, top),
        _ => agent_of(given, settings, top),
    }
}

/// Returns the agents of the settings whose programs are missing, each with its setting: a run would stop at them. A
/// `given` agent replaces the first two.
pub fn missing_agents(given: &[OsString], settings: &Settings, top: &Path) -> Vec<(&'static str, String)> {
    let (mut all, free) = (Vec::new(), given.is_empty());
    for (key, names, is_used) in [
        ("ralph.agent", settings.agent.as_slice(), free),
        ("ralph.retryAgent", settings.retry_agent.as_slice(), free),
        ("ralph.fallbackAgent", settings.fallback_agent.as_slice(), true),
        ("ralph.review", settings.review.as_slice(), true),
    ] {
        all.extend(names.iter().filter(|_| is_used).map(|name| (key, name)));
    }
    let missing = |(key, name): (&'static str, &String)| {
        let agent = Agent::choose(&[], Some(name), &settings.agents, top)?;
        Some((key, agent.command.missing_program(top)?))
    };
    all.into_iter().filter_map(missing).collect()
}
