//! Work trees that loops made for themselves and that `start` finds without a loop, or elsewhere: nothing in them is deleted.

use std::fs;

use super::own_work_tree::{begin, own, worked};
use crate::support::{CHANGE, Sandbox};

#[test]
fn a_work_tree_with_work_is_never_removed_by_start() {
    let sandbox = worked();
    let own = own(&sandbox, CHANGE);
    fs::write(own.join("draft"), "mine\n").unwrap();
    fs::write(own.join("README.md"), "# Mine\n").unwrap();
    fs::remove_dir_all(sandbox.top.join(".git/ralph")).unwrap();
    sandbox
        .ralph(&["start", CHANGE, "--worktree"])
        .exits(1)
        .says("has the work of 'add-login', but the state of that loop is lost")
        .says("hint: git ralph start add-login --resume --worktree");
    // HEAD leaves the branch, and gets a commit that only this work tree has.
    for args in [
        &["checkout", "-q", "--detach"][..],
        &["commit", "-q", "-a", "-m", "mine"],
    ] {
        sandbox.git_cmd(args).dir(&own).run().exits(0);
    }
    sandbox
        .ralph(&["start", CHANGE, "--worktree"])
        .exits(1)
        .says("stays, because no branch has the commit that is checked out in it");
    assert_eq!(fs::read_to_string(own.join("README.md")).unwrap(), "# Mine\n");
    assert_eq!(fs::read_to_string(own.join("draft")).unwrap(), "mine\n");
    // Now a branch has it.
    sandbox.git_cmd(&["branch", "mine"]).dir(&own).run().exits(0);
    fs::write(own.join("README.md"), "# Mine again\n").unwrap();
    sandbox.ralph(&["start", CHANGE, "--worktree"]).exits(0);
    let trash = ".git/ralph/add-login/trash/worktree";
    assert_eq!(sandbox.read(&format!("{trash}/draft")), "mine\n");
    assert_eq!(sandbox.read(&format!("{trash}/README.md")), "# Mine again\n");
    assert_eq!(sandbox.read(&format!("{trash}/target/out")), "built\n");
}

/// Checks that the loop's branch has every file of the one that it began on.
fn nothing_is_deleted(sandbox: &Sandbox) {
    let deleted = [
        "diff",
        "--name-only",
        "--diff-filter=D",
        "main",
        "ralph/add-login",
    ];
    assert_eq!(sandbox.git(&deleted), "");
}

#[test]
fn a_promise_in_a_work_tree_that_was_removed_is_no_verdict() {
    let sandbox = Sandbox::new();
    begin(&sandbox);
    let own = own(&sandbox, CHANGE);
    let remove = "d=$PWD; cd /; rm -rf \"$d\"; cd \"$notes\"";
    for (name, harm) in [
        ("gone", remove.to_owned()),
        ("empty", format!("{remove}; mkdir \"$d\"")),
    ] {
        let once =
            format!("if mkdir \"$notes/{name}\" 2>/dev/null; then {harm}; else echo {name} >>done; fi");
        sandbox
            .step("next", &sandbox.completing(&once))
            .exits(0)
            .says("the work tree was removed or replaced meanwhile, by whom is not known); the attempt does not count, and is made again");
        nothing_is_deleted(&sandbox);
    }
    assert_eq!(fs::read_to_string(own.join("done")).unwrap(), "gone\nempty\n");
    // An agent that does so each time ends the step.
    let always = sandbox.completing(remove);
    sandbox
        .step("next", &always)
        .exits(1)
        .says("the work tree was removed or replaced meanwhile");
    let verdicts = sandbox.attempts();
    let verdicts: Vec<_> = verdicts
        .iter()
        .map(|attempt| attempt["verdict"].as_str().unwrap())
        .collect();
    let one = ["interrupted", "complete"];
    assert_eq!(
        verdicts,
        [&one[..], &one, &["interrupted", "interrupted"]].concat()
    );
}

#[test]
fn a_gate_in_a_work_tree_that_was_removed_is_no_verdict() {
    let sandbox = Sandbox::new();
    let gate = sandbox.outside("gate");
    let script = "#!/bin/sh\ntest -e \"$1/begun\" || exit 0\nif mkdir \"$1/once\" 2>/dev/null; then d=$PWD; cd /; rm -rf \"$d\"; fi\n";
    crate::support::write_program(&gate, script);
    let verify = format!("{} {}", gate.display(), sandbox.notes.display());
    sandbox.git(&["config", "ralph.verify", &verify]);
    begin(&sandbox);
    let agent = sandbox.completing("touch \"$notes/begun\"; echo x >>x");
    sandbox
        .step("next", &agent)
        .exits(0)
        .says("the work tree was removed or replaced meanwhile");
    nothing_is_deleted(&sandbox);
    assert_eq!(sandbox.git(&["show", "ralph/add-login:x"]), "x");
}

#[test]
fn a_work_tree_that_is_half_made_is_no_work() {
    let sandbox = worked();
    let own = own(&sandbox, CHANGE);
    // As if git-ralph was killed while git wrote the files again.
    let admin = sandbox.top.join(".git/worktrees/add-login");
    fs::write(admin.join("locked"), "git ralph: add-login (being made)\n").unwrap();
    fs::remove_file(admin.join("index")).unwrap();
    fs::remove_dir_all(own.join("src")).unwrap();
    fs::write(own.join("README.md"), "# St").unwrap();
    for dir in [&sandbox.top, &own] {
        let next = sandbox.ralph_cmd(&["next", CHANGE]).dir(dir).run();
        next.exits(1).says("is only half made: ");
    }
    begin(&sandbox);
    let agent = sandbox.completing("cat README.md src/lib.txt >\"$notes/seen\"");
    sandbox.step("next", &agent).exits(0);
    assert_eq!(sandbox.noted("seen"), "# Standard\nmore\none\ntwo\nthree\n");
    assert_eq!(
        sandbox.read(".git/ralph/add-login/trash/worktree/README.md"),
        "# St"
    );
}

#[test]
fn a_work_tree_that_the_user_locked_is_not_replaced() {
    let sandbox = Sandbox::new();
    let own = own(&sandbox, CHANGE);
    let place = own.to_str().unwrap();
    let lock = [
        "worktree",
        "add",
        "-q",
        "--lock",
        "--reason",
        "on a drive",
        "--detach",
        place,
    ];
    sandbox.git(&lock);
    fs::remove_dir_all(&own).unwrap();
    sandbox
        .ralph(&["start", CHANGE, "--worktree"])
        .exits(1)
        .says("locked");
    let listed = sandbox.git(&["worktree", "list", "--porcelain"]);
    assert!(listed.contains("locked on a drive"), "{listed}");
}

#[test]
fn a_work_tree_that_the_user_moved_is_not_gone() {
    let sandbox = worked();
    let own = own(&sandbox, CHANGE);
    fs::write(own.join("edit"), "mine\n").unwrap();
    let to = sandbox.outside("moved");
    let (from, to) = (own.to_str().unwrap(), to.to_str().unwrap());
    sandbox.git(&["worktree", "move", "-f", "-f", from, to]);
    let command = format!("git worktree move -f -f {to} {from}");
    let words = format!("the work tree of loop 'add-login' was moved to {to}");
    for args in [
        &["next", CHANGE][..],
        &["finish", CHANGE],
        &["start", CHANGE, "--worktree"],
    ] {
        sandbox.ralph(args).exits(1).says(&words).says(&command);
    }
    assert_eq!(sandbox.status()["problem"], words);
    sandbox.cmd("sh").args(["-c", &command]).run().exits(0);
    sandbox.ralph(&["finish", "--cleanup", CHANGE]).exits(0);
    assert_eq!(sandbox.read("edit"), "mine\n");
}

#[test]
fn a_work_tree_whose_repository_was_moved_is_not_given_up() {
    let mut sandbox = worked();
    let own = own(&sandbox, CHANGE);
    fs::write(own.join("edit"), "mine\n").unwrap();
    let to = sandbox.outside("moved");
    fs::rename(&sandbox.top, &to).unwrap();
    sandbox.top = to;
    let command = format!("git worktree repair {}", own.display());
    for args in [&["next", CHANGE][..], &["start", CHANGE, "--worktree"]] {
        sandbox
            .ralph(args)
            .exits(1)
            .says("no longer finds this repository, which was moved")
            .says(&command);
    }
    sandbox.cmd("sh").args(["-c", &command]).run().exits(0);
    sandbox.ralph(&["finish", "--cleanup", CHANGE]).exits(0);
    assert_eq!(sandbox.read("edit"), "mine\n");
}

#[test]
fn preparation_that_hides_its_change_of_a_committed_file_has_it_put_back() {
    let sandbox = Sandbox::new();
    let setup = "git update-index --skip-worktree README.md; echo local >README.md";
    sandbox.configure("ralph.worktreeSetup", setup);
    sandbox
        .ralph(&["start", "--worktree", CHANGE])
        .exits(0)
        .says("changed files that are committed; they are put back: README.md");
    let top = own(&sandbox, CHANGE);
    assert_eq!(
        fs::read(top.join("README.md")).unwrap(),
        fs::read(sandbox.top.join("README.md")).unwrap()
    );
}

#[test]
fn work_tree_with_a_hidden_change_ends() {
    for ending in [&["abort", CHANGE][..], &["finish", "--cleanup", CHANGE]] {
        let sandbox = Sandbox::new();
        begin(&sandbox);
        let top = own(&sandbox, CHANGE);
        sandbox
            .git_cmd(&["update-index", "--skip-worktree", "README.md"])
            .dir(&top)
            .run()
            .exits(0);
        fs::write(top.join("README.md"), "mine\n").unwrap();
        sandbox.ralph(ending).exits(0);
        assert!(!top.exists());
        let kept = format!("refs/ralph/{CHANGE}/finished:README.md");
        assert_eq!(sandbox.git(&["show", &kept]), "mine");
    }
}

#[test]
fn cleanup_writes_files_that_a_sparse_checkout_leaves_out() {
    let sandbox = Sandbox::new();
    begin(&sandbox);
    let agent = sandbox.completing("echo changed >>src/lib.txt; rm tool");
    sandbox.step("next", &agent).exits(0);
    for path in ["src/lib.txt", "tool"] {
        sandbox.git(&["update-index", "--skip-worktree", path]);
        fs::remove_file(sandbox.top.join(path)).unwrap();
    }
    sandbox
        .ralph(&["finish", "--cleanup", CHANGE])
        .exits(0)
        .says("because git's index hides them")
        .says("tool");
    assert!(sandbox.read("src/lib.txt").ends_with("changed\n"));
    assert!(!sandbox.top.join("tool").exists());
}

#[test]
fn changes_that_the_index_hides_are_shown_to_stash_first() {
    let sandbox = Sandbox::new();
    begin(&sandbox);
    let agent = sandbox.completing("echo changed >>src/lib.txt");
    sandbox.step("next", &agent).exits(0);
    for (flag, path) in [
        ("--skip-worktree", "README.md"),
        ("--assume-unchanged", "old.txt"),
    ] {
        sandbox.git(&["update-index", flag, path]);
        sandbox.write(path, "mine\n");
    }
    let refused = sandbox.ralph(&["finish", "--cleanup", CHANGE]).exits(7);
    let (_, hint) = refused.stderr.split_once("\nhint: ").unwrap();
    let (show, _) = hint.split_once("; commit or stash").unwrap();
    sandbox.cmd("sh").args(["-c", show]).run().exits(0);
    sandbox.git(&["stash", "-q"]);
    sandbox.ralph(&["finish", "--cleanup", CHANGE]).exits(0);
    sandbox.git(&["checkout", "-q", "stash@{0}", "--", "README.md", "old.txt"]);
    assert_eq!(
        sandbox.read("README.md") + &sandbox.read("old.txt"),
        "mine\nmine\n"
    );
}
