//! What an agent does in a submodule.

use std::fs;

use crate::support::{CHANGE, Sandbox};

/// What an agent does to begin with: `git` in the submodule, as somebody.
const GIT: &str = "in_lib() { git -C lib -c user.name=A -c user.email=a@e \"$@\"; }\n";

fn started() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.add_submodule();
    sandbox.start();
    sandbox
}

fn in_lib(sandbox: &Sandbox, args: &[&str]) -> String {
    let dir = sandbox.top.join("lib");
    let output = sandbox.git_cmd(args).dir(&dir).run().exits(0);
    output.stdout.trim().to_owned()
}

#[test]
fn an_attempt_after_which_git_reads_no_submodules_is_not_complete() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let before = sandbox.files();
    for (step, says) in [("next", "update = !touch x"), ("retry", "[submodule")] {
        let misdeed = format!(
            "git init -q s; (cd s; git -c user.name=x -c user.email=x@x commit -q --allow-empty -m x); git add s
            printf '[submodule \"s\"]\\n\\tpath = s\\n\\t{says}\\n' >.gitmodules"
        );
        sandbox
            .step(step, &sandbox.completing(&misdeed))
            .exits(3)
            .says("git refuses .gitmodules as it is now");
        assert_eq!(sandbox.files(), before);
    }
    sandbox.ralph(&["abort"]).exits(0);
}

#[test]
fn failed_attempt_in_a_submodule_is_kept_and_undone() {
    let sandbox = started();
    let (head, branch) = (
        in_lib(&sandbox, &["rev-parse", "HEAD"]),
        in_lib(&sandbox, &["symbolic-ref", "HEAD"]),
    );
    let before = sandbox.files();
    let agent = sandbox.failing(&format!(
        "{GIT} echo committed >lib/b; in_lib add b; in_lib commit -qm b; in_lib checkout -qb side
         echo edited >lib/a; echo new >lib/c"
    ));
    sandbox
        .step("next", &agent)
        .exits(3)
        .says("the submodule lib was changed; it is back");
    assert_eq!(sandbox.files(), before);
    sandbox.is_at_checkpoint();
    assert_eq!(in_lib(&sandbox, &["rev-parse", "HEAD"]), head);
    assert_eq!(in_lib(&sandbox, &["symbolic-ref", "HEAD"]), branch);
    assert_eq!(in_lib(&sandbox, &["status", "--porcelain"]), "");
    let kept = format!("refs/ralph/{CHANGE}/attempts/1/1");
    for (file, content) in [("a", "edited"), ("b", "committed"), ("c", "new")] {
        assert_eq!(in_lib(&sandbox, &["show", &format!("{kept}:{file}")]), content);
    }
    sandbox.step("retry", &sandbox.completing("true")).exits(0);
}

#[test]
fn uncommitted_changes_in_a_submodule_fail_the_attempt() {
    let sandbox = started();
    let agent = sandbox.completing("echo edited >lib/a");
    sandbox
        .step("next", &agent)
        .exits(3)
        .says("the submodule lib was left with uncommitted changes");
    assert_eq!(fs::read_to_string(sandbox.top.join("lib/a")).unwrap(), "a\n");
}

#[test]
fn an_attempt_that_changes_a_submodule_alone_is_not_asked_why_it_changed_nothing() {
    for (misdeed, told) in [
        (
            "echo edited >lib/a",
            "the submodule lib was left with uncommitted changes",
        ),
        (BREAK, "git cannot read the submodule lib any more"),
    ] {
        let sandbox = started();
        sandbox.configure("ralph.emptyStory", "confirm");
        let agent = sandbox.completing(&format!("count\n{misdeed}"));
        sandbox.step("next", &agent).exits(3).says(told);
        assert_eq!(sandbox.noted("count").trim(), "1");
    }
}

#[test]
fn repository_of_the_user_that_becomes_a_submodule_is_in_the_checkpoint() {
    let sandbox = Sandbox::new();
    sandbox.git(&["init", "-q", "inner"]);
    let user = ["-C", "inner", "-c", "user.name=U", "-c", "user.email=u@e"];
    sandbox.git(&[&user[..], &["commit", "-q", "--allow-empty", "-m", "first"]].concat());
    sandbox.start();
    let add = "git submodule --quiet add ./inner inner";
    sandbox.step("next", &sandbox.failing(add)).exits(3);
    assert!(sandbox.top.join("inner/.git").exists());
    assert!(!sandbox.top.join(".gitmodules").exists());
    sandbox.step("retry", &sandbox.completing(add)).exits(0);
    let tree = sandbox.git(&["ls-tree", "--name-only", "HEAD", ".gitmodules", "inner"]);
    assert_eq!(tree, ".gitmodules\ninner");
}

#[test]
fn a_submodule_in_another_one_is_named_itself() {
    let sandbox = Sandbox::new();
    sandbox.add_submodule();
    sandbox.add_submodule_in_lib();
    let inner = sandbox.top.join("lib/inner/a");
    fs::write(&inner, "mine\n").unwrap();
    sandbox
        .ralph(&["start", CHANGE])
        .exits(7)
        .says("submodule lib/inner has uncommitted changes:\n  lib/inner/a\nhint: to see them: git -C lib/inner status; ");
    fs::write(&inner, "a\n").unwrap();
    sandbox.start();
    sandbox
        .step("next", &sandbox.completing("echo edited >lib/inner/a"))
        .exits(3)
        .says("the submodule lib/inner was left with uncommitted changes");
    assert_eq!(fs::read_to_string(inner).unwrap(), "a\n");
}

#[test]
fn submodule_of_a_submodule_comes_back() {
    let commit = "-c user.name=A -c user.email=a@e commit -qam";
    for misdeed in [
        format!(
            "echo b >lib/inner/a; git -C lib/inner {commit} b; git -C lib {commit} b; echo c >lib/inner/a"
        ),
        format!(
            "git -C lib/inner checkout -q --orphan side; git -C lib/inner {commit} b; echo b >lib/inner/new"
        ),
        format!("git -C lib mv inner other; git -C lib {commit} b; echo c >lib/other/a"),
        "rm -rf lib/inner; echo x >lib/inner".to_owned(),
        "rm -rf lib".to_owned(),
    ] {
        let sandbox = Sandbox::new();
        sandbox.add_submodule();
        sandbox.add_submodule_in_lib();
        let heads = || ["lib", "lib/inner"].map(|at| sandbox.git(&["-C", at, "log", "-1", "--format=%H %D"]));
        let (before, head) = (sandbox.files(), heads());
        sandbox.start();
        sandbox.step("next", &sandbox.failing(&misdeed)).exits(3);
        assert_eq!(sandbox.files(), before, "{misdeed}");
        assert_eq!(heads(), head, "{misdeed}");
        sandbox
            .step(
                "retry",
                &sandbox.completing(&format!(
                    "echo b >lib/inner/a; git -C lib/inner {commit} b; git -C lib {commit} b"
                )),
            )
            .exits(0);
        sandbox.ralph(&["abort"]).exits(0);
        assert_eq!(sandbox.files(), before, "{misdeed}");
        assert_eq!(heads(), head, "{misdeed}");
    }
}

#[test]
fn the_reason_why_git_cannot_read_a_submodule_is_shown() {
    for (damage, told) in [
        ("echo x >.git/modules/lib/HEAD", "not a git repository"),
        ("echo x >.git/modules/lib/index", "index file"),
        ("echo '[' >>.git/modules/lib/config", "bad config line"),
        (
            "mv .git/modules/lib .git/modules/gone",
            "its .git leads to no repository",
        ),
    ] {
        let sandbox = Sandbox::new();
        sandbox.add_submodule();
        sandbox.cmd("sh").args(["-c", damage]).run().exits(0);
        let refused = sandbox.ralph(&["start", CHANGE]).exits(1).says(told);
        refused.says("git cannot read the submodule lib");
    }
}

#[test]
fn checkpoint_includes_submodule_commits_and_abort_removes_them() {
    let sandbox = started();
    let before = in_lib(&sandbox, &["rev-parse", "HEAD"]);
    let agent = sandbox.completing(&format!("{GIT} echo b >lib/b; in_lib add b; in_lib commit -qm b"));
    sandbox.step("next", &agent).exits(0);
    let made = in_lib(&sandbox, &["rev-parse", "HEAD"]);
    assert_ne!(made, before);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD:lib"]), made);
    // A later failure goes back to that commit, not to the first one.
    let agent = sandbox.failing(&format!("{GIT} in_lib reset -q --hard HEAD~1"));
    sandbox.step("next", &agent).exits(3);
    assert_eq!(in_lib(&sandbox, &["rev-parse", "HEAD"]), made);
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(in_lib(&sandbox, &["rev-parse", "HEAD"]), before);
    assert_eq!(in_lib(&sandbox, &["status", "--porcelain"]), "");
    assert_eq!(
        in_lib(
            &sandbox,
            &["rev-parse", &format!("refs/ralph/{CHANGE}/finished^")]
        ),
        made
    );
}

#[test]
fn deleted_submodule_comes_back() {
    let sandbox = started();
    let before = sandbox.files();
    let agent = sandbox.failing("rm -rf lib; echo x >lib");
    sandbox.step("next", &agent).exits(3);
    assert_eq!(sandbox.files(), before);
    sandbox.is_at_checkpoint();
    assert_eq!(in_lib(&sandbox, &["status", "--porcelain"]), "");
}

#[test]
fn users_uncommitted_changes_in_a_submodule_stop_the_next_attempt() {
    let sandbox = started();
    sandbox.write("lib/a", "edited\n");
    let agent = sandbox.failing("true");
    sandbox
        .step("next", &agent)
        .exits(7)
        .says("submodule lib has uncommitted changes:\n  lib/a\n");
    assert_eq!(fs::read_to_string(sandbox.top.join("lib/a")).unwrap(), "edited\n");
}

#[test]
fn filters_that_a_submodule_had_at_the_start_are_run() {
    let sandbox = Sandbox::new();
    sandbox.add_submodule();
    sandbox.git(&["-C", "lib", "config", "filter.up.clean", "tr a-z A-Z"]);
    sandbox.git(&["-C", "lib", "config", "filter.up.smudge", "tr A-Z a-z"]);
    sandbox.write(".git/modules/lib/info/attributes", "new filter=up\n");
    sandbox.start();
    sandbox
        .step("next", &sandbox.failing("echo abc >lib/new"))
        .exits(3);
    let kept = sandbox.git(&["-C", "lib", "show", "refs/ralph/add-login/attempts/1/1:new"]);
    assert_eq!(kept, "ABC");
}

#[test]
fn moved_submodule_stays_one_and_keeps_settings_that_run_nothing() {
    let sandbox = started();
    let agent = sandbox.completing(
        "git mv lib moved; git -C moved remote add fork https://example.org/fork.git; git -C moved config core.editor evil",
    );
    sandbox.step("next", &agent).exits(0).says("is put back");
    let dir = sandbox.top.join("moved");
    let lib = |args: &[&str]| sandbox.git_cmd(args).dir(&dir).run();
    assert_eq!(lib(&["status", "--porcelain"]).exits(0).stdout, "");
    assert_eq!(lib(&["remote"]).exits(0).stdout, "fork\norigin\n");
    lib(&["config", "core.editor"]).exits(1);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn moved_submodule_returns_to_its_place() {
    for (promise, code) in [("complete", 0), ("echo mine >moved/mine; failed red", 3)] {
        let sandbox = started();
        let agent = sandbox.agent(&format!("git mv lib moved; {promise}"));
        sandbox.step("next", &agent).exits(code);
        if code == 3 {
            let kept = sandbox.read(".git/ralph/add-login/trash/1.1/moved/mine");
            assert_eq!(kept, "mine\n");
            assert_eq!(in_lib(&sandbox, &["status", "--porcelain"]), "", "{promise}");
        }
        sandbox.ralph(&["abort"]).exits(0);
        assert!(!sandbox.top.join("moved").exists(), "{promise}");
        assert_eq!(in_lib(&sandbox, &["status", "--porcelain"]), "", "{promise}");
        let place = sandbox.top.join("lib").canonicalize().unwrap();
        let shown = in_lib(&sandbox, &["rev-parse", "--show-toplevel"]);
        assert_eq!(shown, place.to_str().unwrap(), "{promise}");
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "{promise}");
        let config = sandbox.read(".git/modules/lib/config");
        assert!(config.contains("worktree = ../../../lib\n"), "{config}");
    }
}

#[test]
fn a_submodule_whose_repository_moves_into_the_others_keeps_it() {
    let sandbox = Sandbox::new();
    sandbox.add_submodule();
    let dir = sandbox.top.join("lib");
    fs::remove_file(dir.join(".git")).unwrap();
    fs::rename(sandbox.top.join(".git/modules/lib"), dir.join(".git")).unwrap();
    let unset = ["config", "--file", "lib/.git/config", "--unset", "core.worktree"];
    sandbox.git(&unset);
    sandbox.start();
    let agent = sandbox.completing("git submodule absorbgitdirs; git -C lib config core.editor evil");
    sandbox.step("next", &agent).exits(0);
    assert!(dir.join(".git").is_file());
    assert_eq!(in_lib(&sandbox, &["status", "--porcelain"]), "");
    let editor = sandbox.git_cmd(&["config", "core.editor"]).dir(&dir).run();
    assert_eq!(editor.code, 1);
}

#[test]
fn status_suggests_a_submodule_update_after_a_kill() {
    let sandbox = started();
    let agent = sandbox.agent(&format!(
        "git -C lib config core.editor evil; sed -i 's|gitdir:.*modules/lib|gitdir: /evil|' .git/ralph/{CHANGE}/slots/1/*.toml
        rm -rf lib; kill -9 $(ps -o ppid= -p $PPID)"
    ));
    sandbox.direct(&["next", "--", &agent]).run().exits(137);
    sandbox
        .ralph(&["status"])
        .exits(0)
        .says("git submodule update --init lib");
    assert!(!sandbox.top.join("lib/.git").exists());
}

#[test]
fn submodule_with_a_missing_work_tree_blocks_no_git_after_a_kill() {
    let sandbox = started();
    let agent =
        sandbox.agent("git -C lib config core.worktree ../../../nowhere; kill -9 $(ps -o ppid= -p $PPID)");
    sandbox.direct(&["next", "--", &agent]).run().exits(137);
    sandbox.ralph(&["status"]).exits(0);
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn step_undoes_settings_that_a_gate_plants_in_a_submodule() {
    let sandbox = started();
    sandbox.configure("ralph.verify", "git -C lib config core.editor evil");
    sandbox
        .step("next", &sandbox.completing("echo x >x"))
        .exits(0)
        .says("was changed during a gate; it is put back");
    let dir = sandbox.top.join("lib");
    sandbox
        .git_cmd(&["config", "core.editor"])
        .dir(&dir)
        .run()
        .exits(1);
}

#[test]
fn a_gate_that_writes_into_a_submodule_fails_no_attempt() {
    let sandbox = Sandbox::new();
    sandbox.add_submodule();
    sandbox.configure("ralph.verify", "[ ! -e work ] || echo built >lib/out.o");
    sandbox.start();
    let agent = sandbox.completing("echo x >>work");
    sandbox
        .ralph(&["run", CHANGE, "--keep", "--", &agent])
        .exits(7)
        .says("after the gates, the submodule lib has uncommitted changes");
    assert_eq!(sandbox.attempts().len(), 1);
    assert_eq!(sandbox.verdict(), "complete");
}

#[test]
fn index_of_a_submodule_comes_back_after_a_kill() {
    let commits = format!("{GIT} echo committed >lib/b; in_lib add b; in_lib commit -qm b; git add lib");
    for verb in ["next", "abort"] {
        let sandbox = started();
        let before = in_lib(&sandbox, &["rev-parse", "HEAD"]);
        if verb == "abort" {
            sandbox.step("next", &sandbox.completing(&commits)).exits(0);
        }
        // Git-ralph is killed between the submodule's files and its index.
        let (git, armed) = (sandbox.git_program(), sandbox.notes.join("armed"));
        fs::write(&armed, "").unwrap();
        let body = format!(
            "case \"$*\" in */lib*read-tree*\" -u \"*) if rm {armed} 2>/dev/null; then\n\
             {git} \"$@\"; kill -9 $PPID; exit 1; fi;; esac\nexec {git} \"$@\"",
            armed = armed.display(),
            git = git.display(),
        );
        sandbox.install("git", &body);
        let failing = sandbox.failing(&commits);
        let args = ["next", "--", &failing];
        let args = if verb == "abort" {
            &["abort", CHANGE]
        } else {
            &args[..]
        };
        sandbox.direct(args).run().exits(137);
        fs::remove_file(sandbox.outside("programs/git")).unwrap();
        fs::write(sandbox.top.join(".git/modules/lib/index.lock"), "").unwrap();
        sandbox.ralph(&["status", CHANGE]).exits(0);
        assert_eq!(in_lib(&sandbox, &["status", "--porcelain"]), "", "{verb}");
        assert_eq!(in_lib(&sandbox, &["rev-parse", "HEAD"]), before, "{verb}");
        if verb == "next" {
            sandbox.step("retry", &sandbox.completing("echo x >x")).exits(0);
        }
    }
}

#[test]
fn revert_undoes_edits_in_a_submodule() {
    let sandbox = started();
    fs::write(sandbox.top.join("lib/a"), "mine\n").unwrap();
    sandbox
        .ralph(&["revert"])
        .exits(0)
        .says("the submodule lib was changed; it is back");
    assert_eq!(in_lib(&sandbox, &["status", "--porcelain"]), "");
    let kept = format!("refs/ralph/{CHANGE}/attempts/1/1:a");
    assert_eq!(in_lib(&sandbox, &["show", &kept]), "mine");
}

#[test]
fn repository_that_a_gate_or_a_reviewer_makes_does_not_stay() {
    let makes = "rm -rf made; git init -q made; echo A >made/f; git init -q src
        git -C made config core.fsmonitor 'touch \"$HOME/ran\"; false'";
    for key in ["ralph.verify", "ralph.review"] {
        let sandbox = Sandbox::new();
        sandbox.write("src/a", "a\n");
        sandbox.git(&["add", "src/a"]);
        sandbox.git(&["commit", "-qm", "a"]);
        let accepts = format!("cat >\"$notes/review\"; {makes}; accept");
        let command = match key {
            "ralph.verify" => format!("[ ! -e made ] || {{ {makes}; }}"),
            _ => sandbox.agent(&accepts),
        };
        sandbox.configure(key, &command);
        sandbox.start();
        let agent = sandbox.completing("mkdir made; echo A >made/f");
        sandbox
            .step("next", &agent)
            .exits(0)
            .says("repositories were made among the files while gates or a reviewer ran");
        assert!(!sandbox.top.join("made/.git").exists(), "{key}");
        assert!(!sandbox.top.join("src/.git").exists(), "{key}");
        assert_eq!(sandbox.git(&["show", "HEAD:made/f"]), "A", "{key}");
        sandbox.ralph(&["finish", "--cleanup"]).exits(0);
        sandbox.git(&["add", "-A"]);
        assert!(!sandbox.outside("home/ran").exists(), "{key}");
    }
}

/// Removes the tree of the commit that is checked out in the submodule, without which git reads nothing there.
const BREAK: &str =
    "dir=$(git -C lib rev-parse --absolute-git-dir); tree=$(git -C lib rev-parse 'HEAD^{tree}')
    rm -f \"$dir/objects/$(echo $tree | cut -c 1-2)/$(echo $tree | cut -c 3-)\"\n";

#[test]
fn submodule_that_git_cannot_read_stops_no_command_but_attempts() {
    let sandbox = started();
    let before = sandbox.files();
    sandbox
        .step("next", &sandbox.completing(&format!("{BREAK}echo x >x")))
        .exits(3)
        .says("git cannot read the submodule lib");
    assert_eq!(sandbox.files(), before);
    assert_eq!(
        sandbox.git(&["show", &format!("refs/ralph/{CHANGE}/attempts/1/1:x")]),
        "x"
    );
    sandbox.ralph(&["status"]).exits(0);
    sandbox.ralph(&["log"]).exits(0);
    sandbox
        .step("retry", &sandbox.completing("echo x >x"))
        .exits(1)
        .says("if objects are missing: git -C lib fetch --refetch");
    sandbox
        .ralph(&["abort"])
        .exits(0)
        .says("git cannot read the submodule lib");
    assert_eq!(sandbox.files(), before);
}

#[test]
fn programs_that_an_attempt_names_for_a_missing_object_do_not_run() {
    let sandbox = started();
    let kill = "git -C lib config core.repositoryFormatVersion 1
        git -C lib config extensions.partialClone evil
        git -C lib config remote.evil.url \"$(git -C lib config remote.origin.url)\"
        git -C lib config remote.evil.uploadpack 'touch \"$HOME/ran\"; git-upload-pack'
        kill -9 $(ps -o ppid= -p $PPID)";
    let killer = sandbox.agent(&format!("{BREAK}{kill}"));
    sandbox.direct(&["next", "--", &killer]).run().exits(137);
    sandbox.ralph(&["status"]).exits(0);
    sandbox.ralph(&["log"]).exits(0);
    sandbox.ralph(&["next", "--dry-run"]);
    sandbox.ralph(&["abort"]).exits(0);
    assert!(!sandbox.outside("home/ran").exists());
}
