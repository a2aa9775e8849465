//! `git ralph pull`.

use std::fs;

use crate::support::remote::{Clone, Remote};
use crate::support::{CHANGE, Sandbox, wait_for};

fn fails_once(sandbox: &Sandbox) -> String {
    sandbox.agent(
        "echo \"$RALPH_STORY\" >>done; case $RALPH_STORY.$(count; cat \"$notes/count\") in 2.2) failed 'not yet' ;; *) complete ;; esac",
    )
}

#[test]
fn loop_continues_in_another_clone_with_the_same_result() {
    let together = Sandbox::new();
    together
        .ralph(&["run", CHANGE, "--keep", "--", &fails_once(&together)])
        .exits(0);
    let wanted = together.git(&["rev-parse", "HEAD^{tree}"]);

    let remote = Remote::new();
    let agent = fails_once(&remote.sandbox);
    let one = remote.clone("one", &[]);
    one.ralph(&["start", CHANGE]).exits(0);
    one.ralph(&["next", CHANGE, "--", &agent]).exits(0);
    one.ralph(&["next", CHANGE, "--", &agent]).exits(3);
    let pushed = one.ralph(&["push", CHANGE]).exits(0);
    assert!(
        pushed.stderr.contains("add-login is on origin, at checkpoint"),
        "{}",
        pushed.stderr
    );
    let again = one.ralph(&["push", CHANGE]).exits(0);
    assert_eq!(again.stderr, "origin has everything of add-login\n");

    let other = remote.clone("other", &["--depth=1"]);
    other.ralph(&["pull", CHANGE]).exits(0);
    assert_eq!(other.git(&["status", "--porcelain"]), "");
    assert_eq!(other.attempts(), one.attempts());
    let status = other.ralph(&["status", CHANGE, "--json"]).exits(0).json();
    assert_eq!(status["current"]["reason"], "not yet");
    assert_eq!(status["next"], "retry");
    let there = "(use \"git ralph run add-login --remote origin\" to continue it here and on the remote)";
    let shown = other.ralph(&["status", CHANGE]).exits(0).stdout;
    assert!(shown.contains(there), "{shown}");
    assert!(
        other
            .ralph(&["prompt", CHANGE])
            .exits(0)
            .stdout
            .contains("not yet")
    );
    let kept = other.git(&["show", "refs/ralph/add-login/attempts/2/1:done"]);
    assert_eq!(kept, "1\n2\n");
    other.ralph(&["run", CHANGE, "--keep", "--", &agent]).exits(0);
    assert_eq!(other.git(&["rev-parse", "HEAD^{tree}"]).trim(), wanted);
    let numbers = ["\"2\" 2 \"complete\" null", "\"3\" 1 \"complete\" null"];
    assert_eq!(other.attempts()[2..], numbers);

    // Back where it began, with all that was done elsewhere.
    one.ralph(&["pull", CHANGE]).exits(0);
    assert_eq!(one.attempts(), other.attempts());
    assert_eq!(one.git(&["rev-parse", "HEAD^{tree}"]).trim(), wanted);
    let again = other.ralph(&["pull", CHANGE]).exits(0);
    assert!(
        again
            .stderr
            .contains("everything that origin has of add-login is here"),
        "{}",
        again.stderr
    );
}

#[test]
fn killed_fetch_does_not_block_the_next_pull() {
    let remote = Remote::new();
    let one = remote.clone("one", &[]);
    one.ralph(&["start", CHANGE]).exits(0);
    one.ralph(&["push", CHANGE]).exits(0);
    let other = remote.clone("other", &["--depth=1"]);
    let lock = other.dir.join(".git/shallow.lock");
    fs::write(&lock, "").unwrap();
    other.ralph(&["pull", CHANGE]).exits(0);
    assert!(lock.exists(), "it may be that of a git that is running");
}

#[test]
fn the_work_of_another_machine_comes_back_uncommitted() {
    let remote = Remote::new();
    let agent = remote.sandbox.completing("echo \"$RALPH_STORY\" >>done");
    let one = remote.clone("one", &[]);
    one.ralph(&["run", CHANGE, "--", &agent]).exits(0);
    let other = remote.clone("other", &[]);
    other.ralph(&["pull", CHANGE]).exits(0);
    other.ralph(&["finish", CHANGE, "--cleanup"]).exits(0);
    assert_eq!(other.git(&["symbolic-ref", "--short", "HEAD"]), "main\n");
    assert_eq!(fs::read_to_string(other.dir.join("done")).unwrap(), "1\n2\n3\n");
    let third = remote.clone("third", &[]);
    third.ralph(&["pull", CHANGE]).exits(0);
    third.ralph(&["abort", CHANGE]).exits(0);
    assert_eq!(third.git(&["status", "--porcelain"]), "");
    assert_eq!(third.git(&["symbolic-ref", "--short", "HEAD"]), "main\n");
}

#[test]
fn pull_refuses_uncommitted_changes_and_unknown_loops() {
    let remote = Remote::new();
    let one = remote.clone("one", &[]);
    one.ralph(&["start", CHANGE]).exits(0);
    one.ralph(&["push", CHANGE]).exits(0);
    let other = remote.clone("other", &[]);
    let before = other.git(&["for-each-ref"]);
    for (path, text) in [("new", "new\n"), ("README.md", "edited\n")] {
        fs::write(other.dir.join(path), text).unwrap();
        other
            .ralph(&["pull", CHANGE])
            .exits(1)
            .says("uncommitted changes");
        assert_eq!(fs::read_to_string(other.dir.join(path)).unwrap(), text);
        other.git(&["stash", "push", "-q", "-u"]);
        other.git(&["stash", "drop", "-q"]);
    }
    let own = other.dir.join("README.md");
    let committed = fs::read(&own).unwrap();
    for flag in ["skip-worktree", "assume-unchanged"] {
        fs::write(&own, "local\n").unwrap();
        other.git(&["update-index", &format!("--{flag}"), "README.md"]);
        for command in [
            &["pull", CHANGE][..],
            &["run", CHANGE, "--remote", "origin", "--", "true"],
        ] {
            other
                .ralph(command)
                .exits(1)
                .says("git ignores changes of these files, and has no copy of them:\n  README.md");
        }
        assert_eq!(fs::read_to_string(&own).unwrap(), "local\n");
        fs::write(&own, &committed).unwrap();
    }
    other.git(&[
        "update-index",
        "--no-skip-worktree",
        "--no-assume-unchanged",
        "README.md",
    ]);
    assert_eq!(other.git(&["for-each-ref"]), before);
    other
        .ralph(&["pull", "nothing"])
        .exits(1)
        .says("origin has no loop 'nothing'");
    other
        .ralph(&["pull", CHANGE, "--remote", "/nowhere"])
        .exits(1)
        .says("cannot read the remote");
}

#[test]
fn no_command_and_no_path_comes_from_a_remote() {
    let remote = Remote::new();
    let one = remote.clone("one", &[]);
    let marker = remote.sandbox.outside("marker");
    let verify = format!("touch {}", marker.display());
    one.ralph(&["start", CHANGE, "--verify", &verify, "--agent", "true"])
        .exits(0);
    fs::remove_file(&marker).unwrap();
    one.ralph(&["push", CHANGE]).exits(0);
    let state = remote.git(&["show", "refs/ralph/add-login/state:state.toml"]);
    assert!(!state.contains("agent = ") && !state.contains("[here"), "{state}");
    assert!(state.contains("gates = [\"touch\"]\n"), "{state}");
    let other = remote.clone("other", &[]);
    other.ralph(&["pull", CHANGE]).exits(0);
    let agent = remote.sandbox.completing("echo x >>f");
    other.ralph(&["next", CHANGE, "--", &agent]).exits(0);
    assert!(!marker.exists());

    let with = |from: &str, to: &str| {
        let (from, to) = (from.to_owned(), to.to_owned());
        move |text: &str| {
            assert!(text.contains(&from), "{from}: {text}");
            text.replacen(&from, &to, 1)
        }
    };
    let list = "openspec/changes/add-login/tasks.md";
    let third = remote.clone("third", &[]);
    let before = third.git(&["for-each-ref"]);
    for (file, from, to, says) in [
        (
            "state.toml",
            list,
            "/etc/passwd",
            "is not in the repository: /passwd",
        ),
        ("state.toml", list, "../../x", "is not in the repository: ../../x"),
        ("state.toml", "\"main\"", "\"../../x\"", "cannot read the state"),
        ("state.toml", "ralph/add-login", "main", "cannot read the state"),
        ("state.toml", "version = 4", "version = 99", "newer git-ralph"),
        ("state.toml", "checkpoint = ", "no = ", "cannot read the state"),
    ] {
        let reference = "refs/ralph/add-login/state";
        let good = remote.git(&["rev-parse", reference]);
        let mut forged = remote.state(CHANGE);
        forged.edit(file, with(from, to));
        remote.put_state(CHANGE, &forged);
        third.ralph(&["pull", CHANGE]).exits(1).says(says);
        assert_eq!(third.git(&["for-each-ref"]), before, "{to}");
        remote.git(&["update-ref", reference, good.trim()]);
    }
    let mut forged = remote.state(CHANGE);
    forged.message = with("Ralph-Stories: 0/3", "Ralph-Stories: 3/3")(&forged.message);
    let good = remote.git(&["rev-parse", "refs/ralph/add-login/state"]);
    remote.put_state(CHANGE, &forged);
    third
        .ralph(&["pull", CHANGE])
        .exits(1)
        .says("its message and its state.toml say different things");
    remote.git(&["update-ref", "refs/ralph/add-login/state", good.trim()]);
    third.ralph(&["pull", CHANGE]).exits(0);
}

#[test]
fn gates_that_do_not_travel_are_named_and_stay_where_they_were_given() {
    let remote = Remote::new();
    let (one, other) = (remote.clone("one", &[]), remote.clone("other", &[]));
    one.ralph(&["start", CHANGE, "--verify", "test -e README.md"])
        .exits(0);
    one.ralph(&["push", CHANGE]).exits(0);
    let pulled = other.ralph(&["pull", CHANGE]).exits(0);
    let wanted =
        "a gate with which the loop began does not come from a remote, a command of the program test\n";
    assert!(pulled.stderr.contains(wanted), "{}", pulled.stderr);
    let agent = remote.sandbox.completing("echo x >>f");
    other.ralph(&["next", CHANGE, "--", &agent]).exits(0);
    other.ralph(&["push", CHANGE]).exits(0);
    let back = one.ralph(&["pull", CHANGE]).exits(0);
    assert!(!back.stderr.contains("gate"), "{}", back.stderr);
    let breaking = remote.sandbox.completing("rm README.md");
    one.ralph(&["next", CHANGE, "--", &breaking]).exits(3);
}

#[test]
fn a_loop_that_was_taken_from_a_dead_run_here_can_be_pushed() {
    let remote = Remote::new();
    let sandbox = &remote.sandbox;
    let clone = remote.clone("one", &[]);
    let slow = sandbox.completing("touch \"$notes/there\"; until test -e \"$notes/go\"; do sleep 0.05; done");
    let running = clone.cmd(&["ralph", "run", CHANGE, "--", &slow]).start();
    wait_for(&sandbox.notes.join("there"));
    running.kill_group();
    fs::write(sandbox.notes.join("go"), "").unwrap();
    clone.ralph(&["pull", CHANGE, "--take", "--force"]).exits(0);
    let agent = sandbox.completing("echo x >>f");
    clone.ralph(&["next", CHANGE, "--", &agent]).exits(0);
    clone.ralph(&["push", CHANGE]).exits(0);
    assert_eq!(remote.git(&["show", "ralph/add-login:f"]), "x\n");
}

#[test]
fn a_remote_that_went_back_replaces_nothing() {
    let remote = Remote::new();
    let clone = remote.clone("one", &[]);
    let agent = remote.sandbox.completing("echo x >>f");
    clone.ralph(&["start", CHANGE]).exits(0);
    let next = || clone.ralph(&["next", CHANGE, "--", &agent]).exits(0);
    let push = || clone.ralph(&["push", CHANGE]).exits(0);
    next();
    push();
    let refs = ["refs/ralph/add-login/state", "refs/heads/ralph/add-login"];
    let before = refs.map(|name| remote.git(&["rev-parse", name]));
    next();
    push();
    for (name, oid) in refs.iter().zip(&before) {
        remote.git(&["update-ref", name, oid.trim()]);
    }
    let head = clone.git(&["rev-parse", "HEAD"]);
    for args in [
        &["pull", CHANGE][..],
        &["push", CHANGE],
        &["run", CHANGE, "--", &agent],
    ] {
        clone
            .ralph(args)
            .exits(7)
            .says("origin went back: it has state 1 of 'add-login', which does not follow the last one seen here, state 2");
        assert_eq!(clone.git(&["rev-parse", "HEAD"]), head);
    }
    clone.git(&["push", "-q", "origin", "--delete", refs[0]]);
    push();
    assert_eq!(remote.git(&["rev-parse", refs[1]]), head);
    for (name, oid) in refs.iter().zip(&before) {
        remote.git(&["update-ref", name, oid.trim()]);
    }
    clone.ralph(&["pull", CHANGE, "--take", "--force"]).exits(0);
    assert_eq!(clone.git(&["rev-parse", "HEAD"]), before[1]);
}

#[test]
fn pull_without_a_name_takes_the_only_active_loop_or_lists_commands() {
    let remote = Remote::new();
    let other = remote.clone("other", &[]);
    other.ralph(&["pull"]).exits(1).says("origin has no loop");
    let one = remote.clone("one", &[]);
    one.ralph(&["start", CHANGE]).exits(0);
    let pushed = one.ralph(&["push", "--json"]).exits(0).json();
    assert_eq!(pushed["v"], 1);
    assert_eq!(pushed["change"], CHANGE);
    assert_eq!(
        (&pushed["pushed"], &pushed["branch_has_it"]),
        (&true.into(), &true.into())
    );
    assert_eq!(pushed["checkpoint"], one.git(&["rev-parse", "HEAD"]).trim());
    let again = one.ralph(&["push", "--json"]).exits(0).json();
    assert_eq!(again["pushed"], false);
    let pulled = other.ralph(&["pull", "--json"]).exits(0).json();
    assert_eq!(pulled["change"], CHANGE);
    assert_eq!(
        (&pulled["pulled"], &pulled["done"], &pulled["total"]),
        (&true.into(), &0.into(), &3.into())
    );
    let again = other.ralph(&["pull", "--json"]).exits(0).json();
    assert_eq!(again["pulled"], false);

    let two = remote.clone("two", &[]);
    two.git(&["mv", "openspec/changes/add-login", "openspec/changes/tidy-up"]);
    two.git(&["commit", "-qm", "another change"]);
    two.ralph(&["start", "tidy-up"]).exits(0);
    two.ralph(&["push"]).exits(0);
    let third = remote.clone("third", &[]);
    third
        .ralph(&["pull"])
        .exits(1)
        .says("there are several loops on origin: add-login, tidy-up\n")
        .says("hint: git ralph pull add-login, or: git ralph pull tidy-up\n");
    third
        .ralph(&["pull", "--remote", "origin"])
        .exits(1)
        .says("or: git ralph pull tidy-up --remote origin\n");
}

#[test]
fn pull_takes_nothing_from_a_run_here() {
    let remote = Remote::new();
    let clone = remote.clone("a", &[]);
    let go = remote.sandbox.outside("go");
    let agent = remote.sandbox.completing(&format!(
        "touch '{0}.there'; until test -e '{0}'; do sleep 0.05; done; echo x >>x",
        go.display()
    ));
    let running = clone.cmd(&["ralph", "run", CHANGE, "--", &agent]).start();
    wait_for(&go.with_extension("there"));
    let state = remote.state(CHANGE).message;
    clone
        .ralph(&["pull", CHANGE, "--take", "--force"])
        .exits(75)
        .says("stop it: git ralph stop add-login");
    assert_eq!(remote.state(CHANGE).message, state);
    fs::write(&go, "").unwrap();
    running.end().exits(0);
}

/// A clone with the submodule `lib` checked out, on the branch `main`.
fn with_lib<'r>(remote: &'r Remote, name: &str) -> Clone<'r> {
    let clone = remote.clone(name, &[]);
    let allow = ["-c", "protocol.file.allow=always"];
    clone.git(&[&allow[..], &["submodule", "--quiet", "update", "--init"]].concat());
    clone.git(&["-C", "lib", "checkout", "-q", "-B", "main"]);
    clone
}

#[test]
fn submodules_that_stories_moved_follow_if_their_commits_are_there() {
    let sandbox = Sandbox::new();
    sandbox.add_submodule();
    let remote = Remote::of(sandbox, &[]);
    let agent = remote.sandbox.completing(
        "git -C lib -c user.name=A -c user.email=a@e commit -q --allow-empty -m $RALPH_STORY
         git -C lib push -q origin HEAD:refs/heads/story-$RALPH_STORY",
    );
    let [one, other, third] = ["one", "other", "third"].map(|name| with_lib(&remote, name));
    let in_lib = |clone: &Clone<'_>, args: &[&str]| clone.git(&[&["-C", "lib"][..], args].concat());
    let run = ["run", CHANGE, "--max-attempts", "1", "--", &agent];
    one.ralph(&run).exits(6);
    let before = in_lib(&other, &["rev-parse", "HEAD"]);
    for args in [&["pull", CHANGE][..], &run] {
        other
            .ralph(args)
            .exits(7)
            .says("a story moved the submodule lib to ")
            .says("hint: git -C lib fetch; ");
        assert_eq!(
            other.git(&["status", "--porcelain", "--branch"]),
            "## main...origin/main\n"
        );
    }
    in_lib(&other, &["fetch", "-q"]);
    other
        .ralph(&["pull", CHANGE])
        .exits(0)
        .says("the submodule lib is at ");
    assert_eq!(in_lib(&other, &["log", "-1", "--format=%s"]), "1\n");
    assert_eq!(other.git(&["status", "--porcelain"]), "");
    other.ralph(&run).exits(6);
    assert_eq!(other.attempts().len(), 2);
    // The loop is known here, and so is its first commit.
    in_lib(&one, &["fetch", "-q"]);
    one.ralph(&["pull", CHANGE]).exits(0);
    assert_eq!(in_lib(&one, &["log", "-1", "--format=%s"]), "2\n");
    other.ralph(&["abort", CHANGE]).exits(0);
    assert_eq!(in_lib(&other, &["rev-parse", "HEAD"]), before);
    assert_eq!(in_lib(&other, &["symbolic-ref", "--short", "HEAD"]), "main\n");
    assert_eq!(other.git(&["status", "--porcelain"]), "");
    // A clone without the submodule needs none of its commits.
    third.ralph(&["pull", CHANGE]).exits(7);
    third.git(&["submodule", "--quiet", "deinit", "lib"]);
    third.ralph(&["pull", CHANGE]).exits(0);
}
