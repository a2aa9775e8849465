//! The question that a run asks the user. The loop is unlocked meanwhile: the state names the asking process, so that
//! every process can see it, and any other command can continue the loop instead of an answer.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::processes::{host, is_gone, is_same, ourselves, started_at};

/// A question that a process asks the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwaitingChoice {
    /// The process id of the git-ralph that asks.
    pub pid: i32,
    /// The start time of that process: another process may get the same number.
    pub started: Option<u64>,
    /// The name of its machine, if known.
    pub host: Option<String>,
    /// The time at which it began to ask.
    pub since: Timestamp,
    /// The exit code of the run if the answer changes nothing; absent if no run asks, or an earlier version.
    pub exit: Option<u8>,
    /// The question.
    pub question: String,
    /// The possible answers.
    pub options: Vec<String>,
}

impl AwaitingChoice {
    /// Returns a question of this process.
    pub fn ours(question: &str, options: Vec<String>, exit: Option<u8>) -> Self {
        let pid = ourselves();
        Self {
            pid,
            started: started_at(pid),
            host: host(),
            since: Timestamp::now(),
            exit,
            question: question.to_owned(),
            options,
        }
    }

    /// Returns whether the asking process is on this machine.
    pub fn is_here(&self) -> bool {
        self.host == host()
    }

    /// Returns whether the process still asks: it is alive, or on another machine and thus unknown.
    pub fn is_asked(&self) -> bool {
        if !self.is_here() {
            return true;
        }
        match self.started {
            Some(_) => is_same(self.pid, self.started),
            None => !is_gone(self.pid),
        }
    }

    /// Returns a description of the asking process for the user.
    pub fn process(&self) -> String {
        match &self.host {
            Some(host) => format!("process {} on {host}", self.pid),
            None => format!("process {}", self.pid),
        }
    }
}
