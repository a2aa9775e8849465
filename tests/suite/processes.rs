//! Agents that do not end when they should: stopped ones, deaf ones, launchers, what holds pipes open; and
//! signals to git-ralph itself.

use nix::sys::signal::Signal;

use crate::support::{CHANGE, Sandbox, wait_for, wait_until};

/// A loop with an agent that notes that it is there.
fn started(script: &str) -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.agent(&format!("echo half >half\necho >\"$notes/there\"\n{script}"));
    (sandbox, agent)
}

/// After it: nothing alive, the work tree as before, the attempt kept and not counted.
#[track_caller]
fn is_undone(sandbox: &Sandbox) {
    sandbox.nothing_is_alive();
    sandbox.is_at_checkpoint();
    assert_eq!(
        sandbox.git(&["show", "refs/ralph/add-login/attempts/1/1:half"]),
        "half"
    );
}

#[test]
fn a_stopped_agent_is_ended() {
    let (sandbox, agent) = started("kill -STOP $$; complete");
    sandbox.ralph(&["next", "--timeout", "1s", "--", &agent]).exits(3);
    assert_eq!(sandbox.verdict(), "timed_out");
    is_undone(&sandbox);
}

#[test]
fn the_second_request_kills_what_does_not_listen() {
    let (sandbox, agent) = started(
        "trap '' TERM INT HUP; (trap '' TERM; exec sleep 1000) & while :; do sleep 1000; done; complete",
    );
    let cmd = sandbox.direct(&["next", CHANGE, "--", &agent]);
    let running = cmd.on_terminal(80).start();
    wait_for(&sandbox.notes.join("there"));
    running.signal(Signal::SIGINT);
    // Of two at once either may be the first.
    wait_until("the first is told", || {
        running.seen().contains("asked it to stop")
    });
    running.signal(Signal::SIGTERM);
    running.end().exits(130);
    assert_eq!(sandbox.verdict(), "interrupted");
    is_undone(&sandbox);
}

#[test]
fn term_and_hangup_are_requests_to_stop_too() {
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGHUP, 129)] {
        let (sandbox, agent) = started("sleep 1000; complete");
        let running = sandbox.direct(&["run", CHANGE, "--", &agent]).start();
        wait_for(&sandbox.notes.join("there"));
        running.signal(signal);
        running.end().exits(code);
        is_undone(&sandbox);
        assert_eq!(sandbox.status()["next"], "next");
    }
}

#[test]
fn an_agent_that_promises_after_it_was_asked_to_stop_is_interrupted() {
    let (sandbox, agent) = started("trap 'complete; exit 0' TERM; while :; do sleep 0.05; done");
    let running = sandbox.direct(&["next", CHANGE, "--", &agent]).start();
    wait_for(&sandbox.notes.join("there"));
    running.signal(Signal::SIGINT);
    running.end().exits(130);
    assert_eq!(sandbox.verdict(), "interrupted");
    is_undone(&sandbox);
}

#[test]
fn a_launcher_may_die_before_what_it_launched() {
    // The real agent has another session, goes on writing, and holds the pipes open.
    let (sandbox, agent) = started(
        r#"setsid sh -c 'echo >"$0/launched"; while :; do echo more >>half; done' "$notes" &
while [ ! -e "$notes/launched" ]; do :; done
complete"#,
    );
    sandbox
        .step("next", &agent)
        .exits(0)
        .says("left a process running");
    sandbox.nothing_is_alive();
    sandbox.is_at_checkpoint();
    assert!(sandbox.read("half").starts_with("half\nmore\n"));
}

#[test]
fn nobody_else_s_process_is_touched() {
    let (sandbox, agent) = started("complete");
    let other = sandbox.cmd("sleep").args(["1000"]).start();
    sandbox.step("next", &agent).exits(0);
    assert_eq!(sandbox.alive().len(), 1);
    other.signal(Signal::SIGKILL);
    other.end().exits(137);
}
