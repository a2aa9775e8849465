//! `git ralph run --remote`: a lease, and remotes that refuse, fall silent or are of another kind.

use std::fs;

use crate::support::remote::{Clone, Remote};
use crate::support::{CHANGE, Sandbox, wait_for};

#[test]
fn run_holds_its_loop_and_a_killed_run_continues_at_once() {
    let remote = Remote::new();
    let sandbox = &remote.sandbox;
    let (one, other) = (remote.clone("one", &[]), remote.clone("other", &[]));
    let slow = sandbox
        .completing("touch \"$notes/there\"; until test -e \"$notes/go\"; do sleep 0.05; done; echo x >>f");
    let run = ["ralph", "run", CHANGE, "--keep", "--", &slow];
    let running = one.cmd(&run).start();
    wait_for(&sandbox.notes.join("there"));
    let held = other.cmd(&run).run().exits(75);
    assert!(
        held.stderr.contains("holds 'add-login' on origin"),
        "{}",
        held.stderr
    );
    other.ralph(&["push", CHANGE]).exits(1);
    let queue = other.ralph(&["queue", "--json"]).exits(0).json();
    assert_eq!(queue["changes"][0]["free"], false);
    assert!(
        queue["changes"][0]["holder"]
            .as_str()
            .unwrap()
            .starts_with("process ")
    );
    running.kill_group();
    fs::write(sandbox.notes.join("go"), "").unwrap();
    one.cmd(&run).run().exits(0);
    let subjects = remote.git(&["log", "--format=%s", "ralph/add-login"]);
    assert!(
        subjects.starts_with("checkpoint: 3\ncheckpoint: 2\ncheckpoint: 1\ninitial state\n"),
        "{subjects}"
    );
    other
        .cmd(&run)
        .run()
        .exits(5)
        .says("is finished: nothing is left to do");
    other.ralph(&["run", "--any", "--keep", "--", &slow]).exits(5);
}

#[test]
fn every_clone_sees_that_the_host_refused_the_work() {
    let remote = Remote::new();
    let sandbox = &remote.sandbox;
    let one = remote.clone("one", &[]);
    // As hosts do that look into what is pushed.
    remote.refuse(
        "case $ref in *state) git ls-tree -r --name-only \"$3^2\" | grep -q workflow ;; *) false ;; esac",
    );
    let agent = sandbox.completing("test $RALPH_STORY = 1 || echo x >workflow.yml; echo x >>f");
    let run = ["run", CHANGE, "--keep", "--", &agent];
    let refused = one.ralph(&run).exits(7);
    assert!(
        refused.stderr.contains("without workflows permission"),
        "{}",
        refused.stderr
    );
    assert_eq!(one.git(&["show", "ralph/add-login:workflow.yml"]), "x\n");
    let other = remote.clone("other", &[]);
    let queue = other.ralph(&["queue", "--json"]).exits(0).json();
    assert_eq!(queue["changes"][0]["phase"], "blocked");
    assert_eq!(queue["changes"][0]["done"], 1);
    assert!(
        queue["changes"][0]["why"]
            .as_str()
            .unwrap()
            .contains("workflows permission")
    );
    other
        .ralph(&["run", "--any", "--keep", "--", &agent])
        .exits(7)
        .says("passed over add-login: ");
    fs::remove_file(remote.bare.join("hooks/update")).unwrap();
    one.ralph(&["push", CHANGE]).exits(0);
    one.ralph(&run).exits(0);
    assert_eq!(remote.git(&["show", "ralph/add-login:f"]), "x\nx\nx\n");
}

#[test]
fn run_looks_up_a_lost_answer_of_the_remote() {
    let remote = Remote::new();
    let sandbox = &remote.sandbox;
    let clone = remote.clone("one", &[]);
    let git = sandbox.git_program();
    let script = format!(
        "case \" $* \" in *' push '*) '{0}' \"$@\" >/dev/null; exit 128 ;; *) exec '{0}' \"$@\" ;; esac",
        git.display()
    );
    sandbox.install("git", &script);
    let agent = sandbox.completing("echo x >>f");
    let direct = sandbox
        .direct(&["run", CHANGE, "--keep", "--", &agent])
        .dir(&clone.dir);
    direct.run().exits(0);
    let queue = clone.ralph(&["queue", "--json"]).exits(0).json();
    assert_eq!(queue["changes"][0]["phase"], "finished");
}

#[test]
fn a_remote_that_falls_silent_is_waited_for() {
    let remote = Remote::new();
    let sandbox = &remote.sandbox;
    let clone = remote.clone("one", &[]);
    let git = sandbox.git_program();
    // The second push of the state arrives, but neither its answer nor any other comes back for a while.
    let script = format!(
        "case \" $* \" in
         *' push '*) n=$(cat \"$notes/pushes\" 2>/dev/null || echo 0); echo $((n + 1)) >\"$notes/pushes\"
             test $n = 2 || exec '{0}' \"$@\"; '{0}' \"$@\" >/dev/null; touch \"$notes/silent\"; exit 128 ;;
         *' ls-remote '*) test ! -e \"$notes/silent\" || {{ echo x >>\"$notes/silent\"
             test $(wc -l <\"$notes/silent\") -gt 2 && rm \"$notes/silent\"; exit 128; }} ;;
         esac; exec '{0}' \"$@\"",
        git.display()
    );
    sandbox.install("git", &script);
    clone.git(&["config", "ralph.lease", "60s"]);
    let agent = sandbox.completing("echo x >>f");
    let args = ["run", CHANGE, "--keep", "--", &agent];
    sandbox.direct(&args).dir(&clone.dir).run().exits(0);
    assert!(!sandbox.notes.join("silent").exists());
    let states = remote.git(&[
        "log",
        "--first-parent",
        "--format=%s",
        "refs/ralph/add-login/state",
    ]);
    let numbers = states
        .lines()
        .filter_map(|line| line.split('#').nth(1)?.split(' ').next());
    let numbers: Vec<usize> = numbers.map(|number| number.parse().unwrap()).collect();
    let wanted: Vec<usize> = (1..=numbers.len()).rev().collect();
    assert_eq!(numbers, wanted);
}

#[test]
fn a_run_that_cannot_reach_its_remote_gives_up_and_keeps_the_work() {
    let remote = Remote::new();
    let sandbox = &remote.sandbox;
    let clone = remote.clone("one", &[]);
    clone.git(&["config", "ralph.lease", "10s"]);
    let agent = sandbox.agent(
        "test -e \"$notes/again\" && { echo x >>f; complete; exit; }; echo mine >mine; touch \"$notes/there\"; while :; do sleep 0.05; done",
    );
    let run = ["ralph", "run", CHANGE, "--keep", "--", &agent];
    let running = clone.cmd(&run).start();
    wait_for(&sandbox.notes.join("there"));
    let away = sandbox.outside("away.git");
    fs::rename(&remote.bare, &away).unwrap();
    let output = running.end().exits(75);
    assert!(
        output
            .stderr
            .contains("it could not renew its lease on origin for"),
        "{}",
        output.stderr
    );
    assert_eq!(
        clone.git(&["show", "refs/ralph/add-login/attempts/1/1:mine"]),
        "mine\n"
    );
    assert!(clone.attempts()[0].contains("interrupted"));
    clone
        .cmd(&run)
        .run()
        .exits(1)
        .says("cannot read the remote origin");
    fs::rename(&away, &remote.bare).unwrap();
    fs::write(sandbox.notes.join("again"), "").unwrap();
    clone.cmd(&run).run().exits(0);
    assert_eq!(remote.git(&["show", "ralph/add-login:f"]), "x\nx\nx\n");
}

#[test]
fn remotes_of_every_kind_keep_loops() {
    for (name, sha, settings, client) in [
        (
            "denied",
            "sha1",
            &["receive.denyNonFastForwards", "receive.denyDeletes"][..],
            "protocol.version=2",
        ),
        (
            "plain",
            "sha1",
            &["receive.fsckObjects"][..],
            "protocol.version=0",
        ),
        ("sha256", "sha256", &[][..], "protocol.version=2"),
    ] {
        let sandbox = Sandbox::new();
        let dir = sandbox.outside("repository");
        sandbox.git(&[
            "init",
            "-q",
            "--object-format",
            sha,
            "--initial-branch=main",
            dir.to_str().unwrap(),
        ]);
        let remote = if sha == "sha1" {
            Remote::new()
        } else {
            fs::rename(dir.join(".git"), sandbox.outside("other.git")).unwrap();
            fs::remove_dir_all(sandbox.top.join(".git")).unwrap();
            fs::rename(sandbox.outside("other.git"), sandbox.top.join(".git")).unwrap();
            sandbox.configure("user.name", "U");
            sandbox.configure("user.email", "u@e");
            sandbox.git(&["add", "-A"]);
            sandbox.git(&["commit", "-q", "-m", "first"]);
            let bare = sandbox.outside("remote.git");
            sandbox.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
            Remote { sandbox, bare }
        };
        for setting in settings {
            remote.git(&["config", setting, "true"]);
        }
        remote.git(&["config", "receive.advertiseAtomic", "false"]);
        let agent = remote.sandbox.completing("echo x >>f");
        let (one, other) = (remote.clone("one", &[]), remote.clone("other", &["--depth=1"]));
        let once = [
            "-c",
            client,
            "-c",
            "ralph.maxAttempts=1",
            "ralph",
            "run",
            CHANGE,
            "--",
            &agent,
        ];
        one.cmd(&once).run().exits(6);
        other.cmd(&once).run().exits(6);
        one.cmd(&["-c", client, "ralph", "run", CHANGE, "--keep", "--", &agent])
            .run()
            .exits(0);
        assert_eq!(remote.git(&["show", "ralph/add-login:f"]), "x\nx\nx\n", "{name}");
        let events = fs::read_to_string(one.dir.join(".git/ralph/add-login/events.jsonl")).unwrap();
        let came = r#""event":"handed_over","from":null,"remote":"origin","change":"add-login"}"#;
        assert_eq!(events.matches(came).count(), 2, "{events}");
    }
}

#[test]
fn a_host_of_branches_alone_keeps_loops_below_a_branch() {
    let remote = Remote::new();
    remote.refuse("case $ref in refs/heads/*) false ;; *) true ;; esac");
    let one = remote.clone("one", &[]);
    let agent = remote.sandbox.completing("echo x >>f");
    one.ralph(&["run", CHANGE, "--keep", "--", &agent]).exits(7);
    for clone in [one, remote.clone("other", &[])] {
        clone.git(&["config", "ralph.remoteRefs", "refs/heads/ralph-state"]);
        let ended = clone.ralph(&["run", CHANGE, "--keep", "--", &agent]);
        assert!([0, 5].contains(&ended.code), "{}", ended.stderr);
    }
    assert_eq!(
        remote
            .git(&[
                "log",
                "-1",
                "--format=%s",
                "refs/heads/ralph-state/add-login/state"
            ])
            .split(' ')
            .next_back(),
        Some("finished\n")
    );
}

/// Has a run of one story hold the loop in a clone, and kills it while its agent works.
fn is_killed_at_work(clone: &Clone<'_>) {
    let sandbox = &clone.remote.sandbox;
    let slow = sandbox.completing("touch \"$notes/there\"; until test -e \"$notes/go\"; do sleep 0.05; done");
    let running = clone
        .cmd(&["ralph", "run", CHANGE, "--keep", "--", &slow])
        .start();
    wait_for(&sandbox.notes.join("there"));
    running.kill_group();
    fs::write(sandbox.notes.join("go"), "").unwrap();
}

#[test]
fn next_change_begins_where_the_cut_off_loop_began() {
    let remote = Remote::new();
    let clone = remote.clone("one", &[]);
    let list = clone.dir.join("openspec/changes/other");
    fs::create_dir(&list).unwrap();
    fs::write(list.join("tasks.md"), "## 1. One\n- [ ] 1.1 do it\n").unwrap();
    clone.git(&["add", "-A"]);
    clone.git(&["commit", "-q", "-m", "another change"]);
    is_killed_at_work(&clone);
    let agent = remote.sandbox.completing("echo x >>\"f-$RALPH_CHANGE\"");
    clone.ralph(&["run", "--any", "--keep", "--", &agent]).exits(0);
    assert_eq!(clone.git(&["symbolic-ref", "--short", "HEAD"]), "main\n");
    let subjects = clone.git(&["log", "--format=%s", "main..ralph/other"]);
    assert_eq!(subjects, "checkpoint: 1\ninitial state\n");
}

#[test]
fn a_loop_that_another_run_left_behind_is_taken_in_the_end() {
    let remote = Remote::new();
    let (one, other) = (remote.clone("one", &[]), remote.clone("other", &[]));
    one.ralph(&["start", CHANGE]).exits(0);
    one.ralph(&["push", CHANGE]).exits(0);
    other.git(&["config", "ralph.lease", "2s"]);
    is_killed_at_work(&other);
    let agent = remote.sandbox.completing("echo x >>f");
    let any = [
        "-c",
        "ralph.lease=2s",
        "ralph",
        "run",
        "--any",
        "--keep",
        "--",
        &agent,
    ];
    one.cmd(&any).run().exits(0);
    assert_eq!(remote.git(&["show", "ralph/add-login:f"]), "x\nx\nx\n");
}

#[test]
fn work_of_a_killed_run_can_be_pushed_from_its_repository() {
    let remote = Remote::new();
    let clone = remote.clone("one", &[]);
    is_killed_at_work(&clone);
    let agent = remote.sandbox.completing("echo x >>f");
    clone.ralph(&["next", CHANGE, "--", &agent]).exits(0);
    clone.ralph(&["push", CHANGE]).exits(0);
    assert_eq!(remote.git(&["show", "ralph/add-login:f"]), "x\n");
    let queue = clone.ralph(&["queue", "--json"]).exits(0).json();
    assert_eq!(queue["changes"][0]["holder"], serde_json::Value::Null);
}

#[test]
fn a_loop_whose_first_push_is_refused_stays_begun() {
    let remote = Remote::new();
    let clone = remote.clone("one", &[]);
    remote.refuse("true");
    let agent = remote.sandbox.completing("echo x >>f");
    let run = ["run", CHANGE, "--keep", "--", &agent];
    clone.ralph(&run).exits(7).says("git ralph push add-login");
    fs::remove_file(remote.bare.join("hooks/update")).unwrap();
    clone.ralph(&["push", CHANGE]).exits(0);
    clone.ralph(&run).exits(0);
}

/// Has a run end its loop in a clone, and kills it before the remote is told.
fn is_killed_before_it_tells_of_its_end(clone: &Clone<'_>) {
    let sandbox = &clone.remote.sandbox;
    let git = sandbox.git_program();
    // Once: a run after it is not stopped.
    let script = format!(
        "case \" $* \" in
         *' push '*/state*)
             for ref do :; done
             '{0}' log -1 --format=%B \"${{ref%%:*}}\" | grep -q '^Ralph-Phase: finished' \\
                 && mkdir \"$notes/killed\" 2>/dev/null && kill -9 $PPID && exit 1 ;;
         esac
         exec '{0}' \"$@\"",
        git.display()
    );
    sandbox.install("git", &script);
    let agent = sandbox.completing("echo x >>f");
    let run = ["run", CHANGE, "--keep", "--", &agent];
    sandbox.direct(&run).dir(&clone.dir).run().exits(137);
    assert!(sandbox.notes.join("killed").is_dir());
}

#[test]
fn next_run_pushes_an_end_that_the_remote_lacks() {
    for again in [&[CHANGE, "--keep"][..], &["--any", "--keep"]] {
        let remote = Remote::new();
        let clone = remote.clone("one", &[]);
        is_killed_before_it_tells_of_its_end(&clone);
        let run = [&["run"], again, &["--", "false"]].concat();
        clone.ralph(&run).exits(0);
        let queue = clone.ralph(&["queue", "--json"]).exits(0).json();
        assert_eq!(queue["changes"][0]["phase"], "finished", "{again:?}");
        assert_eq!(queue["changes"][0]["holder"], serde_json::Value::Null);
        clone.ralph(&run).exits(5);
    }
}

#[test]
fn a_complete_loop_whose_run_was_killed_is_finished_by_another() {
    let remote = Remote::new();
    let (one, other) = (remote.clone("one", &[]), remote.clone("other", &[]));
    one.git(&["config", "ralph.lease", "1s"]);
    is_killed_before_it_tells_of_its_end(&one);
    let queue = other.ralph(&["queue", "--json"]).exits(0).json();
    assert_eq!(queue["changes"][0]["phase"], "complete");
    assert_eq!(queue["changes"][0]["why"], "another run holds it");
    let any = ["run", "--any", "--keep", "--", "false"];
    let any = [&["-c", "ralph.lease=1s", "ralph"], &any[..]].concat();
    other.cmd(&any).run().exits(0);
    let queue = other.ralph(&["queue", "--json"]).exits(0).json();
    assert_eq!(queue["changes"][0]["phase"], "finished");
    assert_eq!(remote.git(&["show", "ralph/add-login:f"]), "x\nx\nx\n");
}

#[test]
fn end_of_the_agent_does_not_interrupt_a_lease_renewal() {
    let remote = Remote::new();
    let sandbox = &remote.sandbox;
    let clone = remote.clone("one", &[]);
    let git = sandbox.git_program();
    // The second push of the state, a renewal, lasts until the agent has ended, and half a second more.
    let script = format!(
        "case \" $* \" in
         *' push '*/state*) n=$(cat \"$notes/pushes\" 2>/dev/null || echo 0); echo $((n + 1)) >\"$notes/pushes\"
             test $n = 1 && {{ touch \"$notes/pushing\"; until test -s \"$notes/ends\"; do sleep 0.05; done
                 while kill -0 $(cat \"$notes/ends\") 2>/dev/null; do sleep 0.05; done; sleep 0.5; }} ;;
         esac; exec '{0}' \"$@\"",
        git.display()
    );
    sandbox.install("git", &script);
    clone.git(&["config", "ralph.lease", "6s"]);
    let wait = "until test -e \"$notes/pushing\"; do sleep 0.05; done; test -e \"$notes/ends\" || echo $$ >\"$notes/ends\"; echo x >>f";
    let agent = sandbox.completing(wait);
    let args = ["run", CHANGE, "--keep", "--", &agent];
    let output = sandbox.direct(&args).dir(&clone.dir).run().exits(0);
    assert!(!output.stderr.contains("the agent left"), "{}", output.stderr);
    assert_eq!(remote.git(&["show", "ralph/add-login:f"]), "x\nx\nx\n");
}

#[test]
fn a_step_is_one_push_where_the_remote_moves_both_refs_or_none() {
    let pushes = |remote: &Remote, refuse: &str| {
        if !refuse.is_empty() {
            remote.refuse(refuse);
        }
        let clone = remote.clone("one", &[]);
        let trace = remote.sandbox.outside("trace");
        let agent = remote.sandbox.completing("echo x >>f");
        let run = ["ralph", "run", CHANGE, "--keep", "--", &agent];
        let code = clone.cmd(&run).env("GIT_TRACE2_EVENT", &trace).run().code;
        let text = fs::read_to_string(&trace).unwrap();
        let pushed = text
            .lines()
            .filter(|line| line.contains("\"cmd_name\"") && line.contains("\"name\":\"push\","));
        (code, pushed.count())
    };
    let is_whole = |remote: &Remote| {
        let state = remote.git(&["log", "-1", "--format=%B", "refs/ralph/add-login/state"]);
        let tip = remote.git(&["rev-parse", "ralph/add-login"]);
        assert!(state.contains("Ralph-Phase: finished\n"), "{state}");
        assert!(state.contains(&format!("Ralph-Checkpoint: {tip}")), "{state}");
    };
    // The beginning, a push a step, and the end.
    let together = Remote::new();
    assert_eq!(pushes(&together, ""), (0, 5));
    is_whole(&together);
    // This one says that it cannot: it is asked once.
    let apart = Remote::new();
    apart.git(&["config", "receive.advertiseAtomic", "false"]);
    assert_eq!(pushes(&apart, ""), (0, 9));
    is_whole(&apart);
    // A branch that the host does not take keeps no state back, and is not tried with each of them.
    let refusing = Remote::new();
    let (code, number) = pushes(&refusing, "case $ref in refs/heads/*) true ;; *) false ;; esac");
    assert!(code == 7 && number <= 13, "{code}: {number}");
    let state = refusing.git(&["log", "-1", "--format=%B", "refs/ralph/add-login/state"]);
    assert!(
        state.contains("Ralph-Stories: 3/3\n") && state.contains("Ralph-Blocked: "),
        "{state}"
    );
}

#[test]
fn finish_of_a_loop_that_a_remote_has_names_how_it_gets_there() {
    let remote = Remote::new();
    let clone = remote.clone("one", &[]);
    let agent = remote.sandbox.completing("echo x >>f");
    clone.ralph(&["run", CHANGE, "--", &agent]).exits(0);
    let push =
        "the end is not on origin yet; to close the loop there: git ralph push add-login --remote origin\n";
    clone.ralph(&["finish", "--keep", CHANGE]).exits(0).says(push);
    clone.ralph(&["push", CHANGE, "--remote", "origin"]).exits(0);
    let queue = remote
        .clone("other", &[])
        .ralph(&["queue", "--json"])
        .exits(0)
        .json();
    assert_eq!(queue["changes"][0]["phase"], "finished");
}
