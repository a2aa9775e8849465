//! Loops with a work tree of their own that are over: what the same command, or another one, does then.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::own_work_tree::{begin, own, worked};
use crate::support::{CHANGE, Sandbox, TASKS, git};

#[test]
fn a_loop_that_is_over_is_called_finished() {
    for first in [&["abort", CHANGE][..], &["finish", "--cleanup", CHANGE]] {
        let sandbox = worked();
        sandbox.ralph(first).exits(0);
        for then in [&["abort", CHANGE][..], &["finish", "--cleanup", CHANGE]] {
            let print = sandbox.print();
            sandbox
                .ralph(then)
                .exits(1)
                .says("loop 'add-login' is over: closed");
            assert_eq!(sandbox.print(), print);
        }
    }
}

#[test]
fn the_removal_of_a_work_tree_can_be_repeated_after_a_kill() {
    for args in [&["finish", "--cleanup", CHANGE][..], &["abort", CHANGE]] {
        let sandbox = worked();
        let script = format!(
            "#!/bin/sh\ncase \" $* \" in *' worktree remove '*) kill -KILL $PPID; exit 1 ;; esac\nexec '{}' \"$@\"\n",
            git().display()
        );
        sandbox.install("git", &script);
        sandbox.direct(args).run().exits(137);
        fs::remove_file(sandbox.outside("programs/git")).unwrap();
        let own = own(&sandbox, CHANGE);
        fs::create_dir(own.join("target")).unwrap();
        fs::write(own.join("target/out"), "built again\n").unwrap();
        let trash = sandbox.top.join(".git/ralph/add-login/trash");
        sandbox
            .ralph(args)
            .exits(0)
            .says(&format!(
                "is moved to {0}/worktree and {0}/worktree.2\n",
                trash.display()
            ))
            .says("the loop's work tree is removed");
        assert!(!own.exists());
        let out = |dir: &str| fs::read_to_string(trash.join(dir).join("target/out")).unwrap();
        assert_eq!(
            (out("worktree"), out("worktree.2")),
            ("built\n".into(), "built again\n".into())
        );
        // Only what was cut off is done by that.
        sandbox.ralph(args).exits(1).says("is over: closed");
        // Another loop names its own alone.
        begin(&sandbox);
        fs::create_dir(own.join("target")).unwrap();
        fs::write(own.join("target/out"), "of another loop\n").unwrap();
        sandbox
            .ralph(&["abort", CHANGE])
            .exits(0)
            .says(&format!("is moved to {}/worktree.3\n", trash.display()));
    }
}

#[test]
fn a_kept_work_tree_does_not_count_as_the_one_where_a_command_is_typed() {
    let sandbox = worked();
    let own = own(&sandbox, CHANGE);
    sandbox.ralph(&["finish", "--keep", CHANGE]).exits(0);
    sandbox
        .ralph(&["abort", CHANGE])
        .exits(1)
        .says("loop 'add-login' is over: closed");
    let hint = format!("git -C {} checkout --detach", own.display());
    sandbox
        .ralph(&["start", CHANGE, "--worktree"])
        .exits(1)
        .says(&format!(
            "error: ralph/add-login is checked out in {}\nhint: {hint}\n",
            own.display()
        ));
    sandbox.cmd("sh").args(["-c", &hint]).run().exits(0);
    let kept = sandbox.git(&["rev-parse", "ralph/add-login"]);
    begin(&sandbox);
    assert_eq!(
        sandbox.git(&["rev-parse", "refs/ralph/add-login/replaced/1"]),
        kept
    );
}

#[test]
fn hint_after_keep_leads_to_what_cleanup_leaves() {
    let by_cleanup = worked();
    by_cleanup.ralph(&["finish", "--cleanup", CHANGE]).exits(0);
    let sandbox = worked();
    let own = own(&sandbox, CHANGE);
    sandbox.ralph(&["finish", "--keep", CHANGE]).exits(0);
    sandbox.write("src/lib.txt", "one\nstaged\nthree\n");
    sandbox.git(&["add", "src/lib.txt"]);
    sandbox.write("src/lib.txt", "one\ntwo\nthree\n");
    let index = sandbox.print().index;
    let refused = sandbox.ralph(&["finish", "--cleanup", CHANGE]).exits(1);
    let told = refused.says("already finished, with --keep").stderr;
    let (_, commands) = told.split_once("as after --cleanup: ").unwrap();
    for command in commands.trim().split(", then: ") {
        sandbox.cmd("sh").args(["-c", command]).run().exits(0);
    }
    assert_eq!(sandbox.files(), by_cleanup.files());
    assert_eq!(sandbox.print().index, index);
    assert_eq!(sandbox.git(&["branch", "--list", "ralph/*"]), "");
    // What git ignores is nowhere else.
    assert!(own.join("target/out").exists());
}

#[test]
fn start_names_what_a_new_work_tree_lacks_and_what_its_preparation_adds() {
    let sandbox = Sandbox::new();
    sandbox.add_submodule();
    sandbox.git(&["submodule", "--quiet", "deinit", "lib"]);
    sandbox.configure(
        "ralph.worktreeSetup",
        "mkdir target; echo 1 >target/out; ln -s /usr node_modules",
    );
    let output = sandbox.ralph(&["start", CHANGE, "--worktree"]).exits(0);
    let output = output.says("submodules are empty in the loop's work tree: lib");
    output
        .says("made new files, which stay out of the checkpoints: node_modules; to ignore them, add to .gitignore: /node_modules");
}

#[test]
fn what_the_preparation_makes_is_no_work() {
    let sandbox = Sandbox::new();
    let setup = "echo changed >>README.md; rm old.txt; ln -s /usr node_modules; mkdir made; echo 1 >made/1; echo 2 >2";
    sandbox.configure("ralph.worktreeSetup", setup);
    let start = ["start", CHANGE, "--worktree"];
    sandbox
        .ralph(&start)
        .exits(0)
        .says("changed files that are committed; they are put back: README.md, old.txt");
    let own = own(&sandbox, CHANGE);
    let made = |commit: &str| sandbox.git(&["diff", "--name-only", "main", commit]);
    assert_eq!(made("ralph/add-login"), "");
    sandbox
        .step(
            "next",
            &sandbox.completing("rm made/1; echo new >new; echo agent >2"),
        )
        .exits(0);
    // What an attempt changes is its work.
    assert_eq!(made("ralph/add-login"), format!("2\nnew\n{TASKS}"));
    sandbox.step("next", &sandbox.failing("rm node_modules")).exits(3);
    assert!(own.join("node_modules").is_symlink());
    // A work tree that is made again is prepared again.
    fs::remove_dir_all(&own).unwrap();
    sandbox.ralph(&start).exits(0).says("is made again");
    sandbox.step("retry", &sandbox.completing("true")).exits(0);
    assert_eq!(made("ralph/add-login"), format!("2\nnew\n{TASKS}"));
    sandbox.ralph(&["finish", "--cleanup", CHANGE]).exits(0);
    assert!(!own.exists() && !sandbox.top.join("node_modules").is_symlink());
}

#[test]
fn what_the_preparation_makes_is_no_work_of_a_resumed_loop() {
    let sandbox = worked();
    let own = own(&sandbox, CHANGE);
    fs::remove_dir_all(&own).unwrap();
    fs::remove_dir_all(sandbox.top.join(".git/ralph")).unwrap();
    sandbox.configure("ralph.worktreeSetup", "ln -s /usr node_modules");
    sandbox
        .ralph(&["start", CHANGE, "--resume", "--worktree"])
        .exits(0);
    sandbox.step("next", &sandbox.completing("echo 2 >2")).exits(0);
    assert!(own.join("node_modules").is_symlink());
    assert_eq!(
        sandbox.git(&["ls-tree", "--name-only", "ralph/add-login", "node_modules"]),
        ""
    );
}

#[test]
fn work_does_not_go_into_the_tree_of_another_live_loop() {
    let sandbox = worked();
    sandbox.ralph(&["start", "other", "--stories", TASKS]).exits(0);
    let print = sandbox.print();
    let top = sandbox.top.to_str().unwrap();
    sandbox
        .ralph(&["finish", "--cleanup", CHANGE, "--into", top])
        .exits(7)
        .says("loop 'other' is active in")
        .says("git ralph finish other");
    assert_eq!(sandbox.print(), print);
    sandbox.ralph(&["abort", "other"]).exits(0);
    sandbox
        .ralph(&["finish", "--cleanup", CHANGE, "--into", top])
        .exits(0);
    assert_eq!(sandbox.read("new/file"), "new\n");
}

#[test]
fn ignored_files_are_copied_as_configured() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", ".env\nmodules/\nvenv/\n");
    sandbox.git(&["commit", "-qam", "rules"]);
    let top = sandbox.top.to_str().unwrap();
    sandbox.write("modules/a/index", "one\n");
    fs::set_permissions(sandbox.top.join("modules/a"), fs::Permissions::from_mode(0o700)).unwrap();
    sandbox.git(&["init", "-q", "modules/own"]);
    sandbox.write("modules/own/file", "its own\n");
    symlink(sandbox.top.join("modules/a"), sandbox.top.join("modules/link")).unwrap();
    sandbox.write("modules/tool", &format!("#!{top}/modules/a/run -x\n"));
    let program = fs::Permissions::from_mode(0o750);
    fs::set_permissions(sandbox.top.join("modules/tool"), program).unwrap();
    sandbox.write("venv/pyvenv.cfg", "home = /usr/bin\n");
    let start = ["start", CHANGE, "--worktree"];
    sandbox
        .ralph(&start)
        .exits(0)
        .says("ignored here, and not in the loop's work tree: .env, modules/, venv/; to have one copied: ");
    sandbox.ralph(&["abort", CHANGE]).exits(0);
    sandbox.configure("ralph.worktreeCopy", "modules");
    sandbox.git(&["config", "--add", "ralph.worktreeCopy", ":(glob)*.env"]);
    let output = sandbox.ralph(&start).exits(0);
    let output = output.says("repositories of their own are not copied: modules/own/");
    output.says(&format!(
        "copied scripts still run programs of {top}: modules/tool"
    ));
    let own = own(&sandbox, CHANGE);
    let read = |path: &str| fs::read_to_string(own.join(path)).unwrap();
    assert_eq!(
        (read(".env"), read("modules/a/index")),
        ("SECRET=1\n".into(), "one\n".into())
    );
    assert_eq!(
        fs::read_link(own.join("modules/link")).unwrap(),
        own.join("modules/a")
    );
    let mode = |path: &str| fs::metadata(own.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("modules/tool"), mode("modules/a")), (0o750, 0o700));
    assert_eq!(
        sandbox.git_cmd(&["status", "--porcelain"]).dir(&own).run().stdout,
        ""
    );
    sandbox.ralph(&["abort", CHANGE]).exits(0);
    sandbox.git(&["config", "--add", "ralph.worktreeCopy", "venv"]);
    let print = sandbox.print();
    sandbox
        .ralph(&start)
        .exits(1)
        .says("ralph.worktreeCopy names a virtual environment (venv/pyvenv.cfg)");
    assert_eq!(sandbox.print(), print);
    assert!(!own.exists());
}

#[test]
fn a_preparation_that_moves_head_is_refused() {
    let sandbox = worked();
    let tip = sandbox.git(&["rev-parse", "ralph/add-login"]);
    let setup = "echo s >s; git add s; git -c user.name=A -c user.email=a@e commit -qm s";
    sandbox.configure("ralph.worktreeSetup", setup);
    let own = own(&sandbox, CHANGE);
    fs::remove_dir_all(&own).unwrap();
    let start = ["start", CHANGE, "--worktree"];
    sandbox.ralph(&start).exits(1).says("failed (it moved HEAD)");
    assert_eq!(sandbox.git(&["rev-parse", "ralph/add-login"]), tip);
    assert!(!own.exists());
    sandbox.configure("ralph.worktreeSetup", "true");
    sandbox.ralph(&start).exits(0);
    sandbox.ralph(&["abort", CHANGE]).exits(0);
    sandbox.configure("ralph.worktreeSetup", setup);
    sandbox.ralph(&start).exits(1).says("failed (it moved HEAD)");
    assert!(!own.exists());
}

#[test]
fn an_attempt_that_removed_its_work_tree_is_not_called_running() {
    let sandbox = Sandbox::new();
    sandbox.ralph(&["start", CHANGE, "--worktree"]).exits(0);
    let agent = sandbox.failing("git worktree remove -f -f \"$PWD\"; cd /");
    sandbox
        .ralph(&["next", CHANGE, "--", &agent])
        .exits(7)
        .says("git ralph start add-login --worktree");
    sandbox
        .ralph(&["log", CHANGE])
        .exits(0)
        .says("attempt 1 of story 1 was cut off");
    sandbox.ralph(&["start", CHANGE, "--worktree"]).exits(0);
}
