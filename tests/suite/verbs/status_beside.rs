//! Views of a loop whose stories are attempted side by side (`git ralph run <change> --jobs`).

use std::fs;
use std::path::Path;

use jiff::Timestamp;
use nix::sys::signal::Signal;
use serde_json::Value;

use super::run_stories::words;
use crate::support::{Running, Sandbox, wait_until};

/// An agent that says where it works, and goes on when it may.
fn waiting(sandbox: &Sandbox) -> String {
    // The first three stories are in the places of their numbers.
    sandbox.completing(
        "at=${RALPH_BRANCH#*+}; echo words of $at; touch \"$notes/at-$at\"
        until test -e \"$notes/go-$at\"; do sleep 0.05; done; echo $$ >\"work-$$\"",
    )
}

/// Begins a run that works on the first three stories.
fn begun(sandbox: &Sandbox, agent: &str) -> Running {
    let running = sandbox.direct(&words("--jobs=3", &[], agent)).start();
    wait_until("three work", || {
        (1..=3).all(|story| is_noted(sandbox, &format!("at-{story}")))
    });
    running
}

fn is_noted(sandbox: &Sandbox, note: &str) -> bool {
    sandbox.notes.join(note).exists()
}

fn go_on(sandbox: &Sandbox, stories: &[u32]) {
    for story in stories {
        fs::write(sandbox.notes.join(format!("go-{story}")), "").unwrap();
    }
}

/// Ends a run as soon as its stories may go on.
fn end(sandbox: &Sandbox, running: Running) {
    go_on(sandbox, &[1, 2, 3]);
    running.end().exits(0);
}

fn status(sandbox: &Sandbox) -> Value {
    sandbox.ralph(&["status", "todo", "--json"]).exits(0).json()
}

#[test]
fn sides_are_no_loops_of_a_command_without_a_name() {
    let sandbox = Sandbox::with_free_stories(4);
    let agent = waiting(&sandbox);
    let running = begun(&sandbox, &agent);
    let list = sandbox.ralph(&["status", "--json"]).exits(0).json();
    let changes: Vec<_> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["change"])
        .collect();
    assert_eq!(changes, ["todo"]);
    let queue = sandbox.ralph(&["queue"]).exits(0).stdout;
    assert!(queue.contains("todo ") && !queue.contains("todo+"), "{queue}");
    let doctor = sandbox.ralph(&["doctor"]).stdout;
    assert!(
        doctor.contains("loop todo:") && !doctor.contains("todo+"),
        "{doctor}"
    );
    let reports = sandbox.ralph(&["report", "--all", "--json"]).exits(0).json();
    assert_eq!(reports.as_array().unwrap().len(), 1);
    // The only loop is meant, also in the work tree of a side; by its name a side is found.
    let side = status_of(&sandbox, "todo+2");
    let dir = Path::new(side["worktree"].as_str().unwrap());
    sandbox.ralph(&["log"]).exits(0);
    let tell = sandbox.ralph_cmd(&["tell", "mind the gap"]).dir(dir);
    tell.run().exits(0);
    assert_eq!(status(&sandbox)["messages"], 1);
    assert_eq!(side["current"]["id"], "2");
    let missing = sandbox.ralph(&["log", "nosuch"]).stderr;
    assert!(!missing.contains("todo+"), "{missing}");
    end(&sandbox, running);
}

fn status_of(sandbox: &Sandbox, change: &str) -> Value {
    sandbox.ralph(&["status", change, "--json"]).exits(0).json()
}

#[test]
fn loop_of_the_user_with_a_number_after_a_plus_is_shown() {
    let sandbox = Sandbox::new();
    sandbox.write("TODO.md", "- [ ] 1. A\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "list"]);
    sandbox.ralph(&["start", "todo+1", "--stories=TODO.md"]).exits(0);
    let list = sandbox.ralph(&["status", "--json"]).exits(0).json();
    assert_eq!(list[0]["change"], "todo+1");
    sandbox.ralph(&["log"]).exits(0);
}

#[test]
fn status_shows_each_attempt_that_runs_and_what_is_not_taken_in() {
    let sandbox = Sandbox::with_free_stories(4);
    let agent = waiting(&sandbox);
    let running = begun(&sandbox, &agent);
    let shown = sandbox.ralph(&["status", "todo"]).exits(0).stdout;
    let lines: Vec<&str> = shown.lines().collect();
    let at = lines
        .iter()
        .position(|line| *line == "3 stories are worked on side by side");
    let at = at.unwrap_or_else(|| panic!("{shown}"));
    for (story, line) in [(1, lines[at + 1]), (2, lines[at + 2]), (3, lines[at + 3])] {
        let begins = format!("  {story}. Story {story}: attempt 1 is running for ");
        let ends = format!(" ago (git ralph log --follow todo+{story} {story}@1)");
        assert!(line.starts_with(&begins) && line.ends_with(&ends), "{line}");
    }
    // The run holds the loop: there is nothing to type.
    assert_eq!(lines.len(), at + 4, "{shown}");
    assert_eq!(
        sandbox.ralph(&["status", "--short"]).exits(0).stdout,
        "ralph: todo 0/4 3 running\n"
    );
    let beside = &status(&sandbox)["beside"];
    assert_eq!(beside.as_array().unwrap().len(), 3);
    let second = &beside[1];
    for (key, value) in [
        ("story", "2"),
        ("title", "2. Story 2"),
        ("side", "todo+2"),
        ("phase", "running"),
    ] {
        assert_eq!(second[key], value);
    }
    assert_eq!(second["attempt"], 1);
    assert_eq!(second["slot"], 2);
    assert!(second["since"].is_string() && second["last_output"].is_string());
    assert!(
        Path::new(second["worktree"].as_str().unwrap())
            .join("TODO.md")
            .is_file()
    );
    let log = sandbox.ralph(&["log", "todo+2", "2@1"]).exits(0).stdout;
    assert!(log.contains("words of 2"), "{log}");
    // What was cut off is not taken in; the next run does that.
    running.signal(Signal::SIGKILL);
    running.end();
    wait_until("all have stopped", || sandbox.alive().is_empty());
    let phases = |status: &Value| -> Vec<String> {
        let beside = status["beside"].as_array().unwrap().iter();
        beside
            .map(|one| one["phase"].as_str().unwrap().to_owned())
            .collect()
    };
    let after = status(&sandbox);
    assert_eq!(phases(&after), ["interrupted"; 3]);
    assert!(after["beside"][0]["since"].is_null());
    let shown = sandbox.ralph(&["status", "todo"]).exits(0).stdout;
    let end = "3 attempts are not taken in yet
  1. Story 1: attempt 1 was interrupted
  2. Story 2: attempt 1 was interrupted
  3. Story 3: attempt 1 was interrupted
  (use \"git ralph run todo\" to take in what was made side by side)
";
    assert!(shown.ends_with(end), "{shown}");
    let short = sandbox.ralph(&["status", "--short"]).exits(0).stdout;
    assert!(!short.contains("running"), "{short}");
    go_on(&sandbox, &[1, 2, 3]);
    sandbox.ralph(&words("--jobs=3", &[], &agent)).exits(0);
    assert_eq!(status(&sandbox)["beside"], Value::Array(Vec::new()));
}

#[test]
fn attempt_that_has_promised_is_shown_until_the_loop_has_judged_it() {
    let sandbox = Sandbox::with_free_stories(4);
    let agent = waiting(&sandbox);
    // While the gate judges the first, another attempt ends.
    let gate = format!(
        "test ! -e '{0}/at-1' || touch '{0}/gate'; until test ! -e '{0}/gate' -o -e '{0}/judge'; do sleep 0.05; done",
        sandbox.notes.display()
    );
    sandbox.configure("ralph.verify", &gate);
    let running = sandbox
        .direct(&words("--jobs=3", &["--allow-red"], &agent))
        .start();
    wait_until("three work", || {
        (1..=3).all(|story| is_noted(&sandbox, &format!("at-{story}")))
    });
    go_on(&sandbox, &[1]);
    wait_until("the gate runs", || is_noted(&sandbox, "gate"));
    go_on(&sandbox, &[2]);
    let promised = |status: &Value| status["beside"][0]["phase"] == "promised";
    wait_until("the second has promised", || promised(&status(&sandbox)));
    let seen = status(&sandbox);
    let stories: Vec<_> = seen["beside"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["story"])
        .collect();
    assert_eq!(
        (stories, &seen["running"]["story"]),
        (vec![&Value::from("2"), &Value::from("3")], &Value::from("1"))
    );
    let shown = sandbox.ralph(&["status", "todo"]).exits(0).stdout;
    let line = "\n  2. Story 2: attempt 1 has promised it, and is not judged yet\n";
    assert!(shown.contains(line), "{shown}");
    assert_eq!(
        sandbox.ralph(&["status", "--short"]).exits(0).stdout,
        "ralph: todo 0/4 2 running\n"
    );
    fs::write(sandbox.notes.join("judge"), "").unwrap();
    end(&sandbox, running);
}

#[test]
fn watch_follows_the_loop_and_tells_what_runs_beside() {
    let sandbox = Sandbox::with_free_stories(4);
    let agent = waiting(&sandbox);
    let running = begun(&sandbox, &agent);
    go_on(&sandbox, &[1]);
    let is_taken_in = || status(&sandbox)["stories_done"] == 1;
    wait_until("the first is taken in", is_taken_in);
    let watching = sandbox.direct(&["watch", "--plain"]).on_terminal(80).start();
    let line = "2@1 is running (git ralph log --follow todo+2 2@1)";
    wait_until("what runs is told", || watching.seen().contains(line));
    end(&sandbox, running);
    let seen = watching.end().exits(0).stdout;
    assert!(seen.contains("words of 3"), "{seen}");
    assert!(!seen.contains("todo: "), "{seen}");
}

#[test]
fn report_and_log_say_of_attempts_at_once_what_each_took() {
    let sandbox = Sandbox::with_free_stories(4);
    let agent = waiting(&sandbox);
    let running = begun(&sandbox, &agent);
    end(&sandbox, running);
    let log = sandbox.ralph(&["log", "todo", "--json"]).exits(0).json();
    let attempts = log["attempts"].as_array().unwrap();
    let first = attempts.iter().filter(|one| one["story"] != "4");
    let time = |one: &Value| one["started"].as_str().unwrap().parse::<Timestamp>().unwrap();
    let lasts = |one: &Value| one["duration"].as_f64().unwrap();
    let ends = first
        .clone()
        .map(|one| time(one).as_duration().as_secs_f64() + lasts(one));
    let begins = first.clone().map(|one| time(one).as_duration().as_secs_f64());
    assert!(
        begins.fold(0.0, f64::max) <= ends.fold(f64::MAX, f64::min),
        "{log}"
    );
    let shown = sandbox.ralph(&["log", "todo"]).exits(0).stdout;
    assert!(shown.trim_end().ends_with("s (several at once)"), "{shown}");
    let report = sandbox.ralph(&["report", "todo", "--json"]).exits(0).json();
    let sum: f64 = attempts.iter().map(lasts).sum();
    let told = report["totals"]["agent_duration"].as_f64().unwrap();
    assert!((sum - told).abs() < 1e-6, "{report}");
    assert_eq!(report["totals"]["attempts"], 4);
    let words = sandbox.ralph(&["report", "todo", "--markdown"]).exits(0).stdout;
    assert!(words.contains("s (several at once)"), "{words}");
    for form in ["--junit", "--output=-"] {
        sandbox.ralph(&["report", "todo", form]).exits(0);
    }
}
