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
    /// Returns the reviewers of the settings; all of them have to accept.
    pub fn all(settings: &Settings, top: &Path, known: Option<Template>) -> Result<Vec<Self>, Error> {
        let mut agents: Vec<Agent> = agents(settings, top).collect();
        if let Some(missing) = agents.iter().find_map(|agent| agent.command.missing_program(top)) {
            return Err(AttemptRefusal::ReviewerMissing(missing).into());
        }
        if agents.is_empty() {
            return Ok(Vec::new());
        }
        let template = match known {
            Some(known) => known,
            None => prompt::load(top, settings.review_prompt.as_deref())?,
        };
        let reviewer = |agent| Self {
            agent,
            template: template.clone(),
        };
        Ok(agents.drain(..).map(reviewer).collect())
    }

    /// Returns the name of the reviewer, or of its program.
    pub fn name(&self) -> String {
        self.agent.label()
    }
}

fn agents(settings: &Settings, top: &Path) -> impl Iterator<Item = Agent> {
    let names = settings.review.iter();
    names.filter_map(|name| Agent::choose(&[], Some(name), &settings.agents, top))
}

/// Returns the names of the reviewers of the settings, or those of their programs.
pub(crate) fn name(settings: &Settings, top: &Path) -> Option<String> {
    let names: Vec<String> = agents(settings, top).map(|agent| agent.label()).collect();
    (!names.is_empty()).then(|| names.join(", "))
}
