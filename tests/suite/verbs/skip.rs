//! `git ralph skip`: the loop passes over a story, until it is told otherwise.

use crate::support::{CHANGE, Sandbox, TASKS};

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
