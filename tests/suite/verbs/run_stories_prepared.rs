//! `git ralph run <change> --jobs` with a preparation of work trees: gates find what the work of other work trees needs.

use super::run_stories::{checkpoints, until, verdicts, words};
use crate::support::Sandbox;

/// Returns a sandbox in which a gate requires that what is installed fits the lock file. Each preparation of the loop's own work tree
/// is noted, with the file that `also` writes.
fn sandbox(also: &str) -> Sandbox {
    let sandbox = Sandbox::with_free_stories(3);
    let list = "- [ ] 1. A\n- [ ] 2. B (after 1)\n- [ ] 3. C (after 1)\n";
    sandbox.write("TODO.md", list);
    sandbox.write("package-lock.json", "start\n");
    sandbox.write(".gitignore", "installed\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "lock"]);
    let notes = sandbox.notes.display();
    let setup = format!(
        "cp package-lock.json installed; if test \"$RALPH_WORKTREE\" = \"$RALPH_MAIN_WORKTREE\"; \
         then cat installed | tr '\\n' ' ' >>'{notes}/prepared'; echo >>'{notes}/prepared'; {also} fi"
    );
    sandbox.configure("ralph.worktreeSetup", &setup);
    sandbox.configure(
        "ralph.verify",
        "cmp package-lock.json installed && test ! -e refused",
    );
    sandbox.write("installed", "start\n");
    sandbox
}

/// An agent that adds a dependency with story 2, while story 3, which began with it, waits until that is judged.
fn agent(sandbox: &Sandbox, second: &str) -> String {
    sandbox.completing(&format!(
        "case $RALPH_STORY in 2) echo two >>package-lock.json; {second};; 3) {};; esac; echo x >work$RALPH_STORY",
        until("prepared"),
    ))
}

fn prepared(sandbox: &Sandbox) -> Vec<String> {
    let prepared = std::fs::read_to_string(sandbox.notes.join("prepared")).unwrap_or_default();
    prepared.lines().map(str::to_owned).collect()
}

#[test]
fn loop_s_work_tree_is_prepared_again_where_the_lock_file_changes() {
    let sandbox = sandbox("");
    let agent = agent(&sandbox, "true");
    sandbox
        .ralph(&words("--jobs=3", &["--max-retries=0"], &agent))
        .exits(0)
        .says("preparing the work tree again: cp package-lock.json installed");
    assert_eq!(checkpoints(&sandbox).len(), 3);
    assert_eq!(prepared(&sandbox), ["start two "]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn loop_s_work_tree_is_prepared_again_after_work_that_is_refused() {
    let sandbox = sandbox("");
    let agent = agent(&sandbox, "touch refused");
    sandbox
        .ralph(&words("--jobs=3", &["--max-retries=0"], &agent))
        .exits(4);
    assert_eq!(verdicts(&sandbox), ["1 complete", "2 gate_failed", "3 complete"]);
    assert_eq!(prepared(&sandbox), ["start two ", "start "]);
}

#[test]
fn preparation_that_fails_judges_nothing() {
    let sandbox = sandbox("exit 3;");
    let agent = agent(&sandbox, "true");
    sandbox
        .ralph(&words("--jobs=3", &["--max-retries=0"], &agent))
        .exits(0)
        .says("failed (exit code 3); the gates run without it");
    // Nothing is known of what a failed one has made.
    assert_eq!(prepared(&sandbox), ["start two ", "start two "]);
}

#[test]
fn gate_that_fails_after_a_failed_preparation_names_both() {
    let sandbox = sandbox("exit 3;");
    sandbox.configure("ralph.verify", "test ! -e work2");
    let agent = agent(&sandbox, "true");
    sandbox
        .ralph(&words("--jobs=3", &["--max-retries=0"], &agent))
        .exits(4)
        .says("the gate `test ! -e work2` failed (exit code 1); before it, the preparation `cp package-lock.json");
}

#[test]
fn only_inputs_that_are_named_count() {
    let sandbox = sandbox("");
    sandbox.configure("ralph.setupInputs", "work2");
    sandbox.configure("ralph.verify", "true");
    let agent = agent(&sandbox, "true");
    sandbox
        .ralph(&words("--jobs=3", &["--max-retries=0"], &agent))
        .exits(0);
    assert_eq!(prepared(&sandbox), ["start two "]);
    sandbox.configure("ralph.setupInputs", "work0");
    sandbox.git(&["checkout", "-q", "main"]);
    let agent = sandbox.completing("echo four >>package-lock.json");
    sandbox
        .ralph(&words("--jobs=3", &["--max-retries=0"], &agent))
        .exits(0);
    assert_eq!(prepared(&sandbox), ["start two "]);
}

#[test]
fn preparation_takes_nothing_of_the_work_away_from_the_gates() {
    let sandbox = sandbox("");
    let setup = "test \"$RALPH_WORKTREE\" != \"$RALPH_MAIN_WORKTREE\" || \
                 { git reset -q --hard; git clean -fdq; git commit -q --allow-empty -m mine; touch \"$NOTES/prepared\"; }";
    let notes = sandbox.notes.to_str().unwrap();
    sandbox.configure("ralph.worktreeSetup", &setup.replace("$NOTES", notes));
    sandbox.configure(
        "ralph.verify",
        "! grep -q two package-lock.json && test ! -e work2",
    );
    let agent = agent(&sandbox, "true");
    sandbox
        .ralph(&words("--jobs=3", &["--max-retries=0"], &agent))
        .exits(4)
        .says("the preparation removed, reverted, replaced or hid files, which are put back: ");
    assert!(verdicts(&sandbox).contains(&"2 gate_failed".to_owned()));
    let subjects = checkpoints(&sandbox);
    assert!(
        subjects.iter().all(|subject| subject.starts_with("checkpoint: ")),
        "{subjects:?}"
    );
}

#[test]
fn attempt_that_runs_alone_afterwards_is_judged_in_a_prepared_work_tree() {
    let sandbox = sandbox("");
    let refused = agent(&sandbox, "touch refused");
    sandbox
        .ralph(&words("--jobs=3", &["--max-retries=0"], &refused))
        .exits(4);
    sandbox.git(&["config", "--replace-all", "ralph.jobs", "1"]);
    let agent = sandbox.completing("echo two >>package-lock.json; echo x >work2");
    sandbox
        .ralph(&["retry", "todo", "--max-retries=1", "--", &agent])
        .exits(0);
    assert_eq!(prepared(&sandbox), ["start two ", "start ", "start two "]);
}
