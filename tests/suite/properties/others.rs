//! What others do in the repository while an attempt runs: nobody can know who it was, and it is not undone where it
//! belongs to somebody else.

use std::fs;

use crate::support::{Sandbox, wait_for};

/// An agent that waits until something was done meanwhile, and fails.
fn meanwhile(sandbox: &Sandbox, act: impl FnOnce()) -> String {
    let script = "touch \"$notes/begun\"; until [ -e \"$notes/enough\" ]; do sleep 0.05; done";
    let agent = sandbox.failing(script);
    let running = sandbox.ralph_cmd(&["next", "add-login", "--", &agent]).start();
    wait_for(&sandbox.notes.join("begun"));
    act();
    fs::write(sandbox.notes.join("enough"), "").unwrap();
    running.end().exits(3).stderr
}

#[test]
fn a_loop_that_was_finished_in_another_work_tree_stays_finished() {
    let sandbox = Sandbox::new();
    let other = sandbox.outside("other");
    sandbox.git(&["worktree", "add", "-q", other.to_str().unwrap(), "-b", "theirs"]);
    fs::write(other.join("plan.md"), "- [ ] 1 One\n").unwrap();
    let there = |args: &[&str]| sandbox.ralph_cmd(args).dir(&other).run().exits(0);
    there(&["start", "e", "--stories", "plan.md"]);
    there(&["complete", "e"]);
    sandbox.start();
    let told = meanwhile(&sandbox, || {
        there(&["finish", "--cleanup", "e"]);
    });
    // Its work is kept.
    assert!(!told.contains("ralph/e"), "{told}");
    assert!(!told.contains("put back"), "{told}");
    let branches = sandbox.git(&["branch", "--format=%(refname:short)"]);
    assert!(!branches.contains("ralph/e"), "{branches}");
}

#[test]
fn work_tree_of_a_loop_that_ended_is_no_loss() {
    let sandbox = Sandbox::new();
    sandbox.write("plan.md", "- [ ] 1 One\n");
    sandbox.git(&["add", "plan.md"]);
    sandbox.git(&["commit", "-qm", "plan"]);
    let begin = |change: &str| {
        let start = ["start", change, "--stories=plan.md", "--worktree"];
        sandbox.ralph(&start).exits(0);
    };
    begin("aborted");
    begin("kept");
    sandbox.ralph(&["finish", "--keep", "kept"]).exits(0);
    sandbox.start();
    let told = meanwhile(&sandbox, || {
        sandbox.ralph(&["abort", "aborted"]).exits(0);
        sandbox.git(&["worktree", "remove", "-f", "-f", "../repo.ralph/kept"]);
        sandbox.git(&["branch", "-D", "ralph/kept"]);
    });
    assert!(!told.contains("aborted"), "{told}");
    assert!(told.contains("/kept was removed during the attempt"), "{told}");
    assert!(
        told.contains("the branch ralph/kept was deleted during the attempt"),
        "{told}"
    );
}

#[test]
fn step_does_not_undo_changes_of_remote_tracking_refs() {
    let sandbox = Sandbox::new();
    for name in ["gone", "moved"] {
        sandbox.git(&["update-ref", &format!("refs/remotes/origin/{name}"), "HEAD"]);
    }
    sandbox.start();
    let told = meanwhile(&sandbox, || {
        sandbox.git(&["update-ref", "-d", "refs/remotes/origin/gone"]);
        sandbox.git(&["update-ref", "refs/remotes/origin/moved", "main"]);
        sandbox.git(&["update-ref", "refs/remotes/origin/new", "main"]);
        sandbox.git(&["tag", "v9"]);
    });
    assert!(
        told.contains("refs/remotes/origin/gone was deleted during the attempt"),
        "{told}"
    );
    assert!(told.contains("the tag v9 was made during the attempt"), "{told}");
    let remotes = sandbox.git(&["for-each-ref", "--format=%(refname)", "refs/remotes"]);
    assert_eq!(remotes, "refs/remotes/origin/moved\nrefs/remotes/origin/new");
}

#[test]
fn error_names_a_file_that_keeps_changing() {
    let sandbox = Sandbox::new();
    // Somebody who writes whenever git has just read.
    let flag = sandbox.notes.join("flag");
    let filter = format!("sh -c 'cat; [ ! -e {} ] || echo x >>written'", flag.display());
    sandbox.configure("filter.busy.clean", &filter);
    sandbox.write(".git/info/attributes", "written filter=busy\n");
    sandbox.write("written", "mine\n");
    sandbox.start();
    sandbox.write("written", "changed\n");
    fs::write(&flag, "").unwrap();
    sandbox
        .ralph(&["revert"])
        .exits(1)
        .says("the work tree keeps changing (written)");
    fs::remove_file(&flag).unwrap();
    let status = sandbox.ralph(&["status"]).exits(0);
    status.says("neither as before it nor as after it: written");
    sandbox.ralph(&["revert"]).exits(0);
    sandbox.is_at_checkpoint();
    assert_eq!(sandbox.read("written"), "mine\n");
}

#[test]
fn error_does_not_call_an_unwritable_file_a_changing_one() {
    let sandbox = Sandbox::new();
    // Its object is small.
    let large = "x".repeat(1 << 20);
    sandbox.write("large", &large);
    sandbox.start();
    sandbox.write("large", "changed\n");
    // What a full disk looks like, for git too.
    let script = "trap '' XFSZ; ulimit -f 128; exec git ralph revert";
    sandbox
        .cmd("sh")
        .args(["-c", script])
        .run()
        .exits(1)
        .says("the work tree cannot be put back")
        .says("unable to write file large")
        .says("make room, or make that writable");
    sandbox.ralph(&["revert"]).exits(0);
    sandbox.is_at_checkpoint();
    assert_eq!(sandbox.read("large"), large);
}

#[test]
fn failed_attempt_leaves_a_loop_that_begins_meanwhile() {
    let sandbox = Sandbox::new();
    sandbox.start();
    // Where the branch of a new work tree is, before the loop moves it.
    let agent = sandbox.failing("git rev-parse main >.git/refs/heads/ralph/other");
    let output = sandbox.step("next", &agent).exits(3);
    assert!(!output.stderr.contains("ralph/other"), "{}", output.stderr);
    sandbox.git(&["rev-parse", "-q", "--verify", "refs/heads/ralph/other"]);
}
