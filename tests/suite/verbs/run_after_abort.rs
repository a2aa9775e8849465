//! A loop that was pulled, aborted here, and is still on the remote.

use crate::support::CHANGE;
use crate::support::remote::Remote;

/// Pulls and aborts a loop with two of three stories, and then runs this.
fn continues(then: &[&[&str]]) {
    let remote = Remote::new();
    let (one, other) = (remote.clone("one", &[]), remote.clone("other", &[]));
    let agent = remote.sandbox.completing("echo x >>f");
    one.ralph(&["run", CHANGE, "--max-attempts", "2", "--", &agent])
        .exits(6);
    other.ralph(&["pull", CHANGE]).exits(0);
    other.ralph(&["abort", CHANGE]).exits(0);
    for line in then {
        let agent: &[&str] = match line[0] {
            "run" => &["--max-attempts", "1", "--", &agent],
            _ => &[],
        };
        other.ralph(&[line, agent].concat()).exits(0);
    }
    let subjects = remote.git(&["log", "--format=%s", "ralph/add-login"]);
    assert!(
        subjects.starts_with("checkpoint: 3\ncheckpoint: 2\ncheckpoint: 1\ninitial state\n"),
        "{subjects}"
    );
    assert_eq!(remote.git(&["show", "ralph/add-login:f"]), "x\nx\nx\n");
    assert_eq!(other.attempts().len(), 3);
}

#[test]
fn run_continues_what_the_remote_has() {
    continues(&[&["run", CHANGE, "--keep"]]);
}

#[test]
fn run_any_continues_what_the_remote_has() {
    continues(&[&["run", "--any", "--keep"]]);
}

#[test]
fn pull_brings_it_again() {
    continues(&[&["pull", CHANGE], &["status", CHANGE], &["run", CHANGE, "--keep"]]);
}

#[test]
fn a_second_abort_restores_what_was_there() {
    let remote = Remote::new();
    let (one, other) = (remote.clone("one", &[]), remote.clone("other", &[]));
    let agent = remote.sandbox.completing("echo x >>f");
    one.ralph(&["run", CHANGE, "--max-attempts", "2", "--", &agent])
        .exits(6);
    other.ralph(&["pull", CHANGE]).exits(0);
    other.ralph(&["abort", CHANGE]).exits(0);
    other.ralph(&["pull", CHANGE]).exits(0);
    assert!(other.dir.join("f").exists());
    other.ralph(&["abort", CHANGE]).exits(0);
    assert!(!other.dir.join("f").exists());
    assert_eq!(other.git(&["status", "--porcelain"]), "");
    assert_eq!(other.git(&["rev-parse", "--abbrev-ref", "HEAD"]), "main\n");
}
