//! Git's own files (configuration, exclude rules, hooks) come back after an attempt, and nothing else is touched
//! for it.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::{Sandbox, wait_until};

/// The file below the trash of the loop that holds this text.
#[track_caller]
fn in_trash(sandbox: &Sandbox, text: &str) -> String {
    let trash = sandbox.top.join(".git/ralph/add-login/trash");
    let found = sandbox.cmd("grep").args(["-rlF", text, trash.to_str().unwrap()]);
    found.run().exits(0).stdout
}

#[test]
fn step_restores_a_directory_that_became_a_link_and_spares_its_target() {
    for (promise, code) in [("complete", 0), ("failed it", 3)] {
        let sandbox = Sandbox::new();
        sandbox.hook("pre-commit", "exit 0");
        sandbox.write(".git/info/exclude", "mine\n");
        let outside = sandbox.outside("keys");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("id"), "key\n").unwrap();
        sandbox.start();
        let keys = outside.display();
        let agent = sandbox.agent(&format!(
            "rm -rf .git/hooks .git/info; ln -s '{keys}' .git/hooks; ln -s '{keys}' .git/info; echo x >x; {promise}"
        ));
        sandbox
            .step("next", &agent)
            .exits(code)
            .says(".git/hooks was changed during the attempt; it is put back");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(outside.join("id")).unwrap(), "key\n");
        assert!(!sandbox.top.join(".git/hooks").is_symlink());
        assert!(sandbox.top.join(".git/hooks/pre-commit").is_file());
        assert_eq!(sandbox.read(".git/info/exclude"), "mine\n");
        let trash = sandbox.top.join(".git/ralph/add-login/trash");
        let links = sandbox.cmd("find").args([trash.to_str().unwrap(), "-type", "l"]);
        assert_eq!(links.run().exits(0).stdout.lines().count(), 2);
        sandbox.is_at_checkpoint();
    }
}

#[test]
fn step_leaves_tracked_hooks_behind_a_link_of_the_user() {
    let sandbox = Sandbox::new();
    sandbox.write("hk/pre-push", "#!/bin/sh\n");
    sandbox.git(&["add", "hk"]);
    sandbox.git(&["commit", "-qm", "hooks"]);
    let hooks = sandbox.top.join(".git/hooks");
    let _ = fs::remove_dir_all(&hooks);
    symlink("../hk", &hooks).unwrap();
    sandbox.start();
    let agent = sandbox.completing("echo '# more' >>hk/pre-push; echo new >hk/commit-msg");
    let output = sandbox.step("next", &agent).exits(0);
    assert!(!output.stderr.contains("put back"), "{}", output.stderr);
    assert_eq!(sandbox.git(&["show", "HEAD:hk/pre-push"]), "#!/bin/sh\n# more");
    assert_eq!(sandbox.git(&["show", "HEAD:hk/commit-msg"]), "new");
    sandbox.is_at_checkpoint();
    let agent = sandbox.failing("rm .git/hooks; mkdir .git/hooks; echo evil >.git/hooks/pre-push");
    sandbox.step("next", &agent).exits(3).says("it is put back");
    assert_eq!(fs::read_link(&hooks).unwrap().to_str(), Some("../hk"));
    assert_eq!(sandbox.read("hk/pre-push"), "#!/bin/sh\n# more\n");
    in_trash(&sandbox, "evil");
}

#[test]
fn step_moves_away_directories_and_pipes_in_place_of_git_files() {
    let sandbox = Sandbox::new();
    sandbox.hook("pre-commit", "exit 0");
    sandbox.start();
    let config = sandbox.read(".git/config");
    let harm = "rm .git/hooks/pre-commit; mkdir -p .git/hooks/pre-commit/d; rm -rf .git/info; mkfifo .git/info; echo x >x
        cp .git/config .git/c; rm .git/config; mkdir .git/config; mv .git/c .git/config/c";
    sandbox
        .direct(&["next", "--", &sandbox.failing(harm)])
        .run()
        .exits(3);
    assert_eq!(sandbox.read(".git/config"), config);
    assert!(sandbox.top.join(".git/hooks/pre-commit").is_file());
    sandbox.is_at_checkpoint();
}

#[test]
fn trash_keeps_every_earlier_version() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let text = sandbox.read(".git/config");
    for (step, name) in [("next", "first"), ("retry", "second")] {
        let agent = sandbox.failing(&format!("git config core.{name} {name}-value"));
        sandbox
            .step(step, &agent)
            .exits(3)
            .says(".git/ralph/add-login/trash/1.");
        assert_eq!(sandbox.read(".git/config"), text);
    }
    for name in ["first-value", "second-value"] {
        in_trash(&sandbox, name);
    }
}

#[test]
fn step_keeps_a_new_remote_and_removes_settings_that_run_commands() {
    for (promise, code) in [("complete", 0), ("failed it", 3)] {
        let sandbox = Sandbox::new();
        sandbox.git(&["remote", "add", "origin", "https://example.org/o.git"]);
        sandbox.start();
        let agent = sandbox.agent(&format!(
            "git remote add fork https://example.org/fork.git; git config branch.main.vscode-merge-base origin/main
             git config core.sshCommand /tmp/evil; git remote add sly ext::evil; git config remote.origin.pushurl evil
             git config --add remote.origin.url evil; git config alias.st '!evil'; git config user.name Evil; {promise}"
        ));
        sandbox
            .step("next", &agent)
            .exits(code)
            .says("settings that run nothing stay: remote.fork.url, remote.fork.fetch, branch.main.vscode-merge-base");
        assert_eq!(sandbox.git(&["remote"]), "fork\norigin");
        assert_eq!(sandbox.git(&["config", "user.name"]), "A User");
        let config = sandbox.read(".git/config");
        assert!(!config.contains("evil"), "{config}");
        assert!(config.contains("vscode-merge-base = origin/main"), "{config}");
    }
}

#[test]
fn newly_excluded_files_enter_no_checkpoint_and_survive_attempts() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let harm =
        "mkdir -p .git/info keys; echo '*.key' >>.git/info/exclude; echo SECRET >keys/private.key; echo x >x";
    sandbox
        .step("next", &sandbox.completing(harm))
        .exits(0)
        .says("keys/private.key");
    let objects = || sandbox.git(&["log", "--all", "--format=", "--name-only"]);
    assert!(objects().contains("\nx") && !objects().contains("private.key"));
    sandbox
        .step("next", &sandbox.failing("echo y >keys/new; rm x"))
        .exits(3);
    assert_eq!(sandbox.read("keys/private.key"), "SECRET\n");
    assert!(!sandbox.top.join("keys/new").exists());
    assert!(!objects().contains("private.key"));
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(sandbox.read("keys/private.key"), "SECRET\n");
    assert!(!objects().contains("private.key"));
}

#[test]
fn failed_attempt_loses_its_exclude_rules() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let hide = "mkdir -p .git/info; echo gen.txt >>.git/info/exclude; echo bad >gen.txt; echo x >x";
    sandbox.step("next", &sandbox.failing(hide)).exits(3);
    assert!(!sandbox.top.join("gen.txt").exists());
    sandbox
        .step("retry", &sandbox.completing("echo good >gen.txt"))
        .exits(0);
    assert_eq!(sandbox.git(&["show", "HEAD:gen.txt"]), "good");
    // By hand too.
    let hide = "mkdir -p .git/info; echo more.txt >>.git/info/exclude; echo bad >more.txt";
    sandbox.step("next", &sandbox.failing(hide)).exits(3);
    sandbox.write("more.txt", "good\n");
    sandbox.ralph(&["complete"]).exits(0);
    assert_eq!(sandbox.git(&["show", "HEAD:more.txt"]), "good");
}

#[test]
fn hidden_file_enters_a_checkpoint_once_it_is_added() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let hide = "mkdir -p .git/info; echo gen.txt >>.git/info/exclude; echo 1 >gen.txt; echo x >x";
    sandbox.step("next", &sandbox.completing(hide)).exits(0);
    sandbox
        .step("next", &sandbox.completing("echo 2 >gen.txt"))
        .exits(0)
        .says("left out, because a rule that an attempt added to .git/info/exclude hid it")
        .says("gen.txt");
    sandbox
        .step("next", &sandbox.completing("echo 3 >gen.txt; git add gen.txt"))
        .exits(0);
    assert_eq!(sandbox.git(&["show", "HEAD:gen.txt"]), "3");
}

#[test]
fn shallow_fetch_of_an_attempt_hides_no_history_and_breaks_none() {
    for (promise, code) in [("complete", 0), ("failed it", 3)] {
        let sandbox = Sandbox::new();
        sandbox.git(&["commit", "-q", "--allow-empty", "-m", "second"]);
        let remote = sandbox.outside("remote.git");
        let remote = remote.to_str().unwrap();
        sandbox.git(&["clone", "-q", "--bare", ".", remote]);
        sandbox.git(&["remote", "add", "origin", &format!("file://{remote}")]);
        sandbox.start();
        let fetch = "git fetch -q --depth 1 origin";
        let agent = sandbox.agent(&format!("{fetch}; echo x >x; {promise}"));
        sandbox.step("next", &agent).exits(code).says("history");
        assert_eq!(sandbox.subjects("main"), ["second", "first"]);
        assert!(!sandbox.top.join(".git/shallow").exists());
        let other = sandbox.outside("other");
        let other = other.to_str().unwrap();
        sandbox.git(&["clone", "-q", remote, other]);
        for message in ["third", "fourth"] {
            let commit = [
                "-C",
                other,
                "-c",
                "user.name=U",
                "-c",
                "user.email=u@e",
                "commit",
                "-q",
                "--allow-empty",
            ];
            sandbox.git(&[&commit[..], &["-m", message]].concat());
        }
        sandbox.git(&["-C", other, "push", "-q", "origin", "main"]);
        let step = if code == 0 { "next" } else { "retry" };
        sandbox.step(step, &sandbox.failing(fetch)).exits(3);
        assert_eq!(sandbox.subjects("origin/main"), ["fourth"]);
        sandbox.git(&["fsck", "--connectivity-only"]);
        sandbox.ralph(&["abort"]).exits(0);
    }
}

#[test]
fn directories_beside_hooks_come_back_and_nothing_is_planted_in_them() {
    let sandbox = Sandbox::new();
    sandbox.write(".git/hooks/lib/x.sh", "echo mine\n");
    sandbox.write(".git/hooks/gone/y.sh", "echo mine\n");
    sandbox.start();
    let agent = sandbox.completing(
        "echo evil >.git/hooks/lib/x.sh; echo evil >.git/hooks/lib/z.sh; rm -r .git/hooks/gone; echo x >x",
    );
    sandbox.step("next", &agent).exits(0);
    assert_eq!(sandbox.read(".git/hooks/lib/x.sh"), "echo mine\n");
    assert_eq!(sandbox.read(".git/hooks/gone/y.sh"), "echo mine\n");
    assert!(!sandbox.top.join(".git/hooks/lib/z.sh").exists());
    assert_eq!(in_trash(&sandbox, "evil").lines().count(), 2);
}

#[test]
fn settings_that_another_git_writes_meanwhile_are_kept_where_it_says_so() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.completing("git config user.z z; touch \"$notes/works\"; echo x >x");
    let running = sandbox.direct(&["run", "--keep", "--", &agent]).start();
    wait_until("the agent works", || sandbox.notes.join("works").exists());
    let mut written = Vec::new();
    while !sandbox.top.join(".git/refs/ralph/add-login/finished").exists() {
        let key = format!("user.k{}", written.len());
        let set = sandbox.cmd("git").args(["config", &key, "v"]).run();
        if set.code == 0 {
            written.push(key);
        }
    }
    running.end().exits(0);
    for key in written {
        let (_, name) = key.split_once('.').unwrap();
        let here = sandbox.read(".git/config").contains(&format!("{name} = v"));
        assert!(
            here || !in_trash(&sandbox, &format!("{name} = v")).is_empty(),
            "{key}"
        );
    }
}
