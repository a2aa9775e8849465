//! The story list of a change, and the loop that `start` would begin with it, as listings show them.

use serde::Serialize;

use crate::agent::Agent;
use crate::engine::stories::progress_of;
use crate::engine::story_refusal::StoryRefusal;
use crate::error::Advise;
use crate::names::Change;
use crate::settings::Settings;
use crate::stories::{Listing, Source, Story, Warning};

/// The story list: `git ralph stories --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Stories {
    /// The change.
    pub change: Change,
    /// What listed them.
    pub adapter: &'static str,
    /// The list's path.
    pub source: String,
    /// All stories.
    pub total: usize,
    /// Complete stories.
    pub done: usize,
    /// The stories, in the order of the list.
    pub stories: Vec<ListedStory>,
    /// What its author probably did not mean.
    pub warnings: Vec<Warning>,
}

/// A story with what the loop knows of it.
#[derive(Clone, Debug, Serialize)]
pub struct ListedStory {
    /// The story.
    #[serde(flatten)]
    pub story: Story,
    /// Whether the loop passes over it.
    pub skipped: bool,
}

impl Stories {
    /// Returns the stories of a change.
    #[must_use]
    pub fn of(change: &Change, source: &Source, listing: Listing, skipped: &[String]) -> Self {
        let (done, total) = progress_of(&listing);
        let mut warnings = listing.warnings;
        if total == 0 && listing.stories.is_empty() {
            let refusal = StoryRefusal::NoStories {
                source_file: source.path.clone(),
                adapter: source.adapter,
            };
            let hint = refusal.advice().hint.unwrap_or_default();
            warnings.push(Warning {
                line: 1,
                message: format!("no story is listed; {hint}"),
            });
        }
        Self {
            change: change.clone(),
            adapter: source.adapter.name(),
            source: source.path.clone(),
            total,
            done,
            stories: listing
                .stories
                .into_iter()
                .map(|story| ListedStory {
                    skipped: skipped.contains(&story.id),
                    story,
                })
                .collect(),
            warnings,
        }
    }
}

/// The loop that `start` would begin: `git ralph start --dry-run --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Preview {
    /// The stories.
    #[serde(flatten)]
    pub stories: Stories,
    /// The agent that would work; absent when none is named and none is installed.
    pub agent: Option<ChosenAgent>,
    /// The settings, gates among them.
    pub settings: Settings,
}

/// The agent that a loop would work with.
#[derive(Clone, Debug, Serialize)]
pub struct ChosenAgent {
    /// Its name, when it was chosen by one.
    pub name: Option<String>,
    /// Its command line.
    pub command: String,
    /// The argument by which it no longer asks before it acts, as far as that is known.
    pub unasked: Option<&'static str>,
}

impl ChosenAgent {
    /// Returns what is shown of an agent.
    #[must_use]
    pub fn of(agent: Agent) -> Self {
        Self {
            command: agent.command.to_string(),
            unasked: agent.unasked,
            name: agent.name,
        }
    }
}
