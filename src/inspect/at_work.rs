//! Reports, in a loop's status, the activity of the process that holds the loop.

use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;

use crate::fs::seen;
use crate::git::Repo;
use crate::state::{AwaitingChoice, RunningGate, State, Store};

/// A question to the user in a status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// The process id of the git-ralph that asks.
    pub pid: i32,
    /// The name of its machine; null if it has none.
    pub host: Option<String>,
    /// The time at which it began to ask.
    pub since: Timestamp,
    /// The question.
    pub question: String,
    /// The possible answers.
    pub options: Vec<String>,
    /// A description of the process, for display.
    #[serde(skip)]
    pub process: String,
}

impl Asked {
    pub(super) fn of(asked: &AwaitingChoice) -> Self {
        Self {
            pid: asked.pid,
            host: asked.host.clone(),
            since: asked.since,
            question: asked.question.clone(),
            options: asked.options.clone(),
            process: asked.process(),
        }
    }
}

/// A running attempt in a status.
#[derive(Clone, Debug, Serialize)]
pub struct RunningAttempt {
    /// The process id of the git-ralph that runs it.
    pub pid: Option<i32>,
    /// The process id of the agent; null before it is started.
    pub agent_pid: Option<i32>,
    /// The story's id.
    pub story: String,
    /// The attempt's number.
    pub attempt: u32,
    /// The number of rounds, each a process of the agent, that have begun.
    pub rounds: u32,
    /// Time of its beginning.
    pub since: Timestamp,
    /// Time of its last output, or of its beginning without any.
    pub last_output: Timestamp,
    /// The gate or the reviewer that judges it; null while the agent works.
    pub gate: Option<RunningGate>,
}

impl RunningAttempt {
    /// Describes the attempt in progress, if it runs an agent and a process still holds the loop.
    pub(super) fn of(common_dir: &Path, state: &State) -> Option<Self> {
        let running = state.running()?;
        let story = state.attempted()?;
        let store = Store::new(common_dir, &state.change);
        if !store.is_held() {
            return None;
        }
        let written = seen(&store.attempt_log(&story.id, story.attempt))?
            .modified()
            .ok();
        let printed = written.and_then(|time| Timestamp::try_from(time).ok());
        Some(Self {
            pid: store.holder(),
            agent_pid: running.pid,
            story: story.id.clone(),
            attempt: story.attempt,
            rounds: running.rounds.unwrap_or(1),
            since: running.since,
            gate: running.judging,
            last_output: printed.unwrap_or(running.since).max(running.since),
        })
    }
}

/// In a status, a gate that runs before the first attempt.
#[derive(Clone, Debug, Serialize)]
pub struct GateAtWork {
    /// The process id of the git-ralph that runs it.
    pub pid: Option<i32>,
    /// The gate: a shell command.
    pub command: String,
    /// Time of its beginning.
    pub since: Timestamp,
}

impl GateAtWork {
    /// Describes the gate of a process that still holds the loop.
    pub(super) fn of(repo: &Repo, state: &State) -> Option<Self> {
        let gate = state.gate_before_work()?;
        let store = Store::new(&repo.common_dir, &state.change);
        store.is_held().then(|| Self {
            pid: store.holder(),
            command: gate.command.clone(),
            since: gate.since,
        })
    }
}

/// A wait for an agent's service in a status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// The process id of the git-ralph that waits.
    pub pid: Option<i32>,
    /// Time at which it tries again.
    pub until: Timestamp,
    /// The agent's message about it.
    pub reason: Option<String>,
}

impl Waiting {
    /// Describes the wait of a process that still holds the loop.
    pub(super) fn of(repo: &Repo, state: &State) -> Option<Self> {
        let until = state.here.waits_until.get()?;
        let store = Store::new(&repo.common_dir, &state.change);
        store.is_held().then(|| Self {
            pid: store.holder(),
            until,
            reason: state.here.waits_for.borrow().clone(),
        })
    }
}
