//! Gates that take away what they are to judge: nothing says that they judged it, and the next one judges it.

use serde_json::json;

use super::held_tests::project;
use crate::support::{CHANGE, Sandbox};

/// Ways of a gate to judge the last checkpoint in the place of the work.
const RESETS: &[&str] = &[
    "git checkout -q -f .; git clean -fdq",
    "git stash -qu; git stash drop -q",
    "git reset -q --hard; git clean -fdxq",
    "git restore --source HEAD README.md; rm -f new",
];

const ON_OTHERS: &str = "gates-on-other-files";

/// A loop with these gates, which act once there is work.
fn gated(gates: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    for gate in gates {
        let gate = format!("test -z \"$RALPH_STORY\" || {{ {gate}; }}");
        sandbox.git(&["config", "--add", "ralph.verify", &gate]);
    }
    sandbox.start();
    sandbox
}

fn rests_on(sandbox: &Sandbox) -> serde_json::Value {
    sandbox.attempts().pop().unwrap()["rests_on"].clone()
}

#[test]
fn a_later_gate_judges_what_an_earlier_one_took_away() {
    for reset in RESETS {
        let sandbox = gated(&[reset, "! grep -q bad README.md", "test -e new"]);
        let bad = sandbox.completing("echo bad >>README.md; echo x >new");
        sandbox
            .step("next", &bad)
            .exits(3)
            .says("! grep -q bad README.md; }` failed");
        let good = sandbox.completing("echo good >>README.md; echo x >new");
        sandbox
            .step("retry", &good)
            .exits(0)
            .says("took files of the work away, and passed on others: README.md, new");
        assert_eq!(rests_on(&sandbox), json!(["promise", ON_OTHERS]), "{reset}");
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "{reset}");
    }
}

#[test]
fn nothing_says_that_gates_judged_what_one_of_them_took_away() {
    for reset in RESETS {
        let sandbox = gated(&[&format!("{reset}; true")]);
        let agent = sandbox.completing("echo bad >>README.md; echo x >new");
        sandbox
            .step("next", &agent)
            .exits(0)
            .says("took files of the work away, and passed on others: README.md, new")
            .says("git config --edit");
        assert_eq!(sandbox.git(&["show", "HEAD:new"]), "x");
        assert_eq!(rests_on(&sandbox), json!(["promise", ON_OTHERS]), "{reset}");
        let message = sandbox.git(&["log", "-1", "--format=%B"]);
        assert!(
            message.contains("Ralph-Rests-On: promise, gates-on-other-files\n"),
            "{message}"
        );
        assert!(message.contains("s, on other files)"), "{message}");
        assert_eq!(sandbox.status()["by_promise_alone"], 1);
    }
    let sandbox = gated(&[RESETS[0]]);
    sandbox.step("next", &sandbox.completing("echo x >new")).exits(0);
    let log = sandbox.ralph(&["log"]).exits(0).stdout;
    assert!(
        log.contains("the gates did not judge it: one took files"),
        "{log}"
    );
    assert!(log.contains("1 complete (by promise alone)"), "{log}");
    let report = sandbox.ralph(&["report", "--markdown"]).exits(0).stdout;
    let words = "- rests on: the agent's word alone (the agent's promise, no gates, as one took files of the work away)";
    assert!(report.contains(words), "{report}");
    let report = sandbox.ralph(&["report", "-o", "-"]).exits(0);
    // The gate before any work has judged what it was to judge.
    assert_eq!(report.stdout.matches("mark complete\">passed").count(), 1);
    // A person's word stands beside it.
    sandbox.write("new2", "x\n");
    sandbox.ralph(&["complete"]).exits(0);
    assert_eq!(rests_on(&sandbox), json!(["person", ON_OTHERS]));
}

#[test]
fn a_removal_that_a_gate_undid_is_made_again() {
    let sandbox = gated(&["git checkout -q -f .", "! test -e README.md"]);
    sandbox
        .step("next", &sandbox.completing("rm README.md"))
        .exits(0)
        .says("brought back files that the work had removed, which are removed again: README.md");
    assert!(!sandbox.top.join("README.md").exists());
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    assert_eq!(rests_on(&sandbox), json!(["promise", ON_OTHERS]));
    // So it is if files and directories change places.
    let sandbox = gated(&["git stash -qu; git stash drop -q", "test -f README.md/x"]);
    let agent = sandbox.completing("rm README.md; mkdir README.md; echo x >README.md/x");
    sandbox.step("next", &agent).exits(0);
    assert_eq!(sandbox.git(&["show", "HEAD:README.md/x"]), "x");
    assert_eq!(rests_on(&sandbox), json!(["promise", ON_OTHERS]));
}

#[test]
fn gates_that_write_other_files_or_other_content_have_judged_the_work() {
    for gate in [
        "echo formatted >>new",
        "rm README.md",
        "echo built >built; rm -f untouched",
        "git stash -qu; test ! -e new || exit 1; git stash pop -q",
        "true",
    ] {
        let sandbox = gated(&[gate, "test -e new"]);
        sandbox.step("next", &sandbox.completing("echo x >new")).exits(0);
        assert_eq!(rests_on(&sandbox), json!(["promise", "gates"]), "{gate}");
        assert!(sandbox.top.join("README.md").exists());
    }
}

#[test]
fn a_gate_that_runs_again_judges_the_work() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.verifyRetries", "3");
    let gate = "test -z \"$RALPH_STORY\" || ! grep -q bad README.md || { git checkout -q -f .; exit 1; }";
    sandbox.configure("ralph.verify", gate);
    sandbox.start();
    let agent = sandbox.completing("echo bad >>README.md");
    sandbox.step("next", &agent).exits(3);
    assert_eq!(sandbox.verdict(), "gate_failed");
}

#[test]
fn gates_with_the_tests_as_they_were_judge_the_work_too() {
    let changes = "echo '# x' >>tests/value.sh; echo 'echo 4 # more' >app.sh";
    for (held_too, expected) in [
        (false, json!(["promise", "gates", "tests"])),
        (true, json!(["promise", ON_OTHERS])),
    ] {
        let sandbox = project(2);
        // Only the second run of the gates meets the tests as they were.
        let is_held = super::held_tests::IS_HELD;
        let reset = format!("! {held_too} || ! {is_held} || git checkout -q -f app.sh");
        sandbox.configure("ralph.verify", &reset);
        sandbox.git(&["config", "--add", "ralph.verify", "./check.sh"]);
        sandbox.start();
        sandbox.step("next", &sandbox.completing(changes)).exits(0);
        assert_eq!(rests_on(&sandbox), expected);
        assert_eq!(sandbox.read("app.sh"), "echo 4 # more\n");
        assert!(sandbox.read("tests/value.sh").ends_with("# x\n"));
        if held_too {
            // The gate after it judges the work with the tests of the user.
            let agent = sandbox.completing("echo 'echo 5' >app.sh; echo 'exit 0' >tests/value.sh");
            sandbox
                .step("next", &agent)
                .exits(3)
                .says("the gates pass only with what the attempt made of tests/value.sh");
        }
    }
}

#[test]
fn a_reviewer_is_not_told_that_such_gates_have_judged_the_work() {
    for (gate, expected) in [
        ("true", json!(["promise", "gates", "review"])),
        (RESETS[0], json!(["promise", ON_OTHERS, "review"])),
    ] {
        let sandbox = Sandbox::new();
        sandbox.configure("ralph.verify", gate);
        let reviewer = sandbox.agent("cat >\"$notes/review\"; accept");
        sandbox.configure("ralph.review", &reviewer);
        sandbox.start();
        sandbox.step("next", &sandbox.completing("echo x >new")).exits(0);
        assert_eq!(rests_on(&sandbox), expected);
        let prompt = sandbox.noted("review");
        let says = prompt.contains("These commands have succeeded");
        assert_eq!(says, gate == "true", "{prompt}");
        assert_eq!(sandbox.status()["by_promise_alone"], 0);
    }
}

#[test]
fn such_gates_complete_no_story_without_a_promise() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.noSignal", "gates");
    sandbox.configure("ralph.verify", RESETS[0]);
    sandbox.start();
    sandbox
        .step("next", &sandbox.agent("echo x >new; echo I have made it."))
        .exits(3)
        .says("the agent's last message has no promise, and nothing else speaks for the work");
    sandbox.is_at_checkpoint();
    sandbox.configure("ralph.review", &sandbox.agent("cat >\"$notes/review\"; accept"));
    sandbox
        .ralph(&[
            "retry",
            CHANGE,
            "--",
            &sandbox.agent("echo x >new; echo I have made it."),
        ])
        .exits(0);
    assert_eq!(rests_on(&sandbox), json!([ON_OTHERS, "review"]));
}
