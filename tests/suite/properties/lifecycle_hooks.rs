//! Lifecycle hooks: which run when, what they are told, what they can refuse, and that none of an agent's runs.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use git_ralph::tables::LIFECYCLE_HOOKS;
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::support::{CHANGE, Sandbox, wait_for};

/// Notes the hook's name, its arguments, some of its environment, and its event, each on one line.
pub fn noting(sandbox: &Sandbox) -> String {
    format!(
        "notes='{}'\n\
         echo \"${{0##*/}} $*\" >>\"$notes/hooks\"\n\
         echo \"$RALPH_CHANGE|$RALPH_BRANCH|$RALPH_STORY|$RALPH_STORY_TITLE|$RALPH_ATTEMPT|$PWD|${{GIT_RALPH_RUN:+marked}}\" >>\"$notes/environment\"\n\
         cat \"$RALPH_EVENT_FILE\" >>\"$notes/events\"\n",
        sandbox.notes.display()
    )
}

/// A sandbox where every hook notes that it ran.
pub fn noted() -> Sandbox {
    let sandbox = Sandbox::new();
    for row in LIFECYCLE_HOOKS {
        sandbox.hook(row.hook.name(), &noting(&sandbox));
    }
    sandbox
}

/// The hooks that ran so far, with their arguments; forgets them.
pub fn ran(sandbox: &Sandbox) -> Vec<String> {
    let file = sandbox.notes.join("hooks");
    let text = fs::read_to_string(&file).unwrap_or_default();
    let _ = fs::remove_file(&file);
    text.lines().map(str::to_owned).collect()
}

#[test]
fn each_step_runs_its_hooks() {
    let sandbox = noted();
    sandbox.start();
    assert_eq!(ran(&sandbox), [""; 0]);
    sandbox.step("next", &sandbox.failing("echo x >x")).exits(3);
    let failed = [
        "ralph-pre-attempt add-login 1",
        "ralph-post-attempt add-login 1",
        "ralph-post-revert add-login 1",
    ];
    assert_eq!(ran(&sandbox), failed);
    sandbox.step("retry", &sandbox.completing("echo x >x")).exits(0);
    let complete = [
        "ralph-pre-attempt add-login 1",
        "ralph-pre-checkpoint add-login 1",
        "ralph-post-attempt add-login 1",
        "ralph-post-checkpoint add-login 1",
    ];
    assert_eq!(ran(&sandbox), complete);
    sandbox.write("y", "y\n");
    sandbox.ralph(&["complete"]).exits(0);
    let by_hand = [
        "ralph-pre-checkpoint add-login 2",
        "ralph-post-attempt add-login 2",
        "ralph-post-checkpoint add-login 2",
    ];
    assert_eq!(ran(&sandbox), by_hand);
    sandbox.write("z", "z\n");
    sandbox.ralph(&["revert"]).exits(0);
    assert_eq!(ran(&sandbox), ["ralph-post-revert add-login 3"]);
    sandbox.write("z", "z\n");
    sandbox.ralph(&["fail", CHANGE, "red"]).exits(3);
    let fail = ["ralph-post-attempt add-login 3", "ralph-post-revert add-login 3"];
    assert_eq!(ran(&sandbox), fail);
    sandbox.write("edit", "mine\n");
    sandbox.step("retry", &sandbox.failing("true")).exits(3);
    let edits = [
        "ralph-pre-attempt add-login 3",
        "ralph-post-checkpoint add-login",
        "ralph-post-attempt add-login 3",
        "ralph-post-revert add-login 3",
    ];
    assert_eq!(ran(&sandbox), edits);
    sandbox.ralph(&["finish", "--keep"]).exits(0);
    let finish = ["ralph-pre-finish add-login", "ralph-post-finish add-login"];
    assert_eq!(ran(&sandbox), finish);
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.start();
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(ran(&sandbox), ["ralph-post-finish add-login"]);
}

#[test]
fn hook_gets_environment_and_event_file() {
    let sandbox = noted();
    sandbox.start();
    sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    let events: Vec<Value> = sandbox
        .noted("events")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let recorded = fs::read_to_string(sandbox.top.join(".git/ralph/add-login/events.jsonl")).unwrap();
    let names = ran(&sandbox);
    assert_eq!(names.len(), events.len());
    for (name, event) in names.iter().zip(&events) {
        let name = name.split(' ').next().unwrap();
        let row = LIFECYCLE_HOOKS
            .iter()
            .find(|row| row.hook.name() == name)
            .unwrap();
        assert_eq!(event["event"], row.event, "{name}");
        assert_eq!(event["change"], CHANGE);
        let is_recorded = recorded
            .lines()
            .any(|line| &serde_json::from_str::<Value>(line).unwrap() == event);
        assert_eq!(is_recorded, name.starts_with("ralph-post-"), "{name}");
    }
    assert_eq!(
        (&events[0]["attempt"], &events[0]["title"]),
        (&1.into(), &"1. Database".into())
    );
    assert_eq!(events[1]["verdict"], "complete");
    assert_eq!(events[4]["branch"], "main");
    let top = sandbox.top.canonicalize().unwrap();
    let top = top.display();
    let of_story = format!("add-login|ralph/add-login|1|1. Database|1|{top}|marked");
    let of_loop = format!("add-login|ralph/add-login||||{top}|marked");
    let environment = sandbox.noted("environment");
    let wanted = [&of_story, &of_story, &of_story, &of_story, &of_loop, &of_loop];
    assert_eq!(environment.lines().collect::<Vec<_>>(), wanted);
    let file = sandbox.top.join(".git/ralph/add-login/slots/1/event.json");
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn failing_pre_attempt_hook_prevents_the_attempt() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.hook("ralph-pre-attempt", "echo 'not on battery'; exit 9");
    let agent = sandbox.completing("count");
    sandbox
        .step("next", &agent)
        .exits(1)
        .says("not on battery")
        .says("hook ralph-pre-attempt refused (exit code 9)")
        .says(".git/hooks/ralph-pre-attempt");
    assert!(!sandbox.notes.join("count").exists());
    assert_eq!(sandbox.attempts().len(), 0);
    assert_eq!(sandbox.status()["phase"], "ready");
    let log = sandbox.top.join(".git/ralph/add-login/hook.log");
    assert_eq!(fs::read_to_string(log).unwrap(), "not on battery\n");
    sandbox.ralph(&["run", CHANGE, "--", &agent]).exits(1);
    sandbox.hook("ralph-pre-attempt", "true");
    sandbox.step("next", &agent).exits(0);
}

#[test]
fn changes_of_the_pre_attempt_hook_do_not_belong_to_the_attempt() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.hook("ralph-pre-attempt", "echo fetched >fetched");
    sandbox.step("next", &sandbox.failing("rm fetched")).exits(3);
    assert_eq!(sandbox.subjects("HEAD")[0], "checkpoint: edits before 1");
    assert_eq!(sandbox.read("fetched"), "fetched\n");
    sandbox.is_at_checkpoint();
}

#[test]
fn changes_of_the_post_checkpoint_hook_do_not_belong_to_the_attempt() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.write("edit", "mine\n");
    sandbox.hook("ralph-post-checkpoint", "echo hook >>hooked");
    sandbox.step("next", &sandbox.failing("rm hooked")).exits(3);
    assert_eq!(sandbox.read("hooked"), "hook\n");
    sandbox.is_at_checkpoint();
}

#[test]
fn pre_checkpoint_hook_can_refuse_like_a_gate() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.hook(
        "ralph-pre-checkpoint",
        "if [ -f x ]; then echo 'no x here'; exit 1; fi",
    );
    sandbox.step("next", &sandbox.completing("echo x >x")).exits(3);
    assert_eq!(sandbox.verdict(), "gate_failed");
    sandbox.is_at_checkpoint();
    let prompt = sandbox.ralph(&["prompt"]).exits(0).stdout;
    assert!(prompt.contains("no x here"), "{prompt}");
    let log = sandbox.top.join(".git/ralph/add-login/attempts/1.1.log");
    assert!(fs::read_to_string(log).unwrap().contains("no x here"));
    sandbox.write("x", "by hand\n");
    sandbox
        .ralph(&["complete"])
        .exits(1)
        .says("story 1 is not complete: the hook ralph-pre-checkpoint said no");
    assert_eq!(sandbox.read("x"), "by hand\n");
    sandbox.ralph(&["revert"]).exits(0);
    sandbox.step("retry", &sandbox.completing("echo y >y")).exits(0);
}

#[test]
fn checkpoint_includes_and_reports_changes_of_the_pre_checkpoint_hook() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.hook("ralph-pre-checkpoint", "tr a-z A-Z <x >y && mv y x");
    sandbox
        .step("next", &sandbox.completing("echo raw >x"))
        .exits(0)
        .says("the hook ralph-pre-checkpoint changed files: x");
    assert_eq!(sandbox.git(&["show", "HEAD:x"]), "RAW");
    let before = "refs/ralph/add-login/attempts/1/1-before-hook:x";
    assert_eq!(sandbox.git(&["show", before]), "raw");
    sandbox.is_at_checkpoint();
}

#[test]
fn a_hook_that_throws_work_away_loses_none() {
    for script in [
        "git reset -q --hard",
        "git checkout -q -f main",
        "git checkout -q --orphan other && git rm -qrf . && rm -f x",
        "git reset -q --hard HEAD~1",
        "git add -A && git -c user.name=H -c user.email=h commit -q -m hook && git reset -q --hard HEAD~1",
        "rm -rf * .git/index",
    ] {
        let sandbox = Sandbox::new();
        sandbox.start();
        sandbox.hook("ralph-pre-checkpoint", &format!("{script}; exit 1"));
        sandbox
            .step("next", &sandbox.completing("echo work >README.md"))
            .exits(3);
        sandbox.is_at_checkpoint();
        let kept = "refs/ralph/add-login/attempts/1/1-before-hook:README.md";
        assert_eq!(sandbox.git(&["show", kept]), "work", "{script}");
    }
    // Saying yes to it changes nothing of that.
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.hook("ralph-pre-checkpoint", "git checkout -q -f main");
    sandbox.step("next", &sandbox.completing("echo work >x")).exits(3);
    assert_eq!(sandbox.verdict(), "gate_failed");
    let reason = &sandbox.attempts()[0]["reason"];
    assert!(
        reason
            .as_str()
            .unwrap()
            .contains("after the hook ralph-pre-checkpoint: HEAD"),
        "{reason}"
    );
    sandbox.is_at_checkpoint();
}

#[test]
fn a_post_hook_that_leaves_the_branch_is_seen_by_the_next_step() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.hook("ralph-post-checkpoint", "git checkout -q -b elsewhere");
    let agent = sandbox.completing("count; echo x >>x");
    sandbox
        .ralph(&["run", CHANGE, "--", &agent])
        .exits(7)
        .says("elsewhere");
    assert_eq!(sandbox.noted("count"), "1\n");
    sandbox.git(&["checkout", "-q", "ralph/add-login"]);
    sandbox.is_at_checkpoint();
}

#[test]
fn post_hooks_only_warn() {
    let sandbox = Sandbox::new();
    for row in LIFECYCLE_HOOKS
        .iter()
        .filter(|row| row.hook.name().contains("-post-"))
    {
        sandbox.hook(row.hook.name(), "exit 3");
    }
    sandbox.start();
    let warning = |name: &str| format!("warning: the hook {name} failed (exit code 3)");
    sandbox
        .step("next", &sandbox.failing("true"))
        .exits(3)
        .says(&warning("ralph-post-attempt"))
        .says(&warning("ralph-post-revert"));
    sandbox
        .step("retry", &sandbox.completing("echo x >x"))
        .exits(0)
        .says(&warning("ralph-post-checkpoint"));
    sandbox
        .ralph(&["finish", "--cleanup"])
        .exits(0)
        .says(&warning("ralph-post-finish"));
}

#[test]
fn finish_changes_nothing_when_the_pre_finish_hook_fails() {
    let sandbox = Sandbox::dirty();
    let before = sandbox.files();
    sandbox.start();
    sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
    sandbox.hook("ralph-pre-finish", "exit 1");
    let print = sandbox.print();
    for choice in ["--cleanup", "--keep"] {
        sandbox
            .ralph(&["finish", choice])
            .exits(1)
            .says("hook ralph-pre-finish refused (exit code 1)");
        assert_eq!(sandbox.print(), print);
    }
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(sandbox.files(), before);
}

#[test]
fn cleanup_brings_back_changes_of_the_pre_finish_hook() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
    sandbox.hook("ralph-pre-finish", "echo notes >NOTES");
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    assert_eq!(
        (sandbox.read("NOTES"), sandbox.read("x")),
        ("notes\n".into(), "x\n".into())
    );
}

#[test]
fn hooks_have_a_time_limit() {
    let sandbox = Sandbox::new();
    sandbox.start();
    // Git's own commands have that time too.
    sandbox.configure("ralph.commandTimeout", "10s");
    let agent = sandbox.completing("echo x >x");
    sandbox.hook("ralph-pre-attempt", "sleep 1000");
    sandbox
        .step("next", &agent)
        .exits(1)
        .says("hook ralph-pre-attempt refused (ended after 10 seconds, its time limit)");
    sandbox.hook("ralph-pre-attempt", "exit 0");
    sandbox.hook(
        "ralph-pre-checkpoint",
        ">.git/index.lock; sleep 1000 & sleep 1000",
    );
    sandbox.hook("ralph-post-revert", "sleep 1000");
    sandbox
        .step("next", &agent)
        .exits(3)
        .says("warning: the hook ralph-post-revert failed (ended after 10 seconds");
    assert_eq!(sandbox.verdict(), "gate_failed");
    sandbox.is_at_checkpoint();
    sandbox.nothing_is_alive();
}

#[test]
fn a_signal_reaches_a_hook_and_ends_the_command() {
    for (hook, verdict) in [
        ("ralph-pre-attempt", None),
        ("ralph-pre-checkpoint", Some("interrupted")),
    ] {
        let sandbox = Sandbox::new();
        sandbox.start();
        let there = sandbox.notes.join("there");
        sandbox.hook(hook, &format!("echo >'{}'; sleep 1000", there.display()));
        let agent = sandbox.completing("echo x >x");
        let running = sandbox.direct(&["next", "--", &agent]).start();
        wait_for(&there);
        running.signal(Signal::SIGINT);
        running.end().exits(130);
        sandbox.nothing_is_alive();
        sandbox.is_at_checkpoint();
        assert_eq!(sandbox.status()["phase"], "ready");
        let attempts = sandbox.attempts();
        assert_eq!(
            attempts.last().map(|last| last["verdict"].as_str().unwrap()),
            verdict
        );
    }
}

#[test]
fn an_interrupted_attempt_has_its_hooks_run() {
    let sandbox = noted();
    sandbox.start();
    let there = sandbox.notes.join("there");
    let agent = sandbox.agent("echo >\"$notes/there\"; sleep 1000");
    let running = sandbox.direct(&["next", "--", &agent]).start();
    wait_for(&there);
    running.signal(Signal::SIGINT);
    let output = running.end().exits(130);
    assert!(!output.stderr.contains("was stopped"), "{}", output.stderr);
    let wanted = [
        "ralph-pre-attempt add-login 1",
        "ralph-post-attempt add-login 1",
        "ralph-post-revert add-login 1",
    ];
    assert_eq!(ran(&sandbox), wanted);
}

#[test]
fn a_kill_during_a_hook_leaves_nothing_half_done() {
    for hook in [
        "ralph-pre-attempt",
        "ralph-pre-checkpoint",
        "ralph-post-checkpoint",
        "ralph-pre-finish",
    ] {
        let sandbox = Sandbox::new();
        sandbox.start();
        if hook == "ralph-pre-finish" {
            sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
        }
        let there = sandbox.notes.join("there");
        sandbox.hook(hook, &format!("echo >'{}'; sleep 1000", there.display()));
        let agent = sandbox.completing("echo x >x");
        let step: &[&str] = match hook {
            "ralph-pre-finish" => &["finish", "--cleanup"],
            _ => &["next", "--", &agent],
        };
        let running = sandbox.direct(step).start();
        wait_for(&there);
        running.signal(Signal::SIGKILL);
        running.wait_for_its_end();
        sandbox.hook(hook, "exit 0");
        sandbox.ralph(&["revert"]).exits(0);
        sandbox.nothing_is_alive();
        sandbox.is_at_checkpoint();
        assert_eq!(sandbox.status()["phase"], "ready", "{hook}");
        let done = u64::from(matches!(hook, "ralph-post-checkpoint" | "ralph-pre-finish"));
        assert_eq!(sandbox.status()["stories_done"], done, "{hook}");
        sandbox.step("next", &agent).exits(0);
    }
}

#[test]
fn hooks_of_the_manual_work_as_described() {
    let sandbox = Sandbox::new();
    for (name, script) in crate::documents::manual::hooks_shown() {
        sandbox.hook(&name, &script);
        assert!(script.starts_with("#!/bin/sh\n"));
    }
    sandbox.install("notify-send", "echo \"$1: $2\" >>\"$notes/told\"");
    sandbox.install(
        "curl",
        "for word do case $word in @*) cat \"${word#@}\" >>\"$notes/posted\" ;; esac; done",
    );
    sandbox.install(
        "cargo",
        "[ \"$*\" = fmt ] && ! grep bad x && tr a-z A-Z <x >y && mv y x",
    );
    let backup = sandbox.outside("backup.git");
    let backup = backup.to_str().unwrap();
    sandbox.git(&["init", "-q", "--bare", backup]);
    sandbox.git(&["remote", "add", "backup", backup]);
    sandbox.start();
    sandbox.write(".git/info/exclude", ".stop\n");
    sandbox.write(".stop", "");
    sandbox
        .step("next", &sandbox.completing("echo good >x"))
        .exits(1)
        .says("remove .stop to go on");
    fs::remove_file(sandbox.top.join(".stop")).unwrap();
    sandbox.step("next", &sandbox.completing("echo bad >x")).exits(3);
    sandbox
        .step("retry", &sandbox.completing("echo good >x"))
        .exits(0);
    assert_eq!(sandbox.git(&["show", "HEAD:x"]), "GOOD");
    let pushed = sandbox.git(&["--git-dir", backup, "rev-parse", "refs/heads/ralph/add-login"]);
    assert_eq!(pushed, sandbox.git(&["rev-parse", "HEAD"]));
    let verdicts: Vec<Value> = sandbox
        .noted("posted")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["verdict"].clone())
        .collect();
    assert_eq!(verdicts, ["gate_failed", "complete"]);
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    assert_eq!(sandbox.noted("told"), "git ralph: add-login is finished\n");
}

#[test]
fn help_shows_the_page_of_a_topic() {
    let sandbox = Sandbox::empty();
    for (topic, text) in [("lifecycle", "ralph-pre-attempt"), ("events", "attempt_ended")] {
        let dir = sandbox.outside("home");
        let help = || sandbox.ralph_cmd(&["help", topic]).dir(&dir).run().exits(0);
        assert!(help().stdout.contains(text));
        sandbox.install("man", "exit 3");
        let plain = help().stdout;
        assert!(plain.starts_with("NAME\ngit-ralph-"), "{plain}");
        assert!(plain.contains(text) && !plain.contains("\\-"), "{plain}");
        fs::remove_file(sandbox.outside("programs/man")).unwrap();
    }
}
