//! The names that scripts rely on: fields of the listings and of the events.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::{CHANGE, Sandbox};

#[track_caller]
fn has_fields(value: &Value, fields: &[&str]) {
    let have: BTreeSet<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    let missing: Vec<_> = fields.iter().filter(|field| !have.contains(**field)).collect();
    assert!(missing.is_empty(), "{missing:?} missing in {value:#}");
}

#[test]
fn listings_have_their_fields() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.agent("count; test $n = 1 && complete || failed red");
    sandbox.step("next", &agent).exits(0);
    sandbox.step("next", &agent).exits(3);

    let stories = sandbox.ralph(&["stories", "--json"]).exits(0).json();
    has_fields(
        &stories,
        &[
            "change", "adapter", "source", "total", "done", "stories", "warnings",
        ],
    );
    let story = &stories["stories"][0];
    has_fields(
        story,
        &[
            "id",
            "title",
            "done",
            "skipped",
            "optional",
            "depends_on",
            "line",
            "tasks",
        ],
    );
    has_fields(&story["tasks"][0], &["id", "text", "done", "optional", "line"]);
    assert_eq!(stories["adapter"], "openspec");

    let status = sandbox.status();
    has_fields(
        &status,
        &[
            "change",
            "phase",
            "branch",
            "original_branch",
            "original_head",
            "worktree",
            "checkpoint",
            "stories_total",
            "stories_done",
            "current",
            "max_retries",
            "next",
            "session",
        ],
    );
    has_fields(&status["current"], &["id", "title", "retries", "reason"]);
    assert_eq!(status["current"]["reason"], "red");
    assert_eq!(status["checkpoint"], sandbox.git(&["rev-parse", "HEAD"]));
    assert_eq!(status["original_head"], sandbox.git(&["rev-parse", "main"]));

    let log = sandbox.ralph(&["log", "--json"]).exits(0).json();
    assert_eq!(log["change"], CHANGE);
    for attempt in log["attempts"].as_array().unwrap() {
        has_fields(
            attempt,
            &[
                "story",
                "attempt",
                "verdict",
                "reason",
                "started",
                "duration",
                "exit_code",
                "cost_usd",
                "input_tokens",
                "cache_read_tokens",
                "cache_write_tokens",
                "output_tokens",
                "model",
                "agent_version",
                "turns",
                "files",
                "insertions",
                "deletions",
                "ref",
                "checkpoint",
            ],
        );
        let started: jiff::Timestamp = attempt["started"].as_str().unwrap().parse().unwrap();
        assert!(started > jiff::Timestamp::UNIX_EPOCH);
    }
}

#[test]
fn steps_print_events_and_nothing_else() {
    let sandbox = Sandbox::new();
    let agent = sandbox.agent("count; echo hello; echo aside >&2; test $n = 2 && failed red || complete");
    let mut events = Vec::new();
    let mut names = |args: &[&str], code: i32| -> Vec<String> {
        let new = sandbox.ralph(args).exits(code).events();
        let names = new
            .iter()
            .map(|event| event["event"].as_str().unwrap().to_owned())
            .collect();
        events.extend(new);
        names
    };
    let has = |names: &[String], wanted: &[&str]| {
        let mut rest = names.iter();
        for name in wanted {
            assert!(rest.any(|have| have == name), "{name} in {names:?}");
        }
    };
    has(
        &names(&["start", CHANGE, "--json", "--max-retries", "1"], 0),
        &["started", "story_progress"],
    );
    let complete = names(&["next", "--json", "--", &agent], 0);
    has(
        &complete,
        &[
            "attempt_started",
            "output",
            "attempt_ended",
            "checkpoint",
            "story_progress",
        ],
    );
    let failed = names(&["next", "--json", "--", &agent], 3);
    has(
        &failed,
        &["attempt_started", "attempt_ended", "reverted", "retry"],
    );
    has(&names(&["next", "--json", "--", &agent], 3), &["error"]);
    has(
        &names(&["retry", "--json", "--", &agent], 0),
        &["attempt_started", "checkpoint"],
    );
    let red = sandbox.failing("true");
    has(&names(&["next", "--json", "--", &red], 3), &["retry"]);
    has(
        &names(&["retry", "--json", "--", &red], 4),
        &["reverted", "max_retries_exceeded", "error"],
    );
    has(
        &names(&["run", CHANGE, "--json", "--", &red], 4),
        &["awaiting_choice", "run_ended"],
    );
    has(&names(&["finish", "--cleanup", "--json"], 0), &["finished"]);
    for event in &events {
        has_fields(event, &["v", "t", "event", "change"]);
        assert_eq!(event["v"], 1);
        let _: jiff::Timestamp = event["t"].as_str().unwrap().parse().unwrap();
    }
    let find = |name: &str| events.iter().find(|event| event["event"] == name).unwrap();
    has_fields(
        find("attempt_ended"),
        &["story", "attempt", "verdict", "reason", "exit_code", "duration"],
    );
    has_fields(find("checkpoint"), &["story", "oid"]);
    has_fields(find("story_progress"), &["done", "total"]);
    assert_eq!(find("error")["exit"], 3);
    assert_eq!(find("error")["hint"], "git ralph retry add-login");
    let spent = events
        .iter()
        .find(|event| event["kind"] == "max_retries_exceeded")
        .unwrap();
    assert_eq!((&spent["story"], &spent["attempts"]), (&"3".into(), &2.into()));
    assert_eq!(
        (&spent["reason"], &spent["exit"]),
        (&"it is red".into(), &4.into())
    );
    assert_eq!(spent["options"], serde_json::json!(["cleanup", "keep"]));
    let output = |stream: &str| {
        events
            .iter()
            .filter(|event| event["event"] == "output" && event["stream"] == stream)
            .map(|event| event["text"].as_str().unwrap())
            .collect::<String>()
    };
    assert!(output("stdout").starts_with("hello\n") && output("stderr").starts_with("aside\n"));
    // The same events are in the loop's own file, output and errors of the command line aside.
    let file = std::fs::read_to_string(sandbox.top.join(".git/ralph/add-login/events.jsonl")).unwrap();
    let printed = events.iter().filter(|event| {
        event["event"] != "output" && (event["event"] != "error" || !event["kind"].is_null())
    });
    for (line, event) in file.lines().zip(printed) {
        assert_eq!(&serde_json::from_str::<Value>(line).unwrap(), event);
    }
}

#[test]
fn every_command_with_an_answer_can_print_json() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let prompt = sandbox.ralph(&["prompt", "--json"]).exits(0).json();
    assert_eq!(
        (&prompt["change"], &prompt["story"]),
        (&CHANGE.into(), &"1".into())
    );
    assert!(prompt["prompt"].as_str().unwrap().contains("Database"));
    let agent = sandbox.failing("echo x >x");
    sandbox.step("next", &agent).exits(3);
    let restored = sandbox.ralph(&["restore", "1@1", "--json"]).exits(0).json();
    assert_eq!(
        (&restored["story"], &restored["attempt"]),
        (&"1".into(), &1.into())
    );
    sandbox.ralph(&["revert"]).exits(0);
    let skipped = sandbox.ralph(&["skip", "--json"]).exits(0).json();
    assert_eq!(
        (&skipped["story"], &skipped["skipped"]),
        (&"1".into(), &true.into())
    );
    let pruned = sandbox.ralph(&["prune", "--json"]).exits(0).json();
    assert_eq!(pruned["removed"], 0);
    let already = sandbox.ralph(&["start", CHANGE, "--json"]).exits(0).events();
    assert_eq!(already[0]["event"], "notice");
    let unknown = sandbox.ralph(&["next", "nope", "--json"]).exits(1).events();
    assert_eq!(unknown[0]["change"], "nope");
}

#[test]
fn hooks_that_are_installed_are_listed() {
    let sandbox = Sandbox::new();
    let listed = || sandbox.ralph(&["hooks", "status", "--json"]).exits(0).json();
    assert_eq!(listed(), serde_json::json!([]));
    sandbox.ralph(&["hooks", "install"]).exits(0);
    assert_eq!(
        (&listed()[0]["whose"], &listed()[0]["state"]),
        (&"git".into(), &"installed".into())
    );
}
