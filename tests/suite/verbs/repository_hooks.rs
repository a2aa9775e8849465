//! `git ralph hooks install`: git hooks of the repository that note what a person does.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use super::hooks::{home, put};
use crate::support::print::files;
use crate::support::{CHANGE, Output, Sandbox};

/// What a repository is, but for objects and logs.
fn repository(sandbox: &Sandbox) -> Vec<(PathBuf, String)> {
    let git = files(&sandbox.top.join(".git"));
    git.into_iter()
        .filter(|(path, _)| {
            path.starts_with("hooks") || path.starts_with("config") || path.starts_with("ralph")
        })
        .collect()
}

fn events(sandbox: &Sandbox) -> Vec<String> {
    let text = sandbox.read(&format!(".git/ralph/{CHANGE}/events.jsonl"));
    let event = |line: &str| {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        event["event"].as_str().unwrap().to_owned()
    };
    let ours = ["committed", "left", "returned"];
    text.lines()
        .map(event)
        .filter(|event| ours.contains(&event.as_str()))
        .collect()
}

fn short(sandbox: &Sandbox) -> String {
    sandbox.direct(&["status", "--short"]).run().exits(0).stdout
}

#[test]
fn install_adds_hooks_of_git_and_uninstall_removes_them() {
    let sandbox = Sandbox::new();
    sandbox.hook("pre-push", "cat >>'pushed'; exit 3");
    sandbox.hook("post-commit", "echo \"$0 $*\" >>../notes/post-commit");
    fs::set_permissions(
        sandbox.top.join(".git/hooks/pre-push"),
        fs::Permissions::from_mode(0o711),
    )
    .unwrap();
    let before = repository(&sandbox);
    let output = sandbox.ralph(&["hooks", "install"]).exits(0);
    assert!(
        output.stdout.contains("post-commit.before-ralph"),
        "{}",
        output.stdout
    );
    let installed = repository(&sandbox);
    sandbox.ralph(&["hooks", "install"]).exits(0).answers_nothing();
    assert_eq!(repository(&sandbox), installed);
    let status = sandbox.ralph(&["hooks", "status"]).exits(0).stdout;
    assert!(status.contains("git: installed"), "{status}");
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    assert!(sandbox.noted("post-commit").contains("post-commit.before-ralph"));
    let remote = sandbox.outside("remote");
    sandbox.git(&["init", "-q", "--bare", remote.to_str().unwrap()]);
    sandbox
        .git_cmd(&["push", "-q", remote.to_str().unwrap(), "main"])
        .run()
        .exits(1);
    assert!(sandbox.read("pushed").starts_with("refs/heads/main "));
    sandbox.ralph(&["hooks", "uninstall"]).exits(0);
    assert_eq!(repository(&sandbox), before);
    sandbox.ralph(&["hooks", "uninstall"]).exits(0).answers_nothing();
    // A repository without a hooks directory.
    fs::remove_dir_all(sandbox.top.join(".git/hooks")).unwrap();
    let before = repository(&sandbox);
    sandbox.ralph(&["hooks", "install"]).exits(0);
    sandbox.ralph(&["hooks", "uninstall"]).exits(0);
    assert_eq!(repository(&sandbox), before);
    assert!(!sandbox.top.join(".git/hooks").exists());
}

#[test]
fn install_leaves_a_foreign_hooks_directory_whose_hooks_still_run() {
    for (scope, value) in [
        ("--local", ".husky/_"),
        ("--local", "../their hooks"),
        ("--global", "~/my hooks"),
        ("--global", "absolute"),
    ] {
        let sandbox = Sandbox::new();
        let dir = match value {
            "absolute" => sandbox.outside("absolute"),
            value => match value.strip_prefix("~/") {
                Some(rest) => home(&sandbox, rest),
                None => sandbox.top.join(value),
            },
        };
        let value = if value == "absolute" {
            dir.to_str().unwrap()
        } else {
            value
        };
        for (name, script) in [
            ("commit-msg", "echo \"commit-msg $1\" >>\"$NOTES\""),
            ("post-commit", "echo post-commit >>\"$NOTES\""),
            (
                "reference-transaction",
                "[ $1 != committed ] || grep -o refs/heads/main >>\"$NOTES\"",
            ),
        ] {
            put(
                &dir.join(name),
                &format!(
                    "#!/bin/sh\nNOTES='{}'\n{script}\n",
                    sandbox.outside("notes/ran").display()
                ),
            );
            fs::set_permissions(dir.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let config = sandbox.outside("config/git/config");
        if scope == "--global" {
            put(&config, &format!("[core]\n\thooksPath = {value}\n"));
        } else {
            sandbox.configure("core.hooksPath", value);
        }
        let theirs = files(&dir);
        let before = repository(&sandbox);
        let git = |args: &[&str]| sandbox.git_cmd(args).env("GIT_CONFIG_GLOBAL", &config).run();
        git(&["ralph", "hooks", "install"]).exits(0);
        assert_eq!(files(&dir), theirs);
        git(&["commit", "-q", "--allow-empty", "-m", "x"]).exits(0);
        let ran = sandbox.noted("ran");
        let lines: Vec<&str> = ran.lines().collect();
        assert_eq!(
            lines,
            ["commit-msg .git/COMMIT_EDITMSG", "refs/heads/main", "post-commit"],
            "{value}"
        );
        assert!(
            git(&["ralph", "hooks", "status"])
                .exits(0)
                .stdout
                .contains("git: installed")
        );
        git(&["ralph", "hooks", "install"]).exits(0).answers_nothing();
        git(&["ralph", "hooks", "uninstall"]).exits(0);
        assert_eq!(repository(&sandbox), before, "{value}");
        // A program that sets the path anew, and settings of others meanwhile.
        git(&["ralph", "hooks", "install"]).exits(0);
        sandbox.configure("user.nickname", "x");
        sandbox.configure("core.hooksPath", ".other");
        let status = git(&["ralph", "hooks", "status"]).exits(0).stdout;
        assert!(status.contains("core.hooksPath is .other since"), "{status}");
        git(&["ralph", "hooks", "uninstall"]).exits(0);
        assert_eq!(sandbox.git(&["config", "core.hooksPath"]), ".other");
    }
}

#[test]
fn settings_made_meanwhile_stay() {
    let sandbox = Sandbox::new();
    sandbox.configure("core.hooksPath", ".husky");
    sandbox.ralph(&["hooks", "install"]).exits(0);
    sandbox.configure("user.nickname", "x");
    sandbox.ralph(&["hooks", "uninstall"]).exits(0);
    assert_eq!(sandbox.git(&["config", "core.hooksPath"]), ".husky");
    assert_eq!(sandbox.git(&["config", "user.nickname"]), "x");
}

#[test]
fn hooks_name_the_program_as_the_path_does() {
    let sandbox = Sandbox::new();
    sandbox.ralph(&["hooks", "install"]).exits(0);
    let link = sandbox.outside("programs").join("git-ralph");
    let is_named = || {
        let hook = sandbox.read(".git/hooks/post-commit");
        hook.contains(&*link.to_string_lossy())
    };
    let status = || sandbox.direct(&["hooks", "status"]).run().exits(0).stdout;
    fs::create_dir(link.parent().unwrap()).unwrap();
    symlink(&sandbox.program, &link).unwrap();
    // What an earlier version wrote is no other program's.
    assert!(!is_named() && !status().contains("another"), "{}", status());
    sandbox.ralph(&["hooks", "install"]).exits(0);
    assert!(is_named() && !status().contains("another"), "{}", status());
    fs::remove_file(&link).unwrap();
    symlink("/bin/sh", &link).unwrap();
    assert!(
        status().contains("post-commit is of another git-ralph"),
        "{}",
        status()
    );
    sandbox.direct(&["hooks", "install"]).run().exits(0);
    assert!(!is_named() && !status().contains("another"), "{}", status());
}

#[test]
fn install_reports_an_obstacle_and_changes_nothing() {
    let sandbox = Sandbox::new();
    let hooks = sandbox.top.join(".git/hooks");
    let refused = |why: &str| {
        let before = repository(&sandbox);
        sandbox
            .ralph(&["hooks", "install"])
            .exits(1)
            .says(why)
            .answers_nothing();
        assert_eq!(repository(&sandbox), before);
    };
    fs::create_dir_all(hooks.join("pre-push")).unwrap();
    refused("pre-push is not a file");
    fs::remove_dir_all(&hooks).unwrap();
    symlink(sandbox.outside("home"), &hooks).unwrap();
    refused("leads outside the repository");
    fs::remove_file(&hooks).unwrap();
    sandbox.ralph(&["hooks", "install"]).exits(0);
    // Another program writes over one of ours.
    sandbox.hook("post-commit", "true");
    let status = sandbox.ralph(&["hooks", "status"]).exits(0).stdout;
    assert!(status.contains("post-commit was overwritten"), "{status}");
    let doctor = sandbox.ralph(&["doctor"]).exits(1).stdout;
    let told = "post-commit was overwritten\nhint: git ralph hooks install\n";
    assert!(doctor.contains(told), "{doctor}");
    let theirs = sandbox.read(".git/hooks/post-commit");
    sandbox.ralph(&["hooks", "uninstall"]).exits(0);
    assert_eq!(sandbox.read(".git/hooks/post-commit"), theirs);
    sandbox.hook("post-commit.before-ralph", "true");
    refused("post-commit.before-ralph already exists");
    sandbox.ralph(&["hooks", "uninstall"]).exits(0).says("left alone");
}

#[test]
fn hooks_start_no_git_and_write_nothing_without_a_loop() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.ralph(&["finish", "--keep"]).exits(0);
    sandbox.ralph(&["hooks", "install"]).exits(0);
    let before = repository(&sandbox);
    sandbox.install("git", "echo \"$*\" >>\"$notes/git\"; exit 1");
    let git = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|dir| dir.join("git"))
        .find(|git| git.is_file())
        .unwrap();
    let run = |args: &[&str]| sandbox.cmd(git.to_str().unwrap()).args(args).run().exits(0);
    run(&["commit", "-q", "--allow-empty", "-m", "x"]);
    run(&["checkout", "-q", "-b", "other"]);
    run(&["branch", "-D", "-q", "ralph/add-login"]);
    assert!(!sandbox.outside("notes/git").exists());
    assert_eq!(repository(&sandbox), before);
}

#[test]
fn hooks_count_commits_by_hand() {
    let sandbox = Sandbox::new();
    sandbox.ralph(&["hooks", "install"]).exits(0);
    sandbox.start();
    let line = "ralph: add-login 0/3 story 1";
    assert_eq!(short(&sandbox), format!("{line}\n"));
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "one"]);
    assert_eq!(short(&sandbox), format!("{line}, 1 commit by hand\n"));
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "two"]);
    assert_eq!(short(&sandbox), format!("{line}, 2 commits by hand\n"));
    sandbox.git(&["commit", "-q", "--amend", "--allow-empty", "-m", "2"]);
    assert_eq!(short(&sandbox), format!("{line}, 2 commits by hand\n"));
    sandbox.git(&["reset", "-q", "--hard", "HEAD~2"]);
    assert_eq!(short(&sandbox), format!("{line}\n"));
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "one"]);
    sandbox.git(&["checkout", "-q", "main"]);
    assert_eq!(
        short(&sandbox),
        format!("{line}, 1 commit by hand, away on main\n")
    );
    let status = sandbox.status();
    assert_eq!(
        (&status["commits_by_hand"], &status["away"]),
        (&1.into(), &"main".into())
    );
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "on main"]);
    sandbox.git(&["checkout", "-q", "ralph/add-login"]);
    assert_eq!(short(&sandbox), format!("{line}, 1 commit by hand\n"));
    let wanted = [
        "committed",
        "committed",
        "committed",
        "committed",
        "left",
        "returned",
    ];
    assert_eq!(events(&sandbox), wanted);
    // The step makes them its own, and its own doing is no event.
    let agent = sandbox.completing("git commit -q --allow-empty -m agent; git checkout -q -b its; echo x >x");
    sandbox.step("next", &agent).exits(0);
    assert_eq!(short(&sandbox), "ralph: add-login 1/3 story 2\n");
    assert_eq!(events(&sandbox), wanted);
    let status = sandbox.ralph(&["status"]).exits(0).stdout;
    assert!(!status.contains("by hand"), "{status}");
}

#[test]
fn linked_work_trees_have_the_same_hooks() {
    let sandbox = Sandbox::new();
    let linked = sandbox.outside("linked");
    sandbox.git(&["worktree", "add", "-q", linked.to_str().unwrap(), "-b", "side"]);
    let run = |args: &[&str]| -> Output { sandbox.git_cmd(args).dir(&linked).run() };
    run(&["ralph", "hooks", "install"]).exits(0);
    sandbox.start();
    run(&["commit", "-q", "--allow-empty", "-m", "elsewhere"]).exits(0);
    assert_eq!(events(&sandbox), [""; 0]);
    run(&["branch", "-D", "ralph/add-login"]).exits(1);
    run(&["update-ref", "-d", "refs/heads/ralph/add-login"])
        .exits(128)
        .says("git ralph finish add-login");
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "here"]);
    assert_eq!(events(&sandbox), ["committed"]);
}

#[test]
fn the_branch_of_a_live_loop_is_kept() {
    let sandbox = Sandbox::new();
    sandbox.ralph(&["hooks", "install"]).exits(0);
    sandbox.start();
    let remote = sandbox.outside("remote");
    let remote = remote.to_str().unwrap();
    sandbox.git(&["init", "-q", "--bare", remote]);
    let tip = sandbox.git(&["rev-parse", "ralph/add-login"]);
    let refused = |args: &[&str], hint: &str| {
        let output = sandbox.git_cmd(args).run();
        assert_ne!(output.code, 0, "{args:?}");
        output.says("git-ralph: refused: ralph/add-login").says(hint);
        assert_eq!(sandbox.git(&["rev-parse", "ralph/add-login"]), tip, "{args:?}");
    };
    refused(
        &["commit", "-q", "--amend", "--allow-empty", "-m", "x"],
        "git ralph revert add-login",
    );
    refused(&["reset", "-q", "--soft", "main"], "git ralph abort add-login");
    refused(
        &["branch", "-m", "ralph/add-login", "mine"],
        "git ralph finish add-login",
    );
    refused(&["push", "-q", remote, "HEAD"], "--no-verify");
    refused(&["push", "-q", remote, "HEAD:refs/heads/other"], "--no-verify");
    refused(&["push", "-q", "--mirror", remote], "--no-verify");
    sandbox.git(&["push", "-q", remote, "main"]);
    // Gits of the user's that pack refs, and moves that lose nothing.
    sandbox.git(&["pack-refs", "--all"]);
    sandbox.git(&["gc", "-q"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    sandbox.git(&["reset", "-q", "--hard", &tip]);
    // Around it.
    sandbox.git(&["push", "-q", "--no-verify", remote, "HEAD"]);
    sandbox.git(&[
        "-c",
        "ralph.guard=false",
        "push",
        "-q",
        remote,
        "HEAD:refs/heads/other",
    ]);
    sandbox.git(&[
        "-c",
        "ralph.guard=false",
        "commit",
        "-q",
        "--amend",
        "--allow-empty",
        "-m",
        "x",
    ]);
    sandbox.git(&["reset", "-q", "--hard", &tip]);
    // git-ralph's own doing is not refused.
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(sandbox.git(&["branch", "--list", "ralph/add-login"]), "");
}

#[test]
fn hooks_never_break_git() {
    let sandbox = Sandbox::new();
    sandbox.ralph(&["hooks", "install"]).exits(0);
    sandbox.start();
    let state = fs::read_to_string(sandbox.state_file()).unwrap();
    for broken in ["version = 9999\n", "not toml ="] {
        fs::write(sandbox.state_file(), broken).unwrap();
        sandbox.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    }
    fs::write(sandbox.state_file(), state).unwrap();
    for name in [
        "post-commit",
        "post-checkout",
        "pre-push",
        "reference-transaction",
    ] {
        let hook = format!(".git/hooks/{name}");
        let script = sandbox
            .read(&hook)
            .replace(env!("CARGO_BIN_EXE_git-ralph"), "/no/such/program");
        sandbox.write(&hook, &script);
    }
    let output = sandbox
        .git_cmd(&["commit", "-q", "--allow-empty", "-m", "x"])
        .run()
        .exits(0);
    assert_eq!(output.stderr, "");
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.git(&["branch", "-q", "-D", "ralph/add-login"]);
}

#[test]
fn newer_gits_get_configured_hooks() {
    let sandbox = Sandbox::new();
    sandbox.hook("post-commit", "true");
    sandbox.configure("user.nickname", "x");
    let before = repository(&sandbox);
    let git = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|dir| dir.join("git"))
        .find(|git| git.is_file())
        .unwrap();
    sandbox.install(
        "git",
        &format!(
            "for word; do [ \"$word\" != version ] || {{ echo 'git version 2.54.0'; exit; }}; done; exec '{}' \"$@\"",
            git.display()
        ),
    );
    let hooks = |word: &str| sandbox.direct(&["hooks", word]).run().exits(0);
    hooks("install");
    assert_eq!(sandbox.read(".git/hooks/post-commit"), "#!/bin/sh\ntrue\n");
    assert_eq!(
        sandbox.git(&["config", "hook.git-ralph-pre-push.event"]),
        "pre-push"
    );
    let command = sandbox.git(&["config", "hook.git-ralph-pre-push.command"]);
    assert!(command.ends_with("/ralph/.hooks/pre-push'"), "{command}");
    assert!(hooks("status").stdout.contains("git: installed"));
    hooks("install");
    hooks("uninstall");
    assert_eq!(repository(&sandbox), before);
}
