//! `git ralph run --remote`: how often it connects, and what it does while the remote does not answer or take the work.

use std::fs;

use nix::sys::signal::Signal;

use crate::support::remote::Remote;
use crate::support::{CHANGE, wait_until};

#[test]
fn run_whose_remote_is_gone_says_so_and_can_be_stopped() {
    let remote = Remote::new();
    let sandbox = &remote.sandbox;
    let one = remote.clone("one", &[]);
    let away = remote.bare.with_extension("away");
    let agent = sandbox.completing(&format!(
        "echo x >>f; mv '{}' '{}'",
        remote.bare.display(),
        away.display()
    ));
    let running = one
        .cmd(&["ralph", "run", CHANGE, "--keep", "--", &agent])
        .on_terminal(100)
        .start();
    wait_until("it says so", || {
        running
            .seen()
            .contains("origin does not answer, and git-ralph tries again")
    });
    running.signal_group(Signal::SIGINT);
    running.signal_group(Signal::SIGINT);
    let output = running.end();
    assert!(matches!(output.code, 75 | 130), "{output:?}");
    fs::rename(&away, &remote.bare).unwrap();
    let agent = sandbox.completing("echo x >>f");
    one.cmd(&["ralph", "run", CHANGE, "--keep", "--", &agent])
        .run()
        .exits(0);
    let subjects = remote.git(&["log", "--format=%s", "ralph/add-login"]);
    assert!(
        subjects.starts_with("checkpoint: 3\ncheckpoint: 2\ncheckpoint: 1\n"),
        "{subjects}"
    );
}

#[test]
fn a_loop_is_not_closed_before_the_remote_has_its_last_checkpoint() {
    let remote = Remote::new();
    let clone = remote.clone("one", &[]);
    // As a host that finds a secret in the work on the last story.
    remote.refuse(
        "case $ref in *state) git ls-tree -r --name-only \"$3^2\" | grep -q secret ;; *) false ;; esac",
    );
    let agent = remote
        .sandbox
        .completing("test $RALPH_STORY != 3 || echo x >secret; echo x >>f");
    let run = ["ralph", "run", CHANGE, "--cleanup", "--", &agent];
    clone.cmd(&run).run().exits(7);
    let status = clone.ralph(&["status", CHANGE, "--json"]).exits(0).json();
    assert_eq!(status["closed"], serde_json::Value::Null);
    assert_eq!(status["stories_done"], 3);
    assert_eq!(clone.git(&["branch", "--show-current"]), "ralph/add-login\n");
    fs::remove_file(remote.bare.join("hooks/update")).unwrap();
    clone.ralph(&["push", CHANGE]).exits(0);
    clone.cmd(&run).run().exits(0);
    assert_eq!(remote.git(&["show", "ralph/add-login:f"]), "x\nx\nx\n");
}

#[test]
fn a_run_connects_once_for_each_step_and_once_to_look() {
    let remote = Remote::new();
    let clone = remote.clone("one", &[]);
    let log = remote.sandbox.outside("calls");
    let agent = remote.sandbox.completing("echo x >>f");
    let run = ["ralph", "run", CHANGE, "--cleanup", "--", &agent];
    clone.cmd(&run).env("GIT_TRACE2_EVENT", &log).run().exits(0);
    let text = fs::read_to_string(&log).unwrap();
    let calls = |name: &str| {
        let name = format!("\"name\":\"{name}\",");
        let is_call = |line: &&str| line.contains("\"cmd_name\"") && line.contains(&name);
        text.lines().filter(is_call).count()
    };
    // The look; the beginning, three checkpoints, and the end.
    assert_eq!(["ls-remote", "fetch", "push"].map(calls), [1, 0, 5]);
}

#[test]
fn run_killed_right_after_a_push_arrived_knows_its_own_lease() {
    for begins_elsewhere in [false, true] {
        let remote = Remote::new();
        let sandbox = &remote.sandbox;
        let agent = sandbox.completing("echo $RALPH_STORY >>f");
        let (one, other) = (remote.clone("one", &[]), remote.clone("other", &[]));
        if begins_elsewhere {
            other
                .ralph(&["run", CHANGE, "--max-attempts", "1", "--", &agent])
                .exits(6);
        }
        let script = format!(
            "case \" $* \" in
             *' push '*/state*)
                 if mkdir \"$notes/killed\" 2>/dev/null; then '{0}' \"$@\" && kill -9 $PPID; exit 1; fi ;;
             esac
             exec '{0}' \"$@\"",
            sandbox.git_program().display()
        );
        sandbox.install("git", &script);
        let run = ["run", CHANGE, "--keep", "--", &agent];
        sandbox.direct(&run).dir(&one.dir).run().exits(137);
        assert!(sandbox.notes.join("killed").is_dir());
        one.ralph(&run).exits(0);
        assert_eq!(fs::read_to_string(one.dir.join("f")).unwrap(), "1\n2\n3\n");
    }
}

#[test]
fn loop_goes_from_one_own_work_tree_to_another() {
    let remote = Remote::new();
    let agent = remote.sandbox.completing("echo $RALPH_STORY >>f");
    let [one, other, third] = ["one", "other", "third"].map(|name| remote.clone(name, &[]));
    let any = [
        "run",
        "--any",
        "--jobs=2",
        "--keep",
        "--max-attempts=1",
        "--",
        &agent,
    ];
    one.ralph(&any).exits(6);
    other.git(&[
        "config",
        "ralph.worktreeSetup",
        "mkdir -p made; echo x >made/prepared",
    ]);
    fs::write(other.dir.join("README.md"), "mine\n").unwrap();
    fs::write(other.dir.join("new"), "mine\n").unwrap();
    let before = other.git(&["status", "--porcelain", "--branch"]);
    other
        .ralph(&["run", CHANGE, "--worktree", "--max-attempts", "1", "--", &agent])
        .exits(6)
        .says("taken over from origin");
    // The loop is known here, in the work tree that it has.
    one.ralph(&any).exits(0);
    assert_eq!(one.git(&["show", "ralph/add-login:f"]), "1\n2\n3\n");
    assert_eq!(
        one.git(&["ls-tree", "--name-only", "ralph/add-login", "made"]),
        ""
    );
    assert_eq!(other.git(&["status", "--porcelain", "--branch"]), before);
    assert_eq!(fs::read_to_string(other.dir.join("README.md")).unwrap(), "mine\n");
    third.ralph(&["run", CHANGE, "--worktree", "--", &agent]).exits(5);
    assert_eq!(third.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn loop_in_an_own_work_tree_that_comes_from_a_remote_is_aborted() {
    let remote = Remote::new();
    let agent = remote.sandbox.completing("echo $RALPH_STORY >>f");
    let [one, other] = ["one", "other"].map(|name| remote.clone(name, &[]));
    let run = ["run", CHANGE, "--worktree", "--max-attempts", "1", "--", &agent];
    one.ralph(&run).exits(6);
    other.ralph(&run).exits(6);
    other.ralph(&["abort", CHANGE]).exits(0);
    assert_eq!(other.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(
        other.git(&["status", "--porcelain", "--branch"]),
        "## main...origin/main\n"
    );
    let kept = format!("refs/ralph/{CHANGE}/finished:f");
    assert_eq!(other.git(&["show", &kept]), "1\n2\n");
}
