//! Errors of an attempt: its agent cannot be named, found or used.

use std::path::PathBuf;

use crate::agent::presets;
use crate::error::{Advice, Advise, hint};
use crate::exit::Exit;
use crate::names::closest;
use crate::state::Verdict;

/// Tells why no attempt was made, or why another would not help.
#[derive(Debug, thiserror::Error)]
pub enum AttemptRefusal {
    #[error("no agent is named")]
    NoAgent(String),
    #[error("the agent '{0}' cannot be found")]
    AgentMissing(String),
    /// The agent cannot work at all: more attempts would not help.
    #[error("the agent could not work on the story {story}: {verdict}{}", reason.as_ref().map(|r| format!(" ({r})")).unwrap_or_default())]
    AgentUnable {
        log: PathBuf,
        story: String,
        verdict: Verdict,
        reason: Option<String>,
        advice: Option<&'static str>,
    },
    #[error("{stories} stories in a row were said to be complete, but nothing was changed for them")]
    NothingChanged { change: String, stories: u32 },
}

impl Advise for AttemptRefusal {
    fn advice(&self) -> Advice {
        match self {
            Self::NoAgent(command) => hint(format!(
                "git ralph {command} -- <agent command>, or: git config ralph.agent <name>; names: git ralph doctor"
            )),
            Self::AgentMissing(name) => {
                let known: Vec<String> = presets::ALL.iter().map(|preset| preset.name.to_owned()).collect();
                match closest(name, &known) {
                    Some(meant) => hint(format!("did you mean '{meant}'? Names: git ralph doctor")),
                    None => hint("install it, or name another after --"),
                }
            }
            Self::AgentUnable { log, advice, .. } => {
                let advice = advice.unwrap_or("mend that");
                let log = log.display();
                hint(format!(
                    "{advice}, then the same command again; what the agent printed: {log}"
                ))
            }
            Self::NothingChanged { change, .. } => hint(format!(
                "see whether the agent may write files (git ralph log {change}), then the same command again"
            ))
            .exit(Exit::Person),
        }
    }
}
