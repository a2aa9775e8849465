//! The agents known by name, and the one that a loop would use.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use tokio::task::JoinHandle;

use super::notes::Notes;
use crate::agent::Agent;
use crate::agent::presets::{self, Preset};
use crate::async_cmd::{self, find_program};
use crate::engine::{agent_of, missing_agents};
use crate::settings::Settings;

/// Time limit for a program to print its version.
const LIMIT: Duration = Duration::from_secs(20);
/// Maximum length of a shown version, in characters.
const VERSION_CHARS: usize = 40;

/// A known agent, and whether it is installed.
#[derive(Clone, Debug, Serialize)]
pub struct KnownAgent {
    /// Its name.
    pub name: &'static str,
    /// Its command line.
    pub command: String,
    /// True if its program is on PATH.
    pub installed: bool,
    /// Its version, in its own words.
    pub version: Option<String>,
    /// The format of its output.
    pub format: &'static str,
    /// The argument that makes it act without asking.
    pub unasked: Option<&'static str>,
    /// True if the command line was tried with the real program.
    pub tried: bool,
}

/// The parallel queries of all programs for their versions.
pub(super) struct Asked(Vec<JoinHandle<Option<String>>>);

pub(super) fn ask(dir: &Path) -> Asked {
    let ask = |preset: &Preset| tokio::spawn(version_of(preset.program.to_owned(), dir.to_owned()));
    Asked(presets::ALL.iter().map(ask).collect())
}

pub(super) async fn examine(
    dir: &Path,
    asked: Asked,
    settings: &Settings,
    notes: &mut Notes,
) -> (Option<Agent>, Vec<KnownAgent>) {
    let mut agents = Vec::new();
    for (preset, version) in presets::ALL.iter().zip(asked.0) {
        agents.push(KnownAgent {
            name: preset.name,
            command: preset.line(),
            installed: find_program(OsStr::new(preset.program), dir).is_some(),
            version: version.await.unwrap_or_default(),
            format: preset.format.into(),
            unasked: preset.unasked,
            tried: preset.tried,
        });
    }
    let agent = agent_of(&[], settings, dir);
    for (key, missing) in missing_agents(&[], settings, dir) {
        notes.problem(
            format!("cannot find the agent '{missing}'"),
            format!("install it, or name another: git config {key} <name>"),
        );
    }
    if agent.is_none() {
        notes.problem(
            "no agent is configured, and no known agent is installed",
            "install one, or name a command: git config ralph.agent '<command>'",
        );
    }
    (agent, agents)
}

/// Returns a program's output for `--version`; `None` if it is not installed or does not answer.
pub(super) async fn version_of(program: String, dir: PathBuf) -> Option<String> {
    find_program(OsStr::new(&program), &dir)?;
    let command = async_cmd::Command::new(program).arg("--version");
    let output = async_cmd::run(command.dir(&dir).limit(LIMIT)).await.ok()?;
    // Some print it on stderr.
    let line = [&output.stdout, &output.stderr].into_iter().find_map(|text| {
        let text = String::from_utf8_lossy(text);
        let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
        Some(line.chars().take(VERSION_CHARS).collect())
    })?;
    (output.code == Some(0)).then_some(line)
}
