//! `git ralph log`: every attempt, what it came to, and what keeps it.

use std::fs;

use crate::support::{CHANGE, Sandbox, wait_for, wait_until};

#[test]
fn log_lists_every_attempt() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox
        .ralph(&["log"])
        .exits(0)
        .says("no attempt is recorded")
        .answers_nothing();
    let agent = sandbox
        .agent("count; echo $n >f; case $n in 1) exit 9 ;; 2) failed 'no luck' ;; *) complete ;; esac");
    sandbox.step("next", &agent).exits(3);
    sandbox.step("retry", &agent).exits(3);
    sandbox.step("retry", &agent).exits(0);
    let attempts = sandbox.attempts();
    let verdicts: Vec<_> = attempts.iter().map(|attempt| &attempt["verdict"]).collect();
    assert_eq!(verdicts, ["no_signal", "failed", "complete"]);
    assert_eq!(attempts[0]["exit_code"], 9);
    assert_eq!(attempts[1]["reason"], "no luck");
    for (index, attempt) in attempts.iter().enumerate() {
        assert_eq!(attempt["attempt"], index + 1);
        assert_eq!(attempt["story"], "1");
        assert!(attempt["duration"].as_f64().unwrap() >= 0.0);
        let size = ["files", "insertions", "deletions"].map(|field| attempt[field].as_u64());
        // The last one ticks the boxes of its story too.
        let ticked = u64::from(index == 2);
        assert_eq!(size[0], Some(1 + ticked), "{attempt}");
        assert!(
            size[1] >= Some(1 + ticked) && size[2] >= Some(ticked),
            "{attempt}"
        );
    }
    let kept = attempts[1]["ref"].as_str().unwrap();
    assert_eq!(sandbox.git(&["show", &format!("{kept}:f")]), "2");
    assert_eq!(attempts[2]["checkpoint"], sandbox.git(&["rev-parse", "HEAD"]));
    let words = sandbox.ralph(&["log"]).exits(0).stdout;
    assert!(words.contains("no luck") && words.contains("complete"), "{words}");
    let raw = sandbox.top.join(".git/ralph/add-login/attempts/1.2.log");
    assert!(std::fs::read_to_string(raw).unwrap().contains("FAILED: no luck"));
}

#[test]
fn log_report_and_last_lines_add_the_time_of_gates_to_that_of_the_agent() {
    let sandbox = Sandbox::new();
    let agent = sandbox.completing("echo x >>x");
    let run = ["run", CHANGE, "--verify", "true", "--", &agent];
    sandbox.ralph(&run).exits(0);
    // A gate of an hour, and an agent of a minute.
    let events = sandbox.top.join(".git/ralph/add-login/events.jsonl");
    let text = fs::read_to_string(&events).unwrap();
    let lines = text.lines().map(|line| {
        let mut event: serde_json::Value = serde_json::from_str(line).unwrap();
        match event["event"].as_str() {
            Some("gate") => event["duration"] = 3600.into(),
            Some("attempt_ended") => event["duration"] = 60.into(),
            _ => {}
        }
        format!("{event}\n")
    });
    fs::write(&events, lines.collect::<String>()).unwrap();
    let log = sandbox.ralph(&["log"]).exits(0).stdout;
    assert_eq!(log.matches(" 1h 01m ").count(), 3, "{log}");
    assert!(log.contains("\n3 attempts, 3 complete, 3h 03m"), "{log}");
    sandbox.ralph(&run).exits(0).says("; 3 attempts, 3h 03m; ");
    let report = sandbox.ralph(&["report", "--markdown"]).exits(0).stdout;
    assert!(
        report.contains(" · Attempts: 3 · Time of attempts: 3h 03m · "),
        "{report}"
    );
}

#[test]
fn log_skips_a_line_that_was_cut_off() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.completing("true");
    sandbox.step("next", &agent).exits(0);
    let events = sandbox.top.join(".git/ralph/add-login/events.jsonl");
    let mut text = std::fs::read_to_string(&events).unwrap();
    text.push_str("{\"v\":1,\"t\":\"2026");
    std::fs::write(&events, text).unwrap();
    assert_eq!(sandbox.attempts().len(), 1);
}

/// What an agent prints that speaks JSON.
const STREAM: &str = r#"echo '{"type":"system","subtype":"init","session_id":"s"}'
echo '{"type":"assistant","message":{"content":[{"type":"text","text":"It is done."}]}}'
echo 'a warning' >&2
echo x >x
echo '{"type":"result","subtype":"success","is_error":false,"result":"<promise>COMPLETE</promise>"}'"#;

#[test]
fn log_shows_the_output_of_an_attempt_in_words_or_raw() {
    let sandbox = Sandbox::started();
    for option in ["--follow", "--raw"] {
        sandbox
            .ralph(&["log", option])
            .exits(1)
            .says("error: no attempt of 'add-login' is recorded\nhint: git ralph status add-login\n");
    }
    let agent = sandbox.agent(STREAM);
    sandbox.configure("ralph.verify", "echo the gate");
    sandbox.step("next", &agent).exits(0);
    let words = sandbox.ralph(&["log", "1@1"]).exits(0).stdout;
    for part in ["It is done.\n", "a warning\n", "the gate\n"] {
        assert!(words.contains(part), "{part:?} in {words}");
    }
    assert!(!words.contains("session_id"), "{words}");
    assert_eq!(sandbox.ralph(&["log", CHANGE, "1"]).exits(0).stdout, words);
    let raw = sandbox.ralph(&["log", "1@1", "--raw"]).exits(0).stdout;
    let log = sandbox.read(&format!(".git/ralph/{CHANGE}/attempts/1.1.log"));
    assert_eq!(raw, log);
    assert_eq!(sandbox.ralph(&["log", "--raw"]).exits(0).stdout, log);
    for unknown in ["2@1", "1@7", "nothing"] {
        sandbox
            .ralph(&["log", unknown])
            .exits(1)
            .says("there is no saved attempt");
    }
    sandbox.ralph(&["log", "--raw", "--json"]).exits(2);
    // Of one story, JSON tells no more either.
    sandbox.step("next", &agent).exits(0);
    let of_one = sandbox.ralph(&["log", "2", "--json"]).exits(0).json();
    let stories: Vec<_> = of_one["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["story"])
        .collect();
    assert_eq!(stories, ["2"]);
    sandbox.ralph(&["log", "3", "--json"]).exits(1);
}

#[test]
fn an_attempt_that_runs_can_be_followed_and_is_in_the_status() {
    let sandbox = Sandbox::new();
    let go = sandbox.outside("go");
    let agent = sandbox.completing(&format!(
        "echo begun; touch '{0}.there'; until test -e '{0}'; do sleep 0.05; done; echo ended",
        go.display()
    ));
    let running = sandbox.direct(&["run", CHANGE, "--", &agent]).start();
    wait_for(&go.with_extension("there"));
    let status = sandbox.status();
    let attempt = &status["running"];
    assert_eq!(
        (&attempt["story"], &attempt["attempt"]),
        (&"1".into(), &1.into()),
        "{status}"
    );
    assert_eq!(attempt["pid"], running.pid.as_raw());
    let text = sandbox.ralph(&["status", CHANGE]).exits(0).stdout;
    assert!(text.contains("attempt 1 is running (process "), "{text}");
    assert!(text.contains("git ralph log --follow add-login 1@1"), "{text}");
    sandbox
        .ralph(&["log"])
        .exits(0)
        .says("attempt 1 of story 1 is running");
    let follower = sandbox.ralph_cmd(&["log", "--follow"]).on_terminal(80).start();
    wait_until("the beginning", || follower.seen().contains("begun\n"));
    fs::write(&go, "").unwrap();
    let seen = follower.end().exits(0).stdout;
    assert!(seen.contains("ended\n<promise>COMPLETE</promise>\n"), "{seen}");
    running.end().exits(0);
    assert_eq!(sandbox.status()["running"], serde_json::Value::Null);
}

#[test]
fn checkpoint_names_its_attempt_agent_and_evidence() {
    let sandbox = Sandbox::new();
    sandbox.ralph(&["start", CHANGE, "--verify", "true"]).exits(0);
    sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
    let trailers = sandbox.git(&["log", "-1", "--format=%b%(trailers:key=Ralph-Attempt,valueonly)"]);
    let lines: Vec<&str> = trailers.lines().collect();
    // How long it took is a number.
    let without_times = lines
        .iter()
        .map(|line| line.replace(|char: char| char.is_ascii_digit(), ""));
    assert_eq!(
        without_times.take(7).collect::<Vec<_>>(),
        [
            ". Database",
            "",
            "Ralph-Attempt: @",
            "Ralph-Agent: agent-",
            "Ralph-Duration: s",
            "Ralph-Rests-On: promise, gates",
            "Ralph-Gate: true (passed, s)"
        ]
    );
    assert_eq!(lines.last(), Some(&"1@1"));
}

#[test]
fn status_suggests_complete_after_a_restore() {
    let sandbox = Sandbox::started();
    sandbox.step("next", &sandbox.failing("echo x >x")).exits(3);
    sandbox.ralph(&["restore", "1@1"]).exits(0);
    let status = sandbox.status();
    assert_eq!(
        (&status["next"], &status["restored"]),
        (&"complete".into(), &"1@1".into())
    );
    let text = sandbox.ralph(&["status"]).exits(0).stdout;
    assert!(
        text.contains("the work of 1@1 is restored") && text.contains("git ralph complete add-login"),
        "{text}"
    );
    sandbox.ralph(&["complete"]).exits(0);
    assert_eq!(sandbox.status()["next"], "next");
}

#[test]
fn events_name_the_part_of_the_log_of_agent_and_gate() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.verify", "echo 3 tests passed");
    sandbox.start();
    sandbox.step("next", &sandbox.completing("echo hello")).exits(0);
    let dir = format!(".git/ralph/{CHANGE}");
    let printed = |event: &str, log: &str| {
        let events = sandbox.read(&format!("{dir}/events.jsonl"));
        let lines = events
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let outputs = lines
            .filter(|line| line["event"] == event)
            .map(|line| line["output"].clone());
        let at =
            |output: &serde_json::Value, end: &str| usize::try_from(output[end].as_u64().unwrap()).unwrap();
        let log = sandbox.read(&format!("{dir}/{log}"));
        let parts =
            outputs.filter_map(|output| Some(log.get(at(&output, "from")..at(&output, "to"))?.to_owned()));
        parts.collect::<Vec<_>>()
    };
    let agent = printed("attempt_ended", "attempts/1.1.log");
    assert_eq!(agent, ["hello\n<promise>COMPLETE</promise>\n"]);
    let gate = "3 tests passed\n";
    assert_eq!(printed("gate", "attempts/1.1.log").last().unwrap(), gate);
    assert_eq!(printed("gate", "gates-at-start.log")[0], gate);
}

#[test]
fn attempt_that_changed_nothing_is_shown_by_its_log() {
    let sandbox = Sandbox::started();
    let output = sandbox.step("next", &sandbox.agent("echo I did it")).exits(3);
    assert!(!output.stderr.contains("git ralph diff"), "{}", output.stderr);
    let hinted = |words: &str| sandbox.ralph(&["status"]).exits(0).stdout.contains(words);
    assert!(hinted(
        "(use \"git ralph log add-login 1@1\" to see what the agent printed)"
    ));
    let log = sandbox.ralph(&["log", CHANGE, "1@1"]).exits(0).stdout;
    assert!(log.contains("I did it"), "{log}");
    sandbox.step("retry", &sandbox.agent("echo x >x")).exits(3);
    assert!(hinted("git ralph diff add-login 1@2"));
    let retry = ["retry", "--", "false"];
    let output = sandbox.ralph(&retry).exits(3);
    assert!(!output.stderr.contains("git ralph log"), "{}", output.stderr);
    assert!(!hinted("git ralph log add-login 1@3") && hinted("the agent printed nothing\n"));
    let run = sandbox.ralph(&["run", "--max-retries", "0", "--on-failure", "skip", "--", "false"]);
    run.exits(4)
        .says("\n  1@3 ")
        .says("and the agent printed nothing)\n");
}

#[test]
fn hints_name_a_story_of_a_plain_list_by_its_position() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "TODO.md",
        "- [ ] Add a form for the login\n- [ ] Check the password\n- [ ] login\n",
    );
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "list"]);
    let agent = sandbox.agent("echo x >x; failed no");
    let run = ["run", "--stories", "TODO.md", "--max-retries", "0", "--", &agent];
    let diff = "git ralph diff todo 1@1";
    let ended = sandbox.ralph(&run).exits(4);
    assert!(!ended.stderr.contains("add-a-form"), "{}", ended.stderr);
    ended
        .says("story 1 failed, no retries left\n")
        .says(&format!("  kept: {diff}\n"))
        .says(&format!("(use \"{diff}\" to see what was tried)"));
    for command in ["log", "status"] {
        let shown = sandbox.ralph(&[command, "todo"]).exits(0).stdout;
        assert!(shown.contains(diff) && !shown.contains("add-a-form"), "{shown}");
    }
    let short = sandbox.ralph(&["status", "--short"]).exits(0).stdout;
    assert_eq!(short, "ralph: todo 0/3 story 1 failed, no retries left\n");
    sandbox.ralph(&["diff", "todo", "1@1"]).exits(0);
    for word in ["2", "check"] {
        let prompt = sandbox
            .ralph(&["prompt", "todo", "--story", word])
            .exits(0)
            .stdout;
        assert!(prompt.contains("Check the password"), "{prompt}");
    }
    // A story whose id another's position would name keeps its id.
    sandbox.write(
        "TODO.md",
        "- [ ] Add a form for the login\n- [ ] 1. Check the password\n",
    );
    let log = sandbox.ralph(&["log", "todo"]).exits(0).stdout;
    assert!(
        log.contains("git ralph diff todo add-a-form-for-the-login@1"),
        "{log}"
    );
}
