//! The agent of an attempt as a process: what it is given, what it says, and how it ends.

use nix::sys::signal::Signal;

use crate::support::{CHANGE, COMPLETE, Sandbox, TASKS, wait_for, wait_until};

#[test]
fn verdict_follows_the_last_promise_and_not_the_exit_code() {
    let cases = [
        ("exit 3", "no_signal"),
        ("complete >&2", "no_signal"),
        ("complete; exit 1", "complete"),
        ("cat", "no_signal"),
        ("cat; printf '\\377. <promise>COMPLETE</promise>'", "complete"),
    ];
    let sandbox = Sandbox::new();
    sandbox.ralph(&["start", CHANGE, "--max-retries", "99"]).exits(0);
    let mut step = "next";
    for (script, verdict) in cases {
        let agent = sandbox.agent(&format!("echo x >>touched\n{script}"));
        let output = sandbox.step(step, &agent);
        let code = if verdict == "complete" { 0 } else { 3 };
        assert_eq!(output.code, code, "of {script}: {}", output.stderr);
        step = if code == 0 { "next" } else { "retry" };
    }
    let attempts = sandbox.attempts();
    let verdicts = attempts.iter().map(|attempt| attempt["verdict"].as_str());
    for ((script, wanted), verdict) in cases.iter().zip(verdicts) {
        assert_eq!(verdict, Some(*wanted), "of {script}");
    }
    sandbox.is_at_checkpoint();
}

#[test]
fn verdict_follows_the_final_message_of_claude() {
    let line = |kind: &str, rest: &str| format!("{{\"type\":\"{kind}\",{rest}}}");
    let begin = line(
        "system",
        "\"subtype\":\"init\",\"session_id\":\"s\",\"model\":\"m-1\",\"claude_code_version\":\"2.1.7\"",
    );
    let talk = line(
        "assistant",
        "\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"<promise>COMPLETE</promise>\"}]}",
    );
    let result = |text: &str| {
        let text = format!("\"subtype\":\"success\",\"is_error\":false,\"result\":\"{text}\"");
        line(
            "result",
            &format!(
                "{text},\"total_cost_usd\":0.25,\"usage\":{{\"input_tokens\":7,\"cache_read_input_tokens\":5,\"output_tokens\":3}}"
            ),
        )
    };
    let print = |lines: &[&str]| format!("cat <<'EOF'\n{}\nEOF", lines.join("\n"));

    let sandbox = Sandbox::new();
    sandbox.start();
    let red = sandbox.agent(&print(&[
        &begin,
        &talk,
        &result("<promise>FAILED: red</promise>"),
    ]));
    sandbox.step("next", &red).exits(3);
    let attempt = sandbox.attempts().pop().unwrap();
    assert_eq!(
        (&attempt["verdict"], &attempt["reason"]),
        (&"failed".into(), &"red".into())
    );
    assert_eq!(attempt["cost_usd"], 0.25);
    assert_eq!(
        (&attempt["input_tokens"], &attempt["output_tokens"]),
        (&12.into(), &3.into())
    );
    assert_eq!(attempt["cache_read_tokens"], 5);
    assert_eq!(attempt["model"], "m-1");
    assert_eq!(attempt["agent_version"], "2.1.7");
    // Nobody told, so nobody knows.
    assert!(attempt["cache_write_tokens"].is_null() && attempt["turns"].is_null());
    // Cut off: the result never came. Only the first repeat needs no delay.
    sandbox.configure("ralph.maxWait", "1s");
    let cut = sandbox.agent(&print(&[&begin, &talk]));
    sandbox.step("retry", &cut).exits(1);
    assert_eq!(sandbox.verdict(), "interrupted");
    sandbox.is_at_checkpoint();
    let done = result(&format!("Done.\\n{COMPLETE}"));
    let denied = "\"permission_denials\":[{\"tool_name\":\"Write\"}],\"usage\"";
    let done = done.replace("\"usage\"", denied);
    let green = sandbox.agent(&print(&[&begin, &talk, &done]));
    sandbox
        .step("retry", &green)
        .exits(3)
        .says("git sees no change outside the story list; the agent was not allowed to use Write");
    // What it did without that tool is for the gates to judge.
    let work = format!("echo x >x\n{}", print(&[&begin, &talk, &done]));
    sandbox.step("retry", &sandbox.agent(&work)).exits(0);
}

#[test]
fn an_agent_that_cannot_work_stops_the_loop() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.agent("exec no-such-program-at-all");
    sandbox
        .step("next", &agent)
        .exits(1)
        .says("could not work on story 1");
    assert_eq!(sandbox.verdict(), "not_started");
    assert_eq!(sandbox.status()["current"]["retries"], 0);
    let agent = sandbox.completing("true");
    sandbox.step("next", &agent).exits(0);
}

#[test]
fn time_in_which_git_ralph_was_stopped_is_no_silence() {
    let sandbox = Sandbox::new();
    sandbox.start();
    // The agent is in a session of its own, and goes on meanwhile.
    let agent = sandbox.completing(&format!(
        "echo x >x; echo tick; until grep -q tick .git/ralph/{CHANGE}/attempts/1.1.log; do :; done
ralph=$(ps -o ppid= -p $PPID); kill -STOP $ralph; sleep 15; kill -CONT $ralph; sleep 1"
    ));
    sandbox
        .ralph(&["next", "--idle-timeout", "10s", "--", &agent])
        .exits(0);
}

#[test]
fn sign_in_hint_covers_agents_that_print_text() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.agent("echo x >x; echo 'Invalid API key: fix it'; exit 1");
    sandbox
        .step("next", &agent)
        .exits(1)
        .says("Invalid API key: fix it")
        .says("sign in to the agent");
    assert_eq!(sandbox.verdict(), "auth");
    assert_eq!(sandbox.status()["current"]["retries"], 0);
    let agent = sandbox.agent("echo 'It is broken.'; exit 1");
    sandbox.step("next", &agent).exits(3);
    let reason = sandbox.attempts().pop().unwrap()["reason"].to_string();
    assert!(reason.contains("(exit code 1): It is broken."), "{reason}");
}

#[test]
fn cost_limit_sums_the_costs_that_agents_report() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.maxCost", "0.01");
    sandbox.start();
    let silent = sandbox.completing("echo x >x");
    sandbox
        .step("next", &silent)
        .exits(0)
        .says("so ralph.maxCost cannot limit it");
    let telling = sandbox.agent(
        "echo x >y; complete; echo 'Tokens: 1.0k sent, 50 received. Cost: $0.02 message, $0.02 session.'",
    );
    let output = sandbox.step("next", &telling).exits(0);
    assert!(!output.stderr.contains("maxCost"), "{}", output.stderr);
    sandbox
        .step("next", &telling)
        .exits(6)
        .says("stopped at a limit: $0.02 of $0.01 spent (ralph.maxCost)\n")
        .says("(use \"git ralph run add-login --max-cost 0.03\" to continue with a higher limit)");
    // Without a limit in the configuration, the same command continues.
    let run = sandbox.ralph(&["run", "--", &telling]).exits(6);
    let higher = "  (use \"git ralph run add-login --max-cost 0.03\" to continue with a higher limit)\n";
    assert!(run.stderr.contains(higher), "{}", run.stderr);
    let status = sandbox.ralph(&["status"]).exits(0).stdout;
    assert!(
        status.contains(higher) && !status.contains("git ralph next"),
        "{status}"
    );
    sandbox.git(&["config", "--unset", "ralph.maxCost"]);
    let run = ["run", "--max-cost", "0.01", "--", &telling];
    sandbox
        .ralph(&run)
        .exits(6)
        .says("(use \"git ralph run add-login\" to continue)");
}

#[test]
fn extra_usage_that_is_paid_for_is_told() {
    let sandbox = Sandbox::started();
    let agent = |overage: bool| {
        let limit = format!(
            r#"{{"type":"rate_limit_event","rate_limit_info":{{"status":"allowed","isUsingOverage":{overage}}}}}"#
        );
        let began = r#"{"type":"system","subtype":"init","session_id":"s1"}"#;
        let done = r#"{"type":"result","subtype":"success","result":"<promise>COMPLETE</promise>"}"#;
        sandbox.agent(&format!(
            "echo x >>x; printf '%s\\n' '{began}' '{limit}' '{done}'"
        ))
    };
    let next = |overage| sandbox.step("next", &agent(overage)).exits(0);
    next(true).says("it worked on extra usage, which is paid for");
    let output = next(false);
    assert!(!output.stderr.contains("extra usage"), "{}", output.stderr);
}

#[test]
fn a_time_limit_ends_everything_the_agent_started() {
    let sandbox = Sandbox::started();
    let before = sandbox.files();
    let agent = sandbox.agent(
        "trap '' TERM
         setsid sh -c 'trap \"\" TERM; echo $$ >\"$0/grandchild\"; while :; do sleep 1; done' \"$notes\" &
         echo x >x; complete
         while :; do sleep 1; done",
    );
    let output = sandbox
        .ralph(&["next", "--timeout", "10s", "--", &agent])
        .exits(3);
    output
        .says("timed out")
        .says("ended after 10 seconds, its time limit");
    assert!(sandbox.notes.join("grandchild").exists());
    sandbox.nothing_is_alive();
    assert_eq!(sandbox.verdict(), "timed_out");
    assert_eq!(sandbox.files(), before);
}

#[test]
fn silence_ends_an_attempt_too() {
    let sandbox = Sandbox::started();
    let agent = sandbox.agent("echo hello; sleep 600");
    sandbox
        .ralph(&["next", "--idle-timeout", "1s", "--", &agent])
        .exits(3)
        .says("ended after 1 second without output");
    sandbox.nothing_is_alive();
}

#[test]
fn an_agent_that_only_repeats_an_error_is_silent() {
    let sandbox = Sandbox::started();
    let begin = r#"{"type":"thread.started","thread_id":"t"}"#;
    let repeats = |words: &str| {
        let error = serde_json::json!({"type": "error", "message": words});
        sandbox.agent(&format!(
            "echo '{begin}'; while :; do echo '{error}'; echo 'ERROR' >&2; sleep 0.1; done"
        ))
    };
    let agent = repeats("Reconnecting... once more");
    sandbox
        .ralph(&["next", "--idle-timeout", "10s", "--", &agent])
        .exits(3)
        .says("ended after 10 seconds without progress in its output");
    sandbox.nothing_is_alive();
    assert_eq!(sandbox.verdict(), "timed_out");
    // Its service cannot answer, and it has waited for that as long as a run may.
    sandbox.configure("ralph.maxWait", "1s");
    let agent = repeats("Reconnecting... waiting for network");
    sandbox
        .ralph(&["retry", "--idle-timeout", "10s", "--", &agent])
        .exits(6)
        .says("without progress in its output; its last words: Reconnecting... waiting for network")
        .says("longer than ralph.maxWait allows");
    assert_eq!(sandbox.verdict(), "overloaded");
}

#[test]
fn an_interruption_does_not_count() {
    let sandbox = Sandbox::started();
    let before = sandbox.files();
    let agent = sandbox.agent("echo x >x; echo >\"$notes/at-work\"; complete; sleep 600");
    let running = sandbox.direct(&["next", "--", &agent]).start();
    wait_for(&sandbox.notes.join("at-work"));
    running.signal(Signal::SIGINT);
    running.end().exits(130);
    sandbox.nothing_is_alive();
    assert_eq!(sandbox.files(), before);
    sandbox.is_at_checkpoint();
    assert_eq!(sandbox.verdict(), "interrupted");
    let status = sandbox.status();
    assert_eq!(
        (&status["phase"], &status["next"]),
        (&"ready".into(), &"next".into())
    );
    let agent = sandbox.completing("true");
    sandbox.step("next", &agent).exits(0);
}

#[test]
fn ctrl_c_reaches_git_and_all_it_started() {
    let sandbox = Sandbox::started();
    let before = sandbox.files();
    let agent = sandbox.agent("echo x >x; rm README.md; echo >\"$notes/at-work\"; sleep 600");
    let running = sandbox.ralph_cmd(&["next", "--", &agent]).start();
    wait_for(&sandbox.notes.join("at-work"));
    // As a terminal does: the whole group, git in front included.
    running.signal_group(Signal::SIGINT);
    running.end().exits(130);
    wait_until("git-ralph has ended", || sandbox.alive().is_empty());
    assert_eq!(sandbox.files(), before);
    sandbox.is_at_checkpoint();
    assert_eq!(sandbox.verdict(), "interrupted");
}

#[test]
fn step_ends_processes_that_the_agent_left() {
    let sandbox = Sandbox::started();
    let agent = sandbox.completing(
        "(while :; do echo x >>late; sleep 0.01; done) & setsid sleep 600 >/dev/null 2>&1 &\nsleep 0.1",
    );
    sandbox
        .step("next", &agent)
        .exits(0)
        .says("processes running; they were ended");
    sandbox.nothing_is_alive();
    sandbox.is_at_checkpoint();
}

#[test]
fn step_handles_a_large_prompt_and_an_agent_that_reads_none() {
    let sandbox = Sandbox::new();
    let body = "word ".repeat(200_000);
    sandbox.write(
        TASKS,
        &format!("## 1. Long\n\n{body}\n\n- [ ] 1.1 One\n\n## 2. More\n- [ ] 2.1 Two\n"),
    );
    sandbox.start();
    let agent =
        sandbox.completing("head -c 2000000 /dev/zero | tr '\\0' x; cat | wc -c >\"$notes/size\"; echo");
    sandbox.ralph(&["-q", "next", "--", &agent]).exits(0);
    assert!(sandbox.noted("size").trim().parse::<usize>().unwrap() > body.len());
    sandbox.write(TASKS, &format!("## 3. Long\n\n{body}\n\n- [ ] 3.1 One\n"));
    let deaf = sandbox.completing("exec <&-");
    sandbox.ralph(&["-q", "next", "--", &deaf]).exits(0);
}

#[test]
fn agent_gets_its_variables_prompt_and_learnings() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.completing("env >\"$notes/env\"; cat \"$RALPH_PROMPT_FILE\" >\"$notes/prompt\"; echo use make >>\"$RALPH_LEARNINGS\"");
    let cmd = sandbox
        .git_cmd(&["-c", "ralph.maxRetries=5", "ralph", "next", "--", &agent])
        .env("GIT_DIR", sandbox.top.join(".git"));
    cmd.run().exits(0);
    let env = sandbox.noted("env");
    let has = |line: &str| env.lines().any(|have| have == line);
    assert!(has("RALPH_CHANGE=add-login") && has("RALPH_STORY=1"), "{env}");
    assert!(
        has("RALPH_STORY_TITLE=1. Database") && has("RALPH_ATTEMPT=1"),
        "{env}"
    );
    assert!(has("RALPH_BRANCH=ralph/add-login"), "{env}");
    assert!(
        env.lines().any(|line| line.starts_with("GIT_RALPH_RUN=")),
        "{env}"
    );
    for name in ["GIT_DIR=", "GIT_INDEX_FILE=", "GIT_WORK_TREE=", "GIT_PREFIX="] {
        assert!(!env.lines().any(|line| line.starts_with(name)), "{name} in {env}");
    }
    assert!(sandbox.noted("prompt").starts_with("# Story 1. Database"));
    assert!(sandbox.ralph(&["prompt"]).exits(0).stdout.contains("use make"));
}

#[test]
fn start_warns_of_a_promise_in_the_list_that_never_counts() {
    let sandbox = Sandbox::new();
    let list = format!("## 1. {COMPLETE}\n- [ ] 1.1 one\n");
    sandbox.write(TASKS, &list);
    sandbox.git(&["commit", "-qam", "tags"]);
    sandbox.start().says("has a promise tag in its text");
    for script in [
        "echo \"$RALPH_STORY_TITLE\"".to_owned(),
        format!("printf '+{COMPLETE}\\n'"),
        format!("printf '> {COMPLETE}\\n'"),
        format!("printf '{COMPLETE}\\nThat was wrong: <promise>FAILED: x</promise> it is.\\n'"),
    ] {
        let agent = sandbox.agent(&format!("cat >/dev/null; {script}"));
        sandbox.step("next", &agent).exits(3);
        assert_eq!(sandbox.verdict(), "no_signal", "{script}");
    }
}

#[test]
fn package_gives_the_version_of_an_agent() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let package = sandbox.outside("node_modules/some-agent");
    let program = package.join("some-agent");
    std::fs::create_dir_all(&package).unwrap();
    // It works whatever it is told: nothing is run to find out its version.
    let script = format!("#!/bin/sh\necho x >>x\necho '{COMPLETE}'\n");
    crate::support::write_program(&program, &script);
    let text = r#"{"name":"some-agent","version":"0.4.1","bin":{"some-agent":"some-agent"}}"#;
    std::fs::write(package.join("package.json"), text).unwrap();
    sandbox.step("next", program.to_str().unwrap()).exits(0);
    assert_eq!(sandbox.read("x"), "x\n");
    assert_eq!(sandbox.attempts()[0]["agent_version"], "0.4.1");
    let report = sandbox.ralph(&["report", "--json"]).exits(0).json();
    let agents = &report["environments"][0]["agents"];
    let wanted = serde_json::json!([{"agent": "some-agent", "version": "0.4.1"}]);
    assert_eq!(*agents, wanted, "{report}");
    let page = sandbox.ralph(&["report", "-o", "-"]).exits(0).stdout;
    assert!(page.contains("some-agent 0.4.1"));
}
