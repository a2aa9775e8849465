//! Single steps (`next`, `retry`, `complete`, `fail`) of a loop that a run holds on a remote.

use std::fs;

use crate::support::remote::Remote;
use crate::support::{CHANGE, wait_for};

#[test]
fn a_step_of_a_loop_that_another_run_holds_is_refused() {
    let remote = Remote::new();
    let sandbox = &remote.sandbox;
    let (one, other) = (remote.clone("one", &[]), remote.clone("other", &[]));
    let agent = sandbox.completing("echo x >>f");
    one.ralph(&["run", CHANGE, "--max-attempts", "1", "--", &agent])
        .exits(6);
    other.ralph(&["pull", CHANGE]).exits(0);
    let next = "git ralph next add-login";
    let status = other.ralph(&["status"]).exits(0);
    assert!(status.stdout.contains(next), "{}", status.stdout);
    let slow = sandbox
        .completing("touch \"$notes/there\"; until test -e \"$notes/go\"; do sleep 0.05; done; echo x >>f");
    let running = one.cmd(&["ralph", "run", CHANGE, "--keep", "--", &slow]).start();
    wait_for(&sandbox.notes.join("there"));
    for step in [
        &["next", CHANGE, "--", &agent][..],
        &["complete", CHANGE],
        &["fail", CHANGE, "no"],
    ] {
        let refused = other.ralph(step).exits(75);
        assert!(refused.stderr.contains("error: process "), "{}", refused.stderr);
        assert!(
            refused.stderr.contains(" holds 'add-login' on origin until "),
            "{}",
            refused.stderr
        );
    }
    assert!(!other.dir.join("f2").exists());
    assert_eq!(other.attempts().len(), 1);
    let status = other.ralph(&["status"]).exits(0);
    assert!(
        status.stdout.contains(" holds it on origin until "),
        "{}",
        status.stdout
    );
    assert!(!status.stdout.contains(next), "{}", status.stdout);
    fs::write(sandbox.notes.join("go"), "").unwrap();
    running.end().exits(0);
}

#[test]
fn a_failed_story_that_another_run_holds_is_not_tried_again() {
    let remote = Remote::new();
    let sandbox = &remote.sandbox;
    let (one, other) = (remote.clone("one", &[]), remote.clone("other", &[]));
    let failing = sandbox.agent("echo x >>bad; exit 1");
    one.ralph(&["run", CHANGE, "--max-attempts", "1", "--", &failing])
        .exits(6);
    other.ralph(&["pull", CHANGE]).exits(0);
    let slow = sandbox
        .completing("touch \"$notes/there\"; until test -e \"$notes/go\"; do sleep 0.05; done; echo x >>f");
    let running = one.cmd(&["ralph", "run", CHANGE, "--keep", "--", &slow]).start();
    wait_for(&sandbox.notes.join("there"));
    let retry = ["retry", CHANGE, "--", &failing];
    let refused = other.ralph(&retry).exits(75);
    assert!(
        refused.stderr.contains(" holds 'add-login' on origin until "),
        "{}",
        refused.stderr
    );
    other.git(&["remote", "set-url", "origin", "nowhere"]);
    let said = other.ralph(&retry).exits(3);
    assert!(
        said.stderr
            .contains("it is not known whether another run holds it"),
        "{}",
        said.stderr
    );
    fs::write(sandbox.notes.join("go"), "").unwrap();
    running.end().exits(0);
}
