//! The prompt of the next attempt.

use std::path::Path;

use super::{learnings, numbers};
use crate::engine::Loop;
use crate::error::Error;
use crate::prompt::{self, Template};
use crate::settings::Settings;
use crate::state::Phase;
use crate::stories::{Adapter, Story};

/// Renders the prompt that the next attempt at `story` gets.
///
/// # Errors
/// When the template does not fit.
pub fn prompt_text(open: &Loop<'_>, story: &Story, settings: &Settings) -> Result<String, Error> {
    let current = open
        .state
        .progress
        .story
        .as_ref()
        .filter(|current| current.id == story.id);
    let learnings = learnings::newest(open);
    let running = open.state.progress.phase == Phase::Running;
    let attempt = match current {
        Some(current) if running => current.attempt,
        _ => numbers::next_number(open, &story.id),
    };
    let template = Template::load(&open.context.repo.top, settings.prompt.as_deref())?;
    let inputs = prompt::Inputs {
        change: open.change().as_str(),
        branch: &open.state.branch,
        story,
        source: &open.state.source.path,
        adapter: open.state.source.adapter.name(),
        mark: settings.mark.name(),
        attempt,
        reason: current.and_then(|current| current.reason.as_deref()),
        context: &context_files(open),
        learnings: &learnings,
        gates: &settings.verify,
    };
    Ok(prompt::render(&template, &inputs)?)
}

/// Lists the documents beside an openspec story list that explain the change.
fn context_files(open: &Loop<'_>) -> Vec<String> {
    let source = &open.state.source;
    if source.adapter != Adapter::Openspec {
        return Vec::new();
    }
    let Some(dir) = Path::new(&source.path).parent() else {
        return Vec::new();
    };
    ["proposal.md", "design.md", "specs"]
        .iter()
        .map(|name| dir.join(name))
        .filter(|path| open.context.repo.top.join(path).exists())
        .map(|path| path.to_string_lossy().into_owned())
        .collect()
}
