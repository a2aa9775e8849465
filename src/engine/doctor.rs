//! What `git ralph doctor` looks at: git, the agents that are known by name, and the one that would be used.
//! Changes nothing; works outside of a repository too.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::report::ChosenAgent;
use crate::agent::Agent;
use crate::agent::presets::{self, Preset};
use crate::async_cmd::{self, find_program};
use crate::error::Error;
use crate::git::Git;
use crate::settings::Configuration;

/// The oldest git that has all that is needed (`merge-tree --write-tree`).
const OLDEST_GIT: (u32, u32) = (2, 38);
/// How long a program may take to tell its version.
const LIMIT: Duration = Duration::from_secs(20);
/// How much of a version is shown, in characters.
const VERSION_CHARS: usize = 40;

/// What was found: `git ralph doctor --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Examination {
    /// The version of git, in its words.
    pub git: Option<String>,
    /// The agent that a loop would work with; absent when none is named and none is installed.
    pub agent: Option<ChosenAgent>,
    /// The agents that are known by name.
    pub agents: Vec<KnownAgent>,
    /// What needs mending.
    pub problems: Vec<Problem>,
}

/// An agent that is known by name, and whether it is there.
#[derive(Clone, Debug, Serialize)]
pub struct KnownAgent {
    /// Its name.
    pub name: &'static str,
    /// Its command line.
    pub command: String,
    /// Whether its program is on PATH.
    pub installed: bool,
    /// Its version, in its words.
    pub version: Option<String>,
    /// What it prints.
    pub format: &'static str,
    /// The argument by which it no longer asks before it acts.
    pub unasked: Option<&'static str>,
    /// Whether the command line was tried with the real program.
    pub tried: bool,
}

/// Something that needs mending.
#[derive(Clone, Debug, Serialize)]
pub struct Problem {
    /// What is wrong.
    pub message: String,
    /// What to type.
    pub hint: String,
}

/// Looks at everything.
///
/// # Errors
/// When the configuration cannot be read.
pub async fn examine(dir: &Path) -> Result<Examination, Error> {
    let git = tokio::spawn(version_of("git".to_owned(), dir.to_owned()));
    let asked: Vec<_> = presets::ALL
        .iter()
        .map(|preset| tokio::spawn(version_of(preset.program.to_owned(), dir.to_owned())))
        .collect();
    let settings = Configuration::read(&Git::at(dir)).await?.settings;
    let mut agents = Vec::new();
    for (preset, version) in presets::ALL.iter().zip(asked) {
        agents.push(known(preset, dir, version.await.unwrap_or_default()));
    }
    let git = git.await.unwrap_or_default();
    let mut problems = Vec::new();
    if git
        .as_deref()
        .and_then(numbers)
        .is_none_or(|found| found < OLDEST_GIT)
    {
        let (major, minor) = OLDEST_GIT;
        problems.push(Problem {
            message: format!("git is {}", git.as_deref().unwrap_or("missing")),
            hint: format!("install git {major}.{minor} or newer"),
        });
    }
    let agent = Agent::choose(&[], settings.agent.as_deref(), &settings.agents, dir);
    let missing = agent
        .as_ref()
        .and_then(|agent| agent.command.missing_program(dir));
    if let Some(missing) = missing {
        problems.push(Problem {
            message: format!("the agent '{missing}' cannot be found"),
            hint: "install it, or name another: git config ralph.agent <name>".to_owned(),
        });
    }
    if agent.is_none() {
        problems.push(Problem {
            message: "no agent is named, and none of these is installed".to_owned(),
            hint: "install one, or name a command: git config ralph.agent '<command>'".to_owned(),
        });
    }
    Ok(Examination {
        git,
        agent: agent.map(ChosenAgent::of),
        agents,
        problems,
    })
}

fn known(preset: &'static Preset, dir: &Path, version: Option<String>) -> KnownAgent {
    KnownAgent {
        name: preset.name,
        command: preset.line(),
        installed: find_program(OsStr::new(preset.program), dir).is_some(),
        version,
        format: preset.format.name(),
        unasked: preset.unasked,
        tried: preset.tried,
    }
}

/// What a program answers to `--version`; `None` when it is not there or does not answer.
async fn version_of(program: String, dir: std::path::PathBuf) -> Option<String> {
    find_program(OsStr::new(&program), &dir)?;
    let command = async_cmd::Command::new(program).arg("--version");
    let output = async_cmd::run(command.dir(&dir).limit(LIMIT)).await.ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    (output.code == Some(0)).then(|| line.chars().take(VERSION_CHARS).collect())
}

/// The first two numbers of a version.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let from = version.find(|c: char| c.is_ascii_digit())?;
    let mut parts = version[from..].split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_git_is_read() {
        assert_eq!(numbers("git version 2.47.3"), Some((2, 47)));
        assert_eq!(numbers("git version 2.39.5 (Apple Git-154)"), Some((2, 39)));
        assert_eq!(numbers("git version 3.0.rc0"), Some((3, 0)));
        assert_eq!(numbers("git"), None);
    }
}
