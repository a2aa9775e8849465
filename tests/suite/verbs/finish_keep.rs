//! `git ralph finish --keep`: what it says of files and branches.

use std::fs;

use crate::support::Sandbox;

#[test]
fn keep_prints_the_command_that_restores_uncommitted_files() {
    let sandbox = Sandbox::dirty();
    let before = sandbox.files();
    sandbox.start();
    sandbox.step("next", &sandbox.completing("true")).exits(0);
    let told = sandbox.ralph(&["finish", "--keep"]).exits(0).stderr;
    let command = told
        .lines()
        .find_map(|line| line.split("to restore them on main: ").nth(1));
    let command = command.unwrap_or_else(|| panic!("{told}"));
    assert!(
        command.starts_with("git checkout main && git restore "),
        "{command}"
    );
    sandbox.cmd("sh").args(["-c", command]).run().exits(0);
    let after = sandbox.files();
    for (path, content) in &before {
        assert_eq!(after.get(path), Some(content), "{}", path.display());
    }
    // Nobody's file was uncommitted.
    let sandbox = Sandbox::new();
    sandbox.start();
    let told = sandbox.ralph(&["finish", "--keep"]).exits(0).stderr;
    assert!(!told.contains("not committed before"), "{told}");
}

#[test]
fn keep_on_another_branch_names_head_and_a_deleted_branch() {
    for gone in [false, true] {
        let sandbox = Sandbox::started();
        sandbox.git(&["checkout", "-q", "main"]);
        if gone {
            sandbox.git(&["branch", "-q", "-D", "ralph/add-login"]);
        }
        let told = sandbox.ralph(&["finish", "--keep"]).exits(0).stderr;
        assert!(told.contains("finished: HEAD stays on main\n"), "{told}");
        assert_eq!(
            told.contains("to bring it back: git branch ralph/add-login "),
            gone,
            "{told}"
        );
    }
}

#[test]
fn hint_for_the_other_choice_has_two_commands() {
    for (first, then) in [("--keep", "--cleanup"), ("--cleanup", "--keep")] {
        let sandbox = Sandbox::dirty();
        sandbox.start();
        sandbox.step("next", &sandbox.completing("echo x >made")).exits(0);
        let (files, tip) = (sandbox.files(), sandbox.git(&["rev-parse", "HEAD"]));
        sandbox.ralph(&["finish", first]).exits(0);
        let told = sandbox.ralph(&["finish", then]).exits(1);
        let told = told.says(&format!("already finished, with {first}")).stderr;
        let hint = told.lines().find_map(|line| line.strip_prefix("hint: ")).unwrap();
        let (_, commands) = hint.split_once(": ").unwrap();
        assert_eq!(commands.split(", then: ").count(), 2, "{hint}");
        for command in commands.split(", then: ") {
            sandbox.cmd("sh").args(["-c", command]).run().exits(0);
        }
        assert_eq!(sandbox.files(), files);
        let branch = sandbox.git(&["branch", "--show-current"]);
        if then == "--keep" {
            assert_eq!(branch, "ralph/add-login");
            assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), tip);
            assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
        } else {
            assert_eq!(branch, "main");
            assert_eq!(sandbox.git(&["diff", "--cached", "--name-only"]), "");
            assert_eq!(sandbox.git(&["branch", "--list", "ralph/*"]), "");
        }
    }
}

#[test]
fn keep_names_the_stash_entries_that_stay() {
    let sandbox = Sandbox::new();
    sandbox.ralph(&["start", "--strategy", "stash"]).exits(0);
    let agent = sandbox.completing("echo x >x");
    sandbox.step("next", &agent).exits(0);
    let failing = sandbox.failing("no");
    sandbox.step("next", &failing).exits(3);
    let told = sandbox.ralph(&["finish", "--keep"]).exits(0).stderr;
    let line = "the stash keeps ralph:add-login:2, as before attempts that were not complete (git stash list); \
                to drop it: git stash drop 0\n";
    assert!(told.contains(line), "{told}");
    let list = sandbox.git(&["stash", "list"]);
    assert!(list.ends_with("ralph:add-login:2"), "{list}");
}

#[test]
fn files_from_before_the_first_commit_can_be_had_again() {
    let sandbox = Sandbox::empty();
    fs::create_dir(&sandbox.top).unwrap();
    sandbox.git(&["init", "-q", "-b", "main"]);
    sandbox.write("TODO.md", "- [ ] 1. One\n");
    sandbox.write("staged", "one\n");
    sandbox.git(&["add", "staged"]);
    let agent = sandbox.completing("echo agent >>staged");
    let run = ["run", "todo", "--stories=TODO.md", "--keep", "--", &agent];
    let kept = sandbox.ralph(&run).exits(0);
    let (_, typed) = kept.stderr.split_once("to restore them on main: ").unwrap();
    sandbox.cmd("sh").args(["-c", typed.trim()]).run().exits(0);
    assert_eq!(sandbox.read("staged"), "one\n");
    assert_eq!(sandbox.read("TODO.md"), "- [ ] 1. One\n");
    // What was staged is staged again.
    sandbox.git(&["add", "staged"]);
    let other = sandbox.completing("echo agent >other");
    sandbox
        .ralph(&["run", "more", "--stories=TODO.md", "--", &other])
        .exits(0);
    sandbox
        .ralph(&["finish", "--cleanup", "--index", "more"])
        .exits(0);
    assert_eq!(sandbox.git(&["ls-files"]), "staged");
}
