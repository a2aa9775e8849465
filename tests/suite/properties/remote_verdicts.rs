//! What is said of a remote that does not take a loop, or lost it: only what is known, with what to type.

use crate::support::remote::{Clone, Remote};
use crate::support::{CHANGE, wait_for};

/// A run of a clone, with an agent that is at work.
fn at_work(clone: &Clone<'_>) -> crate::support::Running {
    clone.git(&["config", "ralph.lease", "3s"]);
    let sandbox = &clone.remote.sandbox;
    let agent = sandbox.agent("echo mine >mine; touch \"$notes/there\"; while :; do sleep 0.05; done");
    let running = clone
        .cmd(&["ralph", "run", CHANGE, "--keep", "--", &agent])
        .start();
    wait_for(&sandbox.notes.join("there"));
    running
}

#[test]
fn a_state_that_was_deleted_is_not_said_to_be_held_by_another_run() {
    let remote = Remote::new();
    let clone = remote.clone("one", &[]);
    let running = at_work(&clone);
    remote.git(&["update-ref", "-d", "refs/ralph/add-login/state"]);
    let ended = running.end().exits(7);
    ended.says("this run lost 'add-login': origin does not have refs/ralph/add-login/state any more");
    clone.ralph(&["push", CHANGE]).exits(0);
    assert!(
        remote
            .git(&["for-each-ref"])
            .contains("refs/ralph/add-login/state")
    );
}

#[test]
fn a_lease_that_could_not_be_renewed_is_told_with_the_words_of_git() {
    let remote = Remote::new();
    let clone = remote.clone("one", &[]);
    let running = at_work(&clone);
    clone.git(&["config", "remote.origin.url", "/nowhere"]);
    let ended = running.end().exits(75);
    ended.says("it could not renew its lease on origin for 2 seconds\n  fatal: '/nowhere' does not appear to be a git repository");
}

#[test]
fn settings_of_the_users_own_pushes_keep_no_loop_back() {
    let remote = Remote::new();
    let clone = remote.clone("one", &[]);
    clone.git(&["config", "push.pushOption", "ci.skip"]);
    clone.git(&["config", "remote.origin.mirror", "true"]);
    clone.git(&["config", "push.gpgSign", "true"]);
    remote.git(&["config", "receive.advertisePushOptions", "false"]);
    clone.ralph(&["start", CHANGE]).exits(0);
    clone.ralph(&["push", CHANGE]).exits(0);
    assert!(
        remote
            .git(&["for-each-ref"])
            .contains("refs/ralph/add-login/state")
    );
}
