//! What does not go to a remote: failed attempts with files that git ignored when the loop began, and anything at all if
//! the host refuses the first state.

use std::fs;

use crate::support::CHANGE;
use crate::support::remote::{Clone, Remote};

const WITHHELD: &str = "not pushed, because the agent committed what git ignored when the loop began: git log refs/ralph/add-login/attempts/1/1\n";

/// Clones a remote whose rules ignore `.env`, which this clone has.
fn with_secret(remote: &Remote) -> Clone<'_> {
    let clone = remote.clone("one", &[]);
    fs::write(clone.dir.join(".gitignore"), ".env\n").unwrap();
    clone.git(&["add", ".gitignore"]);
    clone.git(&["commit", "-qm", "rules"]);
    clone.git(&["push", "-q", "origin", "HEAD:main"]);
    fs::write(clone.dir.join(".env"), "secret\n").unwrap();
    clone
}

/// Returns the commits on the remote that have the file.
fn leaks(remote: &Remote) -> String {
    remote.git(&[
        "log",
        "--all",
        "--full-history",
        "-m",
        "--format=%s",
        "--",
        ".env",
    ])
}

#[test]
fn a_failed_attempt_with_ignored_files_stays_here() {
    let remote = Remote::new();
    let one = with_secret(&remote);
    let agent = remote.sandbox.agent(
        "echo x >>bad
         test \"$RALPH_ATTEMPT\" != 1 || { git add -f .env bad; git commit -qm env; }
         exit 1",
    );
    one.ralph(&["run", CHANGE, "--max-attempts", "2", "--", &agent])
        .exits(6)
        .says(WITHHELD);
    assert_eq!(leaks(&remote), "");
    let state = remote.state(CHANGE);
    assert!(
        !state.text("refs").contains("attempts/1/1"),
        "{}",
        state.text("refs")
    );
    assert!(
        state.text("refs").contains("attempts/1/2"),
        "{}",
        state.text("refs")
    );
    let kept = one.git(&["log", "--format=%s", "refs/ralph/add-login/attempts/1/1"]);
    assert!(kept.contains("env\n"), "{kept}");
    one.ralph(&["push", CHANGE]).exits(0).says(WITHHELD);
    assert_eq!(leaks(&remote), "");
    let other = remote.clone("other", &[]);
    other.ralph(&["pull", CHANGE]).exits(0);
    assert_eq!(other.attempts().len(), 2);
}

#[test]
fn push_names_what_stays_here() {
    let remote = Remote::new();
    let one = with_secret(&remote);
    one.ralph(&["start", CHANGE]).exits(0);
    let agent = remote
        .sandbox
        .agent("git add -f .env; git commit -qm env; exit 1");
    one.ralph(&["next", CHANGE, "--", &agent]).exits(3);
    let pushed = one.ralph(&["push", CHANGE]).exits(0).says(WITHHELD);
    assert_eq!(
        pushed.stderr.matches("not pushed").count(),
        1,
        "{}",
        pushed.stderr
    );
    assert_eq!(leaks(&remote), "");
}

#[test]
fn a_host_that_hides_the_state_gets_no_branch() {
    let remote = Remote::new();
    remote.git(&["config", "transfer.hideRefs", "refs/ralph"]);
    let one = remote.clone("one", &[]);
    fs::write(one.dir.join("draft"), "draft\n").unwrap();
    let agent = remote.sandbox.completing("echo x >>f");
    let hint = "git config ralph.remoteRefs refs/heads/ralph-state/";
    let run = ["run", CHANGE, "--keep", "--", &agent];
    one.ralph(&run).exits(7).says(hint);
    one.ralph(&["push", CHANGE]).exits(7).says(hint);
    assert_eq!(remote.git(&["branch", "--list", "ralph*"]), "");
    one.git(&["config", "ralph.remoteRefs", "refs/heads/ralph-state/"]);
    one.ralph(&run).exits(0);
    assert_eq!(remote.git(&["show", "ralph/add-login:f"]), "x\nx\nx\n");
}
