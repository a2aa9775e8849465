//! Gates: what they say before any work, what they change, and how long they may take.

use std::fs;

use nix::sys::signal::Signal;

use crate::support::{CHANGE, Sandbox, TASKS, wait_for, wait_until};

#[test]
fn a_gate_that_met_a_locked_configuration_runs_once_more() {
    let sandbox = Sandbox::new();
    let lock = "echo 'error: could not lock config file .git/config: File exists' >&2; exit 255";
    sandbox.configure(
        "ralph.verify",
        &format!("[ -e \"$HOME/ran\" ] || {{ >\"$HOME/ran\"; {lock}; }}"),
    );
    sandbox.start();
    fs::remove_file(sandbox.outside("home/ran")).unwrap();
    sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
    sandbox.configure("ralph.verify", lock);
    sandbox
        .step("next", &sandbox.completing("echo y >y"))
        .exits(3)
        .says("exit code 255");
}

#[test]
fn a_gate_that_fails_before_any_work_refuses_the_start() {
    let sandbox = Sandbox::dirty();
    let (print, files) = (sandbox.print(), sandbox.files());
    for (gate, said) in [
        (
            "echo changed >README.md; exit 4",
            "fails before any work (exit code 4)",
        ),
        ("make-tset", "cannot be run (exit code 127)"),
    ] {
        sandbox.configure("ralph.verify", gate);
        sandbox
            .ralph(&["start", CHANGE])
            .exits(1)
            .says(&format!("error: the gate `{gate}` {said}"))
            .says("to start anyway, add --allow-red");
        let now = sandbox.print();
        assert_eq!((&now.head, &now.index), (&print.head, &print.index));
        assert_eq!(sandbox.files(), files);
        assert_eq!(sandbox.status()["phase"], "finished");
    }
    sandbox
        .ralph(&["run", CHANGE, "--", "false"])
        .exits(1)
        .says("cannot be run");
    sandbox.configure("ralph.verify", "true");
    let told = sandbox.start().says("gate before any work passed after ");
    assert!(told.stderr.contains("s: true\n"), "{}", told.stderr);
    assert!(!told.stderr.contains("after 0s"), "{}", told.stderr);
}

#[test]
fn a_gate_before_any_work_is_seen_while_it_runs() {
    let sandbox = Sandbox::new();
    let go = sandbox.notes.join("go");
    let gate = format!("until test -e '{}'; do sleep 0.05; done", go.display());
    sandbox.configure("ralph.verify", &gate);
    let running = sandbox.direct(&["start", CHANGE]).on_terminal(200).start();
    let line = format!("gate before any work: {gate}");
    running.counts_after(&format!("{line}, "));
    let status = sandbox.status();
    assert_eq!(status["gate"]["command"], gate);
    assert_eq!(status["gate"]["pid"], running.pid.as_raw());
    assert!(status["gate"]["since"].is_string());
    let table = sandbox.ralph(&["status"]).stdout;
    assert!(
        table.contains("a gate is running before any work (process "),
        "{table}"
    );
    assert!(!table.contains("git ralph next"), "{table}");
    let short = sandbox.ralph(&["status", "--short"]).stdout;
    assert!(short.contains(" gate running"), "{short}");
    let watching = sandbox.direct(&["watch", "--plain"]).on_terminal(200).start();
    wait_until("the gate", || watching.seen().contains(&line));
    fs::write(&go, "").unwrap();
    let seen = running.end().exits(0).stdout;
    assert!(seen.contains("passed after"), "{seen}");
    watching.end().exits(0);
    assert!(sandbox.status()["gate"].is_null());
}

#[test]
fn start_leaves_nothing_of_a_loop_that_a_gate_refused() {
    let sandbox = Sandbox::dirty();
    let refs = sandbox.git(&["for-each-ref"]);
    let print = sandbox.print();
    sandbox.configure("ralph.verify", "true");
    sandbox.git(&["config", "--add", "ralph.verify", "make-tset"]);
    let output = sandbox.ralph(&["start", CHANGE]).exits(1);
    let output = output.says("\nnothing was started: on main, as before\n");
    assert!(!output.stderr.contains("aborted"), "{}", output.stderr);
    assert_eq!(sandbox.git(&["for-each-ref"]), refs);
    assert_eq!(sandbox.print().files, print.files);
    // Who reads events learns that what has started is no loop.
    let events = sandbox.ralph(&["start", CHANGE, "--json"]).exits(1).events();
    let [first, .., undone, error] = events.as_slice() else {
        panic!("{events:?}")
    };
    let names = [first, undone, error].map(|event| event["event"].as_str().unwrap());
    assert_eq!(names, ["started", "start_undone", "error"]);
    assert_eq!(undone["branch"], "main");
    sandbox
        .ralph(&["next", "--", "true"])
        .exits(1)
        .says("no loop has been started in this repository\nhint: git ralph start add-login");
    let command = output
        .stderr
        .split("hint: no loop has begun; name another command: ")
        .nth(1)
        .unwrap();
    let command = command.split(';').next().unwrap().replace("<command>", "exit 0");
    sandbox.cmd("sh").args(["-c", &command]).run().exits(0);
    assert_eq!(
        sandbox.git(&["config", "--get-all", "ralph.verify"]),
        "true\nexit 0"
    );
    sandbox.start();
}

#[test]
fn step_prints_the_output_of_a_failed_gate_once() {
    let sandbox = Sandbox::new();
    sandbox.write("fine", "");
    sandbox.configure("ralph.verify", "echo word; test -f fine");
    sandbox.start();
    let next = sandbox.step("next", &sandbox.completing("rm fine")).exits(3);
    assert_eq!(next.stderr.matches("word\n").count(), 1, "{}", next.stderr);
    assert!(
        next.stderr
            .contains("  attempt failed: the gate `echo word; test -f fine` failed (exit code 1)\n"),
        "{}",
        next.stderr
    );
}

#[test]
fn allow_red_does_not_excuse_a_red_gate_later() {
    let sandbox = Sandbox::new();
    sandbox.write("broken", "");
    sandbox.configure("ralph.verify", "if [ -f broken ]; then exit 4; fi");
    sandbox
        .ralph(&["start", CHANGE, "--allow-red"])
        .exits(0)
        .says("fails before any work (exit code 4); no story is complete until it passes");
    let agent = sandbox.completing("echo x >x");
    sandbox.step("next", &agent).exits(3);
    assert_eq!(sandbox.verdict(), "gate_failed");
    sandbox.is_at_checkpoint();
    let agent = sandbox.completing("rm broken");
    sandbox.step("retry", &agent).exits(0);
}

#[test]
fn start_undoes_what_gates_change() {
    let sandbox = Sandbox::dirty();
    let files = sandbox.files();
    sandbox.configure("ralph.verify", "echo formatted >README.md; echo new >built");
    sandbox
        .start()
        .says("the gates made new files, which stay out of the checkpoint: built")
        .says("they are put back: README.md; to see the changes: git diff ")
        .says(" refs/ralph/add-login/start-gates-");
    let mut now = sandbox.files();
    now.retain(|path, _| !path.ends_with("built"));
    assert_eq!(now, files);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "?? built");
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(sandbox.files(), files);
}

#[test]
fn checkpoint_includes_and_reports_changes_of_gates() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.verify", "if [ -f x ]; then echo formatted >x; fi");
    sandbox.start();
    let agent = sandbox.completing("echo raw >x");
    sandbox
        .step("next", &agent)
        .exits(0)
        .says("files changed while gates ran, which goes into the checkpoint: x");
    assert_eq!(sandbox.git(&["show", "HEAD:x"]), "formatted");
}

#[test]
fn a_gate_has_a_time_limit_of_its_own() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.verify", "if [ -f x ]; then echo waiting; sleep 1000; fi");
    sandbox.start();
    sandbox.configure("ralph.verifyTimeout", "1s");
    let agent = sandbox.completing("echo x >x");
    sandbox.step("next", &agent).exits(3).says("its time limit");
    assert_eq!(sandbox.verdict(), "gate_failed");
    sandbox.nothing_is_alive();
}

#[test]
fn gates_end_if_their_start_is_killed() {
    let sandbox = Sandbox::new();
    let there = sandbox.notes.join("there");
    let gate = format!("echo >'{}'; sleep 1000", there.display());
    sandbox.configure("ralph.verify", &gate);
    let running = sandbox.direct(&["start", CHANGE]).start();
    wait_for(&there);
    running.signal(Signal::SIGKILL);
    running.wait_for_its_end();
    sandbox.ralph(&["revert", CHANGE]).exits(0);
    sandbox.nothing_is_alive();
    assert_eq!(sandbox.status()["phase"], "ready");
}

#[test]
fn three_stories_in_a_row_without_a_change_stop_the_run() {
    let sandbox = Sandbox::new();
    let list: String = (1..=5).map(|n| format!("- [ ] {n}. Story\n")).collect();
    sandbox.write(TASKS, &list);
    let agent = sandbox.agent("count; [ $n != 4 ] || echo x >x; complete");
    let run = ["run", CHANGE, "--", &agent];
    sandbox
        .ralph(&run)
        .exits(7)
        .says("warning: story 1 was reported complete, but git sees no change outside the story list")
        .says("3 stories in a row");
    assert_eq!(sandbox.noted("count"), "3\n");
    assert_eq!(sandbox.status()["stories_done"], 3);
    sandbox.ralph(&run).exits(0);
    assert_eq!(sandbox.noted("count"), "5\n");
}

#[test]
fn logs_of_gates_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.verify", "echo secret");
    sandbox.start();
    sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
    let dir = sandbox.top.join(format!(".git/ralph/{CHANGE}"));
    let logs = [
        dir.join("gates-at-start.log"),
        dir.join("attempts/1.1.log"),
        dir.join("slots/1/prompt.md"),
    ];
    for file in logs.iter().chain([&sandbox.state_file()]) {
        let mode = fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    }
}

#[test]
fn start_that_is_interrupted_in_its_gates_begins_no_loop() {
    let sandbox = Sandbox::dirty();
    let there = sandbox.notes.join("there");
    let print = sandbox.print();
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let gate = format!("echo >'{}'; sleep 1000", there.display());
        let running = sandbox
            .direct(&["start", CHANGE, "--allow-red", "--verify", &gate])
            .start();
        wait_for(&there);
        running.signal(signal);
        running
            .end()
            .exits(code)
            .says("nothing was started: on main, as before\n");
        fs::remove_file(&there).unwrap();
    }
    sandbox.nothing_is_alive();
    assert_eq!(sandbox.print(), print);
    // In a work tree of its own too, of which nothing stays.
    let args = ["start", CHANGE, "--worktree", "--verify", "false"];
    sandbox
        .ralph(&args)
        .exits(1)
        .says("nothing was started: on main, as before\n");
    assert_eq!(sandbox.print(), print);
    assert_eq!(sandbox.git(&["worktree", "list"]).lines().count(), 1);
}

/// A gate that the agent wrote, and what it does to the repository beside its work: with the guard, and by files.
const PUSHY: &str =
    "git push -q origin HEAD:refs/heads/evil 2>>\"$notes/words\" || echo refused >>\"$notes/push\"
git update-ref refs/heads/main main~1 2>>\"$notes/words\" || echo refused >>\"$notes/main\"
git update-ref -d refs/ralph/add-login/start 2>>\"$notes/words\" || echo refused >>\"$notes/start\"
rm -rf .git/refs/ralph/add-login/start .git/refs/ralph/add-login/anchor
GIT_CONFIG_COUNT=0 git tag planted
git config core.fsmonitor /tmp/x
exit 0";

/// A sandbox with a remote, and a commit below the one that the loop begins at.
fn with_remote() -> Sandbox {
    let sandbox = Sandbox::new();
    let remote = sandbox.outside("remote.git");
    let remote = remote.to_str().unwrap();
    sandbox.git(&["init", "-q", "--bare", remote]);
    sandbox.git(&["remote", "add", "origin", remote]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "second"]);
    sandbox
}

#[test]
fn guard_covers_a_gate_that_the_agent_wrote() {
    let sandbox = with_remote();
    sandbox.write("test.sh", "exit 0\n");
    sandbox.git(&["add", "test.sh"]);
    sandbox.git(&["commit", "-qm", "third"]);
    sandbox.configure("ralph.verify", "sh ./test.sh");
    sandbox.start();
    let main = sandbox.git(&["rev-parse", "main"]);
    let start = sandbox.git(&["rev-parse", "refs/ralph/add-login/start"]);
    let script = PUSHY.replace("$notes", sandbox.notes.to_str().unwrap());
    let pushy = sandbox.outside("pushy.sh");
    fs::write(&pushy, script).unwrap();
    let agent = sandbox.completing(&format!("cp '{}' test.sh", pushy.display()));
    sandbox
        .step("next", &agent)
        .exits(0)
        .says("refused: a gate tried to push")
        .says("refused: a gate tried to move refs/heads/main")
        .says("refs/ralph/add-login/start was deleted during a gate")
        .says("the tag planted was made during a gate")
        .says("config was changed during a gate; it is put back");
    for name in ["push", "main", "start"] {
        assert_eq!(sandbox.noted(name), "refused\n", "{}", sandbox.noted("words"));
    }
    assert_eq!(sandbox.git(&["ls-remote", "origin"]), "");
    assert_eq!(sandbox.git(&["rev-parse", "main"]), main);
    assert_eq!(sandbox.git(&["rev-parse", "refs/ralph/add-login/start"]), start);
    sandbox.git(&["rev-parse", "refs/ralph/add-login/anchor"]);
    sandbox.git_cmd(&["config", "core.fsmonitor"]).run().exits(1);
    let hooks = sandbox.top.join(".git/ralph/add-login/slots/1/hooks");
    assert!(!hooks.exists(), "the guard is left");
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), main);
}

#[test]
fn guard_covers_gates_before_any_work() {
    let sandbox = with_remote();
    sandbox.configure(
        "ralph.verify",
        "git push -q origin HEAD:refs/heads/evil; git config core.fsmonitor /tmp/x; true",
    );
    sandbox
        .start()
        .says("refused: a gate tried to push")
        .says("config was changed during a gate; it is put back");
    assert_eq!(sandbox.git(&["ls-remote", "origin"]), "");
    sandbox.git_cmd(&["config", "core.fsmonitor"]).run().exits(1);
}

#[test]
fn a_gate_that_moves_the_branch_is_seen_before_the_checkpoint() {
    let sandbox = Sandbox::new();
    let commits = "git add -A; git commit -qm 'of the gate' || true";
    let gate = format!("if test -f y; then git checkout -q --detach main; else {commits}; fi");
    sandbox.configure("ralph.verify", &gate);
    sandbox.start();
    sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
    assert_eq!(sandbox.subjects("HEAD")[..2], ["checkpoint: 1", "of the gate"]);
    sandbox.step("next", &sandbox.completing("echo y >y")).exits(3);
    assert_eq!(sandbox.verdict(), "gate_failed");
    sandbox.is_at_checkpoint();
}

#[test]
fn hooks_may_push_but_step_repairs_their_damage() {
    let sandbox = with_remote();
    sandbox.start();
    sandbox.hook(
        "ralph-post-checkpoint",
        "git push -q origin HEAD:refs/heads/work
rm -rf .git/refs/ralph/add-login/start
git config core.fsmonitor /tmp/x",
    );
    let start = sandbox.git(&["rev-parse", "refs/ralph/add-login/start"]);
    let output = sandbox
        .step("next", &sandbox.completing("echo x >x"))
        .exits(0)
        .says("refs/ralph/add-login/start was deleted during a hook")
        .says("config was changed during a hook; it is put back");
    assert!(!output.stderr.contains("refs/remotes"), "{}", output.stderr);
    assert!(sandbox.git(&["ls-remote", "origin"]).ends_with("refs/heads/work"));
    assert_eq!(sandbox.git(&["rev-parse", "refs/ralph/add-login/start"]), start);
    sandbox.git_cmd(&["config", "core.fsmonitor"]).run().exits(1);
}

#[test]
fn the_commands_of_a_tracker_run_in_the_guard() {
    let sandbox = with_remote();
    sandbox.write(
        "stories",
        "{\"id\":\"1\",\"title\":\"One\"}\n{\"id\":\"2\",\"title\":\"Two\"}\n",
    );
    sandbox.configure("ralph.storiesCommand", "cat stories");
    let evil = "git push -q origin HEAD:refs/heads/evil; git config core.fsmonitor /tmp/x; sed -i 1d stories";
    sandbox.configure("ralph.doneCommand", evil);
    sandbox.ralph(&["start", CHANGE, "--adapter", "command"]).exits(0);
    sandbox
        .step("next", &sandbox.completing("echo x >x"))
        .exits(0)
        .says("refused: a command of the tracker tried to push")
        .says("was changed during a command of the tracker");
    assert_eq!(sandbox.git(&["ls-remote", "origin"]), "");
    sandbox.git_cmd(&["config", "core.fsmonitor"]).run().exits(1);
}

#[test]
fn closed_command_may_push_but_step_repairs_its_damage() {
    let sandbox = with_remote();
    sandbox.write(
        "stories",
        "{\"id\":\"1\",\"title\":\"One\"}\n{\"id\":\"2\",\"title\":\"Two\"}\n",
    );
    sandbox.configure("ralph.storiesCommand", "cat stories");
    sandbox.configure("ralph.doneCommand", "sed -i 1d stories");
    let push = "git push -q origin HEAD:refs/heads/work; git config core.fsmonitor /tmp/x";
    sandbox.git(&["config", "--add", "ralph.doneCommand", &format!("after:{push}")]);
    sandbox.ralph(&["start", CHANGE, "--adapter", "command"]).exits(0);
    let output = sandbox
        .step("next", &sandbox.completing("echo x >x"))
        .exits(0)
        .says("was changed during a command of the tracker");
    assert!(!output.stderr.contains("refused"), "{}", output.stderr);
    assert!(!output.stderr.contains("refs/remotes"), "{}", output.stderr);
    assert!(sandbox.git(&["ls-remote", "origin"]).ends_with("refs/heads/work"));
    sandbox.git_cmd(&["config", "core.fsmonitor"]).run().exits(1);
}

#[test]
fn gate_gets_the_checkpoint_and_the_judged_tree() {
    let sandbox = Sandbox::new();
    let note = sandbox.outside("judged");
    let gate = format!(
        "git diff --name-only $RALPH_CHECKPOINT $RALPH_TREE >>'{}'; git rev-parse $RALPH_CHECKPOINT >>'{0}'",
        note.display()
    );
    sandbox.configure("ralph.verify", &gate);
    sandbox.start();
    let checkpoint = sandbox.git(&["rev-parse", "HEAD"]);
    let agent = sandbox.completing("echo x >new; git rm -q --cached README.md");
    sandbox.step("next", &agent).exits(0);
    let judged = std::fs::read_to_string(note).unwrap();
    assert_eq!(judged, format!("{checkpoint}\nnew\n{checkpoint}\n"));
}

#[test]
fn a_gate_that_fails_now_and_then_is_run_again_if_asked_for() {
    let sandbox = Sandbox::new();
    let count = sandbox.outside("count");
    let gate = format!(
        "test ! -e new || {{ echo x >>'{}'; test $(wc -l <'{0}') -ge 3; }}",
        count.display()
    );
    sandbox.configure("ralph.verify", &gate);
    sandbox.start();
    let agent = sandbox.completing("echo x >new");
    sandbox.configure("ralph.verifyRetries", "1");
    sandbox.step("next", &agent).exits(3);
    sandbox.step("retry", &agent).exits(0);
    std::fs::remove_file(&count).unwrap();
    sandbox.configure("ralph.verifyRetries", "2");
    sandbox.step("next", &agent).exits(0).says("passed only at run 3");
    let message = sandbox.git(&["log", "-1", "--format=%B"]);
    assert!(message.contains("Ralph-Rests-On: promise, gates\n"), "{message}");
    assert!(message.contains("s, at run 3)"), "{message}");
}

#[test]
fn log_shows_the_evidence_for_a_complete_story() {
    let rests_on = |sandbox: &Sandbox| {
        let log = sandbox.ralph(&["log", "--json"]).exits(0).json();
        log["attempts"][0]["rests_on"].to_string()
    };
    let sandbox = Sandbox::started();
    sandbox.step("next", &sandbox.completing("echo x >new")).exits(0);
    assert_eq!(rests_on(&sandbox), "[\"promise\"]");
    let log = sandbox.ralph(&["log"]).exits(0).stdout;
    assert!(log.contains("1 complete (by promise alone), "), "{log}");
    let sandbox = Sandbox::started();
    sandbox.write("new", "mine\n");
    sandbox.ralph(&["complete"]).exits(0);
    assert_eq!(rests_on(&sandbox), "[\"person\"]");
    let sandbox = Sandbox::started();
    sandbox.step("next", &sandbox.failing("true")).exits(3);
    assert_eq!(rests_on(&sandbox), "[]");
}

#[test]
fn setting_decides_about_a_promise_without_a_change() {
    for (setting, code, warned) in [("warn", 0, true), ("accept", 0, false), ("fail", 3, false)] {
        let sandbox = Sandbox::started();
        sandbox.configure("ralph.emptyStory", setting);
        let output = sandbox.step("next", &sandbox.completing("true")).exits(code);
        let told = output.stderr.contains("warning: story 1 was reported complete");
        assert_eq!(told, warned, "{setting}: {}", output.stderr);
    }
    let sandbox = Sandbox::started();
    sandbox.configure("ralph.emptyStory", "fail");
    sandbox
        .step("next", &sandbox.completing("true"))
        .says("git sees no change outside the story list (ralph.emptyStory)");
    // A person knows that nothing was left to do.
    sandbox.ralph(&["complete"]).exits(0);
}
