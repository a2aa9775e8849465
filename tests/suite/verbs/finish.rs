//! `git ralph finish`: the work comes back uncommitted, or stays; a conflict changes nothing.

use crate::support::{CHANGE, Print, Sandbox};

/// A loop with one finished story and one failed attempt.
fn half_way() -> Sandbox {
    let sandbox = Sandbox::dirty();
    sandbox.start();
    let agent = sandbox.completing(
        "echo new >new.txt; mkdir -p more; echo x >more/deep; rm src/deep/er/file.txt; echo edited >>README.md
         git add new.txt; git commit -qm 'by the agent'; chmod +x src/lib.txt",
    );
    sandbox.step("next", &agent).exits(0);
    let agent = sandbox.failing("echo mess >mess; rm -r src");
    sandbox.step("next", &agent).exits(3);
    sandbox
}

fn has_branch(sandbox: &Sandbox) -> bool {
    let args = ["rev-parse", "-q", "--verify", "refs/heads/ralph/add-login"];
    sandbox.git_cmd(&args).run().code == 0
}

#[test]
fn cleanup_brings_everything_back_uncommitted() {
    let sandbox = half_way();
    let main = sandbox.git(&["rev-parse", "main"]);
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    let (files, mtimes) = (sandbox.files(), sandbox.mtimes());
    sandbox
        .ralph(&["finish", "--cleanup"])
        .exits(0)
        .says("on main again, with all changes uncommitted")
        .answers_nothing();
    assert_eq!((sandbox.files(), sandbox.mtimes()), (files, mtimes));
    assert_eq!(sandbox.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), main);
    assert_eq!(sandbox.git(&["diff", "--cached", "--name-only"]), "");
    let status = sandbox.git(&["status", "--porcelain"]);
    for line in [
        " M README.md",
        " D old.txt",
        " M src/lib.txt",
        " D src/deep/er/file.txt",
        "?? new.txt",
        "?? more/",
        "?? notes/",
        "?? \"staged new.txt\"",
    ] {
        assert!(status.lines().any(|have| have == line), "{line} in:\n{status}");
    }
    assert!(!status.contains(".env"));
    assert!(!has_branch(&sandbox));
    assert_eq!(sandbox.git(&["rev-parse", "refs/ralph/add-login/finished"]), tip);
    assert_eq!(sandbox.status()["phase"], "finished");
    assert_eq!(sandbox.status()["next"], "start");
    for args in [
        &["finish", "--cleanup", CHANGE][..],
        &["complete", CHANGE],
        &["fail", CHANGE],
    ] {
        sandbox
            .ralph(args)
            .exits(1)
            .says("loop 'add-login' is over: closed");
    }
}

#[test]
fn keep_moves_nothing() {
    let sandbox = half_way();
    let print = sandbox.print();
    sandbox.ralph(&["finish", "--keep"]).exits(0);
    let after = sandbox.print();
    assert_eq!(
        (&after.files, &after.index, &after.head),
        (&print.files, &print.index, &print.head)
    );
    assert!(has_branch(&sandbox));
    assert_eq!(
        sandbox.git(&["rev-parse", "HEAD"]),
        sandbox.git(&["rev-parse", "refs/ralph/add-login/finished"])
    );
    sandbox.step("next", "true").exits(1).says("is over: closed");
}

#[test]
fn a_choice_is_an_option_or_a_word() {
    for (args, is_kept) in [
        (&["finish", "--cleanup", CHANGE][..], false),
        (&["finish", "keep"], true),
    ] {
        let sandbox = Sandbox::new();
        sandbox.start();
        sandbox.ralph(args).exits(0);
        assert_eq!(has_branch(&sandbox), is_kept, "{args:?}");
        assert_eq!(sandbox.status()["phase"], "finished", "{args:?}");
    }
}

#[test]
fn finish_does_nothing_without_a_choice_and_a_terminal() {
    let sandbox = half_way();
    let (print, state) = (sandbox.print(), sandbox.state());
    for args in [&["finish"][..], &["finish", CHANGE]] {
        sandbox
            .ralph(args)
            .exits(2)
            .says("choose --cleanup or --keep")
            .says("git ralph finish --cleanup add-login, or: git ralph finish --keep add-login")
            .answers_nothing();
    }
    assert_eq!((sandbox.print(), sandbox.state()), (print, state));
    let empty = Sandbox::new();
    empty
        .ralph(&["finish"])
        .exits(1)
        .says("no loop has been started in this repository");
}

#[test]
fn finish_asks_for_the_choice_on_a_terminal() {
    let sandbox = half_way();
    let state = sandbox.state();
    let question = "[q]uit: ";
    let answers = [(question, "what?\n"), (question, "\n")];
    let seen = sandbox.ralph_cmd(&["finish"]).answering(&answers).exits(0).stdout;
    for words in ["1 of 3 stories are complete", "return to main"] {
        assert!(seen.contains(words), "{words:?} in {seen}");
    }
    assert_eq!(sandbox.state(), state);
    sandbox
        .ralph_cmd(&["finish"])
        .answering(&[(question, "c\n")])
        .exits(0);
    assert!(!has_branch(&sandbox));
    let sandbox = half_way();
    sandbox
        .ralph_cmd(&["finish"])
        .answering(&[(question, "keep\n")])
        .exits(0);
    assert!(has_branch(&sandbox));
    assert_eq!(sandbox.status()["phase"], "finished");
}

/// Commits to a branch that is not checked out.
fn commit_elsewhere(sandbox: &Sandbox, branch: &str, path: &str, content: &str) {
    let linked = sandbox.outside("elsewhere");
    let linked_text = linked.to_str().unwrap();
    sandbox.git(&["worktree", "add", "-q", "-f", linked_text, branch]);
    std::fs::write(linked.join(path), content).unwrap();
    let git = |args: &[&str]| sandbox.git_cmd(args).dir(&linked).run().exits(0);
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "meanwhile"]);
    sandbox.git(&["worktree", "remove", linked_text]);
}

#[test]
fn cleanup_merges_with_an_original_branch_that_moved() {
    let sandbox = half_way();
    commit_elsewhere(&sandbox, "main", "meanwhile.txt", "theirs\n");
    let main = sandbox.git(&["rev-parse", "main"]);
    let mut files = sandbox.files();
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    files.insert("meanwhile.txt".into(), "100644 theirs\n".to_owned());
    assert_eq!(sandbox.files(), files);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), main);
    assert_eq!(sandbox.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!(sandbox.git(&["diff", "--cached", "--name-only"]), "");
    assert_eq!(sandbox.git(&["status", "--porcelain", "meanwhile.txt"]), "");
    assert!(!has_branch(&sandbox));
}

#[test]
fn a_shallow_history_is_merged_too() {
    let sandbox = Sandbox::new();
    let origin = sandbox.outside("origin");
    let url = format!("file://{}", origin.display());
    sandbox.git(&["clone", "-q", "--bare", ".", origin.to_str().unwrap()]);
    sandbox.git(&["remote", "add", "origin", &url]);
    sandbox.git(&["fetch", "-q", "--depth=1", "origin", "main"]);
    sandbox.start();
    sandbox
        .step("next", &sandbox.completing("echo mine > mine.txt"))
        .exits(0);
    commit_elsewhere(&sandbox, "main", "theirs.txt", "theirs\n");
    sandbox.git(&["push", "-q", "origin", "main"]);
    sandbox.git(&["fetch", "-q", "--depth=1", "origin", "+main:refs/heads/main"]);
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    assert_eq!(sandbox.read("theirs.txt"), "theirs\n");
    assert_eq!(sandbox.read("mine.txt"), "mine\n");
}

#[test]
fn missing_objects_stop_finish_before_any_change() {
    let sandbox = Sandbox::new();
    let origin = sandbox.outside("origin");
    sandbox.git(&["clone", "-q", "--bare", ".", origin.to_str().unwrap()]);
    sandbox
        .git_cmd(&["config", "uploadpack.allowFilter", "true"])
        .dir(&origin)
        .run()
        .exits(0);
    let url = format!("file://{}", origin.display());
    sandbox.git(&["remote", "add", "origin", &url]);
    sandbox.start();
    sandbox
        .step("next", &sandbox.completing("echo mine >> README.md"))
        .exits(0);
    let other = sandbox.outside("other");
    sandbox.git(&["clone", "-q", &url, other.to_str().unwrap()]);
    let there = |args: &[&str]| sandbox.git_cmd(args).dir(&other).run().exits(0);
    std::fs::write(other.join("README.md"), "# Theirs\n\n# Standard\n").unwrap();
    there(&[
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "commit",
        "-qam",
        "theirs",
    ]);
    there(&["push", "-q", "origin", "main"]);
    sandbox.git(&[
        "fetch",
        "-q",
        "--filter=blob:none",
        "origin",
        "+main:refs/heads/main",
    ]);
    std::fs::rename(&origin, sandbox.outside("away")).unwrap();
    let print = sandbox.print();
    let output = sandbox.ralph(&["finish", "--cleanup"]);
    assert!([1, 7].contains(&output.code), "{}", output.stderr);
    assert_eq!(sandbox.print(), print);
    std::fs::rename(sandbox.outside("away"), &origin).unwrap();
    let output = sandbox.ralph(&["finish", "--cleanup"]);
    assert!([0, 7].contains(&output.code), "{}", output.stderr);
}

#[test]
fn a_loop_outlives_its_linked_work_tree() {
    let sandbox = Sandbox::new();
    let linked = sandbox.outside("linked");
    sandbox.git(&["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap()]);
    let there = |args: &[&str]| sandbox.ralph_cmd(args).dir(&linked).run().exits(0);
    there(&["start", "add-login"]);
    let agent = sandbox.completing("echo mine > mine.txt");
    there(&["next", "--", &agent]);
    sandbox.git(&["worktree", "remove", "--force", linked.to_str().unwrap()]);
    assert_eq!(sandbox.git(&["show", "ralph/add-login:mine.txt"]), "mine");
    assert_eq!(sandbox.status()["phase"], "ready");
    sandbox.git(&[
        "worktree",
        "add",
        "-q",
        linked.to_str().unwrap(),
        "ralph/add-login",
    ]);
    there(&["finish", "--cleanup"]);
    assert_eq!(
        std::fs::read_to_string(linked.join("mine.txt")).unwrap(),
        "mine\n"
    );
}

#[test]
fn a_conflict_touches_nothing() {
    let sandbox = half_way();
    commit_elsewhere(&sandbox, "main", "README.md", "# Theirs\n");
    commit_elsewhere(&sandbox, "main", "new.txt", "theirs too\n");
    let (print, mtimes, state) = (sandbox.print(), sandbox.mtimes(), sandbox.state());
    sandbox
        .ralph(&["finish", "--cleanup"])
        .exits(7)
        .says("conflicts with the loop in\n  README.md\n  new.txt")
        .says("hint: git ralph finish --keep add-login");
    assert_eq!((sandbox.print(), sandbox.mtimes()), (print, mtimes));
    let (mut now, mut was) = (sandbox.state(), state);
    now.remove("intent");
    was.remove("intent");
    assert_eq!(now, was);
    sandbox.ralph(&["finish", "--keep"]).exits(0);
}

#[test]
fn finish_never_overwrites_an_ignored_file() {
    let sandbox = half_way();
    sandbox.write("mine.log", "mine\n");
    let linked = sandbox.outside("elsewhere");
    let linked_text = linked.to_str().unwrap();
    sandbox.git(&["worktree", "add", "-q", "-f", linked_text, "main"]);
    std::fs::write(linked.join("mine.log"), "theirs\n").unwrap();
    let git = |args: &[&str]| sandbox.git_cmd(args).dir(&linked).run().exits(0);
    git(&["add", "-f", "mine.log"]);
    git(&["commit", "-q", "-m", "meanwhile"]);
    sandbox.git(&["worktree", "remove", linked_text]);
    let print = sandbox.print();
    sandbox
        .ralph(&["finish", "--cleanup"])
        .exits(7)
        .says("the new commits of main would overwrite these files")
        .says("mine.log");
    assert_eq!(sandbox.print(), print);
    assert_eq!(sandbox.read("mine.log"), "mine\n");
}

#[test]
fn cleanup_refuses_if_the_original_branch_is_gone_or_in_use() {
    let sandbox = half_way();
    let oid = sandbox.git(&["rev-parse", "main"]);
    sandbox.git(&["branch", "-q", "-D", "main"]);
    let print = sandbox.print();
    sandbox
        .ralph(&["finish", "--cleanup"])
        .exits(7)
        .says("branch main no longer exists")
        .says(&format!("hint: git branch main {oid}"));
    assert_eq!(sandbox.print(), print);
    sandbox.git(&["branch", "main", &oid]);
    let linked = sandbox.outside("linked");
    sandbox.git(&["worktree", "add", "-q", linked.to_str().unwrap(), "main"]);
    let (here, there) = (sandbox.print(), Print::of(&sandbox, &linked));
    sandbox
        .ralph(&["finish", "--cleanup"])
        .exits(7)
        .says("main is checked out in")
        .says("hint: git -C ");
    assert_eq!((sandbox.print(), Print::of(&sandbox, &linked)), (here, there));
    sandbox.git(&["worktree", "remove", linked.to_str().unwrap()]);
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
}

#[test]
fn cleanup_refuses_if_the_original_branch_got_its_first_commit() {
    let sandbox = Sandbox::empty();
    std::fs::create_dir(&sandbox.top).unwrap();
    sandbox.git(&["init", "-q", "--initial-branch=trunk"]);
    sandbox.write(crate::support::TASKS, "- [ ] 1.1 One\n");
    sandbox.start();
    sandbox.git(&["branch", "trunk"]);
    let print = sandbox.print();
    sandbox
        .ralph(&["finish", "--cleanup"])
        .exits(7)
        .says("had no commit when the loop began");
    assert_eq!(sandbox.print(), print);
}

#[test]
fn merge_settings_of_the_user_do_not_break_finish() {
    let sandbox = half_way();
    for (key, value) in [
        ("merge.ff", "only"),
        ("branch.main.mergeOptions", "--no-commit --strategy=octopus"),
        ("merge.verifySignatures", "true"),
        ("merge.conflictStyle", "zdiff3"),
        ("commit.gpgsign", "true"),
        ("gpg.program", "false"),
        ("pull.rebase", "true"),
    ] {
        sandbox.configure(key, value);
    }
    for hook in [
        "post-checkout",
        "pre-merge-commit",
        "post-merge",
        "pre-commit",
        "reference-transaction",
    ] {
        sandbox.hook(hook, "exit 1");
    }
    let files = sandbox.files();
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    assert_eq!(sandbox.files(), files);
    assert!(!has_branch(&sandbox));
}

#[test]
fn edits_made_by_hand_come_back_too() {
    let sandbox = half_way();
    sandbox.write("by-hand.txt", "mine\n");
    sandbox.write("README.md", "# By hand\n");
    let files = sandbox.files();
    sandbox.ralph(&["finish", "cleanup"]).exits(0);
    assert_eq!(sandbox.files(), files);
}

#[test]
fn cleanup_after_the_last_retry_brings_back_finished_stories() {
    let sandbox = half_way();
    let agent = sandbox.failing("echo mess >mess; rm -r more");
    for code in [3, 3, 4] {
        sandbox.step("retry", &agent).exits(code);
    }
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    assert_eq!(sandbox.read("more/deep"), "x\n");
    assert!(!sandbox.top.join("mess").exists());
    let tasks = sandbox.read(crate::support::TASKS);
    assert_eq!(tasks.matches("[x]").count(), 2);
    let kept = "refs/ralph/add-login/attempts/2/4:mess";
    assert_eq!(sandbox.git(&["show", kept]), "mess");
}

#[test]
fn finish_refuses_while_head_is_on_another_branch() {
    let sandbox = half_way();
    sandbox.git(&["checkout", "-q", "main"]);
    let print = sandbox.print();
    sandbox
        .ralph(&["finish", "--cleanup", CHANGE])
        .exits(7)
        .says("HEAD is on main, not on ralph/add-login");
    assert_eq!(sandbox.print(), print);
}

#[test]
fn a_finished_change_can_be_started_again() {
    let sandbox = half_way();
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    let files = sandbox.files();
    sandbox.start();
    assert_eq!(sandbox.files(), files);
    let status = sandbox.status();
    assert_eq!(
        (&status["stories_done"], &status["phase"]),
        (&1.into(), &"ready".into())
    );
    assert_eq!(status["current"]["id"], "2");
    let agent = sandbox.failing("true");
    sandbox.step("next", &agent).exits(3);
    // The attempts of the loop before are still kept.
    assert_eq!(
        sandbox.git(&["show", "refs/ralph/add-login/attempts/2/1:mess"]),
        "mess"
    );
}

#[test]
fn finish_can_stage_again_what_the_loop_did_not_change() {
    let sandbox = Sandbox::new();
    sandbox.write("README.md", "staged\n");
    sandbox.write("touched.txt", "staged\n");
    sandbox.git(&["add", "-A"]);
    sandbox.write("README.md", "staged, and edited\n");
    sandbox.start();
    sandbox
        .step("next", &sandbox.completing("echo agent >> touched.txt"))
        .exits(0);
    sandbox.ralph(&["finish", "--cleanup", "--index"]).exits(0);
    assert_eq!(sandbox.git(&["show", ":README.md"]), "staged");
    assert_eq!(sandbox.git(&["diff", "--cached", "--name-only"]), "README.md");
    assert_eq!(sandbox.read("README.md"), "staged, and edited\n");
    assert_eq!(sandbox.read("touched.txt"), "staged\nagent\n");
}

#[test]
fn the_intent_to_add_a_file_is_staged_again() {
    let sandbox = Sandbox::new();
    for name in ["intended", "*.x", "gone"] {
        sandbox.write(name, "mine\n");
        sandbox.git(&["--literal-pathspecs", "add", "-N", name]);
    }
    let before = sandbox.git(&["status", "--porcelain", "intended", ":(literal)*.x"]);
    sandbox.start();
    sandbox.step("next", &sandbox.completing("rm gone")).exits(0);
    sandbox.ralph(&["finish", "--cleanup", "--index"]).exits(0);
    assert_eq!(
        sandbox.git(&["status", "--porcelain", "intended", ":(literal)*.x"]),
        before
    );
    assert!(before.contains(" A intended"), "{before}");
    assert!(!sandbox.git(&["ls-files"]).contains("gone"));
}

#[test]
fn end_keeps_a_checkpoint_that_the_branch_no_longer_has() {
    for end in [&["finish", "--cleanup"][..], &["finish", "--keep"], &["abort"]] {
        let sandbox = Sandbox::new();
        sandbox.start();
        sandbox
            .step("next", &sandbox.completing("echo made >made"))
            .exits(0);
        let checkpoint = sandbox.git(&["rev-parse", "HEAD"]);
        sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
        sandbox
            .ralph(end)
            .exits(0)
            .says("ralph/add-login no longer has the last checkpoint, which is kept: git log refs/ralph/add-login/replaced/");
        let kept = sandbox.git(&["for-each-ref", "--points-at", &checkpoint, "refs/ralph"]);
        assert!(!kept.is_empty(), "{end:?}");
    }
}
