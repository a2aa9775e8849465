//! An agent that kills git-ralph could have written all that git-ralph knows of the attempt. Nothing of that decides what
//! is run, or is installed where something is run from.

use std::fs;
use std::path::Path;

use crate::support::{CHANGE, Sandbox};

/// What an agent does to the loop's files before it kills git-ralph. `$d` is the loop's directory, `$evil` a command that
/// leaves a trace, `$script` a program that does so, `$out` a directory outside.
const TAMPERS: &[(&str, &str)] = &[
    (
        "agent and gates in the state",
        r#"sed -i "s|^\[settings\]|[settings]\nagent = \"$evil\"\nverify = [\"$evil\"]|" $d.toml"#,
    ),
    (
        "commands in the state",
        r#"sed -i "s|^adapter = .*|adapter = \"command\"|; s|^path = .*|path = \"$evil\"|" $d.toml
        printf '[source.commands]\nchange = "add-login"\nstories = "%s"\ndone = "%s"\nclosed = "%s"\nlimit = 60\n' "$evil" "$evil" "$evil" >>$d.toml"#,
    ),
    (
        "a list that is a hook",
        r#"sed -i "s|^path = .*|path = \".git/hooks/pre-commit\"|" $d.toml; cp $script $d/stories.copy; cp $script $d/stories.judged
        mkdir -p .git/hooks; printf '#!/bin/sh\n' >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit
        mkdir -p $d/git-files/common/hooks; cp -p .git/hooks/pre-commit $d/git-files/common/hooks/pre-commit"#,
    ),
    (
        "a list outside",
        r#"sed -i "s|^path = .*|path = \"$out/file\"|" $d.toml; cp $script $d/stories.copy; cp $script $d/stories.judged"#,
    ),
    (
        "a list above",
        r#"sed -i "s|^path = .*|path = \"../out/file\"|" $d.toml; cp $script $d/stories.copy; cp $script $d/stories.judged"#,
    ),
    (
        "a recorded hook",
        "mkdir -p $d/git-files/common/hooks; cp $script $d/git-files/common/hooks/pre-commit",
    ),
    (
        "hooks that are a link",
        "rm -rf $d/git-files/common/hooks; ln -s $out $d/git-files/common/hooks",
    ),
    (
        "hooks of git-ralph's",
        "mkdir -p $d/git-files/common/ralph/.hooks; cp $script $d/git-files/common/ralph/.hooks/pre-commit",
    ),
    (
        "a recorded configuration",
        r#"git config --file $d/git-files/common/config core.fsmonitor "$script"
        git config --file $d/git-files/common/config filter.evil.clean "$script"
        git config --file $d/git-files/common/config core.hooksPath "$out"
        git config --file $d/git-files/common/config ralph.verify "$script"
        mkdir -p .git/info; echo '* filter=evil' >$d/git-files/common/info/attributes"#,
    ),
    (
        "a configuration that includes another",
        r#"printf '[include]\npath = %s\n' "$out/config" >>$d/git-files/common/config
        printf '[core]\nfsmonitor = %s\n' "$script" >"$out/config""#,
    ),
    (
        "another common directory",
        r#"echo "$out" >$d/git-files/common/commondir"#,
    ),
    (
        "a script in place of each file",
        "find $d -type f -exec cp $script {} ';'",
    ),
    (
        "an ignored file that is a hook",
        r"for i in inventory inventory.start; do printf 'f - .git/hooks/pre-commit\0f - ../out/new\0f - .git/config.worktree\0' >>$d/unversioned/$i; done
        mkdir -p $d/unversioned/files/.git/hooks; cp $script $d/unversioned/files/.git/hooks/pre-commit
        printf '755 .git/hooks/pre-commit\0755 ../out/file\0' >>$d/unversioned/ignored-modes
        printf '4777 ../out/file\0777 ../out\0755 .git/config\0' >>$d/unversioned/modes
        printf 'e - ../out/empty\0' >>$d/unversioned/inventory.start",
    ),
    (
        "a submodule elsewhere",
        r#"oid=$(git rev-parse HEAD); for m in submodules submodules.start; do
        printf '[[submodule]]\npath = "../out/sub"\noid = "%s"\ngit_file = "gitdir: %s\\n"\n' "$oid" "$out" >$d/$m.toml; done"#,
    ),
    (
        "a plan",
        r#"sed -i 's|^phase = .*|phase = "ready"|; /^\[running\]/,/^$/d' $d.toml; mkdir -p $d/trash/x
        printf '[intent]\nstep = "revert"\ntrash = "../../../../../out"\nstory = "1"\nattempt = 1\nkept = []\n' >>$d.toml
        cp $script evil"#,
    ),
];

const COMMANDS: &[&[&str]] = &[
    &["status"],
    &["next"],
    &["retry"],
    &["revert"],
    &["abort"],
    &["finish", "--cleanup"],
    &["complete"],
    &["prune"],
];

/// A loop whose agent has killed git-ralph after this.
fn killed(tamper: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let out = sandbox.outside("out");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("file"), "of the user\n").unwrap();
    sandbox.start();
    let agent = sandbox.agent(&format!(
        "d=.git/ralph/{CHANGE}; out='{}'; evil=\"touch $notes/ran\"; script=$notes/script
        printf '#!/bin/sh\\ntouch \"%s/ran\"\\n' \"$notes\" >$script; chmod +x $script
        echo work >work; rm .env
        {tamper}
        kill -9 $PPID",
        out.display()
    ));
    sandbox.direct(&["next", "--", &agent]).run().exits(137);
    sandbox
}

/// Asserts that nothing was run or installed, neither by git-ralph nor for the user's own git.
#[track_caller]
fn nothing_ran(sandbox: &Sandbox, what: &str) {
    let seen = || sandbox.notes.join("ran").exists();
    assert!(!seen(), "{what}: git-ralph ran it");
    sandbox.git_cmd(&["status"]).run();
    sandbox
        .git_cmd(&["commit", "-q", "--allow-empty", "-m", "x"])
        .run();
    assert!(!seen(), "{what}: git runs it");
    let out = sandbox.outside("out");
    assert_eq!(
        fs::read_to_string(out.join("file")).unwrap(),
        "of the user\n",
        "{what}"
    );
    for name in ["new", "empty", "sub", "work", "evil"] {
        assert!(!out.join(name).exists(), "{what}: {name}");
    }
    let config = sandbox.read(".git/config");
    assert!(
        !config.contains("script") && !config.contains("out"),
        "{what}: {config}"
    );
    for hooks in [".git/hooks", ".git/ralph/.hooks"] {
        let hooks = sandbox.top.join(hooks);
        assert!(!hooks.is_symlink(), "{what}");
        let text = fs::read_to_string(hooks.join("pre-commit")).unwrap_or_default();
        assert!(!text.contains("touch"), "{what}");
    }
    for name in ["config.worktree", "commondir"] {
        assert!(!sandbox.top.join(".git").join(name).exists(), "{what}: {name}");
    }
}

#[test]
fn nothing_that_the_attempt_could_write_is_run_or_installed() {
    std::thread::scope(|scope| {
        for (what, tamper) in TAMPERS {
            scope.spawn(move || {
                for args in COMMANDS {
                    let sandbox = killed(tamper);
                    let mode = |path: &Path| path.metadata().unwrap().permissions();
                    let file = sandbox.outside("out/file");
                    let before = mode(&file);
                    sandbox.ralph(args);
                    // What was refused once is refused again.
                    sandbox.ralph(args);
                    sandbox.ralph(&["complete"]);
                    assert_eq!(mode(&file), before, "{what} {args:?}");
                    nothing_ran(&sandbox, &format!("{what} {args:?}"));
                }
            });
        }
    });
}

#[test]
fn a_person_decides_about_what_git_runs_and_the_loop_goes_on() {
    for keep in [true, false] {
        let sandbox = Sandbox::new();
        sandbox.hook("pre-push", "exit 0");
        sandbox.start();
        let agent =
            sandbox.agent("rm .git/hooks/pre-push; echo '#!/bin/sh' >.git/hooks/pre-commit; kill -9 $PPID");
        sandbox.direct(&["next", "--", &agent]).run().exits(137);
        let recorded = format!(".git/ralph/{CHANGE}/git-files/common/hooks/pre-push");
        for args in [&["status"][..], &["next"]] {
            sandbox
                .ralph(args)
                .exits(7)
                .says(".git/hooks/pre-push")
                .says("to put it back: cp -p ");
        }
        // What only takes away is done at once.
        assert!(!sandbox.top.join(".git/hooks/pre-commit").exists());
        if keep {
            fs::remove_file(sandbox.top.join(&recorded)).unwrap();
        } else {
            let args = ["-p", &recorded, ".git/hooks/pre-push"];
            sandbox.cmd("cp").args(args).run().exits(0);
        }
        let agent = sandbox.completing("echo x >x");
        sandbox.step("next", &agent).exits(0);
        assert_eq!(sandbox.top.join(".git/hooks/pre-push").exists(), !keep);
    }
}

#[test]
fn settings_that_run_nothing_come_back_after_a_kill() {
    let sandbox = Sandbox::new();
    let before = sandbox.read(".git/config");
    sandbox.start();
    let agent = sandbox.agent(
        "git config core.fsmonitor evil; git config core.autocrlf true; git config user.name Evil; kill -9 $PPID",
    );
    sandbox.direct(&["next", "--", &agent]).run().exits(137);
    sandbox.ralph(&["status"]).exits(0);
    assert_eq!(sandbox.read(".git/config"), before);
    // One that can run something does not.
    sandbox.configure("filter.mine.clean", "cat");
    let agent = sandbox.agent("git config --unset filter.mine.clean; kill -9 $PPID");
    sandbox.direct(&["next", "--", &agent]).run().exits(137);
    sandbox
        .ralph(&["status"])
        .exits(7)
        .says(".git/config")
        .says("git diff --no-index ");
    assert_eq!(sandbox.read(".git/config"), before);
}

#[test]
fn what_was_typed_at_the_start_has_to_be_typed_again_after_a_kill() {
    let sandbox = Sandbox::new();
    let agent = sandbox.completing("echo x >x");
    sandbox
        .ralph(&[
            "start",
            CHANGE,
            "--verify",
            "touch \"$RALPH_LEARNINGS.gate\"",
            "--",
            &agent,
        ])
        .exits(0);
    let killer = sandbox.agent("kill -9 $PPID");
    sandbox.direct(&["next", "--", &killer]).run().exits(137);
    sandbox
        .ralph(&["status"])
        .exits(0)
        .says("no longer used is the agent");
    sandbox
        .step("next", &agent)
        .exits(7)
        .says("the gates of 'add-login' are not known any more")
        .says("git config --add ralph.verify 'touch");
    sandbox.ralph(&["complete"]).exits(7);
    assert_eq!(sandbox.status()["phase"], "ready");
    sandbox.configure("ralph.verify", "true");
    sandbox.ralph(&["next"]).exits(1).says("no agent is configured");
    sandbox.step("next", &agent).exits(0);
}

#[test]
fn copies_that_an_attempt_wrote_over_decide_nothing_if_git_ralph_lives() {
    let sandbox = Sandbox::new();
    sandbox.hook("pre-push", "exit 0");
    let config = sandbox.read(".git/config");
    sandbox.start();
    let agent = sandbox.failing(&format!(
        "d=.git/ralph/{CHANGE}/git-files/common; rm .git/hooks/pre-push; echo evil >$d/hooks/pre-push
        echo evil >$d/hooks/pre-commit; echo '[core]fsmonitor=evil' >>$d/config"
    ));
    sandbox.step("next", &agent).exits(3);
    assert_eq!(sandbox.read(".git/hooks/pre-push"), "#!/bin/sh\nexit 0\n");
    assert!(!sandbox.top.join(".git/hooks/pre-commit").exists());
    assert_eq!(sandbox.read(".git/config"), config);
}

#[test]
fn the_hooks_that_git_ralph_installed_come_back() {
    let sandbox = Sandbox::new();
    let hook = ".git/ralph/.hooks/pre-commit";
    sandbox.write(hook, "#!/bin/sh\n");
    sandbox.start();
    let agent = sandbox.failing(&format!(
        "echo evil >>{hook}; echo evil >.git/ralph/.hooks/pre-push; echo /evil >.git/commondir"
    ));
    sandbox.step("next", &agent).exits(3);
    assert_eq!(sandbox.read(hook), "#!/bin/sh\n");
    assert!(!sandbox.top.join(".git/ralph/.hooks/pre-push").exists());
    assert!(!sandbox.top.join(".git/commondir").exists());
}
