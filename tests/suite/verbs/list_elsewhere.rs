//! The story list that is shown and put back while an attempt may write to it, or another branch is checked out.

use std::fs;

use nix::sys::signal::Signal;

use super::run_stories::{until, words};
use crate::support::{CHANGE, Running, Sandbox, TASKS, wait_until};

/// Makes a branch whose copy of the list is ticked.
fn ticked(sandbox: &Sandbox, list: &str) {
    sandbox.git(&["checkout", "-q", "-b", "ticked"]);
    sandbox.write(list, &sandbox.read(list).replace("[ ]", "[x]"));
    sandbox.git(&["commit", "-qam", "ticked"]);
    sandbox.git(&["checkout", "-q", "main"]);
}

/// Begins a run whose first attempt ticks all stories, and works on.
fn ticking(sandbox: &Sandbox) -> Running {
    let agent = sandbox.agent(&format!(
        "echo x >x; sed -i 's/\\[ \\]/[x]/' {TASKS}; touch \"$notes/ticked\"; {}; failed no",
        until("go")
    ));
    let running = sandbox
        .direct(&["run", CHANGE, "--max-retries=0", "--", &agent])
        .start();
    wait_until("the list is ticked", || sandbox.notes.join("ticked").exists());
    running
}

#[test]
fn ticks_of_an_attempt_that_runs_do_not_count() {
    let sandbox = Sandbox::new();
    let running = ticking(&sandbox);
    assert_eq!(sandbox.status()["stories_done"], 0);
    let stories = sandbox.ralph(&["stories", CHANGE]).exits(0).stdout;
    assert!(stories.contains("0 of 3 complete"), "{stories}");
    for story in ["2", "3"] {
        sandbox.ralph(&["skip", CHANGE, story]).exits(0);
    }
    sandbox.ralph(&["skip", CHANGE, "--undo", "3"]).exits(0);
    // What is asked last, and not taken back, is taken back first.
    sandbox
        .ralph(&["skip", CHANGE, "--undo"])
        .exits(0)
        .says("no longer skips story 2");
    fs::write(sandbox.notes.join("go"), "").unwrap();
    running.end().exits(4);
}

#[test]
fn list_of_the_users_branch_stays_when_a_run_is_killed() {
    for is_merge in [false, true] {
        let sandbox = Sandbox::with_free_stories(2);
        ticked(&sandbox, "TODO.md");
        let agent = sandbox.completing(&format!("touch \"$notes/began$RALPH_STORY\"; {}", until("go")));
        let running = sandbox.direct(&words("--jobs=2", &[], &agent)).start();
        wait_until("both work", || {
            ["began1", "began2"]
                .iter()
                .all(|note| sandbox.notes.join(note).exists())
        });
        running.signal(Signal::SIGKILL);
        drop(running.end());
        if is_merge {
            let mine = sandbox.read("TODO.md").replace("Story", "My story");
            sandbox.write("TODO.md", &mine);
            sandbox.git(&["commit", "-qam", "mine"]);
            assert_ne!(sandbox.git_cmd(&["merge", "ticked"]).run().code, 0);
        } else {
            sandbox.git(&["checkout", "-q", "ticked"]);
        }
        let list = sandbox.read("TODO.md");
        sandbox.ralph(&["status", "todo"]).exits(0);
        assert_eq!(sandbox.read("TODO.md"), list, "{is_merge}");
    }
}

#[test]
fn list_behind_a_link_is_that_of_the_loop_on_each_branch() {
    let sandbox = Sandbox::new();
    sandbox.write("lists/real.md", "- [ ] 1. One\n- [ ] 2. Two (after 1)\n");
    std::os::unix::fs::symlink("lists/real.md", sandbox.top.join("TODO.md")).unwrap();
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "list"]);
    sandbox.ralph(&["start", "todo", "--stories=TODO.md"]).exits(0);
    let agent = sandbox.completing("echo x >x$RALPH_STORY");
    sandbox.ralph(&["next", "todo", "--", &agent]).exits(0);
    sandbox.git(&["checkout", "-q", "main"]);
    let stories = sandbox.ralph(&["stories", "todo"]).exits(0).stdout;
    assert!(stories.contains("1 of 2 complete"), "{stories}");
    sandbox.git(&["checkout", "-q", "ralph/todo"]);
    sandbox
        .ralph(&["run", "todo", "--jobs=2", "--", &agent])
        .exits(0)
        .says("one after another: TODO.md is a symbolic link");
}

#[test]
fn status_of_a_loop_elsewhere_looks_at_its_work_tree() {
    let sandbox = Sandbox::new();
    ticked(&sandbox, TASKS);
    sandbox.ralph(&["start", CHANGE, "--worktree"]).exits(0);
    let own = sandbox.top.with_extension("ralph").join(CHANGE);
    let there = |args: &[&str]| sandbox.git_cmd(args).dir(&own).run();
    assert_eq!(there(&["checkout", "-q", "ticked"]).code, 0);
    let status = sandbox.ralph(&["status", CHANGE]).exits(0).stdout;
    assert!(status.contains("ralph/add-login is not checked out"), "{status}");
    sandbox
        .ralph(&["run", CHANGE, "--dry-run", "--", "true"])
        .exits(7);
    there(&["checkout", "-q", "ralph/add-login"]);
    fs::write(own.join(TASKS), "- [ ] 1. Mine\n").unwrap();
    there(&["commit", "-qam", "mine"]);
    assert_ne!(there(&["merge", "ticked"]).code, 0);
    let status = sandbox.ralph(&["status", CHANGE]).exits(0).stdout;
    assert!(status.contains("a merge is in progress"), "{status}");
    let git = format!("git -C {}", own.display());
    sandbox
        .ralph(&["next", CHANGE, "--", "true"])
        .exits(1)
        .says(&format!("hint: {git} merge --continue, or: {git} merge --abort"));
}

#[test]
fn patches_that_were_not_applied_yet_are_kept() {
    let sandbox = Sandbox::started();
    sandbox.write("base", "one\n");
    sandbox.git(&["add", "base"]);
    sandbox.git(&["commit", "-qm", "one"]);
    sandbox.git(&["checkout", "-q", "-b", "side", "HEAD~1"]);
    for (name, text) in [("base", "two\n"), ("other", "precious\n")] {
        sandbox.write(name, text);
        sandbox.git(&["add", name]);
        sandbox.git(&["commit", "-qm", name]);
    }
    let patches = sandbox.git(&["format-patch", "-2", "--stdout"]) + "\n";
    sandbox.git(&["checkout", "-q", "ralph/add-login"]);
    sandbox.git(&["branch", "-qD", "side"]);
    let mail = sandbox.notes.join("mail");
    fs::write(&mail, patches).unwrap();
    assert_ne!(
        sandbox.git_cmd(&["am", "-q", mail.to_str().unwrap()]).run().code,
        0
    );
    sandbox
        .ralph(&["revert"])
        .exits(0)
        .says("trash/1.1: rebase-apply");
    let kept = ".git/ralph/add-login/trash/1.1/rebase-apply/0002";
    assert!(sandbox.read(kept).contains("precious"));
}
