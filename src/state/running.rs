//! What runs now: the row of the attempt in progress, and the story that it works on.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Current, HeldTests, Phase, Progress, State};

/// The attempt in progress: the next command needs this to end it if this process dies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// The mark in the environment of every process of the attempt (`GIT_RALPH_RUN`).
    pub run: String,
    /// Time of its beginning.
    pub since: Timestamp,
    /// True if a person or a driver reports on the story: the work is theirs, and no agent runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_hand: bool,
    /// The agent's process, once it is started; also its session.
    pub pid: Option<i32>,
    /// That process's start time, so that another process with the same number is not mistaken for it.
    pub started: Option<u64>,
    /// The gate that runs before any attempt.
    pub gate: Option<RunningGate>,
    /// The gate that judges the attempt now, or did last.
    pub judging: Option<RunningGate>,
    /// The tree that gates and reviewers judge, from before the first of them starts.
    pub held: Option<HeldTests>,
}

/// A gate that runs now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningGate {
    /// The gate: a shell command; of a reviewer, its name.
    pub command: String,
    /// Time of its beginning.
    pub since: Timestamp,
    /// True for a reviewer, which is an agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_review: bool,
}

impl RunningGate {
    /// Returns the entry of a gate that begins now.
    pub fn begins(command: &str) -> Self {
        Self {
            command: command.to_owned(),
            since: Timestamp::now(),
            is_review: false,
        }
    }

    /// Returns the entry of a reviewer of this name that begins now.
    pub fn reviewer(name: &str) -> Self {
        Self {
            is_review: true,
            ..Self::begins(name)
        }
    }

    /// Returns the words for one that runs before any attempt.
    pub fn heading(&self) -> String {
        format!("gate before any work: {}", self.command)
    }
}

impl Running {
    /// Returns the entry for gates that run before any attempt.
    pub fn gates(run: &str) -> Self {
        Self {
            run: run.to_owned(),
            since: Timestamp::now(),
            ..Self::default()
        }
    }
}

impl State {
    /// Returns what runs now: an attempt, gates, a reviewer or a hook; or ran, when its process died.
    pub fn running(&self) -> Option<&Running> {
        self.running.as_ref()
    }

    /// Returns the same to change it.
    pub fn running_mut(&mut self) -> Option<&mut Running> {
        self.running.as_mut()
    }

    /// Notes what begins to run.
    pub fn begin_running(&mut self, running: Running) {
        self.running = Some(running);
    }

    /// Notes that it has ended.
    pub fn end_running(&mut self) {
        self.running = None;
    }

    /// Returns whether something runs, or did when its process died.
    pub fn is_running(&self) -> bool {
        self.running().is_some()
    }

    /// Returns whether nothing runs and no step has begun to change things.
    pub fn is_at_rest(&self) -> bool {
        !self.is_running() && self.intent.is_none()
    }

    /// Returns whether what runs is the report of a person or a driver about work of their own.
    pub fn is_by_hand(&self) -> bool {
        self.running().is_some_and(|running| running.by_hand)
    }

    /// Returns the gate that runs before any attempt.
    pub fn gate_before_work(&self) -> Option<&RunningGate> {
        self.running()?.gate.as_ref()
    }

    /// Returns the tree that gates and reviewers judge.
    pub fn held(&self) -> Option<&HeldTests> {
        self.running()?.held.as_ref()
    }

    /// Returns the story being worked on.
    pub fn current(&self) -> Option<&Current> {
        self.progress.current()
    }

    /// Returns the story of the attempt in progress.
    pub fn attempted(&self) -> Option<&Current> {
        self.current().filter(|_| self.progress.phase == Phase::Running)
    }

    /// Returns the ref that keeps the latest attempt at the story being worked on.
    pub fn attempt_ref(&self) -> Option<String> {
        let story = self.current()?;
        Some(self.change.attempt_ref(&story.id, story.attempt))
    }

    /// Returns the number of failed attempts that count at this story, if it is the one being worked on.
    pub fn failures_of(&self, id: &str) -> u32 {
        let current = self.current().filter(|current| current.id == id);
        current.map_or(0, |current| current.failures)
    }
}

impl Progress {
    /// Returns the story being worked on.
    pub fn current(&self) -> Option<&Current> {
        self.story.as_ref()
    }
}
