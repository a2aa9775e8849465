//! `git ralph run`, and what else needs the loop's list, while HEAD is on another branch.

use std::fs;

use crate::support::{CHANGE, Sandbox, TASKS};

#[test]
fn list_of_another_branch_says_nothing_about_a_loop() {
    let sandbox = Sandbox::new();
    sandbox.git(&["checkout", "-q", "-b", "ticked"]);
    sandbox.write(TASKS, &sandbox.read(TASKS).replace("[ ]", "[x]"));
    sandbox.git(&["commit", "-qam", "ticked"]);
    sandbox.git(&["checkout", "-q", "main"]);
    let agent = sandbox.agent("echo x >x$RALPH_STORY; test $RALPH_STORY = 1 && complete || failed no");
    let run = |args: &[&str]| sandbox.ralph(&[args, &["--max-retries=0", "--", &agent]].concat());
    run(&["run", CHANGE]).exits(4);
    sandbox.git(&["checkout", "-q", "ticked"]);
    for words in [
        &["run", CHANGE] as &[&str],
        &["run", CHANGE, "--keep"],
        &["run", CHANGE, "--on-failure=skip"],
        &["next", CHANGE],
        &["retry", CHANGE],
    ] {
        run(words)
            .exits(7)
            .says("HEAD is on ticked, not on ralph/add-login");
    }
    for words in [&["skip", CHANGE] as &[&str], &["prompt", CHANGE]] {
        sandbox.ralph(words).exits(7);
    }
    let stories = sandbox.ralph(&["stories", CHANGE]).exits(0).stdout;
    assert!(stories.contains("1 of 3 complete"), "{stories}");
    let started = sandbox.ralph(&["start", CHANGE]).exits(0).stdout;
    assert!(
        started.contains("ralph/add-login is not checked out"),
        "{started}"
    );
    sandbox.git(&["checkout", "-q", "ralph/add-login"]);
    assert_eq!(sandbox.status()["stories_done"], 1);
    run(&["run", CHANGE]).exits(4);
}

#[test]
fn operation_in_progress_is_named_by_each_command() {
    let sandbox = Sandbox::started();
    sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
    sandbox.write("base", "one\n");
    sandbox.git(&["add", "base"]);
    sandbox.git(&["commit", "-qm", "one"]);
    sandbox.git(&["checkout", "-q", "-b", "side", "HEAD~1"]);
    sandbox.write("base", "two\n");
    sandbox.git(&["add", "base"]);
    sandbox.git(&["commit", "-qm", "two"]);
    let patch = sandbox.git(&["format-patch", "-1", "--stdout"]);
    let patch_file = sandbox.notes.join("patch");
    fs::write(&patch_file, format!("{patch}\n")).unwrap();
    sandbox.git(&["checkout", "-q", "ralph/add-login"]);
    let agent = sandbox.completing("true");
    for (operation, begin, end) in [
        ("a merge is", &["merge", "side"] as &[&str], &["merge", "--abort"]),
        ("a rebase is", &["rebase", "side"], &["rebase", "--abort"]),
        (
            "an am session is",
            &["am", patch_file.to_str().unwrap()],
            &["am", "--abort"],
        ),
    ] {
        assert_ne!(sandbox.git_cmd(begin).run().code, 0, "{begin:?}");
        let words = format!("{operation} in progress here");
        for verb in [
            &["next", "--", &agent] as &[&str],
            &["next", "--dry-run", "--", &agent],
            &["run", CHANGE, "--", &agent],
            &["complete"],
            &["redo", "1"],
            &["finish", "--cleanup"],
            &["abort"],
        ] {
            sandbox.ralph(verb).exits(1).says(&words);
        }
        let status = sandbox.ralph(&["status", CHANGE]).exits(0).stdout;
        assert!(status.contains(&words), "{status}");
        assert!(
            status.ends_with("  (use \"git status\" to see how to end it)\n"),
            "{status}"
        );
        sandbox.git(end);
    }
    sandbox.ralph(&["next", "--", &agent]).exits(0);
}

#[test]
fn loop_on_a_detached_head_goes_on_after_a_commit_of_the_users() {
    let sandbox = Sandbox::new();
    sandbox.git(&["checkout", "-q", "--detach"]);
    sandbox.ralph(&["start", CHANGE, "--strategy=stash"]).exits(0);
    let agent = sandbox.completing("echo x >x$RALPH_STORY");
    sandbox.ralph(&["next", CHANGE, "--", &agent]).exits(0);
    sandbox.write("mine", "x\n");
    sandbox.git(&["add", "mine"]);
    sandbox.git(&["commit", "-qm", "mine"]);
    sandbox
        .ralph(&["run", CHANGE, "--dry-run", "--", &agent])
        .exits(0);
    // The commit may be on no branch: no hint leads away from it.
    let redo = sandbox.ralph(&["redo", CHANGE, "1"]);
    assert!(!redo.stderr.contains("git checkout"), "{}", redo.stderr);
    sandbox.ralph(&["run", CHANGE, "--", &agent]).exits(0);
}

#[test]
fn dry_run_shows_the_loop_that_follows_one_that_is_over() {
    let sandbox = Sandbox::started();
    sandbox.ralph(&["abort"]).exits(0);
    let shown = sandbox
        .ralph(&["run", CHANGE, "--dry-run", "--", "true"])
        .exits(0)
        .stdout;
    assert!(shown.contains("0 of 3 complete"), "{shown}");
}

#[test]
fn dry_run_shows_the_limits_that_are_typed() {
    let sandbox = Sandbox::new();
    let run = "run --dry-run --max-duration 1h --max-attempts 7 --max-cost 2";
    let run = |more: &[&str]| {
        let words: Vec<&str> = run
            .split(' ')
            .chain([CHANGE])
            .chain(more.iter().copied())
            .collect();
        sandbox
            .ralph(&[&words[..], &["--", "true"]].concat())
            .exits(0)
            .stdout
    };
    let shown =
        "time limit of the loop: 1h\nattempts of the loop: at most 7\ncost of the loop: at most $2.00\n";
    for _ in ["without a loop", "in a loop"] {
        assert!(run(&[]).contains(shown), "{}", run(&[]));
        assert!(
            run(&["--keep", "--json"]).contains("\"finish\": \"keep\""),
            "{}",
            run(&["--keep", "--json"])
        );
        sandbox.ralph(&["start", CHANGE]);
    }
}

#[test]
fn revert_ends_no_rebase_of_another_branch() {
    let sandbox = Sandbox::started();
    sandbox.git(&["checkout", "-q", "-b", "topic", "main"]);
    let rebase = sandbox
        .git_cmd(&["rebase", "-q", "-i", "HEAD"])
        .env("GIT_SEQUENCE_EDITOR", "echo break >");
    rebase.run().exits(0);
    sandbox
        .ralph(&["revert", CHANGE])
        .exits(1)
        .says("a rebase is in progress here");
    sandbox.git(&["rebase", "--continue"]);
    assert_eq!(sandbox.git(&["branch", "--show-current"]), "topic");
}
