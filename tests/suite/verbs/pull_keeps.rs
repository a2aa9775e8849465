//! What a clone has and the remote has not, when it takes over a loop; and what is refused before a lease is taken.

use std::fs;

use crate::support::CHANGE;
use crate::support::remote::{Clone, Remote};

/// Begins a loop in a clone, and pushes its first story.
fn begun(remote: &Remote) -> Clone<'_> {
    let one = remote.clone("one", &[]);
    let agent = remote.sandbox.completing("echo x >>f");
    one.ralph(&["run", CHANGE, "--max-attempts", "1", "--", &agent])
        .exits(6);
    one
}

#[test]
fn own_skip_and_log_are_named_at_the_take_over() {
    let remote = Remote::new();
    let one = begun(&remote);
    let other = remote.clone("other", &[]);
    let agent = remote.sandbox.completing("echo x >>f");
    other.ralph(&["pull", CHANGE]).exits(0);
    other
        .ralph(&["run", CHANGE, "--max-attempts", "1", "--", &agent])
        .exits(6);
    one.ralph(&["skip", CHANGE, "3"]).exits(0);
    let failing = remote.sandbox.agent("echo x >bad; exit 1");
    one.ralph(&["next", CHANGE, "--", &failing]).exits(3);
    let pulled = one.ralph(&["pull", CHANGE]).exits(0);
    let skip = "story 3 was skipped here, and is not in the loop of the remote; to skip it again: git ralph skip add-login 3\n";
    assert!(pulled.stderr.contains(skip), "{}", pulled.stderr);
    let (_, log) = pulled
        .stderr
        .split_once("with what the remote has not, is kept: ")
        .unwrap();
    let log = fs::read_to_string(log.lines().next().unwrap()).unwrap();
    assert!(log.contains("\"attempt_started\""), "{log}");
    // Nothing is lost a second time.
    let again = one.ralph(&["pull", CHANGE]).exits(0);
    assert!(!again.stderr.contains("story 3"), "{}", again.stderr);
}

#[test]
fn commits_of_a_detached_head_are_kept() {
    let remote = Remote::new();
    begun(&remote);
    let other = remote.clone("other", &[]);
    other.git(&["checkout", "-q", "--detach"]);
    fs::write(other.dir.join("own"), "own\n").unwrap();
    other.git(&["add", "own"]);
    other.git(&["commit", "-qm", "own"]);
    let own = other.git(&["rev-parse", "HEAD"]);
    other
        .ralph(&["pull", CHANGE])
        .exits(0)
        .says("is kept: git log refs/ralph/add-login/replaced/1\n");
    assert_eq!(other.git(&["rev-parse", "refs/ralph/add-login/replaced/1"]), own);
}

#[test]
fn uncommitted_changes_are_refused_before_a_lease_is_taken() {
    let remote = Remote::new();
    begun(&remote);
    let state = || remote.git(&["rev-parse", "refs/ralph/add-login/state"]);
    let before = state();
    let other = remote.clone("other", &[]);
    fs::write(other.dir.join("own"), "own\n").unwrap();
    let agent = remote.sandbox.completing("echo x >>f");
    other
        .ralph(&["run", CHANGE, "--", &agent])
        .exits(1)
        .says("uncommitted changes");
    assert_eq!(state(), before);
    other.ralph(&["run", "--any", "--keep", "--", &agent]).exits(1);
    assert_eq!(state(), before);
}

#[test]
fn the_hint_that_does_a_finished_loop_again_leads_there() {
    let remote = Remote::new();
    let one = begun(&remote);
    let agent = remote.sandbox.completing("echo x >>f");
    let run = ["run", CHANGE, "--keep", "--", &agent];
    one.ralph(&run).exits(0);
    let other = remote.clone("other", &[]);
    let over = other.ralph(&run).exits(5);
    let (_, hint) = over.stderr.split_once("to do it again: ").unwrap();
    let (prune, hint) = hint.split_once(", then: ").unwrap();
    let (start, away) = hint
        .split_once("; if origin has branch ralph/add-login, before that: ")
        .unwrap();
    let prune = prune.replace("=1s", "=1ms");
    for line in [prune.as_str(), away.trim(), start] {
        let sh = remote.sandbox.cmd("sh").args(["-ec", line]).dir(&other.dir);
        sh.run().exits(0);
    }
    let agent = remote.sandbox.completing("echo y >>f");
    other.ralph(&["run", CHANGE, "--keep", "--", &agent]).exits(0);
    assert_eq!(remote.git(&["show", "ralph/add-login:f"]), "y\ny\ny\n");
}

#[test]
fn hint_of_a_pulled_loop_that_is_over_names_its_commits() {
    let remote = Remote::new();
    let agent = remote.sandbox.completing("echo $RALPH_STORY >>f");
    let [one, other] = ["one", "other"].map(|name| remote.clone(name, &[]));
    one.ralph(&["run", CHANGE, "--keep", "--", &agent]).exits(0);
    other.ralph(&["pull", CHANGE]).exits(0);
    other
        .ralph(&["abort", CHANGE])
        .exits(1)
        .says("hint: its commits: git log refs/ralph/add-login/finished\n");
    let log = ["log", "--format=%s", "refs/ralph/add-login/finished"];
    assert_eq!(other.git(&log), one.git(&log));
}
