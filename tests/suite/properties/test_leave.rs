//! The ways in which a user lets stories change what judges them, and what asks for it.

use super::held_tests::{gate_fails_once, project};
use crate::support::{CHANGE, Sandbox, TASKS};

/// Changes a test in each story, and in the second one with the work that it no longer looks at.
const WEAKENS: &str = "echo $RALPH_STORY >>new; echo \"# $RALPH_STORY\" >>tests/value.sh
[ $RALPH_STORY = 1 ] || { echo true >tests/value.sh; echo 'echo 5' >app.sh; }";

#[test]
fn leave_of_a_run_holds_for_the_first_story_alone() {
    let sandbox = project(2);
    sandbox.start();
    let agent = sandbox.completing(WEAKENS);
    let run =
        |leave: &str, retries: &str| sandbox.ralph(&["run", CHANGE, leave, retries, "--keep", "--", &agent]);
    run("--allow-test-changes", "--max-retries=0").exits(4);
    let rests_on = |at: usize| sandbox.attempts()[at]["rests_on"].to_string();
    assert!(rests_on(0).contains("test-changes-allowed"), "{}", rests_on(0));
    assert_eq!(sandbox.verdict(), "gate_failed");
    // The same words as a value, and a value that is none.
    run("--allow-test-changes=some", "--max-retries=1")
        .exits(2)
        .says("story or all");
    run("--allow-test-changes=story", "--max-retries=1").exits(0);
    assert!(rests_on(2).contains("test-changes-allowed"), "{}", rests_on(2));
}

#[test]
fn leave_of_a_run_can_hold_for_all_stories_and_stays_with_a_story_that_failed() {
    let sandbox = project(2);
    sandbox.start();
    let agent = sandbox.completing(WEAKENS);
    let all = ["run", CHANGE, "--allow-test-changes=all", "--keep", "--", &agent];
    sandbox.ralph(&all).exits(0);
    assert_eq!(sandbox.attempts().len(), 2);
    let sandbox = project(1);
    sandbox.start();
    let agent = sandbox.agent(&format!("[ $RALPH_ATTEMPT != 1 ] || exit 1; {WEAKENS}; complete"));
    let one = ["run", CHANGE, "--allow-test-changes", "--keep", "--", &agent];
    sandbox.ralph(&one).exits(0);
    assert!(
        sandbox.attempts()[1]["rests_on"]
            .to_string()
            .contains("test-changes-allowed")
    );
}

#[test]
fn gate_that_fails_once_with_the_held_tests_accuses_no_attempt() {
    gate_fails_once(&project(1));
}

#[test]
fn product_that_a_gate_runs_can_be_named() {
    let sandbox = project(5);
    sandbox.git(&["config", "--unset", "ralph.tests"]);
    sandbox.configure("ralph.verify", "sh app.sh | cmp - want && ./check.sh");
    sandbox.write("want", "4\n");
    sandbox
        .start()
        .says("gate scripts: app.sh, check.sh; a story cannot weaken them (if they are the work itself: ralph.gateScripts)");
    let value = |value: u32| {
        sandbox.completing(&format!(
            "echo {value} | tee want >tests/expected; echo 'echo {value}' >app.sh"
        ))
    };
    sandbox
        .step("next", &value(5))
        .exits(3)
        .says("if app.sh is the work, which the gate runs, and no script of the gate: git config --add ralph.gateScripts app.sh");
    sandbox.git(&["config", "--add", "ralph.gateScripts", "docs"]);
    sandbox.git(&["config", "--add", "ralph.gateScripts", "app*"]);
    sandbox.step("retry", &value(5)).exits(0);
    let rests_on = || sandbox.attempts().last().unwrap()["rests_on"].to_string();
    assert_eq!(rests_on(), "[\"promise\",\"gates\"]");
    let doctor = sandbox.ralph(&["doctor"]).stdout;
    assert!(
        doctor.contains("ralph.gateScripts: no file matches docs"),
        "{doctor}"
    );
    // The other scripts are held as before.
    let weakens = sandbox.completing("echo 'echo 6' >app.sh; echo 6 >want; echo '#!/bin/sh' >check.sh");
    sandbox
        .step("next", &weakens)
        .exits(3)
        .says("made of check.sh (changed);");
    sandbox.git(&["config", "--add", "ralph.gateScripts", ":(bad)"]);
    sandbox
        .step("retry", &weakens)
        .exits(1)
        .says("git cannot read ralph.gateScripts as pathspecs:");
    sandbox.git(&["config", "--add", "ralph.gateScripts", "allow"]);
    sandbox
        .step("retry", &weakens)
        .exits(0)
        .says("these tests changed, which is allowed: app.sh (changed), check.sh (changed)");
    assert_eq!(rests_on(), "[\"promise\",\"gates\",\"test-changes-allowed\"]");
}

#[test]
fn agent_that_asks_for_a_held_file_uses_up_no_retries() {
    let list = |text: &str| format!("## 1. Story\n- [ ] 1.1 Do it{text}\n");
    let changes = "echo 5 >tests/expected;";
    let fails = "echo '<promise>FAILED: ./tests/expected has to change, it says 4.</promise>'";
    for (does, text, exit) in [
        (changes, "", 7),
        ("", ", in tests/expected too", 7),
        ("", "", 4),
        ("echo x >new;", ", not in tests/expected.old", 4),
    ] {
        let sandbox = project(1);
        sandbox.write(TASKS, &list(text));
        sandbox.git(&["commit", "-qam", "list"]);
        sandbox.start();
        let agent = sandbox.agent(&format!("{does} {fails}"));
        let run = ["run", CHANGE, "--max-retries=2", "--", &agent];
        let output = sandbox.ralph(&run).exits(exit);
        assert_eq!(
            sandbox.attempts().len(),
            if exit == 7 { 1 } else { 3 },
            "{does} {text}"
        );
        if exit == 7 {
            output
                .says("story 1 failed, and its agent asks to change files that must stay as they were: tests/expected")
                .says("git ralph retry add-login --allow-test-changes; if not: git ralph retry add-login, or git ralph run");
            sandbox.is_at_checkpoint();
            let status = sandbox.ralph(&["status", CHANGE]).exits(0).stdout;
            assert!(
                status.contains("last run: story 1 failed, and its agent asks"),
                "{status}"
            );
            assert!(
                status.contains("git ralph retry add-login --allow-test-changes"),
                "{status}"
            );
            let honest = sandbox.completing("echo 5 >tests/expected; echo 'echo 5' >app.sh");
            let retry = ["retry", CHANGE, "--allow-test-changes", "--", &honest];
            sandbox.ralph(&retry).exits(0);
        }
    }
    // Where a story that fails is left to itself, it is.
    let sandbox = project(2);
    sandbox.start();
    let agent = sandbox.agent(&format!(
        "[ $RALPH_STORY = 2 ] || {{ {changes} {fails}; exit; }}; echo x >new; complete"
    ));
    let run = [
        "run",
        CHANGE,
        "--max-retries=1",
        "--on-failure=skip",
        "--keep",
        "--",
        &agent,
    ];
    sandbox
        .ralph(&run)
        .exits(4)
        .says("story 1 is not retried: it failed, and its agent asks to change files that must stay as they were: tests/expected")
        .says("if that is right: git ralph skip add-login 1 --undo, then: git ralph run add-login --allow-test-changes");
    assert_eq!(sandbox.attempts().len(), 2);
    // Its retries are not used up.
    let sandbox = project(1);
    sandbox.start();
    let run = [
        "run",
        CHANGE,
        "--max-retries=3",
        "--on-failure=later",
        "--",
        &agent,
    ];
    let next = "(use \"git ralph run add-login --allow-test-changes\" to let the story change tests, if that is right)";
    sandbox
        .ralph(&run)
        .exits(4)
        .says("let it: --allow-test-changes")
        .says(next);
    assert_eq!(sandbox.attempts().len(), 1);
    let agent = sandbox.completing("echo 5 >tests/expected; echo 'echo 5' >app.sh");
    let allowed = ["run", CHANGE, "--allow-test-changes", "--", &agent];
    sandbox.ralph(&allowed).exits(0);
}

#[test]
fn leave_gives_a_story_without_retries_left_one_more() {
    for step in ["run", "retry"] {
        let sandbox = project(1);
        sandbox.start();
        let weakens = sandbox.completing("echo 5 >tests/expected; echo 'echo 5' >app.sh");
        let run = ["run", CHANGE, "--max-retries=0", "--", &weakens];
        let leave = |step| {
            format!(
                "(use \"git ralph {step} add-login --allow-test-changes\" to let the story change tests, if that is right)"
            )
        };
        sandbox.ralph(&run).exits(4).says(&leave("run"));
        let status = sandbox.ralph(&["status"]).exits(0).stdout;
        assert!(status.contains(&leave("retry")), "{status}");
        let allowed = [
            step,
            CHANGE,
            "--max-retries=0",
            "--allow-test-changes",
            "--",
            &weakens,
        ];
        sandbox.direct(&allowed).run().exits(0);
        assert_eq!(sandbox.attempts().len(), 2);
    }
}

#[test]
fn story_that_needs_what_an_earlier_one_made_of_a_test_is_retried_once() {
    let only =
        "and its gates pass only with what earlier attempts have made of files: tests/value.sh (changed)";
    for (order, exit, says) in [
        ("stop", 7, format!("error: story 2 failed, {only}")),
        ("skip", 4, format!("story 2 is not retried: it failed, {only}")),
    ] {
        let sandbox = project(2);
        sandbox.start();
        let agent = sandbox.completing(
            "if test $RALPH_STORY = 1; then echo true >tests/value.sh; else echo 'echo 5' >app.sh; fi; echo x >x$RALPH_STORY",
        );
        let run = [
            "run",
            CHANGE,
            "--max-retries=5",
            "--on-failure",
            order,
            "--",
            &agent,
        ];
        sandbox
            .ralph(&run)
            .exits(exit)
            .says(&says)
            .says("--allow-test-changes");
        assert_eq!(sandbox.attempts().len(), 3);
        if order == "stop" {
            let retry = ["retry", CHANGE, "--allow-test-changes", "--", &agent];
            sandbox.ralph(&retry).exits(0);
        }
    }
}

#[test]
fn first_tests_of_a_project_are_held_from_their_checkpoint_on() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.tests", "tests");
    let gate = "ls tests/*.sh >/dev/null || exit 5; for test in tests/*.sh; do sh $test || exit 1; done";
    sandbox.configure("ralph.verify", gate);
    let agent = sandbox.completing(
        "mkdir -p tests; echo x >$RALPH_STORY; echo \"test -s $RALPH_STORY\" >tests/$RALPH_STORY.sh",
    );
    let run = [
        "run",
        CHANGE,
        "--allow-red",
        "--max-retries=0",
        "--max-attempts=2",
        "--",
        &agent,
    ];
    sandbox.ralph(&run).exits(6);
    let rests_on = |at: usize| sandbox.attempts()[at]["rests_on"].clone();
    assert_eq!(rests_on(0), serde_json::json!(["promise", "gates"]));
    assert_eq!(rests_on(1), serde_json::json!(["promise", "gates", "tests"]));
    // From now on they cannot be weakened.
    let weakens = sandbox.completing("echo true >tests/1.sh; rm 1");
    sandbox
        .step("next", &weakens)
        .exits(4)
        .says("the gates pass only with what the attempt made of tests/1.sh (changed)");
}
