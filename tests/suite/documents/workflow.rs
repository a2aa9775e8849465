//! In a GitHub workflow: groups that fold, an annotation for what failed, and the stories on the job's page.

use crate::support::{CHANGE, Sandbox};

#[test]
fn the_log_folds_and_the_page_has_the_stories() {
    let sandbox = Sandbox::new();
    let agent = sandbox.agent("count; echo x >>f; test $n = 1 && failed 'a|b' || complete");
    let page = sandbox.outside("summary.md");
    let run = sandbox.ralph_cmd(&["run", CHANGE, "--cleanup", "--", &agent]);
    let run = run
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", &page);
    let words = run.run().exits(0).stderr;
    assert_eq!(words.matches("::group::").count(), 4, "{words}");
    assert_eq!(words.matches("::endgroup::").count(), 4, "{words}");
    assert!(
        words.contains("::group::[1/3] 1. Database (retry 1 of 3)\n"),
        "{words}"
    );
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.starts_with(
            "### git ralph: add-login\n\n**finished: 3 of 3 stories**\n\nStories: 3 of 3 complete"
        ),
        "{page}"
    );
    assert!(
        page.contains("\n- `1@1` failed: `a|b` · ") && page.contains("\n- `1@2` complete · "),
        "{page}"
    );
}

#[test]
fn the_page_has_the_stories_too_when_an_error_ends_the_run() {
    let sandbox = Sandbox::new();
    let agent = sandbox.agent("test $RALPH_STORY = 1 || exit 127; echo x >x; complete");
    let page = sandbox.outside("summary.md");
    let run = sandbox.ralph_cmd(&["run", CHANGE, "--", &agent]);
    let run = run
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", &page);
    run.run().exits(1);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("##### 1. Database: complete\n"), "{page}");
}

#[test]
fn commands_print_failures_as_annotations() {
    let sandbox = Sandbox::new();
    let github = |args: &[&str]| sandbox.ralph_cmd(args).env("GITHUB_ACTIONS", "true").run();
    github(&["status", "nope"])
        .exits(1)
        .says("::error title=git ralph::there is no loop 'nope' here\nhint: ");
    let agent = sandbox.failing("true");
    let spent = github(&["run", CHANGE, "--max-retries=0", "--", &agent]).exits(4);
    let error = "::error title=git ralph::story 1 failed, no retries left: ";
    spent.says(error);
}
