//! The report of a loop as one value: its stories and attempts, their changes, other events, and totals.
//!
//! Everything comes from the loop's events, its state and git; an unknown number is null, never 0. `history` reads the
//! events (pure), `changes` reads the changes from git, `asked` has the texts of the stories,
//! `by_agent` sums up what each agent did, `output` reads the logs of attempts, `links` finds web addresses, `outcome` says how the loop
//! stands, and `words` describes events.
//! This module knows neither HTML nor Markdown: `ui` writes those.

mod asked;
mod by_agent;
mod changes;
mod history;
mod links;
mod of_loop;
mod outcome;
mod output;
mod redact;
#[cfg(test)]
pub(crate) mod samples;
mod wanted;
mod words;

use jiff::Timestamp;
use serde::Serialize;

use crate::events::log::LogEntry;
use crate::events::{Attempt, InForce, Stretch, seconds_between};
use crate::names::{Change, Oid};
use crate::state::{Phase, Verdict};

pub use asked::Asked;
pub use by_agent::AgentTotals;
pub use changes::Diffs;
pub use of_loop::of_loop;
pub use outcome::{Outcome, OutcomeKind, first_line};
pub use redact::Redaction;
pub use wanted::Wanted;

/// Version of the JSON format.
pub const VERSION: u32 = 1;

/// The report of a loop: `git ralph report --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Report {
    /// The version of this format.
    pub v: u32,
    /// The change.
    #[cfg_attr(test, schemars(with = "String"))]
    pub change: Change,
    /// The version of git-ralph that made the report.
    pub made_by: String,
    /// The version of git that it was made with, its first two numbers; null if it is not known.
    pub git: Option<String>,
    /// Time when the report was made.
    pub made: Timestamp,
    /// The phase of the loop; `exhausted` too if only skipped stories are left.
    #[cfg_attr(test, schemars(with = "String"))]
    pub phase: Phase,
    /// How the loop stands when the report is made.
    pub outcome: Outcome,
    /// The loop's branch.
    pub branch: String,
    /// The branch that it started from; null if HEAD was detached.
    pub original_branch: Option<String>,
    /// The commit that it started from; null on a branch without commits.
    pub original_head: Option<Oid>,
    /// The latest checkpoint.
    #[serde(rename = "final")]
    pub tip: Oid,
    /// The way in which the loop was closed; null while it is open.
    pub closed: Option<Closed>,
    /// The agents of its attempts, without repetition.
    pub agents: Vec<String>,
    /// The sums of each agent's attempts, in the order of their first ones.
    pub by_agent: Vec<AgentTotals>,
    /// The settings that were in force, oldest first: an entry for each change of them; none of attempts that earlier
    /// versions made.
    pub environments: Vec<Environment>,
    /// Time of the first event, or of --since if that is later; null if there are no events.
    pub started: Option<Timestamp>,
    /// Time of the last event, or of --since if that is later; null if there are no events.
    pub ended: Option<Timestamp>,
    /// The totals of the report.
    pub totals: Totals,
    /// The stories, in the order of the story list if it can be read, then attempted and skipped ones not in it.
    pub stories: Vec<StoryReport>,
    /// The gates that ran before any attempt, or in an attempt whose end is not recorded.
    pub gates: Vec<Gate>,
    /// Events other than attempts, oldest first.
    pub events: Vec<Happening>,
    /// The files that stories and people changed, by path, as far as the differences list them; none with --diffs=none.
    pub files: Vec<FileTotal>,
    /// Web address of the comparison of the commit the loop started from with `final`; null if there is none.
    pub compare_url: Option<String>,
    /// Descriptions of the parts that are left out.
    pub dropped: Vec<String>,
}

/// The settings that were in force from an attempt on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Environment {
    /// The first attempt with these settings, as story@number.
    pub since: String,
    /// Retries that each story has.
    pub max_retries: u32,
    /// The agents of the attempts with these settings whose version is known, each version once.
    pub agents: Vec<AgentVersion>,
    /// The other settings.
    #[serde(flatten)]
    pub settings: InForce,
}

/// The version of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AgentVersion {
    /// The agent, as attempts name it.
    pub agent: String,
    /// Its version.
    pub version: String,
}

/// The end of a loop.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Closed {
    /// cleanup, keep or abort. After abort, the work is on no branch.
    pub how: String,
    /// The branch that HEAD was on then; null when detached.
    pub branch: Option<String>,
    /// The ref that keeps the final state.
    #[serde(rename = "ref")]
    pub kept: String,
}

/// The totals of a report.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Totals {
    /// Number of stories.
    pub stories: usize,
    /// Number of complete stories.
    pub complete: usize,
    /// Number of attempts that have ended.
    pub attempts: usize,
    /// Seconds from the start to the end of the report.
    pub duration: f64,
    /// Seconds that the agents worked.
    pub agent_duration: f64,
    /// Seconds that the gates ran.
    pub gate_duration: f64,
    /// Seconds that the loop waited for an agent's service.
    pub waiting: f64,
    /// Cost of the attempts in US dollars, as far as agents reported it; null if none did.
    pub cost_usd: Option<f64>,
    /// Cost of the reviews in US dollars, as far as reviewers reported it, which is no part of `cost_usd`; null if none did.
    pub review_cost_usd: Option<f64>,
    /// Number of attempts whose cost is not known.
    pub cost_unknown: usize,
    /// Tokens read, including cache reads and writes, as far as agents reported them; null if none did.
    pub input_tokens: Option<u64>,
    /// Tokens read from a cache; null if no agent reported them.
    pub cache_read_tokens: Option<u64>,
    /// Tokens written to a cache; null if no agent reported them.
    pub cache_write_tokens: Option<u64>,
    /// Tokens written; null if no agent reported them.
    pub output_tokens: Option<u64>,
    /// Files that the loop changed up to its latest checkpoint; null if git cannot compare the commits.
    pub files: Option<u64>,
    /// Lines that the loop added; null if git cannot compare the commits.
    pub insertions: Option<u64>,
    /// Lines that the loop removed; null if git cannot compare the commits.
    pub deletions: Option<u64>,
}

/// A story and its attempts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StoryReport {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its state.
    pub state: StoryState,
    /// What it asks for, as in the list, or else as in the list of the latest checkpoint; null if neither has it.
    pub asked: Option<Asked>,
    /// True if it is complete and nothing but the agent's word speaks for it: there were no gates and no review, or no file
    /// changed; null if it is not complete, or what it rests on is not known.
    pub by_word_alone: Option<bool>,
    /// Its attempts since the loop was last started, oldest first.
    pub attempts: Vec<AttemptReport>,
    /// The number of its attempt that runs now.
    #[serde(skip)]
    pub running: Option<u32>,
}

/// The state of a story.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StoryState {
    /// The story is complete.
    Complete,
    /// The story was attempted, and is not complete.
    Failed,
    /// The loop skips the story.
    Skipped,
    /// The story was not attempted, or it was complete and is open again.
    #[default]
    Open,
}

/// An attempt: its entry of `git ralph log --json`, and more.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AttemptReport {
    /// The entry of the log.
    #[serde(flatten)]
    pub entry: LogEntry,
    /// The agent; null if none was started.
    pub agent: Option<String>,
    /// Its gates, in the order in which they ran.
    pub gates: Vec<Gate>,
    /// Its reviews, in the order in which they were made.
    pub reviews: Vec<Review>,
    /// The reason for its failure in the prompt of the next attempt.
    pub told: Option<String>,
    /// The end of the agent's final message; null if it is not known. A long one says that its beginning is left out.
    pub message: Option<String>,
    /// The files that it changed; null if they are not known, or with --diffs=none.
    pub diff: Option<Vec<FileChange>>,
    /// Web address of its checkpoint; null if there is none.
    pub url: Option<String>,
    /// The lines that it changed.
    #[serde(skip)]
    pub patch: Option<Patch>,
    /// The end of its output.
    #[serde(skip)]
    pub log: Option<String>,
    /// True if all of its output can be read here.
    #[serde(skip)]
    pub has_log: bool,
}

/// A gate that has run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Gate {
    /// The shell command.
    pub command: String,
    /// True if it succeeded.
    pub passed: bool,
    /// The reason for the failure; null if it succeeded.
    pub reason: Option<String>,
    /// Time when it ended.
    pub ended: Timestamp,
    /// Seconds it took.
    pub duration: f64,
    /// The end of its output; null if it is not known. A long one says that its beginning is left out.
    pub output: Option<String>,
    /// True if it ran with tests as they were at the last checkpoint.
    pub held: bool,
    /// The part of the log with its output.
    #[serde(skip)]
    pub printed: Option<Stretch>,
}

/// A review of an attempt, by another agent.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Review {
    /// The reviewer: its name, or that of its program.
    pub reviewer: String,
    /// True if it accepted the work, false if it rejected it; null if it gave no verdict.
    pub accepted: Option<bool>,
    /// The end of its last message, or why it gave no verdict; null if it said nothing else.
    pub words: Option<String>,
    /// Time when it ended.
    pub ended: Timestamp,
    /// Seconds it took.
    pub duration: f64,
    /// Its cost in US dollars; null if it did not report it.
    pub cost_usd: Option<f64>,
}

/// A changed file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FileChange {
    /// Its path from the top directory; invalid UTF-8 is replaced.
    pub path: String,
    /// The path that it was renamed or copied from; null otherwise.
    pub old_path: Option<String>,
    /// The kind of change: added, deleted, modified, renamed, copied or retyped.
    pub status: &'static str,
    /// Number of added lines; null for a binary file.
    pub insertions: Option<u64>,
    /// Number of removed lines; null for a binary file.
    pub deletions: Option<u64>,
}

/// A file and who changed it in what the loop has accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FileTotal {
    /// Its path from the top directory; invalid UTF-8 is replaced.
    pub path: String,
    /// The ids of the stories that changed it.
    pub stories: Vec<String>,
    /// True if the user edited it in between.
    pub by_person: bool,
    /// Number of lines added by all of them; null for a binary file.
    pub insertions: Option<u64>,
    /// Number of lines removed by all of them; null for a binary file.
    pub deletions: Option<u64>,
}

/// A difference, line by line, as git prints it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// The lines; long ones are cut.
    pub text: String,
    /// True if lines, parts of lines or files are left out.
    pub is_cut: bool,
}

/// An event other than an attempt.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Happening {
    /// Time of the event.
    pub t: Timestamp,
    /// Kind of the event.
    pub kind: Kind,
    /// Description of the event.
    pub text: String,
    /// Seconds that a wait took; null for other events.
    pub duration: Option<f64>,
    /// The checkpoint before the user's edits.
    #[serde(skip)]
    pub base: Option<Oid>,
    /// The checkpoint of the user's edits; null for other events.
    pub checkpoint: Option<Oid>,
    /// The files that the user edited; null for other events, if they are not known, or with --diffs=none.
    pub diff: Option<Vec<FileChange>>,
    /// The lines of those edits.
    #[serde(skip)]
    pub patch: Option<Patch>,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, strum::IntoStaticStr)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Kind {
    /// The loop waited for an agent's service.
    Waiting,
    /// The user edited files or made commits.
    Edits,
    /// The guard refused to let an agent move or delete a ref.
    Refused,
    /// An agent moved or deleted a ref, or HEAD left the loop's branch or returned to it.
    Moved,
    /// An attempt began, and its end is not recorded.
    #[strum(serialize = "no end")]
    Unended,
    /// An attempt was interrupted.
    Interrupted,
    /// A notice, or a story that has no retries left.
    #[default]
    Notice,
    /// The loop was closed.
    Finished,
}

impl Kind {
    /// Returns the kind in words.
    pub fn words(self) -> &'static str {
        self.into()
    }
}

impl Report {
    /// Returns all attempts with their stories, by start time.
    pub fn attempts(&self) -> Vec<(&StoryReport, &AttemptReport)> {
        let mut all = Vec::new();
        for story in &self.stories {
            all.extend(story.attempts.iter().map(|attempt| (story, attempt)));
        }
        all.sort_by_key(|(_, attempt)| attempt.entry.attempt.started);
        all
    }

    /// Computes the totals from the attempts, the gates and the waits, without the size of the changes.
    fn sum_up(&mut self, complete: usize, total: usize) {
        let mut totals = Totals {
            stories: total,
            complete,
            ..Totals::of(self.stories.iter().flat_map(|story| &story.attempts))
        };
        if let (Some(started), Some(ended)) = (self.started, self.ended) {
            totals.duration = seconds_between(started, ended);
        }
        totals.gate_duration += self.gates.iter().map(|gate| gate.duration).sum::<f64>();
        let waits = self.events.iter().filter(|event| event.kind == Kind::Waiting);
        totals.waiting = 0.0 + waits.filter_map(|event| event.duration).sum::<f64>();
        self.totals = totals;
    }
}

impl Totals {
    /// Sums up attempts.
    pub fn of<'a>(attempts: impl IntoIterator<Item = &'a AttemptReport>) -> Self {
        let reports: Vec<&AttemptReport> = attempts.into_iter().collect();
        let all = || reports.iter().map(|report| &report.entry.attempt);
        let dollars = |of: fn(&Attempt) -> Option<f64>| all().filter_map(of).reduce(|sum, more| sum + more);
        let tokens = |of: fn(&Attempt) -> Option<u64>| all().filter_map(of).reduce(u64::saturating_add);
        let gates = reports.iter().flat_map(|report| &report.gates);
        Self {
            attempts: reports.len(),
            // The sum of nothing is -0.0.
            agent_duration: 0.0 + all().map(|attempt| attempt.duration).sum::<f64>(),
            gate_duration: 0.0 + gates.map(|gate| gate.duration).sum::<f64>(),
            cost_usd: dollars(|attempt| attempt.cost_usd),
            review_cost_usd: dollars(|attempt| attempt.review_cost_usd),
            cost_unknown: all().filter(|attempt| attempt.cost_usd.is_none()).count(),
            input_tokens: tokens(|attempt| attempt.input_tokens),
            cache_read_tokens: tokens(|attempt| attempt.cache_read_tokens),
            cache_write_tokens: tokens(|attempt| attempt.cache_write_tokens),
            output_tokens: tokens(|attempt| attempt.output_tokens),
            ..Self::default()
        }
    }
}

impl StoryReport {
    /// Returns the attempt that completed it, if it is complete.
    pub fn completed_by(&self) -> Option<&AttemptReport> {
        let is_complete = self.state == StoryState::Complete;
        let mut attempts = self.attempts.iter();
        attempts.rfind(|attempt| is_complete && attempt.is_complete())
    }
}

impl AttemptReport {
    /// Returns true if the attempt completed its story.
    pub fn is_complete(&self) -> bool {
        self.entry.attempt.verdict == Verdict::Complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schemars::generate::SchemaSettings;
    use snapbox::{Data, assert_data_eq};
    use std::path::Path;

    #[test]
    fn schema_matches_the_code() {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        let mut schema = settings.into_generator().into_root_schema_for::<Report>();
        schema.insert("title".to_owned(), "A report of git-ralph".into());
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/report/report.schema.json");
        assert_data_eq!(
            text,
            Data::read_from(&file, Some(snapbox::data::DataFormat::Text)).raw()
        );
    }
}
