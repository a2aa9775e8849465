//! What a shell offers for a word that names a change or an agent: for a change it looks into the repository around the current
//! directory, and offers nothing where there is none.

use std::env;

use clap_complete::engine::CompletionCandidate;

use crate::adapters;
use crate::agent::presets;
use crate::git::{Repo, discover};
use crate::state;

/// The loops of this repository.
#[must_use]
pub fn loops() -> Vec<CompletionCandidate> {
    repository().map_or_else(Vec::new, |repo| {
        let found = state::changes(&repo.common_dir).unwrap_or_default();
        found
            .iter()
            .map(|change| CompletionCandidate::new(change.as_str()))
            .collect()
    })
}

/// The changes that a story list was written for.
#[must_use]
pub fn changes() -> Vec<CompletionCandidate> {
    repository().map_or_else(Vec::new, |repo| {
        adapters::changes(&repo.top)
            .into_iter()
            .map(CompletionCandidate::new)
            .collect()
    })
}

/// Both, for a command that begins or goes on.
#[must_use]
pub fn changes_and_loops() -> Vec<CompletionCandidate> {
    let mut found = loops();
    found.extend(changes());
    found.sort();
    found.dedup();
    found
}

/// The agents that are known by name.
#[must_use]
pub fn agents() -> Vec<CompletionCandidate> {
    presets::ALL
        .iter()
        .map(|preset| CompletionCandidate::new(preset.name))
        .collect()
}

fn repository() -> Option<Repo> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .ok()?;
    let (repo, _) = runtime.block_on(discover(&env::current_dir().ok()?)).ok()?;
    Some(repo)
}
