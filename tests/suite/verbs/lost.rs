//! A loop whose state or list is lost: what commands say, and what to type.

use std::fs;

use crate::support::{CHANGE, Sandbox, TASKS};

#[test]
fn loop_whose_state_is_lost_is_named_wherever_head_is() {
    // No list is in a known place.
    let with_list = || {
        let sandbox = Sandbox::new();
        sandbox.git(&["mv", TASKS, "TODO.md"]);
        sandbox.git(&["commit", "-qm", "moved"]);
        sandbox
    };
    let says = |sandbox: &Sandbox, words: &[&str]| {
        sandbox.git(&["pack-refs", "--all"]);
        for step in ["status", "next", "run", "finish"] {
            let output = sandbox.ralph(&[step]).exits(i32::from(step != "status"));
            for word in words {
                assert!(output.stderr.contains(word), "{step}: {}", output.stderr);
            }
        }
        sandbox.ralph(&["next", CHANGE]).exits(1).says(words[0]);
    };
    let sandbox = with_list();
    let begin = ["start", CHANGE, "--stories", "TODO.md"];
    sandbox.ralph(&begin).exits(0);
    fs::remove_file(sandbox.top.join(".git/ralph/add-login.toml")).unwrap();
    let resume = "git ralph start add-login --resume (add --stories <list>";
    let lost = "the state of loop 'add-login' is gone from .git/ralph, and its branch ralph/add-login is still there";
    says(&sandbox, &[lost, resume]);
    sandbox
        .ralph(&["run", CHANGE, "--", "true"])
        .exits(1)
        .says("git ralph start add-login --resume (with --stories <list>");
    sandbox.git(&["stash", "-qu"]);
    sandbox.git(&["checkout", "-q", "main"]);
    says(&sandbox, &[lost, "git checkout ralph/add-login, then: ", resume]);
    let sandbox = with_list();
    sandbox
        .ralph(&[&begin[..], &["--strategy", "stash"]].concat())
        .exits(0);
    fs::remove_file(sandbox.top.join(".git/ralph/add-login.toml")).unwrap();
    says(
        &sandbox,
        &["its refs are still there", "go on from there: git ralph start"],
    );
}

#[test]
fn list_that_is_gone_is_named_with_the_command_that_brings_it_back() {
    for strategy in ["branch", "stash"] {
        let sandbox = Sandbox::new();
        sandbox.ralph(&["start", CHANGE, "--strategy", strategy]).exits(0);
        fs::remove_file(sandbox.top.join(TASKS)).unwrap();
        let agent = sandbox.completing("echo x >x");
        for step in ["next", "run"] {
            sandbox.step(step, &agent).exits(1).says("of this loop is gone");
        }
        let hint = sandbox.ralph(&["stories"]).exits(1).stderr;
        let (_, command) = hint.split_once("at the last checkpoint: git ").unwrap();
        let command = command.trim().replace('\'', "");
        sandbox.git(&command.split(' ').collect::<Vec<_>>());
        sandbox.step("next", &agent).exits(0);
    }
    // No checkpoint has a list that git ignores.
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "list\n");
    sandbox.write("list", "- [ ] a\n");
    sandbox.ralph(&["start", CHANGE, "--stories", "list"]).exits(0);
    fs::remove_file(sandbox.top.join("list")).unwrap();
    let told = sandbox.ralph(&["next"]).exits(1).says("no checkpoint has it");
    assert!(!told.stderr.contains("git restore"), "{}", told.stderr);
}
