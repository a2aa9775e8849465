//! `git ralph watch`: looks at loops of other processes, changes nothing, and ends as they end.

use std::fs;

use nix::sys::signal::Signal;

use crate::support::tmux::Tmux;
use crate::support::{CHANGE, Sandbox, wait_for, wait_until};

/// An agent that prints something a terminal would act upon, and waits in its first attempt.
fn waiting(sandbox: &Sandbox, ends: &str) -> (String, std::path::PathBuf) {
    let go = sandbox.outside("go");
    let agent = sandbox.agent(&format!(
        "printf '\\033[31mred\\033[2J 10%%\\r99%%\\n'; touch '{0}.there'; until test -e '{0}'; do sleep 0.05; done; \
         echo x >>x; {ends}",
        go.display()
    ));
    (agent, go)
}

#[test]
fn watch_prints_plain_lines_and_ends_with_the_exit_code_of_the_run() {
    for (ends, code) in [("complete", 0), ("failed no", 4)] {
        let sandbox = Sandbox::new();
        let (agent, go) = waiting(&sandbox, ends);
        let elsewhere = sandbox.outside("other");
        sandbox.git(&[
            "worktree",
            "add",
            "-q",
            elsewhere.to_str().unwrap(),
            "-b",
            "other",
        ]);
        let args = ["run", CHANGE, "--max-retries", "0", "--", &agent];
        let running = sandbox.direct(&args).start();
        wait_for(&go.with_extension("there"));
        let watching = sandbox.direct(&["watch", "--plain"]).dir(&elsewhere);
        let watching = watching.on_terminal(80).start();
        wait_until("the output", || watching.seen().contains("| 99%\n"));
        fs::write(&go, "").unwrap();
        running.end().exits(code);
        let seen = watching.end().exits(code).stdout;
        assert!(seen.starts_with("[1/3] 1. Database\n"), "{seen}");
        assert!(!seen.contains(['\x1b', '\r']), "{seen:?}");
        let last = if code == 0 {
            "  checkpoint "
        } else {
            "story 1 failed, no retries left"
        };
        assert!(seen.contains(last), "{seen}");
        // Whoever comes later gets the same answer.
        sandbox.ralph(&["watch"]).exits(code);
        sandbox
            .ralph(&["watch", CHANGE, "--json"])
            .exits(code)
            .answers_nothing();
    }
}

#[test]
fn events_are_printed_as_they_are_recorded() {
    let sandbox = Sandbox::new();
    let (agent, go) = waiting(&sandbox, "complete");
    let running = sandbox.direct(&["run", CHANGE, "--", &agent]).start();
    wait_for(&go.with_extension("there"));
    let watching = sandbox.direct(&["watch", "--json"]).on_terminal(80).start();
    let events = sandbox.top.join(".git/ralph/add-login/events.jsonl");
    let open = format!("/proc/{}/fd", watching.pid);
    let reads_events = || {
        let open = fs::read_dir(&open).into_iter().flatten().flatten();
        open.into_iter()
            .any(|file| fs::read_link(file.path()).is_ok_and(|path| path == events))
    };
    wait_until("watch reads the events", reads_events);
    // A file that takes the place of the events is followed as well.
    fs::rename(&events, events.with_extension("old")).unwrap();
    fs::write(&events, "").unwrap();
    fs::write(&go, "").unwrap();
    running.end().exits(0);
    let output = watching.end().exits(0);
    let names: Vec<_> = output.events();
    let names: Vec<_> = names
        .iter()
        .map(|event| event["event"].as_str().unwrap())
        .collect();
    assert_eq!(names[..2], ["attempt_ended", "checkpoint"], "{names:?}");
    assert_eq!(names.last(), Some(&"run_ended"));
}

#[test]
fn killed_run_and_deleted_loop_end_watch() {
    let sandbox = Sandbox::new();
    let (agent, go) = waiting(&sandbox, "complete");
    let running = sandbox.direct(&["run", CHANGE, "--", &agent]).start();
    wait_for(&go.with_extension("there"));
    let watching = sandbox.direct(&["watch", CHANGE]).start();
    running.signal(Signal::SIGKILL);
    running.wait_for_its_end();
    watching.end().exits(1);
    fs::write(&go, "").unwrap();
    sandbox
        .ralph(&["run", CHANGE, "--", &sandbox.completing("true")])
        .exits(0);
    sandbox.ralph(&["finish", "--keep"]).exits(0);
    sandbox.ralph(&["watch", CHANGE]).exits(0);
}

#[test]
fn watch_refuses_an_unknown_loop() {
    let sandbox = Sandbox::new();
    sandbox.ralph(&["watch"]).exits(1);
    sandbox.ralph(&["watch", "nothing"]).exits(1).says("nothing");
}

#[test]
fn watch_replays_earlier_events() {
    let sandbox = Sandbox::new();
    let agent = sandbox.completing("echo \"hello from $RALPH_STORY\"; echo x >>x");
    sandbox.ralph(&["run", CHANGE, "--", &agent]).exits(0);
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    let files = sandbox.print();
    let seen = sandbox
        .ralph(&["watch", "--plain", "--replay=1000000"])
        .exits(0)
        .stdout;
    let words = [
        "started on ",
        "[1/3]",
        "| hello from 1\n",
        "[3/3]",
        "| hello from 3\n",
        "finished: ",
    ];
    let places: Vec<Option<usize>> = words.iter().map(|word| seen.find(word)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{seen}");
    assert_eq!(sandbox.print(), files);
    sandbox
        .ralph(&["watch", "--replay=0"])
        .exits(2)
        .says("a speed is a number from 0.01 to 1000000");
}

#[test]
fn view_shows_nothing_of_an_earlier_loop_of_the_same_change() {
    let sandbox = Sandbox::new();
    let Some(tmux) = Tmux::new(&sandbox, 100, 24) else {
        return;
    };
    let run = ["run", CHANGE, "--"];
    let completing = sandbox.completing("echo x >>x");
    sandbox.ralph(&[&run[..], &[&completing]].concat()).exits(0);
    sandbox.ralph(&["abort"]).exits(0);
    // The view has seen the end of the first loop, and sees the second one begin.
    tmux.types("git ralph watch add-login");
    tmux.sees("finished");
    let (agent, go) = waiting(&sandbox, "complete");
    let running = sandbox.direct(&[&run[..], &[&agent]].concat()).start();
    tmux.sees("99%");
    let seen = tmux.sees("add-login  running  0 of 3 stories");
    for row in [">* 1. Database", "   2. Server", "   3. Page"] {
        assert!(seen.lines().any(|line| line.starts_with(row)), "{row}: {seen}");
    }
    tmux.keys(&["q"]);
    tmux.is_right();
    tmux.types("clear; git ralph watch");
    let again = tmux.sees("99%");
    assert!(again.contains("   2. Server"), "{again}");
    tmux.keys(&["q"]);
    fs::write(&go, "").unwrap();
    running.end().exits(0);
}
