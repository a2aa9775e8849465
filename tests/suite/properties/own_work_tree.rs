//! A loop with a linked work tree of its own: beside the user's, and from wherever a command is typed.

use std::fs;
use std::path::PathBuf;

use crate::support::{CHANGE, Sandbox, git, wait_for};

/// The default place of the work tree of a change.
pub fn own(sandbox: &Sandbox, change: &str) -> PathBuf {
    sandbox.outside("repo.ralph").join(change)
}

fn work_trees(sandbox: &Sandbox) -> usize {
    let listed = sandbox.git(&["worktree", "list", "--porcelain"]);
    listed
        .lines()
        .filter(|line| line.starts_with("worktree "))
        .count()
}

/// The standard repository with a loop in a work tree of its own, and a story done.
pub fn worked() -> Sandbox {
    let sandbox = Sandbox::new();
    begin(&sandbox);
    let agent = sandbox.completing(
        "echo more >>README.md; mkdir new; echo new >new/file; rm old.txt; chmod -x tool
         mkdir -p target; echo built >target/out",
    );
    sandbox.step("next", &agent).exits(0);
    sandbox
}

/// Begins such a loop.
pub fn begin(sandbox: &Sandbox) {
    sandbox.ralph(&["start", CHANGE, "--worktree"]).exits(0);
}

#[test]
fn the_users_work_tree_stays_as_it_is() {
    let sandbox = Sandbox::dirty();
    let before = sandbox.print();
    sandbox
        .ralph(&["start", CHANGE, "--worktree"])
        .exits(0)
        .says("uncommitted changes stay here (")
        .says("started on ralph/add-login, from main");
    let after = sandbox.print();
    assert_eq!(
        (&after.files, &after.index, &after.head),
        (&before.files, &before.index, &before.head)
    );
    let own = own(&sandbox, CHANGE);
    assert_eq!(fs::read_to_string(own.join("README.md")).unwrap(), "# Standard\n");
    let status = sandbox.status();
    assert_eq!(status["worktree"], own.to_str().unwrap());
    assert_eq!(
        (&status["original_branch"], &status["branch"]),
        (&"main".into(), &"ralph/add-login".into())
    );
    // Again, from anywhere: the same loop.
    let state = fs::read(sandbox.state_file()).unwrap();
    for dir in [&sandbox.top, &own.join("src")] {
        let again = sandbox.ralph_cmd(&["start", CHANGE, "--worktree"]).dir(dir).run();
        again.exits(0).says("already active; nothing was changed");
    }
    assert_eq!(fs::read(sandbox.state_file()).unwrap(), state);
    assert_eq!(work_trees(&sandbox), 2);
    let agent = sandbox.failing("echo mess >mess");
    sandbox.step("next", &agent).exits(3);
    sandbox.ralph(&["restore", CHANGE, "1@1"]).exits(0);
    assert!(own.join("mess").exists() && !sandbox.top.join("mess").exists());
    sandbox.ralph(&["revert", CHANGE]).exits(0);
    sandbox.ralph(&["skip", CHANGE]).exits(0);
    sandbox.ralph(&["prompt", CHANGE]).exits(0);
    assert_eq!(sandbox.print().files, before.files);
}

#[test]
fn cleanup_brings_the_work_uncommitted_to_where_it_began() {
    let sandbox = worked();
    let tip = sandbox.git(&["rev-parse", "ralph/add-login"]);
    let index = sandbox.print().index;
    sandbox
        .ralph(&["finish", "--cleanup", CHANGE])
        .exits(0)
        .says("uncommitted, on main")
        .says("the loop's work tree is removed");
    assert_eq!(sandbox.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!(sandbox.print().index, index);
    let status = sandbox.git(&["status", "--porcelain"]);
    for line in [" M README.md", " D old.txt", " M tool", "?? new/"] {
        assert!(status.lines().any(|have| have == line), "{line} in:\n{status}");
    }
    assert_eq!(sandbox.git(&["rev-parse", "refs/ralph/add-login/finished"]), tip);
    assert_eq!(work_trees(&sandbox), 1);
    assert!(!sandbox.outside("repo.ralph").exists());
    assert_eq!(
        sandbox
            .git_cmd(&["rev-parse", "-q", "--verify", "ralph/add-login"])
            .run()
            .code,
        1
    );
    // What git ignores is in no commit: it is not lost either.
    assert_eq!(
        sandbox.read(".git/ralph/add-login/trash/worktree/target/out"),
        "built\n"
    );
    assert_eq!(sandbox.status()["phase"], "finished");
}

#[test]
fn cleanup_merges_with_commits_made_meanwhile() {
    let sandbox = worked();
    sandbox.write("theirs.txt", "theirs\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "theirs"]);
    sandbox.write("untracked.txt", "mine\n");
    sandbox.ralph(&["finish", "--cleanup", CHANGE]).exits(0);
    assert_eq!(sandbox.read("README.md"), "# Standard\nmore\n");
    assert_eq!(
        (sandbox.read("theirs.txt"), sandbox.read("untracked.txt")),
        ("theirs\n".into(), "mine\n".into())
    );
}

#[test]
fn cleanup_touches_nothing_where_work_could_be_lost() {
    let sandbox = worked();
    let finish = |args: &[&str], words: &str| {
        let print = sandbox.print();
        let all = [&["finish", "--cleanup", CHANGE], args].concat();
        sandbox.ralph(&all).exits(7).says(words);
        assert_eq!(sandbox.print(), print);
        assert_eq!(sandbox.status()["phase"], "ready");
        assert_eq!(work_trees(&sandbox), 2);
    };
    sandbox.write("src/lib.txt", "edited\n");
    finish(&[], "has uncommitted changes:\n  src/lib.txt");
    sandbox.git(&["update-index", "--assume-unchanged", "src/lib.txt"]);
    finish(&[], "has uncommitted changes:\n  src/lib.txt");
    sandbox.git(&["update-index", "--no-assume-unchanged", "src/lib.txt"]);
    sandbox.git(&["add", "src/lib.txt"]);
    finish(&[], "has uncommitted changes:\n  src/lib.txt");
    sandbox.git(&["reset", "-q", "--hard"]);
    sandbox.write("new/file", "mine\n");
    finish(&[], "would overwrite these files:\n  new/file");
    fs::remove_dir_all(sandbox.top.join("new")).unwrap();
    sandbox.write("README.md", "# Other\n");
    sandbox.git(&["commit", "-q", "-a", "-m", "other"]);
    finish(&[], "conflicts with the loop in\n  README.md");
    sandbox.git(&["checkout", "-q", "--detach"]);
    finish(&[], "main, where the loop began, is checked out in no work tree");
    let elsewhere = sandbox.outside("elsewhere");
    let place = elsewhere.to_str().unwrap();
    sandbox
        .ralph(&["finish", "--cleanup", CHANGE, "--into", place])
        .exits(1)
        .says("not another work tree");
    sandbox.git(&["worktree", "add", "-q", "--detach", place, "main~1"]);
    sandbox
        .ralph(&["finish", "--cleanup", CHANGE, "--into", place])
        .exits(0);
    assert_eq!(fs::read_to_string(elsewhere.join("new/file")).unwrap(), "new\n");
    assert_eq!(sandbox.read("README.md"), "# Other\n");
}

#[test]
fn unwritable_index_does_not_count_as_a_change_of_the_user() {
    let sandbox = worked();
    // The same files with other times, as after a copy of the whole repository.
    sandbox
        .cmd("touch")
        .args(["-d", "2001-01-01", "README.md", "tool"])
        .run()
        .exits(0);
    let full = "case \"$*\" in *--refresh) echo 'fatal: write error. Out of diskspace' >&2; exit 128 ;; esac";
    sandbox.install("git", &format!("{full}\nexec '{}' \"$@\"", git().display()));
    let finish = ["finish", "--cleanup", CHANGE];
    sandbox.direct(&finish).run().exits(1).says("Out of diskspace");
    fs::remove_file(sandbox.outside("programs/git")).unwrap();
    sandbox.direct(&finish).run().exits(0);
}

#[test]
fn keep_leaves_the_work_tree_on_the_branch() {
    let sandbox = worked();
    sandbox
        .ralph(&["finish", "--keep", CHANGE])
        .exits(0)
        .says("with its commits, in ");
    let own = own(&sandbox, CHANGE);
    assert_eq!(
        sandbox
            .git_cmd(&["branch", "--show-current"])
            .dir(&own)
            .run()
            .stdout
            .trim(),
        "ralph/add-login"
    );
    assert!(own.join("target/out").exists());
    // It is nobody's any more.
    sandbox.git(&["worktree", "remove", own.to_str().unwrap()]);
}

#[test]
fn abort_leaves_only_kept_work() {
    let sandbox = worked();
    let own = own(&sandbox, CHANGE);
    fs::write(own.join("last.txt"), "last\n").unwrap();
    let files = sandbox.files();
    sandbox
        .ralph_cmd(&["abort"])
        .dir(&own)
        .run()
        .exits(0)
        .says("the loop's work tree is removed");
    assert_eq!(sandbox.files(), files);
    assert_eq!((work_trees(&sandbox), own.exists()), (1, false));
    assert_eq!(
        sandbox.git(&["show", "refs/ralph/add-login/finished:last.txt"]),
        "last"
    );
    assert_eq!(sandbox.git(&["branch", "--list", "ralph/*"]), "");
    // The next one begins anew, there.
    begin(&sandbox);
    assert!(own.is_dir());
}

#[test]
fn cleanup_moves_an_inner_repository_to_the_trash() {
    let sandbox = worked();
    let own = own(&sandbox, CHANGE);
    sandbox.git_cmd(&["init", "-q", "inner"]).dir(&own).run().exits(0);
    fs::write(own.join("inner/file"), "inner\n").unwrap();
    sandbox
        .ralph(&["finish", "--cleanup", CHANGE])
        .exits(0)
        .says("the loop's work tree is removed");
    assert!(
        sandbox
            .top
            .join(".git/ralph/add-login/trash/worktree/inner/.git/HEAD")
            .exists()
    );
    assert_eq!(
        (sandbox.read("new/file"), sandbox.read("inner/file")),
        ("new\n".into(), "inner\n".into())
    );
}

#[test]
fn a_new_work_tree_is_set_up_once() {
    let sandbox = Sandbox::new();
    let setup = r#"cp "$RALPH_MAIN_WORKTREE/.env" . && echo "$RALPH_CHANGE $RALPH_WORKTREE" >>"$HOME/setup""#;
    sandbox.configure("ralph.worktreeSetup", setup);
    sandbox.configure("ralph.worktreeDir", "../trees");
    begin(&sandbox);
    begin(&sandbox);
    let own = sandbox.outside("trees/add-login");
    assert_eq!(fs::read_to_string(own.join(".env")).unwrap(), "SECRET=1\n");
    let told = fs::read_to_string(sandbox.outside("home/setup")).unwrap();
    assert_eq!(told, format!("add-login {}\n", own.display()));
    sandbox.ralph(&["abort", CHANGE]).exits(0);
    assert_eq!(
        sandbox.read(".git/ralph/add-login/trash/worktree/.env"),
        "SECRET=1\n"
    );
}

#[test]
fn a_refused_start_leaves_nothing() {
    let sandbox = Sandbox::new();
    let refused = |code: i32, words: &str, args: &[&str]| {
        let print = sandbox.print();
        let output = sandbox.git_cmd(args).run().exits(code).says(words);
        assert_eq!(sandbox.print(), print, "{}", output.stderr);
        assert_eq!(
            (work_trees(&sandbox), sandbox.outside("repo.ralph").exists()),
            (1, false)
        );
    };
    let setup = "ralph.worktreeSetup=echo out of order; exit 3";
    let start = ["ralph", "start", CHANGE, "--worktree"];
    refused(
        1,
        "failed (exit code 3)\n  out of order",
        &[&["-c", setup], &start[..]].concat(),
    );
    refused(
        1,
        "fails before any work",
        &[&["-c", "ralph.verify=false"], &start[..]].concat(),
    );
    refused(
        1,
        "cannot find the agent",
        &[&start[..], &["--", "no-such-agent"]].concat(),
    );
    refused(
        2,
        "the strategy stash is for a loop in your own work tree",
        &[&start[..], &["--strategy", "stash"]].concat(),
    );
    sandbox.write("openspec/changes/add-login/tasks.md", "- [x] 1.1 done\n");
    refused(5, "nothing left to do", &start);
    sandbox.git(&["checkout", "-q", "."]);
    let own = own(&sandbox, CHANGE);
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("file"), "mine\n").unwrap();
    sandbox
        .ralph(&start[1..])
        .exits(1)
        .says("exists and is not a work tree of 'add-login'");
    assert_eq!(fs::read_to_string(own.join("file")).unwrap(), "mine\n");
}

#[test]
fn a_setup_that_was_cut_off_is_done_again() {
    let sandbox = Sandbox::new();
    let began = sandbox.notes.join("began");
    let setup = format!(
        "echo half >half; echo >'{}'; [ -e \"$HOME/go\" ] || sleep 600",
        began.display()
    );
    sandbox.configure("ralph.worktreeSetup", &setup);
    let running = sandbox.direct(&["start", CHANGE, "--worktree"]).start();
    wait_for(&began);
    running.signal(nix::sys::signal::Signal::SIGKILL);
    running.wait_for_its_end();
    assert_eq!(work_trees(&sandbox), 2);
    fs::write(sandbox.outside("home/go"), "").unwrap();
    sandbox
        .ralph(&["start", CHANGE, "--worktree"])
        .exits(0)
        .says("the work tree that it began to make is removed")
        .says("files in it that no commit has are moved to ");
    sandbox.nothing_is_alive();
    assert!(own(&sandbox, CHANGE).join("half").exists());
    assert_eq!(sandbox.read(".git/ralph/add-login/trash/worktree/half"), "half\n");
    assert_eq!(work_trees(&sandbox), 2);
}

#[test]
fn a_work_tree_that_is_gone_is_made_again() {
    let sandbox = worked();
    let own = own(&sandbox, CHANGE);
    let place = own.to_str().unwrap();
    // Git itself does not remove it while the loop is active.
    let removed = sandbox.git_cmd(&["worktree", "remove", "--force", place]).run();
    removed.exits(128).says("git ralph: add-login");
    fs::remove_dir_all(&own).unwrap();
    sandbox.git(&["worktree", "prune"]);
    assert_eq!(work_trees(&sandbox), 2);
    let hint = "hint: git ralph start add-login --worktree";
    for verb in ["next", "retry", "finish", "abort", "complete", "revert"] {
        sandbox
            .ralph(&[verb, CHANGE])
            .exits(1)
            .says("is gone: ")
            .says(hint);
    }
    assert_eq!(
        sandbox.status()["problem"],
        format!("the work tree of loop 'add-login' is gone: {place}")
    );
    begin(&sandbox);
    let agent = sandbox.completing("cat new/file >\"$notes/seen\"");
    sandbox.step("next", &agent).exits(0);
    assert_eq!(sandbox.noted("seen"), "new\n");
    // Git no longer knows it, but the files are there.
    fs::remove_dir_all(sandbox.top.join(".git/worktrees/add-login")).unwrap();
    let output = sandbox
        .ralph(&["next", CHANGE])
        .exits(1)
        .says("no longer belongs to this repository");
    let (_, hint) = output.stderr.split_once("hint: ").unwrap();
    let hint = hint.replace("git ralph", env!("CARGO_BIN_EXE_git-ralph"));
    sandbox.cmd("sh").args(["-c", hint.trim()]).run().exits(0);
    sandbox.ralph(&["finish", "--cleanup", CHANGE]).exits(0);
    assert!(sandbox.outside("repo.ralph/add-login.old/new/file").exists());
}

#[test]
fn a_lost_state_is_rebuilt_with_its_work_tree() {
    let sandbox = worked();
    fs::remove_file(sandbox.state_file()).unwrap();
    let resume = ["start", CHANGE, "--resume", "--worktree"];
    sandbox
        .ralph(&resume)
        .exits(0)
        .says("rebuilt from its branch and refs");
    let status = sandbox.status();
    assert_eq!(
        (&status["original_branch"], &status["stories_done"]),
        (&"main".into(), &1.into())
    );
    sandbox.ralph(&["finish", "--cleanup", CHANGE]).exits(0);
    assert_eq!(sandbox.read("new/file"), "new\n");
}

#[test]
fn restart_begins_at_the_present_head() {
    let sandbox = worked();
    sandbox.write("later.txt", "later\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "later"]);
    sandbox.ralph(&["start", CHANGE, "--restart"]).exits(0);
    let own = own(&sandbox, CHANGE);
    assert!(own.join("later.txt").exists() && !own.join("new").exists());
    assert_eq!(
        sandbox.status()["original_head"],
        sandbox.git(&["rev-parse", "main"])
    );
    assert_eq!(work_trees(&sandbox), 2);
}

#[test]
fn a_hint_leads_to_the_loops_work_tree() {
    let sandbox = worked();
    let own = own(&sandbox, CHANGE);
    sandbox
        .git_cmd(&["checkout", "-q", "--detach"])
        .dir(&own)
        .run()
        .exits(0);
    let hint = format!("hint: cd {} && git checkout ralph/add-login", own.display());
    for verb in ["abort", "complete"] {
        sandbox.ralph(&[verb, CHANGE]).exits(7).says(&hint);
    }
    sandbox
        .ralph(&["finish", "--cleanup", CHANGE])
        .exits(7)
        .says(&hint);
    sandbox
        .git_cmd(&["checkout", "-q", "ralph/add-login"])
        .dir(&own)
        .run()
        .exits(0);
    sandbox.ralph(&["finish", "--cleanup", CHANGE]).exits(0);
}

#[test]
fn cleanup_does_not_overwrite_changes_made_after_a_crash() {
    let sandbox = worked();
    let real = sandbox
        .cmd("sh")
        .args(["-c", "command -v git"])
        .run()
        .exits(0)
        .stdout;
    // Dies where the files of the user's work tree would be written.
    sandbox.install(
        "git",
        &format!(
            "#!/bin/sh\ncase \" $* \" in *' read-tree '*' -m -u '*) kill -KILL $PPID; exit 1 ;; esac\nexec {} \"$@\"\n",
            real.trim()
        ),
    );
    sandbox.direct(&["finish", "--cleanup", CHANGE]).run().exits(137);
    fs::remove_file(sandbox.outside("programs/git")).unwrap();
    assert_eq!(sandbox.read("README.md"), "# Standard\n");
    sandbox.write("README.md", "mine\n");
    for _ in 0..2 {
        sandbox
            .ralph(&["finish", "--cleanup", CHANGE])
            .exits(7)
            .says("cannot write the work of the loop to ");
        assert_eq!(sandbox.read("README.md"), "mine\n");
        assert!(own(&sandbox, CHANGE).is_dir());
    }
    sandbox.git(&["stash", "-q"]);
    sandbox
        .ralph(&["status", CHANGE])
        .exits(0)
        .says("finish is completed now");
    assert_eq!(sandbox.read("README.md"), "# Standard\nmore\n");
    assert_eq!(work_trees(&sandbox), 1);
}
