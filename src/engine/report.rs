//! What listings show: status, stories and log, in the shapes of contract section 10. Changes nothing.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;

use super::kept::kept_attempt;
use super::session::path_text;
use super::{Engine, Upcoming, glance, listing_of, progress_of};
use crate::adapters::{Listing, Source, Story, Warning};
use crate::agent::Agent;
use crate::error::Error;
use crate::events::{Attempt, Event, What};
use crate::git::{Git, Head};
use crate::names::{Change, Oid};
use crate::settings::Settings;
use crate::state::{Given, Phase, State};

/// Where a loop stands: `git ralph status --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// The change.
    pub change: Change,
    /// Where the loop stands.
    pub phase: Phase,
    /// Its branch, short.
    pub branch: String,
    /// The branch it came from; null when HEAD was detached.
    pub original_branch: Option<String>,
    /// The commit it came from; null on a branch without one.
    pub original_head: Option<Oid>,
    /// The latest checkpoint.
    pub checkpoint: Oid,
    /// All stories; null when the list cannot be read.
    pub stories_total: Option<usize>,
    /// Complete stories; null when the list cannot be read.
    pub stories_done: Option<usize>,
    /// The story being worked on, or the next one.
    pub current: Option<CurrentStory>,
    /// Retries after the first attempt, a story.
    pub max_retries: u32,
    /// The command that comes next: `next`, `retry`, `finish` or `start`.
    pub next: &'static str,
    /// The agent's own session that drives the loop by its hooks, or did last; null when none did.
    pub session: Option<SessionStatus>,
    /// Commits above the checkpoint that a person has made, as far as git's hooks have noted them.
    pub commits_by_hand: usize,
    /// Where HEAD is in the loop's work tree, if it is not on its branch; null also when it cannot be told.
    pub away: Option<String>,
    /// Why no story can be told, where that has a reason: the list cannot be read, or its stories wait for others.
    pub problem: Option<String>,
}

/// The current story in a status.
#[derive(Clone, Debug, Serialize)]
pub struct CurrentStory {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The number of its latest attempt; absent when there was none.
    pub attempt: Option<u32>,
    /// Retries used so far.
    pub retries: u32,
    /// Why the last attempt failed.
    pub reason: Option<String>,
}

/// An agent's session in a status.
#[derive(Clone, Debug, Serialize)]
pub struct SessionStatus {
    /// The agent's name for it.
    pub id: String,
    /// Whether it was told to go on, and nothing was heard since of its end or of an error.
    pub at_work: bool,
    /// When one of its hooks was last called.
    pub seen: Timestamp,
    /// The id of the story that it was given, if that is still to be done.
    pub story: Option<String>,
    /// Whether it ended although it was told to go on.
    pub ended_early: bool,
    /// The error of its service that stopped it.
    pub error: Option<String>,
}

impl SessionStatus {
    /// What is to be said of the session of a live loop; `None` when the loop has gone on without it.
    fn of(state: &State) -> Option<Self> {
        let session = state.session.as_ref().filter(|_| state.is_live())?;
        let attempted = |story: &str| {
            let current = state
                .progress
                .story
                .as_ref()
                .filter(|current| current.id == story);
            current.map_or(0, |current| current.attempt)
        };
        let is_past =
            |given: &&Given| given.checkpoint != state.checkpoint || given.attempt <= attempted(&given.story);
        if session.given.as_ref().is_some_and(|given| is_past(&given)) {
            return None;
        }
        Some(Self {
            id: session.id.clone(),
            at_work: session.is_at_work(),
            seen: session.seen,
            story: session.given.as_ref().map(|given| given.story.clone()),
            ended_early: session.has_ended_early(),
            error: session.error.clone(),
        })
    }
}

impl Status {
    /// The status of a loop of this repository. Its story list is the one in its own work tree, and only while its
    /// branch is checked out there: another branch has another list.
    ///
    /// # Errors
    /// When git cannot tell where HEAD is.
    pub async fn seen_from(engine: &Engine<'_>, state: &State) -> Result<Self, Error> {
        let top = &engine.repo.top;
        if path_text(top) != state.worktree {
            let other = Path::new(&state.worktree);
            return Ok(Self::of(state, other).await);
        }
        let branch = state.change.branch_ref();
        let is_there = |head: &Head| head.branch.as_ref() == Some(&branch);
        // HEAD may have been put back since the command began.
        if !state.is_live() || is_there(&engine.head) || is_there(&engine.repo.head().await?) {
            return Ok(Self::of(state, top).await);
        }
        let elsewhere = format!(
            "{} is not checked out, so that its stories cannot be told",
            state.branch
        );
        Ok(Self::told(state, None, Some(elsewhere)))
    }

    /// The status of a loop whose story list is at `top`.
    pub async fn of(state: &State, top: &Path) -> Self {
        if !state.is_live() {
            return Self::told(state, None, None);
        }
        match listing_of(state, top).await {
            Ok(listing) => Self::told(state, Some(&listing), None),
            Err(error) => Self::told(state, None, Some(error.to_string())),
        }
    }

    fn told(state: &State, listing: Option<&Listing>, mut problem: Option<String>) -> Self {
        let counts = listing.map(progress_of);
        let progress = &state.progress;
        let upcoming = listing.map(|listing| super::upcoming(listing, &progress.skipped));
        let current = match (&progress.story, &upcoming) {
            (Some(story), _) => Some(CurrentStory {
                id: story.id.clone(),
                title: story.title.clone(),
                attempt: Some(story.attempt),
                retries: story.retries,
                reason: story.reason.clone(),
            }),
            (None, Some(Upcoming::Story(story))) => Some(CurrentStory {
                id: story.id.clone(),
                title: story.title.clone(),
                attempt: None,
                retries: 0,
                reason: None,
            }),
            (None, Some(Upcoming::Blocked(blocked))) => {
                problem = Some(Error::Blocked(blocked.clone()).to_string());
                None
            }
            (None, _) => None,
        };
        let nothing_left =
            current.is_none() && upcoming == Some(Upcoming::Nothing) && progress.phase == Phase::Ready;
        Self {
            change: state.change.clone(),
            phase: if nothing_left {
                Phase::Complete
            } else {
                progress.phase
            },
            branch: state.branch.clone(),
            original_branch: state.original_branch.clone(),
            original_head: state.original_head.clone(),
            checkpoint: state.checkpoint.clone(),
            stories_total: counts.map(|(_, total)| total),
            stories_done: counts.map(|(done, _)| done),
            current,
            max_retries: progress.max_retries,
            session: SessionStatus::of(state),
            next: match progress.phase {
                _ if nothing_left => "finish",
                Phase::Ready | Phase::Running => "next",
                Phase::Failed => "retry",
                Phase::Exhausted | Phase::Complete => "finish",
                Phase::Finished => "start",
            },
            problem,
            commits_by_hand: glance::commits(state),
            away: if state.is_live() {
                glance::away(state)
            } else {
                None
            },
        }
    }
}

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
    /// The stories of a change.
    #[must_use]
    pub fn of(change: &Change, source: &Source, listing: Listing, skipped: &[String]) -> Self {
        let (done, total) = progress_of(&listing);
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
            warnings: listing.warnings,
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
    /// What is shown of an agent.
    #[must_use]
    pub fn of(agent: Agent) -> Self {
        Self {
            command: agent.command.to_string(),
            unasked: agent.unasked,
            name: agent.name,
        }
    }
}

/// The attempts of a loop: `git ralph log --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Log {
    /// The change.
    pub change: Change,
    /// The attempts, oldest first.
    pub attempts: Vec<LogEntry>,
}

/// An attempt, and what keeps its work.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogEntry {
    /// The attempt.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The story's title.
    pub title: Option<String>,
    /// The ref that keeps what it left, when that was undone.
    #[serde(rename = "ref")]
    pub kept: Option<String>,
    /// The checkpoint that it earned.
    pub checkpoint: Option<Oid>,
}

/// The attempts since the loop was last started, from its events.
///
/// # Errors
/// When the events are there but cannot be read.
pub fn attempts(events: &Path) -> Result<Vec<LogEntry>, Error> {
    let mut entries: Vec<LogEntry> = Vec::new();
    let mut begun = None;
    for event in read_events(events)? {
        match event.what {
            What::Started { .. } => entries.clear(),
            What::AttemptStarted { title, .. } => begun = Some(title),
            What::AttemptEnded(attempt) => entries.push(LogEntry {
                attempt,
                title: begun.take(),
                kept: None,
                checkpoint: None,
            }),
            What::Checkpoint { story, attempt, oid } => {
                if let Some(entry) = find(&mut entries, story.as_deref(), attempt) {
                    entry.checkpoint = Some(oid);
                }
            }
            What::Reverted {
                story, attempt, kept, ..
            } => {
                if let Some(entry) = find(&mut entries, story.as_deref(), attempt) {
                    entry.kept = kept;
                }
            }
            _ => {}
        }
    }
    Ok(entries)
}

/// What to compare to see what an attempt did: the checkpoint before it, and what it left. The latest
/// attempt at the story when no number is given.
///
/// # Errors
/// When the events cannot be read.
pub fn range_of(events: &Path, story: &str, attempt: Option<u32>) -> Result<Option<(String, String)>, Error> {
    let mut range = None;
    let mut base = String::new();
    let wanted = |at: Option<&String>, number: Option<u32>| {
        at.is_some_and(|id| id == story) && number.is_some() && (attempt.is_none() || number == attempt)
    };
    for event in read_events(events)? {
        match event.what {
            What::Started { checkpoint, .. } => {
                base = checkpoint.to_string();
                // Numbers of attempts are never used again: one that is named may be of an earlier loop.
                if attempt.is_none() {
                    range = None;
                }
            }
            What::Checkpoint { story, attempt, oid } => {
                if wanted(story.as_ref(), attempt) {
                    range = Some((base, oid.to_string()));
                }
                base = oid.to_string();
            }
            What::Reverted {
                story,
                attempt,
                oid,
                kept: Some(kept),
                ..
            } if wanted(story.as_ref(), attempt) => range = Some((oid.to_string(), kept)),
            _ => {}
        }
    }
    Ok(range)
}

/// Finds what to compare to see what an attempt did that no event tells of: what keeps it, and the last
/// commit below it that the loop has too.
///
/// # Errors
/// When git cannot read refs or commits.
pub async fn kept_range(
    git: &Git,
    state: &State,
    story: &str,
    attempt: Option<u32>,
) -> Result<Option<(String, String)>, Error> {
    let Some((_, kept)) = kept_attempt(git, &state.change, story, attempt).await? else {
        return Ok(None);
    };
    let below = git.merge_base(&state.checkpoint, &kept).await?;
    Ok(below.map(|below| (below.to_string(), kept.to_string())))
}

/// The events of a loop, oldest first. A line that a crash cut off is passed over.
fn read_events(events: &Path) -> Result<Vec<Event>, Error> {
    let error = |source| Error::File {
        what: "read",
        path: events.to_owned(),
        source,
    };
    let file = match File::open(events) {
        Ok(file) => file,
        Err(gone) if gone.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(error(source)),
    };
    let mut found = Vec::new();
    for line in BufReader::new(file).split(b'\n') {
        if let Ok(event) = serde_json::from_slice(&line.map_err(error)?) {
            found.push(event);
        }
    }
    Ok(found)
}

fn find<'a>(
    entries: &'a mut [LogEntry],
    story: Option<&str>,
    attempt: Option<u32>,
) -> Option<&'a mut LogEntry> {
    entries
        .iter_mut()
        .rev()
        .find(|entry| Some(entry.attempt.story.as_str()) == story && Some(entry.attempt.attempt) == attempt)
}
