//! What an attempt cannot reach in the box (`ralph.box`): a table of acts, each of which is done without the box.

use std::fs;
use std::process::{Child, Command};

use crate::support::{ACCEPT, Sandbox};

/// What must fail in the box: a name, what a shell does, and what shows outside that it was done. `$OUT` is the directory
/// around everything, `$TOP` the work tree, `$VICTIM` a process.
const ACTS: &[(&str, &str, &str)] = &[
    (
        "a startup file",
        "echo evil >>$HOME/.bashrc",
        "test -s $HOME/.bashrc",
    ),
    (
        "a key to sign in",
        "mkdir -p $HOME/.ssh; echo evil >$HOME/.ssh/authorized_keys",
        "test -e $HOME/.ssh/authorized_keys",
    ),
    (
        "the user's configuration",
        "echo '[core]' >>$HOME/.gitconfig",
        "grep -q core $HOME/.gitconfig",
    ),
    (
        "a program on PATH",
        "echo evil >$OUT/programs/evil",
        "test -e $OUT/programs/evil",
    ),
    (
        "another program",
        "echo evil >>$OUT/programs/tool",
        "grep -q evil $OUT/programs/tool",
    ),
    (
        "an agent's settings",
        "mkdir -p $HOME/.claude; echo evil >$HOME/.claude/settings.json",
        "test -e $HOME/.claude/settings.json",
    ),
    (
        "a new directory at home",
        "mkdir $HOME/evil",
        "test -e $HOME/evil",
    ),
    (
        "the shared library of cargo",
        "echo evil >$HOME/.cargo/config.toml",
        "test -e $HOME/.cargo/config.toml",
    ),
    ("an ssh key", "cp $HOME/.ssh/id_ed25519 $TOP/1", "test -s $TOP/1"),
    (
        "keys of a cloud",
        "cp $HOME/.aws/credentials $TOP/2",
        "test -s $TOP/2",
    ),
    (
        "the passwords of curl",
        "cp $HOME/.netrc $TOP/3",
        "test -s $TOP/3",
    ),
    (
        "the passwords of git",
        "cp $HOME/.git-credentials $TOP/4",
        "test -s $TOP/4",
    ),
    (
        "the sign-in of gh",
        "cp $HOME/.config/gh/hosts.yml $TOP/5",
        "test -s $TOP/5",
    ),
    (
        "the sign-in of docker",
        "cp $HOME/.docker/config.json $TOP/6",
        "test -s $TOP/6",
    ),
    (
        "the sign-in of kubectl",
        "cp $HOME/.kube/config $TOP/7",
        "test -s $TOP/7",
    ),
    ("a gpg key", "cp $HOME/.gnupg/key $TOP/8", "test -s $TOP/8"),
    ("the token of npm", "cp $HOME/.npmrc $TOP/9", "test -s $TOP/9"),
    (
        "the token of cargo",
        "cp $HOME/.cargo/credentials.toml $TOP/10",
        "test -s $TOP/10",
    ),
    (
        "the passwords of git, elsewhere",
        "cp $HOME/.config/git/credentials $TOP/11",
        "test -s $TOP/11",
    ),
    ("a history", "cp $HOME/.bash_history $TOP/12", "test -s $TOP/12"),
    (
        "a hard link to a key",
        "ln $HOME/.ssh/id_ed25519 $TOP/13 || cat $HOME/.ssh/id_ed25519 >$TOP/13",
        "test -s $TOP/13",
    ),
    (
        "a key through a link",
        "ln -s $HOME/.ssh/id_ed25519 $TOP/14; cat $TOP/14 >$TOP/14.copy",
        "test -s $TOP/14.copy",
    ),
    (
        "a token in the environment",
        "printf %s \"$GITHUB_TOKEN\" >$TOP/15",
        "test -s $TOP/15",
    ),
    (
        "a key in the environment",
        "printf %s \"$AWS_SECRET_ACCESS_KEY\" >$TOP/16",
        "test -s $TOP/16",
    ),
    (
        "the agent of ssh",
        "printf %s \"$SSH_AUTH_SOCK\" >$TOP/17",
        "test -s $TOP/17",
    ),
    (
        "what a CI job does next",
        "echo evil >>\"$GITHUB_ENV\"",
        "test -s $OUT/github-env",
    ),
    (
        "another process's environment",
        "tr '\\0' '\\n' </proc/$VICTIM/environ >$TOP/18",
        "grep -q VICTIMS_SECRET $TOP/18",
    ),
    (
        "another process",
        "kill -9 $VICTIM && while ! grep -q ' Z ' /proc/$VICTIM/stat; do :; done",
        "! test -e /proc/$VICTIM || grep -q ' Z ' /proc/$VICTIM/stat",
    ),
    (
        "the configuration of the repository",
        "git config core.fsmonitor evil",
        "grep -q fsmonitor $TOP/.git/config",
    ),
    (
        "a hook",
        "mkdir -p .git/hooks; echo evil >.git/hooks/post-checkout",
        "test -e $TOP/.git/hooks/post-checkout",
    ),
    (
        "attributes",
        "mkdir -p .git/info; echo '* filter=evil' >.git/info/attributes",
        "test -e $TOP/.git/info/attributes",
    ),
    (
        "a branch",
        "git branch evil",
        "git -C $TOP rev-parse -q --verify refs/heads/evil",
    ),
    (
        "a ref as a file",
        "echo evil >.git/refs/heads/evil2",
        "test -e $TOP/.git/refs/heads/evil2",
    ),
    (
        "an object",
        "mkdir -p .git/objects/aa; echo evil >.git/objects/aa/evil",
        "test -e $TOP/.git/objects/aa/evil",
    ),
    (
        "a commit",
        "echo x >c && git add c && git -c user.name=e -c user.email=e commit -qm evil",
        "git -C $TOP log --oneline | grep -q evil",
    ),
    ("the index", "rm .git/index", "! test -e $TOP/.git/index"),
    (
        "all of git's directory",
        "mv .git evil-git && mkdir .git",
        "test -e $TOP/evil-git/HEAD",
    ),
    (
        "an unmounted directory",
        "umount .git && echo evil >.git/evil",
        "test -e $TOP/.git/evil",
    ),
    (
        "another repository",
        "echo evil >>$OUT/other/file",
        "grep -q evil $OUT/other/file",
    ),
    (
        "another repository's files",
        "cp $OUT/other/file $TOP/19",
        "test -s $TOP/19",
    ),
    (
        "a file above the work tree",
        "echo evil >../evil",
        "test -e $OUT/evil",
    ),
    (
        "a file for a while",
        "cp $OUT/tmp-secret $TOP/20",
        "test -s $TOP/20",
    ),
    // Whoever can remove it shows that it was there, and leaves nothing.
    (
        "a file in /tmp",
        "echo evil >/tmp/git-ralph-$VICTIM",
        "rm /tmp/git-ralph-$VICTIM",
    ),
    (
        "a file in /var/tmp",
        "echo evil >/var/tmp/git-ralph-$VICTIM",
        "rm /var/tmp/git-ralph-$VICTIM",
    ),
    (
        "a file in /dev/shm",
        "echo evil >/dev/shm/git-ralph-$VICTIM",
        "rm /dev/shm/git-ralph-$VICTIM",
    ),
    (
        "the root of another process",
        "echo evil >/proc/$VICTIM/root$OUT/evil-root",
        "test -e $OUT/evil-root",
    ),
    (
        "a link out of the work tree",
        "ln -s $OUT/other out; echo evil >out/evil-link",
        "test -e $OUT/other/evil-link",
    ),
];

/// A process of the user's, which is killed in the end.
struct Victim(Child);

impl Victim {
    fn new() -> Self {
        let mut command = Command::new("sleep");
        Self(command.arg("1000").env("VICTIMS_SECRET", "x").spawn().unwrap())
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A repository with everything around it that the acts are after.
fn surroundings() -> Sandbox {
    let sandbox = Sandbox::new();
    let put = |path: &str, text: &str| {
        let path = sandbox.outside(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    for key in [
        ".ssh/id_ed25519",
        ".aws/credentials",
        ".netrc",
        ".git-credentials",
        ".config/gh/hosts.yml",
        ".docker/config.json",
        ".kube/config",
        ".gnupg/key",
        ".npmrc",
        ".cargo/credentials.toml",
        ".config/git/credentials",
        ".bash_history",
    ] {
        put(&format!("home/{key}"), "secret\n");
    }
    put("other/file", "other\n");
    put("tmp-secret", "secret\n");
    put("github-env", "");
    sandbox.install("tool", "true");
    sandbox
}

/// The variables of the acts, as lines of a shell.
fn variables(sandbox: &Sandbox, victim: &Victim) -> String {
    format!(
        "OUT='{}' TOP='{}' VICTIM={}\n",
        sandbox.outside("").display(),
        sandbox.top.display(),
        victim.0.id()
    )
}

fn with_keys(cmd: crate::support::Cmd, sandbox: &Sandbox) -> crate::support::Cmd {
    cmd.env("GITHUB_TOKEN", "secret")
        .env("AWS_SECRET_ACCESS_KEY", "secret")
        .env("SSH_AUTH_SOCK", "/run/agent")
        .env("GITHUB_ENV", sandbox.outside("github-env"))
}

/// The acts that were done, by what is found outside.
fn done(sandbox: &Sandbox, victim: &Victim) -> Vec<&'static str> {
    let shows = |check: &str| {
        let script = format!("{}{check} >/dev/null 2>&1", variables(sandbox, victim));
        sandbox.cmd("sh").args(["-c", &script]).run().code == 0
    };
    let acts = ACTS.iter().filter(|(_, _, check)| shows(check));
    acts.map(|(name, ..)| *name).collect()
}

#[test]
fn each_act_succeeds_without_a_box() {
    let first = surroundings();
    if !first.has_boxes() {
        return;
    }
    std::thread::scope(|scope| {
        for acts in ACTS.chunks(ACTS.len().div_ceil(4)) {
            scope.spawn(move || {
                for (_, act, check) in acts {
                    // The kernel refuses this one to everybody but root.
                    if act.starts_with("umount") {
                        continue;
                    }
                    let (sandbox, victim) = (surroundings(), Victim::new());
                    let lines = variables(&sandbox, &victim);
                    let script = format!("{lines}({act}) 2>/dev/null\n{check} >/dev/null");
                    with_keys(sandbox.cmd("sh"), &sandbox)
                        .args(["-c", &script])
                        .run()
                        .exits(0);
                }
            });
        }
    });
}

#[test]
fn box_prevents_each_act_of_agent_gate_hook_and_reviewer() {
    let first = surroundings();
    if !first.has_boxes() {
        return;
    }
    for who in ["agent", "gate", "hook", "reviewer"] {
        let (sandbox, victim) = (surroundings(), Victim::new());
        let lines = variables(&sandbox, &victim);
        let acts = ACTS.iter().map(|(_, act, _)| format!("({act}) 2>/dev/null\n"));
        let script = format!("{lines}{}echo was here >seen", acts.collect::<String>());
        sandbox.write(".git/acts", &script);
        let acting = format!("sh {}", sandbox.top.join(".git/acts").display());
        let agent = sandbox.completing(if who == "agent" { &acting } else { "echo x >x" });
        sandbox.start();
        if who == "hook" {
            sandbox.hook("ralph-pre-checkpoint", &acting);
        }
        let mut args = vec!["next", "--box=all"];
        if who == "reviewer" {
            let asked = format!("{acting} </dev/null; {ACCEPT}");
            sandbox.configure("ralph.review", &asked);
        }
        if who == "gate" {
            args.extend(["--verify", &acting]);
        }
        args.extend(["--", &agent]);
        let output = with_keys(sandbox.ralph_cmd(&args), &sandbox).run().exits(0);
        // What a reviewer makes in the work tree is put back.
        if who != "reviewer" {
            assert_eq!(sandbox.read("seen"), "was here\n", "{who}: {}", output.stderr);
        }
        assert_eq!(done(&sandbox, &victim), [] as [&str; 0], "{who}");
        let message = sandbox.git(&["log", "-1", "--format=%B"]);
        assert!(message.contains("Ralph-Box: bubblewrap\n"), "{message}");
        assert_eq!(sandbox.attempts()[0]["box"], "bubblewrap");
        assert_eq!(message.contains("Ralph-Review: "), who == "reviewer", "{message}");
        sandbox.nothing_is_alive();
    }
}
