//! `git ralph revert`: back to the checkpoint, with nothing counted and nothing lost.

use std::fs;

use crate::support::Sandbox;

#[test]
fn output_claims_no_undo_if_nothing_was_changed() {
    let sandbox = Sandbox::started();
    let idle = sandbox.failing("true");
    let output = sandbox.step("next", &idle).exits(3);
    let output = output
        .says("  still at checkpoint ")
        .says(": no file was changed\n");
    assert!(!output.stderr.contains("  kept: "), "{}", output.stderr);
    // A commit, an ignored file that is gone, a permission: each is a change.
    for (step, misdeed) in [
        ("retry", "git commit -q --allow-empty -m mess"),
        ("retry", "chmod 600 README.md"),
        ("retry", "git checkout -q --detach"),
    ] {
        let agent = sandbox.failing(misdeed);
        let output = sandbox.ralph(&[step, "--max-retries=9", "--", &agent]).exits(3);
        let told = output.stderr.contains("  kept: ") || misdeed.contains("detach");
        assert!(told, "{misdeed}: {}", output.stderr);
    }
}

#[test]
fn revert_keeps_and_undoes_without_counting() {
    let sandbox = Sandbox::dirty();
    sandbox.start();
    let files = sandbox.files();
    sandbox
        .ralph(&["revert"])
        .exits(0)
        .says("at the checkpoint already");
    sandbox.write("mess.txt", "x\n");
    sandbox.write("README.md", "mess\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "mess"]);
    sandbox.write("more.txt", "x\n");
    sandbox
        .ralph(&["revert"])
        .exits(0)
        .says("  kept: git ralph diff")
        .answers_nothing();
    assert_eq!(sandbox.files(), files);
    sandbox.is_at_checkpoint();
    let kept = "refs/ralph/add-login/attempts/1/1";
    assert_eq!(sandbox.git(&["show", &format!("{kept}:more.txt")]), "x");
    assert_eq!(
        sandbox.git(&["log", "-1", "--format=%s", &format!("{kept}^")]),
        "mess"
    );
    let status = sandbox.status();
    assert_eq!(
        (&status["phase"], &status["current"]["retries"]),
        (&"ready".into(), &0.into())
    );
    assert!(sandbox.attempts().is_empty());
}

#[test]
fn revert_returns_to_the_branch_of_the_loop() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.write("x.txt", "x\n");
    sandbox.ralph(&["revert", "add-login"]).exits(0);
    sandbox.is_at_checkpoint();
    sandbox.ralph(&["finish", "--keep"]).exits(0);
    sandbox.ralph(&["revert"]).exits(1).says("is over: closed");
}

#[test]
fn what_no_commit_keeps_of_the_users_files_is_named() {
    for words in [&["revert"] as &[&str], &["fail", "no"], &["abort"]] {
        let sandbox = Sandbox::started();
        sandbox.write(".gitignore", "/private/\n");
        sandbox.write("private/key", "mine\n");
        sandbox.write("kept", "x\n");
        sandbox.git(&["init", "-q", "inner"]);
        sandbox.write("inner/file", "x\n");
        let ended = sandbox.ralph(words);
        let named = "what no commit has is in ";
        let line = ended.stderr.lines().find(|line| line.starts_with(named));
        let line = line.unwrap_or_else(|| panic!("{words:?}: {}", ended.stderr));
        assert!(line.ends_with(": inner/.git, private"), "{line}");
        let (dir, _) = line.strip_prefix(named).unwrap().split_once(": ").unwrap();
        assert_eq!(
            fs::read_to_string(format!("{dir}/private/key")).unwrap(),
            "mine\n"
        );
        if words[0] != "abort" {
            sandbox.ralph(&["restore", "1@1"]).exits(0).says(line);
        }
    }
}

#[test]
fn revert_of_a_renamed_story_names_what_it_keeps() {
    let sandbox = Sandbox::new();
    sandbox.write("TODO.md", "- [ ] first\n- [ ] second\n");
    sandbox.git(&["add", "TODO.md"]);
    sandbox.git(&["commit", "-q", "-m", "list"]);
    sandbox.ralph(&["start", "todo", "--stories", "TODO.md"]).exits(0);
    sandbox.step("next", &sandbox.failing("echo x >x")).exits(3);
    sandbox.write("TODO.md", "- [ ] first thing\n- [ ] second\n");
    let reverted = sandbox.ralph(&["revert"]).exits(0).stderr;
    let command = reverted.split("  kept: git ").nth(1).unwrap();
    let words: Vec<&str> = command.lines().next().unwrap().split(' ').collect();
    let kept = sandbox.git(&words);
    assert!(kept.contains("\n+- [ ] first thing\n"), "{reverted}{kept}");
}
