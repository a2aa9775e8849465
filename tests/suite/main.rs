//! The whole program, from outside: `git ralph …` in real repositories with scripted agents, one
//! module a verb in `verbs`, what holds for all of them in `properties`; and its documents, held to the code.

#![expect(
    clippy::disallowed_methods,
    reason = "tests make and change files as users and attempts do"
)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a harness that cannot go on fails the test"
)]

mod support;

mod documents;
mod properties;
mod verbs;

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
