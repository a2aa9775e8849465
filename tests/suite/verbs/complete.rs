//! `git ralph complete`: a person or another driver says that the story is done.

use crate::support::{CHANGE, Sandbox, TASKS};

#[test]
fn complete_drives_a_loop_without_an_agent() {
    let sandbox = Sandbox::dirty();
    sandbox.start();
    for story in ["1. Database", "2. Server", "3. Page"] {
        let prompt = sandbox.ralph(&["prompt"]).exits(0).stdout;
        assert!(prompt.contains(&format!("# Story {story}")), "{prompt}");
        sandbox.write(&format!("by-hand/{}.txt", &story[..1]), story);
        sandbox.ralph(&["complete"]).exits(0).answers_nothing();
        assert_eq!(
            sandbox.subjects("HEAD")[0],
            format!("checkpoint: {}", &story[..1])
        );
        sandbox.is_at_checkpoint();
    }
    sandbox.ralph(&["complete"]).exits(5);
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    assert_eq!(sandbox.git(&["diff", "--cached", "--name-only"]), "");
    assert_eq!(sandbox.read("by-hand/2.txt"), "2. Server");
    assert_eq!(sandbox.read(TASKS).matches("[x]").count(), 4);
}

#[test]
fn gates_judge_work_of_the_user_too() {
    let sandbox = Sandbox::new();
    sandbox
        .ralph(&["start", CHANGE, "--verify", "test -f wanted", "--allow-red"])
        .exits(0);
    sandbox.write("work.txt", "x\n");
    sandbox.git(&["add", "work.txt"]);
    let print = sandbox.print();
    let refused = sandbox
        .ralph(&["complete"])
        .exits(1)
        .says("story 1 is not complete: the gate `test -f wanted` failed (exit code 1)\n")
        .says("your changes are kept");
    assert!(!refused.stderr.contains("attempt failed"), "{}", refused.stderr);
    // It stays, and it does not count.
    assert_eq!(sandbox.print(), print);
    assert_eq!(sandbox.status()["phase"], "ready");
    sandbox.write("wanted", "");
    sandbox.ralph(&["complete", CHANGE]).exits(0);
}

#[test]
fn failed_gate_leaves_an_ignored_file_that_the_user_moved() {
    let sandbox = Sandbox::new();
    sandbox.write(".git/info/exclude", "*.secret\n");
    sandbox.write("a.secret", "key\n");
    sandbox
        .ralph(&["start", CHANGE, "--verify", "false", "--allow-red"])
        .exits(0);
    std::fs::rename(sandbox.top.join("a.secret"), sandbox.top.join("b.txt")).unwrap();
    let files = sandbox.files();
    sandbox.ralph(&["complete"]).exits(1);
    assert_eq!(sandbox.files(), files);
}

#[test]
fn complete_accepts_a_story_without_retries_left() {
    let sandbox = Sandbox::new();
    sandbox.ralph(&["start", CHANGE, "--max-retries", "0"]).exits(0);
    let agent = sandbox.failing("true");
    sandbox.step("next", &agent).exits(4);
    sandbox.write("work.txt", "x\n");
    sandbox.ralph(&["complete"]).exits(0);
    assert_eq!(sandbox.status()["current"]["id"], "2");
}

#[test]
fn a_list_that_was_ticked_stays_when_a_gate_fails() {
    let sandbox = Sandbox::new();
    sandbox
        .ralph(&["start", CHANGE, "--verify", "test -f wanted", "--allow-red"])
        .exits(0);
    let list = sandbox.read(TASKS);
    let ticked = list.replacen("[ ] 1.1", "[x] 1.1", 1);
    sandbox.write(TASKS, &ticked);
    sandbox.ralph(&["complete"]).exits(1);
    assert_eq!(sandbox.read(TASKS), ticked);
}

#[test]
fn complete_warns_if_nothing_has_changed() {
    let sandbox = Sandbox::started();
    sandbox.ralph(&["fail", "wrong way"]).exits(3);
    let why = "is complete because you say so, but git sees no change outside the story list";
    sandbox.ralph(&["complete"]).exits(0).says(&format!(
        "warning: story 1 {why}, and its latest attempt failed: wrong way\n"
    ));
    sandbox
        .ralph(&["complete"])
        .exits(0)
        .says(&format!("warning: story 2 {why}\n"));
    sandbox.ralph(&["fail", "wrong way"]).exits(3);
    sandbox.write("work.txt", "x\n");
    let complete = sandbox.ralph(&["complete"]).exits(0);
    assert!(!complete.stderr.contains("warning"), "{}", complete.stderr);
}

#[test]
fn refused_complete_names_what_gates_changed_of_the_work() {
    let gate = "test ! -f work.txt || { echo junk >work.txt; false; }";
    let sandbox = Sandbox::new();
    sandbox.ralph(&["start", CHANGE, "--verify", gate]).exits(0);
    sandbox.write("work.txt", "mine\n");
    let refused = sandbox.ralph(&["complete"]).exits(1);
    assert!(!refused.stderr.contains("checkpoint:"), "{}", refused.stderr);
    let told = "files changed while gates ran, which stays: work.txt; to see it: git diff ";
    let line = refused
        .stderr
        .lines()
        .find(|line| line.starts_with(told))
        .unwrap();
    let (_, back) = line.split_once("; to have a file as it was: git ").unwrap();
    sandbox.git(&back.split(' ').collect::<Vec<_>>());
    assert_eq!(sandbox.read("work.txt"), "mine\n");
}

#[test]
fn fail_after_a_refused_complete_tells_the_next_attempt_why() {
    let sandbox = Sandbox::new();
    let start = ["start", CHANGE, "--verify", "echo no form; test ! -f bad"];
    sandbox.ralph(&start).exits(0);
    let prompt = || sandbox.ralph(&["prompt"]).exits(0).stdout;
    sandbox.write("bad", "x\n");
    sandbox.ralph(&["complete"]).exits(1);
    assert!(!prompt().contains("no form\n"), "nothing failed yet");
    sandbox.ralph(&["fail"]).exits(3);
    assert!(prompt().contains("\n> no form\n"), "{}", prompt());
    // It says nothing of a later attempt, nor in place of the user's own reason.
    sandbox.ralph(&["fail"]).exits(3);
    assert!(!prompt().contains("\n> no form\n"), "{}", prompt());
    sandbox.write("bad", "x\n");
    sandbox.ralph(&["complete"]).exits(1);
    sandbox.ralph(&["fail", "too slow"]).exits(3);
    assert!(prompt().contains("> too slow\n") && !prompt().contains("\n> no form\n"));
}

#[test]
fn complete_that_was_killed_in_a_gate_says_that_files_differ() {
    let gate = "test ! -f work.txt || { echo junk >work.txt; kill -9 $(ps -o ppid= -p $PPID); }";
    let sandbox = Sandbox::new();
    sandbox.ralph(&["start", CHANGE, "--verify", gate]).exits(0);
    sandbox.write("work.txt", "mine\n");
    assert_ne!(sandbox.direct(&["complete"]).run().code, 0);
    let told =
        "files differ from what was there when gates or a reviewer began: work.txt; to compare: git diff ";
    let status = sandbox.ralph(&["status"]).exits(0).says(told);
    let untrue = "the work tree is as it was";
    assert!(!status.stderr.contains(untrue), "{}", status.stderr);
}

#[test]
fn complete_is_offered_where_git_does_not_see_the_work() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.emptyStory", "confirm");
    let agent = sandbox.completing("");
    let run = ["run", CHANGE, "--max-retries=0", "--", &agent];
    let offered =
        "(use \"git ralph complete add-login\" to accept the story without a change, if it is done)";
    sandbox.ralph(&run).exits(4).says(offered);
    sandbox.ralph(&["complete"]).exits(0);
    assert_eq!(sandbox.attempts().len(), 2);
}
