//! What git cannot store, or the system cannot name, is undone, kept and named.

use std::fs;

use crate::support::{CHANGE, Sandbox};

#[test]
fn a_directory_whose_path_is_too_long_for_the_system_is_moved_away() {
    let sandbox = Sandbox::started();
    let before = sandbox.files();
    let dig = "echo x >x; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22; do \
               d=$(printf '%0200d' 0); mkdir $d; cd -P $d; done; echo deep >leaf";
    sandbox
        .step("next", &sandbox.failing(dig))
        .exits(3)
        .says("no commit has what git cannot store; it is in ")
        .says("/trash/1.1: 0000");
    assert_eq!(sandbox.files(), before);
    assert_eq!(sandbox.git(&["show", "refs/ralph/add-login/attempts/1/1:x"]), "x");
    sandbox.is_at_checkpoint();
    sandbox
        .step("retry", &sandbox.completing(dig))
        .exits(0)
        .says("not committed, because git cannot store it: 0000");
    assert_eq!(sandbox.git(&["show", "HEAD:x"]), "x");
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(sandbox.files(), before);
}

#[test]
fn step_names_files_that_git_cannot_store() {
    let sandbox = Sandbox::started();
    let before = sandbox.files();
    let make = "mkdir -p new/.GIT; echo x >new/x; echo x >new/.GIT/work";
    sandbox
        .step("next", &sandbox.failing(make))
        .exits(3)
        .says("no commit has what git cannot store; it is in ")
        .says("/trash/1.1: new/.GIT/work");
    assert_eq!(sandbox.files(), before);
    let kept = format!(".git/ralph/{CHANGE}/trash/1.1/new/.GIT/work");
    assert_eq!(sandbox.read(&kept), "x\n");
    sandbox
        .step("retry", &sandbox.completing(make))
        .exits(0)
        .says("not committed, because git cannot store it: new/.GIT/work");
    assert_eq!(sandbox.git(&["show", "HEAD:new/x"]), "x");
    // It stays where it is, and stops nothing.
    let output = sandbox.step("next", &sandbox.failing("echo y >new/x")).exits(3);
    assert!(!output.stderr.contains("cannot store"), "{}", output.stderr);
    assert_eq!(sandbox.read("new/.GIT/work"), "x\n");
    sandbox.ralph(&["restore", CHANGE, "2"]).exits(0);
    assert_eq!(sandbox.read("new/x"), "y\n");
}

/// A script that goes down 20 directories below the present one.
const DOWN: &str = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do \
                    d=$(printf '%0200d' 0); mkdir -p $d; cd -P $d; done";

#[test]
fn step_handles_a_file_whose_absolute_path_is_too_long() {
    let sandbox = Sandbox::new();
    let name = "f".repeat(65);
    let path = format!("{}{name}", format!("{}/", "0".repeat(200)).repeat(20));
    let ignored = format!("cd target; {}; echo ours >{name}", DOWN.replace("20;", ";"));
    sandbox.write("target/x", "x\n");
    assert!(
        std::process::Command::new("sh")
            .args(["-c", &ignored])
            .current_dir(&sandbox.top)
            .status()
            .unwrap()
            .success()
    );
    sandbox.start();
    let script = format!("(cd target; rm -r 0*); {DOWN}; echo theirs >{name}");
    sandbox.step("next", &sandbox.failing(&script)).exits(3);
    let holds = |commit: &str| {
        sandbox
            .git(&["ls-tree", "-r", "--name-only", commit])
            .contains(&path)
    };
    assert!(holds("refs/ralph/add-login/attempts/1/1"));
    sandbox.is_at_checkpoint();
    sandbox
        .step(
            "retry",
            &sandbox.completing(&format!("{DOWN}; echo theirs >{name}")),
        )
        .exits(0);
    assert!(holds("HEAD"));
    sandbox.ralph(&["abort"]).exits(0);
    assert!(!sandbox.top.join("0".repeat(200)).exists());
}

#[test]
fn a_file_whose_path_is_too_long_for_git_is_named() {
    let sandbox = Sandbox::started();
    let script = format!("echo x >x; {DOWN}; echo lost >{}", "f".repeat(100));
    sandbox
        .step("next", &sandbox.failing(&script))
        .exits(3)
        .says("no commit has what git cannot store; it is in ");
    sandbox.is_at_checkpoint();
    assert!(!sandbox.top.join("0".repeat(200)).exists());
    sandbox
        .step("retry", &sandbox.completing(&script))
        .exits(0)
        .says("not committed, because git cannot store it: 0000");
    assert_eq!(sandbox.git(&["show", "HEAD:x"]), "x");
    sandbox.ralph(&["abort"]).exits(0);
    assert!(!sandbox.top.join("0".repeat(200)).exists());
}

#[test]
fn failed_attempt_leaves_empty_directories_as_the_accepted_ones_before_it_did() {
    let sandbox = Sandbox::new();
    let is_dir = |path: &str| sandbox.top.join(path).is_dir();
    fs::create_dir(sandbox.top.join("old")).unwrap();
    sandbox.start();
    for script in ["rmdir old; mkdir -p made/dir; echo x >new", "echo y >new"] {
        sandbox.step("next", &sandbox.completing(script)).exits(0);
    }
    sandbox
        .step("next", &sandbox.failing("echo x >new; mkdir bad"))
        .exits(3);
    assert_eq!(
        [is_dir("old"), is_dir("made/dir"), is_dir("bad")],
        [false, true, false]
    );
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!([is_dir("old"), is_dir("made")], [true, false]);
}
