//! What the events say of an attempt: its end, the settings that it had, and its part of a log.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::git::DiffSize;
use crate::names::Oid;
use crate::state::Verdict;

/// An attempt that has ended: one entry of git ralph log --json.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Attempt {
    /// The story's id.
    pub story: String,
    /// The attempt's number.
    pub attempt: u32,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason, if there is one.
    pub reason: Option<String>,
    /// Time when it began.
    pub started: Timestamp,
    /// Seconds it took; if git-ralph was killed meanwhile, those up to its last output, or 0.
    pub duration: f64,
    /// The agent's exit code.
    pub exit_code: Option<i32>,
    /// Its cost in US dollars, if the agent reports it.
    pub cost_usd: Option<f64>,
    /// Tokens read, including cache reads and writes, if the agent reports them.
    pub input_tokens: Option<u64>,
    /// Tokens read from a cache, if the agent reports them.
    pub cache_read_tokens: Option<u64>,
    /// Tokens written to a cache, if the agent reports them.
    pub cache_write_tokens: Option<u64>,
    /// Tokens written, if the agent reports them.
    pub output_tokens: Option<u64>,
    /// The model, if the agent reports it.
    pub model: Option<String>,
    /// The version of the agent: as it says itself, else of the package that its program was installed from; null if neither
    /// is known.
    pub agent_version: Option<String>,
    /// Number of requests to the model, if the agent reports it.
    pub turns: Option<u64>,
    /// Files that the attempt changed since the checkpoint before it; null if they were not counted.
    pub files: Option<u64>,
    /// Lines that the attempt added; null if they were not counted.
    pub insertions: Option<u64>,
    /// Lines that the attempt removed; null if they were not counted.
    pub deletions: Option<u64>,
    /// The number of the slot in which it was made beside others; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<u16>,
    /// The checkpoint at which it began, if it was made beside others; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Oid>,
    /// Number of its rounds, each a process of the agent; absent if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// The part of the attempt's log that the agent printed; null if it is not known.
    pub output: Option<Stretch>,
    /// What the verdict `complete` rests on; empty for another verdict, and if it is not known.
    #[serde(default)]
    pub rests_on: Vec<Basis>,
    /// The box in which the agent ran (`bubblewrap`), or `none` with the reason; null if none was wanted.
    #[serde(default, rename = "box", skip_serializing_if = "Option::is_none")]
    pub boxed: Option<String>,
    /// The reviewer that was asked about it: its name, or that of its program; null if none was.
    pub reviewer: Option<String>,
    /// The cost of the review in US dollars, if the reviewer reports it. It is no part of `cost_usd`.
    pub review_cost_usd: Option<f64>,
    /// Tokens that the reviewer read, including cache reads and writes, if it reports them.
    pub review_input_tokens: Option<u64>,
    /// Tokens that the reviewer wrote, if it reports them.
    pub review_output_tokens: Option<u64>,
}

impl Attempt {
    /// Returns it for a judgement that did not end: what its agent spent counts once, with the next one.
    pub fn without_spending(self) -> Self {
        Self {
            cost_usd: self.cost_usd.map(|_| 0.0),
            input_tokens: self.input_tokens.map(|_| 0),
            cache_read_tokens: self.cache_read_tokens.map(|_| 0),
            cache_write_tokens: self.cache_write_tokens.map(|_| 0),
            output_tokens: self.output_tokens.map(|_| 0),
            ..self
        }
    }

    /// Returns whether it is the attempt at this story with this number.
    pub fn is(&self, story: &str, attempt: u32) -> bool {
        self.story == story && self.attempt == attempt
    }

    /// Returns its name on the command line, such as `2@1`.
    pub fn name(&self) -> String {
        format!("{}@{}", self.story, self.attempt)
    }

    /// Returns whether nothing but the agent's own words speaks for it.
    pub fn is_by_promise_alone(&self) -> bool {
        let is_word = |basis: &Basis| {
            matches!(
                basis,
                Basis::Promise
                    | Basis::Confirmed
                    | Basis::UnchangedSaid
                    | Basis::Doubtful
                    | Basis::GatesOnOtherFiles
            )
        };
        !self.rests_on.is_empty() && self.rests_on.iter().all(is_word)
    }

    /// Returns whether it changed no file, and the agent alone says that its story is done: gates had passed before.
    pub fn is_by_word(&self) -> bool {
        let is_word = |basis: &Basis| matches!(basis, Basis::Confirmed | Basis::UnchangedSaid);
        self.rests_on.iter().any(is_word) && !self.rests_on.contains(&Basis::Review)
    }

    /// Returns whether its promise was judged although it is doubtful, and no reviewer has accepted the work.
    pub fn is_doubtful(&self) -> bool {
        self.rests_on.contains(&Basis::Doubtful) && !self.rests_on.contains(&Basis::Review)
    }

    /// Returns whether the agent's word is all that speaks for it, one way or the other; `None` if that is not known.
    pub fn is_by_word_alone(&self) -> Option<bool> {
        (!self.rests_on.is_empty()).then(|| self.is_by_promise_alone() || self.is_by_word())
    }

    /// Returns whether it was accepted without a promise, by gates or a reviewer (`ralph.noSignal`).
    pub fn is_unpromised(&self) -> bool {
        let is_word = |basis: &Basis| matches!(basis, Basis::Promise | Basis::Person);
        !self.rests_on.is_empty() && !self.rests_on.iter().any(is_word)
    }
}

/// What can speak for a complete story.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Basis {
    /// The agent's own promise.
    Promise,
    /// The promise again, of a second process that was asked because no file had changed.
    Confirmed,
    /// What the agent said in `<unchanged>` of the work that was there before.
    UnchangedSaid,
    /// A promise against which words of the agent or its ticks speak, also if it was asked about once.
    Doubtful,
    /// A promise inside a sentence; a second process that was asked changed nothing, and the gates passed.
    PromiseInSentence,
    /// The user's word.
    Person,
    /// Gates, all of which passed.
    Gates,
    /// Nothing: the gates passed, but one took files of the work away, and so judged others.
    GatesOnOtherFiles,
    /// The tests of the last checkpoint (`ralph.tests`): the gates passed with these as they were.
    Tests,
    /// The script of a gate, which is not among the tests, as it was: the attempt, or one before, changed it, and the gates
    /// also passed without that.
    GateScript,
    /// Tests, or the script of a gate, that the attempt changed, because that was allowed.
    TestChangesAllowed,
    /// Tests, or the script of a gate, that the attempt changed, because the reviewers accepted that (`ralph.heldBy`).
    TestsReviewed,
    /// A reviewer, another agent, which accepted it.
    Review,
}

/// The reason for another round of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Further {
    /// The agent asked for another process, which continues its work.
    Continue,
    /// It promised that the story is complete, and no file but the story list differs from the checkpoint.
    Unchanged,
    /// It promised that the story is complete, and words of its message or its ticks speak against that.
    Doubtful,
    /// It ended without a promise, and left work.
    Unsaid,
}

impl Further {
    /// Returns it in words; `left` is what the agent said that is left, of which the first line is shown.
    pub fn words(self, left: Option<&str>) -> String {
        let left = left.and_then(|left| left.lines().next()).unwrap_or_default();
        let words = match self {
            Self::Continue if !left.is_empty() => {
                return format!("the agent asked for another process; left to do: {left}");
            }
            Self::Continue => "the agent asked for another process",
            Self::Unchanged => {
                "the agent promised, but git sees no change outside the story list; another process is asked"
            }
            Self::Doubtful => {
                return format!(
                    "the agent promised, and this speaks against it; another process is asked: {left}"
                );
            }
            Self::Unsaid => "the agent ended without a promise; another process is asked",
        };
        words.to_owned()
    }
}

/// The settings that are in force when an attempt begins. A limit that is null is none; times are seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InForce {
    /// The version of git-ralph.
    pub version: String,
    /// The gates: shell commands.
    pub gates: Vec<String>,
    /// Longest time of an attempt.
    pub timeout: Option<f64>,
    /// Longest time without output.
    pub idle_timeout: Option<f64>,
    /// The reviewer: its name, or that of its program; null if there is none.
    pub review: Option<String>,
    /// Longest time of a gate.
    pub verify_timeout: Option<f64>,
    /// Longest wait for the agent's service.
    pub max_wait: Option<f64>,
    /// Longest time of the loop.
    pub max_duration: Option<f64>,
    /// Most attempts of a run.
    pub max_attempts: Option<u32>,
    /// Highest cost of the loop, in US dollars.
    pub max_cost: Option<f64>,
}

/// A part of a log, in bytes from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Stretch {
    /// Its first byte.
    pub from: u64,
    /// The byte after its last one.
    pub to: u64,
}

impl Stretch {
    /// Returns this part of a log, if the log is that long.
    pub fn of(self, log: &[u8]) -> Option<&[u8]> {
        log.get(usize::try_from(self.from).ok()?..usize::try_from(self.to).ok()?)
    }
}

/// Returns the seconds between two readings of the wall clock; none if it was set back in between.
pub fn seconds_between(began: Timestamp, ended: Timestamp) -> f64 {
    ended.duration_since(began).as_secs_f64().max(0.0)
}

impl Attempt {
    /// Returns an attempt that ended; all other facts are unknown.
    pub fn ended(
        story: &str,
        attempt: u32,
        verdict: Verdict,
        reason: Option<String>,
        started: Timestamp,
    ) -> Self {
        Self {
            story: story.to_owned(),
            attempt,
            verdict,
            reason,
            started,
            ..Self::default()
        }
    }

    /// Returns the cost of the attempt and of its review together, in US dollars, as far as they are known.
    pub fn whole_cost(&self) -> Option<f64> {
        let costs = [self.cost_usd, self.review_cost_usd].into_iter().flatten();
        costs.reduce(|sum, more| sum + more)
    }

    /// Adds the size of the attempt's changes, if it was counted.
    pub fn with_size(mut self, size: Option<DiffSize>) -> Self {
        self.files = size.map(|size| size.files);
        self.insertions = size.map(|size| size.insertions);
        self.deletions = size.map(|size| size.deletions);
        self
    }
}
