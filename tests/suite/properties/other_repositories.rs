//! Repositories and work trees beside the loop's own that an attempt makes or removes.

use std::fs;

use crate::support::{CHANGE, Sandbox};

#[test]
fn a_repository_made_among_tracked_files_is_undone() {
    let sandbox = Sandbox::started();
    let agent = sandbox.failing("cd src; git init -q");
    sandbox
        .step("next", &agent)
        .exits(3)
        .says("a repository was made in a directory with tracked files; src/.git is moved to");
    assert!(!sandbox.top.join("src/.git").exists());
    // What a person has made there stays.
    sandbox.cmd("git").args(["init", "-q", "src"]).run().exits(0);
    let agent = sandbox.failing("echo x >x");
    sandbox.step("retry", &agent).exits(3);
    assert!(sandbox.top.join("src/.git").exists());
}

#[test]
fn abort_removes_a_repository_that_a_complete_story_left() {
    let sandbox = Sandbox::started();
    sandbox
        .step("next", &sandbox.completing("git init -q src"))
        .exits(0);
    sandbox.step("next", &sandbox.failing("echo y >y")).exits(3);
    sandbox.ralph(&["abort"]).exits(0).says("src/.git is moved to");
    assert!(!sandbox.top.join("src/.git").exists());
}

#[test]
fn a_linked_work_tree_that_an_attempt_removed_is_named() {
    let sandbox = Sandbox::new();
    let linked = sandbox.outside("linked");
    sandbox.git(&["worktree", "add", "-q", linked.to_str().unwrap(), "-b", "side"]);
    fs::write(linked.join("work"), "not committed\n").unwrap();
    sandbox.start();
    let agent = sandbox.failing("git worktree remove --force ../linked");
    let told = format!(
        "the linked work tree {} was removed during the attempt",
        linked.display()
    );
    sandbox.step("next", &agent).exits(3).says(&told);
    // Once is enough.
    let again = sandbox.step("retry", &sandbox.failing("true")).exits(3);
    assert!(!again.stderr.contains("linked work tree"), "{}", again.stderr);
}

#[test]
fn loop_continues_in_a_moved_work_tree() {
    for strategy in ["branch", "stash"] {
        let mut sandbox = Sandbox::new();
        sandbox.configure("ralph.strategy", strategy);
        sandbox.start();
        sandbox
            .step("next", &sandbox.completing("echo one >one"))
            .exits(0);
        let moved = sandbox.outside("moved");
        fs::rename(&sandbox.top, &moved).unwrap();
        // Another repository in the old place is none of the loop's.
        fs::create_dir(&sandbox.top).unwrap();
        sandbox.git(&["init", "-q"]);
        sandbox.top = moved;
        let status = sandbox.ralph(&["status"]).exits(0).stdout;
        assert!(!status.contains("cd "), "{status}");
        // A second loop in the same work tree is still refused.
        sandbox
            .ralph(&["start", "other", "--stories", "README.md"])
            .exits(1);
        sandbox.step("next", &sandbox.failing("echo x >x")).exits(3);
        assert!(!sandbox.top.join("x").exists());
        sandbox.ralph(&["abort"]).exits(0);
        assert!(!sandbox.top.join("one").exists());
    }
}

#[test]
fn clone_without_the_tree_of_its_head_fetches_it() {
    let sandbox = Sandbox::new();
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "second"]);
    sandbox.write("more", "x\n");
    sandbox.git(&["add", "more"]);
    sandbox.git(&["commit", "-q", "-m", "third"]);
    for setting in ["uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"] {
        sandbox.configure(setting, "true");
    }
    let (clone, url) = (
        sandbox.outside("treeless"),
        format!("file://{}", sandbox.top.display()),
    );
    let args = ["clone", "-q", "--filter=tree:0", &url, clone.to_str().unwrap()];
    sandbox.git_cmd(&args).run().exits(0);
    sandbox
        .git_cmd(&["reset", "-q", "--soft", "HEAD~1"])
        .dir(&clone)
        .run()
        .exits(0);
    sandbox.ralph_cmd(&["start", CHANGE]).dir(&clone).run().exits(0);
    sandbox.ralph_cmd(&["abort", CHANGE]).dir(&clone).run().exits(0);
}
