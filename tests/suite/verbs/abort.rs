//! `git ralph abort`: back to exactly what was before the loop; what it made is kept.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::Sandbox;

const AGENT: &str =
    "echo agent >> src/lib.txt; echo new > new.txt; rm README.md; git add -A; git commit -qm mess";

/// All that a user can see of a repository, but for refs.
fn all(sandbox: &Sandbox) -> (impl PartialEq + std::fmt::Debug, String, String) {
    (
        sandbox.files(),
        sandbox.git(&["ls-files", "-s", "-v"]),
        sandbox.git(&["symbolic-ref", "-q", "HEAD"]),
    )
}

#[test]
fn abort_restores_everything_from_before_the_loop() {
    let sandbox = Sandbox::dirty();
    fs::set_permissions(sandbox.top.join("README.md"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir_all(sandbox.top.join("empty/dir")).unwrap();
    let before = all(&sandbox);
    let index = fs::read(sandbox.top.join(".git/index")).unwrap();
    sandbox.start();
    sandbox.step("next", &sandbox.completing(AGENT)).exits(0);
    sandbox
        .step("next", &sandbox.failing("rm -rf src empty"))
        .exits(3);
    sandbox.write("by hand.txt", "x\n");
    sandbox
        .ralph(&["abort"])
        .exits(0)
        .says("not ignored as before the loop")
        .answers_nothing();
    assert_eq!(fs::read(sandbox.top.join(".git/index")).unwrap(), index);
    assert_eq!(all(&sandbox), before);
    assert!(sandbox.git(&["branch", "--list", "ralph/*"]).is_empty());
    let kept = "refs/ralph/add-login/finished";
    assert_eq!(sandbox.git(&["show", &format!("{kept}:new.txt")]), "new");
    assert_eq!(sandbox.git(&["show", &format!("{kept}:by hand.txt")]), "x");
    assert_eq!(sandbox.status()["phase"], "finished");
}

#[test]
fn a_detached_head_and_a_branch_without_commits_come_back() {
    let sandbox = Sandbox::new();
    sandbox.git(&["checkout", "-q", "--detach"]);
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.start();
    sandbox
        .step(
            "next",
            &sandbox.completing(AGENT.replace("src/lib.txt", "x").as_str()),
        )
        .exits(0);
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(sandbox.git(&["rev-parse", "--abbrev-ref", "HEAD"]), "HEAD");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");

    let sandbox = Sandbox::new();
    sandbox.git(&["checkout", "-q", "--orphan", "fresh"]);
    let before = all(&sandbox);
    sandbox.start();
    sandbox
        .step("next", &sandbox.completing("echo x > new.txt"))
        .exits(0);
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(all(&sandbox), before);
}

#[test]
fn abort_refuses_if_the_original_branch_moved() {
    let sandbox = Sandbox::dirty();
    sandbox.start();
    sandbox.git(&["branch", "-f", "main", "HEAD"]);
    let print = sandbox.print();
    sandbox
        .ralph(&["abort"])
        .exits(7)
        .says("main has moved since the loop began")
        .says("git ralph finish --keep add-login && git checkout main");
    assert_eq!(sandbox.print(), print);
    sandbox.git(&["checkout", "-q", "-f", "main"]);
    sandbox
        .ralph(&["abort", "add-login"])
        .exits(7)
        .says("HEAD is on main");
}

#[test]
fn second_abort_names_files_and_no_number() {
    let sandbox = Sandbox::new();
    for (key, named) in [("first", ": private\n"), ("second", ": 2/private\n")] {
        sandbox.start();
        sandbox.write(".gitignore", "/private/\n");
        sandbox.write("private/key", key);
        sandbox.ralph(&["abort"]).exits(0).says(named);
    }
}

#[test]
fn abort_does_not_name_a_branch_that_head_is_on() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.strategy", "stash");
    sandbox.start();
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "mine"]);
    let refused = sandbox.ralph(&["abort"]).exits(7);
    refused.says("main has moved since the loop began\nhint: to keep what the loop did: git ralph finish --keep add-login\n");
    sandbox.ralph(&["finish", "--keep", "add-login"]).exits(0);
}
