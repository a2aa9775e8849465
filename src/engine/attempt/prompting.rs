//! The prompt of the next attempt.

use std::path::Path;

use jiff::Timestamp;

use super::{learnings, numbers};
use crate::engine::Loop;
use crate::error::Error;
use crate::prompt::{self, Template};
use crate::settings::Settings;
use crate::state::{Given, Phase};
use crate::stories::{Adapter, Story};

/// Renders the prompt of the next attempt at `story`.
///
/// # Errors
/// If the template is invalid.
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
    // A session has none of git-ralph's variables, so the prompt names the path.
    let file = learnings::file(open);
    let learnings_file = file.strip_prefix(&open.context.repo.top).unwrap_or(&file);
    let inputs = prompt::Inputs {
        change: open.change().as_str(),
        branch: &open.state.branch,
        strategy: open.state.strategy.name(),
        story,
        source: &open.state.source.path,
        adapter: open.state.source.adapter.name(),
        mark: settings.mark.name(),
        attempt,
        reason: current.and_then(|current| current.reason.as_deref()),
        context: &context_files(open),
        learnings: &learnings,
        learnings_file: &learnings_file.to_string_lossy(),
        gates: &settings.verify,
    };
    Ok(prompt::render(&template, &inputs)?)
}

/// Records that the prompt about `story` was shown, for the session that receives it.
///
/// # Errors
/// If the state cannot be saved.
pub fn note_prompted(open: &mut Loop<'_>, story: &Story) -> Result<(), Error> {
    open.state.prompted = Some(Given {
        story: story.id.clone(),
        attempt: numbers::next_number(open, &story.id),
        checkpoint: open.state.checkpoint.clone(),
        since: Timestamp::now(),
    });
    open.save()
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
