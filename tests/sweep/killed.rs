//! An agent that kills git-ralph could have written all that git-ralph knows of the attempt. Nothing of that is run, or is
//! installed where something is run from, whatever is typed next.

use std::fs;
use std::path::Path;

use crate::stride;
use crate::support::{CHANGE, Sandbox};

/// What an agent does to the loop's files before it kills git-ralph. `$d` is the loop's directory, `$evil` a command that
/// leaves a trace, `$script` a program that does so, `$out` a directory outside.
const TAMPERS: &[(&str, &str)] = &[
    (
        "agent and gates in the state",
        r#"sed -i "s|^\[here\]|&\ncommands = { agent = \"$evil\", verify = [\"$evil\"] }|" $d.toml"#,
    ),
    (
        "commands in the state",
        r#"sed -i "s|^adapter = .*|adapter = \"command\"|; s|^path = .*|path = \"$evil\"|" $d.toml
        printf '[loop.source.commands]\nchange = "add-login"\nstories = "%s"\ndone = "%s"\nclosed = "%s"\nlimit = 60\n' "$evil" "$evil" "$evil" >>$d.toml"#,
    ),
    (
        "a list that is a hook",
        r#"sed -i "s|^path = .*|path = \".git/hooks/pre-commit\"|" $d.toml; cp $script $s/stories.copy; cp $script $s/stories.judged
        mkdir -p .git/hooks; printf '#!/bin/sh\n' >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit
        mkdir -p $s/git-files/common/hooks; cp -p .git/hooks/pre-commit $s/git-files/common/hooks/pre-commit"#,
    ),
    (
        "a list outside",
        r#"sed -i "s|^path = .*|path = \"$out/file\"|" $d.toml; cp $script $s/stories.copy; cp $script $s/stories.judged"#,
    ),
    (
        "a list above",
        r#"sed -i "s|^path = .*|path = \"../out/file\"|" $d.toml; cp $script $s/stories.copy; cp $script $s/stories.judged"#,
    ),
    (
        "a recorded hook",
        "mkdir -p $s/git-files/common/hooks; cp $script $s/git-files/common/hooks/pre-commit",
    ),
    (
        "hooks that are a link",
        "rm -rf $s/git-files/common/hooks; ln -s $out $s/git-files/common/hooks",
    ),
    (
        "hooks of git-ralph's",
        "mkdir -p $s/git-files/common/ralph/.hooks; cp $script $s/git-files/common/ralph/.hooks/pre-commit",
    ),
    (
        "a recorded configuration",
        r#"git config --file $s/git-files/common/config core.fsmonitor "$script"
        git config --file $s/git-files/common/config filter.evil.clean "$script"
        git config --file $s/git-files/common/config core.hooksPath "$out"
        git config --file $s/git-files/common/config ralph.verify "$script"
        mkdir -p .git/info; echo '* filter=evil' >$s/git-files/common/info/attributes"#,
    ),
    (
        "a configuration that includes another",
        r#"printf '[include]\npath = %s\n' "$out/config" >>$s/git-files/common/config
        printf '[core]\nfsmonitor = %s\n' "$script" >"$out/config""#,
    ),
    (
        "another common directory",
        r#"echo "$out" >$s/git-files/common/commondir"#,
    ),
    (
        "a script in place of each file",
        "find $d -type f -exec cp $script {} ';'",
    ),
    (
        "an ignored file that is a hook",
        r"for i in inventory inventory.start; do printf 'f - .git/hooks/pre-commit\0f - ../out/new\0f - .git/config.worktree\0' >>$s/unversioned/$i; done
        mkdir -p $s/unversioned/files/.git/hooks; cp $script $s/unversioned/files/.git/hooks/pre-commit
        printf '755 .git/hooks/pre-commit\0755 ../out/file\0' >>$s/unversioned/ignored-modes
        printf '4777 ../out/file\0777 ../out\0755 .git/config\0' >>$s/unversioned/modes
        printf 'e - ../out/empty\0' >>$s/unversioned/inventory.start",
    ),
    (
        "a submodule elsewhere",
        r#"oid=$(git rev-parse HEAD); for m in submodules submodules.start; do
        printf '[[submodule]]\npath = "../out/sub"\noid = "%s"\ngit_file = "gitdir: %s\\n"\n' "$oid" "$out" >$s/$m.toml; done"#,
    ),
    (
        "a plan",
        r#"sed -i 's|^phase = .*|phase = "ready"|; /^\[\[slots\]\]/,/^$/d' $d.toml; mkdir -p $d/trash/x
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
        "d=.git/ralph/{CHANGE}; s=$d/slots/1; out='{}'; evil=\"touch $notes/ran\"; script=$notes/script
        printf '#!/bin/sh\\ntouch \"%s/ran\"\\n' \"$notes\" >$script; chmod +x $script
        echo work >work; rm .env
        {tamper}
        kill -9 $(ps -o ppid= -p $PPID)",
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
fn commands_run_and_install_nothing_that_the_attempt_could_write() {
    // As many as there are commands, and one more: each tampering meets another command.
    let every = stride(COMMANDS.len() + 1, 1);
    let cases = TAMPERS
        .iter()
        .flat_map(|tamper| COMMANDS.iter().map(move |args| (tamper, args)));
    let cases: Vec<_> = cases.step_by(every).collect();
    std::thread::scope(|scope| {
        for part in cases.chunks(cases.len().div_ceil(4)) {
            scope.spawn(move || {
                for ((what, tamper), args) in part {
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
