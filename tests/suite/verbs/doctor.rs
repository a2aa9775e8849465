//! `git ralph doctor`.

use std::fs;

use git_ralph::tables::PRESETS;
use nix::sys::signal::Signal;

use crate::support::remote::Remote;
use crate::support::{CHANGE, Sandbox, wait_until, working_git, write_program};

#[test]
fn doctor_reports_a_missing_agent() {
    let sandbox = Sandbox::new();
    let output = sandbox.ralph(&["doctor"]).exits(1);
    for preset in PRESETS {
        assert!(output.stdout.contains(preset.name), "{}", output.stdout);
    }
    assert!(
        output
            .stdout
            .contains("no agent is configured, and no known agent is installed")
    );
    assert!(output.stdout.contains("hint: "), "{}", output.stdout);
    sandbox.configure("ralph.agent", "no-such-agent -x");
    let output = sandbox.ralph(&["doctor"]).exits(1);
    assert!(output.stdout.contains("cannot find the agent 'no-such-agent'"));
    sandbox.configure("ralph.fallbackAgent", "no-other-agent");
    let output = sandbox.ralph(&["doctor"]).exits(1).stdout;
    let problem = "cannot find the agent 'no-other-agent'\nhint: install it, or name another: git config ralph.fallbackAgent <name>";
    assert!(output.contains(problem), "{output}");
}

#[test]
fn doctor_shows_the_agent_in_use_and_works_anywhere() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.agent", "sh ./claude --dangerously-skip-permissions");
    let output = sandbox.ralph(&["doctor", "--json"]).exits(0).json();
    assert_eq!(output["agent"]["unasked"], "--dangerously-skip-permissions");
    assert_eq!(output["agents"].as_array().unwrap().len(), PRESETS.len());
    assert_eq!(output["agents"][0]["name"], "claude");
    assert_eq!(output["agents"][0]["installed"], false);
    assert!(output["git"].as_str().unwrap().starts_with("git version "));
    assert_eq!(output["problems"], serde_json::json!([]));
    let outside = sandbox.outside("home");
    let output = sandbox.ralph_cmd(&["doctor", "--json"]).dir(&outside).run();
    assert_eq!(output.exits(1).json()["agent"], serde_json::Value::Null);
}

#[test]
fn doctor_names_what_stops_every_command_in_json_too() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.maxRetries", "abc");
    let problem = |words: &[&str]| {
        let found = sandbox.ralph(&["doctor", "--json"]).exits(1).json();
        for word in words {
            assert!(noted(&found, "problems")[0].contains(word), "{found}");
        }
        let said = sandbox.ralph(&["doctor"]).exits(1);
        assert!((said.stdout + &said.stderr).contains(words[0]), "{found}");
    };
    problem(&[
        "the setting ralph.maxRetries is 'abc'",
        "--get-all ralph.maxRetries",
    ]);
    fs::rename(sandbox.top.join(".git"), sandbox.notes.join("was")).unwrap();
    sandbox.write(".git", "gitdir: /nowhere/r\n");
    let file = format!(
        "{}/.git says that the repository is /nowhere/r",
        sandbox.top.display()
    );
    problem(&[&file, "worktree repair"]);
    sandbox.ralph(&["status"]).exits(1).says(&file);
    fs::create_dir(sandbox.top.join("below")).unwrap();
    let below = sandbox.top.join("below");
    let run = sandbox.ralph_cmd(&["run"]).dir(&below).run().exits(1);
    assert!(!run.says(&file).stderr.contains("git init"));
}

/// Messages and hints of a list in the answer, one in a line each.
fn noted(found: &serde_json::Value, list: &str) -> Vec<String> {
    let entries = found[list].as_array().unwrap();
    entries
        .iter()
        .map(|entry| {
            format!(
                "{} -> {}",
                entry["message"].as_str().unwrap(),
                entry["hint"].as_str().unwrap()
            )
        })
        .collect()
}

/// A sandbox in which only what a test does to it can need mending.
fn healthy(sandbox: Sandbox) -> Sandbox {
    sandbox.configure("ralph.agent", "sh ./agent");
    sandbox
}

#[track_caller]
fn has(noted: &[String], parts: &[&str]) {
    let is_there = |line: &String| parts.iter().all(|part| line.contains(part));
    assert!(noted.iter().any(is_there), "{parts:?} is not in {noted:#?}");
}

#[track_caller]
fn examine(sandbox: &Sandbox, code: i32) -> serde_json::Value {
    sandbox.ralph(&["doctor", "--json"]).exits(code).json()
}

#[test]
fn doctor_changes_nothing_and_runs_no_command() {
    let sandbox = healthy(Sandbox::dirty());
    sandbox.configure("ralph.adapter", "command");
    sandbox.configure("ralph.storiesCommand", "echo >ran");
    let before = sandbox.print();
    let found = examine(&sandbox, 0);
    assert_eq!(found["repository"]["changes"][0]["adapter"], "command");
    assert_eq!(sandbox.print(), before);
    assert!(!sandbox.top.join(".git/ralph").exists());
    assert!(!sandbox.top.join("ran").exists());
}

#[test]
fn doctor_and_a_dry_run_name_the_former_keys_once() {
    let sandbox = healthy(Sandbox::dirty());
    for path in ["/a", "/b"] {
        sandbox.git(&["config", "--add", "ralph.boxRead", path]);
    }
    let named =
        "ralph.boxRead is now ralph.boxAllow=read:<path>: git config --add ralph.boxAllow read:<path>";
    for args in [&["doctor"][..], &["start", CHANGE, "--dry-run"]] {
        let said = sandbox.ralph(args).exits(0);
        let all = said.stdout + &said.stderr;
        assert_eq!(all.matches(named).count(), 1, "{all}");
    }
}

#[test]
fn doctor_lists_the_features_of_the_git_version() {
    let sandbox = healthy(Sandbox::new());
    let features = |version: &str| {
        let dir = sandbox.outside("other git");
        fs::create_dir_all(&dir).unwrap();
        let real = sandbox
            .cmd("sh")
            .args(["-c", "command -v git"])
            .run()
            .exits(0)
            .stdout;
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && echo git version {version} && exit\nexec {} \"$@\"\n",
            real.trim()
        );
        write_program(&dir.join("git"), &script);
        let path = format!("{}:{}", dir.display(), sandbox.search_path().to_str().unwrap());
        sandbox.direct(&["doctor", "--json"]).env("PATH", path).run()
    };
    let new = features("2.54.0").exits(0).json();
    let old = features("2.37.1").exits(1).json();
    has(
        &noted(&old, "problems"),
        &["git is git version 2.37.1 -> install git 2.38"],
    );
    for (found, wanted) in [(new, [true; 4]), (old, [true, false, false, false])] {
        let available: Vec<bool> = found["features"]
            .as_array()
            .unwrap()
            .iter()
            .map(|feature| feature["available"].as_bool().unwrap())
            .collect();
        assert_eq!(available, wanted);
    }
}

#[test]
fn doctor_reports_a_lock_without_a_git() {
    let sandbox = healthy(Sandbox::new());
    let of_fetch = sandbox.top.join(".git/shallow.lock");
    fs::write(&of_fetch, "").unwrap();
    let found = examine(&sandbox, 1);
    has(&noted(&found, "problems"), &["shallow.lock exists"]);
    fs::remove_file(&of_fetch).unwrap();
    let lock = sandbox.top.join(".git/index.lock");
    fs::write(&lock, "").unwrap();
    let found = examine(&sandbox, 1);
    has(
        &noted(&found, "problems"),
        &["index.lock exists", "no git process seems to be running", "rm "],
    );
    // One that somebody's git may hold is none of our business.
    let git = working_git(|args| sandbox.git_cmd(args));
    // It began before the lock was written.
    fs::write(&lock, "").unwrap();
    assert_eq!(noted(&examine(&sandbox, 0), "problems"), [""; 0]);
    git.kill_group();
    assert!(lock.exists());
}

#[test]
fn doctor_reports_a_cut_off_attempt_but_not_a_running_one() {
    let sandbox = healthy(Sandbox::started());
    let agent =
        sandbox.agent("git ralph doctor --json >\"$notes/doctor\"; echo $? >\"$notes/code\"; kill -9 $(ps -o ppid= -p $PPID)");
    sandbox.step("next", &agent).exits(137);
    assert_eq!(sandbox.noted("code"), "0\n", "{}", sandbox.noted("doctor"));
    let meanwhile: serde_json::Value = serde_json::from_str(&sandbox.noted("doctor")).unwrap();
    assert_eq!(meanwhile["repository"]["loops"][0]["busy"], true);
    assert_eq!(meanwhile["repository"]["loops"][0]["phase"], "running");
    let found = examine(&sandbox, 1);
    assert_eq!(found["repository"]["loops"][0]["busy"], false);
    has(
        &noted(&found, "problems"),
        &["attempt 1 of story 1 was interrupted -> git ralph status add-login"],
    );
    sandbox.ralph(&["status", CHANGE]).exits(0);
    assert_eq!(noted(&examine(&sandbox, 0), "problems"), [""; 0]);
}

#[test]
fn doctor_names_a_step_that_was_cut_off() {
    let sandbox = healthy(Sandbox::started());
    let mut state = fs::read_to_string(sandbox.state_file()).unwrap();
    let oid = sandbox.git(&["rev-parse", "HEAD"]);
    state.push_str(&format!("\n[intent]\nstep = \"keep\"\nfinished = \"{oid}\"\n"));
    fs::write(sandbox.state_file(), state).unwrap();
    let elsewhere = sandbox.outside("other tree");
    sandbox.git(&["worktree", "add", "-q", "--detach", elsewhere.to_str().unwrap()]);
    let problems = noted(&examine(&sandbox, 1), "problems");
    has(&problems, &["finish was cut off -> git ralph status add-login"]);
    let there = sandbox.ralph_cmd(&["doctor", "--json"]).dir(&elsewhere).run();
    let wanted = format!("git -C {} ralph status add-login", sandbox.top.display());
    has(&noted(&there.exits(1).json(), "problems"), &[&wanted]);
}

#[test]
fn doctor_reports_a_lost_damaged_or_newer_state() {
    let sandbox = healthy(Sandbox::started());
    fs::write(sandbox.state_file(), "version = 99\n").unwrap();
    has(
        &noted(&examine(&sandbox, 1), "problems"),
        &["newer git-ralph", "-> install a newer git-ralph"],
    );
    fs::write(sandbox.state_file(), "version = 1\nno").unwrap();
    has(
        &noted(&examine(&sandbox, 1), "problems"),
        &["is damaged", "--resume"],
    );
    fs::remove_dir_all(sandbox.top.join(".git/ralph")).unwrap();
    let lost = "the state of loop add-login is lost";
    has(
        &noted(&examine(&sandbox, 1), "problems"),
        &[lost, "-> git ralph start add-login --resume"],
    );
    sandbox.ralph(&["start", CHANGE, "--resume"]).exits(0);
    assert_eq!(noted(&examine(&sandbox, 0), "problems"), [""; 0]);
    // What nobody misses is only said.
    fs::remove_dir_all(sandbox.top.join(".git/ralph")).unwrap();
    sandbox.git(&["checkout", "-q", "-f", "main"]);
    has(
        &noted(&examine(&sandbox, 1), "problems"),
        &[lost, "git checkout ralph/add-login"],
    );
    sandbox.git(&["branch", "-q", "-D", "ralph/add-login"]);
    sandbox.git(&["branch", "ralph/mine"]);
    let advice = noted(&examine(&sandbox, 0), "advice");
    has(&advice, &["refs/ralph/add-login keeps the work", "for-each-ref"]);
    has(
        &advice,
        &["ralph/mine belongs to no loop", "git branch -D ralph/mine"],
    );
}

#[test]
fn doctor_reports_old_refs_of_a_finished_loop() {
    let sandbox = healthy(Sandbox::started());
    sandbox.step("next", &sandbox.failing("echo x >x")).exits(3);
    sandbox.configure("ralph.keepAttempts", "0d");
    assert!(
        !noted(&examine(&sandbox, 0), "advice")
            .iter()
            .any(|line| line.contains("prune"))
    );
    sandbox.ralph(&["finish", "keep"]).exits(0);
    crate::support::wait_until("a second has passed", || {
        noted(&examine(&sandbox, 0), "advice").iter().any(|line| {
            line.contains("the finished loop add-login has") && line.ends_with("git ralph prune add-login")
        })
    });
    sandbox.ralph(&["prune", CHANGE]).exits(0);
}

#[test]
fn doctor_reports_a_missing_work_tree() {
    let sandbox = healthy(Sandbox::new());
    let tree = sandbox.outside("other tree");
    sandbox.git(&["worktree", "add", "-q", "--detach", tree.to_str().unwrap()]);
    sandbox.ralph_cmd(&["start", CHANGE]).dir(&tree).run().exits(0);
    sandbox.git(&["worktree", "lock", tree.to_str().unwrap()]);
    fs::remove_dir_all(&tree).unwrap();
    let problems = noted(&examine(&sandbox, 1), "problems");
    has(&problems, &["other tree, does not exist -> "]);
    let hint = problems
        .iter()
        .find_map(|line| line.split_once("or: git worktree "))
        .unwrap()
        .1;
    let command = format!("git worktree {hint}");
    sandbox.cmd("sh").args(["-c", &command]).run().exits(0);
    assert!(tree.join("README.md").exists());
    // A loop makes its own again.
    let sandbox = healthy(Sandbox::new());
    sandbox.ralph(&["start", CHANGE, "--worktree"]).exits(0);
    fs::remove_dir_all(sandbox.outside("repo.ralph/add-login")).unwrap();
    has(
        &noted(&examine(&sandbox, 1), "problems"),
        &["does not exist -> ", "or: git ralph start add-login --worktree"],
    );
}

#[test]
fn doctor_reads_lists_and_reports_mistakes_with_their_lines() {
    let sandbox = healthy(Sandbox::new());
    sandbox.write("specs/add-login/tasks.md", "- [ ] 1 Do it\n");
    sandbox.write("prd.json", "{\"branchName\": \"ralph/form\",\n \"stories\": [3]}");
    let found = examine(&sandbox, 1);
    let problems = noted(&found, "problems");
    has(
        &problems,
        &[
            "change add-login: more than one story file",
            "--stories openspec/changes/add-login/tasks.md",
        ],
    );
    has(
        &problems,
        &["change form: ", "prd.json", "line 2", "git ralph stories"],
    );
    fs::remove_dir_all(sandbox.top.join("specs")).unwrap();
    sandbox.write("prd.json", "{\n");
    let advice = noted(&examine(&sandbox, 0), "advice");
    has(
        &advice,
        &["prd.json cannot be read", "line 2", "--stories <path>"],
    );
    sandbox.write(
        "prd.json",
        "{\"branchName\": \"ralph/form\", \"stories\": [{\"title\": \"x\"}]}",
    );
    let found = examine(&sandbox, 0);
    let change = &found["repository"]["changes"][0];
    assert_eq!(
        (&change["change"], &change["stories"]),
        (&CHANGE.into(), &3.into())
    );
    assert_eq!(change["adapter"], "openspec");
}

#[test]
fn doctor_reports_the_installed_pages_and_completions() {
    let sandbox = healthy(Sandbox::new());
    sandbox.install("man", "echo ${MAN_PAGE}; test -n \"$MAN_PAGE\"");
    let found = examine(&sandbox, 0);
    let advice = noted(&found, "advice");
    has(
        &advice,
        &["man does not find the manual page", "-> git ralph install"],
    );
    assert_eq!(found["installation"]["manual"], serde_json::Value::Null);
    if !crate::installed("bash") {
        return;
    }
    has(
        &advice,
        &["no completion was found for", "bash", "-> git ralph install"],
    );
    sandbox.ralph(&["install"]).exits(0);
    let page = sandbox.outside("data/man/man1/git-ralph.1");
    let found = sandbox
        .ralph_cmd(&["doctor", "--json"])
        .env("MAN_PAGE", &page)
        .run();
    let found = found.exits(0).json();
    assert_eq!(found["installation"]["manual"], page.to_str().unwrap());
    let bash = &found["installation"]["completions"][0];
    assert_eq!(bash["shell"], "bash");
    let file = sandbox.outside("data/bash-completion/completions/git-ralph");
    assert_eq!(bash["file"], file.to_str().unwrap());
    assert!(!noted(&found, "advice").iter().any(|line| line.contains("manual")));
}

#[test]
fn doctor_prints_the_same_facts_as_text() {
    let sandbox = healthy(Sandbox::started());
    fs::write(sandbox.top.join(".git/index.lock"), "").unwrap();
    let output = sandbox.ralph(&["doctor"]).exits(1);
    for part in [
        &format!("repository: {}\n", sandbox.top.display()),
        "  loop add-login: ready\n",
        "  change add-login: openspec/changes/add-login/tasks.md (openspec), 0 of 3 stories are complete\n",
        "index.lock exists: no git process seems to be running here\nhint: if no git process is running: rm ",
    ] {
        assert!(
            output.stdout.contains(part),
            "{part:?} is not in {}",
            output.stdout
        );
    }
    let outside = sandbox.ralph_cmd(&["doctor"]).dir(&sandbox.outside("home")).run();
    assert!(
        outside.stdout.contains("repository: none here\n"),
        "{}",
        outside.stdout
    );
}

#[test]
fn doctor_tries_a_remote_and_leaves_nothing() {
    let remote = Remote::new();
    let clone = remote.clone("one", &[]);
    let before = remote.git(&["for-each-ref"]);
    let doctor = ["doctor", "--remote", "origin"];
    let good = clone.ralph(&doctor).exits(0).stdout;
    assert_eq!(
        good,
        "origin, refs below refs/ralph/\n  it takes refs of loops: yes\n  it moves them: yes\n  it moves none with another value: yes\n  it lists them: yes\n  it deletes them: yes\n"
    );
    assert_eq!(remote.git(&["for-each-ref"]), before);
    remote.refuse("case $ref in refs/heads/*) false ;; *) true ;; esac");
    let bad = clone.ralph(&doctor).exits(1).stdout;
    assert!(bad.contains("it takes refs of loops: no\n"), "{bad}");
    assert!(
        bad.ends_with("  hint: git config ralph.remoteRefs refs/heads/ralph-state/\n"),
        "{bad}"
    );
    clone.git(&["config", "ralph.remoteRefs", "refs/heads/ralph-state/"]);
    clone.ralph(&doctor).exits(0);
    assert_eq!(remote.git(&["for-each-ref"]), before);
    remote.git(&["config", "uploadpack.hideRefs", "refs/heads/ralph-state"]);
    let hidden = clone.ralph(&doctor).exits(1).stdout;
    assert!(
        hidden.contains("it does not list a ref that it has taken"),
        "{hidden}"
    );
    assert_eq!(remote.git(&["for-each-ref"]), before);
}

#[test]
fn doctor_names_what_makes_start_refuse_the_repository() {
    let sandbox = Sandbox::new();
    for (branch, words) in [("other", "theirs\n"), ("main", "ours\n")] {
        sandbox.git(&["checkout", "-q", "-B", branch, "main"]);
        sandbox.write("f", words);
        sandbox.git(&["add", "f"]);
        sandbox.git(&["commit", "-q", "-m", "f"]);
    }
    assert_ne!(sandbox.git_cmd(&["merge", "other"]).run().code, 0);
    let refused = |dir: &std::path::Path, words: &str| {
        let doctor = sandbox.direct(&["doctor"]).dir(dir).run().exits(1).stdout;
        assert!(doctor.contains(words), "{doctor}");
        sandbox
            .direct(&["start", CHANGE])
            .dir(dir)
            .run()
            .exits(1)
            .says(words);
    };
    refused(&sandbox.top, "a merge is in progress here\n");
    fs::remove_file(sandbox.top.join(".git/MERGE_HEAD")).unwrap();
    refused(&sandbox.top, "there are unmerged paths: f\n");
    let bare = sandbox.outside("bare");
    sandbox.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    refused(&bare, "this repository has no work tree\n");
}

#[test]
fn doctor_deletes_what_a_killed_test_of_a_remote_left() {
    let remote = Remote::new();
    let clone = remote.clone("one", &[]);
    let before = remote.git(&["for-each-ref"]);
    let now = jiff::Timestamp::now().as_second();
    let left = |word: String| {
        let name = format!("refs/ralph/-doctor-{word}/state");
        remote.git(&["update-ref", &name, "refs/heads/main"]);
        name
    };
    for word in ["0123456789abcdef".to_owned(), format!("{}-0a", now - 7200)] {
        left(word);
    }
    let running = left(format!("{now}-0b"));
    clone.ralph(&["doctor", "--remote", "origin"]).exits(0);
    remote.git(&["update-ref", "-d", &running, "refs/heads/main"]);
    assert_eq!(remote.git(&["for-each-ref"]), before);
}

#[test]
fn doctor_names_a_repository_that_another_user_owns() {
    let sandbox = Sandbox::new();
    let doctor = sandbox
        .ralph_cmd(&["doctor"])
        .env("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1");
    let output = doctor.run().exits(1).stdout;
    assert!(
        output.contains("detected dubious ownership in repository at"),
        "{output}"
    );
    assert!(
        output.contains("hint: git config --global --add safe.directory "),
        "{output}"
    );
}

#[test]
fn doctor_and_a_dry_run_name_filters_that_an_attempt_can_write() {
    let sandbox = healthy(Sandbox::new());
    sandbox.configure("filter.own.clean", "tools/clean.sh");
    sandbox.configure("filter.lfs.process", "git-lfs filter-process");
    let named = "git runs filter.own.clean outside of the box";
    let doctor = || sandbox.ralph(&["doctor"]).stdout;
    assert!(!doctor().contains(named));
    sandbox.configure("ralph.box", "on");
    let told = doctor();
    assert!(told.contains(named) && !told.contains("filter.lfs"), "{told}");
    let begun = sandbox.ralph(&["start", CHANGE, "--dry-run"]).exits(0);
    assert!(!begun.stderr.contains("filter.lfs"));
    begun.says(&format!("warning: {named}"));
}

#[test]
fn work_tree_that_was_never_finished_is_named_with_what_removes_it() {
    let sandbox = Sandbox::new();
    let begun = sandbox.notes.join("begun");
    let setup = format!("touch '{}'; sleep 600", begun.display());
    sandbox.configure("ralph.worktreeSetup", &setup);
    let starting = sandbox.direct(&["start", CHANGE, "--worktree"]).start();
    wait_until("the work tree is being prepared", || begun.exists());
    let of_setup = || sandbox.ralph(&["doctor"]).stdout;
    let words = "was cut off\n";
    assert!(!of_setup().contains(words), "it is being made");
    starting.signal(Signal::SIGKILL);
    drop(starting.end());
    let doctor = of_setup();
    assert!(doctor.contains(words), "{doctor}");
    let (_, hint) = doctor.split_once("hint: git worktree remove ").unwrap();
    let command = format!("worktree remove {}", hint.lines().next().unwrap());
    sandbox.git(&command.split(' ').collect::<Vec<_>>());
    assert!(!of_setup().contains(words));
}
