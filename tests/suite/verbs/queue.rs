//! `git ralph queue`, and `git ralph run --any`.

use std::fs;

use crate::support::remote::Remote;
use nix::sys::signal::Signal;

use crate::support::{CHANGE, Sandbox, wait_for, wait_until};

#[test]
fn queue_shows_free_and_conflicting_changes() {
    let remote = Remote::new();
    let sandbox = &remote.sandbox;
    let clone = remote.clone("one", &[]);
    for change in ["a", "b", "c"] {
        let dir = clone.dir.join(format!("openspec/changes/{change}"));
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("tasks.md"), "## 1. One\n- [ ] 1.1 do it\n").unwrap();
    }
    fs::remove_dir_all(clone.dir.join("openspec/changes/add-login")).unwrap();
    clone.git(&["add", "-A"]);
    clone.git(&["commit", "-q", "-m", "changes"]);
    let listed = clone.cmd(&["ralph", "queue", "--matrix"]).run().exits(0).json();
    let names = |value: &serde_json::Value| value["include"].as_array().unwrap().len();
    assert_eq!(names(&listed), 3);
    assert_eq!(clone.ralph(&["queue", "--names"]).exits(0).stdout, "a\nb\nc\n");
    let agent = sandbox.completing("echo \"$RALPH_CHANGE\" >\"f-$(test $RALPH_CHANGE = c && echo c)\"");
    clone.ralph(&["run", "--any", "--keep", "--", &agent]).exits(0);
    assert_eq!(clone.git(&["symbolic-ref", "--short", "HEAD"]), "main\n");
    let listed = clone.cmd(&["ralph", "queue", "--matrix"]).run().exits(0).json();
    assert_eq!(names(&listed), 0);
    let queue = clone.ralph(&["queue", "--json", "--conflicts"]).exits(0).json();
    let conflicts = |change: &str| {
        let entries = queue["changes"].as_array().unwrap();
        let entry = entries.iter().find(|entry| entry["change"] == change).unwrap();
        entry["conflicts_with"].to_string()
    };
    assert_eq!(conflicts("a"), "[\"b\"]");
    assert_eq!(conflicts("b"), "[\"a\"]");
    assert_eq!(conflicts("c"), "[]");
    let shown = clone.ralph(&["queue", "--conflicts"]).exits(0).stdout;
    assert!(shown.starts_with("c  1/1  finished   no conflicts\n"), "{shown}");
    // What the remote says does not hide that the loop cannot be read here.
    fs::write(clone.dir.join(".git/ralph/a.toml"), "version = 99\n").unwrap();
    let shown = clone.ralph(&["queue"]).exits(0).stdout;
    assert!(shown.contains("was written by a newer git-ralph"), "{shown}");
}

#[test]
fn queue_without_a_remote_lists_the_loops_of_the_repository() {
    let sandbox = Sandbox::new();
    let entry = || {
        let queue = sandbox.ralph(&["queue", "--json"]).exits(0).json();
        let entry = &queue["changes"][0];
        assert_eq!(queue["remote"], serde_json::Value::Null);
        let keys = ["phase", "done", "total", "free"];
        keys.map(|key| entry[key].to_string()).join(" ")
    };
    assert_eq!(entry(), "\"new\" 0 3 true");
    let slow = sandbox
        .completing("touch \"$notes/there\"; until test -e \"$notes/go\"; do sleep 0.05; done; echo x >>f");
    sandbox.start();
    let running = sandbox.direct(&["next", "--", &slow]).start();
    wait_for(&sandbox.notes.join("there"));
    assert_eq!(entry(), "\"running\" 0 3 false");
    fs::write(sandbox.notes.join("go"), "").unwrap();
    running.end().exits(0);
    assert_eq!(entry(), "\"ready\" 1 3 true");
    sandbox.ralph(&["run", CHANGE, "--", &slow]).exits(0);
    let shown = sandbox.ralph(&["queue"]).exits(0).stdout;
    assert!(shown.ends_with("\n1 change: 1 needs attention\n"), "{shown}");
    sandbox.ralph(&["finish", CHANGE, "--keep"]).exits(0);
    assert_eq!(entry(), "\"finished\" 3 3 false");
    assert!(!sandbox.ralph(&["queue"]).exits(0).stdout.contains("person"));
}

#[test]
fn queue_lists_changes_that_need_the_user_first_and_prints_sums() {
    let remote = Remote::new();
    let clone = remote.clone("one", &[]);
    let list = |change: &str| {
        let dir = clone.dir.join(format!("openspec/changes/{change}"));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("tasks.md"), "## 1. One\n- [ ] 1.1 do it\n").unwrap();
    };
    fs::remove_dir_all(clone.dir.join("openspec/changes/add-login")).unwrap();
    for change in ["a-new", "b-held", "c-done", "d-failed", "e-broken", "f-complete"] {
        list(change);
    }
    clone.git(&["add", "-A"]);
    clone.git(&["commit", "-q", "-m", "changes"]);
    let sums = |wanted: &str| {
        let shown = clone.ralph(&["queue"]).exits(0).stdout;
        assert_eq!(shown.lines().next_back().unwrap(), wanted);
    };
    sums("6 changes: 6 wait");
    let sandbox = &remote.sandbox;
    let (good, bad) = (sandbox.completing("echo x >f"), sandbox.failing("true"));
    let run = |change: &str, args: &[&str], agent: &str, code: i32| {
        let all = [&["run", change], args, &["--", agent]].concat();
        clone.ralph(&all).exits(code);
        if clone.ralph(&["status", change, "--json"]).json()["closed"].is_null() {
            clone.ralph(&["push", change]).exits(0);
            clone.ralph(&["finish", change, "--keep"]).exits(0);
        }
        clone.git(&["checkout", "-q", "main"]);
    };
    run("c-done", &["--keep"], &good, 0);
    run("d-failed", &["--max-retries", "0"], &bad, 4);
    run("f-complete", &[], &good, 0);
    remote.git(&["update-ref", "refs/ralph/e-broken/state", "main"]);
    let slow = sandbox
        .completing("touch \"$notes/there\"; until test -e \"$notes/go\"; do sleep 0.05; done; echo x >f");
    let other = remote.clone("other", &[]);
    other.git(&["pull", "-q", clone.dir.to_str().unwrap(), "main"]);
    let args = ["ralph", "run", "b-held", "--keep", "--", &slow];
    let running = other.cmd(&args).start();
    wait_for(&sandbox.notes.join("there"));
    sums("6 changes: 1 runs, 1 waits, 3 need attention, 1 finished");
    let shown = clone.ralph(&["queue"]).exits(0).stdout;
    let order: Vec<&str> = shown.lines().filter_map(|line| line.split(' ').next()).collect();
    let wanted = [
        "d-failed",
        "e-broken",
        "f-complete",
        "a-new",
        "b-held",
        "c-done",
        "of",
        "6",
    ];
    assert_eq!(order, wanted, "{shown}");
    let queue = clone.ralph(&["queue", "--json"]).exits(0).json();
    let number = |key: &str| queue[key].as_u64().unwrap();
    assert_eq!(
        ["run", "wait", "need_person", "finished"].map(number),
        [1, 1, 3, 1]
    );
    fs::write(sandbox.notes.join("go"), "").unwrap();
    running.end().exits(0);
}

#[test]
fn a_loop_with_a_skipped_story_is_complete_in_no_list() {
    let remote = Remote::new();
    let sandbox = &remote.sandbox;
    let clone = remote.clone("one", &[]);
    let agent = sandbox
        .agent("case $RALPH_STORY in 2) exit 1 ;; esac; echo x >>f; echo '<promise>COMPLETE</promise>'");
    let skipping = ["--max-retries", "0", "--on-failure", "skip"];
    let run = [&["run", CHANGE], &skipping[..], &["--", &agent]].concat();
    clone.ralph(&run).exits(4);
    let why = "1 story is skipped, and no other is left; finish it";
    let check = |args: &[&str]| {
        let queue = clone.ralph(args).exits(0).json();
        let entry = queue["changes"][0].clone();
        let found = ["phase", "done", "skipped", "total", "free", "why"].map(|key| entry[key].to_string());
        assert_eq!(
            found,
            ["\"exhausted\"", "2", "1", "3", "false", &format!("\"{why}\"")],
            "{args:?}"
        );
        assert_eq!(
            (&queue["need_person"], &queue["finished"]),
            (&1.into(), &0.into())
        );
    };
    clone.git(&["config", "--unset", "ralph.remote"]);
    check(&["queue", "--json"]);
    clone.git(&["config", "ralph.remote", "origin"]);
    clone.ralph(&["push", CHANGE]).exits(0);
    let state = remote.state(CHANGE);
    for line in ["Ralph-Phase: exhausted", "Ralph-Stories: 2/3", "Ralph-Skipped: 1"] {
        assert!(state.message.lines().any(|own| own == line), "{}", state.message);
    }
    assert!(!state.message.contains("complete"), "{}", state.message);
    check(&["queue", "--json"]);
    let viewer = remote.clone("viewer", &[]);
    let watched = viewer.ralph(&["watch", "--remote", "origin"]).exits(7).stdout;
    assert!(watched.contains(&format!("2/3  exhausted  {why}")), "{watched}");
    let report = ["report", "--all", "--remote", "--json"];
    let report = viewer.ralph(&report).exits(0).json();
    assert_eq!(report[0]["outcome"]["kind"], "stopped");
    let compared = viewer.ralph(&["queue", "--json", "--conflicts"]).exits(0).json();
    assert_eq!(compared["changes"][0]["conflicts_with"].to_string(), "[]");
    // Earlier versions wrote no number of skipped stories.
    let mut older = state.clone();
    older.message = older.message.replace("exhausted", "complete");
    older.message = older.message.replace("Ralph-Skipped: 1\n", "");
    remote.put_state(CHANGE, &older);
    let entry = &viewer.ralph(&["queue", "--json"]).exits(0).json()["changes"][0];
    assert_eq!(
        (&entry["phase"], &entry["why"]),
        (&"exhausted".into(), &why.into())
    );
    let pulled = viewer.ralph(&["pull", CHANGE, "--json"]).exits(0).json();
    assert_eq!(
        (&pulled["phase"], &pulled["pulled"]),
        (&"exhausted".into(), &true.into())
    );
    assert_eq!(
        viewer.ralph(&["status", CHANGE, "--json"]).exits(0).json()["phase"],
        "exhausted"
    );
}

#[test]
fn queue_lists_a_hundred_loops_with_one_lookup() {
    let remote = Remote::new();
    let clone = remote.clone("one", &[]);
    clone.ralph(&["start", CHANGE]).exits(0);
    clone.ralph(&["push", CHANGE]).exits(0);
    let state = remote.git(&["log", "-1", "--format=%B", "refs/ralph/add-login/state"]);
    let tree = remote.git(&["rev-parse", "refs/ralph/add-login/state^{tree}"]);
    let mut input = String::new();
    for number in 0..100 {
        let text = state.replace("add-login", &format!("c{number}"));
        input.push_str(&format!(
            "commit refs/ralph/c{number}/state\ncommitter U <u@e> 0 +0000\ndata {}\n{text}\nM 040000 {} \n\n",
            text.len(),
            tree.trim()
        ));
    }
    let import = remote
        .sandbox
        .git_cmd(&["fast-import", "--quiet"])
        .dir(&remote.bare);
    import.reading(input).run().exits(0);
    let log = remote.sandbox.outside("calls");
    let listed = clone
        .cmd(&["ralph", "queue", "--json"])
        .env("GIT_TRACE2_EVENT", &log)
        .run()
        .exits(0)
        .json();
    assert_eq!(listed["changes"].as_array().unwrap().len(), 101);
    let calls = |name: &str| {
        let text = fs::read_to_string(&log).unwrap();
        let name = format!("\"name\":\"{name}\",");
        text.lines()
            .filter(|line| line.contains("\"cmd_name\"") && line.contains(&name))
            .count()
    };
    // Two of them read the state that this clone has pushed itself.
    assert_eq!(["ls-remote", "fetch", "cat-file"].map(calls), [1, 1, 4]);
    fs::remove_file(&log).unwrap();
    let again = clone
        .cmd(&["ralph", "queue", "--json"])
        .env("GIT_TRACE2_EVENT", &log)
        .run()
        .exits(0)
        .json();
    assert_eq!(again, listed);
    assert_eq!(["ls-remote", "fetch", "cat-file"].map(calls), [1, 0, 0]);
}

#[test]
fn the_list_is_printed_again_when_it_has_changed() {
    let sandbox = Sandbox::new();
    let watching = sandbox.direct(&["queue", "--watch=1s"]).on_terminal(80).start();
    wait_until("the list", || watching.seen().contains("0/3  new"));
    sandbox.start();
    wait_until("the loop", || watching.seen().contains("0/3  ready"));
    watching.signal(Signal::SIGINT);
    let seen = watching.end().exits(130).stdout;
    // Once more if it was seen while `start` held the loop.
    let lists = seen.matches("1 change: ").count();
    assert_eq!(lists, 2 + seen.matches("held by").count().min(1), "{seen}");
    sandbox
        .ralph(&["queue", "--watch=0"])
        .exits(2)
        .says("it must be a time, such as 10s");
}

#[test]
fn queue_says_what_is_wrong_with_a_list_without_a_story_and_what_to_do_without_a_change() {
    let sandbox = Sandbox::new();
    sandbox.write("openspec/changes/empty/tasks.md", "# x\n");
    let shown = sandbox.ralph(&["queue"]).exits(0).stdout;
    assert_eq!(
        shown,
        "empty      0/0  new        openspec/changes/empty/tasks.md has no stories\n\
         add-login  0/3  new\n\
         2 changes: 1 waits, 1 needs attention\n"
    );
    assert_eq!(
        sandbox.ralph(&["queue", "--names"]).exits(0).stdout,
        "add-login\n"
    );
    fs::remove_dir_all(sandbox.top.join("openspec")).unwrap();
    let shown = sandbox.ralph(&["queue"]).exits(0).stdout;
    assert!(
        shown.contains("no change was found; ") && shown.contains(": git ralph stories\n"),
        "{shown}"
    );
}
