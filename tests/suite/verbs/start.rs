//! `git ralph start`: nothing of the user's is touched, everything is kept, refusals change nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::{CHANGE, Print, Sandbox, TASKS};

#[test]
fn list_whose_file_name_no_change_can_have_gives_one_that_works() {
    let sandbox = Sandbox::new();
    sandbox.git(&["rm", "-q", TASKS]);
    sandbox.write("my list.md", "- [ ] first\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "list"]);
    let begin = "hint: git ralph start other --stories 'my list.md'\n";
    sandbox.ralph(&["next", "other"]).exits(1).says(begin);
    sandbox
        .ralph(&["start", "other", "--resume"])
        .exits(1)
        .says(begin);
    let shown = "git ralph stories my-list --stories 'my list.md'";
    sandbox.ralph(&["stories"]).exits(1).says(shown);
    let run = [
        "run",
        "--stories",
        "my list.md",
        "--max-retries",
        "0",
        "--",
        "true",
    ];
    sandbox.ralph(&run).exits(4).says("change my-list\n");
}

#[test]
fn start_touches_no_file_and_commits_all_that_is_not_ignored() {
    let sandbox = Sandbox::dirty();
    let (files, mtimes) = (sandbox.files(), sandbox.mtimes());
    sandbox.start();
    assert_eq!(sandbox.files(), files);
    assert_eq!(sandbox.mtimes(), mtimes);
    sandbox.is_at_checkpoint();
    assert_eq!(sandbox.subjects("HEAD"), ["initial state", "first"]);
    let tree = sandbox.git(&["ls-tree", "-r", "--name-only", "HEAD"]);
    let names: Vec<&str> = tree.lines().collect();
    assert!(names.contains(&"notes/untracked.txt") && names.contains(&"staged new.txt"));
    assert!(!names.contains(&".env") && !names.contains(&"old.txt"));
    assert_eq!(sandbox.git(&["show", "HEAD:src/lib.txt"]), "staged\nand edited");
    assert_eq!(sandbox.git(&["branch", "--show-current"]), "ralph/add-login");
}

#[test]
fn start_keeps_staged_content() {
    let sandbox = Sandbox::dirty();
    let staged = sandbox.git(&["ls-files", "-s"]);
    let index = fs::read(sandbox.top.join(".git/index")).unwrap();
    sandbox.start();
    let start = "refs/ralph/add-login/start";
    assert_eq!(
        sandbox.git(&["show", &format!("{start}:src/lib.txt")]),
        "staged\nand edited"
    );
    assert_eq!(
        sandbox.git(&["show", &format!("{start}^2:src/lib.txt")]),
        "staged"
    );
    assert_eq!(
        sandbox.git(&["rev-parse", &format!("{start}^1")]),
        sandbox.git(&["rev-parse", "main"])
    );
    let kept = sandbox.git(&["ls-tree", "-r", &format!("{start}^2")]);
    assert_eq!(kept.lines().count(), staged.lines().count());
    let file = sandbox
        .git_cmd(&["cat-file", "-s", "refs/ralph/add-login/anchor:index"])
        .run()
        .exits(0);
    assert_eq!(file.stdout.trim(), index.len().to_string());
}

#[test]
fn start_is_announced_only_after_it_succeeded() {
    let sandbox = Sandbox::new();
    // Git moves no ref in a quarantine.
    let refused = sandbox
        .ralph_cmd(&["start", CHANGE])
        .env("GIT_QUARANTINE_PATH", "x")
        .run();
    assert!(
        refused.code != 0 && !refused.stderr.contains("started on"),
        "{}",
        refused.stderr
    );
    sandbox
        .ralph(&["status"])
        .exits(0)
        .says("started on ralph/add-login, from main")
        .says("start is completed now");
    assert_eq!(
        sandbox.git(&["branch", "--show-current"]).trim(),
        "ralph/add-login"
    );
}

#[test]
fn the_answer_is_on_stdout_and_the_narration_on_stderr() {
    let sandbox = Sandbox::new();
    let output = sandbox
        .start()
        .says("started on ralph/add-login, from main")
        .says("no agent is configured");
    assert!(
        output.stdout.contains("0 of 3 stories are complete"),
        "{}",
        output.stdout
    );
    assert!(output.stdout.contains("git ralph next add-login"));
    let quiet = sandbox.ralph(&["-q", "start", CHANGE]).exits(0);
    assert_eq!(quiet.stderr, "");
}

#[test]
fn a_live_loop_is_left_alone() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.completing("echo x >new");
    sandbox.step("next", &agent).exits(0);
    let (print, state) = (sandbox.print(), sandbox.state());
    let output = sandbox.start().says("the loop is already active");
    sandbox
        .ralph(&["start", CHANGE, "--adapter", "prd"])
        .exits(0)
        .says("--adapter has no effect on an active loop");
    assert!(output.stdout.contains("1 of 3"), "{}", output.stdout);
    assert_eq!(sandbox.print(), print);
    assert_eq!(sandbox.state(), state);
}

#[test]
fn a_detached_head_is_remembered() {
    let sandbox = Sandbox::dirty();
    sandbox.git(&["checkout", "-q", "--detach"]);
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let files = sandbox.files();
    sandbox.start();
    let state = &sandbox.state()["loop"];
    assert!(state.get("original_branch").is_none());
    assert_eq!(state["original_head"].as_str(), Some(head.as_str()));
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(sandbox.git_cmd(&["symbolic-ref", "-q", "HEAD"]).run().code, 1);
    assert_eq!(sandbox.files(), files);
}

#[test]
fn a_branch_without_commits_is_remembered() {
    let sandbox = Sandbox::empty();
    fs::create_dir(&sandbox.top).unwrap();
    sandbox.git(&["init", "-q", "--initial-branch=trunk"]);
    sandbox.write("a.txt", "a\n");
    sandbox.write("b.txt", "b\n");
    sandbox.git(&["add", "a.txt"]);
    sandbox.write(TASKS, "- [ ] 1.1 One\n");
    let mtimes = sandbox.mtimes();
    sandbox.start();
    assert_eq!(sandbox.mtimes(), mtimes);
    assert_eq!(sandbox.subjects("HEAD"), ["initial state"]);
    let state = &sandbox.state()["loop"];
    assert_eq!(state["original_branch"].as_str(), Some("trunk"));
    assert!(state.get("original_head").is_none());
    let agent = sandbox.completing("echo new >new.txt");
    sandbox.step("next", &agent).exits(0);
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    assert_eq!(sandbox.git(&["symbolic-ref", "HEAD"]), "refs/heads/trunk");
    assert_eq!(sandbox.git(&["ls-files"]), "");
    assert_eq!(sandbox.read("new.txt"), "new\n");
    assert_eq!(sandbox.git(&["for-each-ref", "refs/heads"]), "");
}

#[test]
fn a_leftover_branch_is_replaced_and_its_tip_kept() {
    let sandbox = Sandbox::new();
    sandbox.git(&["checkout", "-q", "-b", "ralph/add-login"]);
    sandbox.write("old-loop.txt", "x\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "of an old loop"]);
    let old = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox
        .start()
        .says("without its state; it is kept: git log refs/ralph/add-login/replaced/1");
    assert_eq!(sandbox.subjects("HEAD"), ["initial state", "first"]);
    let kept = sandbox.git(&["rev-parse", "refs/ralph/add-login/replaced/1"]);
    assert_eq!(kept, old);
}

#[test]
fn commands_work_in_subdirectories_with_dash_c_and_linked_work_trees() {
    let sandbox = Sandbox::new();
    let deep = sandbox.top.join("src/deep");
    sandbox.ralph_cmd(&["start", CHANGE]).dir(&deep).run().exits(0);
    sandbox.is_at_checkpoint();
    let agent = sandbox.completing("pwd >\"$notes/pwd\"; echo x >from-top");
    let args = ["-C", deep.to_str().unwrap(), "ralph", "next", "--", &agent];
    sandbox.cmd("git").args(args).dir(&sandbox.notes).run().exits(0);
    assert_eq!(sandbox.noted("pwd").trim(), sandbox.top.to_str().unwrap());
    sandbox.ralph_cmd(&["finish", "--keep"]).dir(&deep).run().exits(0);

    let linked = sandbox.outside("linked");
    let linked_text = linked.to_str().unwrap();
    sandbox.git(&["worktree", "add", "-q", "-b", "side", linked_text, "main"]);
    let change = linked.join("openspec/changes/other");
    fs::create_dir_all(&change).unwrap();
    fs::write(change.join("tasks.md"), "- [ ] 1.1 One\n").unwrap();
    let before = Print::of(&sandbox, &linked);
    sandbox.ralph_cmd(&["start", "other"]).dir(&linked).run().exits(0);
    sandbox
        .ralph_cmd(&["next", "--", &agent])
        .dir(&linked)
        .run()
        .exits(0);
    // From the other work tree the loop can be seen, but not driven.
    let elsewhere = sandbox.ralph(&["next", "other", "--", &agent]).exits(1);
    assert!(elsewhere.stderr.contains("belongs to the work tree"));
    sandbox
        .ralph_cmd(&["finish", "cleanup"])
        .dir(&linked)
        .run()
        .exits(0);
    let after = Print::of(&sandbox, &linked);
    assert_eq!((after.index, after.head), (before.index, before.head));
    assert!(after.files.contains_key(std::path::Path::new("from-top")));
}

#[test]
fn files_hidden_by_index_flags_are_kept_and_come_back() {
    for (flag, tag) in [("--assume-unchanged", "h"), ("--skip-worktree", "S")] {
        let sandbox = Sandbox::new();
        sandbox.git(&["update-index", flag, "README.md"]);
        sandbox.write("README.md", "only here\n");
        let files = sandbox.files();
        sandbox.start();
        assert_eq!(
            sandbox.git(&["show", "refs/ralph/add-login/start:README.md"]),
            "only here"
        );
        sandbox
            .step("next", &sandbox.failing("echo agent > README.md"))
            .exits(3);
        assert_eq!(sandbox.files(), files);
        sandbox
            .step("retry", &sandbox.completing("echo x > new.txt"))
            .exits(0);
        sandbox.ralph(&["finish", "--cleanup"]).exits(0);
        assert_eq!(sandbox.read("README.md"), "only here\n");
        let listed = sandbox.git(&["ls-files", "-v", "README.md"]);
        assert_eq!(listed, format!("{tag} README.md"), "{flag}");
    }
}

#[test]
fn nested_repositories_stay_as_they_are() {
    let sandbox = Sandbox::new();
    let nested = sandbox.top.join("vendor/nested");
    fs::create_dir_all(&nested).unwrap();
    sandbox.git_cmd(&["init", "-q"]).dir(&nested).run().exits(0);
    fs::write(nested.join("mine.txt"), "mine\n").unwrap();
    sandbox
        .start()
        .says("repositories of their own, neither kept nor put back: vendor/nested");
    assert_eq!(sandbox.git(&["ls-tree", "-r", "HEAD", "vendor"]), "");
    let agent = sandbox.failing("rm -rf src; echo x >README.md");
    sandbox.step("next", &agent).exits(3);
    assert_eq!(sandbox.read("vendor/nested/mine.txt"), "mine\n");
    assert!(nested.join(".git/HEAD").exists());
}

#[test]
fn no_identity_no_key_and_failing_hooks_do_not_matter() {
    let sandbox = Sandbox::dirty();
    sandbox.git(&["config", "--unset", "user.name"]);
    sandbox.git(&["config", "--unset", "user.email"]);
    sandbox.configure("user.useConfigOnly", "true");
    sandbox.configure("commit.gpgsign", "true");
    sandbox.configure("gpg.program", "false");
    for hook in [
        "pre-commit",
        "commit-msg",
        "post-checkout",
        "reference-transaction",
    ] {
        sandbox.hook(hook, "exit 1");
    }
    sandbox.start();
    let author = sandbox.git(&["log", "-1", "--format=%an <%ae>"]);
    assert_eq!(author, "git-ralph <git-ralph@localhost>");
    sandbox.is_at_checkpoint();
}

#[test]
fn the_state_file_is_complete_and_private() {
    let sandbox = Sandbox::new();
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox
        .ralph(&["start", CHANGE, "--max-retries", "2", "--verify", "true"])
        .exits(0);
    let state = sandbox.state();
    let (common, here) = (&state["loop"], &state["here"]);
    let text = |key: &str| common[key].as_str().unwrap().to_owned();
    assert_eq!(state["version"].as_integer(), Some(4));
    assert_eq!(state["change"].as_str(), Some(CHANGE));
    assert_eq!(text("branch"), "ralph/add-login");
    assert_eq!(text("original_branch"), "main");
    assert_eq!(text("original_head"), head);
    assert_eq!(text("checkpoint"), sandbox.git(&["rev-parse", "ralph/add-login"]));
    assert_eq!(text("phase"), "ready");
    assert_eq!(here["worktree"].as_str(), sandbox.top.to_str());
    assert_eq!(common["max_retries"].as_integer(), Some(2));
    assert_eq!(here["commands"]["verify"][0].as_str(), Some("true"));
    assert!(!state.contains_key("intent") && !state.contains_key("slots"));
    let mode = fs::metadata(sandbox.state_file()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let dir = sandbox.top.join(".git/ralph/add-login");
    let mode = fs::metadata(dir).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn restart_goes_back_to_the_beginning_first() {
    let sandbox = Sandbox::dirty();
    let files = sandbox.files();
    sandbox.start();
    sandbox
        .step("next", &sandbox.completing("echo x > new.txt"))
        .exits(0);
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox
        .ralph(&["start", CHANGE, "--restart"])
        .exits(0)
        .says("not ignored as before the loop")
        .says("started on");
    assert_eq!(sandbox.files(), files);
    assert_eq!(sandbox.subjects("HEAD"), ["initial state", "first"]);
    assert_eq!(sandbox.git(&["branch", "--show-current"]), "ralph/add-login");
    let kept = sandbox.git(&["for-each-ref", "--format=%(objectname)", "refs/ralph"]);
    assert!(kept.contains(&tip), "the first loop's work is not kept");
    assert_eq!(sandbox.state()["loop"]["original_branch"].as_str(), Some("main"));
}

#[test]
fn restart_keeps_the_list_of_the_loop_and_ends_it_for_no_other_that_is_missing() {
    let sandbox = Sandbox::new();
    sandbox.write("plan.md", "- [ ] one\n- [ ] two\n");
    let done = || sandbox.ralph(&["status", "plan", "--json"]).exits(0).json()["stories_done"].clone();
    sandbox.ralph(&["start", "plan", "--stories", "plan.md"]).exits(0);
    sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
    sandbox
        .ralph(&["start", "plan", "--restart", "--stories", "other.md"])
        .exits(1)
        .says("other.md");
    assert_eq!(done(), 1);
    sandbox.ralph(&["start", "plan", "--restart"]).exits(0);
    assert_eq!(sandbox.read("plan.md"), "- [ ] one\n- [ ] two\n");
    assert_eq!(done(), 0);
}

#[test]
fn a_lost_state_is_rebuilt_from_the_branch_and_the_refs() {
    let sandbox = Sandbox::dirty();
    sandbox.start();
    sandbox
        .step("next", &sandbox.completing("echo x > new.txt"))
        .exits(0);
    let status = sandbox.status();
    fs::remove_dir_all(sandbox.top.join(".git/ralph")).unwrap();
    sandbox
        .ralph(&["start", CHANGE])
        .exits(1)
        .says("HEAD is on ralph/add-login, but")
        .says("--resume");
    sandbox
        .ralph(&["start", CHANGE, "--resume"])
        .exits(0)
        .says("rebuilt");
    let rebuilt = sandbox.status();
    for field in [
        "phase",
        "branch",
        "original_branch",
        "original_head",
        "checkpoint",
        "stories_done",
        "next",
    ] {
        assert_eq!(rebuilt[field], status[field], "{field}");
    }
    sandbox
        .step("next", &sandbox.completing("echo y > more.txt"))
        .exits(0);
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    assert_eq!(sandbox.git(&["branch", "--show-current"]), "main");
    assert!(sandbox.top.join("more.txt").exists() && sandbox.top.join("new.txt").exists());
}

#[test]
fn a_commit_of_the_agent_s_own_is_no_checkpoint_for_a_rebuilt_loop() {
    let sandbox = Sandbox::started();
    let agent = sandbox.completing("git commit -q --allow-empty -m 'checkpoint: 2'; echo x > new.txt");
    sandbox.step("next", &agent).exits(0);
    fs::remove_dir_all(sandbox.top.join(".git/ralph")).unwrap();
    sandbox.ralph(&["start", CHANGE, "--resume"]).exits(0);
    let state = sandbox.state();
    let completed = state["loop"]["completed"].as_array().unwrap();
    assert_eq!(completed.len(), 1, "{completed:?}");
    assert_eq!(completed[0]["id"].as_str(), Some("1"));
}

#[test]
fn a_checkpoint_that_has_a_title_in_its_subject_is_read_too() {
    let sandbox = Sandbox::started();
    sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
    let title = ["-m", "checkpoint: 1. Database", "-m", "Ralph-Attempt: 1@1"];
    sandbox.git(&[&["commit", "-q", "--amend"][..], &title].concat());
    fs::remove_dir_all(sandbox.top.join(".git/ralph")).unwrap();
    sandbox.ralph(&["start", CHANGE, "--resume"]).exits(0);
    assert_eq!(sandbox.state()["loop"]["completed"][0]["id"].as_str(), Some("1"));
}

#[test]
fn start_refuses_to_resume_without_a_loop() {
    let sandbox = Sandbox::new();
    let print = sandbox.print();
    sandbox
        .ralph(&["start", CHANGE, "--resume"])
        .exits(1)
        .says("cannot resume")
        .says("saved\nhint: git ralph start add-login\n");
    assert_eq!(sandbox.print(), print);
    sandbox.git(&["branch", "ralph/add-login"]);
    sandbox
        .ralph(&["start", CHANGE, "--resume"])
        .exits(1)
        .says("hint: git checkout ralph/add-login, or start over: git ralph start add-login\n");
}

#[test]
fn a_dry_run_shows_the_loop_and_changes_nothing() {
    let sandbox = Sandbox::dirty();
    sandbox.configure("ralph.agent", "sh -c true");
    sandbox.configure("ralph.verify", "make check");
    let print = sandbox.print();
    let mtimes = sandbox.mtimes();
    let output = sandbox
        .ralph(&["start", CHANGE, "--dry-run", "--max-retries", "7"])
        .exits(0);
    for part in [
        "Database",
        "agent: sh -c true",
        "gate: make check",
        "retries a story: 7",
    ] {
        assert!(
            output.stdout.contains(part),
            "{part:?} is missing from\n{}",
            output.stdout
        );
    }
    let json = sandbox
        .ralph(&["start", CHANGE, "--dry-run", "--json"])
        .exits(0)
        .json();
    assert_eq!(
        (&json["total"], &json["settings"]["max_retries"]),
        (&3.into(), &3.into())
    );
    assert_eq!(json["settings"]["verify"][0], "make check");
    assert_eq!((sandbox.print(), sandbox.mtimes()), (print, mtimes));
    assert!(!sandbox.top.join(".git/ralph").exists());
    // What start would refuse it refuses too.
    sandbox.ralph(&["start", "nothing", "--dry-run"]).exits(1);
    sandbox.ralph(&["start", CHANGE, "--allow-red"]).exits(0);
    sandbox
        .ralph(&["start", CHANGE, "--dry-run"])
        .exits(0)
        .says("is already active");
}

#[test]
fn the_agent_of_the_whole_loop_can_be_given_as_words() {
    for (begin, code, attempts) in [
        (&["start", CHANGE][..], 0, 1),
        (&["run", CHANGE, "--max-attempts=1"], 6, 2),
    ] {
        let sandbox = Sandbox::new();
        let agent = sandbox.completing("echo \"$1\" >>\"$notes/word\"; echo x >>x");
        let begin = [begin, &["--", &agent, "two words"]].concat();
        sandbox.ralph(&begin).exits(code);
        sandbox.ralph(&["next"]).exits(0);
        assert_eq!(sandbox.noted("word"), "two words\n".repeat(attempts));
    }
}

#[test]
fn start_names_saved_files_and_their_place_in_one_line() {
    let sandbox = Sandbox::new();
    sandbox.write("stashed", "x");
    sandbox.git(&["stash", "-qu"]);
    sandbox.write("one", "x");
    sandbox.write("two", "x");
    sandbox.write("three", "x");
    sandbox.git(&["add", "one"]);
    let told = sandbox.start().stderr;
    let line = "saved: 1 uncommitted file and 2 untracked files in refs/ralph/add-login/start, \
                1 stash entry in refs/ralph/add-login/anchor\n";
    assert!(told.contains(line), "{told}");
    let sandbox = Sandbox::new();
    sandbox.write("one", "x");
    sandbox.git(&["add", "one"]);
    let told = sandbox.start().stderr;
    assert!(told.contains("saved: 1 uncommitted file in "), "{told}");
    // A file that is only taken out of the index is both, and takes no other's place.
    let sandbox = Sandbox::new();
    sandbox.write("README.md", "edited\n");
    sandbox.git(&["rm", "-q", "--cached", "old.txt"]);
    let told = sandbox.start().stderr;
    let line = "saved: 2 uncommitted files and 1 untracked file in ";
    assert!(told.contains(line), "{told}");
    let sandbox = Sandbox::new();
    sandbox.git(&["gc", "-q"]);
    let told = sandbox.start().stderr;
    assert!(!told.contains("saved"), "{told}");
}
