//! The reviewer that the settings name.

use std::path::Path;

use crate::agent::Agent;
use crate::engine::attempt::refusal::AttemptRefusal;
use crate::error::Error;
use crate::prompt::{Template, review as prompt};
use crate::settings::Settings;

/// A reviewer, ready to be asked.
pub(crate) struct Reviewer {
    pub agent: Agent,
    pub template: Template,
}

impl Reviewer {
    /// Returns the reviewer of the settings, if there is one.
    pub fn of(settings: &Settings, top: &Path, known: Option<Template>) -> Result<Option<Self>, Error> {
        let Some(agent) = agent(settings, top) else {
            return Ok(None);
        };
        if let Some(missing) = agent.command.missing_program(top) {
            return Err(AttemptRefusal::ReviewerMissing(missing).into());
        }
        let template = match known {
            Some(known) => known,
            None => prompt::load(top, settings.review_prompt.as_deref())?,
        };
        Ok(Some(Self { agent, template }))
    }

    /// Returns its name, or that of its program.
    pub fn name(&self) -> String {
        self.agent.label()
    }
}

fn agent(settings: &Settings, top: &Path) -> Option<Agent> {
    let name = settings.review.as_deref()?;
    Agent::choose(&[], Some(name), &settings.agents, top)
}

/// Returns the name of the reviewer of the settings, or that of its program.
pub(crate) fn name(settings: &Settings, top: &Path) -> Option<String> {
    agent(settings, top).map(|agent| agent.label())
}
