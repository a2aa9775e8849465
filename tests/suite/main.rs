//! The tests of the program as users see it: one binary, one module a subject.

mod completions;
mod manual;
mod readme;

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
