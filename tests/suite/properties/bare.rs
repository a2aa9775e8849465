//! A repository whose directory is not the `.git` of its work tree. In a bare one nothing is checked out.

use crate::support::{CHANGE, Sandbox};

#[test]
fn a_loop_in_a_work_tree_of_a_bare_repository_ends_in_both_ways() {
    // As its own directory, hidden in a project, and as the `.git` of a project.
    for place in ["p.git", "p/.bare", "p/.git"] {
        let mut sandbox = Sandbox::new();
        let bare = sandbox.outside(place);
        let top = sandbox.outside("tree");
        let name = |path: &std::path::Path| path.to_str().unwrap().to_owned();
        sandbox.git(&["clone", "-q", "--bare", ".", &name(&bare)]);
        sandbox.git(&["-C", &name(&bare), "worktree", "add", "-q", &name(&top), "main"]);
        sandbox.top = top;
        sandbox.configure("user.name", "A User");
        sandbox.configure("user.email", "user@example.org");
        let before = sandbox.print();
        sandbox.start();
        sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
        sandbox.ralph(&["abort"]).exits(0);
        assert_eq!(sandbox.print().files, before.files, "{place}");
        sandbox.start();
        sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
        sandbox.ralph(&["finish", "--cleanup"]).exits(0);
        assert_eq!(
            sandbox.git(&["symbolic-ref", "HEAD"]),
            "refs/heads/main",
            "{place}"
        );
        assert_eq!(sandbox.read("x"), "x\n");
    }
}

#[test]
fn separate_git_directory_is_no_work_tree() {
    let sandbox = Sandbox::new();
    let elsewhere = sandbox.outside("elsewhere");
    sandbox.git(&["init", "-q", "--separate-git-dir", elsewhere.to_str().unwrap()]);
    sandbox.ralph(&["start", CHANGE, "--worktree"]).exits(0);
    assert!(sandbox.outside("repo.ralph").join(CHANGE).is_dir());
    sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
    sandbox
        .ralph(&["finish", "--cleanup", CHANGE])
        .exits(0)
        .says(&format!("all changes are in {}", sandbox.top.display()));
    assert_eq!(sandbox.read("x"), "x\n");
    assert!(!sandbox.outside("repo.ralph").exists());
}

#[test]
fn setting_that_takes_the_work_tree_away_is_what_the_hint_shows() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.git(&["config", "extensions.worktreeConfig", "true"]);
    sandbox.git(&["config", "--worktree", "core.bare", "true"]);
    sandbox
        .ralph(&["status"])
        .exits(1)
        .says("git finds no work tree here, although .git leads to")
        .says("git config --show-origin --get-regexp");
    sandbox.git(&["config", "--worktree", "core.bare", "false"]);
    sandbox.ralph(&["status"]).exits(0);
}
