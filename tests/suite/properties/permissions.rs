//! Permissions that git does not keep, and files whose permissions are not ours to change.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;

use crate::support::{CHANGE, Sandbox, wait_for};

fn mode(sandbox: &Sandbox, path: &str) -> u32 {
    sandbox.top.join(path).metadata().unwrap().permissions().mode() & 0o7777
}

fn set(sandbox: &Sandbox, path: &str, mode: u32) {
    fs::set_permissions(sandbox.top.join(path), Permissions::from_mode(mode)).unwrap();
}

#[test]
fn executable_bits_that_git_ignores_come_back() {
    let sandbox = Sandbox::dirty();
    sandbox.configure("core.fileMode", "false");
    set(&sandbox, "README.md", 0o755);
    set(&sandbox, "tool", 0o644);
    let before = sandbox.files();
    sandbox.start();
    let script = "echo x >>README.md; chmod +x src/lib.txt tool; rm old.txt; chmod -x notes/untracked.txt";
    sandbox.step("next", &sandbox.failing(script)).exits(3);
    assert_eq!(sandbox.files(), before);
    let agent = sandbox.completing("chmod -x README.md; chmod +x src/lib.txt; echo x >new; chmod +x new");
    sandbox.step("retry", &agent).exits(0);
    assert_eq!(
        ["README.md", "src/lib.txt", "new"].map(|path| mode(&sandbox, path)),
        [0o644, 0o755, 0o755]
    );
    let now = sandbox.files();
    sandbox
        .step(
            "next",
            &sandbox.failing("echo y >>new; chmod +x README.md; chmod 600 src/lib.txt"),
        )
        .exits(3);
    assert_eq!(sandbox.files(), now);
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(sandbox.files(), before);
}

#[test]
fn links_that_git_writes_as_files_come_back() {
    let sandbox = Sandbox::dirty();
    let at = |path: &str| sandbox.top.join(path);
    symlink("README.md", at("kept")).unwrap();
    symlink("none", at("src/ours")).unwrap();
    sandbox.git(&["add", "kept"]);
    sandbox.git(&["commit", "-qm", "a link"]);
    sandbox.configure("core.symlinks", "false");
    // A clone has a file in the place of a link.
    symlink("README.md", at("plain")).unwrap();
    sandbox.git(&["add", "plain"]);
    fs::remove_file(at("plain")).unwrap();
    fs::write(at("plain"), "README.md").unwrap();
    let before = sandbox.files();
    sandbox.start();
    let script = "rm kept src/ours plain; ln -s README.md plain; ln -s x new";
    sandbox.step("next", &sandbox.failing(script)).exits(3);
    assert_eq!(sandbox.files(), before);
    sandbox
        .ralph(&["restore", "1"])
        .exits(0)
        .says("git writes links as files here (core.symlinks is false)")
        .says("target of a link: new\n");
    sandbox.ralph(&["revert"]).exits(0);
    assert_eq!(sandbox.files(), before);
    let script = "ln -sf src kept; printf none >.a; mv .a src/ours; ln -s README.md new";
    sandbox.step("retry", &sandbox.completing(script)).exits(0);
    let now = sandbox.files();
    sandbox
        .step("next", &sandbox.failing("rm new kept src/ours; echo x >kept"))
        .exits(3);
    assert_eq!(sandbox.files(), now);
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(sandbox.files(), before);
}

#[test]
fn set_id_bits_come_back() {
    let sandbox = Sandbox::dirty();
    set(&sandbox, "tool", 0o4755);
    set(&sandbox, "src", 0o2775);
    let before = sandbox.files();
    sandbox.start();
    sandbox
        .step("next", &sandbox.failing("rm -r tool src; chmod 4755 README.md"))
        .exits(3);
    assert_eq!(sandbox.files(), before);
    assert_eq!(mode(&sandbox, "src"), 0o2775);
    sandbox
        .step(
            "retry",
            &sandbox.completing("rm -r tool src/deep; chmod 6755 README.md"),
        )
        .exits(0);
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(sandbox.files(), before);
    assert_eq!(mode(&sandbox, "src"), 0o2775);
}

#[test]
fn step_changes_no_mode_outside_through_a_hard_link() {
    let sandbox = Sandbox::dirty();
    set(&sandbox, ".env", 0o600);
    let outside = sandbox.outside("theirs");
    fs::write(&outside, "SECRET=1\n").unwrap();
    fs::set_permissions(&outside, Permissions::from_mode(0o644)).unwrap();
    sandbox.start();
    let script = format!("ln -f '{0}' .env; ln -f '{0}' README.md", outside.display());
    sandbox.step("next", &sandbox.failing(&script)).exits(3);
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(outside.metadata().unwrap().permissions().mode() & 0o7777, 0o644);
    assert_eq!(sandbox.read("README.md"), "# Edited\n");
}

#[test]
fn copies_of_ignored_secrets_are_for_the_user_alone() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", ".env\n");
    sandbox.write(".env", "secret\n");
    sandbox.start();
    sandbox.step("next", &sandbox.failing("chmod -R 755 .")).exits(3);
    let mode = |path: &str| {
        let found = sandbox.top.join(path).metadata().unwrap();
        found.permissions().mode() & 0o777
    };
    assert_eq!(mode(".git/ralph/add-login"), 0o700);
}

#[test]
fn step_restores_nothing_through_a_link_of_an_attempt() {
    for promise in ["complete", "failed it"] {
        let sandbox = Sandbox::new();
        sandbox.write("src/odd", "odd\n");
        sandbox.write("kept/secret.log", "log\n");
        fs::create_dir_all(sandbox.top.join("kept/empty")).unwrap();
        let set = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        set(&sandbox.top.join("src/odd"), 0o600);
        set(&sandbox.top.join("kept/secret.log"), 0o640);
        let out = sandbox.outside("out");
        fs::create_dir_all(out.join("deep")).unwrap();
        for name in ["odd", "lib.txt", "secret.log", "deep/er"] {
            fs::write(out.join(name), "of the user\n").unwrap();
            set(&out.join(name), 0o666);
        }
        set(&out, 0o777);
        let print = || {
            let mut found = Vec::new();
            for name in [".", "odd", "lib.txt", "secret.log", "deep", "deep/er"] {
                let is = out.join(name).symlink_metadata().unwrap();
                found.push((name, is.mode(), is.mtime()));
            }
            (found, fs::read_dir(&out).unwrap().count())
        };
        let before = print();
        sandbox.start();
        let agent = sandbox.agent(&format!(
            "rm -rf src kept; ln -s '{0}' src; ln -s '{0}' kept; {promise}",
            out.display()
        ));
        sandbox.step("next", &agent);
        assert_eq!(print(), before, "{promise}");
        sandbox.ralph(&["abort"]).exits(0);
        assert_eq!(print(), before, "{promise}, aborted");
    }
}

#[test]
fn the_files_of_a_shared_repository_stay_shared() {
    for (shared, mode) in [
        ("group", 0o660),
        ("0640", 0o640),
        ("all", 0o664),
        ("false", 0o600),
    ] {
        let sandbox = Sandbox::new();
        let step = |args: &[&str]| {
            let script = "umask 077; exec git-ralph \"$@\"";
            let args = [&["-c", script, "sh"][..], args].concat();
            sandbox.cmd("sh").args(args).run()
        };
        sandbox.configure("core.sharedRepository", shared);
        let modes = || {
            ["HEAD", "index"].map(|file| {
                let file = sandbox.top.join(".git").join(file);
                file.metadata().unwrap().permissions().mode() & 0o777
            })
        };
        step(&["start", CHANGE]).exits(0);
        assert_eq!(modes(), [mode; 2], "{shared}");
        let agent = sandbox.failing("rm .git/HEAD .git/index");
        step(&["next", "--", &agent]).exits(3);
        assert_eq!(modes(), [mode; 2], "{shared}");
        step(&["abort"]).exits(0);
        assert_eq!(modes(), [mode; 2], "{shared}");
    }
}

/// What a container does that runs as root: its directories are in the work tree, and cannot be moved.
#[test]
fn files_of_another_user_hide_no_loop_and_name_what_to_type() {
    let Some(sandbox) = Sandbox::unprivileged() else {
        return;
    };
    sandbox.start();
    let (before, go) = (sandbox.files(), sandbox.outside("go"));
    let agent = sandbox.failing(&format!(
        "mkdir out; echo x >out/f; touch '{0}.made'; until test -e '{0}'; do sleep 0.05; done",
        go.display()
    ));
    let attempt = sandbox.direct(&["next", "--", &agent]).start();
    wait_for(&sandbox.outside("go.made"));
    let out = sandbox.top.join("out");
    let (owner, group) = (out.metadata().unwrap().uid(), out.metadata().unwrap().gid());
    let is_given = chown(&out, Some(0), Some(0)).is_ok();
    fs::write(&go, "").unwrap();
    let ended = attempt.end();
    // Only root gives files away.
    if !is_given || owner == 0 {
        return;
    }
    let what = format!(
        "it belongs to another user: sudo chown -R \"$(id -u)\" {}",
        out.display()
    );
    ended.exits(1).says(&what);
    for (verb, shows) in [
        ("status", "going back to the checkpoint was interrupted"),
        ("log", "it is red"),
    ] {
        let shown = sandbox.ralph(&[verb]).exits(0).says(&what);
        assert!(shown.stdout.contains(shows), "{shown:?}");
    }
    sandbox.ralph(&["abort"]).exits(1).says(&what);
    assert!(out.join("f").exists());
    chown(&out, Some(owner), Some(group)).unwrap();
    sandbox.ralph(&["status"]).exits(0);
    assert_eq!(sandbox.files(), before);
    sandbox.ralph(&["abort"]).exits(0);
}

#[test]
fn a_private_file_stays_private_wherever_git_writes_it_again() {
    // Begun under a narrow umask, continued under a wide one.
    let sandbox = Sandbox::new();
    let under = |umask: &str, args: &str| {
        let line = format!("umask {umask}; exec git ralph {args}");
        sandbox.cmd("sh").args(["-c", &line]).run()
    };
    sandbox.write("secret", "s\n");
    set(&sandbox, "secret", 0o600);
    under("077", "start").exits(0);
    under("022", &format!("next -- {}", sandbox.failing("rm secret"))).exits(3);
    assert_eq!(mode(&sandbox, "secret"), 0o600);

    // Through a work tree of the loop's own, and through a merge.
    for own in [true, false] {
        let sandbox = Sandbox::new();
        for dir in [".", "keys"] {
            fs::create_dir_all(sandbox.top.join(dir)).unwrap();
            set(&sandbox, dir, 0o700);
        }
        sandbox.write("keys/key", "k\n");
        set(&sandbox, "keys/key", 0o600);
        sandbox.write("turned", "t\n");
        set(&sandbox, "turned", 0o600);
        sandbox.write("conf/one", "1\n");
        sandbox.git(&["add", "keys", "turned", "conf"]);
        sandbox.git(&["commit", "-q", "-m", "key"]);
        let top = if own {
            sandbox.ralph(&["start", CHANGE, "--worktree"]).exits(0);
            sandbox.outside("repo.ralph").join(CHANGE)
        } else {
            sandbox.start();
            sandbox.top.clone()
        };
        let mode_of =
            |top: &Path, path: &str| top.join(path).metadata().unwrap().permissions().mode() & 0o777;
        for (path, mode) in [("", 0o700), ("keys", 0o700), ("keys/key", 0o600)] {
            assert_eq!(mode_of(&top, path), mode, "{path}");
        }
        let agent = sandbox.completing(
            "echo x >>README.md; rm -r turned conf; mkdir turned; echo t >turned/t; echo c >conf
            umask 077; echo y >>keys/key; echo z >keys/new; mkdir own; echo o >own/o",
        );
        sandbox.step("next", &agent).exits(0);
        if !own {
            let main = sandbox.outside("main");
            sandbox.git(&["worktree", "add", "-q", main.to_str().unwrap(), "main"]);
            fs::write(main.join("keys/key"), "before\nk\n").unwrap();
            sandbox.git(&["-C", main.to_str().unwrap(), "commit", "-qam", "meanwhile"]);
            sandbox.git(&["worktree", "remove", main.to_str().unwrap()]);
        }
        sandbox.ralph(&["finish", "--cleanup", CHANGE]).exits(0);
        assert!(sandbox.read("keys/key").ends_with("k\ny\n"));
        assert_eq!(sandbox.read("conf"), "c\n");
        assert_eq!(mode_of(&sandbox.top, "turned"), 0o755);
        for (path, mode) in [
            ("keys", 0o700),
            ("keys/key", 0o600),
            ("keys/new", 0o600),
            ("own", 0o700),
            ("own/o", 0o600),
        ] {
            assert_eq!(mode_of(&sandbox.top, path), mode, "{path}, own: {own}");
        }
    }
}

#[test]
fn permissions_of_the_work_tree_itself_come_back() {
    for strategy in ["branch", "stash"] {
        let sandbox = Sandbox::new();
        sandbox.configure("ralph.strategy", strategy);
        set(&sandbox, "", 0o700);
        sandbox.start();
        let opens = "chmod 777 .; echo x >>new";
        sandbox.step("next", &sandbox.failing(opens)).exits(3);
        assert_eq!(mode(&sandbox, ""), 0o700);
        sandbox.step("retry", &sandbox.completing(opens)).exits(0);
        set(&sandbox, "", 0o750);
        sandbox.step("next", &sandbox.failing(opens)).exits(3);
        assert_eq!(mode(&sandbox, ""), 0o750);
        sandbox.ralph(&["abort"]).exits(0);
        assert_eq!(mode(&sandbox, ""), 0o700);
    }
}

#[test]
fn permissions_and_empty_directories_that_gates_change_are_put_back() {
    let sandbox = Sandbox::new();
    sandbox.write("dir/file", "x\n");
    fs::create_dir(sandbox.top.join("empty")).unwrap();
    sandbox.start();
    let gate = sandbox.agent("chmod 600 README.md; chmod 000 dir; rmdir empty; :");
    sandbox.configure("ralph.verify", &gate);
    let modes = || ["README.md", "dir"].map(|path| mode(&sandbox, path));
    let before = modes();
    sandbox
        .step("next", &sandbox.completing("echo x >new"))
        .exits(0)
        .says("while gates or a reviewer ran, permissions were changed, which are put back: README.md, dir")
        .says("while gates or a reviewer ran, empty directories were removed, which are made again: empty");
    assert!(sandbox.top.join("empty").is_dir());
    assert_eq!(modes(), before);
}

#[test]
fn a_gate_that_writes_a_private_file_again_does_not_open_it() {
    let sandbox = Sandbox::new();
    sandbox.configure("core.autocrlf", "true");
    for (path, content) in [("secret", "s\n"), ("lines", "a\r\n"), ("other", "x\n")] {
        sandbox.write(path, content);
        set(&sandbox, path, 0o600);
    }
    // The old file stays until the new one is there: so the inode is another one.
    let gate = "! test -e new || for file in secret lines; do cat $file >copy; mv copy $file; done";
    sandbox.configure("ralph.verify", gate);
    sandbox.start();
    let output = sandbox.step("next", &sandbox.completing("echo x >new")).exits(0);
    output.says("permissions were changed, which are put back: lines, secret");
    let modes = ["secret", "lines", "other"].map(|path| mode(&sandbox, path));
    assert_eq!(modes, [0o600; 3]);
}
