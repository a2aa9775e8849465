//! What `git ralph doctor` looks at: git, the agents, the repository around the current directory, and what is
//! installed. Changes nothing and takes no lock; works outside a repository too.
//!
//! A [`Problem`] keeps a loop from working and has to be repaired; advice is about what could be better. Either comes
//! with what to type. What may be somebody's work of this moment is neither.

mod agents;
mod git;
mod installation;
mod repository;

use std::path::Path;

use serde::Serialize;

use crate::error::Error;
use crate::git::Git;
use crate::inspect::stories::ChosenAgent;
use crate::settings::Configuration;

pub use agents::KnownAgent;
pub use git::Feature;
pub use installation::{Completion, Installation};
pub use repository::{FoundChange, FoundLoop, Repository};

/// What was found: `git ralph doctor --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Examination {
    /// The version of git, in its words.
    pub git: Option<String>,
    /// What of git is used, and whether this one has it.
    pub features: Vec<Feature>,
    /// The agent that a loop would work with; absent when none is named and none is installed.
    pub agent: Option<ChosenAgent>,
    /// The agents that are known by name.
    pub agents: Vec<KnownAgent>,
    /// The repository around the current directory; absent where there is none.
    pub repository: Option<Repository>,
    /// What is installed beside the program.
    pub installation: Installation,
    /// What has to be repaired.
    pub problems: Vec<Problem>,
    /// What could be better, and keeps nothing from working.
    pub advice: Vec<Problem>,
}

/// Something that has to be repaired, or could be better.
#[derive(Clone, Debug, Serialize)]
pub struct Problem {
    /// What is wrong.
    pub message: String,
    /// What to type.
    pub hint: String,
}

/// What was noted on the way.
#[derive(Default)]
struct Notes {
    problems: Vec<Problem>,
    advice: Vec<Problem>,
}

impl Notes {
    fn problem(&mut self, message: impl Into<String>, hint: impl Into<String>) {
        self.problems.push(Problem {
            message: message.into(),
            hint: hint.into(),
        });
    }

    fn advice(&mut self, message: impl Into<String>, hint: impl Into<String>) {
        self.advice.push(Problem {
            message: message.into(),
            hint: hint.into(),
        });
    }
}

/// Looks at everything.
///
/// # Errors
/// When the configuration cannot be read.
pub async fn examine(dir: &Path) -> Result<Examination, Error> {
    let mut notes = Notes::default();
    let asked = agents::ask(dir);
    let configuration = Configuration::read(&Git::at(dir)).await?;
    for ignored in &configuration.ignored {
        notes.advice(
            ignored,
            "to see where it is set: git config --show-origin --get-regexp '^ralph'",
        );
    }
    let git = git::examine(dir, &mut notes).await;
    let (agent, agents) = agents::examine(dir, asked, &configuration.settings, &mut notes).await;
    let repository = repository::examine(dir, &configuration.settings, &mut notes).await;
    let installation = installation::examine(&mut notes).await;
    Ok(Examination {
        features: git::features(git.as_deref()),
        git,
        agent,
        agents,
        repository,
        installation,
        problems: notes.problems,
        advice: notes.advice,
    })
}
