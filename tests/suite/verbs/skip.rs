//! `git ralph skip`: the loop passes over a story, until it is told otherwise.

use std::fs;

use nix::sys::signal::Signal;

use crate::support::{CHANGE, Running, Sandbox, TASKS, wait_until};

#[test]
fn a_story_can_be_skipped_and_taken_up_again() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.ralph(&["skip"]).exits(0).says("story 1 is skipped");
    sandbox.ralph(&["skip", CHANGE, "3"]).exits(0);
    assert_eq!(sandbox.status()["current"]["id"], "2");
    let stories = sandbox.ralph(&["stories", "--json"]).exits(0).json();
    assert_eq!(stories["stories"][0]["skipped"], true);
    let agent = sandbox.completing("echo $RALPH_STORY >>\"$notes/log\"");
    sandbox.step("next", &agent).exits(0);
    sandbox.step("next", &agent).exits(5);
    sandbox
        .ralph(&["skip", "--undo", "1"])
        .exits(0)
        .says("story 1 is no longer skipped");
    sandbox.step("next", &agent).exits(0);
    sandbox
        .ralph(&["skip", "--undo"])
        .exits(0)
        .says("story 3 is no longer skipped");
    sandbox.step("next", &agent).exits(0);
    assert_eq!(sandbox.noted("log"), "2\n1\n3\n");
    sandbox
        .ralph(&["skip", "--undo"])
        .exits(1)
        .says("no story is skipped");
}

#[test]
fn a_story_without_retries_can_be_skipped() {
    let sandbox = Sandbox::new();
    sandbox.ralph(&["start", CHANGE, "--max-retries", "0"]).exits(0);
    let agent = sandbox.failing("true");
    sandbox.step("next", &agent).exits(4);
    sandbox.ralph(&["skip", "1"]).exits(0);
    let agent = sandbox.completing("true");
    sandbox.ralph(&["run", "--", &agent]).exits(4);
    let tasks = sandbox.read(crate::support::TASKS);
    assert!(tasks.contains("[ ] 1.1") && tasks.contains("[x] 3.1"), "{tasks}");
}

#[test]
fn error_lists_the_stories_for_an_unknown_one() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let state = sandbox.state();
    sandbox
        .ralph(&["skip", "9"])
        .exits(1)
        .says("has no story '9' (stories: 1, 2, 3)");
    assert_eq!(sandbox.state(), state);
}

#[test]
fn skip_refuses_complete_stories_and_undo_refuses_open_ones() {
    let sandbox = Sandbox::started();
    sandbox
        .ralph(&["skip", "--undo", "2"])
        .exits(1)
        .says("story 2 is not skipped");
    sandbox.step("next", &sandbox.completing("true")).exits(0);
    sandbox
        .ralph(&["skip", "1"])
        .exits(1)
        .says("story 1 is already complete");
    assert!(sandbox.status()["skipped"].as_array().unwrap().is_empty());
    sandbox.ralph(&["skip", "2"]).exits(0);
    let end = sandbox.step("next", &sandbox.completing("true")).exits(0);
    assert!(
        end.stderr.contains("2 of 3 stories are complete, 1 skipped (2)"),
        "{}",
        end.stderr
    );
    let status = sandbox.ralph(&["status"]).exits(0);
    let text = &status.stdout;
    assert!(text.contains("no story but the skipped ones is left\n"), "{text}");
    assert!(!text.contains("nothing is left to do"), "{text}");
    sandbox.ralph(&["watch"]).exits(4);
}

#[test]
fn a_skipped_story_that_the_user_ticks_is_complete() {
    let sandbox = Sandbox::started();
    sandbox.ralph(&["skip", CHANGE, "2"]).exits(0);
    let agent = sandbox.completing("echo x >>work");
    sandbox.ralph(&["run", CHANGE, "--", &agent]).exits(5);
    assert_eq!(sandbox.status()["phase"], "exhausted");
    let list = sandbox.read(TASKS);
    sandbox.write(TASKS, &list.replace("- [ ]", "- [x]"));
    let status = sandbox.status();
    assert_eq!(status["phase"], "complete");
    assert_eq!(status["skipped"], serde_json::json!([]));
    sandbox
        .ralph(&["run", CHANGE, "--", &agent])
        .exits(0)
        .says("nothing is left to do");
    assert_eq!(sandbox.status()["phase"], "complete");
}

/// Begins a run whose first agent waits, and waits until that works.
fn begun(sandbox: &Sandbox, verb: &str) -> Running {
    let agent = sandbox.completing(
        "echo $RALPH_STORY >>\"$notes/log\"; echo x >work$RALPH_STORY; touch \"$notes/began\"; \
         test $RALPH_STORY != 1 || until test -e \"$notes/go\"; do sleep 0.05; done",
    );
    let running = sandbox.direct(&[verb, CHANGE, "--", &agent]).start();
    wait_until("the agent works", || sandbox.notes.join("began").exists());
    running
}

#[test]
fn story_that_is_being_attempted_is_skipped_and_its_work_kept() {
    let sandbox = Sandbox::new();
    let running = begun(&sandbox, "run");
    sandbox
        .ralph(&["skip"])
        .exits(0)
        .says("git-ralph ends the attempt at story 1, keeps its work, and skips the story");
    running
        .end()
        .exits(5)
        .says("story 1 is skipped, by a request that came meanwhile");
    assert_eq!(sandbox.noted("log"), "1\n2\n3\n");
    let log = sandbox.ralph(&["log", CHANGE, "--json"]).exits(0).json();
    assert_eq!(log["attempts"][0]["verdict"], "interrupted");
    assert_eq!(log["attempts"][0]["reason"], "stopped by git ralph skip");
    let kept = format!("refs/ralph/{CHANGE}/attempts/1/1:work1");
    assert_eq!(sandbox.git(&["show", &kept]), "x");
    assert!(!sandbox.top.join("work1").exists());
}

#[test]
fn other_story_is_skipped_before_the_next_attempt_and_the_request_can_be_taken_back() {
    let sandbox = Sandbox::new();
    let running = begun(&sandbox, "run");
    sandbox
        .ralph(&["skip", "3"])
        .exits(0)
        .says("git-ralph skips story 3 before it begins another attempt");
    sandbox.ralph(&["skip", "9"]).exits(1).says("has no story '9'");
    sandbox.ralph(&["skip", "2"]).exits(0);
    let asked = sandbox.ralph(&["skip", "2", "--undo", "--json"]).exits(0).json();
    assert_eq!(asked["undo"], true);
    sandbox
        .ralph(&["skip", "2", "--undo"])
        .exits(1)
        .says("story 2 is not skipped");
    let status = sandbox.ralph(&["status"]).exits(0).stdout;
    assert!(
        status.contains("asked to be skipped: 3 (git ralph skip --undo)"),
        "{status}"
    );
    let status = sandbox.ralph(&["status", "add-login", "--json"]).exits(0).json();
    assert_eq!(status["asked_to_skip"], serde_json::json!(["3"]));
    fs::write(sandbox.notes.join("go"), "").unwrap();
    running
        .end()
        .exits(5)
        .says("story 3 is skipped, by a request that came meanwhile");
    assert_eq!(sandbox.noted("log"), "1\n2\n");
}

#[test]
fn request_that_no_run_has_taken_stops_no_abort() {
    let sandbox = Sandbox::new();
    let running = begun(&sandbox, "run");
    sandbox.ralph(&["skip", "3"]).exits(0);
    running.signal(Signal::SIGKILL);
    drop(running.end());
    sandbox.ralph(&["status"]).exits(0);
    fs::remove_file(sandbox.top.join(TASKS)).unwrap();
    sandbox
        .ralph(&["abort"])
        .exits(0)
        .says("a request to skip a story waits: the story list");
    assert!(sandbox.top.join(TASKS).exists());
}

#[test]
fn skip_of_the_story_that_next_attempts_ends_that_with_6() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let running = begun(&sandbox, "next");
    sandbox.ralph(&["skip", CHANGE, "1"]).exits(0);
    running.end().exits(6);
    let agent = sandbox.completing("echo $RALPH_STORY >>\"$notes/log\"");
    sandbox
        .step("next", &agent)
        .exits(0)
        .says("story 1 is skipped, by a request that came meanwhile");
    assert_eq!(sandbox.noted("log"), "1\n2\n");
}
