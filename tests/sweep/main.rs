//! Sweeps: git-ralph killed at every place, and every state of a user's tree with everything an agent
//! may do to it. Plain `cargo test` takes a small selection, `GIT_RALPH_SWEEP=all` a large one (some ten
//! minutes on two cores), `GIT_RALPH_SWEEP=every` the whole.

#![expect(
    clippy::disallowed_methods,
    reason = "tests make and change files as users and attempts do"
)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a harness that cannot go on fails the test"
)]

#[expect(dead_code, reason = "the other tests use the rest of the harness")]
#[path = "../suite/support/mod.rs"]
mod support;

mod abreast;
mod boxed_control;
mod broken_refs;
mod containers;
mod coverage;
mod crash;
mod held_tests;
mod hostile_remote;
mod killed;
mod large_output;
mod listing;
mod matrix;
mod outside;
mod pipes;
mod planted;
mod property;
mod remote_history;
mod rungs;
mod runners;
mod side_by_side;
mod storm;
mod submodules;
mod two_loops;

/// Whether more than a selection shall be gone through.
fn whole() -> bool {
    std::env::var_os("GIT_RALPH_SWEEP").is_some()
}

/// Whether all cases shall be gone through.
fn every() -> bool {
    std::env::var_os("GIT_RALPH_SWEEP").is_some_and(|value| value == "every")
}

/// Every how many-th case is taken: `quick` in plain `cargo test`, `bounded` with `GIT_RALPH_SWEEP=all`,
/// each one with `GIT_RALPH_SWEEP=every` (half an hour and more).
fn stride(quick: usize, bounded: usize) -> usize {
    match std::env::var_os("GIT_RALPH_SWEEP") {
        None => quick,
        Some(_) if every() => 1,
        Some(_) => bounded,
    }
}

/// Whether a program is on `PATH`; says so if not.
#[expect(clippy::print_stderr, reason = "what a test leaves out has to be told")]
fn installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|dir| dir.join(program).is_file());
    if !found {
        eprintln!("{program} is not installed: what needs it is left out");
    }
    found
}

/// Fails with all that was found, one paragraph each.
#[track_caller]
fn nothing_of(found: &[String]) {
    assert!(found.is_empty(), "{} found:\n{}", found.len(), found.join("\n\n"));
}
