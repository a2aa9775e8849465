//! `git ralph restore`: a kept attempt's work back in the work tree.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use crate::support::Sandbox;

#[test]
fn failed_work_comes_back_and_can_be_completed() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox
        .step(
            "next",
            &sandbox.failing("echo good > good.txt; rm README.md; mkdir d; echo x > d/x"),
        )
        .exits(3);
    sandbox
        .ralph(&["restore", "1@1"])
        .exits(0)
        .says("git ralph complete add-login")
        .answers_nothing();
    let status = sandbox.git(&["status", "--porcelain", "-uall"]);
    assert_eq!(status, " D README.md\n?? d/x\n?? good.txt");
    sandbox.ralph(&["complete"]).exits(0);
    assert_eq!(sandbox.git(&["show", "HEAD:good.txt"]), "good");
    sandbox.is_at_checkpoint();
}

#[test]
fn restore_overwrites_nothing() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox
        .step("next", &sandbox.failing("echo theirs > new.txt"))
        .exits(3);
    sandbox.write("new.txt", "mine\n");
    let print = sandbox.print();
    sandbox
        .ralph(&["restore", "1@1"])
        .exits(1)
        .says("has changed since the last checkpoint")
        .says("git ralph revert");
    assert_eq!(sandbox.print(), print);
    sandbox.write(".git/info/exclude", "new.txt\n");
    let print = sandbox.print();
    sandbox
        .ralph(&["restore", "1@1"])
        .exits(7)
        .says("attempt 1@1 would overwrite these files")
        .says("new.txt");
    assert_eq!(sandbox.print(), print);
    sandbox
        .ralph(&["restore", "1@7"])
        .exits(1)
        .says("there is no saved attempt 1@7");
    sandbox.ralph(&["complete"]).exits(0);
    sandbox
        .ralph(&["restore", "1@2"])
        .exits(1)
        .says("attempt 1@2 is complete: its work is in a checkpoint")
        .says("git ralph redo add-login 1");
}

#[test]
fn files_come_back_where_directories_and_links_were() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.failing("rm -r src/deep; echo file > src/deep; rm link; mkdir link; echo x > link/x");
    sandbox.step("next", &agent).exits(3);
    sandbox.ralph(&["restore", "1@1"]).exits(0);
    assert_eq!(sandbox.read("src/deep"), "file\n");
    assert_eq!(sandbox.read("link/x"), "x\n");
    sandbox.ralph(&["revert"]).exits(0);
    sandbox.is_at_checkpoint();
    sandbox.write("src/deep/mine.log", "ignored\n");
    let print = sandbox.print();
    sandbox
        .ralph(&["restore", "1@1"])
        .exits(7)
        .says("attempt 1@1 would overwrite these files")
        .says("src/deep");
    assert_eq!(sandbox.print(), print);
}

#[test]
fn work_of_an_earlier_checkpoint_is_put_on_top_of_the_present_one() {
    for strategy in ["branch", "stash"] {
        let sandbox = Sandbox::new();
        sandbox.configure("ralph.strategy", strategy);
        sandbox.configure("ralph.maxRetries", "0");
        let agent = sandbox.agent("echo x >x$RALPH_STORY; test $RALPH_STORY = 1 && failed no || complete");
        let run = [
            "run",
            "add-login",
            "--on-failure",
            "later",
            "--max-attempts",
            "2",
            "--",
            &agent,
        ];
        sandbox.ralph(&run).exits(6);
        let print = sandbox.print();
        // The work would become the checkpoint of story 3.
        sandbox
            .ralph(&["restore", "1@1"])
            .exits(1)
            .says("story 1 is skipped or put off")
            .says("hint: git ralph skip --undo add-login 1");
        assert_eq!(sandbox.print(), print, "{strategy}");
        sandbox.ralph(&["skip", "--undo", "add-login", "1"]).exits(0);
        let list = sandbox.read("openspec/changes/add-login/tasks.md");
        sandbox.ralph(&["restore", "1@1"]).exits(0);
        assert_eq!(sandbox.read("openspec/changes/add-login/tasks.md"), list);
        assert_eq!(
            (sandbox.read("x1"), sandbox.read("x2")),
            ("x\n".to_owned(), "x\n".to_owned())
        );
        sandbox.ralph(&["complete"]).exits(0);
        assert_eq!(
            (sandbox.read("x1"), sandbox.read("x2")),
            ("x\n".to_owned(), "x\n".to_owned())
        );
        let status = sandbox.status();
        assert_eq!(
            (&status["stories_done"], &status["current"]["id"]),
            (&2.into(), &"3".into()),
            "{strategy}"
        );
    }
}

#[test]
fn work_on_a_file_that_a_later_checkpoint_changed_is_not_restored() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.maxRetries", "0");
    let agent = sandbox.agent("echo $RALPH_STORY >same; test $RALPH_STORY = 1 && failed no || complete");
    let run = [
        "run",
        "add-login",
        "--on-failure",
        "later",
        "--max-attempts",
        "2",
        "--",
        &agent,
    ];
    sandbox.ralph(&run).exits(6);
    sandbox.ralph(&["skip", "--undo", "add-login", "1"]).exits(0);
    let print = sandbox.print();
    let output = sandbox
        .ralph(&["restore", "1@1"])
        .exits(7)
        .says("changed in a checkpoint since")
        .says("  same");
    assert_eq!(sandbox.print(), print);
    // The command of the hint can be typed.
    let hint = output
        .stderr
        .split("to apply it yourself: ")
        .nth(1)
        .unwrap()
        .trim();
    let applied = sandbox.cmd("sh").args(["-c", hint]).run();
    assert!(applied.stderr.contains("same"), "{}", applied.stderr);
}

#[test]
fn attempt_of_a_loop_that_is_over_is_named_with_the_command_that_applies_it() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let failing = sandbox.failing("echo good >good.txt; echo more >>README.md");
    sandbox.step("next", &failing).exits(3);
    sandbox.ralph(&["abort"]).exits(0);
    let print = sandbox.print();
    let hints = ["1", "1@1"].map(|word| {
        let output = sandbox.ralph(&["restore", word]).exits(1);
        let output = output.says("loop 'add-login' is over: closed by git ralph abort");
        let hint = output
            .stderr
            .split("hint: to apply 1@1 yourself: ")
            .nth(1)
            .unwrap();
        hint.to_owned()
    });
    assert_eq!((&hints[0], sandbox.print()), (&hints[1], print));
    // The command of the hint can be typed.
    let command = hints[0].split(';').next().unwrap();
    sandbox.cmd("sh").args(["-c", command]).run().exits(0);
    assert_eq!(sandbox.read("good.txt"), "good\n");
    assert!(sandbox.read("README.md").ends_with("more\n"));
    sandbox
        .ralph(&["restore", "1@7"])
        .exits(1)
        .says("there is no saved attempt 1@7");
}

#[test]
fn restored_work_of_a_complete_story_is_not_offered_as_the_next_one() {
    let sandbox = Sandbox::started();
    sandbox.step("next", &sandbox.failing("echo bad >bad")).exits(3);
    sandbox.write("mine", "mine\n");
    sandbox
        .ralph(&["restore", "1@1"])
        .exits(1)
        .says("hint: put the changes aside: git stash -u; or undo them");
    sandbox.git(&["stash", "-q", "-u"]);
    sandbox
        .ralph(&["restore", "1@1"])
        .exits(0)
        .says("the work of 1@1 is back; to make it the story's checkpoint: git ralph complete add-login");
    sandbox.ralph(&["revert"]).exits(0);
    sandbox.step("retry", &sandbox.completing("echo x >x")).exits(0);
    let words = "the work of 1@1 is back, as your own edit: story 1 is not the next one\n";
    sandbox.ralph(&["restore", "1@1"]).exits(0).says(words);
}

#[test]
fn restore_in_a_loop_that_is_over_offers_what_still_works() {
    let sandbox = Sandbox::started();
    sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
    sandbox
        .ralph(&["restore", "1@1"])
        .exits(1)
        .says("hint: to do the story again: git ralph redo add-login 1");
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    sandbox
        .ralph(&["restore", "1@1"])
        .exits(1)
        .says("hint: the loop's end kept the work of 1@1; to see it: git ralph diff add-login 1@1");
    sandbox.ralph(&["diff", "1@1"]).exits(0);
}

#[test]
fn attempt_that_began_on_undone_files_is_offered_on_a_branch() {
    let sandbox = Sandbox::started();
    sandbox.step("next", &sandbox.completing("echo one >x")).exits(0);
    sandbox.step("next", &sandbox.failing("echo two >>x")).exits(3);
    sandbox.ralph(&["abort"]).exits(0);
    let refused = sandbox.ralph(&["restore", "2@1"]).exits(1);
    let begin = "hint: 2@1 began on other files than these; to have it on a branch: ";
    let command = refused.stderr.split(begin).nth(1).unwrap();
    let command = command.split(';').next().unwrap();
    sandbox.cmd("sh").args(["-c", command]).run().exits(0);
    assert_eq!(sandbox.git(&["show", "add-login-2-1:x"]), "one\ntwo");
}

#[test]
fn private_file_stays_private() {
    let sandbox = Sandbox::new();
    let key = sandbox.top.join("key");
    sandbox.write("key", "mine\n");
    fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
    sandbox.git(&["add", "key"]);
    sandbox.git(&["commit", "-qm", "key"]);
    sandbox.start();
    let agent = sandbox.failing("echo more >>key; echo x >new");
    sandbox.step("next", &agent).exits(3);
    sandbox.ralph(&["restore", "1@1"]).exits(0);
    assert_eq!(sandbox.read("key"), "mine\nmore\n");
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
}
