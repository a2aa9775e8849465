//! `git ralph run`: the same steps, driven to a stop.

use std::fs;

use nix::sys::signal::Signal;

use crate::support::{CHANGE, Sandbox, wait_for, wait_until};

fn names(events: &[serde_json::Value]) -> Vec<&str> {
    events
        .iter()
        .filter_map(|event| event["event"].as_str())
        .collect()
}

#[test]
fn run_starts_retries_completes_and_leaves_the_choice() {
    let sandbox = Sandbox::dirty();
    let agent = sandbox.agent("count; echo $n >>log.txt; test $n = 2 && failed oops || complete");
    let output = sandbox.ralph(&["run", CHANGE, "--json", "--", &agent]).exits(0);
    let events = output.events();
    let names = names(&events);
    assert_eq!(names[0], "started");
    assert_eq!(
        names[names.len() - 3..],
        ["complete", "awaiting_choice", "run_ended"]
    );
    assert_eq!(
        events[events.len() - 2]["options"],
        serde_json::json!(["cleanup", "keep"])
    );
    assert_eq!(
        sandbox.subjects("HEAD")[..4],
        ["checkpoint: 3", "checkpoint: 2", "checkpoint: 1", "initial state"]
    );
    assert_eq!(sandbox.read("log.txt"), "1\n3\n4\n");
    assert_eq!(sandbox.status()["phase"], "complete");
    assert_eq!(sandbox.status()["next"], "finish");
    // Again: nothing is left, and that is no error.
    sandbox
        .ralph(&["run", CHANGE, "--", &agent])
        .exits(0)
        .says("git ralph finish --cleanup");
    assert_eq!(sandbox.noted("count"), "4\n");
}

#[test]
fn the_choice_can_be_given_or_set() {
    for (args, set, branch) in [
        (&["--cleanup"][..], None, "main"),
        (&["--keep"], Some("cleanup"), "ralph/add-login"),
    ] {
        let sandbox = Sandbox::new();
        if let Some(value) = set {
            sandbox.configure("ralph.finish", value);
        }
        let agent = sandbox.completing("echo x >x");
        let args = [&["run", CHANGE], args, &["--", &agent]].concat();
        sandbox.ralph(&args).exits(0);
        assert_eq!(sandbox.git(&["branch", "--show-current"]), branch);
        assert_eq!(sandbox.status()["phase"], "finished");
        assert_eq!(sandbox.read("x"), "x\n");
    }
}

#[test]
fn run_asks_for_the_choice_on_a_terminal() {
    let sandbox = Sandbox::new();
    let agent = sandbox.completing("echo x >x");
    let cmd = sandbox.ralph_cmd(&["run", CHANGE, "--", &agent]);
    let output = cmd
        .answering(&[("[q]uit: ", "what?\n"), ("[q]uit: ", "C\n")])
        .exits(0);
    for words in [
        "what should happen to the work? [c]leanup  [k]eep  [d]iff  [q]uit: ",
        "c  cleanup: return to main with all changes uncommitted; ralph/add-login is deleted",
        "type one of the letters in brackets",
    ] {
        assert!(output.stdout.contains(words), "{words:?} in {}", output.stdout);
    }
    assert_eq!(sandbox.git(&["branch", "--show-current"]), "main");
}

#[test]
fn spent_retries_end_the_run_with_4() {
    let sandbox = Sandbox::new();
    let agent = sandbox.agent("count; echo x >x$n; test $RALPH_STORY = 1 && complete || failed no");
    let args = ["run", CHANGE, "--max-retries", "1", "--json", "--", &agent];
    let events = sandbox.ralph(&args).exits(4).events();
    let names = names(&events);
    assert!(names.contains(&"max_retries_exceeded"), "{names:?}");
    assert_eq!(names[names.len() - 2..], ["awaiting_choice", "run_ended"]);
    assert_eq!(events.last().unwrap()["exit"], 4);
    assert_eq!(sandbox.noted("count"), "3\n");
    sandbox.is_at_checkpoint();
    sandbox.ralph(&["run", CHANGE, "--", &agent]).exits(4);
    assert_eq!(sandbox.noted("count"), "3\n");
    let clean = ["run", CHANGE, "--cleanup", "--on-failure=finish", "--", &agent];
    sandbox.ralph(&clean).exits(4);
    assert_eq!(sandbox.git(&["branch", "--show-current"]), "main");
    assert!(sandbox.top.join("x1").exists());
}

#[test]
fn run_continues_a_loop_begun_by_hand() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let failing = sandbox.failing("true");
    sandbox.step("next", &failing).exits(3);
    let agent = sandbox.completing("echo $RALPH_STORY.$RALPH_ATTEMPT >>\"$notes/log\"");
    sandbox.ralph(&["run", "--", &agent]).exits(0);
    assert_eq!(sandbox.noted("log"), "1.2\n2.1\n3.1\n");
}

#[test]
fn signal_ends_the_run_and_the_same_command_continues() {
    let sandbox = Sandbox::new();
    let agent = sandbox
        .agent("count; echo x >x$n; test $n = 2 && { echo >\"$notes/at-work\"; sleep 600; }; complete");
    let running = sandbox
        .direct(&["run", CHANGE, "--cleanup", "--", &agent])
        .start();
    wait_for(&sandbox.notes.join("at-work"));
    running.signal(Signal::SIGTERM);
    running
        .end()
        .exits(143)
        .says("(use \"git ralph run add-login\" to continue)");
    sandbox.nothing_is_alive();
    sandbox.is_at_checkpoint();
    assert!(!sandbox.top.join("x2").exists());
    sandbox
        .ralph(&["run", CHANGE, "--cleanup", "--", &agent])
        .exits(0);
    assert_eq!(sandbox.git(&["branch", "--show-current"]), "main");
    assert_eq!(sandbox.noted("count"), "4\n");
    let attempts = sandbox.attempts();
    let verdicts: Vec<_> = attempts
        .iter()
        .map(|attempt| attempt["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, ["complete", "interrupted", "complete", "complete"]);
}

#[test]
fn limits_end_the_run_with_6() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.maxAttempts", "2");
    let agent = sandbox.completing("true");
    sandbox
        .ralph(&["run", CHANGE, "--cleanup", "--", &agent])
        .exits(6)
        .says("2 attempts (ralph.maxAttempts)");
    assert_eq!(sandbox.git(&["branch", "--show-current"]), "ralph/add-login");
    sandbox
        .ralph(&["run", CHANGE, "--cleanup", "--", &agent])
        .exits(0);
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.maxDuration", "1ms");
    sandbox
        .ralph(&["run", CHANGE, "--", &agent])
        .exits(6)
        .says("ralph.maxDuration");
}

#[test]
fn run_begins_nothing_without_an_agent_or_work() {
    let sandbox = Sandbox::new();
    let print = sandbox.print();
    sandbox
        .ralph(&["run", CHANGE])
        .exits(1)
        .says("no agent is configured");
    let misspelt = sandbox.ralph(&["run", "add-logn"]).exits(1);
    let misspelt = misspelt.says("no stories found for change 'add-logn'\n");
    misspelt.says("\nhint: did you mean 'add-login'?");
    sandbox
        .ralph(&["run", CHANGE, "--", "no-such-agent"])
        .exits(1)
        .says("cannot find the agent 'no-such-agent'");
    assert_eq!(sandbox.print(), print);
    assert!(!sandbox.state_file().exists());
    sandbox.write(crate::support::TASKS, "## 1. All\n- [x] 1.1 Done\n");
    sandbox.ralph(&["run", CHANGE, "--", "true"]).exits(5);
    assert!(!sandbox.state_file().exists());
}

#[test]
fn run_continues_a_spent_story_after_more_retries() {
    let sandbox = Sandbox::new();
    let failing = sandbox.failing("true");
    sandbox
        .ralph(&["run", CHANGE, "--max-retries", "0", "--", &failing])
        .exits(4);
    let agent = sandbox.completing("echo x >>work");
    sandbox.ralph(&["run", CHANGE, "--", &agent]).exits(4);
    sandbox
        .ralph(&["run", CHANGE, "--max-retries", "1", "--", &agent])
        .exits(0);
}

#[test]
fn a_gate_that_is_set_later_holds_from_then_on() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.configure("ralph.verify", "false");
    let agent = sandbox.completing("echo x >>work");
    sandbox.step("next", &agent).exits(3);
    assert_eq!(sandbox.verdict(), "gate_failed");
}

#[test]
fn input_typed_before_the_question_is_no_answer() {
    let sandbox = Sandbox::new();
    let agent = sandbox.completing("echo x >x");
    let cmd = sandbox.ralph_cmd(&["run", CHANGE, "--", &agent]).typing("k\nc\n");
    let running = cmd.on_terminal(100).start();
    wait_until("the question", || running.seen().contains("[q]uit: "));
    running.types("\n");
    let seen = running.end().exits(0).stdout;
    assert!(seen.contains("git ralph finish --cleanup add-login"), "{seen}");
    assert_eq!(sandbox.status()["phase"], "complete");
}

#[test]
fn user_can_retry_and_skip_after_a_failure() {
    let sandbox = Sandbox::new();
    let agent = sandbox.agent("count; echo x >x$n; test $n = 2 && complete || failed \"no $n\"");
    let cmd = sandbox.ralph_cmd(&["run", CHANGE, "--max-retries", "0", "--", &agent]);
    let question = "[r]etry  [s]kip  [d]iff  [l]og  [c]leanup  [k]eep  [q]uit: ";
    let answers = [
        (question, "r\n"), // story 1 is complete, story 2 fails
        (question, "l\n"),
        (question, "s\n"), // story 3 fails
        (question, "\n"),
    ];
    let seen = cmd.env("GIT_PAGER", "cat").answering(&answers).exits(4).stdout;
    for words in [
        "story 1. Database failed 1 time",
        "1 of 3 stories are complete, 1 skipped (2)",
        "story 2 is skipped",
        "git ralph run add-login --max-retries 1",
    ] {
        assert!(seen.contains(words), "{words:?} in {seen}");
    }
    assert_eq!(sandbox.status()["skipped"], serde_json::json!(["2"]));
}

#[test]
fn question_warns_of_a_conflicting_cleanup() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.completing("echo ours >README.md");
    sandbox.step("next", &agent).exits(0);
    let commit = sandbox.git(&["commit-tree", "-p", "main", "-m", "theirs", &theirs(&sandbox)]);
    sandbox.git(&["update-ref", "refs/heads/main", &commit]);
    let cmd = sandbox.ralph_cmd(&["run", CHANGE, "--", &agent]);
    let seen = cmd.answering(&[("[q]uit: ", "q\n")]).exits(0).stdout;
    assert!(
        seen.contains("c  cleanup: not possible: conflicts with main in README.md"),
        "{seen}"
    );
}

/// A tree in which README.md is changed in another way.
fn theirs(sandbox: &Sandbox) -> String {
    let file = sandbox.outside("theirs");
    fs::write(&file, "theirs\n").unwrap();
    let blob = sandbox.git(&["hash-object", "-w", file.to_str().unwrap()]);
    let tree = format!("100644 blob {blob}\tREADME.md\n");
    sandbox
        .cmd("git")
        .args(["mktree"])
        .reading(tree)
        .run()
        .exits(0)
        .stdout
        .trim()
        .to_owned()
}

#[test]
fn a_story_that_fails_can_be_skipped_for_the_others() {
    let sandbox = Sandbox::new();
    let agent = sandbox.agent("echo x >x$RALPH_STORY; test $RALPH_STORY = 2 && failed no || complete");
    sandbox.configure("ralph.onFailure", "skip");
    let run = ["run", CHANGE, "--max-retries", "0", "--", &agent];
    sandbox
        .ralph(&run)
        .exits(4)
        .says("story 2 is skipped, because it failed")
        .says("2 of 3 stories are complete, 1 skipped (2)")
        .says("  2@1 failed: no (git ralph diff add-login 2@1)");
    assert_eq!(sandbox.status()["phase"], "exhausted");
    sandbox.configure("ralph.onFailure", "stop");
    sandbox.ralph(&run).exits(4).says("1 skipped (2)");
    sandbox
        .ralph(&["run", CHANGE, "--cleanup"])
        .exits(4)
        .says("finished");
    assert_eq!(sandbox.status()["phase"], "finished");
}

#[test]
fn run_does_not_call_a_loop_complete_whose_stories_the_user_skipped() {
    let sandbox = Sandbox::new();
    sandbox.start();
    for _ in 1..=3 {
        sandbox.ralph(&["skip"]).exits(0);
    }
    let agent = sandbox.completing("true");
    sandbox
        .ralph(&["run", CHANGE, "--", &agent])
        .exits(5)
        .says("no story but the skipped ones is left");
}

#[test]
fn run_closes_a_failed_loop_only_on_request() {
    let sandbox = Sandbox::new();
    let agent = sandbox.failing("echo x >x");
    let run = |more: &[&str]| {
        let args = [
            &["run", CHANGE, "--max-retries", "0", "--keep"],
            more,
            &["--", &agent],
        ]
        .concat();
        sandbox.ralph(&args).exits(4)
    };
    run(&[])
        .says("git ralph run add-login --max-retries 1")
        .says("git ralph skip add-login");
    assert_eq!(sandbox.status()["phase"], "exhausted");
    run(&["--on-failure", "finish"]);
    assert_eq!(sandbox.status()["phase"], "finished");
    sandbox
        .ralph(&["run", CHANGE, "--on-failure", "perhaps"])
        .exits(2)
        .says("stop, skip, later or finish");
}

#[test]
fn run_without_a_name_takes_the_only_open_change() {
    let sandbox = Sandbox::new();
    let agent = sandbox.completing("echo x >>work");
    sandbox.write("openspec/changes/done/tasks.md", "- [x] 1. All is done\n");
    sandbox
        .ralph(&["run", "--keep", "--", &agent])
        .exits(0)
        .says("change add-login\n");
    sandbox.git(&["checkout", "-q", "main"]);
    for change in ["b", "c"] {
        let path = format!("openspec/changes/{change}/tasks.md");
        sandbox.write(&path, "- [ ] 1. More\n");
    }
    let several = sandbox.ralph(&["run", "--keep", "--", &agent]).exits(1);
    several.says("there are several changes with open stories: add-login, b, c");
    let cmd = sandbox.ralph_cmd(&["run", "--keep", "--", &agent]);
    let seen = cmd.answering(&[("which change? [1-3]: ", "2\n")]).exits(0).stdout;
    assert!(seen.contains("started on ralph/b"), "{seen}");
}

#[test]
fn run_names_a_loop_after_the_list_that_was_typed() {
    let sandbox = Sandbox::new();
    sandbox.write("TODO.md", "- [ ] one\n");
    let args = ["run", "--stories", "TODO.md", "--worktree", "--keep", "--"];
    let agent = sandbox.completing("echo x >x");
    let args = [&args[..], &[&agent]].concat();
    sandbox
        .ralph(&args)
        .exits(1)
        .says("the list TODO.md is not committed, so a new work tree would not have it");
    sandbox.git(&["add", "TODO.md"]);
    sandbox.git(&["commit", "-qm", "list"]);
    // The repository has stories of another change as well.
    sandbox.ralph(&args).exits(0);
    assert_eq!(
        sandbox.git(&["branch", "--list", "--format=%(refname:short)", "ralph/*"]),
        "ralph/todo"
    );
}

#[test]
fn an_agent_that_ends_at_once_with_the_same_words_is_not_asked_again() {
    let sandbox = Sandbox::new();
    let agent = sandbox
        .agent("echo x >>\"$notes/began\"; echo 'Cannot find the module' >&2; echo 'It broke.'; exit 1");
    let run = ["run", CHANGE, "--cleanup", "--", &agent];
    let stopped = sandbox.ralph(&run).exits(1);
    stopped
        .says("the agent could not work on story 1: no signal")
        .says("It broke.")
        .says("two attempts ended this way within seconds");
    assert_eq!(sandbox.noted("began").lines().count(), 2);
    assert_eq!(sandbox.status()["phase"], "failed");
    // A person who types it again has mended something, or sees the same.
    sandbox.ralph(&run).exits(1);
    assert_eq!(sandbox.noted("began").lines().count(), 3);
}

#[test]
fn agent_that_changes_files_or_output_gets_every_retry() {
    for script in [
        "echo x >>work; echo same; exit 1",
        "date +%N; exit 1",
        "echo same; exit 0",
    ] {
        let sandbox = Sandbox::new();
        let agent = sandbox.agent(script);
        sandbox.ralph(&["run", CHANGE, "--keep", "--", &agent]).exits(4);
    }
}

#[test]
fn limits_can_be_typed() {
    let sandbox = Sandbox::new();
    let agent = sandbox.completing("echo x >>work");
    let run = |option: &str| sandbox.ralph(&["run", CHANGE, "--keep", option, "--", &agent]);
    run("--max-attempts=1")
        .exits(6)
        .says("stopped at a limit: 1 attempt (--max-attempts)");
    run("--max-cost=0")
        .exits(2)
        .says("an amount in US dollars above 0");
    run("--max-duration=1ms").exits(6).says("old (--max-duration)");
    run("--max-cost=-1").exits(2).says("an amount in US dollars");
    // The loop is older than a setting of so few seconds allows, or soon will be.
    sandbox.configure("ralph.maxDuration", "1s");
    run("--max-duration=none").exits(0);
}

#[test]
fn run_warns_of_an_unknown_cost_before_the_first_attempt() {
    let sandbox = Sandbox::new();
    sandbox.configure(
        "ralph.agent.codex.command",
        "cat >/dev/null; printf 'be%s\\n' gan >&2; exit 127",
    );
    sandbox.configure("ralph.agent.codex.format", "codex");
    let run = ["run", CHANGE, "--agent=codex", "--max-cost=1"];
    let told = sandbox.ralph(&run).exits(1).stderr;
    let (before, after) = told.split_once("began").unwrap();
    let warned = "--max-cost cannot limit it; use --max-attempts or --max-duration";
    assert!(before.contains(warned), "{told}");
    assert!(!after.contains("cannot limit it"), "{told}");
}

#[test]
fn a_log_in_the_work_tree_is_left_alone() {
    let commit = "git add -A; git commit -qm 'of the agent'";
    for (commit, to) in [
        ("true", ">ralph.out 2>&1"),
        (commit, ">ralph.out 2>&1"),
        ("true", "2>&1 | tee ralph.out"),
        (commit, "2>&1 | cat | cat >>ralph.out"),
    ] {
        let sandbox = Sandbox::new();
        let agent = sandbox.agent(&format!(
            "count; echo $n >>new; {commit}; if [ $n = 1 ] || [ $n = 3 ]; then failed no; else complete; fi"
        ));
        let run = format!("exec git ralph run {CHANGE} --keep -- {agent}");
        let script = format!("(until [ -e ralph.out ]; do :; done; {run}) {to}");
        sandbox.cmd("sh").args(["-c", &script]).run().exits(0);
        let log = sandbox.read("ralph.out");
        assert!(
            log.contains("ralph.out gets this output, and is left out of checkpoints"),
            "{log}"
        );
        assert!(
            log.contains("  failed after ") && log.contains("3 of 3 stories are complete"),
            "{log}"
        );
        let files = sandbox.git(&["ls-tree", "-r", "--name-only", "HEAD"]);
        assert!(!files.contains("ralph.out"), "{files}");
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "?? ralph.out");
    }
    let sandbox = Sandbox::new();
    sandbox.write("tracked.out", "");
    sandbox.git(&["add", "tracked.out"]);
    let agent = sandbox.completing("echo x >x");
    let script = format!("exec git ralph run {CHANGE} --keep -- {agent} >>tracked.out 2>&1");
    sandbox.cmd("sh").args(["-c", &script]).run();
    let said = sandbox.read("tracked.out");
    assert!(
        said.contains("tracked.out gets this output and is tracked"),
        "{said}"
    );
}

#[test]
fn run_without_an_agent_names_itself_as_the_command_to_type() {
    let sandbox = Sandbox::new();
    sandbox
        .ralph(&["run"])
        .exits(1)
        .says("hint: git ralph run add-login -- <agent command>, or: ");
}
