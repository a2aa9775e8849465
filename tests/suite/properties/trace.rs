//! What git-ralph tells of its own work on standard error: `-v`, and `GIT_RALPH_LOG`.

use crate::support::Sandbox;

const TRACED: &str = "git config ";

#[test]
fn each_git_command_is_shown_with_its_time() {
    let sandbox = Sandbox::started();
    let is_traced = |line: &&str| line.starts_with(TRACED) && line.ends_with(" ms)");
    let short = sandbox.ralph(&["status", "-v"]).exits(0);
    assert!(
        short.stderr.lines().any(|line| is_traced(&line)),
        "{}",
        short.stderr
    );
    assert!(!short.stderr.contains("GIT_TERMINAL_PROMPT"), "{}", short.stderr);
    sandbox
        .ralph(&["status", "-vv"])
        .exits(0)
        .says("GIT_TERMINAL_PROMPT=0 ");
    let silent = sandbox.ralph(&["status"]).exits(0);
    assert_eq!(silent.stderr, "");
}

#[test]
fn filter_selects_traces_and_error_names_an_invalid_filter() {
    let sandbox = Sandbox::started();
    let status = |filter: &str| sandbox.ralph_cmd(&["status"]).env("GIT_RALPH_LOG", filter);
    status("git_ralph::command=debug").run().exits(0).says(TRACED);
    assert_eq!(status("error").run().exits(0).stderr, "");
    let output = status("git_ralph=loud").run().exits(0);
    assert!(
        output.stderr.starts_with("GIT_RALPH_LOG is not used: "),
        "{}",
        output.stderr
    );
    assert!(!output.stderr.contains(TRACED), "{}", output.stderr);
}
