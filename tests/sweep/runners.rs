//! The process between git-ralph and whatever it starts: each of the three is sent a signal, in each place of work and in
//! each phase of an attempt. Nothing is left alive, no work is lost, and the loop comes to its end.

use std::panic::catch_unwind;

use nix::sys::signal::kill;
use nix::unistd::Pid;

use crate::support::{CHANGE, Sandbox};
use crate::{nothing_of, stride};

/// Where the loop works: the arguments of `start`.
const PLACES: &[&[&str]] = &[&[], &["--strategy=stash"], &["--worktree"]];

/// What of an attempt gets the signal.
const PHASES: &[&str] = &[
    "agent",
    "gate",
    "second gate",
    "reviewer",
    "pre-attempt",
    "pre-checkpoint",
];

/// Whom it gets to, whether what it comes from waits to be ended, and the signal.
const SIGNALS: &[(&str, bool, &str)] = &[
    ("git-ralph", true, "KILL"),
    ("git-ralph", true, "TERM"),
    ("runner", true, "KILL"),
    ("runner", true, "ABRT"),
    ("runner", false, "TERM"),
    ("runner", false, "HUP"),
    ("runner", false, "USR1"),
    ("itself", true, "KILL"),
    ("both", true, "KILL"),
];

#[test]
#[cfg_attr(
    any(not(target_os = "linux"), feature = "without-proc"),
    ignore = "only Linux gives orphans to the runner"
)]
fn signal_to_any_process_costs_no_work_on_a_branch() {
    all_signals(PLACES[0]);
}

#[test]
#[cfg_attr(
    any(not(target_os = "linux"), feature = "without-proc"),
    ignore = "only Linux gives orphans to the runner"
)]
fn signal_to_any_process_costs_no_work_in_place() {
    all_signals(PLACES[1]);
}

#[test]
#[cfg_attr(
    any(not(target_os = "linux"), feature = "without-proc"),
    ignore = "only Linux gives orphans to the runner"
)]
fn signal_to_any_process_costs_no_work_in_an_own_work_tree() {
    all_signals(PLACES[2]);
}

fn all_signals(place: &[&str]) {
    let mut found = Vec::new();
    let cases = PHASES
        .iter()
        .flat_map(|phase| SIGNALS.iter().map(move |signal| (phase, signal)));
    for (phase, signal) in cases.step_by(stride(17, 5)) {
        if let Err(why) = catch_unwind(|| signalled(place, phase, *signal)) {
            let why = why.downcast_ref::<String>().cloned().unwrap_or_default();
            found.push(format!("{phase} {signal:?}: {why}"));
        }
    }
    nothing_of(&found);
}

fn signalled(place: &[&str], phase: &str, (whom, stays, signal): (&str, bool, &str)) {
    let sandbox = Sandbox::new();
    let target = match whom {
        "git-ralph" => "$ralph",
        "runner" => "$runner",
        "itself" => "$$",
        _ => "$ralph $runner",
    };
    let then = if stays { "while :; do sleep 1000; done" } else { "" };
    // Once: what comes after it is as usual. A child of another session belongs to it as well.
    let act = format!(
        "if mkdir \"$notes/once\" 2>/dev/null; then
            env -i setsid sleep 1000 &
            echo $! >\"$notes/child\"
            runner=$$
            until [ \"$(cat /proc/$runner/comm)\" = git-ralph ]; do runner=$(ps -o ppid= -p $runner | tr -d ' '); done
            ralph=$(ps -o ppid= -p $runner)
            kill -{signal} {target}
            {then}
        fi"
    );
    let of = |name: &str| if name == phase { act.as_str() } else { "" };
    sandbox.write("check.sh", "#!/bin/sh\ntest ! -e broken\n");
    sandbox.cmd("chmod").args(["755", "check.sh"]).run().exits(0);
    sandbox.git(&["add", "check.sh"]);
    sandbox.git(&["commit", "-qm", "check"]);
    sandbox.configure("ralph.tests", "check.sh");
    let (gate, second) = (of("gate"), of("second gate"));
    let gate = sandbox.agent(&format!(
        "./check.sh || exit 1; test -e work || exit 0
        if git diff --quiet $RALPH_CHECKPOINT $RALPH_TREE -- check.sh; then\n{second}\n:\nelse\n{gate}\n:\nfi"
    ));
    sandbox.configure("ralph.verify", &gate);
    let reviewer = sandbox.agent(&format!("cat >\"$notes/review\"\n{}\naccept", of("reviewer")));
    sandbox.configure("ralph.review", &reviewer);
    let notes = sandbox.notes.display().to_string();
    for hook in ["pre-attempt", "pre-checkpoint"] {
        sandbox.hook(
            &format!("ralph-{hook}"),
            &format!("notes='{notes}'\n{}", of(hook)),
        );
    }
    sandbox.ralph(&[&["start", CHANGE], place].concat()).exits(0);
    let agent = sandbox.completing(&format!(
        "echo $RALPH_STORY >>work; echo '# more' >>check.sh\n{}",
        of("agent")
    ));
    let run = ["run", CHANGE, "--keep", "--", &agent];
    let mut told = String::new();
    let mut is_over = false;
    for _ in 0..4 {
        let output = sandbox.direct(&run).patiently().run();
        told.push_str(&format!("-- exit {}\n{}", output.code, output.stderr));
        if output.code != 0 {
            sandbox.ralph(&["status", CHANGE]);
        }
        sandbox.nothing_is_alive();
        is_over = output.code == 0;
        if is_over {
            break;
        }
    }
    assert!(sandbox.notes.join("once").exists(), "never: {told}");
    // Where both are gone at once, nothing tells whose it is.
    let child = sandbox.noted("child").trim().parse().unwrap();
    assert!(
        whom == "both" || kill(Pid::from_raw(child), None).is_err(),
        "a child lives: {told}"
    );
    assert!(is_over, "{told}");
    let done = sandbox.ralph(&["log", CHANGE, "--json"]).exits(0).json();
    let done = done["attempts"].as_array().unwrap().iter();
    let done = done.filter(|attempt| attempt["verdict"] == "complete").count();
    assert_eq!(done, 3, "{told}");
    // What was undone is kept.
    if stays && phase != "pre-attempt" {
        let kept = sandbox.git(&[
            "for-each-ref",
            "--format=%(refname)",
            "refs/ralph/add-login/attempts",
        ]);
        let has_work = |name: &str| {
            sandbox
                .git_cmd(&["cat-file", "-e", &format!("{name}:work")])
                .run()
                .code
                == 0
        };
        assert!(
            kept.lines().any(has_work) || !told.contains("back at checkpoint"),
            "{kept}\n{told}"
        );
    }
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
}
