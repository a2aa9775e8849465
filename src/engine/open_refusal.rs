//! Errors of finding the subject of a command: the repository, the loop, a kept attempt.

use std::path::{Path, PathBuf};

use crate::async_cmd::quoted;
use crate::error::{Advice, Advise, hint, list};
use crate::git::RefFile;
use crate::names::closest;

/// The reason why a repository, a loop or a kept attempt was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenRefusal {
    #[error("not inside the work tree of a git repository\n  {0}")]
    NoWorkTree(String),
    /// Git cannot read the repository; with git's own message.
    #[error("git cannot read the repository {}\n  {words}", git_dir.display())]
    Damaged { git_dir: PathBuf, words: String },
    #[error("GIT_DIR names {}, but the current directory belongs to {}", named.display(), found.display())]
    OtherGitDir { named: PathBuf, found: PathBuf },
    #[error("this already is an attempt of a loop: an agent cannot start another one")]
    InsideAttempt,
    #[error("there is no loop '{name}' here{}", list(" (loops: ", known, ")"))]
    UnknownLoop { name: String, known: Vec<String> },
    /// There is no live loop, but perhaps finished ones.
    #[error("there is no {}loop here{}", if finished.is_empty() { "" } else { "active " }, list(" (finished: ", finished, ")"))]
    NoLoop {
        finished: Vec<String>,
        /// The changes that a loop could be started for.
        changes: Vec<String>,
    },
    /// Several changes have open stories, and none is named.
    #[error("there are several changes with open stories{}", list(": ", .0, ""))]
    SeveralChanges(Vec<String>),
    #[error("there are several loops here{}", list(": ", .0, ""))]
    SeveralLoops(Vec<String>),
    #[error("loop '{change}' belongs to the work tree {path}")]
    OtherWorkTree { change: String, path: String },
    #[error("there is no saved attempt {attempt}")]
    UnknownAttempt { change: String, attempt: String },
    #[error("'{0}' is not an attempt: use <story>@<number>")]
    NoAttempt(String),
}

/// Returns the command to type if git cannot read a repository.
fn repair(git_dir: &Path) -> String {
    let (head, config) = (git_dir.join("HEAD"), git_dir.join("config"));
    let name = |file: &Path| quoted(&file.to_string_lossy());
    match RefFile::read(&head) {
        RefFile::Missing | RefFile::Damaged => format!(
            "name the branch that you were on in it: echo 'ref: refs/heads/<branch>' >{}",
            name(&head)
        ),
        _ if config.is_dir() => format!(
            "make a new file there: mv {0} {0}.damaged && git init",
            name(&config)
        ),
        _ => "repair what git names, then: git ralph status".to_owned(),
    }
}

impl Advise for OpenRefusal {
    fn advice(&self) -> Advice {
        match self {
            Self::NoWorkTree(_) => hint("cd into a repository, or create one with: git init"),
            Self::Damaged { git_dir, .. } => hint(repair(git_dir)),
            Self::OtherGitDir { .. } => hint("cd into the work tree of that repository, or: unset GIT_DIR"),
            Self::InsideAttempt => hint("end the attempt with its promise; the loop then continues"),
            Self::UnknownLoop { name, known } => match closest(name, known) {
                Some(meant) => hint(format!(
                    "did you mean '{meant}'? To start a loop: git ralph start {name}"
                )),
                None if known.is_empty() => hint(format!("git ralph start {name}")),
                None => hint(format!(
                    "name one of them, or start another: git ralph start {name}"
                )),
            },
            Self::NoLoop { changes, .. } => hint(match changes.as_slice() {
                [] => "git ralph start <change>".to_owned(),
                [only] => format!("git ralph start {only}"),
                several => format!("git ralph start <change> ({})", several.join(", ")),
            }),
            Self::SeveralChanges(_) => hint("name one of them: git ralph run <change>"),
            Self::SeveralLoops(_) => hint("name one of them, or see: git ralph status"),
            Self::OtherWorkTree { path, .. } => hint(format!("cd {}", quoted(path))),
            Self::UnknownAttempt { change, .. } => hint(format!("git ralph log {change}")),
            Self::NoAttempt(_) => hint("git ralph log"),
        }
    }
}
