//! Finds the manual page and the completions that man and the user's shells use.

use std::path::PathBuf;

use serde::Serialize;

use super::notes::Notes;
use crate::install::manual::search;

/// The files installed with the program.
#[derive(Clone, Debug, Serialize)]
pub struct Installation {
    /// The manual page that man finds.
    pub manual: Option<PathBuf>,
    /// The completions, one for each shell that the user works with.
    pub completions: Vec<Completion>,
}

/// The completion for a shell.
#[derive(Clone, Debug, Serialize)]
pub struct Completion {
    /// The shell.
    pub shell: &'static str,
    /// The file that it loads, if this is known without running its start files.
    pub file: Option<PathBuf>,
}

pub(super) async fn examine(notes: &mut Notes) -> Installation {
    let manual = search::manual().await;
    if let Some(None) = manual {
        notes.advice(
            "man does not find the manual page: git ralph --help does not work",
            "git ralph install",
        );
    }
    let completions: Vec<Completion> = search::completions()
        .await
        .into_iter()
        .filter(|(shell, file)| file.is_some() || search::is_used(shell))
        .map(|(shell, file)| Completion { shell, file })
        .collect();
    let missing: Vec<&str> = completions
        .iter()
        .filter(|completion| completion.file.is_none())
        .map(|completion| completion.shell)
        .collect();
    if !missing.is_empty() {
        notes.advice(
            format!("no completion was found for {}", missing.join(", ")),
            "git ralph install",
        );
    }
    Installation {
        manual: manual.flatten(),
        completions,
    }
}
