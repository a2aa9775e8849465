//! Agents whose service cannot answer: waited for, not counted; and those that no waiting helps.

use nix::sys::signal::Signal;

use crate::support::{CHANGE, Sandbox, wait_until};

/// What claude prints when its service answers with an error.
fn fault(status: u16, words: &str) -> String {
    format!(
        r#"echo '{{"type":"system","subtype":"init","session_id":"s"}}'
echo '{{"type":"result","subtype":"success","is_error":true,"api_error_status":{status},"result":"API Error: {words}"}}'
exit 1"#
    )
}

/// An agent that meets this the first time, and does its work the second time.
fn recovering(sandbox: &Sandbox, fault: &str) -> String {
    sandbox.agent(&format!(
        "count\nif [ $n = 1 ]; then echo x >half\n{fault}\nfi\necho x >done-$n\ncomplete"
    ))
}

#[test]
fn next_waits_for_a_rate_limit_without_counting_it() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = recovering(&sandbox, &fault(429, "rate limit, try again in 1 second"));
    let output = sandbox.ralph(&["next", "--json", "--", &agent]).exits(0);
    let events = output.events();
    let waiting = events.iter().find(|event| event["event"] == "waiting").unwrap();
    assert_eq!(waiting["seconds"], 1);
    assert!(waiting["reason"].as_str().unwrap().contains("rate limit"));
    let attempts = sandbox.attempts();
    let verdicts: Vec<_> = attempts.iter().map(|attempt| &attempt["verdict"]).collect();
    assert_eq!(verdicts, ["rate_limited", "complete"]);
    assert!(!sandbox.top.join("half").exists());
    assert!(sandbox.top.join("done-2").exists());
    assert!(sandbox.state()["loop"].get("story").is_none());
    let started: Vec<_> = events
        .iter()
        .filter(|event| event["event"] == "attempt_started")
        .map(|event| event["retries"].as_u64().unwrap())
        .collect();
    assert_eq!(started, [0, 0]);
}

#[test]
fn an_overloaded_service_is_waited_for_by_run() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.maxAttempts", "3");
    let agent = recovering(&sandbox, &fault(529, "Overloaded. Please retry after 1"));
    sandbox
        .ralph(&["run", CHANGE, "--cleanup", "--", &agent])
        .exits(0)
        .says("API Error: Overloaded. Please retry after 1")
        .says("trying again in 1s");
    assert_eq!(sandbox.git(&["branch", "--show-current"]), "main");
}

#[test]
fn next_waits_no_longer_than_the_settings_allow() {
    for (setting, value, words, says) in [
        ("ralph.maxWait", "0", "try again in 1s", "ralph.maxWait"),
        ("ralph.maxWait", "1h", "try again in 61 minutes", "ralph.maxWait"),
        (
            "ralph.maxDuration",
            "1h",
            "try again in 61 minutes",
            "ralph.maxDuration",
        ),
    ] {
        let sandbox = Sandbox::new();
        sandbox.configure(setting, value);
        sandbox.start();
        let agent = recovering(&sandbox, &fault(429, words));
        sandbox.step("next", &agent).exits(6).says(says);
        assert_eq!(sandbox.verdict(), "rate_limited");
        sandbox.is_at_checkpoint();
        assert_eq!(sandbox.status()["next"], "next");
        assert_eq!(sandbox.status()["current"]["retries"], 0);
        // Later, the same command.
        sandbox.step("next", &agent).exits(0);
    }
}

#[test]
fn next_waits_for_a_plan_limit_and_not_for_spent_credit() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = recovering(
        &sandbox,
        &fault(429, "usage limit reached, try again in 1 second"),
    );
    sandbox.step("next", &agent).exits(0).says("trying again in 1s");
    let agent = sandbox.agent(&fault(400, "Your credit balance is too low"));
    sandbox
        .step("next", &agent)
        .exits(1)
        .says("credit balance is too low")
        .says("hint: check the plan or the credit");
    assert_eq!(sandbox.verdict(), "auth");
    sandbox.is_at_checkpoint();
}

#[test]
fn service_that_names_no_time_is_waited_for_unless_it_wants_money_or_a_key() {
    let codex = r#"echo '{"type":"thread.started","thread_id":"t"}'
echo '{"type":"turn.failed","error":{"message":"You have hit your usage limit. Try again later."}}'"#;
    let claude = r#"echo '{"type":"assistant","message":{"content":[]},"error":"rate_limit"}'
echo '{"type":"result","is_error":true,"api_error_status":429,"result":"You exceeded your current quota, check your plan and billing details."}'"#;
    let copilot = r#"echo '{"type":"session.start","data":{}}'
echo '{"type":"session.error","data":{"message":"Could not connect to local model provider"}}'"#;
    let sdk = r#"echo '{"type":"system","subtype":"init"}'
echo '{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["API Error: 401 invalid key"]}'"#;
    let begin = r#"echo '{"type":"system","subtype":"init"}'"#;
    for (script, code, verdict, says) in [
        (codex, 6, "rate_limited", "longer than ralph.maxWait allows"),
        (copilot, 6, "overloaded", "longer than ralph.maxWait allows"),
        (
            &format!("{begin}\n{claude}"),
            1,
            "auth",
            "check the plan or the credit",
        ),
        (sdk, 1, "auth", "sign in to the agent"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.configure("ralph.maxWait", "1s");
        sandbox.start();
        let agent = sandbox.agent(&format!("{script}\nexit 1"));
        sandbox.step("next", &agent).exits(code).says(says);
        assert_eq!(sandbox.verdict(), verdict);
        assert_eq!(sandbox.status()["current"]["retries"], 0);
    }
}

#[test]
fn one_crash_of_an_agent_is_repeated_without_counting() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let crash = "echo '{\"type\":\"system\",\"subtype\":\"init\"}'; exit 3";
    let agent = recovering(&sandbox, crash);
    sandbox
        .step("next", &agent)
        .exits(0)
        .says("the agent's output ends in the middle (exit code 3)")
        .says("the attempt does not count, and is made again");
    let attempts = sandbox.attempts();
    let verdicts: Vec<_> = attempts.iter().map(|attempt| &attempt["verdict"]).collect();
    assert_eq!(verdicts, ["interrupted", "complete"]);
    assert!(!sandbox.top.join("half").exists());
    let agent = sandbox.agent(crash);
    sandbox.configure("ralph.maxWait", "0");
    sandbox
        .step("next", &agent)
        .exits(1)
        .says("could not work on story 2")
        .says("hint: fix the cause, then run the same command again");
    assert_eq!(sandbox.attempts().len(), 4);
    assert_eq!(sandbox.status()["current"]["retries"], 0);
    // After a second crash it is the other agent's turn.
    sandbox.configure("ralph.fallbackAgent", &sandbox.completing("echo x >x"));
    sandbox.step("next", &agent).exits(0);
    assert_eq!(sandbox.attempts().len(), 7);
}

#[test]
fn agent_that_crashes_twice_is_waited_for() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.agent("echo '{\"type\":\"system\",\"subtype\":\"init\"}'; exit 3");
    let running = sandbox.direct(&["run", CHANGE, "--", &agent]).start();
    let events = sandbox.top.join(format!(".git/ralph/{CHANGE}/events.jsonl"));
    wait_until("it waits", || {
        std::fs::read_to_string(&events).is_ok_and(|text| text.contains("\"waiting\""))
    });
    running.signal(Signal::SIGINT);
    running
        .end()
        .exits(130)
        .says("the agent could not work on story 1: interrupted (the agent's output ends in the middle (exit code 3))")
        .says("trying again in ");
    assert_eq!(sandbox.attempts().len(), 2);
    assert_eq!(sandbox.status()["current"]["retries"], 0);
    sandbox.is_at_checkpoint();
}

#[test]
fn a_crash_by_a_signal_is_one_like_any_other() {
    let begin = "echo '{\"type\":\"system\",\"subtype\":\"init\"}'";
    for signal in ["KILL", "SEGV", "ABRT"] {
        let sandbox = Sandbox::new();
        sandbox.start();
        let agent = recovering(
            &sandbox,
            &format!("{begin}; printf '{{\"type\":\"assi'; kill -{signal} $$"),
        );
        sandbox
            .step("next", &agent)
            .exits(0)
            .says("the agent was ended by signal ")
            .says("the attempt does not count, and is made again");
        let attempts = sandbox.attempts();
        let verdicts: Vec<_> = attempts.iter().map(|attempt| &attempt["verdict"]).collect();
        assert_eq!(verdicts, ["interrupted", "complete"], "{signal}");
    }
    // One that printed all it had to say did not break off.
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.agent("echo Bye.; kill -KILL $$");
    sandbox.step("next", &agent).exits(3);
    assert_eq!(sandbox.verdict(), "agent_error");
}

#[test]
fn waiting_can_be_interrupted() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = recovering(&sandbox, &fault(429, "try again in 300 seconds"));
    let running = sandbox.direct(&["next", CHANGE, "--", &agent]).start();
    let events = sandbox.top.join(format!(".git/ralph/{CHANGE}/events.jsonl"));
    wait_until("it waits", || {
        std::fs::read_to_string(&events).is_ok_and(|text| text.contains("\"waiting\""))
    });
    running.signal(Signal::SIGINT);
    running.end().exits(130);
    sandbox.is_at_checkpoint();
    sandbox.step("next", &agent).exits(0);
}

#[test]
fn next_ends_with_a_hint_if_waiting_does_not_help() {
    for (status, words, verdict, hint) in [
        (401, "Invalid API key", "auth", "sign in to the agent"),
        (404, "model: no-such-model", "not_started", "name a model"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.start();
        let agent = sandbox.agent(&fault(status, words));
        sandbox.step("next", &agent).exits(1).says(words).says(hint);
        assert_eq!(sandbox.verdict(), verdict);
        assert_eq!(sandbox.status()["current"]["retries"], 0);
    }
}

#[test]
fn the_output_of_an_agent_that_cannot_work_is_named() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.agent(&fault(401, "Invalid API key"));
    let log = sandbox.top.join(".git/ralph/add-login/attempts/1.1.log");
    let says = format!("output of the agent: {}", log.display());
    sandbox.step("next", &agent).exits(1).says(&says);
    assert!(std::fs::read_to_string(log).unwrap().contains("Invalid API key"));
}

#[test]
fn a_conversation_that_grew_too_long_fails_the_attempt() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.agent(&fault(400, "prompt is too long"));
    sandbox.step("next", &agent).exits(3).says("prompt is too long");
    assert_eq!(sandbox.verdict(), "agent_error");
}

#[test]
fn failed_attempt_keeps_edits_made_while_next_waited() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let fault = fault(429, "rate limit, try again in 2 seconds");
    // On a busy machine the edit may miss the first wait.
    let agent = sandbox.agent(&format!(
        "if [ ! -e mine ]; then\n{fault}\nfi\necho x >x\nfailed red"
    ));
    let running = sandbox.direct(&["next", CHANGE, "--", &agent]).start();
    let events = sandbox.top.join(format!(".git/ralph/{CHANGE}/events.jsonl"));
    wait_until("it waits", || {
        std::fs::read_to_string(&events).is_ok_and(|text| text.contains("\"waiting\""))
    });
    sandbox.write("mine", "edited while it waits\n");
    running.end().exits(3);
    assert_eq!(sandbox.read("mine"), "edited while it waits\n");
    assert_eq!(sandbox.subjects("HEAD")[0], "checkpoint: edits before 1");
    assert!(!sandbox.top.join("x").exists());
}
