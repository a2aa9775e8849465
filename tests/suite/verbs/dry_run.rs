//! `--dry-run` of `run`, `next` and `retry`; that of `start` is with `start`.

use crate::support::{CHANGE, Sandbox};

#[test]
fn run_shows_the_loop_that_it_would_begin_or_continue() {
    let sandbox = Sandbox::dirty();
    sandbox.configure("ralph.verify", "true");
    let (print, mtimes) = (sandbox.print(), sandbox.mtimes());
    let agent = sandbox.failing("echo x >x");
    let shown = sandbox
        .ralph(&["run", CHANGE, "--dry-run", "--box", "--", &agent])
        .exits(0);
    for part in ["Database", "agent-0", "gate: true", "box: required"] {
        assert!(shown.stdout.contains(part), "{part}: {}", shown.stdout);
    }
    assert_eq!((sandbox.print(), sandbox.mtimes()), (print, mtimes));
    assert!(!sandbox.top.join(".git/ralph").exists());
    sandbox.start();
    sandbox.step("next", &agent).exits(3);
    let (print, mtimes) = (sandbox.print(), sandbox.mtimes());
    let shown = sandbox.ralph(&["run", "--dry-run", "--", &agent]).exits(0);
    let next = "next attempt: story 1. Database (retry 1 of 3)";
    assert!(shown.stdout.contains(next), "{}", shown.stdout);
    assert_eq!((sandbox.print(), sandbox.mtimes()), (print, mtimes));
    assert_eq!(sandbox.attempts().len(), 1);
}

#[test]
fn step_shows_its_attempt_or_the_refusal_it_would_get() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.agent", "sh -c true");
    sandbox.configure("ralph.retryAgent", "second --deep");
    sandbox.start();
    let shown = |args: &[&str]| sandbox.ralph(args).exits(0).json();
    let next = shown(&["next", "--dry-run", "--json"]);
    assert_eq!(next["next"]["story"], "1");
    assert_eq!(next["agent"]["command"], "sh -c true");
    sandbox.ralph(&["retry", "--dry-run"]).exits(1);
    let agent = sandbox.failing("echo x >x");
    sandbox.step("next", &agent).exits(3);
    let retry = shown(&["retry", "--dry-run", "--json"]);
    assert_eq!(retry["next"]["failures"], 1);
    assert_eq!(retry["agent"]["command"], "second --deep");
    sandbox
        .ralph(&["next", "--dry-run"])
        .exits(3)
        .says("git ralph retry");
    sandbox.ralph(&["finish", "--keep"]).exits(0);
    sandbox.ralph(&["next", "--dry-run", CHANGE]).exits(1);
}

#[test]
fn run_shows_the_checks_that_decide_about_a_story() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.agent", "sh -c true");
    let judges = |text: &str, is_shown: bool| {
        let shown = sandbox.ralph(&["run", CHANGE, "--dry-run"]).exits(0).stdout;
        assert_eq!(shown.contains(text), is_shown, "{text}: {shown}");
    };
    judges("without a promise", false);
    sandbox.configure("ralph.noSignal", "gates");
    sandbox
        .ralph(&["run", CHANGE, "--dry-run"])
        .exits(1)
        .says("there is neither a gate nor a reviewer");
    sandbox.configure("ralph.verify", "make check");
    judges("work without a promise is judged by: the gates\n", true);
    sandbox.configure("ralph.review", "second --look");
    judges(
        "work without a promise is judged by: the gates and the reviewer\n",
        true,
    );
    judges("reviewer: second --look\n", true);
    judges("tests: ", false);
    sandbox.configure("ralph.tests", "tests/");
    judges("gate: make check\ntests: tests/\nreviewer: ", true);
    sandbox.git(&["config", "--unset", "ralph.verify"]);
    judges("work without a promise is judged by: the reviewer\n", true);
    sandbox.configure("ralph.noSignal", "retry");
    judges("without a promise", false);
}

#[test]
fn run_without_retries_left_shows_what_it_would_do() {
    let sandbox = Sandbox::started();
    let agent = sandbox.failing("echo x >x");
    sandbox.ralph(&["next", "--max-retries=0", "--", &agent]).exits(4);
    let dry = |options: &[&str]| sandbox.ralph(&[&["run", "--dry-run", "--max-retries=0"], options].concat());
    dry(&[]).exits(4).says("story 1 failed and has no retries left");
    for later in ["skip", "later"] {
        let shown = dry(&["--on-failure", later]).exits(0).stdout;
        assert!(shown.contains("next attempt: story 2."), "{shown}");
    }
    let more = sandbox
        .ralph(&["run", "--dry-run", "--max-retries=1"])
        .exits(0)
        .stdout;
    assert!(
        more.contains("next attempt: story 1. Database (retry 1 of 1)"),
        "{more}"
    );
}

#[test]
fn the_time_limit_is_that_of_a_round_and_the_total_is_said() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.agent", "sh -c true");
    sandbox.configure("ralph.timeout", "45m");
    let says = |text: &str| {
        let shown = sandbox.ralph(&["start", CHANGE, "--dry-run"]).exits(0).stdout;
        assert!(shown.contains(text), "{text}: {shown}");
    };
    sandbox.configure("ralph.continue", "2");
    for (key, value) in [
        ("ralph.emptyStory", "confirm"),
        // A doubtful promise is asked about all the same.
        ("ralph.emptyStory", "warn"),
        ("ralph.noSignal", "ask"),
    ] {
        sandbox.configure(key, value);
        says("time limit of a round: 45m, up to 4 x 45m an attempt\n");
    }
    sandbox.configure("ralph.continue", "0");
    says("time limit of a round: 45m, up to 2 x 45m an attempt\n");
    sandbox.git(&["config", "--unset", "ralph.continue"]);
    says("time limit of a round: 45m, up to 6 x 45m an attempt\n");
    let started = sandbox.ralph(&["start", CHANGE]).exits(0);
    started.says("time limit of a round: 45m, up to 6 x 45m an attempt\n");
    sandbox.ralph(&["abort"]).exits(0);
    sandbox.git(&["config", "--unset", "ralph.timeout"]);
    says("time limit of an attempt: none\n");
}

#[test]
fn hint_of_a_run_without_an_agent_names_the_list() {
    let sandbox = Sandbox::new();
    sandbox.write("TODO.md", "- [ ] a\n");
    sandbox
        .ralph(&["run", "--stories=TODO.md"])
        .exits(1)
        .says("hint: git ralph run todo --stories TODO.md -- <agent command>");
}
