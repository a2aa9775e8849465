//! `git ralph prune`: what finished loops left goes when it is old, and only then.

use crate::support::{CHANGE, Sandbox};

fn kept(sandbox: &Sandbox) -> String {
    sandbox.git(&["for-each-ref", "--format=%(refname)", "refs/ralph"])
}

#[test]
fn a_finished_loop_is_pruned_by_age_and_each_thing_is_named() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.step("next", &sandbox.failing("echo x > x")).exits(3);
    sandbox.configure("ralph.keepAttempts", "1s");
    sandbox
        .ralph(&["prune", "add-login"])
        .exits(1)
        .says("is still active");
    sandbox
        .ralph(&["prune"])
        .exits(0)
        .says("nothing is older than ralph.keepAttempts");
    assert!(kept(&sandbox).contains("attempts/1/1"));
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    sandbox.configure("ralph.keepAttempts", "90d");
    let all = kept(&sandbox);
    sandbox
        .ralph(&["prune"])
        .exits(0)
        .says("nothing is older than ralph.keepAttempts");
    assert_eq!(kept(&sandbox), all);
    let old = sandbox
        .git_cmd(&["commit-tree", "main^{tree}", "-m", "old"])
        .env("GIT_COMMITTER_DATE", "2001-01-01T00:00:00Z")
        .run()
        .stdout;
    let gone = "refs/ralph/add-login/attempts/1/1";
    sandbox.git(&["update-ref", gone, old.trim()]);
    let print = sandbox.print();
    let preview = sandbox.ralph(&["prune", "--dry-run", "--json"]).exits(0);
    assert_eq!(preview.json()["removed"], 0);
    preview.says(&format!("would remove {gone}"));
    assert_eq!(sandbox.print(), print);
    sandbox
        .ralph(&["prune"])
        .exits(0)
        .says(&format!("removed {gone}"));
    let rest: Vec<&str> = all.lines().filter(|name| *name != gone).collect();
    assert_eq!(
        kept(&sandbox).lines().collect::<Vec<_>>(),
        rest,
        "nothing else went"
    );
    let log = sandbox.ralph(&["log", "add-login"]).exits(0).stdout;
    assert!(!log.contains("git ralph diff"), "{log}");
    let (slot, index) = (
        ".git/ralph/add-login/slots/1",
        ".git/ralph/add-login/original.index",
    );
    assert!(sandbox.top.join(index).exists());
    let age = ["-d", "2001-01-01", slot, index];
    sandbox.cmd("touch").args(age).run().exits(0);
    let preview = sandbox.ralph(&["prune", "--dry-run"]).exits(0);
    preview.says("would remove ").says(&format!("/{slot}"));
    assert!(sandbox.top.join(slot).exists() && sandbox.top.join(index).exists());
    sandbox
        .ralph(&["prune"])
        .exits(0)
        .says("removed ")
        .says(&format!("/{slot}"));
    assert!(!sandbox.top.join(slot).exists() && !sandbox.top.join(index).exists());
    sandbox.start();
    sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
}

#[test]
fn prune_removes_nothing_if_attempts_are_kept_for_ever() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.ralph(&["finish", "--keep"]).exits(0);
    sandbox.configure("ralph.keepAttempts", "none");
    let all = kept(&sandbox);
    sandbox.ralph(&["prune"]).exits(0);
    assert_eq!(kept(&sandbox), all);
}

#[test]
fn what_a_loop_replaced_is_pruned_when_all_of_it_is_old() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    sandbox.configure("ralph.keepAttempts", "90d");
    let commit = |date: &str| {
        let commit = ["commit-tree", "main^{tree}", "-m", "replaced"];
        let made = sandbox.git_cmd(&commit).env("GIT_COMMITTER_DATE", date).run();
        made.exits(0).stdout.trim().to_owned()
    };
    let [first, second] = ["1", "2"].map(|number| format!("refs/ralph/add-login/replaced/{number}"));
    // What has no date of its own goes with the rest of its kind.
    sandbox.git(&["update-ref", &first, &commit("1970-01-01T00:00:00Z")]);
    sandbox.git(&[
        "update-ref",
        &second,
        &commit(&jiff::Timestamp::now().to_string()),
    ]);
    sandbox
        .ralph(&["prune"])
        .exits(0)
        .says("nothing is older than ralph.keepAttempts");
    sandbox.git(&["update-ref", &second, &commit("2001-01-01T00:00:00Z")]);
    sandbox
        .ralph(&["prune"])
        .exits(0)
        .says(&format!("removed {first}"))
        .says(&format!("removed {second}"));
    assert!(!kept(&sandbox).contains("replaced"));
}

#[test]
fn branches_and_work_trees_that_hold_nothing_more_are_named_and_removed() {
    let sandbox = Sandbox::new();
    sandbox.ralph(&["start", CHANGE, "--worktree"]).exits(0);
    sandbox
        .step(
            "next",
            &sandbox.completing("echo x >x; mkdir target; echo o >target/out"),
        )
        .exits(0);
    sandbox.ralph(&["finish", "--keep", CHANGE]).exits(0);
    let own = sandbox.outside("repo.ralph/add-login");
    let stays = |sandbox: &Sandbox| {
        let output = sandbox.ralph(&["prune", "--worktrees"]).exits(0);
        assert!(
            !output.stderr.contains("removed ralph/add-login"),
            "{}",
            output.stderr
        );
        assert!(own.join("x").exists());
    };
    // Its checkpoint is on no other branch.
    stays(&sandbox);
    sandbox.git(&["merge", "-q", "ralph/add-login"]);
    // A flag hides nothing, an operation and a ref of its own are more than the commit.
    let there = |args: &[&str]| drop(sandbox.git_cmd(args).dir(&own).run().exits(0));
    there(&["update-index", "--skip-worktree", "README.md"]);
    let readme = std::fs::read_to_string(own.join("README.md")).unwrap();
    std::fs::write(own.join("README.md"), "precious\n").unwrap();
    stays(&sandbox);
    std::fs::write(own.join("README.md"), readme).unwrap();
    there(&["update-index", "--no-skip-worktree", "README.md"]);
    there(&["bisect", "start"]);
    stays(&sandbox);
    there(&["bisect", "reset"]);
    there(&["update-ref", "refs/worktree/mine", "HEAD"]);
    stays(&sandbox);
    there(&["update-ref", "-d", "refs/worktree/mine"]);
    let _ = std::fs::remove_dir(sandbox.top.join(".git/worktrees/add-login/refs/worktree"));
    std::fs::write(own.join("new"), "a person's\n").unwrap();
    stays(&sandbox);
    std::fs::remove_file(own.join("new")).unwrap();
    sandbox
        .ralph(&["prune"])
        .exits(0)
        .says("everything on ralph/add-login and its work tree")
        .says("git ralph prune --worktrees");
    assert!(own.join("x").exists());
    sandbox
        .ralph(&["prune", "--worktrees"])
        .exits(0)
        .says("removed ralph/add-login and its work tree");
    assert!(!own.exists());
    assert_eq!(sandbox.git(&["branch", "--list", "ralph/*"]), "");
    assert_eq!(
        sandbox.read(".git/ralph/add-login/trash/worktree/target/out"),
        "o\n"
    );
}

#[test]
fn status_names_the_commits_of_a_finished_loop_while_they_are_kept() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    let shows = || {
        sandbox
            .ralph(&["status", CHANGE])
            .exits(0)
            .stdout
            .contains("git log refs/ralph")
    };
    assert!(shows());
    sandbox.git(&["update-ref", "-d", &format!("refs/ralph/{CHANGE}/finished")]);
    assert!(!shows());
}
