//! The whole program, from outside: `git ralph …` in real repositories with scripted agents, one
//! module a verb; and its documents, held to the code.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a harness that cannot go on fails the test"
)]

mod support;

mod abort;
mod agents;
mod bad_input;
mod complete;
mod completions;
mod crash;
mod demo;
mod diff;
mod doctor;
mod documents;
mod driver;
mod events;
mod fail;
mod finish;
mod gates;
mod guard;
mod hooks;
mod hooks_verb;
mod ignored;
mod install;
mod json;
mod kept;
mod log;
mod marking;
mod names;
mod next;
mod other_file_system;
mod own_files;
mod planted;
mod presets;
mod processes;
mod prompt;
mod prune;
mod repository;
mod restore;
mod retry;
mod revert;
mod run;
mod session;
mod skip;
mod sources;
mod start;
mod status;
mod stories;
mod submodules;
mod terminal;
mod trackers;
mod undone;
mod waiting;

/// Whether a program is there; says so when what needs it is left out.
#[expect(clippy::print_stderr, reason = "what a test leaves out has to be told")]
fn installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|dir| dir.join(program).is_file());
    if !found {
        eprintln!("{program} is not installed: what needs it is left out");
    }
    found
}
