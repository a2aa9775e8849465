//! A run that asks a person: everybody sees it, and every other command may answer in its place.

use nix::sys::signal::Signal;

use serde_json::Value;

use crate::support::tmux::Tmux;
use crate::support::{CHANGE, Running, Sandbox, wait_until};

const QUESTION: &str = "[q]uit: ";

/// A run that asks on a terminal what should happen to the work, once every story is complete.
fn asks_at_the_end(sandbox: &Sandbox) -> Running {
    let agent = sandbox.completing("echo x >>work");
    asks(sandbox, &["run", CHANGE, "--", &agent])
}

/// A run that asks about a story without retries; a third attempt completes it.
fn asks_about_a_failure(sandbox: &Sandbox) -> (Running, String) {
    let agent = sandbox.agent("count; echo x >>work; test $n = 1 && failed no || complete");
    let running = asks(sandbox, &["run", CHANGE, "--max-retries", "0", "--", &agent]);
    (running, agent)
}

fn asks(sandbox: &Sandbox, args: &[&str]) -> Running {
    let running = sandbox.direct(args).on_terminal(100).typing("").start();
    wait_until("the question", || running.seen().contains(QUESTION));
    running
}

/// Waits for the next question of a run that has asked one before.
fn asks_again(running: &Running) {
    let questions = || running.seen().matches(QUESTION).count();
    wait_until("another question", || questions() == 2);
}

#[test]
fn a_question_is_in_the_status_and_ends_with_its_answer() {
    let sandbox = Sandbox::new();
    let running = asks_at_the_end(&sandbox);
    let status = sandbox.status();
    assert_eq!(status["phase"], "complete");
    let asked = &status["awaiting_choice"];
    assert_eq!(asked["pid"], running.pid.as_raw());
    assert!(!asked["host"].as_str().unwrap().is_empty());
    assert!(asked["since"].as_str().unwrap().ends_with('Z'), "{asked}");
    assert_eq!(asked["question"], "what should happen to the work?");
    assert_eq!(asked["options"].as_array().unwrap().len(), 4);
    let pid = running.pid;
    let table = sandbox.ralph(&["status"]).exits(0);
    assert!(
        table.stdout.contains(&format!("git-ralph (process {pid} on "))
            && table.stdout.contains("asks since "),
        "{}",
        table.stdout
    );
    let short = sandbox.ralph(&["status", "--short"]).stdout;
    assert_eq!(short, "ralph: add-login 3/3 complete, asks what to do\n");
    running.types("q\n");
    running.end().exits(0);
    assert_eq!(sandbox.status()["awaiting_choice"], Value::Null);
    assert!(sandbox.state()["here"].get("awaiting_choice").is_none());
}

#[test]
fn finish_in_another_process_answers_the_question() {
    for (how, words) in [("--cleanup", "finish --cleanup"), ("--keep", "finish --keep")] {
        let sandbox = Sandbox::new();
        let running = asks_at_the_end(&sandbox);
        sandbox.ralph(&["finish", how]).exits(0);
        let seen = running.end().exits(0).stdout;
        assert!(
            seen.contains(&format!("git ralph {words}")) && seen.contains("(process "),
            "{seen}"
        );
        assert_eq!(sandbox.status()["phase"], "finished");
    }
}

#[test]
fn abort_in_another_process_ends_the_run_with_its_own_code() {
    let sandbox = Sandbox::new();
    let (running, _) = asks_about_a_failure(&sandbox);
    sandbox.ralph(&["abort"]).exits(0);
    let seen = running.end().exits(4).stdout;
    assert!(seen.contains("git ralph abort"), "{seen}");
}

#[test]
fn run_continues_after_skip_or_retry_in_another_process() {
    for verb in ["skip", "retry"] {
        let sandbox = Sandbox::new();
        let (running, agent) = asks_about_a_failure(&sandbox);
        match verb {
            "skip" => sandbox.ralph(&["skip"]).exits(0),
            _ => sandbox
                .ralph(&["retry", "--max-retries", "1", "--", &agent])
                .exits(0),
        };
        asks_again(&running);
        running.types("k\n");
        let seen = running.end().exits(if verb == "skip" { 4 } else { 0 }).stdout;
        let words = match verb {
            "skip" => "story 1 was skipped",
            _ => "story 1 was completed",
        };
        assert!(seen.contains(words), "{seen}");
        assert_eq!(
            sandbox.state()["loop"]["completed"].as_array().unwrap().len(),
            if verb == "skip" { 2 } else { 3 }
        );
    }
}

#[test]
fn stop_leaves_the_question_unanswered() {
    let sandbox = Sandbox::new();
    let (running, _) = asks_about_a_failure(&sandbox);
    sandbox
        .ralph(&["stop"])
        .exits(0)
        .says("leaves its question unanswered");
    let seen = running.end().exits(4).stdout;
    assert!(seen.contains("stopped by git ralph stop"), "{seen}");
    assert_eq!(sandbox.status()["phase"], "exhausted");
    assert_eq!(sandbox.status()["awaiting_choice"], Value::Null);
}

#[test]
fn watch_in_lines_ends_at_the_question_with_the_code_of_the_run() {
    for code in [0, 4] {
        let sandbox = Sandbox::new();
        let running = match code {
            0 => asks_at_the_end(&sandbox),
            _ => asks_about_a_failure(&sandbox).0,
        };
        let lines = sandbox.ralph(&["watch", "--plain"]).exits(code).stdout;
        let last = lines.lines().last().unwrap();
        let asks = format!("git-ralph (process {} on ", running.pid);
        assert!(last.starts_with(&asks), "{lines}");
        assert!(
            last.contains(") asks: what should happen to the work? "),
            "{lines}"
        );
        assert!(sandbox.status()["awaiting_choice"].is_object());
        running.types("q\n");
        running.end().exits(code);
    }
}

#[test]
fn watch_in_lines_ends_with_the_code_of_the_last_run_while_finish_asks() {
    let sandbox = Sandbox::new();
    let agent = sandbox.failing("");
    let args = ["run", CHANGE, "--max-retries", "0", "--", &agent];
    sandbox.ralph(&args).exits(4);
    let asking = asks(&sandbox, &["finish"]);
    let lines = sandbox.ralph(&["watch", "--plain"]).exits(4).stdout;
    assert!(lines.contains(") asks: what should happen"), "{lines}");
    asking.types("q\n");
    asking.end();
}

#[test]
fn kill_during_a_question_leaves_a_usable_loop() {
    let sandbox = Sandbox::new();
    let (running, _) = asks_about_a_failure(&sandbox);
    running.signal(Signal::SIGKILL);
    running.end();
    assert!(sandbox.state()["here"].get("awaiting_choice").is_some());
    let status = sandbox.status();
    assert_eq!(status["awaiting_choice"], Value::Null);
    assert_eq!(status["phase"], "exhausted");
    sandbox.ralph(&["stop"]).exits(0).says("no git-ralph is working");
    let agent = sandbox.completing("echo x >>work");
    sandbox
        .ralph(&["run", CHANGE, "--keep", "--max-retries", "1", "--", &agent])
        .exits(0);
    assert!(sandbox.state()["here"].get("awaiting_choice").is_none());
}

#[test]
fn one_of_two_answers_counts_and_the_other_is_reported() {
    let sandbox = Sandbox::new();
    let running = asks_at_the_end(&sandbox);
    let other = sandbox.direct(&["finish", "--cleanup"]).start();
    running.types("k\n");
    let (seen, other) = (running.end().exits(0).stdout, other.end());
    let recorded = sandbox.read(&format!(".git/ralph/{CHANGE}/events.jsonl"));
    let events = recorded
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let how: Vec<_> = events
        .filter(|event| event["event"] == "finished")
        .map(|event| event["how"].clone())
        .collect();
    if other.code == 0 {
        assert_eq!(how, ["cleanup"]);
        assert!(seen.contains("git ralph finish --cleanup"), "{seen}");
    } else {
        assert_eq!(how, ["keep"]);
        assert!([1, 75].contains(&other.code), "{}", other.stderr);
    }
}

#[test]
fn question_is_printed_again_after_ctrl_z_and_fg() {
    let sandbox = Sandbox::new();
    let Some(tmux) = Tmux::new(&sandbox, 100, 30) else {
        return;
    };
    let agent = sandbox.completing("echo x >>x");
    tmux.types(&format!("git ralph run {CHANGE} -- {agent}"));
    tmux.sees("[q]uit:");
    tmux.keys(&["C-z"]);
    tmux.sees("Stopped");
    tmux.types("fg");
    wait_until("the question", || {
        tmux.seen().matches("what should happen to the work? ").count() == 2
    });
    tmux.keys(&["k", "Enter"]);
    tmux.sees("finished: on ralph/add-login");
}
