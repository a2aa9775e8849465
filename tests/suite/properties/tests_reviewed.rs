//! Changes of tests that a reviewer accepts or refuses (`ralph.heldBy=review`).

use super::held_tests::project;
use super::judged::KILL;
use super::review::{asked, review_by};
use crate::support::{CHANGE, Sandbox};

/// Weakens the test, and does work that needs that.
const WEAKENS: &str = "echo true >tests/value.sh; echo \"echo $RALPH_STORY\" >app.sh";

/// A project whose reviewer, which does as the script says, decides about tests.
fn project_reviewed_by(stories: usize, script: &str) -> Sandbox {
    let sandbox = project(stories);
    sandbox.configure("ralph.heldBy", "review");
    review_by(&sandbox, script);
    sandbox.start();
    sandbox
}

fn rests_on(sandbox: &Sandbox) -> String {
    sandbox.attempts().pop().unwrap()["rests_on"].to_string()
}

/// Whether the state says that the user approved anything.
fn is_stood_for(sandbox: &Sandbox) -> bool {
    sandbox
        .read(".git/ralph/add-login.toml")
        .contains("[[loop.stood]]")
}

#[test]
fn change_of_tests_that_a_reviewer_accepts_is_held_from_then_on() {
    let sandbox = project_reviewed_by(3, "accept");
    sandbox.step("next", &sandbox.completing(WEAKENS)).exits(0).says(
        "the gates fail with these tests as they were, and the reviewer decides: tests/value.sh (changed)",
    );
    assert_eq!(
        rests_on(&sandbox),
        r#"["promise","gates","tests-reviewed","review"]"#
    );
    let prompt = sandbox.noted("review");
    assert!(prompt.starts_with("# Changed tests\n"), "{prompt}");
    let tests = prompt.split("# Review of story").next().unwrap();
    let is_shown = |line: &str| line.starts_with("- `git diff") && line.ends_with(" -- tests/value.sh`");
    assert!(tests.lines().any(is_shown), "{prompt}");
    assert!(
        tests.contains("You decide, because the gates pass only with what the attempt made of"),
        "{prompt}"
    );
    // The next story is measured by what was accepted, and changes no test.
    let output = sandbox.step("next", &sandbox.completing("echo 'echo 6' >app.sh"));
    output.exits(0);
    assert_eq!(rests_on(&sandbox), r#"["promise","gates","tests","review"]"#);
    let prompt = sandbox.noted("review");
    assert!(prompt.starts_with("# Review of story"), "{prompt}");
    // One that makes it harder passes with what is held, too, and the prompt does not say otherwise.
    let agent = sandbox.completing("echo 'test -e app.sh' >tests/value.sh");
    sandbox.step("next", &agent).exits(0);
    assert_eq!(
        rests_on(&sandbox),
        r#"["promise","gates","tests","tests-reviewed","review"]"#
    );
    assert!(!sandbox.noted("review").contains("You decide"));
    // Without the reviewer's word, what was approved is gone with its story.
    sandbox.ralph(&["redo", "1", "--force"]).exits(0);
    assert!(!is_stood_for(&sandbox));
}

#[test]
fn reviewer_decides_each_time_about_what_an_earlier_story_changed_without_it() {
    let sandbox = project(3);
    sandbox.start();
    let weakens = sandbox.completing("echo true >tests/value.sh");
    sandbox.step("next", &weakens).exits(0);
    sandbox.configure("ralph.heldBy", "review");
    review_by(&sandbox, "accept");
    for number in 5..7 {
        sandbox
            .step(
                "next",
                &sandbox.completing(&format!("echo 'echo {number}' >app.sh")),
            )
            .exits(0)
            .says("with these tests as you last approved them, and the reviewer decides: tests/value.sh");
        assert_eq!(
            rests_on(&sandbox),
            r#"["promise","gates","tests-reviewed","review"]"#
        );
        let prompt = sandbox.noted("review");
        assert!(prompt.starts_with("# Changed tests\n"), "{prompt}");
    }
}

#[test]
fn change_of_tests_that_a_reviewer_rejects_fails_the_attempt() {
    let sandbox = project_reviewed_by(1, "echo 'The test is empty.'; reject");
    sandbox.step("next", &sandbox.completing(WEAKENS)).exits(3);
    assert_eq!(sandbox.verdict(), "review_rejected");
    sandbox.is_at_checkpoint();
    assert!(!is_stood_for(&sandbox));
    let prompt = sandbox.ralph(&["prompt"]).exits(0).stdout;
    assert!(
        prompt
            .contains("rejected the work; the gates pass only with what the attempt made of tests/value.sh"),
        "{prompt}"
    );
    assert!(prompt.contains("> The test is empty."), "{prompt}");
}

#[test]
fn reviewer_does_not_decide_unless_it_is_asked_and_sees_the_change() {
    // Without the setting, and with one that the attempt made.
    let sandbox = project_reviewed_by(2, "accept");
    sandbox.git(&["config", "--unset", "ralph.heldBy"]);
    let sets = format!("git config ralph.heldBy review; {WEAKENS}");
    for step in ["next", "retry"] {
        sandbox.step(step, &sandbox.completing(&sets)).exits(3);
    }
    sandbox
        .step(
            "retry",
            &sandbox.completing("git config ralph.heldBy review; echo x >new"),
        )
        .exits(0);
    assert_eq!(
        sandbox.ralph(&["next", "--", &sandbox.completing(WEAKENS)]).code,
        3
    );
    assert_eq!(asked(&sandbox), 1);

    let sandbox = project_reviewed_by(1, "accept");
    // A test that no checkpoint takes in.
    let hides =
        "echo tests/more >>.gitignore; echo >tests/more; echo 'echo 5' >app.sh; echo true >tests/value.sh";
    sandbox.step("next", &sandbox.completing(hides)).exits(3);
    // Work without a promise, and a person's word.
    sandbox.configure("ralph.noSignal", "gates");
    sandbox
        .step("retry", &sandbox.agent(WEAKENS))
        .exits(3)
        .says("the gates pass only with");
    sandbox.write("tests/value.sh", "true\n");
    sandbox.write("app.sh", "echo 5\n");
    sandbox.ralph(&["complete"]).exits(1);
    // Changes that are refused whatever the gates say.
    sandbox.git(&["checkout", "-q", "."]);
    sandbox.configure("ralph.testChanges", "refuse");
    sandbox.step("retry", &sandbox.completing(WEAKENS)).exits(3);
    assert_eq!(asked(&sandbox), 0);
}

#[test]
fn gates_alone_stand_for_no_test() {
    let sandbox = project(1);
    sandbox.configure("ralph.heldBy", "review");
    sandbox
        .ralph(&["start", CHANGE])
        .exits(0)
        .says("ralph.heldBy=review has no effect without ralph.review");
    sandbox.step("next", &sandbox.completing(WEAKENS)).exits(3);
    let agent = sandbox.completing("echo '# more' >>tests/value.sh");
    sandbox.step("retry", &agent).exits(0);
    assert_eq!(rests_on(&sandbox), r#"["promise","gates","tests"]"#);
    assert!(!is_stood_for(&sandbox));
}

#[test]
fn kill_between_verdict_and_checkpoint_leaves_nothing_stood_for() {
    let sandbox = project_reviewed_by(1, "accept");
    sandbox.hook("ralph-pre-checkpoint", KILL);
    let killed = sandbox.step("next", &sandbox.completing(WEAKENS));
    assert_eq!(killed.code, 137, "{}", killed.stderr);
    assert_eq!(asked(&sandbox), 1);
    assert!(!is_stood_for(&sandbox));
    sandbox.hook("ralph-pre-checkpoint", "true");
    sandbox.configure("ralph.heldBy", "person");
    sandbox.step("next", &sandbox.completing(WEAKENS)).exits(3);
    assert!(!is_stood_for(&sandbox));
    assert_eq!(asked(&sandbox), 1);
}
