//! Examines git, the agents, the repository around the current directory, and the installed files, for `git ralph
//! doctor`. Changes nothing and takes no lock; works outside a repository too.
//!
//! A [`Problem`] prevents a loop from working and must be solved; advice names possible improvements. Each has a
//! command to type. Files that another program may be using are neither.

mod agents;
mod boxed;
mod git;
mod installation;
mod notes;
mod repository;

use std::path::Path;

use serde::Serialize;

use crate::engine::refuse_lost_repository;
use crate::error::Error;
use crate::error::advice::Advise;
use crate::git::Git;
use crate::inspect::stories::ChosenAgent;
use crate::settings::{Configuration, LoopSettings};
use notes::Notes;

pub use agents::KnownAgent;
pub use boxed::FoundBox;
pub use git::{Feature, versions};
pub use installation::Installation;
pub use notes::Problem;
pub use repository::{FoundChange, FoundLoop, Repository};

/// The findings: `git ralph doctor --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Examination {
    /// The version of git, in its own words.
    pub git: Option<String>,
    /// The optional features of git, and whether this one has them.
    pub features: Vec<Feature>,
    /// The agent that a loop would work with; absent if none is named and none is installed.
    pub agent: Option<ChosenAgent>,
    /// The agents that are known by name.
    pub agents: Vec<KnownAgent>,
    /// The repository around the current directory; absent if there is none.
    pub repository: Option<Repository>,
    /// The sandbox of that agent in the repository; absent without a repository.
    #[serde(rename = "box")]
    pub boxed: Option<FoundBox>,
    /// The files installed with the program.
    pub installation: Installation,
    /// Problems that have to be repaired.
    pub problems: Vec<Problem>,
    /// Possible improvements, which prevent nothing from working.
    pub advice: Vec<Problem>,
}

/// Examines everything.
pub async fn examine(dir: &Path) -> Result<Examination, Error> {
    let mut notes = Notes::default();
    let asked = agents::ask(dir);
    let configuration = Configuration::read_around_errors(&Git::at(dir)).await;
    let (configuration, wrong) =
        configuration.map_err(|error| refuse_lost_repository(dir).map_or(error.into(), Error::from))?;
    if let Some(wrong) = wrong {
        notes.problem(wrong.to_string(), wrong.advice().hint.unwrap_or_default());
    }
    let weaker = configuration.weaker(&LoopSettings::default());
    for ignored in configuration.ignored.iter().chain(&weaker) {
        notes.advice(
            ignored,
            "to see where it is set: git config --show-origin --get-regexp '^ralph'",
        );
    }
    let git = git::examine(dir, &mut notes).await;
    let (agent, agents) = agents::examine(dir, asked, &configuration.settings, &mut notes).await;
    let repository = repository::examine(dir, &configuration.settings, &mut notes).await;
    let top = repository.as_ref().map(|found| found.top.as_path());
    let boxed = boxed::examine(top, agent.as_ref(), &configuration.settings, &mut notes).await;
    let installation = installation::examine(&mut notes).await;
    Ok(Examination {
        features: git::features(git.as_deref()),
        git,
        agent: agent.map(ChosenAgent::of),
        agents,
        repository,
        boxed,
        installation,
        problems: notes.problems,
        advice: notes.advice,
    })
}
