//! The question that a run asks the user. The loop is free meanwhile: the state says who asks, so that every process can
//! see it and any other command can go on with the loop in place of an answer.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::processes::{host, is_gone, is_same, ourselves, started_at};

/// A question that a process asks the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwaitingChoice {
    /// The process id of the git-ralph that asks.
    pub pid: i32,
    /// That process's start time, so that another process with the same number is not mistaken for it.
    pub started: Option<u64>,
    /// The name of its machine, where that has one.
    pub host: Option<String>,
    /// Time since which it asks.
    pub since: Timestamp,
    /// The exit code of the run if the answer changes nothing; none if no run asks, or an earlier version.
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

    /// Returns whether the process that asks is one of this machine.
    pub fn is_here(&self) -> bool {
        self.host == host()
    }

    /// Returns whether the process still asks: it is alive, or on another machine, where that cannot be seen.
    pub fn is_asked(&self) -> bool {
        if !self.is_here() {
            return true;
        }
        match self.started {
            Some(_) => is_same(self.pid, self.started),
            None => !is_gone(self.pid),
        }
    }

    /// Returns the process that asks, for people.
    pub fn process(&self) -> String {
        match &self.host {
            Some(host) => format!("process {} on {host}", self.pid),
            None => format!("process {}", self.pid),
        }
    }
}
