//! `git ralph run --jobs`: several changes side by side.

use std::collections::BTreeSet;

use nix::sys::signal::Signal;

use crate::support::{Running, Sandbox, wait_until};

/// A repository with the lists of three changes, of one story each.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    for change in ["one", "two", "three"] {
        let list = format!("openspec/changes/{change}/tasks.md");
        sandbox.write(&list, "## 1. A\n- [ ] a\n");
    }
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "lists"]);
    sandbox
}

/// The words of a run of the three changes, two at once.
fn two_at_once<'a>(args: &[&'a str], agent: &'a str) -> Vec<&'a str> {
    let run = ["run", "one", "two", "three", "--jobs=2", "--keep"];
    [&run, args, &["--", agent]].concat()
}

/// Shell code that waits until a note is there.
fn until(note: &str) -> String {
    format!("until test -e \"$notes/{note}\"; do sleep 0.05; done")
}

/// An agent that says that it works, and goes on when it may.
fn waiting(sandbox: &Sandbox) -> String {
    let script = format!("touch \"$notes/$RALPH_CHANGE\"; {}; echo x >work", until("go"));
    sandbox.completing(&script)
}

fn go_on(sandbox: &Sandbox) {
    std::fs::write(sandbox.notes.join("go"), "").unwrap();
}

/// Begins a run whose first two changes work.
fn begun(sandbox: &Sandbox, agent: &str) -> Running {
    let running = sandbox.direct(&two_at_once(&[], agent)).start();
    wait_until("both work", || both(sandbox));
    running
}

fn phase(sandbox: &Sandbox, change: &str) -> String {
    let status = sandbox.ralph(&["status", change, "--json"]).exits(0).json();
    status["phase"].as_str().unwrap().to_owned()
}

#[test]
fn as_many_changes_as_jobs_run_at_once() {
    let sandbox = sandbox();
    // Each of the first two needs the other; the third sees that one of them has ended.
    let meet = "case $RALPH_CHANGE in
        one) other=two;;
        two) other=one;;
        three) test -e \"$notes/done-one\" || test -e \"$notes/done-two\" || exit 1; other=one;;
        esac; touch \"$notes/$RALPH_CHANGE\"";
    let agent = format!(
        "{meet}; {}; echo \"$RALPH_CHANGE\" >work; echo $RALPH_SLOT >\"$notes/slot-$RALPH_CHANGE\"; touch \"$notes/done-$RALPH_CHANGE\"; complete",
        until("$other")
    );
    let agent = sandbox.agent(&agent);
    sandbox
        .ralph(&two_at_once(&["--max-retries=0"], &agent))
        .exits(0)
        .says("change 3 of 3: three\n")
        .says("\none: [1/1] 1. A\n")
        .says("\none: <promise>COMPLETE</promise>\n")
        .says("\ntwo: 1 of 1 story is complete");
    for change in ["one", "two", "three"] {
        assert_eq!(phase(&sandbox, change), "finished");
        let work = format!("ralph/{change}:work");
        assert_eq!(sandbox.git(&["show", &work]), change);
        // Each began where the command was typed.
        let subjects = sandbox.subjects(&format!("ralph/{change}"));
        assert_eq!(subjects[..3], ["checkpoint: 1", "initial state", "lists"]);
    }
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    assert_eq!(sandbox.git(&["branch", "--show-current"]), "main");
    // Those at work at once have slots of their own.
    let slots = ["one", "two", "three"].map(|change| sandbox.noted(&format!("slot-{change}")));
    assert_eq!(
        BTreeSet::from(["1\n", "2\n"]),
        slots[..2].iter().map(String::as_str).collect()
    );
    assert!(slots[..2].contains(&slots[2]), "{slots:?}");
    // The same line changes nothing more.
    sandbox
        .ralph(&two_at_once(&[], &agent))
        .exits(0)
        .says("three: nothing left to do");
}

#[test]
fn change_that_fails_stops_no_other_and_decides_the_exit_code() {
    let sandbox = sandbox();
    let agent = sandbox.agent("test $RALPH_CHANGE != one || exit 0; echo x >work; complete");
    let output = sandbox
        .ralph(&two_at_once(&["--max-retries=0", "--json"], &agent))
        .exits(4)
        .says("one ended with exit code 4\n");
    let phases = ["one", "two", "three"].map(|change| phase(&sandbox, change));
    assert_eq!(phases, ["exhausted", "finished", "finished"]);
    // Each line is an event, which says whose it is.
    let events = output.stdout.lines();
    let events = events.map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let ended = events.filter(|event| event["event"] == "run_ended");
    assert_eq!(ended.filter(|event| event["change"].is_string()).count(), 3);
    // The others are over.
    let again = sandbox.ralph(&two_at_once(&["--max-retries=0"], &agent)).exits(4);
    let last = again.stderr.lines().last();
    assert_eq!(last, Some("1 change needs attention: one (git ralph status)"));
}

#[test]
fn lines_of_side_by_side_changes_are_no_commands_of_a_workflow() {
    let sandbox = sandbox();
    let agent = sandbox.agent("echo '::error::mine'; echo x >work; complete");
    let running = sandbox
        .ralph_cmd(&two_at_once(&[], &agent))
        .env("GITHUB_ACTIONS", "true");
    let output = running.run().exits(0).says("\none: ::error::mine\n");
    let commands = ["::group::", "::stop-commands::"].map(|command| output.stderr.contains(command));
    assert_eq!(commands, [false, false], "{}", output.stderr);
}

#[test]
fn signal_stops_all_changes_and_the_same_command_continues() {
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGKILL] {
        let sandbox = sandbox();
        let waits = sandbox.agent(&format!(
            "touch \"$notes/$RALPH_CHANGE\"; {}; complete",
            until("never")
        ));
        let words = two_at_once(&[], &waits);
        let running = sandbox.direct(&words).start();
        wait_until("both work", || both(&sandbox));
        running.signal(signal);
        let output = running.end();
        assert_eq!(output.code, 128 + signal as i32, "{}", output.stderr);
        if signal != Signal::SIGKILL {
            output.says("not begun: three\n");
        }
        wait_until("both have stopped", || sandbox.alive().is_empty());
        for change in ["one", "two"] {
            let status = sandbox.ralph(&["status", change]).exits(0);
            assert!(
                status.stdout.contains("last run: stopped by SIG"),
                "{}",
                status.stdout
            );
        }
        let agent = sandbox.completing("echo x >work");
        sandbox.ralph(&two_at_once(&[], &agent)).exits(0);
        assert_eq!(phase(&sandbox, "three"), "finished");
    }
}

fn both(sandbox: &Sandbox) -> bool {
    ["one", "two"]
        .iter()
        .all(|note| sandbox.notes.join(note).exists())
}

#[test]
fn run_refuses_what_cannot_be_side_by_side() {
    let sandbox = sandbox();
    let agent = sandbox.completing("echo x >work");
    sandbox
        .ralph(&["run", "one", "two", "--jobs=2", "--cleanup", "--", &agent])
        .exits(2)
        .says("changes side by side need --keep")
        .says(&format!(
            "hint: git ralph run one two --jobs=2 --keep -- {agent}\n"
        ));
    sandbox
        .ralph(&two_at_once(&["--strategy=stash"], &agent))
        .exits(2)
        .says("the strategy stash makes none");
    sandbox
        .ralph(&two_at_once(&["--worktree=../there"], &agent))
        .exits(2)
        .says("git config ralph.worktreeDir");
    sandbox
        .ralph(&["run", "one", "twoo", "--jobs=2", "--keep", "--", &agent])
        .exits(1)
        .says("did you mean 'two'?");
    assert_eq!(sandbox.git(&["branch", "--list", "ralph/*"]), "");
    sandbox.ralph(&["start", "one"]).exits(0);
    sandbox
        .ralph(&two_at_once(&[], &agent))
        .exits(1)
        .says("loop 'one' is active in this work tree")
        .says("hint: git ralph finish one, or");
}

#[test]
fn later_change_begins_where_the_command_was_typed() {
    let sandbox = sandbox();
    let agent = waiting(&sandbox);
    let running = begun(&sandbox, &agent);
    sandbox.git(&["checkout", "-q", "-b", "elsewhere"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "meanwhile"]);
    go_on(&sandbox);
    running
        .end()
        .exits(0)
        .says("three: started on ralph/three, from main (");
    let subjects = sandbox.subjects("ralph/three");
    assert_eq!(subjects[..3], ["checkpoint: 1", "initial state", "lists"]);
}

#[test]
fn change_that_the_user_begins_meanwhile_is_the_users() {
    let sandbox = sandbox();
    let agent = waiting(&sandbox);
    let running = begun(&sandbox, &agent);
    sandbox.ralph(&["start", "three"]).exits(0);
    go_on(&sandbox);
    running
        .end()
        .exits(1)
        .says("three: error: loop 'three' is active in this work tree");
    assert!(!sandbox.top.join("work").exists());
}

#[test]
fn open_story_of_a_change_whose_work_tree_is_kept_is_not_called_done() {
    let sandbox = sandbox();
    let agent = sandbox.completing("echo x >work");
    sandbox
        .ralph(&["run", "one", "--worktree", "--keep", "--", &agent])
        .exits(0);
    sandbox.git(&["merge", "-q", "ralph/one"]);
    let list = "openspec/changes/one/tasks.md";
    sandbox.write(list, &format!("{}\n## 2. B\n- [ ] b\n", sandbox.read(list)));
    sandbox.git(&["commit", "-q", "-am", "more"]);
    let output = sandbox
        .ralph(&["run", "one", "--worktree", "--keep", "--", &agent])
        .exits(1);
    let kept = sandbox.top.with_extension("ralph");
    let hint = output
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("hint: git "))
        .unwrap();
    assert!(hint.ends_with("checkout --detach"), "{hint} {kept:?}");
    sandbox.git(&hint.split(' ').collect::<Vec<_>>());
    sandbox
        .ralph(&["run", "one", "--worktree", "--keep", "--", &agent])
        .exits(0);
    assert_eq!(
        sandbox.subjects("ralph/one")[..2],
        ["checkpoint: 2", "initial state"]
    );
}

#[test]
fn slow_reader_gets_every_line() {
    let sandbox = sandbox();
    let agent = sandbox.completing("seq 20000 30000; echo x >work");
    let reads = "read -r first; touch \"$1/read\"; until test -e \"$1/kept\"; do sleep 0.05; done; cat";
    let line = format!(
        "git ralph run one two --jobs=2 --keep -- '{agent}' 2>&1 | {{ {reads}; }} && touch \"$1/all\""
    );
    let notes = sandbox.notes.to_str().unwrap();
    let running = sandbox
        .cmd("sh")
        .args(["-c", &line, "sh", notes])
        .patiently()
        .start();
    // Both runs have ended long before anything more is read.
    wait_until("both are kept", || {
        ["one", "two"].iter().all(|change| {
            let kept = sandbox.git_cmd(&[
                "rev-parse",
                "-q",
                "--verify",
                &format!("refs/ralph/{change}/finished"),
            ]);
            kept.run().code == 0
        })
    });
    std::fs::write(sandbox.notes.join("kept"), "").unwrap();
    let output = running.end();
    for change in ["one", "two"] {
        for said in ["29999\n", "finished: on ralph/"] {
            let said = format!("{change}: {said}");
            assert!(output.stdout.contains(&said), "{said}");
        }
    }
}

#[test]
fn command_after_a_kill_waits_for_the_runs_that_stop() {
    let sandbox = sandbox();
    let agent = sandbox.agent(&format!(
        "trap '' TERM; touch \"$notes/$RALPH_CHANGE\"; {}; echo x >work; complete",
        until("go")
    ));
    let running = begun(&sandbox, &agent);
    running.signal(Signal::SIGKILL);
    running.wait_for_its_end();
    go_on(&sandbox);
    sandbox.ralph(&two_at_once(&[], &agent)).exits(0);
}

#[test]
fn end_of_one_change_by_a_signal_is_no_signal_to_the_run() {
    let sandbox = sandbox();
    let agent = waiting(&sandbox);
    let running = sandbox
        .direct(&two_at_once(&[], &agent))
        .env("GITHUB_ACTIONS", "true")
        .start();
    wait_until("both work", || both(&sandbox));
    sandbox.ralph(&["stop", "--now", "one"]).exits(0);
    go_on(&sandbox);
    running
        .end()
        .exits(6)
        .says("\n::error title=git ralph::one was stopped by SIGTERM\n");
    assert_eq!(phase(&sandbox, "three"), "finished");
}

#[test]
fn any_takes_the_changes_of_the_queue_and_those_that_come_meanwhile() {
    let sandbox = sandbox();
    // The last one comes while the first runs; one cannot be done.
    let top = sandbox.top.display();
    let agent = sandbox.agent(&format!(
        "echo \"$RALPH_CHANGE\" >>\"$notes/began\"; echo x >work
        if mkdir \"$notes/once\"; then
            mkdir '{top}/openspec/changes/four'; printf '## 1. A\\n- [ ] a\\n' >'{top}/openspec/changes/four/tasks.md'
            git -C '{top}' add openspec/changes/four; git -C '{top}' -c core.hooksPath=/dev/null commit -qm four
        fi
        test $RALPH_CHANGE != two || {{ failed no; exit 0; }}; complete"
    ));
    let any = [
        "run",
        "--any",
        "--jobs=2",
        "--keep",
        "--max-retries=0",
        "--",
        &agent,
    ];
    sandbox
        .ralph(&any)
        .exits(4)
        .says("two ended with exit code 4")
        .says("needs attention: git ralph queue");
    let mut began: Vec<String> = sandbox.noted("began").lines().map(str::to_owned).collect();
    began.sort();
    began.dedup();
    assert_eq!(began, ["add-login", "four", "one", "three", "two"]);
    assert_eq!(phase(&sandbox, "one"), "finished");
    sandbox
        .ralph(&any)
        .exits(4)
        .says("passed over two: a story has no retries left");
}

#[test]
fn two_runs_of_any_side_by_side_share_the_changes() {
    let sandbox = sandbox();
    let agent = sandbox.completing("echo x >>\"$notes/$RALPH_CHANGE\"; echo x >work");
    let any = ["run", "--any", "--jobs=2", "--keep", "--", &agent];
    let runs = [0, 1].map(|_| sandbox.direct(&any).start());
    let codes = runs.map(|run| run.end().code);
    for code in codes {
        assert!([0, 5].contains(&code), "{code:?}");
    }
    for change in ["one", "two", "three"] {
        assert_eq!(sandbox.noted(change), "x\n");
        assert_eq!(phase(&sandbox, change), "finished");
    }
}
