//! `git ralph status`: where a loop stands and what comes next, in words and as JSON.

use std::fs;

use nix::sys::signal::Signal;

use crate::support::{CHANGE, Sandbox, TASKS, wait_for};

#[test]
fn status_follows_a_loop() {
    let sandbox = Sandbox::new();
    sandbox
        .ralph(&["status"])
        .exits(0)
        .says("no loop has been started in this repository")
        .answers_nothing();
    assert_eq!(
        sandbox.ralph(&["status", "--json"]).exits(0).json(),
        serde_json::json!([])
    );
    sandbox.start();
    let is = |phase: &str, next: &str, says: &str| {
        let status = sandbox.status();
        assert_eq!((&status["phase"], &status["next"]), (&phase.into(), &next.into()));
        let words = sandbox.ralph(&["status"]).exits(0).stdout;
        assert!(words.contains(says), "{words}");
    };
    is(
        "ready",
        "next",
        "(use \"git ralph next add-login\" to have the agent attempt it)",
    );
    let failing = sandbox.failing("true");
    sandbox.step("next", &failing).exits(3);
    is("failed", "retry", "failed, 0 of 3 retries used");
    let agent = sandbox.completing("true");
    sandbox.step("retry", &agent).exits(0);
    is("ready", "next", "1 of 3 stories are complete");
    sandbox.step("next", &agent).exits(0);
    sandbox.step("next", &agent).exits(0);
    is("complete", "finish", "nothing is left to do");
    sandbox.ralph(&["finish", "--keep"]).exits(0);
    is(
        "finished",
        "start",
        "closed by git ralph finish --keep just now; 3 of 3 stories were complete\n  \
         (use \"git log refs/ralph/add-login/finished\" to see its commits)\n",
    );
    let words = sandbox.ralph(&["status"]).exits(0).stdout;
    assert!(!words.contains("git ralph start"), "{words}");
    let refused = sandbox.step("next", "true").exits(1).stderr;
    assert!(!refused.contains("git ralph start"), "{refused}");
}

#[test]
fn status_of_a_loop_that_is_over_says_what_is_open() {
    let sandbox = Sandbox::started();
    sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
    sandbox.ralph(&["skip", "3"]).exits(0);
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    let end = "closed by git ralph finish --cleanup just now; \
               1 of 3 stories were complete, 1 skipped (3), story 2 is open";
    let words = sandbox.ralph(&["status"]).exits(0).stdout;
    assert!(words.starts_with("add-login began on main\n"), "{words}");
    let steps = "  (use \"git log refs/ralph/add-login/finished\" to see its commits)\n  \
                 (use \"git ralph start add-login\" to begin again)\n";
    assert!(words.ends_with(&format!("\n{end}\n{steps}")), "{words}");
    for verb in ["next", "retry", "complete", "revert", "skip", "abort"] {
        sandbox.ralph(&[verb]).exits(1).says(&format!(
            "error: loop 'add-login' is over: {end}\n\
             hint: its commits: git log refs/ralph/add-login/finished; to begin again: git ralph start add-login\n"
        ));
    }
    sandbox.git(&["rev-parse", "--verify", "-q", "refs/ralph/add-login/finished"]);
}

#[test]
fn run_and_status_show_why_an_attempt_made_no_promise() {
    let sandbox = Sandbox::started();
    let agent = sandbox.agent("echo 'TypeError: boom'; exit 1");
    let why = "the agent's last message has no promise (exit code 1): TypeError: boom";
    sandbox.configure("ralph.maxRetries", "0");
    sandbox
        .ralph(&["run", "--", &agent])
        .exits(4)
        .says(&format!("story 1. Database failed 1 time\n  {why}\n"));
    let words = sandbox.ralph(&["status"]).exits(0).stdout;
    assert!(
        words.contains(&format!("failed, no retries allowed\n    {why}\n")),
        "{words}"
    );
    assert_eq!(sandbox.status()["current"]["reason"], why);
}

#[test]
fn status_shows_why_the_last_run_stopped() {
    let sandbox = Sandbox::started();
    let agent = sandbox.completing("true");
    sandbox.configure("ralph.maxAttempts", "1");
    sandbox.ralph(&["run", "--", &agent]).exits(6);
    let why = "stopped at a limit: 1 attempt (ralph.maxAttempts)";
    let words = sandbox.ralph(&["status"]).exits(0).stdout;
    assert!(words.contains(&format!("  last run: {why}\n")), "{words}");
    for command in ["next", "run", "log"] {
        assert!(
            words.contains(&format!("(use \"git ralph {command} add-login\" ")),
            "{words}"
        );
    }
    assert_eq!(sandbox.status()["stopped"], why);
    sandbox
        .step(
            "next",
            &sandbox.agent("kill -2 $(ps -o ppid= -p $PPID); sleep 60"),
        )
        .exits(130);
    assert_eq!(sandbox.status()["stopped"], "stopped by SIGINT (Ctrl-C)");
    sandbox.step("next", &agent).exits(0);
    assert!(sandbox.status()["stopped"].is_null());
}

#[test]
fn status_shows_a_wait_and_suggests_no_second_process() {
    let sandbox = Sandbox::started();
    let agent = sandbox.agent("echo 'Weekly limit reached \u{2219} resets in 20 minutes'; exit 1");
    let running = sandbox.direct(&["next", "--", &agent]).start();
    crate::support::wait_until("it waits", || !sandbox.status()["waiting"].is_null());
    let waiting = sandbox.status()["waiting"].clone();
    assert!(waiting["until"].is_string(), "{waiting}");
    let words = sandbox.ralph(&["status"]).exits(0).stdout;
    let line = format!("(process {})\n", waiting["pid"]);
    assert!(
        words.contains("waiting for an agent's service until ") && words.contains(&line),
        "{words}"
    );
    assert!(words.contains("    Weekly limit reached"), "{words}");
    assert!(!words.contains("git ralph next"), "{words}");
    running.signal(Signal::SIGINT);
    running.end().exits(130);
    let words = sandbox.ralph(&["status"]).exits(0).stdout;
    assert!(words.contains("last run: stopped by SIGINT (Ctrl-C)"), "{words}");
}

#[test]
fn status_suggests_the_command_that_brings_back_a_branch() {
    let sandbox = Sandbox::started();
    sandbox.git(&["checkout", "-q", "main"]);
    let words = sandbox.ralph(&["status"]).exits(0).stdout;
    assert!(
        words.contains(
            "ralph/add-login is not checked out\n\n  (use \"git checkout ralph/add-login\" to go on)"
        ),
        "{words}"
    );
    let tip = sandbox.git(&["rev-parse", "--short=10", "ralph/add-login"]);
    sandbox.git(&["branch", "-q", "-D", "ralph/add-login"]);
    let gone = format!("branch ralph/add-login no longer exists (its last checkpoint is {tip})");
    let back = format!("git branch ralph/add-login {tip} && git checkout ralph/add-login");
    let words = sandbox.ralph(&["status"]).exits(0).stdout;
    assert!(words.contains(&gone) && words.contains(&back), "{words}");
    for args in [&["next", "--", "true"][..], &["finish", "--cleanup"], &["abort"]] {
        sandbox
            .ralph(args)
            .exits(7)
            .says(&format!("error: {gone}\nhint: {back}\n"));
    }
    sandbox.git(&["branch", "ralph/add-login", &tip]);
    sandbox.git(&["checkout", "-q", "ralph/add-login"]);
    sandbox.step("next", &sandbox.completing("true")).exits(0);
}

#[test]
fn status_works_in_every_work_tree_and_changes_nothing() {
    let sandbox = Sandbox::dirty();
    sandbox.start();
    let linked = sandbox.outside("linked");
    sandbox.git(&["worktree", "add", "-q", linked.to_str().unwrap(), "main"]);
    let (print, mtimes) = (sandbox.print(), sandbox.mtimes());
    let words = sandbox.ralph_cmd(&["status"]).dir(&linked).run().exits(0).stdout;
    let there = format!(
        "(use \"cd {} && git ralph next add-login\" ",
        sandbox.top.display()
    );
    assert!(words.contains(&there), "{words}");
    for dir in [&linked, &sandbox.top.join("src")] {
        let output = sandbox
            .ralph_cmd(&["status", CHANGE, "--json"])
            .dir(dir)
            .run()
            .exits(0);
        assert_eq!(output.json()["change"], CHANGE);
    }
    assert_eq!((sandbox.print(), sandbox.mtimes()), (print, mtimes));
}

#[test]
fn a_damaged_state_file_does_not_hide_the_other_loops() {
    let sandbox = Sandbox::new();
    sandbox.start();
    std::fs::write(
        sandbox.top.join(".git/ralph/broken.toml"),
        "version = 1\nchange =",
    )
    .unwrap();
    let output = sandbox.ralph(&["status"]).exits(1).says("broken.toml");
    assert!(
        output.stdout.contains("add-login on ralph/add-login"),
        "{}",
        output.stdout
    );
    let all = sandbox.ralph(&["status", "--json"]).exits(1).json();
    assert_eq!(all[0]["change"], CHANGE);
    assert_eq!(all.as_array().unwrap().len(), 1);
}

#[test]
fn status_works_in_a_deleted_directory() {
    let sandbox = Sandbox::started();
    let gone = sandbox.top.join("gone");
    let program = env!("CARGO_BIN_EXE_git-ralph");
    let script = format!("mkdir gone && cd gone && rmdir ../gone && '{program}' status add-login");
    let output = sandbox.cmd("sh").args(["-c", &script]).run().exits(0);
    assert!(output.stdout.contains("0 of 3"), "{}", output.stdout);
    assert!(!gone.exists());
}

#[test]
fn status_counts_stories_that_rest_on_a_promise_alone() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.completing("echo \"$RALPH_STORY\" >work");
    sandbox.step("next", &agent).exits(0);
    sandbox
        .ralph(&["next", "--verify", "true", "--", &agent])
        .exits(0);
    assert_eq!(sandbox.status()["by_promise_alone"], 1);
    let shown = sandbox.ralph(&["status"]).exits(0).stdout;
    let far = "2 of 3 stories are complete; 1 accepted on the agent's promise alone\n";
    assert!(shown.contains(far), "{shown}");
}

#[test]
fn status_counts_no_story_twice_that_is_open_again() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.completing("echo \"$RALPH_STORY\" >>work");
    for _ in 0..2 {
        sandbox.step("next", &agent).exits(0);
    }
    let list = "openspec/changes/add-login/tasks.md";
    let untick = || sandbox.write(list, &sandbox.read(list).replacen("[x]", "[ ]", 2));
    untick();
    let shown = sandbox.ralph(&["status"]).exits(0).stdout;
    let far = "1 of 3 stories are complete; 1 accepted on the agent's promise alone\n";
    assert!(shown.contains(far), "{shown}");
    let junit = sandbox.ralph(&["report", "--junit"]).exits(0).stdout;
    assert!(junit.contains(r#"<skipped message="open again"/>"#), "{junit}");
    assert_eq!(
        junit.matches("no attempt at it is in this report").count(),
        1,
        "{junit}"
    );
    sandbox.step("next", &agent).exits(0);
    assert_eq!(sandbox.status()["by_promise_alone"], 2);
    untick();
    sandbox.ralph(&["skip", "add-login", "1"]).exits(0);
    let outcome = sandbox.ralph(&["report", "--json"]).exits(0).json()["outcome"]["text"].clone();
    assert_eq!(outcome, "open: 1 of 3 stories complete, 1 skipped, not running");
}

#[test]
fn hints_name_a_list_that_start_does_not_find() {
    let sandbox = Sandbox::new();
    sandbox.write("TODO.md", "- [ ] one\n- [ ] two\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "list"]);
    let start = ["start", "tidy-up", "--stories", "TODO.md#item"];
    sandbox.ralph(&start).exits(0);
    sandbox.ralph(&["abort", "tidy-up"]).exits(0);
    let shown = sandbox.ralph(&["status", "tidy-up"]).exits(0).stdout;
    let begin = "git ralph start tidy-up --stories 'TODO.md#item'";
    let line = format!("  (use \"{begin}\" to begin again)\n");
    assert!(shown.ends_with(&line), "{shown}");
    let command = begin.replace("git ralph", env!("CARGO_BIN_EXE_git-ralph"));
    sandbox.cmd("sh").args(["-c", &command]).run().exits(0);
    // The state is lost.
    std::fs::remove_dir_all(sandbox.top.join(".git/ralph")).unwrap();
    sandbox
        .ralph(&start)
        .exits(1)
        .says("hint: git ralph start tidy-up --resume --stories 'TODO.md#item', or: ");
    let resume = ["start", "tidy-up", "--resume", "--stories", "TODO.md#item"];
    sandbox.ralph(&resume).exits(0);
}

#[test]
fn story_added_after_the_last_one_is_next() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.completing("echo $RALPH_STORY >>work");
    sandbox.ralph(&["run", CHANGE, "--", &agent]).exits(0);
    assert_eq!(sandbox.status()["phase"], "complete");
    let list = sandbox.read(TASKS) + "\n## 4. More\n\n- [ ] 4.1 more\n";
    sandbox.write(TASKS, &list);
    let status = sandbox.status();
    assert_eq!(
        (&status["phase"], &status["next"]),
        (&"ready".into(), &"next".into())
    );
    let words = sandbox.ralph(&["status"]).exits(0).stdout;
    assert!(
        words.contains("story 4. More") && words.contains("git ralph next"),
        "{words}"
    );
}

#[test]
fn status_names_the_gate_that_judges_an_attempt() {
    let sandbox = Sandbox::started();
    let go = sandbox.notes.join("go");
    let gate = format!(
        "touch '{0}.there'; until test -e '{0}'; do sleep 0.05; done",
        go.display()
    );
    let agent = sandbox.completing("echo x >x");
    let next = ["next", "--verify", &gate, "--", &agent];
    let running = sandbox.direct(&next).start();
    wait_for(&go.with_extension("there"));
    assert_eq!(sandbox.status()["running"]["gate"]["command"], gate);
    let status = sandbox.ralph(&["status"]).exits(0).stdout;
    assert!(status.contains(&format!("  gate: {gate}, for ")), "{status}");
    std::fs::write(&go, "").unwrap();
    running.end().exits(0);
}

#[test]
fn a_renamed_original_branch_is_named_with_a_command_that_helps() {
    let sandbox = Sandbox::new();
    sandbox.ralph(&["start", CHANGE, "--strategy", "stash"]).exits(0);
    let agent = sandbox.completing("echo \"$RALPH_STORY\" >>f");
    sandbox.step("next", &agent).exits(0);
    sandbox.git(&["branch", "-m", "main", "trunk"]);
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let command = format!("git branch main {} && git checkout main", &head[..10]);
    let gone = "branch main, on which the loop began, no longer exists";
    let refused = sandbox.step("next", &agent).exits(7);
    refused.says(gone).says(&format!("hint: {command}"));
    let words = sandbox.ralph(&["status"]).exits(0).stdout;
    assert!(words.contains(gone) && words.contains(&command), "{words}");
    sandbox.git(&["branch", "main", head[..10].trim()]);
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.step("next", &agent).exits(0);
    assert_eq!(sandbox.read("f"), "1\n2\n");
}

#[test]
fn loop_that_is_over_can_be_begun_again_when_its_list_has_grown() {
    let sandbox = Sandbox::new();
    sandbox.start();
    for _ in 0..3 {
        sandbox.step("next", &sandbox.completing("echo x >>x")).exits(0);
    }
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    let begins = || {
        sandbox
            .ralph(&["status", CHANGE])
            .exits(0)
            .stdout
            .contains("to begin again")
    };
    assert!(!begins());
    let list = sandbox.read(TASKS);
    sandbox.write(TASKS, &format!("{list}\n## 4. More\n\n- [ ] 4.1 it\n"));
    assert!(begins());
}

#[test]
fn the_place_of_a_detached_head_is_its_commit() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.strategy", "stash");
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "two"]);
    sandbox.git(&["checkout", "-q", "--detach", "HEAD~1"]);
    let place = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.start();
    sandbox.git(&["checkout", "-q", "main"]);
    let (short, _) = place.split_at(10);
    let checkout = format!("git checkout {short}");
    let status = sandbox.ralph(&["status"]).exits(0).stdout;
    let told = format!("{short} is not checked out\n\n  (use \"{checkout}\" to go on)");
    assert!(status.contains(&told), "{status}");
    sandbox
        .step("next", "true")
        .exits(7)
        .says(&format!("HEAD is on main, not on {short}\nhint: {checkout}\n"));
    sandbox.cmd("sh").args(["-c", &checkout]).run().exits(0);
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), place);
}

#[test]
fn status_with_very_many_events_is_what_all_of_them_say() {
    let sandbox = Sandbox::started();
    let agent = sandbox.completing("echo x >>x");
    sandbox.step("next", &agent).exits(0);
    let failing = sandbox.failing("true");
    sandbox.step("next", &failing).exits(3);
    let dir = sandbox.top.join(format!(".git/ralph/{CHANGE}"));
    let (events, known) = (dir.join("events.jsonl"), dir.join("events.tally.toml"));
    assert!(!known.exists());
    let notice = |number: u32| {
        let message = format!("{number} {}", "x".repeat(1000));
        let t = "2026-11-30T00:00:00Z";
        let event =
            serde_json::json!({"v": 1, "t": t, "event": "notice", "message": message, "change": CHANGE});
        format!("{event}\n")
    };
    let mut text = fs::read_to_string(&events).unwrap();
    text.extend((0..1100).map(notice));
    fs::write(&events, text).unwrap();
    sandbox.step("retry", &failing).exits(3);
    let remembered = fs::read(&known).unwrap();
    let both = |done: u64| {
        let with = sandbox.status();
        fs::remove_file(&known).unwrap();
        assert_eq!(sandbox.status(), with);
        // Who only looks writes nothing.
        assert!(!known.exists());
        fs::write(&known, &remembered).unwrap();
        assert_eq!(with["by_promise_alone"], done);
    };
    both(1);
    sandbox.step("retry", &agent).exits(0);
    both(2);
    sandbox.ralph(&["redo", "2"]).exits(0);
    both(1);
    let text = fs::read_to_string(&events).unwrap();
    let (first, last) = text.split_at(text.len() - 10);
    // Cut off, edited, and replaced by a file that is as long.
    for changed in [
        first.to_owned(),
        text.replacen("\"promise\"", "\"gates\"", 1),
        format!("{}{last}", "x".repeat(first.len())),
    ] {
        fs::write(&events, changed).unwrap();
        let with = sandbox.status();
        fs::remove_file(&known).unwrap();
        assert_eq!(sandbox.status(), with);
        fs::write(&known, &remembered).unwrap();
    }
}
