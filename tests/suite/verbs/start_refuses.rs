//! Where `git ralph start` refuses to begin; nothing is touched then.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::{CHANGE, Sandbox, TASKS};

/// Runs `start` where it must refuse, and asserts that nothing changed.
#[track_caller]
fn refuses(sandbox: &Sandbox, code: i32, says: &str) {
    refuses_with(sandbox, &["start", CHANGE], code, says);
}

#[track_caller]
fn refuses_with(sandbox: &Sandbox, args: &[&str], code: i32, says: &str) {
    let print = sandbox.print();
    let mtimes = sandbox.mtimes();
    let index = fs::read(sandbox.top.join(".git/index")).ok();
    let output = sandbox.ralph(args).exits(code).says(says).answers_nothing();
    // That nothing is left to do is no error.
    assert_eq!(output.stderr.contains("error: "), code != 5, "{}", output.stderr);
    assert_eq!(sandbox.print(), print);
    assert_eq!(sandbox.mtimes(), mtimes);
    assert_eq!(fs::read(sandbox.top.join(".git/index")).ok(), index);
    let named = args.get(1).unwrap_or(&CHANGE);
    let state = sandbox.top.join(format!(".git/ralph/{named}.toml"));
    assert!(!state.exists(), "a state file was left");
}

#[test]
fn a_git_operation_in_progress_is_refused() {
    let conflicting = || {
        let sandbox = Sandbox::new();
        sandbox.git(&["checkout", "-q", "-b", "side"]);
        sandbox.write("README.md", "# Side\n");
        sandbox.git(&["commit", "-q", "-a", "-m", "side"]);
        sandbox.git(&["checkout", "-q", "main"]);
        sandbox.write("README.md", "# Main\n");
        sandbox.git(&["commit", "-q", "-a", "-m", "main"]);
        sandbox
    };
    for (args, says) in [
        (&["merge", "side"][..], "a merge is in progress"),
        (&["rebase", "side"], "a rebase is in progress"),
        (&["cherry-pick", "side"], "a cherry-pick"),
    ] {
        let sandbox = conflicting();
        assert_ne!(sandbox.git_cmd(args).run().code, 0);
        refuses(&sandbox, 1, says);
    }
    let sandbox = conflicting();
    sandbox.git(&["bisect", "start"]);
    refuses(&sandbox, 1, "a bisect is in progress");
}

#[test]
fn unmerged_paths_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("README.md", "# Stashed\n");
    sandbox.git(&["stash", "-q"]);
    sandbox.write("README.md", "# Other\n");
    sandbox.git(&["commit", "-q", "-a", "-m", "other"]);
    assert_ne!(sandbox.git_cmd(&["stash", "pop"]).run().code, 0);
    refuses(&sandbox, 1, "unmerged paths: README.md");
}

#[test]
fn a_locked_index_is_refused() {
    let sandbox = Sandbox::dirty();
    fs::write(sandbox.top.join(".git/index.lock"), "").unwrap();
    refuses(&sandbox, 75, "index.lock exists");
}

#[test]
fn a_branch_in_the_way_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.git(&["branch", "ralph"]);
    refuses(
        &sandbox,
        1,
        "cannot create branch ralph/add-login: there is a branch ralph",
    );
    let sandbox = Sandbox::new();
    sandbox.git(&["branch", "ralph/add-login/x"]);
    refuses(&sandbox, 1, "there is a branch ralph/add-login/x");
    let sandbox = Sandbox::new();
    sandbox.git(&["checkout", "-q", "-b", "ralph/add-login"]);
    refuses(&sandbox, 1, "HEAD is on ralph/add-login, but");
    let sandbox = Sandbox::new();
    let linked = sandbox.outside("linked");
    let linked = linked.to_str().unwrap();
    sandbox.git(&["worktree", "add", "-q", "-b", "ralph/add-login", linked]);
    refuses(&sandbox, 1, "is checked out in");
}

#[test]
fn a_dirty_submodule_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.add_submodule();
    sandbox.write("lib/a", "edited\n");
    refuses(&sandbox, 7, "submodule lib has uncommitted changes:\n  lib/a\n");
}

#[test]
fn another_loop_in_this_work_tree_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("openspec/changes/other/tasks.md", "- [ ] 1.1 One\n");
    sandbox.start();
    refuses_with(
        &sandbox,
        &["start", "other"],
        1,
        "loop 'add-login' is already active in this work tree",
    );
}

#[test]
fn a_home_directory_is_refused() {
    let sandbox = Sandbox::new();
    let print = sandbox.print();
    let output = sandbox
        .ralph_cmd(&["start", CHANGE])
        .env("HOME", &sandbox.top)
        .run();
    output.exits(1).says("on the home or root directory");
    assert_eq!(sandbox.print(), print);
}

#[test]
fn a_list_without_work_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write(TASKS, "# Nothing here\n");
    refuses(&sandbox, 1, "has no stories");
    let sandbox = Sandbox::new();
    sandbox.write(TASKS, "## 1. All\n- [x] 1.1 Done\n");
    refuses(&sandbox, 5, "nothing left to do: 1 of 1 story is complete");
    let sandbox = Sandbox::new();
    refuses_with(&sandbox, &["start", "no-such-change"], 1, "add-login");
}

#[test]
fn missing_agent_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.agent", "no-such-agent --fast");
    refuses(&sandbox, 1, "cannot find the agent 'no-such-agent'");
    let sandbox = Sandbox::new();
    refuses_with(
        &sandbox,
        &["start", CHANGE, "--agent", "./no-such-agent"],
        1,
        "cannot find the agent './no-such-agent'",
    );
}

#[test]
fn unreadable_files_are_refused() {
    let Some(sandbox) = Sandbox::unprivileged() else {
        return;
    };
    sandbox.write("closed.txt", "secret\n");
    sandbox.write("closed dir/file.txt", "secret\n");
    sandbox.write("src/closed.log", "ignored\n");
    let closed = ["closed.txt", "closed dir", "src/lib.txt", "src/closed.log"];
    let [file, dir, tracked, ignored] = closed.map(|path| sandbox.top.join(path));
    let print = sandbox.print();
    for path in [&file, &dir, &tracked] {
        let mode = fs::metadata(path).unwrap().permissions();
        fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
        let output = sandbox.ralph(&["start", CHANGE]).exits(1);
        fs::set_permissions(path, mode).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(output.stderr.contains(name), "{}", output.stderr);
        assert_eq!(sandbox.print(), print);
        assert!(!sandbox.state_file().exists());
    }
    // What git ignores is nobody's business.
    fs::set_permissions(&ignored, fs::Permissions::from_mode(0o000)).unwrap();
    sandbox.start();
    sandbox.step("next", &sandbox.completing("true")).exits(0);
}

#[test]
fn a_filter_that_is_missing_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.configure("filter.large.clean", "no-such-filter");
    sandbox.configure("filter.large.required", "true");
    sandbox.write(".gitattributes", "*.bin filter=large\n");
    sandbox.write("a.bin", "x\n");
    refuses(&sandbox, 1, "a.bin");
}

#[test]
fn start_is_refused_outside_a_work_tree() {
    let sandbox = Sandbox::empty();
    fs::create_dir(&sandbox.top).unwrap();
    let ceiling = sandbox.outside("");
    let cmd = || {
        sandbox
            .ralph_cmd(&["start", CHANGE])
            .env("GIT_CEILING_DIRECTORIES", &ceiling)
    };
    cmd().run().exits(1).says("not inside the work tree");
    sandbox.git(&["init", "-q", "--bare"]);
    cmd()
        .run()
        .exits(1)
        .says("this repository has no work tree\nhint: git worktree add <dir>");
    let sandbox = Sandbox::new();
    let inside = sandbox.top.join(".git");
    let start = sandbox.ralph_cmd(&["start", CHANGE]).dir(&inside);
    start
        .run()
        .exits(1)
        .says("the current directory is inside the repository's own directory");
}

#[test]
fn loops_and_steps_are_refused_inside_an_attempt() {
    let sandbox = Sandbox::new();
    let print = sandbox.print();
    for args in [&["start", CHANGE][..], &["run", CHANGE, "--", "true"], &["demo"]] {
        let cmd = sandbox.ralph_cmd(args).env("GIT_RALPH_RUN", "1-1");
        cmd.run().exits(1).says("answer for the user, inside an attempt");
    }
    assert_eq!(sandbox.print(), print);
    sandbox.start();
    for step in ["next", "retry"] {
        let cmd = sandbox
            .ralph_cmd(&[step, "--", "true"])
            .env("GIT_RALPH_RUN", "1-1");
        cmd.run().exits(1).says("answer for the user, inside an attempt");
    }
}

#[test]
fn stash_entries_need_a_commit() {
    let sandbox = Sandbox::empty();
    fs::create_dir_all(&sandbox.top).unwrap();
    sandbox.git(&["init", "-q", "-b", "main"]);
    sandbox.write("t.md", "- [ ] 1. one\n");
    sandbox
        .ralph(&["start", "c", "--strategy", "stash", "--stories", "t.md"])
        .exits(1)
        .says("HEAD has no commit yet");
    sandbox
        .ralph(&["start", "c", "--strategy", "shelf"])
        .exits(2)
        .says("branch or stash");
}

#[test]
fn start_is_refused_on_the_branch_of_a_finished_loop() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.ralph(&["finish", "--keep"]).exits(0);
    let refused = sandbox.ralph(&["start", CHANGE]).exits(1);
    let refused = refused.says("the branch of a finished loop");
    assert!(!refused.stderr.contains("--resume"), "{}", refused.stderr);
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.start();
}

#[test]
fn restart_ends_no_loop_for_a_list_that_it_would_take_away_or_a_place_that_is_taken() {
    let sandbox = Sandbox::started();
    sandbox.write("new.md", "- [ ] x\n");
    let taken = sandbox.outside("taken");
    fs::create_dir_all(taken.join("full")).unwrap();
    let place = format!("--worktree={}", taken.display());
    let tip = sandbox.git(&["rev-parse", "ralph/add-login"]);
    for (args, words) in [
        (&["--stories", "new.md"][..], "new.md came after the loop began"),
        (&[&place], "taken"),
    ] {
        let output = sandbox.ralph(&[&["start", CHANGE, "--restart"], args].concat());
        assert_ne!(output.code, 0);
        output.says(words);
        assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), tip);
    }
    sandbox.write(".git/info/exclude", "new.md\n");
    let args = ["start", CHANGE, "--restart", "--stories", "new.md"];
    sandbox.ralph(&args).exits(0);
}

#[cfg(target_os = "linux")]
#[test]
fn work_tree_in_a_place_of_the_kernel_is_refused_before_anything_begins() {
    let sandbox = Sandbox::new();
    sandbox
        .ralph(&["start", "--worktree=/proc/x"])
        .exits(1)
        .says("cannot make the loop's work tree /proc/x: /proc cannot be written")
        .says("--worktree=<another directory>");
    assert_eq!(sandbox.git(&["branch", "--list", "ralph/*"]), "");
}

#[test]
fn beginning_whose_commits_are_pruned_is_forgotten() {
    let sandbox = Sandbox::new();
    sandbox.write("new", "new\n");
    let before = sandbox.files();
    let git = sandbox.git_program();
    // The first is killed before it moves a ref, the second goes on.
    let script = format!(
        "git='{}'; case \" $* \" in *' update-ref '*)
         test -e \"$notes/again\" || env -u GIT_INDEX_FILE $git prune --expire=now
         test -e \"$notes/killed\" || {{ touch \"$notes/killed\"; kill -KILL $PPID; exit 1; }}
         touch \"$notes/again\" ;; esac; exec $git \"$@\"",
        git.display()
    );
    sandbox.install("git", &script);
    let killed = sandbox.direct(&["start", CHANGE]).run();
    assert_ne!(killed.code, 0);
    let gone = "the beginning of loop 'add-login' was cut off, and git no longer has its commits";
    sandbox.ralph(&["abort", CHANGE]).exits(1).says(gone);
    let failed = sandbox.direct(&["start", CHANGE]).run();
    failed.exits(1).says(gone);
    assert_eq!(sandbox.files(), before);
    sandbox
        .ralph(&["status"])
        .says("no loop has been started in this repository");
    sandbox.start();
    sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
}
