//! The process between git-ralph and an agent, and the end of each of the three.

use nix::sys::signal::Signal;

use crate::support::{CHANGE, Sandbox, wait_for};

/// An agent that is there with a child of its own in another session, without anything of its environment, and stays.
const STAYS: &str = r#"env -i PATH="$PATH" notes="$notes" setsid sh -c 'trap "" TERM HUP INT
    echo $$ >"$notes/child.new"; mv "$notes/child.new" "$notes/child"; while :; do sleep 1000; done' &
trap '' TERM HUP INT
while [ ! -e "$notes/child" ]; do sleep 0.05; done
echo half >half"#;

/// Returns whether a process of this number lives.
fn lives(sandbox: &Sandbox, name: &str) -> bool {
    let pid = sandbox.noted(name).trim().parse().unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None).is_ok()
}

#[test]
#[cfg_attr(
    any(not(target_os = "linux"), feature = "without-proc"),
    ignore = "only Linux gives orphans to the runner"
)]
fn no_agent_survives_git_ralph() {
    for stops_the_runner in [false, true] {
        let sandbox = Sandbox::started();
        let stop = if stops_the_runner { "kill -STOP $PPID" } else { "" };
        let agent = sandbox.agent(&format!(
            "{STAYS}\n{stop}\necho >\"$notes/there\"\nwhile :; do sleep 1000; done"
        ));
        let running = sandbox.direct(&["next", CHANGE, "--", &agent]).start();
        wait_for(&sandbox.notes.join("there"));
        running.signal(Signal::SIGKILL);
        running.end().exits(137);
        // The next command waits for the runner, and finds nothing left to end.
        let told = sandbox.ralph(&["status"]).exits(0).says("was interrupted");
        assert!(!told.stderr.contains("others may be left"), "{}", told.stderr);
        assert!(!lives(&sandbox, "child"), "stopped: {stops_the_runner}");
        sandbox.nothing_is_alive();
        sandbox.is_at_checkpoint();
        assert_eq!(sandbox.status()["current"]["retries"], 0);
        assert_eq!(
            sandbox.git(&["show", "refs/ralph/add-login/attempts/1/1:half"]),
            "half"
        );
    }
}

#[test]
fn a_killed_git_ralph_that_its_parent_does_not_wait_for_holds_nothing() {
    let sandbox = Sandbox::started();
    let agent = sandbox.agent("echo >\"$notes/there\"; while :; do sleep 1000; done");
    let running = sandbox.direct(&["next", CHANGE, "--", &agent]).start();
    wait_for(&sandbox.notes.join("there"));
    running.signal(Signal::SIGKILL);
    sandbox.ralph(&["status"]).exits(0).says("was interrupted");
    running.end().exits(137);
}

#[test]
fn an_agent_that_kills_its_parent_fails_and_the_loop_goes_on() {
    let sandbox = Sandbox::started();
    let agent = sandbox.agent(&format!(
        "if [ ! -e \"$notes/child\" ]; then\n{STAYS}\nkill -9 $PPID\nwhile :; do sleep 1000; done\nfi\necho x >x\ncomplete"
    ));
    sandbox
        .step("run", &agent)
        .exits(0)
        .says("the runner of the attempt was ended by signal 9");
    if cfg!(all(target_os = "linux", not(feature = "without-proc"))) {
        assert!(!lives(&sandbox, "child"));
    }
    sandbox.nothing_is_alive();
    let attempts = sandbox.attempts();
    assert_eq!(attempts[0]["verdict"], "failed");
    assert_eq!(attempts[1]["verdict"], "complete");
    assert!(!sandbox.top.join("half").exists());
}

#[test]
fn a_gate_that_kills_its_parent_has_not_passed() {
    let sandbox = Sandbox::started();
    sandbox.configure("ralph.verify", "kill -9 $PPID; sleep 1000");
    let agent = sandbox.completing("echo x >x");
    sandbox
        .step("next", &agent)
        .exits(3)
        .says("its runner was ended by signal 9");
    assert_eq!(sandbox.verdict(), "gate_failed");
    sandbox.nothing_is_alive();
}

#[test]
fn signals_to_the_runner_alone_end_nothing() {
    let sandbox = Sandbox::started();
    let agent =
        sandbox.completing("for name in TERM INT HUP QUIT CONT; do kill -s $name $PPID; done; echo x >x");
    sandbox.step("next", &agent).exits(0);
}

#[test]
fn the_hidden_command_does_nothing_for_others() {
    let sandbox = Sandbox::new();
    let before = sandbox.print();
    for input in ["", "\u{3}\0\0\0\0"] {
        let output = sandbox
            .ralph_cmd(&["run-attempt", "1"])
            .reading(input.to_owned())
            .run();
        assert_eq!((output.code, output.stdout.as_str()), (2, ""));
    }
    assert_eq!(sandbox.print().files, before.files);
}

#[test]
#[cfg_attr(
    any(not(target_os = "linux"), feature = "without-proc"),
    ignore = "only Linux tells which process is a runner"
)]
fn a_runner_that_an_agent_keeps_from_running_is_killed() {
    let sandbox = Sandbox::started();
    let agent = sandbox
        .agent("echo half >half; echo >\"$notes/there\"; while [ -d \"$notes\" ]; do kill -STOP $PPID; done");
    let running = sandbox.direct(&["next", CHANGE, "--", &agent]).start();
    wait_for(&sandbox.notes.join("there"));
    running.signal(Signal::SIGKILL);
    running.end().exits(137);
    sandbox.ralph(&["status"]).exits(0).says("was interrupted");
    sandbox.nothing_is_alive();
    sandbox.is_at_checkpoint();
}
