//! Process control in the box (`ralph.box`): a table of agents and gates, each of which ends with the same words, codes
//! and verdict as without the box.

use std::sync::Mutex;
use std::thread;

use regex::Regex;

use crate::support::{Sandbox, write_program};

/// Agents that end in many ways: a name, options, and what a shell does.
const AGENTS: &[(&str, &[&str], &str)] = &[
    (
        "killed after a promise",
        &[],
        "echo x >x; complete; kill -KILL $$",
    ),
    ("done", &[], "echo x >x; complete"),
    ("failed", &[], "failed 'it is red'; exit 4"),
    ("a code beside a promise", &[], "complete; exit 7"),
    ("a code and a last line", &[], "echo red; exit 1"),
    ("the code of a time limit", &[], "echo x >x; exit 124"),
    ("cannot be run", &[], "exit 126"),
    ("not found", &[], "exit 127"),
    ("killed", &[], "kill -KILL $$"),
    ("ended by TERM", &[], "kill -TERM $$"),
    ("a broken program", &[], "kill -SEGV $$"),
    ("half a line", &[], "printf '<promise>COMPLETE</promise>'"),
    ("on standard error", &[], "echo noise >&2; exit 2"),
    ("nothing open", &[], "exec <&- >&- 2>&-; echo x >x"),
    ("a process left", &[], "echo x >x; (sleep 1000 &); complete"),
    (
        "one in a session of its own",
        &[],
        "setsid sh -c 'echo >$0/there; exec sleep 1000' $notes & until [ -e $notes/there ]; do :; done; complete",
    ),
    (
        "two without the mark",
        &[],
        "(env -i setsid sh -c 'sleep 1000 & echo >$0/there; wait' $notes &)\n\
         until [ -e $notes/there ]; do :; done; complete",
    ),
    (
        "one that does not listen",
        &[],
        "(trap '' TERM; echo >$notes/there; exec sleep 1000) & until [ -e $notes/there ]; do :; done; complete",
    ),
    // What is there when the time is up does not depend on how fast it came.
    ("no end", &["--timeout=1s"], "exec sleep 1000"),
    (
        "no end and a last word",
        &["--timeout=20s"],
        "echo half; trap 'complete; exit 0' TERM; sleep 1000 & wait",
    ),
    ("stopped", &["--timeout=1s"], "kill -STOP $$"),
    ("silent", &["--idle-timeout=1s"], "exec sleep 1000"),
];

/// Gates that end in many ways.
const GATES: &[(&str, &str)] = &[
    ("what it started was killed", "sh -c 'kill -KILL $$'; exit $?"),
    ("green", "true"),
    ("red", "echo red; exit 3"),
    ("not found", "no-such-program"),
    ("no end", "exec sleep 1000"),
    ("a process left", "(setsid sleep 1000 &); true"),
];

/// What a person and a script get to know of an attempt, without what differs from one to the next.
fn known(sandbox: &Sandbox, is_boxed: bool, args: &[&str], agent: &[&str]) -> String {
    let mode = if is_boxed { "--box=require" } else { "--box=off" };
    let output = sandbox.ralph(&[&["next", mode], args, &["--"], agent].concat());
    sandbox.nothing_is_alive();
    sandbox.is_at_checkpoint();
    let attempt = sandbox.attempts().pop().unwrap();
    let told = ["verdict", "reason", "exit_code"].map(|name| attempt[name].to_string());
    let dir = sandbox.outside("").display().to_string();
    let checkpoint = sandbox.git(&["rev-parse", "--short=10", "HEAD"]);
    let text = format!("exit code {}\n{}{}", output.code, output.stderr, told.join("\n"));
    let text = text.replace(&dir, "").replace(&checkpoint, "<checkpoint>");
    // How long something took says nothing.
    let took = Regex::new(r"\bafter [0-9.]+s\b").unwrap();
    took.replace_all(&text, "after <time>").into_owned()
}

/// Returns what differs, if something does.
fn difference(name: &str, known: impl Fn(bool) -> String) -> Option<String> {
    let [with, without] = [true, false].map(known);
    (with != without).then(|| format!("-- {name}, in the box:\n{with}\n-- without:\n{without}"))
}

#[test]
fn agents_end_in_the_box_as_without() {
    if !Sandbox::new().has_boxes() {
        return;
    }
    in_parts(AGENTS, |(name, args, script)| {
        difference(name, |is_boxed| {
            let sandbox = Sandbox::new();
            sandbox.start();
            sandbox.configure("ralph.boxAllow", &format!("write:{}", sandbox.notes.display()));
            let agent = sandbox.agent(script);
            known(&sandbox, is_boxed, args, &[&agent])
        })
    });
}

#[test]
fn gates_end_in_the_box_as_without() {
    if !Sandbox::new().has_boxes() {
        return;
    }
    in_parts(GATES, |(name, gate)| {
        difference(name, |is_boxed| {
            let sandbox = Sandbox::new();
            sandbox.start();
            if *name == "no end" {
                sandbox.configure("ralph.verifyTimeout", "1s");
            }
            let agent = sandbox.completing("echo x >x");
            known(&sandbox, is_boxed, &["--verify", gate], &[&agent])
        })
    });
}

#[test]
fn missing_program_costs_no_retry_in_the_box_either() {
    if !Sandbox::new().has_boxes() {
        return;
    }
    for is_boxed in [true, false] {
        let sandbox = Sandbox::new();
        sandbox.start();
        let program = sandbox.outside("agents/no interpreter");
        write_program(&program, "#!/no/such/interpreter\n");
        let mode = if is_boxed { "--box" } else { "--box=off" };
        sandbox
            .ralph(&["next", mode, "--", program.to_str().unwrap()])
            .exits(1)
            .says("the agent could not work on story 1: not started");
        assert_eq!(sandbox.status()["next"], "next");
    }
}

/// Goes through a table in some threads, because most of the time it waits; fails with all that is not as without.
#[track_caller]
fn in_parts<T: Sync>(table: &[T], difference: impl Fn(&T) -> Option<String> + Sync) {
    let table: Vec<&T> = table.iter().step_by(crate::stride(4, 2)).collect();
    let found: Mutex<Vec<String>> = Mutex::default();
    let left = Mutex::new(table.into_iter());
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let next = || left.lock().unwrap().next();
                while let Some(row) = next() {
                    found.lock().unwrap().extend(difference(row));
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}
