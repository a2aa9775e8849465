//! What a loop came to, as one value: its stories and attempts, what each changed, what happened in between, and sums.
//!
//! Everything comes from the loop's events, its state and git; unknown is unknown, never 0. `history` makes it of events
//! (pure), `changes` asks git what was changed, `links` finds the pages of a host, `words` puts events in words.
//! It knows neither HTML nor Markdown: `ui` writes those.

mod changes;
mod history;
mod links;
mod of_loop;
mod redact;
#[cfg(test)]
pub(crate) mod samples;
mod words;

use jiff::Timestamp;
use serde::Serialize;

use crate::events::log::LogEntry;
use crate::names::{Change, Oid};
use crate::state::{Phase, Verdict};

pub use changes::Diffs;
pub use of_loop::{Wanted, of_loop};
pub use redact::Redaction;

/// Version of the shape of the JSON document.
pub const VERSION: u32 = 1;

/// The report of a loop: `git ralph report --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Report {
    /// The version of this shape.
    pub v: u32,
    /// The change.
    #[cfg_attr(test, schemars(with = "String"))]
    pub change: Change,
    /// The version of git-ralph that made the report.
    pub made_by: String,
    /// When the report was made.
    #[cfg_attr(test, schemars(with = "String", extend("format" = "date-time")))]
    pub made: Timestamp,
    /// Where the loop stands.
    #[cfg_attr(test, schemars(with = "String"))]
    pub phase: Phase,
    /// The loop's branch.
    pub branch: String,
    /// The branch that it began on; null when HEAD was detached.
    pub original_branch: Option<String>,
    /// The commit that it began on; null on a branch without commits.
    pub original_head: Option<Oid>,
    /// The latest checkpoint.
    #[serde(rename = "final")]
    pub tip: Oid,
    /// The agents of its attempts, each once.
    pub agents: Vec<String>,
    /// When the loop began, by its first event; null without any.
    #[cfg_attr(test, schemars(with = "Option<String>", extend("format" = "date-time")))]
    pub started: Option<Timestamp>,
    /// When the last event happened.
    #[cfg_attr(test, schemars(with = "Option<String>", extend("format" = "date-time")))]
    pub ended: Option<Timestamp>,
    /// Sums over all attempts of the report.
    pub totals: Totals,
    /// The stories, in the order of the list where it can be read, then those that were attempted.
    pub stories: Vec<StoryReport>,
    /// The gates that ran before any attempt.
    pub gates: Vec<Gate>,
    /// What happened besides attempts, oldest first.
    pub events: Vec<Happening>,
    /// The page that compares the loop's result with where it began; null where there is none.
    pub compare_url: Option<String>,
    /// What is left out, in words.
    pub dropped: Vec<String>,
}

/// Sums over all attempts of a report.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Totals {
    /// All stories.
    pub stories: usize,
    /// Complete stories.
    pub complete: usize,
    /// Attempts that have ended.
    pub attempts: usize,
    /// Seconds from the first event to the last.
    pub duration: f64,
    /// Seconds that the agents worked.
    pub agent_duration: f64,
    /// Seconds that the gates ran.
    pub gate_duration: f64,
    /// Seconds that the loop waited for an agent's service.
    pub waiting: f64,
    /// What the attempts cost, in US dollars, as far as the agents said so; null if none did.
    pub cost_usd: Option<f64>,
    /// Attempts whose cost is not known.
    pub cost_unknown: usize,
    /// Tokens read, as far as they are known; null if none are.
    pub input_tokens: Option<u64>,
    /// Those of them that came from a cache.
    pub cache_read_tokens: Option<u64>,
    /// Those of them that were put into a cache.
    pub cache_write_tokens: Option<u64>,
    /// Tokens written.
    pub output_tokens: Option<u64>,
    /// Files that the loop changed up to its latest checkpoint; null when git cannot tell any more.
    pub files: Option<u64>,
    /// Lines that it added.
    pub insertions: Option<u64>,
    /// Lines that it removed.
    pub deletions: Option<u64>,
}

/// A story and its attempts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StoryReport {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// How far it is.
    pub state: StoryState,
    /// Its attempts since the loop was last started, oldest first.
    pub attempts: Vec<AttemptReport>,
}

/// How far a story is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StoryState {
    /// It is done.
    Complete,
    /// Its last attempt did not complete it.
    Failed,
    /// The loop passes over it.
    Skipped,
    /// It was not attempted.
    Open,
}

/// An attempt, with what `git ralph log --json` has of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AttemptReport {
    /// The attempt as the log has it.
    #[serde(flatten)]
    pub entry: LogEntry,
    /// The agent; null where none was started.
    pub agent: Option<String>,
    /// Its gates, in the order in which they ran.
    pub gates: Vec<Gate>,
    /// What the next attempt was told of this one.
    pub told: Option<String>,
    /// The files that it changed; null when git cannot tell any more, or was not asked.
    pub diff: Option<Vec<FileChange>>,
    /// The page of its checkpoint; null where there is none, or where it was not pushed.
    pub url: Option<String>,
    /// What it changed, line by line.
    #[serde(skip)]
    pub patch: Option<Patch>,
    /// The end of what it printed.
    #[serde(skip)]
    pub log: Option<String>,
}

/// A gate that has run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Gate {
    /// The shell command.
    pub command: String,
    /// Whether it succeeded.
    pub passed: bool,
    /// How it failed.
    pub reason: Option<String>,
    /// When it ended.
    #[cfg_attr(test, schemars(with = "String", extend("format" = "date-time")))]
    pub ended: Timestamp,
    /// Seconds it took.
    pub duration: f64,
}

/// A file that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FileChange {
    /// Its path from the top directory; invalid UTF-8 is replaced.
    pub path: String,
    /// The path that it was renamed or copied from.
    pub old_path: Option<String>,
    /// added, deleted, modified, renamed, copied or retyped.
    pub status: &'static str,
    /// Lines that were added; null for a binary file.
    pub insertions: Option<u64>,
    /// Lines that were removed; null for a binary file.
    pub deletions: Option<u64>,
}

/// A difference, line by line, as git prints it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// The lines; long ones are cut.
    pub text: String,
    /// Whether lines or files are left out.
    pub is_cut: bool,
}

/// Something that happened besides attempts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Happening {
    /// When.
    #[cfg_attr(test, schemars(with = "String", extend("format" = "date-time")))]
    pub t: Timestamp,
    /// What kind of thing.
    pub kind: Kind,
    /// In words.
    pub text: String,
    /// Seconds that it took; null where it took none, or where that is not known.
    pub duration: Option<f64>,
    /// The checkpoint of a person's edits.
    pub checkpoint: Option<Oid>,
    /// The files of those edits.
    pub diff: Option<Vec<FileChange>>,
    /// Those edits, line by line.
    #[serde(skip)]
    pub patch: Option<Patch>,
}

/// What kind of thing happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The loop waited for an agent's service.
    Waiting,
    /// A person edited files, or made commits.
    Edits,
    /// The guard refused what an agent's git was to do.
    Refused,
    /// An agent's git moved a ref, or a person HEAD.
    Moved,
    /// An attempt began whose end is not recorded.
    Unended,
    /// An attempt ended without a verdict of its own; a later command went on.
    Interrupted,
    /// Something a person was told.
    Notice,
    /// The loop was closed.
    Finished,
}

impl Kind {
    /// Returns the kind in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Edits => "edits",
            Self::Refused => "refused",
            Self::Moved => "moved",
            Self::Unended => "no end",
            Self::Interrupted => "interrupted",
            Self::Notice => "notice",
            Self::Finished => "finished",
        }
    }
}

impl Report {
    /// Returns all attempts with their stories, in the order in which they began.
    #[must_use]
    pub fn attempts(&self) -> Vec<(&StoryReport, &AttemptReport)> {
        let mut all = Vec::new();
        for story in &self.stories {
            all.extend(story.attempts.iter().map(|attempt| (story, attempt)));
        }
        all.sort_by_key(|(_, attempt)| attempt.entry.attempt.started);
        all
    }

    /// Makes the sums anew from the attempts, the gates and the waits.
    fn sum_up(&mut self, complete: usize, total: usize) {
        let mut totals = Totals {
            stories: total,
            complete,
            files: self.totals.files,
            insertions: self.totals.insertions,
            deletions: self.totals.deletions,
            ..Totals::default()
        };
        if let (Some(started), Some(ended)) = (self.started, self.ended) {
            totals.duration = ended.duration_since(started).as_secs_f64().max(0.0);
        }
        totals.gate_duration = 0.0 + self.gates.iter().map(|gate| gate.duration).sum::<f64>();
        for entry in self.stories.iter().flat_map(|story| &story.attempts) {
            totals.add(entry);
        }
        let waits = self.events.iter().filter(|event| event.kind == Kind::Waiting);
        totals.waiting = 0.0 + waits.filter_map(|event| event.duration).sum::<f64>();
        self.totals = totals;
    }
}

impl Totals {
    fn add(&mut self, report: &AttemptReport) {
        let attempt = &report.entry.attempt;
        let add = |sum: &mut Option<u64>, more: Option<u64>| {
            *sum = more.map(|more| sum.unwrap_or(0).saturating_add(more)).or(*sum);
        };
        self.attempts += 1;
        self.agent_duration += attempt.duration;
        self.gate_duration += report.gates.iter().map(|gate| gate.duration).sum::<f64>();
        match attempt.cost_usd {
            Some(cost) => self.cost_usd = Some(self.cost_usd.unwrap_or(0.0) + cost),
            None => self.cost_unknown += 1,
        }
        add(&mut self.input_tokens, attempt.input_tokens);
        add(&mut self.cache_read_tokens, attempt.cache_read_tokens);
        add(&mut self.cache_write_tokens, attempt.cache_write_tokens);
        add(&mut self.output_tokens, attempt.output_tokens);
    }
}

impl AttemptReport {
    /// Returns the attempt as it is typed: `2@1`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}@{}", self.entry.attempt.story, self.entry.attempt.attempt)
    }

    /// Returns whether it earned a checkpoint.
    #[must_use]
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
    fn the_schema_is_that_of_the_code() {
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
