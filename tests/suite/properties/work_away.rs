//! The strategy stash, while a person has the loop's uncommitted work out of the work tree.

use crate::support::{Sandbox, TASKS};

const AWAY: &str = "the loop's work is not in the work tree";

/// A loop with one complete story of two, whose work is `script`.
fn with_work(script: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.strategy", "stash");
    sandbox.start();
    sandbox
        .step("next", &sandbox.agent(&format!("{script}; complete")))
        .exits(0);
    sandbox
}

#[test]
fn stashed_work_stops_the_next_attempt_and_the_end() {
    for script in [
        "echo 1 >one",
        "echo 1 >one; echo 1 >>README.md",
        "echo 1 >>README.md",
    ] {
        for all in ["-qu", "-q"] {
            let sandbox = with_work(script);
            let files = sandbox.files();
            sandbox.git(&["stash", "push", all]);
            let away = sandbox.files();
            assert_ne!(away, files);
            let agent = sandbox.agent("echo 2 >two; complete");
            for refused in [
                sandbox.step("next", &agent),
                sandbox.ralph(&["complete"]),
                sandbox.ralph(&["finish", "--cleanup"]),
                sandbox.ralph(&["finish", "--keep"]),
            ] {
                refused.exits(7).says(AWAY).says("git stash pop");
            }
            let status = sandbox.ralph(&["status"]).exits(0).stdout;
            assert!(status.contains(AWAY), "{status}");
            assert!(status.contains("use \"git stash pop\""), "{status}");
            assert!(!status.contains("finish"), "{status}");
            assert_eq!(sandbox.files(), away);
            sandbox.git(&["stash", "apply", "-q"]);
            // The entry is still there.
            let status = sandbox.ralph(&["status"]).exits(0).stdout;
            assert!(!status.contains(AWAY), "{status}");
            sandbox.step("next", &agent).exits(0).says("complete");
            assert_eq!(sandbox.git(&["show", "refs/ralph/add-login/tip:two"]), "2");
            sandbox.ralph(&["finish", "--cleanup"]).exits(0);
        }
    }
}

#[test]
fn discarded_work_comes_back_by_revert() {
    let sandbox = with_work("echo 1 >one; echo 1 >>README.md");
    let files = sandbox.files();
    sandbox.git(&["reset", "-q", "--hard"]);
    sandbox.git(&["clean", "-fdq"]);
    sandbox
        .step("next", &sandbox.agent("complete"))
        .exits(7)
        .says(AWAY);
    sandbox.ralph(&["revert"]).exits(0);
    assert_eq!(sandbox.files(), files);
}

#[test]
fn end_on_another_branch_is_refused() {
    let sandbox = with_work("echo 1 >one");
    sandbox.git(&["stash", "push", "-qu"]);
    sandbox.git(&["switch", "-qc", "other"]);
    for how in ["--cleanup", "--keep"] {
        sandbox
            .ralph(&["finish", how])
            .exits(7)
            .says("HEAD is on other, not on main");
    }
}

#[test]
fn commits_and_edits_of_a_person_are_no_absence() {
    let sandbox = with_work("echo 1 >one; echo 1 >>README.md");
    // What the loop made is committed: HEAD has it now.
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "mine"]);
    sandbox
        .step("next", &sandbox.agent("echo 2 >two; complete"))
        .exits(0);
    sandbox.git(&["rm", "-q", "--cached", "one"]);
    sandbox.git(&["checkout", "-q", "HEAD~", "--", "README.md"]);
    sandbox
        .step("next", &sandbox.agent("echo 3 >three; complete"))
        .exits(0);
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
}

#[test]
fn story_whose_mark_is_taken_out_is_done_again() {
    let sandbox = with_work("echo 1 >one");
    sandbox.git(&["checkout", "-q", "--", TASKS]);
    sandbox
        .step("next", &sandbox.agent("echo 1 >>one; complete"))
        .exits(0);
    assert_eq!(sandbox.read("one"), "1\n1\n");
    sandbox.write("README.md", "# mine\n");
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
}

#[test]
fn what_the_user_had_before_the_loop_may_be_stashed() {
    let sandbox = Sandbox::dirty();
    sandbox.configure("ralph.strategy", "stash");
    sandbox.start();
    sandbox.git(&["stash", "push", "-q"]);
    sandbox
        .step("next", &sandbox.agent("echo 1 >one; complete"))
        .exits(0);
}
