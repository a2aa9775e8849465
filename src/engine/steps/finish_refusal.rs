//! Errors of `finish` and `abort`.

use crate::async_cmd::quoted;
use crate::error::{Advice, Advise, hint, lines};
use crate::exit::Exit;

/// Tells why a loop was not closed.
#[derive(Debug, thiserror::Error)]
pub enum FinishRefusal {
    /// `finish` without a choice, where nobody can be asked.
    #[error("say what shall become of the work: --cleanup or --keep")]
    NoChoice(String),
    #[error("the branch {branch} is gone (it was at {oid})")]
    OriginalGone { branch: String, oid: String },
    /// `abort`, but the original branch is not where it was.
    #[error("{branch} has moved on since the loop began")]
    OriginalMoved { change: String, branch: String },
    #[error("{branch} is checked out in {path}")]
    OriginalElsewhere { branch: String, path: String },
    #[error("the branch {branch} had no commit when the loop began, and has one now")]
    OriginalBorn { change: String, branch: String },
    #[error(
        "{branch} has moved on and conflicts with the loop in{}\nnothing was changed",
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
            Self::NoChoice(change) => {
                let line = format!("git ralph finish --cleanup {change}");
                hint(line.trim_end()).exit(Exit::Usage)
            }
            Self::OriginalGone { branch, oid } => {
                hint(format!("git branch {branch} {oid}")).exit(Exit::Person)
            }
            Self::OriginalMoved { change, .. } => {
                hint(format!("git ralph finish {change}")).exit(Exit::Person)
            }
            Self::OriginalElsewhere { path, .. } => {
                hint(format!("git -C {} checkout --detach", quoted(path))).exit(Exit::Person)
            }
            Self::OriginalBorn { change, .. } | Self::Conflict { change, .. } => hint(format!(
                "git ralph finish --keep {change}, then: git rebase or git merge by hand"
            ))
            .exit(Exit::Person),
        }
    }
}
