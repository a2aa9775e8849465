//! The process between git-ralph and an agent, and the end of each of the three.

use nix::sys::signal::Signal;

use crate::support::remote::Remote;
use crate::support::{CHANGE, Output, Sandbox, wait_for, wait_until};

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
        let told = first_look(&sandbox);
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
fn killed_git_ralph_holds_nothing_before_its_parent_reaps_it() {
    let sandbox = Sandbox::started();
    let agent = sandbox.agent("echo >\"$notes/there\"; while :; do sleep 1000; done");
    let running = sandbox.direct(&["next", CHANGE, "--", &agent]).start();
    wait_for(&sandbox.notes.join("there"));
    running.signal(Signal::SIGKILL);
    first_look(&sandbox);
    running.end().exits(137);
}

#[test]
fn loop_continues_after_an_agent_killed_its_parent() {
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
fn hidden_command_does_nothing_if_typed() {
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
    first_look(&sandbox);
    sandbox.nothing_is_alive();
    sandbox.is_at_checkpoint();
}

/// Returns what the first `status` printed that undid an attempt whose git-ralph was killed. One that comes too early for
/// that only shows the loop: on a busy machine the runner can still be ending.
fn first_look(sandbox: &Sandbox) -> Output {
    let mut undone = None;
    wait_until("the attempt is undone", || {
        let looked = sandbox.ralph(&["status"]).exits(0);
        undone = looked.stderr.contains("was interrupted").then_some(looked);
        undone.is_some()
    });
    undone.unwrap()
}

/// Has another process exit with code 101, as after a panic: makes `exit_group(101)` of its next system call.
const PANIC: &str = r#"my ($pid, $regs, $status) = (0 + shift, "\0" x 216, "\0" x 4);
sub ptrace { syscall(101, $_[0], $pid, 0, $_[1]) != -1 or die "ptrace: $!" }
sub stopped_by {
    syscall(61, $pid, $status, 0x40000000, 0) == $pid or die "wait: $!";
    return unpack("i", $status) >> 8;
}
ptrace(16, 0);
stopped_by();
# A signal that arrives meanwhile stops it too, and is passed on.
my $signal = 0;
do {
    ptrace(24, $signal);
    $signal = stopped_by();
} until $signal == 5;
ptrace(12, $regs);
my @regs = unpack("Q27", $regs);
@regs[14, 15] = (101, 231);
$regs = pack("Q27", @regs);
ptrace(13, $regs);
ptrace(17, 0);
"#;

/// Returns a started loop, and a script with which an agent makes its runner exit as after a panic; `None` if that cannot
/// be done on this machine.
fn with_panic() -> Option<(Sandbox, &'static str)> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) || !crate::installed("perl") {
        return None;
    }
    let sandbox = Sandbox::started();
    let script = sandbox.notes.join("panic.pl");
    std::fs::write(&script, PANIC).unwrap();
    // Many systems let no process trace one that started it.
    let probe = sandbox
        .cmd("sh")
        .args(["-c", "perl \"$0\" $$; exit 7", script.to_str().unwrap()]);
    if probe.run().code != 101 {
        return None;
    }
    Some((sandbox, r#"perl "$notes/panic.pl" $PPID && sleep 1000"#))
}

#[test]
fn a_runner_that_panics_costs_no_attempt() {
    let Some((sandbox, panic)) = with_panic() else {
        return;
    };
    let agent = sandbox.agent(&format!(
        "if [ ! -e \"$notes/once\" ]; then\n>\"$notes/once\"\necho half >half\n{panic}\nfi\necho x >x\ncomplete"
    ));
    sandbox
        .step("next", &agent)
        .exits(0)
        .says("the attempt does not count, and is made again");
    sandbox.nothing_is_alive();
    let attempts = sandbox.attempts();
    assert_eq!(attempts[0]["verdict"], "interrupted");
    assert_eq!(attempts[1]["verdict"], "complete");
    assert!(!sandbox.top.join("half").exists());
    assert_eq!(
        sandbox.git(&["show", "refs/ralph/add-login/attempts/1/1:half"]),
        "half"
    );
}

#[test]
fn a_second_panic_ends_the_run() {
    let Some((sandbox, panic)) = with_panic() else {
        return;
    };
    let agent = sandbox.agent(&format!("echo half >half\n{panic}"));
    sandbox
        .step("run", &agent)
        .exits(1)
        .says("an error of git-ralph's own ended the runner of the attempt");
    sandbox.nothing_is_alive();
    sandbox.is_at_checkpoint();
    assert_eq!(sandbox.attempts().len(), 2);
    assert_eq!(sandbox.status()["current"]["retries"], 0);
}

#[test]
fn a_gate_whose_runner_panics_has_not_failed() {
    let Some((sandbox, _)) = with_panic() else {
        return;
    };
    let once = sandbox.notes.join("once");
    let gate = format!(
        "[ -e '{0}' ] || {{ >'{0}'; perl '{1}' $PPID && sleep 1000; }}",
        once.display(),
        sandbox.notes.join("panic.pl").display()
    );
    sandbox.configure("ralph.verify", &gate);
    let agent = sandbox.completing("echo x >x");
    sandbox
        .step("next", &agent)
        .exits(0)
        .says("the attempt does not count, and is made again");
    sandbox.nothing_is_alive();
    assert_eq!(sandbox.attempts()[1]["verdict"], "complete");
}

#[test]
#[cfg_attr(
    any(not(target_os = "linux"), feature = "without-proc"),
    ignore = "the lock is handed to runners on Linux"
)]
fn a_runner_that_ends_late_keeps_no_run_away_from_its_loop() {
    // The end of git-ralph wakes a runner that was stopped once.
    let script = "if mkdir \"$notes/once\" 2>/dev/null; then
            touch \"$notes/there\"; while [ -d \"$notes\" ]; do kill -STOP $PPID; done
        fi; echo x >>f";
    for (is_apart, again) in [(false, CHANGE), (false, "--any"), (true, "--any")] {
        let remote = Remote::new();
        let clone = remote.clone("one", &[]);
        let agent = remote.sandbox.completing(script);
        let run = |which| ["ralph", "run", which, "--keep", "--", &agent];
        let mut first = run(CHANGE).to_vec();
        if is_apart {
            first.insert(3, "--worktree");
        }
        let running = clone.cmd(&first).start();
        wait_for(&remote.sandbox.notes.join("there"));
        running.kill_group();
        let queue = clone.ralph(&["queue", "--json"]).exits(0).json();
        assert_eq!(queue["changes"][0]["free"], true, "{is_apart} {again}: {queue}");
        clone.cmd(&run(again)).run().exits(0);
    }
}
