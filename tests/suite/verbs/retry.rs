//! `git ralph retry`: counted attempts, reasons in the prompt, and where it ends.

use std::fs;

use crate::support::{CHANGE, Sandbox};

#[test]
fn story_gets_one_attempt_and_three_retries() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.agent("count; echo $n >f; cat >\"$notes/prompt-$n\"; failed \"reason $n\"");
    sandbox.step("next", &agent).exits(3).says("3 of 3 retries left");
    // `next` is not what comes next.
    sandbox
        .step("next", &agent)
        .exits(3)
        .says("story 1 failed and can be retried (3 retries left)")
        .says("hint: git ralph retry add-login");
    sandbox.step("retry", &agent).exits(3).says("2 of 3 retries left");
    sandbox.step("retry", &agent).exits(3);
    sandbox
        .step("retry", &agent)
        .exits(4)
        .says("story 1 failed, no retries left");
    for step in ["next", "retry"] {
        sandbox
            .step(step, &agent)
            .exits(4)
            .says("has no retries left")
            .says("git ralph skip add-login 1");
    }
    assert_eq!(sandbox.noted("count"), "4\n");
    assert!(!sandbox.noted("prompt-1").contains("The last attempt failed"));
    for attempt in 2..=4 {
        let prompt = sandbox.noted(&format!("prompt-{attempt}"));
        assert!(
            prompt.contains(&format!("> reason {}\n", attempt - 1)),
            "{prompt}"
        );
        assert!(
            prompt.contains(&format!("This is attempt {attempt}.")),
            "{prompt}"
        );
    }
    for attempt in 1..=4 {
        let kept = format!("refs/ralph/add-login/attempts/1/{attempt}:f");
        assert_eq!(sandbox.git(&["show", &kept]), attempt.to_string());
    }
    let status = sandbox.status();
    assert_eq!(status["phase"], "exhausted");
    assert_eq!(status["next"], "finish");
    assert_eq!(status["current"]["retries"], 3);
    sandbox.is_at_checkpoint();
}

#[test]
fn retry_is_refused_without_a_failed_story() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let (print, state) = (sandbox.print(), sandbox.state());
    sandbox
        .step("retry", "true")
        .exits(1)
        .says("no story has failed")
        .says("hint: git ralph next add-login");
    assert_eq!((sandbox.print(), sandbox.state()), (print, state));
}

#[test]
fn a_retry_that_succeeds_opens_the_next_story() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.agent(
        "count; echo $RALPH_STORY $RALPH_ATTEMPT >>\"$notes/log\"; test $n = 1 && failed a || complete",
    );
    sandbox.step("next", &agent).exits(3);
    sandbox.step("retry", &agent).exits(0);
    sandbox.step("next", &agent).exits(0);
    assert_eq!(sandbox.noted("log"), "1 1\n1 2\n2 1\n");
}

#[test]
fn first_failure_is_the_last_without_retries() {
    let sandbox = Sandbox::new();
    sandbox.ralph(&["start", CHANGE, "--max-retries", "0"]).exits(0);
    let agent = sandbox.failing("true");
    sandbox.step("next", &agent).exits(4);
    sandbox.step("retry", &agent).exits(4);
}

#[test]
fn each_command_rereads_the_number_of_retries() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.maxRetries", "0");
    sandbox.start();
    let agent = sandbox.failing("true");
    sandbox.step("next", &agent).exits(4);
    assert_eq!(sandbox.status()["phase"], "exhausted");
    sandbox.configure("ralph.maxRetries", "1");
    assert_eq!(sandbox.status()["phase"], "failed");
    sandbox.step("retry", &agent).exits(4);
}

#[test]
fn options_of_the_start_override_the_configuration() {
    let sandbox = Sandbox::new();
    sandbox.ralph(&["start", CHANGE, "--max-retries", "1"]).exits(0);
    sandbox.configure("ralph.maxRetries", "9");
    let agent = sandbox.failing("true");
    sandbox.step("next", &agent).exits(3);
    sandbox.step("retry", &agent).exits(4);
    sandbox
        .ralph(&["retry", "--max-retries", "2", "--", "sh", "-c", "true"])
        .exits(4);
}

#[test]
fn dash_c_holds_for_one_step() {
    let sandbox = Sandbox::new();
    sandbox.ralph(&["start", CHANGE, "--max-retries", "0"]).exits(0);
    let agent = sandbox.failing("true");
    let step = |setting: &str, step: &str| {
        sandbox
            .git_cmd(&["-c", setting, "ralph", step, "--", &agent])
            .run()
    };
    step("ralph.maxRetries=5", "next").exits(3);
    step("ralph.maxRetries=5", "retry").exits(3);
    sandbox.step("retry", &agent).exits(4);
    assert_eq!(sandbox.status()["max_retries"], 0);
    let last = sandbox.ralph(&["retry", "--max-retries", "2", "--", &agent]);
    last.exits(4);
}

#[test]
fn no_signal_gives_no_reason_to_the_prompt() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.agent("cat >\"$notes/prompt\"; echo I forgot");
    sandbox
        .step("next", &agent)
        .exits(3)
        .says("the agent's last message has no promise");
    let first = sandbox.noted("prompt");
    sandbox.step("retry", &agent).exits(3);
    assert_eq!(sandbox.noted("prompt"), first);
    assert_eq!(
        sandbox.status()["current"]["reason"],
        "the agent's last message has no promise"
    );
}

#[test]
fn a_reason_of_several_lines_is_quoted_and_harmless() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.agent("printf '<promise>FAILED: one\\n# two\\n\\nthree</promise>\\n'");
    sandbox.step("next", &agent).exits(3);
    let prompt = sandbox.ralph(&["prompt"]).exits(0).stdout;
    assert!(prompt.contains("\n> one\n> # two\n>\n> three\n"), "{prompt}");
    let parrot = sandbox.agent("cat");
    sandbox.step("retry", &parrot).exits(3);
    assert_eq!(sandbox.verdict(), "no_signal");
}

#[test]
fn prompt_explains_why_a_promise_did_not_count() {
    for (said, why) in [
        (
            "I am done: <promise>COMPLETE</promise>, I think.",
            "inside a sentence",
        ),
        (
            "I could not finish, so I will not say\n<promise>COMPLETE</promise>",
            "can be read as its opposite",
        ),
        (
            "<think>\n<promise>COMPLETE</promise>\n</think>",
            "stood in thoughts",
        ),
        (
            "<promise>complete</promise>",
            "neither COMPLETE nor FAILED but 'complete'",
        ),
    ] {
        let sandbox = Sandbox::new();
        sandbox.start();
        let agent = sandbox.agent(&format!("echo '{said}'"));
        sandbox.step("next", &agent).exits(3);
        assert_eq!(sandbox.verdict(), "no_signal");
        let prompt = sandbox.ralph(&["prompt"]).exits(0).stdout;
        assert!(prompt.contains(why), "{prompt}");
    }
}

#[test]
fn a_run_after_very_many_events_sees_its_own_attempts() {
    let sandbox = Sandbox::started();
    let events = sandbox.top.join(format!(".git/ralph/{CHANGE}/events.jsonl"));
    let mut text = fs::read_to_string(&events).unwrap();
    text.push_str(&format!("{}\n", "x".repeat(1 << 20)));
    fs::write(&events, text).unwrap();
    let agent = sandbox.agent("echo x >>\"$notes/began\"; echo 'It broke.'; exit 1");
    sandbox
        .ralph(&["run", CHANGE, "--cleanup", "--", &agent])
        .exits(1)
        .says("two attempts ended this way within seconds");
    assert_eq!(sandbox.noted("began").lines().count(), 2);
    assert!(events.with_extension("tally.toml").exists());
}
