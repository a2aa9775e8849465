//! The view on a real terminal: tmux draws it, types its keys, and says what is left of it.

use std::fs;
use std::path::{Path, PathBuf};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::tmux::Tmux;
use crate::support::{CHANGE, Sandbox, wait_for, wait_until};

/// An agent that waits in each attempt until it may go on.
fn waiting(sandbox: &Sandbox) -> (String, PathBuf) {
    let go = sandbox.outside("go");
    let script = format!(
        "echo $$ >'{0}.pid'; echo \"hello from $RALPH_STORY\"; touch '{0}.there'; until test -e '{0}'; do sleep 0.05; done; echo x >>x",
        go.display()
    );
    (sandbox.completing(&script), go)
}

#[test]
fn a_whole_change_is_done_by_keys_alone() {
    let sandbox = Sandbox::new();
    let Some(tmux) = Tmux::new(&sandbox, 100, 24) else {
        return;
    };
    let (agent, go) = waiting(&sandbox);
    tmux.types(&format!("git ralph run {CHANGE} --view -- {agent}"));
    let seen = tmux.sees("hello from 1");
    assert!(seen.starts_with("add-login  running  0 of 3 stories"), "{seen}");
    assert!(seen.contains(">* 1. Database"), "{seen}");
    tmux.keys(&["?"]);
    tmux.sees("the next failed attempt");
    tmux.keys(&["End"]);
    tmux.sees("leave the view; the loop continues");
    tmux.keys(&["?", "j"]);
    let seen = tmux.sees(">  2. Server");
    // With room for both, Tab hides the list: the key waits for a footer that only the small screen has.
    assert!(!seen.contains("Tab list"), "{seen}");
    tmux.run(&["resize-window", "-x", "40", "-y", "10"]);
    let seen = tmux.sees("Tab list");
    assert!(seen.contains("no attempt has worked"), "{seen}");
    tmux.keys(&["Tab"]);
    tmux.sees(">  2. Server");
    tmux.run(&["resize-window", "-x", "120", "-y", "40"]);
    fs::write(&go, "").unwrap();
    let seen = tmux.sees("c  cleanup");
    assert!(
        seen.starts_with("add-login: 3 of 3 stories are complete; 3 attempts"),
        "{seen}"
    );
    tmux.sees("return to main with all changes uncommitted");
    tmux.keys(&["c"]);
    tmux.sees("Enter  cleanup   Esc  back");
    tmux.keys(&["Enter"]);
    let seen = tmux.sees("finished: on main again");
    assert!(seen.contains("3 of 3 stories are complete"), "{seen}");
    tmux.is_right();
    assert_eq!(sandbox.git(&["branch", "--show-current"]), "main");
}

#[test]
fn diff_of_the_view_has_the_new_files_of_the_running_attempt() {
    for strategy in ["branch", "stash"] {
        let sandbox = Sandbox::dirty();
        let Some(tmux) = Tmux::new(&sandbox, 100, 24) else {
            return;
        };
        let go = sandbox.outside("go");
        let agent = sandbox.completing(&format!(
            "echo created >new; echo hello; until test -e '{}'; do sleep 0.05; done",
            go.display()
        ));
        tmux.types(&format!(
            "git ralph run {CHANGE} --strategy {strategy} --keep --view -- {agent}; echo exit $?"
        ));
        tmux.sees("hello");
        tmux.keys(&["d"]);
        let seen = tmux.sees("+created");
        assert!(seen.contains("+++ b/new"), "{seen}");
        fs::write(&go, "").unwrap();
        tmux.keys(&["q"]);
        tmux.sees("exit 0");
    }
}

#[test]
fn loop_keeps_running_after_the_view_is_closed() {
    let sandbox = Sandbox::new();
    let Some(tmux) = Tmux::new(&sandbox, 80, 24) else {
        return;
    };
    let (agent, go) = waiting(&sandbox);
    sandbox.configure("ralph.view", "true");
    tmux.types(&format!("git ralph run {CHANGE} --keep -- {agent}; echo exit $?"));
    tmux.sees("hello from 1");
    tmux.keys(&["q"]);
    let seen = tmux.sees("git ralph watch add-login");
    assert!(seen.contains("ralph: add-login 0/3 story 1 running"), "{seen}");
    fs::write(&go, "").unwrap();
    // The lines of the stream take over.
    tmux.sees("exit 0");
    let all = tmux.run(&["capture-pane", "-p", "-S", "-"]);
    assert!(
        all.contains("[2/3] 2. Server") && all.contains("hello from 3"),
        "{all}"
    );
    tmux.is_right();
    assert_eq!(sandbox.status()["phase"], "finished");
}

#[test]
fn view_can_be_suspended_and_resumed() {
    let sandbox = Sandbox::new();
    let Some(tmux) = Tmux::new(&sandbox, 80, 24) else {
        return;
    };
    let (agent, go) = waiting(&sandbox);
    let running = sandbox.direct(&["run", CHANGE, "--", &agent]).start();
    wait_for(&go.with_extension("there"));
    tmux.types("git ralph watch");
    tmux.sees("hello from 1");
    tmux.keys(&["C-z"]);
    tmux.sees("Stopped");
    tmux.is_right();
    tmux.types("fg");
    tmux.sees("hello from 1");
    tmux.keys(&["C-c"]);
    tmux.sees("git ralph watch add-login");
    tmux.is_right();
    // By keys: what it asks is asked twice.
    tmux.types("git ralph watch");
    tmux.sees("hello from 1");
    tmux.keys(&["S"]);
    tmux.sees("y: yes");
    tmux.keys(&["y"]);
    tmux.sees("the run stops after this attempt");
    fs::write(&go, "").unwrap();
    running.end().exits(6);
    tmux.sees("not running");
    tmux.keys(&["q"]);
    tmux.is_right();
}

#[test]
fn view_finishes_a_loop_that_ended_meanwhile() {
    let sandbox = Sandbox::new();
    let Some(tmux) = Tmux::new(&sandbox, 80, 24) else {
        return;
    };
    let (agent, go) = waiting(&sandbox);
    let running = sandbox.direct(&["run", CHANGE, "--", &agent]).start();
    wait_for(&go.with_extension("there"));
    tmux.types("git ralph watch");
    tmux.sees("hello from 1");
    fs::write(&go, "").unwrap();
    running.end().exits(0);
    tmux.sees("k  keep");
    tmux.keys(&["Enter"]);
    tmux.sees("git ralph finish --cleanup add-login");
    tmux.is_right();
    tmux.types("git ralph watch");
    tmux.sees("complete (f: finish)");
    tmux.keys(&["f"]);
    tmux.sees("k  keep");
    // A key of the view alone closes nothing.
    tmux.keys(&["k"]);
    tmux.sees("> k  keep");
    // Until this is drawn, what the next key shows is there still.
    tmux.sees("Enter  keep   Esc  back");
    tmux.keys(&["Up"]);
    tmux.sees("Enter  later");
    tmux.keys(&["k"]);
    tmux.sees("Enter  keep   Esc  back");
    tmux.keys(&["Enter"]);
    tmux.sees("finished: on ralph/add-login, with its commits");
    tmux.is_right();
}

#[test]
fn story_that_is_tried_again_is_in_the_view_too() {
    let sandbox = Sandbox::new();
    let Some(tmux) = Tmux::new(&sandbox, 100, 20) else {
        return;
    };
    let go = sandbox.outside("go");
    let agent = sandbox.agent(&format!(
        "count; echo x >>x; if test $n = 1; then failed no; exit; fi
         until test -e '{}'; do sleep 0.05; done; failed again",
        go.display()
    ));
    tmux.types(&format!(
        "git ralph run {CHANGE} --view --max-retries 0 -- '{agent}'"
    ));
    tmux.sees("c  cleanup");
    // Both keys come at once.
    tmux.keys(&["r", "Enter"]);
    tmux.sees("story 1, attempt 2, ");
    fs::write(&go, "").unwrap();
    tmux.sees("c  cleanup");
    tmux.keys(&["Enter"]);
    tmux.is_right();
}

#[test]
fn keys_of_the_view_are_no_answer_to_the_question_after_it() {
    let sandbox = Sandbox::new();
    let Some(tmux) = Tmux::new(&sandbox, 100, 24) else {
        return;
    };
    let (agent, go) = waiting(&sandbox);
    tmux.types(&format!("git ralph run {CHANGE} --view -- {agent}"));
    tmux.sees("hello from 1");
    // Keys come in all the time, before the question and after it.
    fs::write(&go, "").unwrap();
    for _ in 0..40 {
        tmux.keys(&["k", "Right", "k", "Up"]);
    }
    tmux.sees("c  cleanup");
    assert_eq!(sandbox.status()["phase"], "complete");
    assert_eq!(sandbox.git(&["branch", "--show-current"]), "ralph/add-login");
    tmux.keys(&["q"]);
    tmux.sees("git ralph finish --keep add-login");
    tmux.keys(&["C-u"]);
    tmux.is_right();
}

#[test]
fn words_that_are_typed_are_no_answer_to_the_question_after_them() {
    let sandbox = Sandbox::new();
    let Some(tmux) = Tmux::new(&sandbox, 100, 24) else {
        return;
    };
    let (agent, go) = waiting(&sandbox);
    tmux.types(&format!("git ralph run {CHANGE} --view -- {agent}"));
    tmux.sees("hello from 1");
    tmux.keys(&["/"]);
    fs::write(&go, "").unwrap();
    wait_until("the end of the loop", || {
        tmux.keys(&["x"]);
        // No command: on a busy machine it could take longer than the view waits for another key.
        sandbox.state()["loop"]["phase"].as_str() == Some("complete")
    });
    // One that looks at the screen cannot see the question yet; as its keys these would keep the work.
    for _ in 0..10 {
        tmux.keys(&["x"]);
    }
    tmux.keys(&["k"]);
    tmux.sees("xk_  Enter: search");
    tmux.keys(&["Enter"]);
    tmux.sees("c  cleanup");
    assert_eq!(sandbox.status()["phase"], "complete");
    assert_eq!(sandbox.git(&["branch", "--show-current"]), "ralph/add-login");
    tmux.keys(&["q"]);
    tmux.is_right();
}

#[test]
fn keys_show_story_prompt_files_and_the_output_alone_and_stop_nothing() {
    let sandbox = Sandbox::new();
    let Some(tmux) = Tmux::new(&sandbox, 80, 24) else {
        return;
    };
    let go = sandbox.outside("go");
    let wait = |file: &str| format!("until test -e '{}{file}'; do sleep 0.05; done", go.display());
    let agent = sandbox.completing(&format!(
        "test -e made || cp .git/index '{}'; touch -d 2001-02-03 openspec/changes/*/tasks.md; echo x >>made
        echo \"hello from $RALPH_STORY\"; {}",
        sandbox.outside("index").display(),
        wait("")
    ));
    // Before any work it passes.
    let gate = format!("test ! -e made || {{ echo looking; {}; }}", wait(".judged"));
    sandbox.configure("ralph.verify", &gate);
    tmux.types(&format!(
        "git ralph run {CHANGE} --keep --view -- {agent}; echo exit $?"
    ));
    let seen = tmux.sees("hello from 1");
    assert!(seen.contains(">* 1. Database"), "{seen}");
    assert!(seen.contains("| story 1, attempt 1, "), "{seen}");
    tmux.keys(&["t"]);
    tmux.sees("story 1: its text");
    tmux.sees("| - [ ] 1.1 ");
    tmux.keys(&["p"]);
    tmux.sees("story 1, attempt 1: its prompt");
    tmux.sees("You work on one story");
    tmux.keys(&["c"]);
    tmux.sees("| A  made");
    // Git would have written the new times into the index, if it might.
    let index = fs::read(sandbox.top.join(".git/index")).unwrap();
    assert!(index == fs::read(sandbox.outside("index")).unwrap());
    tmux.keys(&["q", "o"]);
    wait_until("the output alone", || tmux.seen().trim() == "hello from 1");
    tmux.keys(&["C-f", "C-b", "PgUp", "End", "k", "q"]);
    tmux.sees("[follow]");
    tmux.keys(&["/"]);
    tmux.run(&["send-keys", "-l", "SERV"]);
    tmux.keys(&["Enter"]);
    tmux.sees(">  2. Server");
    tmux.keys(&["N", "n"]);
    tmux.sees("no attempt has failed");
    tmux.keys(&["G"]);
    fs::write(&go, "").unwrap();
    let seen = tmux.sees("looking");
    assert!(
        seen.contains("| story 1, attempt 1, gate: test ! -e made"),
        "{seen}"
    );
    tmux.keys(&["Escape"]);
    // Before the run can end: the key is for the view, not for the shell after it.
    tmux.sees("git ralph watch add-login");
    fs::write(go.with_extension("judged"), "").unwrap();
    tmux.sees("exit 0");
    tmux.is_right();
    let log = sandbox.ralph(&["log", "--json"]).exits(0).json();
    assert_eq!(log["attempts"].as_array().unwrap().len(), 3);
}

#[test]
fn viewers_that_are_killed_leave_no_trace_in_the_loop() {
    let sandbox = Sandbox::new();
    let Some(tmux) = Tmux::new(&sandbox, 80, 24) else {
        return;
    };
    let (agent, go) = waiting(&sandbox);
    let running = sandbox.direct(&["run", CHANGE, "--", &agent]).start();
    wait_for(&go.with_extension("there"));
    // The agent may be faster than whoever notes its process.
    let is_noted = || sandbox.state()["slots"][0].get("pid").is_some();
    wait_until("the agent's process is noted", is_noted);
    let files = || {
        let dir = sandbox.top.join(".git/ralph");
        let events = fs::read(dir.join("add-login/events.jsonl")).unwrap();
        (events, sandbox.state(), sandbox.git(&["for-each-ref"]))
    };
    let before = files();
    let pid = sandbox.outside("viewer");
    for _ in 0..10 {
        let _ = fs::remove_file(&pid);
        let line = format!("sh -c 'echo $$ >{0}; exec git-ralph watch'", pid.display());
        tmux.types(&line);
        tmux.sees("hello from 1");
        let viewer = fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
        kill(Pid::from_raw(viewer), Signal::SIGKILL).unwrap();
        // Nobody is left who could give the screen back.
        tmux.run(&["respawn-pane", "-k"]);
        wait_until("a new shell", || tmux.seen().trim() == "$");
    }
    assert!(files() == before);
    // A signal that can be heard gives the screen back.
    tmux.types(&format!(
        "sh -c 'echo $$ >{0}; exec git-ralph watch'; echo exit $?",
        pid.display()
    ));
    tmux.sees("hello from 1");
    let viewer = fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
    kill(Pid::from_raw(viewer), Signal::SIGTERM).unwrap();
    tmux.sees("exit 143");
    tmux.is_right();
    fs::write(&go, "").unwrap();
    running.end().exits(0);
}

#[test]
fn view_has_no_spinner_no_mouse_capture_and_no_direct_output() {
    let mut dirs = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ui/view")];
    let mut files = 0;
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
                continue;
            }
            files += 1;
            let text = fs::read_to_string(&path).unwrap();
            for word in [
                "EnableMouseCapture",
                "spinner",
                "println!",
                "print!(",
                "EventStream",
            ] {
                assert!(!text.contains(word), "{word} in {}", path.display());
            }
        }
    }
    assert!(files > 5);
}

#[test]
fn run_does_not_wait_for_a_closed_terminal() {
    for runs in [true, false] {
        let sandbox = Sandbox::new();
        let Some(tmux) = Tmux::new(&sandbox, 80, 24) else {
            return;
        };
        let (agent, go) = waiting(&sandbox);
        if !runs {
            fs::write(&go, "").unwrap();
        }
        tmux.types(&format!("git ralph run {CHANGE} --view -- {agent}"));
        tmux.sees(if runs { "hello from 1" } else { "c  cleanup" });
        let lock = fs::read_to_string(sandbox.top.join(".git/ralph/add-login.lock")).unwrap();
        let pid: i32 = lock.trim().rsplit(' ').next().unwrap().parse().unwrap();
        tmux.run(&["kill-server"]);
        let is_over = |pid: i32| kill(Pid::from_raw(pid), None).is_err();
        wait_until("the end of git-ralph", || is_over(pid));
        if runs {
            let agent = fs::read_to_string(go.with_extension("pid")).unwrap();
            wait_until("the end of the agent", || is_over(agent.trim().parse().unwrap()));
            let attempts = sandbox.ralph(&["log", "--json"]).exits(0).json();
            assert_eq!(attempts["attempts"][0]["verdict"], "interrupted");
            assert_eq!(attempts["attempts"][0]["reason"], "stopped by SIGHUP");
        }
        assert_eq!(sandbox.ralph(&["status", "--short"]).exits(0).stderr, "");
    }
}

#[test]
fn words_for_the_agent_are_typed_in_the_view() {
    let sandbox = Sandbox::new();
    let Some(tmux) = Tmux::new(&sandbox, 80, 24) else {
        return;
    };
    let (agent, go) = waiting(&sandbox);
    tmux.types(&format!("git ralph run {CHANGE} --keep --view -- {agent}"));
    tmux.sees("hello from 1");
    tmux.keys(&["m", "x", "C-c"]);
    tmux.keys(&["m", "Enter"]);
    tmux.sees("the message is empty");
    tmux.keys(&["m"]);
    tmux.sees("tell the agent: _  Enter: tell");
    tmux.run(&["send-keys", "-l", "use tabs"]);
    tmux.sees("tell the agent: use tabs_");
    tmux.keys(&["Enter"]);
    tmux.sees("the next prompt has this");
    fs::write(&go, "").unwrap();
    tmux.sees("finished: on ralph/add-login");
    let log = sandbox.ralph(&["log", CHANGE, "--json"]).exits(0).json();
    let told = log["messages"].as_array().unwrap();
    assert_eq!(told.len(), 1, "{log}");
    assert_eq!(
        (&told[0]["text"], &told[0]["story"]),
        (&"use tabs".into(), &"2".into())
    );
}

#[test]
fn header_and_footer_name_the_other_loop() {
    let sandbox = Sandbox::new();
    sandbox.write("openspec/changes/add-cart/tasks.md", "- [ ] 1. Cart\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "lists"]);
    for change in ["add-cart", CHANGE] {
        sandbox.ralph(&["start", change, "--worktree"]).exits(0);
    }
    let Some(terminal) = Tmux::new(&sandbox, 80, 24) else {
        return;
    };
    terminal.types("git ralph watch");
    terminal.sees("add-cart, loop 1 of 2  not running");
    terminal.keys(&["2"]);
    terminal.sees("add-login, loop 2 of 2  not running");
    terminal.sees("1-2 loop");
    terminal.keys(&["q"]);
}

#[test]
fn view_shows_the_gate_before_any_work_and_goes_if_that_refuses_the_loop() {
    for verdict in ["true", "false"] {
        let sandbox = Sandbox::new();
        let Some(tmux) = Tmux::new(&sandbox, 80, 24) else {
            return;
        };
        let go = sandbox.outside("go");
        let gate = format!("until test -e '{}'; do sleep 0.05; done; {verdict}", go.display());
        sandbox.configure("ralph.verify", &gate);
        let agent = sandbox.completing("echo x >>x");
        tmux.types(&format!(
            "git ralph run {CHANGE} --keep --view -- {agent}; echo exit $?"
        ));
        let seen = tmux.sees("add-login  gate, ");
        assert!(seen.contains("before any work: until test"), "{seen}");
        fs::write(&go, "").unwrap();
        let seen = tmux.sees(if verdict == "true" { "exit 0" } else { "exit 1" });
        assert!(!seen.contains("/ search"), "{seen}");
    }
}
