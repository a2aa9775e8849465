//! Errors of `finish` and `abort`.

use std::path::PathBuf;

use crate::async_cmd::quoted;
use crate::error::{Advice, Advise, hint, lines};
use crate::exit::Exit;

/// The reason why a loop was not closed.
#[derive(Debug, thiserror::Error)]
pub enum FinishRefusal {
    /// `finish` without a choice, and without a terminal to ask on.
    #[error("choose --cleanup or --keep")]
    NoChoice(String),
    #[error("choose either --cleanup or --keep, not both")]
    TwoChoices,
    /// `run` with several changes, without a choice for the first of them.
    #[error(
        "several changes need --cleanup or --keep: a second loop cannot begin in the work tree of the first"
    )]
    NoChoiceForSeveral {
        changes: Vec<String>,
        /// True if only the first of them has stories: the rest may be meant as the agent's command.
        is_agent: bool,
    },
    #[error("branch {branch} no longer exists (it was at {oid})")]
    OriginalGone { branch: String, oid: String },
    /// Git cannot read the original branch's file.
    #[error("branch {branch} is damaged: git cannot read {} (it was at {oid})", file.display())]
    OriginalDamaged {
        branch: String,
        oid: String,
        file: PathBuf,
    },
    /// `abort`, but the original branch has moved.
    #[error("{branch} has moved since the loop began")]
    OriginalMoved { change: String, branch: String },
    #[error("{branch} is checked out in {path}")]
    OriginalElsewhere { branch: String, path: String },
    #[error("branch {branch} had no commit when the loop began, and has one now")]
    OriginalBorn { change: String, branch: String },
    #[error(
        "{branch} has moved and conflicts with the loop in{}\nnothing was changed",
        lines(paths)
    )]
    Conflict {
        change: String,
        branch: String,
        paths: Vec<String>,
    },
}

impl Advise for FinishRefusal {
    fn advice(&self) -> Advice {
        match self {
            Self::NoChoice(change) => hint(format!(
                "git ralph finish --cleanup {change}, or: git ralph finish --keep {change}"
            ))
            .exit(Exit::Usage),
            Self::TwoChoices => hint("git ralph finish --cleanup, or: git ralph finish --keep").exit(Exit::Usage),
            Self::NoChoiceForSeveral { changes, is_agent } => hint(match changes.split_first() {
                Some((change, agent)) if *is_agent => {
                    let agent: Vec<String> = agent.iter().map(|word| quoted(word)).collect();
                    format!("to run an agent: git ralph run {change} -- {}", agent.join(" "))
                }
                _ => format!("git ralph run {} --cleanup", changes.join(" ")),
            })
            .exit(Exit::Usage),
            Self::OriginalGone { branch, oid } => {
                hint(format!("git branch {branch} {oid}")).exit(Exit::Person)
            }
            Self::OriginalDamaged { branch, oid, file } => {
                let file = quoted(&file.to_string_lossy());
                hint(format!("rm {file} && git branch {branch} {oid}")).exit(Exit::Person)
            }
            Self::OriginalMoved { change, branch } => hint(format!(
                "to keep what the loop did on its branch: git ralph finish --keep {change} && git checkout {branch}"
            ))
            .exit(Exit::Person),
            Self::OriginalElsewhere { path, .. } => {
                hint(format!("git -C {} checkout --detach", quoted(path))).exit(Exit::Person)
            }
            Self::OriginalBorn { change, .. } | Self::Conflict { change, .. } => hint(format!(
                "git ralph finish --keep {change}, then rebase or merge it yourself"
            ))
            .exit(Exit::Person),
        }
    }
}
