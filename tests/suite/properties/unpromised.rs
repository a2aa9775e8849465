//! Work that nobody promised (`ralph.noSignal`).

use crate::support::{ACCEPT, CHANGE, Sandbox};

/// A loop in which gates judge what was not promised.
fn unpromised(gate: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.noSignal", "gates");
    sandbox.configure("ralph.verify", gate);
    sandbox.start();
    sandbox
}

#[test]
fn user_is_told_once_which_line_is_missing() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let prompt = || sandbox.ralph(&["prompt"]).exits(0).stdout;
    let (before, agent) = (
        prompt(),
        sandbox.agent(r"printf 'one\ntwo\nthree\n\nfour\nfive \033[31mred\033[0m\033]0;t\007\nsix\b\n'"),
    );
    let words = "a line with <promise>COMPLETE</promise> alone is missing";
    let ends = "message:\n     two\n     three\n     four\n     five red\n     six^H\n";
    let run = ["-q", "run", CHANGE, "--max-retries", "1", "--json", "--", &agent];
    let output = sandbox.ralph(&run).exits(4);
    let told = |event: &serde_json::Value| event["message"].to_string().contains(words);
    assert_eq!(output.events().iter().filter(|event| told(event)).count(), 1);
    let output = sandbox
        .ralph(&["retry", CHANGE, "--max-retries", "9", "--", &agent])
        .exits(3);
    output.says(words).says(ends);
    assert!(!prompt().contains("six"));
    assert_eq!(prompt(), before);
}

#[test]
fn gates_can_complete_a_story_without_a_promise() {
    let sandbox = unpromised("! grep -q bad made");
    sandbox
        .step("next", &sandbox.agent("echo bad >made; echo I have made it."))
        .exits(3)
        .says("the agent ended without a promise; the gates judge what it did (ralph.noSignal)")
        .says("the agent's last message has no promise, and the gate `! grep -q bad made` failed");
    sandbox.is_at_checkpoint();
    sandbox
        .step("retry", &sandbox.agent("echo good >made; echo I have made it."))
        .exits(0)
        .says("accepted without a promise (ralph.noSignal)");
    let message = sandbox.git(&["log", "-1", "--format=%B"]);
    assert!(
        message.contains("Ralph-Promise: none\nRalph-Rests-On: gates\n"),
        "{message}"
    );
    let last = sandbox.attempts().pop().unwrap();
    assert_eq!(last["verdict"], "complete");
    assert_eq!(last["rests_on"], serde_json::json!(["gates"]));
    let status = sandbox.status();
    assert_eq!(
        (&status["without_promise"], &status["by_promise_alone"]),
        (&1.into(), &0.into())
    );
    let shown = sandbox.ralph(&["status"]).exits(0).stdout + &sandbox.ralph(&["log"]).exits(0).stdout;
    assert!(
        shown.contains("1 of 3 stories are complete; 1 without a promise\n")
            && shown.contains("1 complete (1 without a promise)"),
        "{shown}"
    );
    let report = sandbox.ralph(&["report", "--markdown"]).exits(0).stdout;
    assert!(
        report.contains("the agent's last message has no promise"),
        "{report}"
    );
}

#[test]
fn attempt_that_seems_unfinished_is_retried_although_gates_pass() {
    let sandbox = unpromised("true");
    sandbox.configure("ralph.maxRetries", "99");
    let fails = "echo x >made; ";
    for (step, end) in [
        ("next", "echo I am blocked: there is no database."),
        ("retry", "echo 'Shall I go on?'"),
        ("retry", "echo made it; exit 1"),
        ("retry", "echo 'I would say <promise>COMPLETE</promise> then.'"),
    ] {
        let output = sandbox.step(step, &sandbox.agent(&format!("{fails}{end}")));
        assert_eq!(output.code, 3, "{}", output.stderr);
        assert_eq!(sandbox.verdict(), "no_signal", "{end}");
    }
    // So do words of any language that say that something is not done.
    for words in [
        "TODO: real implementation",
        "Die zweite Box fehlt noch, das habe ich nicht geschafft.",
        "That was the first half. The second half is for the next turn.",
        "I implemented the first part.",
        "Next I will write the tests",
        "Remaining: box 1.2.",
        "第二个任务还没有完成。",
        "Осталась вторая часть.",
        "Queda pendiente la segunda parte.",
        "- [ ] tests",
    ] {
        let agent = sandbox.agent(&format!("{fails}echo '{words}'"));
        sandbox.step("retry", &agent).exits(3);
        assert_eq!(sandbox.verdict(), "no_signal", "{words}");
    }
    // Nothing was changed: there is nothing to judge.
    sandbox
        .step("retry", &sandbox.agent("echo All is done."))
        .exits(3);
    assert_eq!(sandbox.verdict(), "no_signal");
}

#[test]
fn start_and_run_refuse_no_signal_gates_without_a_gate() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.noSignal", "gates");
    let refs = sandbox.git(&["for-each-ref"]);
    let agent = sandbox.agent("echo >\"$notes/ran\"");
    let why = "error: ralph.noSignal is 'gates', and there is neither a gate nor a reviewer to judge an attempt\n\
               hint: git config --add ralph.verify '<command>'";
    sandbox.ralph(&["start", CHANGE]).exits(1).says(why);
    sandbox.ralph(&["run", CHANGE, "--", &agent]).exits(1).says(why);
    assert_eq!(sandbox.git(&["for-each-ref"]), refs);
    let doctor = sandbox.ralph(&["doctor"]).stdout;
    assert!(doctor.contains("ralph.noSignal is 'gates'"), "{doctor}");
    // A gate of this loop will do, and a reviewer.
    sandbox.ralph(&["start", CHANGE, "--verify", "true"]).exits(0);
    sandbox.ralph(&["abort"]).exits(0);
    sandbox.configure("ralph.review", &format!("tee \"$TMPDIR/seen\" | {ACCEPT}"));
    sandbox.start();
    sandbox
        .step("next", &sandbox.agent("echo x >made; echo made"))
        .exits(0);
    assert!(!sandbox.read("../cache/seen").contains("says that it is complete"));
    assert_eq!(
        sandbox.attempts().pop().unwrap()["rests_on"],
        serde_json::json!(["review"])
    );
    assert!(!sandbox.notes.join("ran").exists());
}
