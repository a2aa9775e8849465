//! Events of a loop as data: one JSON object per line, the same in `events.jsonl` and on standard output with `--json`.
//! This module decides nothing and prints nothing.

mod attempt;
mod lines;
pub mod log;
mod of_attempt;
mod rounds;
pub mod tally;

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::names::{Oid, ShortNames};
use crate::paths::first_few;
use crate::state::Undone;

pub use attempt::{Attempt, Basis, Further, InForce, Stretch, seconds_between};
pub use of_attempt::{AttemptStarted, GateEnded, ListPutBack, RefMoved, ReviewEnded};
pub use rounds::RoundEntry;

/// Takes notices for the user while a step is running.
pub trait Notices {
    /// Reports a notice; the step does not wait for an answer.
    fn tell(&self, message: String);

    /// Reports `words` about these names, if there are any.
    fn tell_names(&self, words: &str, names: &[String]) {
        self.tell_between(words, names, "");
    }

    /// Reports words about these paths, if there are any.
    fn tell_few<'p>(&self, words: &str, paths: impl IntoIterator<Item = &'p Vec<u8>>)
    where
        Self: Sized,
    {
        self.tell_names(words, &first_few(paths));
    }

    /// Reports these names between two parts of a message, if there are any.
    fn tell_between(&self, before: &str, names: &[String], after: &str) {
        if !names.is_empty() {
            self.tell(format!("{before}: {}{after}", names.join(", ")));
        }
    }
}

/// A notice of a command that only reads goes to the trace.
impl Notices for () {
    fn tell(&self, message: String) {
        tracing::warn!("{message}");
    }
}

impl Notices for RefCell<Vec<String>> {
    fn tell(&self, message: String) {
        self.borrow_mut().push(message);
    }
}

/// Version of the shape of an event line.
pub const VERSION: u32 = 1;

/// One event of a loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Event {
    /// The version of this shape.
    #[cfg_attr(test, schemars(extend("const" = VERSION)))]
    pub v: u32,
    /// Time of the event, RFC 3339.
    pub t: Timestamp,
    /// The event itself.
    #[serde(flatten)]
    pub what: What,
    /// The change; null, and empty here, if an error is about none.
    #[serde(serialize_with = "or_null", deserialize_with = "or_empty")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub change: String,
}

fn or_null<S: Serializer>(change: &str, serializer: S) -> Result<S::Ok, S::Error> {
    Some(change)
        .filter(|change| !change.is_empty())
        .serialize(serializer)
}

fn or_empty<'d, D: Deserializer<'d>>(deserializer: D) -> Result<String, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// The kinds of events, with their fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum What {
    /// A loop was started.
    Started {
        /// The loop's branch.
        branch: String,
        /// The branch it started from; null when HEAD was detached.
        original_branch: Option<String>,
        /// The commit it started from; null on a branch without one.
        original_head: Option<Oid>,
        /// The commit "initial state".
        checkpoint: Oid,
        /// The story list.
        source: String,
    },
    /// An attempt began.
    AttemptStarted(AttemptStarted),
    /// The agent, a gate or a hook printed something; not in events.jsonl.
    Output {
        /// The output stream.
        stream: Stream,
        /// The text, invalid UTF-8 replaced.
        text: String,
    },
    /// A round of an attempt ended, and another one follows.
    RoundEnded {
        /// The story of the attempt.
        story: String,
        /// The attempt's number.
        attempt: u32,
        /// The number of the round, from 1.
        round: u32,
        /// The agent's exit code.
        exit_code: Option<i32>,
        /// Seconds it took.
        duration: f64,
        /// Its cost in US dollars, if the agent reports it.
        cost_usd: Option<f64>,
    },
    /// Another round of an attempt began: a new process of the agent, in the work tree that the last one left.
    RoundStarted {
        /// The story of the attempt.
        story: String,
        /// The attempt's number.
        attempt: u32,
        /// The number of the round, from 2.
        round: u32,
        /// The reason for it.
        why: Further,
        /// The work that is left, in the words of the round before; null if it was not asked to continue.
        left: Option<String>,
    },
    /// An attempt ended.
    AttemptEnded(Box<Attempt>),
    /// A gate has run to its end.
    Gate(GateEnded),
    /// A reviewer was asked about an attempt, and has ended.
    Review(ReviewEnded),
    /// A message of the user for the next prompts was read (git ralph tell). Who could write into git's directory at that time
    /// could have written it.
    Message {
        /// The words, invalid UTF-8 replaced.
        text: String,
        /// The attempt that was running when it was written, as story@number; null if none was.
        during: Option<String>,
    },
    /// Something of what an attempt, or what ran after it, made of the story list was put back.
    ListPutBack(ListPutBack),
    /// A checkpoint was made.
    Checkpoint {
        /// The story that it completes; null for edits made by the user.
        story: Option<String>,
        /// The attempt that made it.
        attempt: Option<u32>,
        /// The commit.
        oid: Oid,
        /// The slot in which the attempt was made beside others; absent otherwise.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slot: Option<u16>,
    },
    /// The work tree was restored to the checkpoint.
    Reverted {
        /// The story whose attempt was undone.
        story: Option<String>,
        /// The attempt's number.
        attempt: Option<u32>,
        /// The checkpoint.
        oid: Oid,
        /// The ref that keeps the work that was undone.
        #[serde(rename = "ref")]
        kept: Option<String>,
        /// False when nothing was there to undo.
        changed: bool,
        /// The slot in which the attempt was made beside others; absent otherwise.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slot: Option<u16>,
    },
    /// The user had completed stories undone: the loop is at an earlier checkpoint.
    Redone {
        /// The stories, oldest first; the first is next.
        stories: Vec<Undone>,
        /// The checkpoint.
        oid: Oid,
        /// The words of the user about it.
        words: Option<String>,
    },
    /// The story can be tried again.
    Retry {
        /// The story's id.
        story: String,
        /// Retries used so far.
        retries: u32,
        /// Retries that it has.
        max_retries: u32,
        /// The reason for the last failure.
        reason: Option<String>,
    },
    /// The agent's service cannot answer; the same attempt is repeated later.
    Waiting {
        /// The agent's words about it.
        reason: String,
        /// Seconds to wait.
        seconds: u64,
        /// Time when the wait ends.
        until: Timestamp,
    },
    /// The progress of the loop.
    StoryProgress {
        /// Complete stories.
        done: usize,
        /// All stories.
        total: usize,
        /// Ids of the stories that the loop skips.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        skipped: Vec<String>,
    },
    /// A story failed and has no retries left.
    MaxRetriesExceeded {
        /// The story's id.
        story: String,
        /// Retries that it had.
        max_retries: u32,
        /// True if it is put off until the other stories are through.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        deferred: bool,
    },
    /// The agent's git moved a ref, or was kept from moving one.
    RefMoved(RefMoved),
    /// The user made commits on the loop's branch, as git's hooks reported.
    Committed {
        /// The tip of the branch.
        oid: Oid,
        /// Commits above the checkpoint.
        commits: usize,
    },
    /// HEAD left the loop's branch, as git's hooks reported.
    Left {
        /// The new place of HEAD: a branch, or the beginning of an object id.
        to: String,
    },
    /// HEAD is on the loop's branch again, as git's hooks reported.
    Returned {
        /// The branch.
        branch: String,
    },
    /// The loop came here from another machine, or from a run that is dead.
    HandedOver {
        /// The run that held it; null if none did, or if that is not known.
        from: Option<String>,
        /// The remote that keeps it.
        remote: String,
    },
    /// Something that the user should know; the loop continues.
    Notice {
        /// The text.
        message: String,
    },
    /// The command ends with an error, which is not in events.jsonl; or a story has no retries left.
    Error {
        /// The error message.
        message: String,
        /// The hint: the command to type next.
        hint: Option<String>,
        /// The exit code.
        exit: u8,
        /// The failure of a story: `max_retries_exceeded`. With it come the fields that follow.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<String>,
        /// The story's id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        story: Option<String>,
        /// The reason for its last failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Number of its attempts that failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempts: Option<u32>,
        /// The ways in which the loop can be closed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
    },
    /// All stories are over, and no choice is made yet how to finish: the user is asked, or `git ralph finish` is
    /// left for later.
    AwaitingChoice {
        /// The possible choices, by their names.
        options: Vec<String>,
    },
    /// `git ralph run` ends.
    RunEnded {
        /// Its exit code.
        exit: u8,
    },
    /// No story is left to do.
    Complete {
        /// Complete stories.
        done: usize,
        /// All stories.
        total: usize,
        /// The ways in which the loop can be closed; empty in events of earlier versions.
        #[serde(default)]
        options: Vec<String>,
    },
    /// The loop was closed.
    Finished {
        /// cleanup, keep, abort, or aside: `run --any` leaves the rest to the user.
        how: String,
        /// The branch that HEAD is on now; null when detached.
        branch: Option<String>,
        /// The ref that keeps the final state.
        #[serde(rename = "ref")]
        kept: String,
        /// For a loop with a work tree of its own: the one that got the changes, or that was left by abort.
        worktree: Option<String>,
    },
    /// A gate refused the loop before any work, or was interrupted: it did not begin, and nothing is left of it.
    StartUndone {
        /// The branch that HEAD is on again; null when detached.
        branch: Option<String>,
    },
}

impl What {
    /// Returns the event of a loop in which no story is left.
    pub fn complete(done: usize, total: usize) -> Self {
        Self::Complete {
            done,
            total,
            options: closings(),
        }
    }
}

/// Returns the names of the ways to close a loop that has ended.
pub fn closings() -> Vec<String> {
    ["cleanup", "keep"].map(str::to_owned).into()
}

/// Returns the words about a loop from another machine.
pub fn handed_over(from: Option<&str>, remote: &str) -> String {
    match from {
        Some(from) => format!("taken over on {remote} from {from}, which gave no sign for its lease"),
        None => format!("taken over from {remote}"),
    }
}

/// Returns the line about a message for the next prompts, and its words.
pub fn said(text: &str, during: Option<&str>) -> String {
    match during {
        Some(attempt) => format!("written while attempt {attempt} ran: {text}"),
        None => format!("you said: {text}"),
    }
}

/// A stream of the agent's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// The limits of a command's attempts, for display while they run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Watching {
    /// The top directory of the work tree.
    pub top: PathBuf,
    /// The longest time that an attempt may print nothing.
    pub idle: Option<Duration>,
    /// The highest cost of all of them together, in US dollars.
    pub max_cost: Option<f64>,
}

/// News of a loop while a command works on it.
#[derive(Clone, Debug)]
pub enum News<'a> {
    /// Something has happened.
    Event(&'a Event),
    /// The agent or a gate printed these bytes.
    Output {
        /// The change.
        change: &'a str,
        /// The stream that they came from.
        stream: Stream,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// A readable line about the agent's work, from an agent whose raw output is not made for people.
    Activity(&'a str),
    /// The limits of the attempts that follow.
    Limits(Watching),
    /// The work that begins now, before it prints anything.
    Doing(&'a str),
    /// Something begins that takes its time and is no attempt; its end is an event.
    Begins(&'a str),
    /// The running process is asked to end, because git-ralph was asked to stop.
    Stopping,
    /// The shortest words that name the stories of the list, from here on.
    Names(&'a ShortNames),
    /// Another second of an attempt has passed.
    Tick,
    /// A process that attempts a story beside others has printed this line about itself.
    Relayed(&'a str),
    /// The stories that are attempted beside each other now; sent each second.
    Beside(&'a [StoryBeside]),
    /// The time for which the loop still waits; nothing at the end of the wait.
    Countdown(Duration),
}

/// A story that is attempted beside others.
#[derive(Clone, Debug)]
pub struct StoryBeside {
    /// The story's id.
    pub story: String,
    /// The time at which its attempt began.
    pub since: Instant,
    /// The time at which its process last printed something.
    pub printed: Instant,
}

/// Watches a loop: the only way from the engine to a screen.
pub trait Observer {
    /// Takes the news.
    fn hear(&self, news: News<'_>);
}

/// Shows nothing.
pub struct Silent;

impl Observer for Silent {
    fn hear(&self, _: News<'_>) {}
}

impl Event {
    /// Makes an event that happens now.
    pub fn now(change: &str, what: What) -> Self {
        Self {
            v: VERSION,
            t: Timestamp::now(),
            what,
            change: change.to_owned(),
        }
    }

    /// Returns the event as one line of JSON, with its line feed.
    pub fn line(&self) -> String {
        let mut line = serde_json::to_string(self).unwrap_or_default();
        line.push('\n');
        line
    }
}

/// Reports a notice about a change whose loop is not open.
pub(crate) fn tell(observer: &dyn Observer, change: &str, message: String) {
    observer.hear(News::Event(&Event::now(change, What::Notice { message })));
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
        let mut schema = settings.into_generator().into_root_schema_for::<Event>();
        schema.insert("title".to_owned(), "An event of git-ralph".into());
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/events.schema.json");
        assert_data_eq!(
            text,
            Data::read_from(&file, Some(snapbox::data::DataFormat::Text)).raw()
        );
    }
}
