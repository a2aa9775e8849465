//! The events of an attempt that have the most to say.

use serde::{Deserialize, Serialize};

use super::{InForce, Stretch};

/// The beginning of an attempt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AttemptStarted {
    /// The story's id.
    pub story: String,
    /// Its title.
    pub title: String,
    /// The number of the attempt.
    pub attempt: u32,
    /// Retries used up to and including this attempt.
    pub retries: u32,
    /// Retries that the story has.
    pub max_retries: u32,
    /// Complete stories.
    pub done: usize,
    /// All stories.
    pub total: usize,
    /// The agent: its name, or that of its program; null where none is started.
    pub agent: Option<String>,
    /// The format of the agent's output.
    pub format: Option<String>,
    /// The file with the attempt's output, below the loop's directory.
    pub log: Option<String>,
    /// The number of the slot in which it runs beside others; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<u16>,
    /// The settings that are in force; null in events of earlier versions.
    pub settings: Option<Box<InForce>>,
}

/// The run of a gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GateEnded {
    /// The story of the attempt; null before any attempt.
    pub story: Option<String>,
    /// The attempt's number; null before any attempt.
    pub attempt: Option<u32>,
    /// The gate: a shell command.
    pub command: String,
    /// True if it succeeded.
    pub passed: bool,
    /// The reason for the failure; null when it succeeded.
    pub reason: Option<String>,
    /// Seconds it took.
    pub duration: f64,
    /// The part of its log with its output; null if it is not known. Before any attempt, that is
    /// gates-at-start.log.
    pub output: Option<Stretch>,
    /// True if it ran with tests as they were at the last checkpoint, after all gates had passed with those of the
    /// attempt.
    #[serde(default)]
    pub held: bool,
    /// The slot in which the attempt was made beside others; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<u16>,
}

/// The answer of a reviewer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReviewEnded {
    /// The story of the attempt.
    pub story: String,
    /// The attempt's number.
    pub attempt: u32,
    /// The reviewer: its name, or that of its program.
    pub reviewer: String,
    /// True if it accepted the work, false if it rejected it; null if it gave no verdict.
    pub accepted: Option<bool>,
    /// The end of its last message, or why it gave no verdict.
    pub words: Option<String>,
    /// Seconds it took.
    pub duration: f64,
    /// Its cost in US dollars, if it reports it.
    pub cost_usd: Option<f64>,
    /// The part of the attempt's log with its output; null if it is not known.
    pub output: Option<Stretch>,
}

/// Something of the story list that was put back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ListPutBack {
    /// The story of the attempt.
    pub story: String,
    /// The attempt's number.
    pub attempt: u32,
    /// The path of the list.
    pub list: String,
    /// The part that was put back, in words.
    pub what: String,
    /// The ref that keeps the list as it was found.
    #[serde(rename = "ref")]
    pub kept: String,
    /// The command or the file that shows it.
    pub shown: String,
}

/// A ref that an agent moved, or tried to move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RefMoved {
    /// The story of the attempt.
    pub story: String,
    /// The attempt's number.
    pub attempt: u32,
    /// The full name of the ref; HEAD for a move of HEAD itself.
    #[serde(rename = "ref")]
    pub name: String,
    /// The old value: an object, or the full name of another ref; null when there was none.
    pub old: Option<String>,
    /// The new value, also of a refused move; null for a deletion.
    pub new: Option<String>,
    /// True if the guard refused the move: then nothing moved.
    pub refused: bool,
}
