//! Refs that keep work: once made, none is written over.

use std::fs;

use crate::support::{CHANGE, Sandbox};

const FIRST: &str = "refs/ralph/add-login/attempts/1/1";
const SECOND: &str = "refs/ralph/add-login/attempts/1/2";
const THIRD: &str = "refs/ralph/add-login/attempts/1/3";

#[test]
fn numbers_of_attempts_continue_after_the_state_was_lost() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.step("next", &sandbox.failing("echo one >work")).exits(3);
    let kept = sandbox.git(&["rev-parse", FIRST]);
    fs::remove_dir_all(sandbox.top.join(".git/ralph")).unwrap();
    sandbox.ralph(&["start", CHANGE, "--resume"]).exits(0);
    let shown = sandbox.ralph(&["diff", CHANGE, "1@1"]).exits(0);
    assert!(shown.stdout.contains("+one"), "{}", shown.stdout);
    let shown = sandbox.ralph(&["diff", CHANGE, "1"]).exits(0);
    assert!(shown.stdout.contains("+one"), "{}", shown.stdout);
    sandbox.step("next", &sandbox.failing("echo two >work")).exits(3);
    assert_eq!(sandbox.git(&["rev-parse", FIRST]), kept);
    assert_eq!(sandbox.git(&["show", &format!("{SECOND}:work")]), "two");
}

#[test]
fn fresh_clone_continues_the_numbers_of_the_refs() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.step("next", &sandbox.failing("echo one >work")).exits(3);
    let clone = sandbox.outside("clone");
    let top = sandbox.top.to_str().unwrap();
    sandbox.git(&["clone", "-q", top, clone.to_str().unwrap()]);
    let git = |args: &[&str]| sandbox.git_cmd(args).dir(&clone).run().exits(0).stdout;
    git(&["fetch", "-q", "origin", "refs/ralph/*:refs/ralph/*"]);
    git(&["checkout", "-q", "ralph/add-login"]);
    let ralph = |args: &[&str]| sandbox.ralph_cmd(args).dir(&clone).run();
    ralph(&["start", CHANGE, "--resume"]).exits(0);
    ralph(&["next", "--", &sandbox.failing("echo two >work")]).exits(3);
    assert_eq!(git(&["show", &format!("{FIRST}:work")]), "one\n");
    assert_eq!(git(&["show", &format!("{SECOND}:work")]), "two\n");
}

#[test]
fn attempt_takes_the_next_number_if_a_ref_has_its_name() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.step("next", &sandbox.failing("echo one >work")).exits(3);
    let other = sandbox.git(&["rev-parse", "main"]);
    // It comes while the agent works, as by a fetch in another window, where no guard stands.
    let agent = sandbox.failing(&format!(
        "echo two >work; GIT_CONFIG_COUNT=0 git update-ref {SECOND} {other}"
    ));
    sandbox.step("retry", &agent).exits(3).says(THIRD);
    assert_eq!(sandbox.git(&["rev-parse", SECOND]), other);
    assert_eq!(sandbox.git(&["show", &format!("{THIRD}:work")]), "two");
    sandbox.ralph(&["restore", CHANGE, "1@3"]).exits(0);
    assert_eq!(sandbox.read("work"), "two\n");
    sandbox.ralph(&["revert"]).exits(0);
    let fourth = "refs/ralph/add-login/attempts/1/4:work";
    assert_eq!(sandbox.git(&["show", fourth]), "two");
}

#[test]
fn restarted_loop_keeps_the_anchor_of_the_earlier_loop() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let anchor = sandbox.git(&["rev-parse", "refs/ralph/add-login/anchor"]);
    sandbox.ralph(&["abort"]).exits(0);
    sandbox.write("more", "more\n");
    sandbox.git(&["add", "more"]);
    sandbox.start();
    let refs = sandbox.git(&["for-each-ref", "--format=%(objectname)", "refs/ralph"]);
    assert!(refs.contains(&anchor), "{refs}");
    sandbox.ralph(&["abort"]).exits(0);
    sandbox.ralph(&["prune"]).exits(0);
    let refs = sandbox.git(&["for-each-ref", "--format=%(objectname)", "refs/ralph"]);
    assert!(refs.contains(&anchor), "{refs}");
}

#[test]
fn failed_attempt_keeps_autostashes_of_unfinished_operations() {
    let merge = "git merge -q --autostash other";
    let rebase = "GIT_SEQUENCE_EDITOR='echo break >' git rebase -q --autostash -i HEAD";
    for operation in [merge, rebase] {
        let sandbox = Sandbox::new();
        sandbox.git(&["checkout", "-q", "-b", "other"]);
        sandbox.write("README.md", "other\n");
        sandbox.git(&["commit", "-qam", "other"]);
        sandbox.git(&["checkout", "-q", "main"]);
        sandbox.start();
        let agent = sandbox.failing(&format!(
            "echo main >README.md; git commit -qam main; echo aside >>old.txt; {operation} >/dev/null 2>&1
             ! grep aside old.txt"
        ));
        let output = sandbox.step("next", &agent).exits(3);
        let (_, command) = output.stderr.split_once("git stash apply ").unwrap();
        let commit = command.split_whitespace().next().unwrap();
        let refs = sandbox.git(&[
            "for-each-ref",
            "--contains",
            commit,
            "refs/ralph/add-login/attempts",
        ]);
        assert!(!refs.is_empty(), "{operation}");
        assert!(
            sandbox
                .git(&["show", &format!("{commit}:old.txt")])
                .contains("aside")
        );
        sandbox.is_at_checkpoint();
        // Git has nothing to apply at the end of the next commit.
        sandbox.write("new", "new\n");
        sandbox.git(&["add", "new"]);
        sandbox.git(&["commit", "-qm", "new"]);
        assert!(!sandbox.read("old.txt").contains("aside"), "{operation}");
    }
}

#[test]
fn content_that_is_only_staged_between_attempts_is_kept() {
    let complete = ["complete"].as_slice();
    for step in [
        complete,
        &["revert"],
        &["abort"],
        &["finish", "--cleanup"],
        &["next"],
    ] {
        let sandbox = Sandbox::new();
        sandbox.start();
        sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
        sandbox.write("README.md", "staged\n");
        sandbox.write("x", "staged too\n");
        sandbox.git(&["add", "README.md", "x"]);
        sandbox.write("README.md", "edited since\n");
        let output = match step {
            ["next"] => sandbox.step("next", &sandbox.completing("true")),
            _ => sandbox.ralph(step),
        };
        output
            .exits(0)
            .says("what is staged is in no checkpoint, and is kept: README.md; to see it");
        let kept = sandbox.git(&["show", "refs/ralph/add-login/replaced/1:README.md"]);
        assert_eq!(kept, "staged", "{step:?}");
    }
    // A commit has it.
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.write("README.md", "committed\n");
    sandbox.git(&["commit", "-qam", "the user's"]);
    sandbox.write("README.md", "edited since\n");
    sandbox.step("next", &sandbox.completing("true")).exits(0);
    assert_eq!(
        sandbox.git(&["for-each-ref", "refs/ralph/add-login/replaced"]),
        ""
    );
    // Git ignored it when the loop began.
    let sandbox = Sandbox::new();
    sandbox.write(".git/info/exclude", "/.env\n");
    sandbox.write(".env", "old\n");
    sandbox.start();
    sandbox.write(".env", "the user's\n");
    sandbox.git(&["add", "-f", ".env"]);
    let agent = sandbox.failing("echo agent >.env");
    sandbox
        .step("next", &agent)
        .exits(3)
        .says("and is kept: .env; to see it");
    let kept = sandbox.git(&["show", "refs/ralph/add-login/replaced/1:.env"]);
    assert_eq!(kept, "the user's");
    // What the work tree has needs no ref, and nothing is kept twice.
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.write("README.md", "staged\n");
    sandbox.git(&["add", "README.md"]);
    sandbox.ralph(&["skip"]).exits(0);
    assert_eq!(
        sandbox.git(&["for-each-ref", "refs/ralph/add-login/replaced"]),
        ""
    );
    sandbox.write("README.md", "edited since\n");
    sandbox.ralph(&["skip"]).exits(0);
    sandbox.ralph(&["skip", "--undo"]).exits(0);
    let kept = sandbox.git(&["for-each-ref", "refs/ralph/add-login/replaced"]);
    assert_eq!(kept.lines().count(), 1, "{kept}");
}

#[test]
fn branch_in_whose_place_an_attempt_made_a_directory_of_others_is_kept() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.guard", "false");
    sandbox.git(&["branch", "f2"]);
    let was = sandbox.git(&["rev-parse", "f2"]);
    sandbox.start();
    for (verb, name) in [("next", "f2/x"), ("retry", "f2/y")] {
        let agent = sandbox.failing(&format!("git branch -D -q f2; git branch {name}"));
        let output = sandbox.step(verb, &agent).exits(3);
        if verb == "next" {
            output.says("it cannot be put back beside refs/heads/f2/x, and its commits are kept as ");
        }
    }
    let kept = sandbox.git(&[
        "for-each-ref",
        "--format=%(objectname)",
        "refs/ralph/add-login/attempts",
    ]);
    assert!(kept.contains(&was), "{kept}");
    sandbox.ralph(&["abort"]).exits(0);
}

#[test]
fn attempts_of_one_run_take_no_number_twice() {
    let sandbox = Sandbox::new();
    // A log that is there takes its number, whoever made it.
    let agent =
        sandbox.failing("cd .git/ralph/add-login/attempts && [ -e 1.3.log ] || touch 1.2.log 1.3.log");
    sandbox
        .ralph(&["run", CHANGE, "--max-retries", "2", "--", &agent])
        .exits(4);
    let kept = sandbox.git(&[
        "for-each-ref",
        "--format=%(refname)",
        "refs/ralph/add-login/attempts",
    ]);
    let kept: Vec<&str> = kept.lines().filter_map(|name| name.rsplit('/').next()).collect();
    assert_eq!(kept, ["1", "4", "5"]);
}
