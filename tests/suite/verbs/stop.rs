//! `git ralph stop`: a run in another terminal ends, after its attempt or at once.

use std::fs;

use crate::support::{CHANGE, Sandbox, wait_for};

/// An agent that says when it is at work, and goes on when it is told to.
fn waiting(sandbox: &Sandbox) -> (String, std::path::PathBuf) {
    let go = sandbox.outside("go");
    let agent = sandbox.completing(&format!(
        "echo begun; touch '{0}.there'; until test -e '{0}'; do sleep 0.05; done; echo x >>x",
        go.display()
    ));
    (agent, go)
}

#[test]
fn a_run_ends_after_the_attempt_that_is_running() {
    let sandbox = Sandbox::new();
    let (agent, go) = waiting(&sandbox);
    let running = sandbox.direct(&["run", CHANGE, "--", &agent]).start();
    wait_for(&go.with_extension("there"));
    sandbox.ralph(&["stop"]).exits(0).says("ends after this attempt");
    fs::write(&go, "").unwrap();
    running.end().exits(6).says("stopped by git ralph stop");
    assert_eq!(sandbox.status()["stories_done"], 1);
    assert_eq!(sandbox.status()["stopped"], "stopped by git ralph stop");
    // The request was for that process alone.
    sandbox.ralph(&["run", CHANGE, "--", &agent]).exits(0);
}

#[test]
fn stop_now_ends_a_background_run_at_once() {
    let sandbox = Sandbox::new();
    let (agent, go) = waiting(&sandbox);
    // A script has its background jobs ignore SIGINT.
    let script = format!("trap '' INT; exec git ralph run {CHANGE} -- {agent}");
    let running = sandbox.cmd("sh").args(["-c", &script]).start();
    wait_for(&go.with_extension("there"));
    sandbox.ralph(&["stop", CHANGE, "--now"]).exits(0);
    running.end().exits(143).says(": stopped by git ralph stop --now");
    let status = sandbox.status();
    assert_eq!(status["stories_done"], 0);
    assert_eq!(status["stopped"], "stopped by git ralph stop --now");
    let request = format!(".git/ralph/{CHANGE}/stop");
    assert!(!sandbox.top.join(request).exists());
    sandbox.nothing_is_alive();
}

#[test]
fn stop_does_nothing_without_a_run() {
    let sandbox = Sandbox::started();
    let state = sandbox.state();
    sandbox
        .ralph(&["stop"])
        .exits(0)
        .says("no git-ralph is working on add-login");
    assert_eq!(sandbox.state(), state);
    sandbox
        .ralph(&["run", "--", &sandbox.completing("true")])
        .exits(0);
}

#[test]
fn json_names_the_process_and_how_it_stops() {
    let sandbox = Sandbox::new();
    let (agent, go) = waiting(&sandbox);
    let running = sandbox.direct(&["run", CHANGE, "--", &agent]).start();
    wait_for(&go.with_extension("there"));
    let asked = sandbox.ralph(&["stop", "--json"]).exits(0).json();
    assert_eq!(asked["v"], 1);
    assert_eq!(asked["change"], CHANGE);
    assert_eq!(asked["pid"], running.pid.as_raw());
    assert_eq!(asked["stops"], "after_attempt");
    let asked = sandbox.ralph(&["stop", "--now", "--json"]).exits(0).json();
    assert_eq!(asked["stops"], "now");
    running.end().exits(143);
    let nobody = sandbox.ralph(&["stop", "--json"]).exits(0).json();
    assert!(nobody["pid"].is_null() && nobody["stops"].is_null(), "{nobody}");
}
