//! The stash of the user's in a loop on a branch: everybody in the repository shares it.

use std::fs;
use std::path::PathBuf;

use crate::support::{CHANGE, Sandbox, wait_for};

fn list(sandbox: &Sandbox) -> String {
    sandbox.git(&["stash", "list", "--format=%H %gs"])
}

/// Puts an edit of the README into the stash.
fn stash(sandbox: &Sandbox, message: &str) {
    sandbox.write("README.md", &format!("# {message}\n"));
    sandbox.git(&["stash", "push", "-q", "-m", message]);
}

/// A linked work tree of the user's.
fn other_work_tree(sandbox: &Sandbox) -> PathBuf {
    let other = sandbox.outside("other");
    sandbox.git(&["worktree", "add", "-q", other.to_str().unwrap(), "-b", "theirs"]);
    other
}

#[test]
fn entries_that_an_attempt_drops_are_stored_again() {
    for verdict in ["complete", "failed red"] {
        let sandbox = Sandbox::new();
        sandbox.configure("ralph.guard", "false");
        stash(&sandbox, "before the loop");
        sandbox.start();
        // Made when the snapshot of the beginning was taken already.
        stash(&sandbox, "during the loop: it's \"quoted\"");
        let before = list(&sandbox);
        let agent = sandbox.agent(&format!(
            "git stash drop -q stash@{{1}}; git stash clear; {verdict}"
        ));
        sandbox.step("next", &agent).says(
            "the stash entry 'On main: before the loop' was dropped during the attempt; it is stored again",
        );
        assert_eq!(list(&sandbox), before, "{verdict}");
    }
}

#[test]
fn entries_without_a_reflog_are_stored_again() {
    for has_others in [false, true] {
        let sandbox = Sandbox::new();
        if has_others {
            other_work_tree(&sandbox);
        }
        stash(&sandbox, "one");
        sandbox.start();
        let before = list(&sandbox);
        let misdeed = "git reflog expire --expire=now --all; git gc -q --prune=now";
        let output = sandbox.step("next", &sandbox.failing(misdeed)).exits(3);
        if has_others {
            let (_, commands) = output.stderr.split_once("to have them back: ").unwrap();
            let commands = commands.lines().next().unwrap();
            sandbox.cmd("sh").args(["-c", commands]).run().exits(0);
        } else {
            output.says("it is stored again");
        }
        assert_eq!(list(&sandbox), before);
    }
}

#[test]
fn missing_entries_are_kept_and_named_beside_another_work_tree() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.guard", "false");
    other_work_tree(&sandbox);
    sandbox.start();
    stash(&sandbox, "one's");
    stash(&sandbox, "two");
    let before = list(&sandbox);
    let output = sandbox.step("next", &sandbox.failing("git stash clear"));
    assert_eq!(list(&sandbox), "");
    sandbox.git(&[
        "reflog",
        "expire",
        "--expire=now",
        "--expire-unreachable=now",
        "--all",
    ]);
    sandbox.git(&["gc", "-q", "--prune=now"]);
    let (_, commands) = output.stderr.split_once("to have them back: ").unwrap();
    let commands = commands.lines().next().unwrap();
    sandbox.cmd("sh").args(["-c", commands]).run().exits(0);
    assert_eq!(list(&sandbox), before);
}

#[test]
fn a_crash_does_not_lose_the_list() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.guard", "false");
    sandbox.start();
    stash(&sandbox, "mine");
    let before = list(&sandbox);
    let agent = sandbox.agent("git stash clear; kill -9 $(ps -o ppid= -p $PPID); sleep 60");
    sandbox.direct(&["next", "--", &agent]).run();
    assert_eq!(list(&sandbox), "");
    sandbox.ralph(&["status"]).exits(0);
    assert_eq!(list(&sandbox), before);
}

#[test]
fn attempt_fails_only_for_its_own_stash_entry() {
    for guard in ["true", "false"] {
        let sandbox = Sandbox::new();
        sandbox.configure("ralph.guard", guard);
        let other = other_work_tree(&sandbox);
        sandbox.start();
        let agent = sandbox.completing(
            "touch \"$notes/begun\"; until [ -e \"$notes/enough\" ]; do sleep 0.05; done; echo 1 >one",
        );
        let running = sandbox.ralph_cmd(&["next", CHANGE, "--", &agent]).start();
        wait_for(&sandbox.notes.join("begun"));
        fs::write(other.join("README.md"), "# Theirs\n").unwrap();
        sandbox.git_cmd(&["stash", "-q"]).dir(&other).run().exits(0);
        fs::write(sandbox.notes.join("enough"), "").unwrap();
        running
            .end()
            .exits(0)
            .says("the stash was made during the attempt");
        let stashing = sandbox.completing("echo 2 >two; git stash -q -u");
        let output = sandbox.step("next", &stashing);
        if guard == "true" {
            // Others share the stash, so the work stays where it is.
            output.exits(0).says("refused: other work trees share the stash");
            assert_eq!(sandbox.read("two"), "2\n");
        } else {
            output.exits(3).says("work was put into the stash");
        }
    }
}

#[test]
fn an_attempt_that_clears_away_all_new_files_is_not_complete() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.strategy", "stash");
    sandbox.write("notes", "mine");
    sandbox.start();
    sandbox
        .step("next", &sandbox.agent("echo 1 >one; complete"))
        .exits(0);
    let files = sandbox.files();
    sandbox
        .ralph(&[
            "run",
            "--max-retries",
            "0",
            "--",
            &sandbox.agent("git clean -q -f -d; complete"),
        ])
        .exits(4)
        .says("1 of 3 stories are complete");
    for (step, misdeed) in [("retry", "git clean -q -f -d"), ("retry", "rm notes one")] {
        let agent = sandbox.agent(&format!("{misdeed}; echo 2 >two; complete"));
        sandbox
            .step(step, &agent)
            .exits(3)
            .says("all changes to notes, one from before this attempt are gone");
        assert_eq!(sandbox.files(), files, "{misdeed}");
    }
    // Where edits stay, the story may have been to replace the files.
    let merging = sandbox.agent("echo x >>README.md; complete");
    sandbox.step("retry", &merging).exits(0);
    let merging = sandbox.agent("cat notes one >both; rm notes one; complete");
    sandbox.step("next", &merging).exits(0);
    sandbox.ralph(&["abort"]).exits(0);
    sandbox.write("notes", "mine");
    sandbox.write("one", "1");
    sandbox.start();
    let moving = sandbox.agent("mkdir moved; mv notes one moved/; complete");
    sandbox.step("next", &moving).exits(0);
}

#[test]
fn an_attempt_that_clears_away_the_work_of_the_loop_is_not_complete_beside_work_of_the_users() {
    for (mine, misdeed) in [
        ("echo mine >>README.md", "git clean -q -f -d"),
        ("echo mine >notes", "rm one two"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.configure("ralph.strategy", "stash");
        sandbox.cmd("sh").args(["-c", mine]).run().exits(0);
        sandbox.start();
        let agent = sandbox.agent("echo 1 >one; echo 2 >two; complete");
        sandbox.step("next", &agent).exits(0);
        let files = sandbox.files();
        let agent = sandbox.agent(&format!("{misdeed}; echo 3 >three; complete"));
        sandbox
            .step("next", &agent)
            .exits(3)
            .says("all changes to one, two from before this attempt are gone");
        assert_eq!(sandbox.files(), files, "{misdeed}");
        let part = sandbox.agent("rm one; echo 3 >three; complete");
        sandbox.step("retry", &part).exits(0);
    }
}
