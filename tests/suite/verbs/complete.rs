//! `git ralph complete`: a person or another driver says that the story is done.

use crate::support::{CHANGE, Sandbox, TASKS};

#[test]
fn a_loop_without_any_agent() {
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
fn gates_hold_for_people_too() {
    let sandbox = Sandbox::new();
    sandbox
        .ralph(&["start", CHANGE, "--verify", "test -f wanted", "--allow-red"])
        .exits(0);
    sandbox.write("work.txt", "x\n");
    sandbox.git(&["add", "work.txt"]);
    let print = sandbox.print();
    sandbox
        .ralph(&["complete"])
        .exits(1)
        .says("story 1 is not complete: the gate `test -f wanted` failed (exit code 1)\n")
        .says("your changes are kept");
    // It stays, and it does not count.
    assert_eq!(sandbox.print(), print);
    assert_eq!(sandbox.status()["phase"], "ready");
    sandbox.write("wanted", "");
    sandbox.ralph(&["complete", CHANGE]).exits(0);
}

#[test]
fn an_ignored_file_that_a_person_moved_stays_where_it_is_when_a_gate_fails() {
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
fn what_has_no_retries_left_can_be_done_by_hand() {
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
