//! Two loops in one repository, each in a work tree of its own: whatever one's attempt does past the guard to what the other
//! one has, it is put right, and it is no verdict about the other.

use std::fs;
use std::panic::catch_unwind;

use crate::support::{Sandbox, wait_for};
use crate::{nothing_of, stride};

/// What the attempt of loop `b` does while `a` is at work; `$a` is the work tree of `a`, `$git` git's directory.
pub const MISDEEDS: &[&str] = &[
    "git update-ref refs/heads/ralph/a main~1",
    "git update-ref -d refs/heads/ralph/a",
    "git symbolic-ref refs/heads/ralph/a refs/heads/main",
    "echo nonsense >\"$git/refs/heads/ralph/a\"",
    "git for-each-ref --format='delete %(refname)' refs/ralph/a | git update-ref --stdin",
    "git update-ref refs/heads/main main~1",
    "git branch -f other main~1",
    "git tag -d one",
    "git stash drop -q",
    "git stash clear",
    "git config user.name Other",
    "git config core.hooksPath /nowhere",
    "printf '#!/bin/sh\\nexit 1\\n' >\"$git/hooks/pre-commit\"; chmod +x \"$git/hooks/pre-commit\"",
    "rm -rf \"$git/hooks\"",
    "mkdir -p \"$git/info\"; echo '*' >\"$git/info/exclude\"",
    ">\"$git/packed-refs.lock\"",
    ">\"$git/worktrees/a/index.lock\"",
    ">\"$git/worktrees/a/HEAD.lock\"",
    ">\"$git/refs/heads/ralph/a.lock\"",
    "rm \"$git/ralph/a.toml\"",
    "echo nonsense >\"$git/ralph/a.toml\"",
    "rm -rf \"$git/ralph/a/slots\"",
    "rm -rf \"$git/ralph/a\"",
    "rm \"$git/ralph/a.lock\"",
    "git pack-refs --all --prune; git gc -q --prune=now",
    "rm \"$git/worktrees/a/index\"",
];

#[test]
fn misdeeds_of_one_loop_do_not_judge_another_during_an_attempt() {
    all_misdeeds("agent");
}

#[test]
fn misdeeds_of_one_loop_do_not_judge_another_while_gates_run() {
    all_misdeeds("gate");
}

#[test]
fn misdeeds_of_one_loop_do_not_judge_another_during_a_hook() {
    all_misdeeds("hook");
}

fn all_misdeeds(phase: &str) {
    let mut found = Vec::new();
    for misdeed in MISDEEDS.iter().step_by(stride(5, 1)) {
        if let Err(why) = catch_unwind(|| two_loops(misdeed, phase)) {
            let why = why.downcast_ref::<String>().cloned().unwrap_or_default();
            found.push(format!("{misdeed}: {why}"));
        }
    }
    nothing_of(&found);
}

fn two_loops(misdeed: &str, phase: &str) {
    let sandbox = Sandbox::new();
    for name in ["a", "b"] {
        let list = "## 1. One\n- [ ] 1.1 a\n";
        sandbox.write(&format!("openspec/changes/{name}/tasks.md"), list);
    }
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "changes"]);
    sandbox.git(&["tag", "one"]);
    sandbox.git(&["branch", "other"]);
    sandbox.write("README.md", "of the user's\n");
    sandbox.git(&["stash", "-q"]);
    let wait = "touch \"$notes/a\"; until test -e \"$notes/harmed\"; do sleep 0.01; done";
    let agent = match phase {
        "gate" => {
            let gate = sandbox.agent(&format!(
                "test \"$RALPH_CHANGE\" = b || test ! -e a || {{ {wait}; }}"
            ));
            sandbox.configure("ralph.verify", &gate);
            sandbox.completing("echo a >a")
        }
        "hook" => {
            let notes = sandbox.notes.display();
            let hook = format!("notes='{notes}'; test \"$RALPH_CHANGE\" = b || {{ {wait}; }}");
            sandbox.hook("ralph-pre-checkpoint", &hook);
            sandbox.completing("echo a >a")
        }
        _ => sandbox.completing(&format!("echo a >a; {wait}")),
    };
    let first = sandbox
        .direct(&["run", "a", "--worktree", "--keep", "--", &agent])
        .patiently()
        .start();
    wait_for(&sandbox.notes.join("a"));
    let agent = sandbox.completing(&format!(
        "git=$(git rev-parse --path-format=absolute --git-common-dir)
        a=$(dirname \"$(cat \"$git/worktrees/a/gitdir\")\"); echo b >b
        (unset $(env | sed -n 's/^\\(GIT_CONFIG_[A-Z]*\\)=.*/\\1/p'); {misdeed}) >\"$notes/out\" 2>&1
        touch \"$notes/harmed\"; until test -e \"$notes/over\"; do sleep 0.01; done"
    ));
    let second = sandbox
        .direct(&["run", "b", "--worktree", "--keep", "--", &agent])
        .patiently()
        .start();
    let output = first.end();
    fs::write(sandbox.notes.join("over"), "").unwrap();
    let second = second.end();
    let told = format!("{}\n--- b:\n{}", output.stderr, second.stderr);
    assert!(output.code == 0, "a: {}\n{told}", output.code);
    if misdeed.starts_with("git update-ref") && misdeed.contains(" refs/heads/ralph/a") {
        assert!(
            told.contains("of ralph/a while another loop was running is undone"),
            "{told}"
        );
    }
    let log = sandbox.ralph(&["log", "a", "--json"]).exits(0).json();
    assert_eq!(log["attempts"].as_array().unwrap().len(), 1, "{told}");
    assert_eq!(sandbox.git(&["show", "ralph/a:a"]), "a", "{told}");
    // A person may have taken it in the meantime.
    let is_named = output.stderr.contains("to have them back: git stash store");
    assert!(
        is_named || sandbox.git(&["stash", "list"]).lines().count() == 1,
        "{told}"
    );
}
