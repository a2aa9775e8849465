//! What the next attempt is told.

use std::path::Path;

use super::Session;
use crate::error::Error;
use crate::prompt::{self, Template};
use crate::settings::Settings;
use crate::state::Phase;
use crate::stories::{Adapter, Story};

impl Session<'_> {
    /// The prompt that the next attempt at `story` gets.
    ///
    /// # Errors
    /// When the template does not fit.
    pub fn prompt_text(&self, story: &Story, settings: &Settings) -> Result<String, Error> {
        let current = self
            .state
            .progress
            .story
            .as_ref()
            .filter(|current| current.id == story.id);
        let learnings = self.learnings();
        let running = self.state.progress.phase == Phase::Running;
        let attempt = match current {
            Some(current) if running => current.attempt,
            _ => self.next_attempt_number(&story.id),
        };
        let template = Template::load(&self.engine.repo.top, settings.prompt.as_deref())?;
        let inputs = prompt::Inputs {
            change: self.change().as_str(),
            branch: &self.state.branch,
            story,
            source: &self.state.source.path,
            adapter: self.state.source.adapter.name(),
            mark: settings.mark.name(),
            attempt,
            reason: current.and_then(|current| current.reason.as_deref()),
            context: &self.context_files(),
            learnings: &learnings,
            gates: &settings.verify,
        };
        Ok(prompt::render(&template, &inputs)?)
    }

    /// The documents beside an openspec story list that explain the change.
    fn context_files(&self) -> Vec<String> {
        let source = &self.state.source;
        if source.adapter != Adapter::Openspec {
            return Vec::new();
        }
        let Some(dir) = Path::new(&source.path).parent() else {
            return Vec::new();
        };
        ["proposal.md", "design.md", "specs"]
            .iter()
            .map(|name| dir.join(name))
            .filter(|path| self.engine.repo.top.join(path).exists())
            .map(|path| path.to_string_lossy().into_owned())
            .collect()
    }
}
