//! `git ralph push`.

use std::fs;

use crate::support::CHANGE;
use crate::support::remote::{Clone, Remote};

#[test]
fn push_sends_only_the_loop_to_a_named_remote() {
    let remote = Remote::new();
    let agent = remote.sandbox.completing("echo x >>done");
    let clone = remote.clone("one", &[]);
    clone.git(&["config", "--unset", "ralph.remote"]);
    let before = remote.git(&["for-each-ref"]);
    clone.ralph(&["start", CHANGE]).exits(0);
    clone.ralph(&["next", CHANGE, "--", &agent]).exits(0);
    let refused = clone.ralph(&["push", CHANGE]).exits(1);
    refused.says("no remote is named\nhint: add --remote origin, or: git config ralph.remote origin\n");
    assert_eq!(remote.git(&["for-each-ref"]), before);
    fs::write(clone.dir.join("mine"), "mine\n").unwrap();
    clone.git(&["stash", "push", "-q", "-u"]);
    clone.ralph(&["push", CHANGE, "--remote", "origin"]).exits(0);
    // The stash, other branches and the snapshot before the loop stay.
    let theirs = remote.git(&["rev-list", "--objects", "--all"]);
    for own in [
        "refs/stash",
        "refs/ralph/add-login/start",
        "refs/ralph/add-login/anchor",
    ] {
        let oid = clone.git(&["rev-parse", own]);
        assert!(!theirs.contains(oid.trim()), "{own}");
    }
}

#[test]
fn push_names_files_that_were_not_committed_before_the_loop() {
    let remote = Remote::new();
    let clone = remote.clone("one", &[]);
    fs::write(clone.dir.join("mine"), "mine\n").unwrap();
    clone.ralph(&["start", CHANGE]).exits(0);
    let pushed = clone.ralph(&["push", CHANGE]).exits(0);
    let wanted = "with what you had not committed when it began: mine\n";
    assert!(pushed.stderr.contains(wanted), "{}", pushed.stderr);
    let other = remote.clone("other", &[]);
    fs::write(other.dir.join("mine"), "mine\n").unwrap();
    other.git(&["config", "ralph.remoteRefs", "refs/heads/other"]);
    // The branch of the loop that this clone does not see.
    remote.git(&["branch", "-D", "ralph/add-login"]);
    let run = other.ralph(&["run", CHANGE, "--", "false"]);
    let wanted = "pushed with what you had not committed when the loop began: mine\n";
    assert!(run.stderr.contains(wanted), "{}", run.stderr);
}

#[test]
fn push_does_not_overwrite_the_work_of_another_clone() {
    let remote = Remote::new();
    let sandbox = &remote.sandbox;
    let (one, other) = (remote.clone("one", &[]), remote.clone("other", &[]));
    // Two that begin in the same second have the same first commit.
    let begins = |clone: &Clone<'_>| {
        let date = "2026-01-02T03:04:05Z";
        let start = clone.cmd(&["ralph", "start", CHANGE]);
        let start = start.env("GIT_AUTHOR_DATE", date).env("GIT_COMMITTER_DATE", date);
        start.run().exits(0);
    };
    begins(&one);
    one.ralph(&["push", CHANGE]).exits(0);
    other.ralph(&["pull", CHANGE]).exits(0);
    one.ralph(&["next", CHANGE, "--", &sandbox.completing("echo one >f")])
        .exits(0);
    other
        .ralph(&["next", CHANGE, "--", &sandbox.completing("echo other >f")])
        .exits(0);
    other.ralph(&["push", CHANGE]).exits(0);
    let before = remote.git(&["for-each-ref"]);
    one.ralph(&["push", CHANGE])
        .exits(7)
        .says("origin has newer work on 'add-login'");
    assert_eq!(remote.git(&["for-each-ref"]), before);
    let tip = one.git(&["rev-parse", "ralph/add-login"]);
    one.ralph(&["pull", CHANGE]).exits(0);
    assert_eq!(one.git(&["show", "HEAD:f"]), "other\n");
    assert_eq!(one.git(&["rev-parse", "refs/ralph/add-login/replaced/1"]), tip);
    // A loop that began on its own is another one.
    let third = remote.clone("third", &[]);
    begins(&third);
    third
        .ralph(&["pull", CHANGE])
        .exits(7)
        .says("a different loop 'add-login' is active in this repository");
    let refused = third.ralph(&["push", CHANGE]).exits(7);
    let refused = refused.says("origin has a different loop 'add-login', with 1 complete story; the one here has 0 complete stories\n");
    let hint = refused
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("hint: to have that one here instead: "));
    let command = hint.and_then(|hint| hint.split("; ").next()).unwrap();
    let typed = format!("alias.typed=!{command}");
    third.cmd(&["-c", &typed, "typed"]).run().exits(0);
    assert_eq!(third.git(&["show", "HEAD:f"]), "other\n");
}

#[test]
fn push_and_run_refuse_a_loop_with_the_stash_strategy() {
    let remote = Remote::new();
    let clone = remote.clone("one", &[]);
    clone.ralph(&["start", CHANGE, "--strategy", "stash"]).exits(0);
    clone
        .ralph(&["push", CHANGE])
        .exits(1)
        .says("uses the strategy stash");
    clone
        .ralph(&["run", CHANGE, "--", "true"])
        .exits(1)
        .says("uses the strategy stash");
}

#[test]
fn push_leaves_and_names_a_branch_with_other_commits() {
    let remote = Remote::new();
    let clone = remote.clone("one", &[]);
    let foreign = clone.git(&["commit-tree", "-m", "theirs", "HEAD^{tree}"]);
    clone.git(&[
        "push",
        "-q",
        "origin",
        &format!("{}:refs/heads/ralph/add-login", foreign.trim()),
    ]);
    clone.ralph(&["start", CHANGE]).exits(0);
    let said = "branch ralph/add-login on origin holds other commits, and stays as it is\n";
    let pushed = clone.ralph(&["push", CHANGE]).exits(0);
    assert!(pushed.stderr.contains(said), "{}", pushed.stderr);
    let agent = remote.sandbox.completing("echo x >>f");
    let run = clone.ralph(&["run", "--any", "--keep", "--", &agent]).exits(7);
    let said = "branch ralph/add-login on origin stays as it is: it holds other commits\n";
    assert_eq!(run.stderr.matches(said).count(), 1, "{}", run.stderr);
    run.says("is done, but branch ralph/add-login on origin does not have it; it holds other commits\n");
    assert_eq!(remote.git(&["rev-parse", "ralph/add-login"]), foreign);
    // Nobody is told that it is finished as long as its work is not there for people.
    let entry = || clone.ralph(&["queue", "--json"]).exits(0).json()["changes"][0].clone();
    assert_eq!(entry()["phase"], "blocked");
    assert!(
        entry()["why"]
            .as_str()
            .unwrap()
            .contains("it holds other commits")
    );
    clone.ralph(&["push", CHANGE]).exits(7);
    assert_eq!(entry()["phase"], "blocked");
    remote.git(&["update-ref", "-d", "refs/heads/ralph/add-login"]);
    clone.ralph(&["push", CHANGE]).exits(0);
    assert_eq!(entry()["phase"], "finished");
    let tip = clone.git(&["rev-parse", "ralph/add-login"]);
    assert_eq!(remote.git(&["rev-parse", "ralph/add-login"]), tip);
}

#[test]
fn no_command_line_and_no_path_of_the_machine_is_pushed() {
    let remote = Remote::new();
    let sandbox = &remote.sandbox;
    let clone = remote.clone("one", &[]);
    let before = remote.git(&["cat-file", "--batch-all-objects", "--batch-check"]);
    let flag = sandbox.outside("flag");
    let gate = format!(
        "KEY=s3cret test -e {} || {{ echo at $PWD >&2; false; }}",
        flag.display()
    );
    let notes = "echo \"LEARNED: see $PWD/f\" >>\"$notes/x\"; echo x >>f";
    let agent = sandbox.completing(notes);
    let line = format!("{agent} --token s3cret");
    for setting in [
        ["ralph.agent.mine.command", &line],
        ["ralph.agent", "mine"],
        ["ralph.worktreeSetup", "setup --token s3cret"],
        ["ralph.retryContext", "always"],
    ] {
        clone.git(&["config", setting[0], setting[1]]);
    }
    clone
        .ralph(&["start", CHANGE, "--allow-red", "--verify", &gate])
        .exits(0);
    clone.ralph(&["next", CHANGE]).exits(3);
    clone.ralph(&["push", CHANGE]).exits(0);
    fs::write(&flag, "").unwrap();
    clone.ralph(&["retry", CHANGE]).exits(0);
    clone
        .ralph(&[
            "run",
            CHANGE,
            "--agent",
            &line,
            "--verify",
            "true s3cret",
            "--keep",
        ])
        .exits(0);
    let known: Vec<&str> = before.lines().filter_map(|line| line.split(' ').next()).collect();
    let after = remote.git(&["cat-file", "--batch-all-objects", "--batch-check"]);
    let new = after.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let (mut seen, top) = (0, sandbox.outside("").display().to_string());
    for object in new.filter(|object| !known.contains(&object[0]) && object[1] != "tree") {
        let text = remote.git(&["cat-file", object[1], object[0]]);
        // The host's own name is public, and so is what the agent writes into files of the repository.
        for secret in ["s3cret", top.trim_end_matches('/')] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
        seen += usize::from(text.contains("the gate `test` failed"));
    }
    assert!(seen >= 2, "the reason travels: {seen}");
    let other = remote.clone("other", &[]);
    other.ralph(&["pull", CHANGE]).exits(0);
    assert!(other.attempts()[0].contains("gate_failed"));
}

#[test]
fn push_leaves_words_for_the_agent_here_and_pull_keeps_them() {
    let remote = Remote::new();
    let (one, other) = (remote.clone("one", &[]), remote.clone("other", &[]));
    let failing = remote.sandbox.failing("");
    one.ralph(&["start", CHANGE]).exits(0);
    one.ralph(&["tell", CHANGE, "use tabs"]).exits(0);
    one.ralph(&["next", CHANGE, "--", &failing]).exits(3);
    one.ralph(&["push", CHANGE]).exits(0);
    let objects = remote.git(&["cat-file", "--batch", "--batch-all-objects", "--unordered"]);
    assert!(objects.contains("attempt_started") && !objects.contains("use tabs"));
    other.ralph(&["pull", CHANGE]).exits(0);
    other.ralph(&["retry", CHANGE, "--", &failing]).exits(3);
    other.ralph(&["push", CHANGE]).exits(0);
    one.ralph(&["pull", CHANGE]).exits(0);
    assert!(
        one.ralph(&["prompt", CHANGE])
            .exits(0)
            .stdout
            .ends_with("\n> use tabs\n")
    );
}
