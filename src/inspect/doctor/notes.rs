//! Collects what `git ralph doctor` has found.

use serde::Serialize;

/// A problem to solve, or a possible improvement.
#[derive(Clone, Debug, Serialize)]
pub struct Problem {
    /// The description of the problem.
    pub message: String,
    /// The command to type.
    pub hint: String,
}

/// The problems and advice collected so far.
#[derive(Default)]
pub(super) struct Notes {
    pub problems: Vec<Problem>,
    pub advice: Vec<Problem>,
}

impl Notes {
    pub fn problem(&mut self, message: impl Into<String>, hint: impl Into<String>) {
        self.problems.push(Problem {
            message: message.into(),
            hint: hint.into(),
        });
    }

    pub fn advice(&mut self, message: impl Into<String>, hint: impl Into<String>) {
        self.advice.push(Problem {
            message: message.into(),
            hint: hint.into(),
        });
    }
}
