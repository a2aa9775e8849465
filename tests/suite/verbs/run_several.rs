//! `git ralph run` with several changes: one after another.

use crate::support::{Output, Sandbox};

/// A repository with the lists of two changes.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    for change in ["one", "two"] {
        sandbox.write(
            &format!("openspec/changes/{change}/tasks.md"),
            "## 1. A\n- [ ] a\n\n## 2. B\n- [ ] b\n",
        );
    }
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "lists"]);
    sandbox
}

fn run(sandbox: &Sandbox, args: &[&str], agent: &str) -> Output {
    sandbox.ralph(&[&["run", "one", "two"], args, &["--", agent]].concat())
}

fn phase(sandbox: &Sandbox, change: &str) -> String {
    let status = sandbox.ralph(&["status", change, "--json"]).exits(0).json();
    status["phase"].as_str().unwrap().to_owned()
}

/// An agent that notes what it works on.
const WORK: &str = "echo \"$RALPH_CHANGE $RALPH_STORY\" >>work.txt";

#[test]
fn each_change_is_finished_before_the_next_begins() {
    let sandbox = sandbox();
    let agent = sandbox.completing(WORK);
    let output = run(&sandbox, &["--cleanup"], &agent).exits(0);
    for said in ["\none: 2 of 2", "\ntwo: 2 of 2", "change 2 of 2: two\n"] {
        assert!(output.stderr.contains(said), "{said:?} in {}", output.stderr);
    }
    assert_eq!(sandbox.read("work.txt"), "one 1\none 2\ntwo 1\ntwo 2\n");
    assert_eq!(sandbox.git(&["branch", "--show-current"]), "main");
    assert_eq!(sandbox.git(&["branch", "--list", "ralph/*"]), "");
    for change in ["one", "two"] {
        assert_eq!(phase(&sandbox, change), "finished");
    }
}

#[test]
fn kept_branches_build_on_each_other() {
    let sandbox = sandbox();
    sandbox.configure("ralph.finish", "keep");
    let agent = sandbox.completing(WORK);
    run(&sandbox, &[], &agent).exits(0);
    assert_eq!(sandbox.git(&["branch", "--show-current"]), "ralph/two");
    let expected = ["checkpoint: 2", "checkpoint: 1", "initial state"];
    assert_eq!(sandbox.subjects("ralph/two")[..6], expected.repeat(2));
    // What is complete already does not stop the others.
    let list = sandbox.read("openspec/changes/two/tasks.md");
    sandbox.write(
        "openspec/changes/two/tasks.md",
        &format!("{list}\n## 3. C\n- [ ] c\n"),
    );
    sandbox.git(&["checkout", "-q", "-b", "other"]);
    sandbox.git(&["branch", "-q", "-D", "ralph/two"]);
    run(&sandbox, &["--cleanup"], &agent)
        .exits(0)
        .says("one: nothing left to do: 2 of 2 stories are complete");
    assert!(sandbox.read("work.txt").ends_with("two 2\ntwo 3\n"));
}

#[test]
fn run_begins_no_change_without_a_choice_or_with_a_wrong_name() {
    let sandbox = sandbox();
    let agent = sandbox.completing(WORK);
    run(&sandbox, &[], &agent)
        .exits(2)
        .says("a second loop cannot begin in the work tree of the first")
        .says("hint: git ralph run one two --cleanup");
    let wrong = ["run", "one", "twoo", "--cleanup", "--", &agent];
    sandbox.ralph(&wrong).exits(1).says("did you mean 'two'?");
    assert_eq!(sandbox.git(&["branch", "--list", "ralph/*"]), "");
}

#[test]
fn failed_change_stops_the_others_unless_allowed() {
    let fails = "echo \"$RALPH_CHANGE $RALPH_STORY\" >>work.txt; test $RALPH_CHANGE$RALPH_STORY = one1 && failed no || complete";
    for (more, work) in [
        (&[][..], ""),
        (&["--on-failure=finish"], "two 1\ntwo 2\n"),
        (&["--on-failure=skip"], "one 2\ntwo 1\ntwo 2\n"),
    ] {
        let sandbox = sandbox();
        sandbox.write("work.txt", "");
        let agent = sandbox.agent(fails);
        let args = [&["--cleanup", "--max-retries=0"], more].concat();
        let output = run(&sandbox, &args, &agent).exits(4);
        assert_eq!(sandbox.read("work.txt"), work, "{more:?}");
        if more.is_empty() {
            assert_eq!(phase(&sandbox, "one"), "exhausted");
            output.says("not begun: two");
        } else {
            assert_eq!(phase(&sandbox, "two"), "finished");
        }
    }
}

#[test]
fn same_command_continues_the_active_change() {
    let sandbox = sandbox();
    let failing = sandbox.agent(&format!(
        "{WORK}; test $RALPH_CHANGE = two && failed no || complete"
    ));
    run(&sandbox, &["--cleanup", "--max-retries=0"], &failing).exits(4);
    assert_eq!(phase(&sandbox, "two"), "exhausted");
    let agent = sandbox.completing(WORK);
    run(&sandbox, &["--cleanup", "--max-retries=1"], &agent)
        .exits(0)
        .says("change 1 of 2: two\n")
        .says("one: nothing left to do");
    assert_eq!(sandbox.read("work.txt"), "one 1\none 2\ntwo 1\ntwo 2\n");
}
