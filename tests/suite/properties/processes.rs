//! Agents that do not end when they should: stopped ones, deaf ones, launchers, what holds pipes open; and
//! signals to git-ralph itself.

use std::fs::File;

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
    sandbox
        .ralph(&["next", "--timeout", "10s", "--", &agent])
        .exits(3);
    assert_eq!(sandbox.verdict(), "timed_out");
    is_undone(&sandbox);
}

#[test]
fn second_request_kills_an_agent_that_ignores_the_first() {
    let (sandbox, agent) = started(
        "trap '' TERM INT HUP; (trap '' TERM; exec sleep 1000) & while :; do sleep 1000; done; complete",
    );
    let cmd = sandbox.direct(&["next", CHANGE, "--", &agent]);
    let running = cmd.on_terminal(80).start();
    wait_for(&sandbox.notes.join("there"));
    running.signal(Signal::SIGINT);
    // Of two at once either may be the first.
    wait_until("the first is told", || running.seen().contains("stopping it;"));
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
fn signal_ignored_at_the_start_stays_ignored() {
    let (sandbox, agent) = started("until [ -e \"$notes/enough\" ]; do sleep 0.05; done; complete");
    // As nohup does.
    let script = "trap '' HUP; exec git-ralph \"$@\"";
    let words = ["-c", script, "sh", "next", CHANGE, "--", &agent];
    let running = sandbox.cmd("sh").args(words).start();
    wait_for(&sandbox.notes.join("there"));
    running.signal(Signal::SIGHUP);
    std::fs::write(sandbox.notes.join("enough"), "").unwrap();
    running.end().exits(0);
    assert_eq!(sandbox.verdict(), "complete");
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
fn step_ends_processes_that_outlive_their_launcher() {
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
fn step_leaves_processes_of_others_alone() {
    let (sandbox, agent) = started("complete");
    let other = sandbox.cmd("sleep").args(["1000"]).start();
    sandbox.step("next", &agent).exits(0);
    assert_eq!(sandbox.alive().len(), 1);
    other.signal(Signal::SIGKILL);
    other.end().exits(137);
}

/// Leaves its session and its process for a new one without end, deaf to signals. Whoever of it is alive holds a
/// lock, so that a test knows for certain; it ends by itself with the directory of the test.
const HOPPER: &str = r#"
use Fcntl qw(:flock);
use POSIX ();
my ($notes, $name) = @ARGV;
$SIG{$_} = 'IGNORE' for qw(TERM INT HUP);
open(my $lock, '>', "$notes/$name.lock") or die;
flock($lock, LOCK_EX) or die;
open(my $there, '>', "$notes/$name") or die;
close $_ for ($there, *STDIN, *STDOUT, *STDERR);
while (-d $notes) {
    select(undef, undef, undef, 0.002);
    my $child = fork;
    POSIX::_exit(0) if $child;
    POSIX::setsid();
}
"#;

#[test]
#[cfg_attr(
    any(not(target_os = "linux"), feature = "without-proc"),
    ignore = "only Linux shows enough"
)]
fn step_ends_processes_that_keep_forking() {
    if !crate::installed("perl") {
        return;
    }
    let (sandbox, agent) = started(
        r#"for name in one two three; do
    env -i PATH="$PATH" perl "$notes/hopper.pl" "$notes" "$name" &
done
for name in one two three; do
    while [ ! -e "$notes/$name" ]; do :; done
done
complete"#,
    );
    std::fs::write(sandbox.notes.join("hopper.pl"), HOPPER).unwrap();
    let output = sandbox.step("next", &agent).exits(0);
    // They move so fast that one look may see only one of them, and in a box they end with it, often before any look.
    if std::env::var_os("GIT_RALPH_TEST_BOX").is_none() {
        output.says("the agent left ");
    }
    for name in ["one", "two", "three"] {
        let lock = File::open(sandbox.notes.join(format!("{name}.lock"))).unwrap();
        assert!(lock.try_lock().is_ok(), "the hopper {name} is alive");
    }
    sandbox.nothing_is_alive();
}

#[test]
#[cfg_attr(
    any(not(target_os = "linux"), feature = "without-proc"),
    ignore = "only Linux shows enough"
)]
fn next_names_processes_left_by_a_killed_git_ralph() {
    let (sandbox, agent) = started(
        r#"env -i PATH="$PATH" setsid sh -c 'echo $$ >"$0/pid.new"; mv "$0/pid.new" "$0/pid"; exec sleep 1000' "$notes" &
while [ ! -e "$notes/pid" ]; do :; done
while ! grep -q '^pid' .git/ralph/add-login.toml; do :; done
# Stopped, it does not see the runner's end before its own.
git_ralph=$(ps -o ppid= -p $PPID)
kill -STOP $git_ralph; kill -9 $PPID $git_ralph
exec sleep 1000"#,
    );
    sandbox.direct(&["next", CHANGE, "--", &agent]).run().exits(137);
    let other = sandbox.noted("pid").trim().to_owned();
    let next = sandbox.completing("true");
    let output = sandbox.step("next", &next);
    // Nobody knows whose it is: it stays.
    let ended = nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(other.parse().unwrap()),
        Signal::SIGKILL,
    );
    output
        .exits(0)
        .says("those that git-ralph recognized were ended; others may be left")
        .says(&format!("process {other} works in the work tree"));
    assert!(ended.is_ok(), "the process {other} was not left alone");
    wait_until("it has ended", || sandbox.alive().is_empty());
}

#[test]
fn an_agent_whose_log_cannot_be_written_is_ended() {
    let (sandbox, agent) = started("head -c 100000 /dev/zero | tr '\\0' x; sleep 1000; complete");
    // No file can be larger than 32 KiB.
    let script = "trap '' XFSZ; ulimit -f 64; exec git-ralph \"$@\"";
    let words = ["-c", script, "sh", "next", CHANGE, "--", &agent];
    let output = sandbox.cmd("sh").args(words).run().exits(1);
    let says = "cannot write the log of the attempt";
    assert!(output.stderr.contains(says), "{}", output.stderr);
    sandbox.nothing_is_alive();
    // It was cut off, which the next command sees.
    sandbox.ralph(&["revert"]).exits(0);
    is_undone(&sandbox);
    assert_eq!(sandbox.verdict(), "interrupted");
}
