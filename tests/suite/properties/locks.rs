//! A git that somebody else runs in the same repository: it is waited for, never broken.

use std::fs;

use crate::support::{CHANGE, Sandbox, wait_for};

/// Where the lock of a living git is: a `git commit -a` that waits for its editor.
fn with_commit_in_editor<T>(sandbox: &Sandbox, meanwhile: impl FnOnce() -> T) -> T {
    let editor =
        sandbox.agent("touch \"$notes/editor\"; until [ -e \"$notes/enough\" ]; do sleep 0.05; done; exit 1");
    let commit = sandbox
        .git_cmd(&["commit", "-q", "-a"])
        .env("GIT_EDITOR", editor)
        .start();
    wait_for(&sandbox.notes.join("editor"));
    assert!(sandbox.top.join(".git/index.lock").exists());
    let came = meanwhile();
    assert!(
        sandbox.top.join(".git/index.lock").exists(),
        "the lock was broken"
    );
    fs::write(sandbox.notes.join("enough"), "").unwrap();
    commit.wait_for_its_end();
    for name in ["editor", "enough"] {
        fs::remove_file(sandbox.notes.join(name)).unwrap();
    }
    came
}

#[test]
fn commands_change_nothing_while_another_git_holds_the_index() {
    for verb in [
        &["complete"][..],
        &["fail"],
        &["revert"],
        &["abort"],
        &["finish", "--cleanup"],
        &["start", "add-login", "--restart"],
        &["next", "--", "false"],
    ] {
        let sandbox = Sandbox::started();
        sandbox.write("README.md", "mine\n");
        let state = fs::read_to_string(sandbox.state_file()).unwrap();
        with_commit_in_editor(&sandbox, || {
            let before = sandbox.print();
            let output = sandbox.ralph(verb).exits(75);
            output
                .says("index.lock")
                .says("another git process is running here");
            assert_eq!(sandbox.print(), before, "{verb:?}");
            assert_eq!(
                fs::read_to_string(sandbox.state_file()).unwrap(),
                state,
                "{verb:?}"
            );
            sandbox.ralph(&["status"]).exits(0);
        });
        assert_eq!(sandbox.read("README.md"), "mine\n");
        sandbox.ralph(&["revert"]).exits(0);
    }
}

#[test]
fn step_removes_an_abandoned_lock() {
    let sandbox = Sandbox::started();
    fs::write(sandbox.top.join(".git/HEAD.lock"), "").unwrap();
    fs::write(sandbox.top.join(".git/index.lock"), "").unwrap();
    // `git merge` and `git stash pop` write these.
    fs::write(sandbox.top.join(".git/AUTO_MERGE.lock"), "").unwrap();
    fs::write(sandbox.top.join(".git/ORIG_HEAD.lock"), "").unwrap();
    let agent = sandbox.completing("echo x >x");
    sandbox
        .step("next", &agent)
        .exits(0)
        .says("a git that was cut off left locks in the repository; they are removed");
    for name in ["HEAD", "AUTO_MERGE", "ORIG_HEAD"] {
        assert!(!sandbox.top.join(format!(".git/{name}.lock")).exists(), "{name}");
    }
}

#[test]
fn status_postpones_a_cut_off_step_while_another_git_runs() {
    let sandbox = Sandbox::started();
    let agent = sandbox.agent("echo x >>README.md; kill -9 $(ps -o ppid= -p $PPID)");
    sandbox.step("next", &agent);
    with_commit_in_editor(&sandbox, || {
        sandbox.ralph(&["status"]).exits(0);
        sandbox.ralph(&["next", "--", "true"]).exits(75);
    });
    sandbox.ralph(&["status"]).exits(0).says("was interrupted");
}

/// A repository with a failed attempt, whose work is a stash entry.
fn with_stash_entry(sandbox: &Sandbox) {
    sandbox.configure("ralph.strategy", "stash");
    sandbox.start();
    let agent = sandbox.failing("echo work >work");
    sandbox.step("next", &agent).exits(3);
}

#[test]
fn a_lock_of_the_stash_that_a_killed_git_left_is_removed() {
    for lock in ["refs/stash.lock", "logs/refs/stash.lock"] {
        let sandbox = Sandbox::new();
        let files = sandbox.files();
        with_stash_entry(&sandbox);
        let lock = sandbox.top.join(".git").join(lock);
        fs::write(&lock, "").unwrap();
        let problems = sandbox.ralph(&["doctor"]).exits(1).stdout;
        assert!(problems.contains("stash.lock exists"), "{problems}");
        sandbox
            .ralph(&["abort"])
            .exits(0)
            .says("a git that was cut off left locks in the repository");
        assert!(!lock.exists());
        assert_eq!(sandbox.git(&["stash", "list"]), "");
        assert_eq!(sandbox.files(), files);
    }
}

#[test]
fn abort_prints_gits_message_if_it_cannot_drop_a_stash_entry() {
    let Some(sandbox) = Sandbox::unprivileged() else {
        return;
    };
    let files = sandbox.files();
    with_stash_entry(&sandbox);
    let dir = sandbox.top.join(".git/logs/refs");
    sandbox.cmd("chmod").args(["555"]).args([&dir]).run().exits(0);
    sandbox.ralph(&["abort"]).exits(1).says("logs/refs/stash.lock");
    sandbox.cmd("chmod").args(["755"]).args([&dir]).run().exits(0);
    assert_eq!(sandbox.status()["phase"], "finished");
    assert_eq!(sandbox.git(&["stash", "list"]), "");
    assert_eq!(sandbox.files(), files);
}

#[test]
fn locks_of_other_refs_that_an_attempt_left_are_removed() {
    let sandbox = Sandbox::new();
    sandbox.git(&["branch", "other"]);
    sandbox.start();
    let old = sandbox.top.join(".git/refs/heads/old.lock");
    fs::write(&old, "").unwrap();
    let long_ago = std::time::SystemTime::UNIX_EPOCH;
    fs::File::open(&old).unwrap().set_modified(long_ago).unwrap();
    let locks = [
        "heads/main",
        "heads/other",
        "heads/new",
        "tags/v2",
        "remotes/origin/main",
    ];
    let leave = locks.map(|name| format!("mkdir -p $(dirname .git/refs/{name}); >.git/refs/{name}.lock"));
    let agent = sandbox.failing(&leave.join("; "));
    sandbox
        .step("next", &agent)
        .exits(3)
        .says("the attempt left locks in the repository; they are removed");
    for name in locks {
        assert!(
            !sandbox.top.join(format!(".git/refs/{name}.lock")).exists(),
            "{name}"
        );
    }
    // What the user's git left before is the user's.
    assert!(old.exists());
    sandbox.ralph(&["abort"]).exits(0);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "on main"]);
}

#[test]
fn locks_of_other_refs_that_a_gate_left_are_removed() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.verify", ">.git/refs/heads/main.lock");
    sandbox.ralph(&["start", CHANGE, "--allow-red"]).exits(0);
    sandbox
        .step("next", &sandbox.completing("echo x >x"))
        .exits(0)
        .says("locks were left in the repository during a gate; they are removed");
    assert!(!sandbox.top.join(".git/refs/heads/main.lock").exists());
}
