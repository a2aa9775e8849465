//! The rows `[[slots]]` of a state: the running processes.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::JudgedTree;

/// The attempt in progress: the next command needs this to end it if this process dies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Running {
    /// The mark in the environment of every process of the attempt (`GIT_RALPH_RUN`).
    pub run: String,
    /// Time of its beginning.
    pub since: Timestamp,
    /// True if the user or a driver reports on the story: the work is theirs, and no agent runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_hand: bool,
    /// The side of the attempt, if it was made beside others.
    pub side: Option<u16>,
    /// The agent's process, once it is started; also its session.
    pub pid: Option<i32>,
    /// The start time of that process: another process may get the same number.
    pub started: Option<u64>,
    /// The gate that runs before the first attempt.
    pub gate: Option<RunningGate>,
    /// The current or last gate of the attempt.
    pub judging: Option<RunningGate>,
    /// The tree that gates and reviewers judge, from before the first of them starts.
    pub held: Option<JudgedTree>,
    /// The number of rounds that the attempt has begun, from the second on.
    pub rounds: Option<u32>,
    /// The cost of the rounds that have ended, in dollars, if it is known.
    pub cost_usd: Option<f64>,
}

/// A row of `[[slots]]`: the running work in one slot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SlotState {
    /// The number of the slot.
    pub(super) n: u16,
    /// The attempt or the gates that run in the slot.
    #[serde(flatten)]
    pub(super) running: Running,
}

/// A gate that runs now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningGate {
    /// The shell command of a gate, or the name of a reviewer.
    pub command: String,
    /// Time of its beginning.
    pub since: Timestamp,
    /// True for a reviewer, which is an agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_review: bool,
}

impl RunningGate {
    /// Returns the entry of a gate that starts now.
    pub fn begins(command: &str) -> Self {
        Self {
            command: command.to_owned(),
            since: Timestamp::now(),
            is_review: false,
        }
    }

    /// Returns the entry of a reviewer of this name that starts now.
    pub fn reviewer(name: &str) -> Self {
        Self {
            is_review: true,
            ..Self::begins(name)
        }
    }

    /// Returns the heading of a gate that runs before the first attempt.
    pub fn heading(&self) -> String {
        format!("gate before any work: {}", self.command)
    }
}

impl Running {
    /// Returns the entry for gates that run before the first attempt.
    pub fn gates(run: &str) -> Self {
        Self {
            run: run.to_owned(),
            since: Timestamp::now(),
            ..Self::default()
        }
    }
}
