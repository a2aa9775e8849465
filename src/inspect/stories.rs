//! The story list of a change, and the loop that `start` would begin with it, for listings.

use serde::Serialize;

use crate::agent::Agent;
use crate::engine::stories::{Upcoming, progress_of, upcoming};
use crate::engine::story_refusal::StoryRefusal;
use crate::error::advice::Advise;
use crate::names::Change;
use crate::settings::Settings;
use crate::state::Progress;
use crate::stories::{Listing, Source, Story, Warning};

/// The story list: `git ralph stories --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Stories {
    /// The change.
    pub change: Change,
    /// The adapter that listed them.
    pub adapter: &'static str,
    /// The list's path.
    pub source: String,
    /// All stories.
    pub total: usize,
    /// Complete stories.
    pub done: usize,
    /// The stories, in the order of the list.
    pub stories: Vec<ListedStory>,
    /// Warnings about entries that the author probably did not intend.
    pub warnings: Vec<Warning>,
}

/// A story with its state in the loop.
#[derive(Clone, Debug, Serialize)]
pub struct ListedStory {
    /// The story.
    #[serde(flatten)]
    pub story: Story,
    /// True if the loop skips it.
    pub skipped: bool,
    /// True if it failed and is tried again after the others (`ralph.onFailure=later`).
    pub put_off: bool,
}

impl Stories {
    /// Returns the stories of a change.
    pub fn of(change: &Change, source: &Source, listing: Listing, progress: Option<&Progress>) -> Self {
        let (done, total) = progress_of(&listing);
        let skipped = progress.map_or(&[][..], |progress| &progress.skipped);
        let knot = match upcoming(&listing, skipped) {
            Upcoming::Blocked(knot) => Some(knot),
            Upcoming::Story(_) | Upcoming::Nothing => None,
        };
        let line = listing.open().next().map_or(1, |story| story.line);
        let mut warnings = listing.warnings;
        warnings.extend(knot.map(|knot| Warning {
            line,
            message: StoryRefusal::Blocked(knot).to_string(),
        }));
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
        let (skipped, put_off) = progress.map(Progress::left_out).unwrap_or_default();
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
                    put_off: put_off.contains(&story.id),
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
    /// The next attempt; absent if there is no loop yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<NextAttempt>,
    /// The agent that would work; absent if none is named and none is installed.
    pub agent: Option<ChosenAgent>,
    /// The settings, gates among them.
    pub settings: Settings,
}

/// The next attempt of a loop.
#[derive(Clone, Debug, Serialize)]
pub struct NextAttempt {
    /// The id of its story.
    pub story: String,
    /// The title of its story.
    pub title: String,
    /// Number of attempts at it that failed and count.
    pub failures: u32,
    /// The attempt whose work no reviewer has judged: it is judged again, and no agent starts; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreviewed: Option<String>,
}

/// The agent that a loop would work with.
#[derive(Clone, Debug, Serialize)]
pub struct ChosenAgent {
    /// Its name, if it was chosen by name.
    pub name: Option<String>,
    /// Its command line.
    pub command: String,
    /// The argument that makes it act without asking, if known.
    pub unasked: Option<&'static str>,
}

impl ChosenAgent {
    /// Returns the shown facts of an agent.
    pub fn of(agent: Agent) -> Self {
        Self {
            command: agent.command.to_string(),
            unasked: agent.unasked,
            name: agent.name,
        }
    }
}
