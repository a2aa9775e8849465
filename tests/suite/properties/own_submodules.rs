//! Submodules of a loop with a work tree of its own.

use std::fs;
use std::path::Path;

use super::own_work_tree::{begin, own};
use crate::support::{CHANGE, Sandbox, git};

/// A commit in the submodule, as somebody.
const IN_LIB: &str = "echo more >>lib/a; git -C lib -c user.name=A -c user.email=a@e commit -qam more";

fn started() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.add_submodule();
    begin(&sandbox);
    sandbox
}

fn git_in(sandbox: &Sandbox, dir: &Path, args: &[&str]) -> String {
    sandbox
        .git_cmd(args)
        .dir(dir)
        .run()
        .exits(0)
        .stdout
        .trim()
        .to_owned()
}

/// Returns whether a repository has this commit.
fn has(sandbox: &Sandbox, dir: &Path, commit: &str) -> bool {
    let args = ["rev-list", "--objects", "--quiet", commit];
    sandbox.git_cmd(&args).dir(dir).run().code == 0
}

#[test]
fn each_work_tree_has_a_clone_of_its_own_without_network() {
    let sandbox = Sandbox::new();
    sandbox.add_submodule();
    // A submodule in the submodule.
    let (inner, lib) = (sandbox.outside("inner"), sandbox.top.join("lib"));
    fs::rename(sandbox.outside("library"), sandbox.outside("gone")).unwrap();
    git_in(
        &sandbox,
        &sandbox.top,
        &["clone", "-q", "lib", inner.to_str().unwrap()],
    );
    let add = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        inner.to_str().unwrap(),
        "in",
    ];
    git_in(&sandbox, &lib, &add);
    let commit = ["-c", "user.name=U", "-c", "user.email=u@e", "commit", "-qm", "in"];
    git_in(&sandbox, &lib, &commit);
    sandbox.git(&["commit", "-qam", "lib"]);
    fs::rename(&inner, sandbox.outside("gone-too")).unwrap();
    begin(&sandbox);
    let own = own(&sandbox, CHANGE);
    assert_eq!(fs::read_to_string(own.join("lib/in/a")).unwrap(), "a\n");
    assert_eq!(
        sandbox.git_cmd(&["status", "--porcelain"]).dir(&own).run().stdout,
        ""
    );
    for path in ["lib", "lib/in"] {
        let url = |top: &Path| git_in(&sandbox, &top.join(path), &["config", "remote.origin.url"]);
        assert_eq!(url(&own), url(&sandbox.top));
    }
    git_in(&sandbox, &own.join("lib"), &["branch", "only-here"]);
    assert_eq!(git_in(&sandbox, &lib, &["branch", "--list", "only-here"]), "");
}

#[test]
fn submodule_whose_name_has_an_equals_sign_has_a_clone() {
    let sandbox = Sandbox::new();
    sandbox.add_submodule_named("a=b");
    begin(&sandbox);
    let lib = own(&sandbox, CHANGE).join("lib");
    assert_eq!(fs::read_to_string(lib.join("a")).unwrap(), "a\n");
    let url = git_in(&sandbox, &lib, &["config", "remote.origin.url"]);
    assert_eq!(url, sandbox.outside("library").to_str().unwrap());
}

#[test]
fn a_commit_in_a_submodule_outlives_the_work_tree() {
    let sandbox = started();
    let own = own(&sandbox, CHANGE);
    sandbox.step("next", &sandbox.completing(IN_LIB)).exits(0);
    let commit = git_in(&sandbox, &own.join("lib"), &["rev-parse", "HEAD"]);
    let lib = sandbox.top.join("lib");
    assert!(has(&sandbox, &lib, &commit));
    // Both are gone: what is made again has the commit.
    fs::remove_dir_all(&own).unwrap();
    fs::remove_dir_all(sandbox.top.join(".git/worktrees/add-login")).unwrap();
    begin(&sandbox);
    assert_eq!(git_in(&sandbox, &own.join("lib"), &["rev-parse", "HEAD"]), commit);
    sandbox
        .ralph(&["finish", "--cleanup", CHANGE])
        .exits(0)
        .says("the submodule lib is at ")
        .says("the loop's work tree is removed");
    assert!(!own.exists());
    assert_eq!(sandbox.read("lib/a"), "a\nmore\n");
    assert_eq!(git_in(&sandbox, &lib, &["rev-parse", "HEAD"]), commit);
    assert_eq!(git_in(&sandbox, &lib, &["status", "--porcelain"]), "");
}

#[test]
fn abort_keeps_the_commits_of_a_submodule() {
    let sandbox = started();
    let own = own(&sandbox, CHANGE);
    let failed = sandbox.failing(IN_LIB);
    sandbox
        .step("next", &failed)
        .exits(3)
        .says("the submodule lib was changed; it is back");
    let kept = git_in(
        &sandbox,
        &own.join("lib"),
        &["rev-parse", "refs/ralph/add-login/attempts/1/1"],
    );
    sandbox
        .ralph(&["abort", CHANGE])
        .exits(0)
        .says("the loop's work tree is removed");
    let lib = sandbox.top.join("lib");
    assert_eq!(git_in(&sandbox, &lib, &["show", &format!("{kept}:a")]), "a\nmore");
    assert_eq!(sandbox.read("lib/a"), "a\n");
}

#[test]
fn a_submodule_that_the_user_has_changed_meanwhile_stays() {
    let sandbox = started();
    sandbox.step("next", &sandbox.completing(IN_LIB)).exits(0);
    sandbox.write("lib/a", "the user's\n");
    let into = ["finish", "--cleanup", CHANGE];
    sandbox.ralph(&into).exits(7).says("lib");
    assert_eq!(sandbox.read("lib/a"), "the user's\n");
    // One that is not checked out cannot have a commit.
    sandbox.git(&["submodule", "--quiet", "deinit", "-f", "lib"]);
    sandbox
        .ralph(&into)
        .exits(0)
        .says("the submodule lib stays as it is, because it is not checked out there; the loop has it at ");
}

#[test]
fn a_submodule_that_only_the_loop_has_keeps_its_work_tree() {
    let sandbox = Sandbox::new();
    begin(&sandbox);
    let own = own(&sandbox, CHANGE);
    let add =
        "git init -q ../new; git -C ../new -c user.name=A -c user.email=a@e commit -q --allow-empty -m new
        git -c protocol.file.allow=always submodule --quiet add ../new new";
    sandbox
        .step("next", &sandbox.completing(add))
        .exits(0)
        .says("of the submodule new is not copied to another repository than the loop's");
    sandbox
        .ralph(&["finish", "--cleanup", CHANGE])
        .exits(0)
        .says("the loop's work tree stays, because commits of its submodules are in no other repository");
    assert!(own.join("new/.git").exists());
}

#[test]
fn a_start_that_was_killed_among_its_submodules_can_be_repeated() {
    let sandbox = Sandbox::new();
    sandbox.add_submodule();
    let script = format!(
        "#!/bin/sh\n'{0}' \"$@\"\ncase \" $* \" in *' submodule '*) kill -KILL $PPID ;; esac\n",
        git().display()
    );
    sandbox.install("git", &script);
    sandbox.direct(&["start", CHANGE, "--worktree"]).run().exits(137);
    fs::remove_file(sandbox.outside("programs/git")).unwrap();
    sandbox
        .ralph(&["start", CHANGE, "--worktree"])
        .exits(0)
        .says("the work tree that it began to make is removed");
    assert!(own(&sandbox, CHANGE).join("lib/a").exists());
}

#[test]
fn finish_runs_no_filter_that_an_attempt_added_to_a_submodule() {
    let sandbox = started();
    let ran = sandbox.outside("home/ran");
    sandbox.step("next", &sandbox.completing(IN_LIB)).exits(0);
    // By a process that has outlived its attempt.
    for key in ["filter.f.clean", "filter.f.smudge"] {
        let program = format!("touch '{}'; cat", ran.display());
        sandbox.git(&["config", "-f", ".git/modules/lib/config", key, &program]);
    }
    sandbox.write(".git/modules/lib/info/attributes", "* filter=f\n");
    let _ = fs::remove_file(&ran);
    sandbox
        .ralph(&["finish", "--cleanup", CHANGE])
        .exits(0)
        .says("filters that are not known to be configured since before the loop are not run in lib")
        .says("the submodule lib is at ")
        .says("the loop's work tree is removed");
    assert!(!ran.exists());
    assert_eq!(sandbox.read("lib/a"), "a\nmore\n");
}

#[test]
fn a_submodule_that_the_loop_removes_is_kept_where_it_was() {
    let sandbox = started();
    let own = own(&sandbox, CHANGE);
    sandbox
        .step("next", &sandbox.completing(&format!("{IN_LIB}; git add lib")))
        .exits(0);
    let commit = git_in(&sandbox, &own.join("lib"), &["rev-parse", "HEAD"]);
    git_in(
        &sandbox,
        &own.join("lib"),
        &["update-ref", "refs/heads/only-here", "HEAD"],
    );
    sandbox
        .step("next", &sandbox.completing("git rm -qf lib"))
        .exits(0);
    sandbox
        .ralph(&["finish", "--cleanup", CHANGE])
        .exits(0)
        .says("the loop has removed the submodule lib, whose files stay here")
        .says("the loop's work tree is removed");
    assert!(!own.exists());
    let lib = sandbox.top.join("lib");
    assert!(has(&sandbox, &lib, &commit));
    assert_eq!(sandbox.read("lib/a"), "a\n");
}

#[test]
fn what_a_clone_has_beside_commits_goes_to_the_trash_and_its_stash_is_kept() {
    let sandbox = started();
    let own = own(&sandbox, CHANGE);
    sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
    let lib = own.join("lib");
    for entry in ["one", "two"] {
        fs::write(lib.join("a"), entry).unwrap();
        git_in(
            &sandbox,
            &lib,
            &["-c", "user.name=A", "-c", "user.email=a@e", "stash", "-q"],
        );
    }
    let entries = git_in(&sandbox, &lib, &["stash", "list", "--format=%H"]);
    sandbox
        .ralph(&["finish", "--cleanup", CHANGE])
        .exits(0)
        .says("the loop's work tree is removed");
    for entry in entries.lines() {
        assert!(has(&sandbox, &sandbox.top.join("lib"), entry), "{entry}");
    }
    let repository = sandbox
        .top
        .join(".git/ralph/add-login/trash/worktree/.git-modules/lib");
    assert!(repository.join("logs/refs/stash").exists());
}

#[test]
fn finish_goes_on_where_a_commit_of_a_submodule_is_nowhere() {
    let sandbox = started();
    let oid = "1".repeat(40);
    let agent = format!(
        "git update-index --cacheinfo 160000,{oid},lib; echo x >x; git submodule --quiet deinit -f lib"
    );
    sandbox
        .step("next", &sandbox.completing(&agent))
        .exits(0)
        .says("of the submodule lib is not copied to another repository than the loop's");
    sandbox
        .ralph(&["finish", "--cleanup", CHANGE])
        .exits(0)
        .says("the submodule lib stays as it is, because it has not all that this commit needs");
    assert_eq!(sandbox.read("x"), "x\n");
}

#[test]
fn a_work_tree_that_cannot_be_removed_stays() {
    let sandbox = Sandbox::new();
    sandbox.add_submodule();
    begin(&sandbox);
    let own = own(&sandbox, CHANGE);
    // Nothing here could keep what its clone has.
    fs::remove_dir_all(sandbox.top.join("lib")).unwrap();
    fs::remove_dir_all(sandbox.top.join(".git/modules")).unwrap();
    sandbox
        .ralph(&["abort", CHANGE])
        .exits(0)
        .says("the loop's work tree stays, because commits of its submodules are in no other repository");
    assert!(own.join("README.md").exists());
    // The next loop of the change takes it, but no file in it that git ignores.
    fs::create_dir_all(own.join("target")).unwrap();
    fs::write(own.join("target/out"), "built\n").unwrap();
    sandbox.write("target/out", "committed\n");
    sandbox.git(&["add", "-f", "target/out"]);
    sandbox.git(&["commit", "-qm", "out"]);
    sandbox
        .ralph(&["start", CHANGE, "--worktree"])
        .exits(7)
        .says("target/out");
    assert_eq!(fs::read_to_string(own.join("target/out")).unwrap(), "built\n");
    fs::remove_file(own.join("target/out")).unwrap();
    begin(&sandbox);
    assert_eq!(sandbox.status()["worktree"], own.to_str().unwrap());
}

#[test]
fn prune_leaves_a_work_tree_with_a_clone_to_the_user() {
    let sandbox = started();
    sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
    sandbox.ralph(&["finish", "--keep", CHANGE]).exits(0);
    sandbox.git(&["merge", "-q", "ralph/add-login"]);
    for words in [&["prune"][..], &["prune", "--worktrees"]] {
        sandbox
            .ralph(words)
            .exits(0)
            .says("ralph/add-login stays, although another branch has all of it: its work tree has clones of submodules");
    }
    assert!(own(&sandbox, CHANGE).join("lib/a").exists());
}

#[test]
fn objects_that_an_attempt_removes_from_a_clone_come_back() {
    let sandbox = started();
    let own = own(&sandbox, CHANGE);
    sandbox.step("next", &sandbox.completing(IN_LIB)).exits(0);
    let breaks =
        "dir=$(git -C lib rev-parse --absolute-git-dir); find \"$dir/objects\" -type f -delete; echo x >x";
    sandbox
        .step("next", &sandbox.completing(breaks))
        .exits(3)
        .says("git cannot read the submodule lib")
        .says("objects that were missing in the submodule lib are copied to it");
    let lib = own.join("lib");
    assert_eq!(git_in(&sandbox, &lib, &["status", "--porcelain"]), "");
    assert_eq!(fs::read_to_string(lib.join("a")).unwrap(), "a\nmore\n");
    sandbox.step("retry", &sandbox.completing("echo x >x")).exits(0);
    sandbox.ralph(&["finish", "--cleanup", CHANGE]).exits(0);
}

/// Has a git in the user's submodule run a program, which leaves a mark in the notes.
const PLANTED: &str = "m=$(git rev-parse --path-format=absolute --git-common-dir)/modules/lib
    for program in clean smudge; do git config -f $m/config filter.f.$program \"sh -c 'touch $notes/ran; cat'\"; done
    git config -f $m/config core.fsmonitor \"touch $notes/ran; false\"
    mkdir -p $m/info $m/hooks; echo '* filter=f' >$m/info/attributes
    printf '#!/bin/sh\\ntouch %s/ran\\n' $notes >$m/hooks/post-checkout; chmod +x $m/hooks/post-checkout";

#[test]
fn what_an_attempt_plants_in_the_users_submodule_runs_nothing() {
    let sandbox = Sandbox::new();
    sandbox.add_submodule();
    let config = sandbox.read(".git/modules/lib/config");
    begin(&sandbox);
    for (step, agent, code) in [
        ("next", sandbox.failing(&format!("{PLANTED}; echo x >x")), 3),
        ("retry", sandbox.completing(&format!("{PLANTED}; {IN_LIB}")), 0),
    ] {
        sandbox
            .step(step, &agent)
            .exits(code)
            .says("config of the repository in .git/modules/lib was changed during the attempt");
        assert_eq!(sandbox.read(".git/modules/lib/config"), config);
        assert!(!sandbox.top.join(".git/modules/lib/hooks/post-checkout").exists());
        sandbox.write("lib/a", "mine\n");
        git_in(&sandbox, &sandbox.top, &["status"]);
        git_in(
            &sandbox,
            &sandbox.top.join("lib"),
            &["checkout", "-q", "-f", "HEAD"],
        );
        assert!(!sandbox.notes.join("ran").exists());
    }
}

#[test]
fn the_user_is_warned_of_the_users_submodule_after_a_kill() {
    let sandbox = Sandbox::new();
    sandbox.add_submodule();
    begin(&sandbox);
    let agent = sandbox.completing(&format!("{PLANTED}; kill -9 $(ps -o ppid= -p $PPID); sleep 60"));
    sandbox.step("next", &agent);
    sandbox.ralph(&["status"]).says("in .git/modules/lib, lib");
    assert!(!sandbox.notes.join("ran").exists());
}
