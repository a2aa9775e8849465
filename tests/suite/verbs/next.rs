//! `git ralph next`: what it needs, what it refuses, and the checkpoint that a complete story gets.

use std::fs;

use crate::support::{CHANGE, Cmd, Sandbox, TASKS, search_path, write_program};

#[test]
fn complete_makes_the_checkpoint() {
    let sandbox = Sandbox::started();
    let before = sandbox.git(&["rev-parse", "HEAD"]);
    let agent = sandbox.completing("echo new >new.txt; rm README.md; chmod +x src/lib.txt; echo x >x.log");
    sandbox
        .step("next", &agent)
        .exits(0)
        .says("1 of 3 stories are complete")
        .answers_nothing();
    assert_eq!(
        sandbox.git(&["log", "-1", "--format=%s"]).trim_end(),
        "checkpoint: 1"
    );
    assert_eq!(sandbox.git(&["rev-parse", "HEAD^"]), before);
    sandbox.is_at_checkpoint();
    let changed = sandbox.git(&["diff", "--name-status", "HEAD^", "HEAD"]);
    assert_eq!(
        changed,
        "D\tREADME.md\nA\tnew.txt\nM\topenspec/changes/add-login/tasks.md\nM\tsrc/lib.txt"
    );
    assert_eq!(sandbox.read("x.log"), "x\n");
    assert_eq!(sandbox.status()["stories_done"], 1);
}

#[test]
fn a_checkpoint_is_made_even_when_nothing_changed() {
    let sandbox = Sandbox::new();
    sandbox.start();
    // The boxes are ticked by the agent of story 1 for the story after it.
    let agent = sandbox.completing(&format!("sed -i 's/\\[ \\]/[x]/' {TASKS}"));
    sandbox.step("next", &agent).exits(0);
    sandbox.write(TASKS, "## 9. Nothing\n- [ ] 9.1 To do\n");
    let agent = sandbox.completing(&format!("sed -i 's/\\[ \\]/[x]/' {TASKS}; git commit -qam all"));
    sandbox.step("next", &agent).exits(0);
    let log = sandbox.subjects("HEAD");
    assert_eq!(log[..2], ["checkpoint: 9", "all"]);
    assert_eq!(
        sandbox.git(&["rev-parse", "HEAD^{tree}"]),
        sandbox.git(&["rev-parse", "HEAD^^{tree}"])
    );
}

#[test]
fn the_agents_own_commits_stay_below() {
    let sandbox = Sandbox::started();
    let agent = sandbox.completing(
        "echo a >a; git add a; git commit -qm 'mine 1'; echo b >b; git add b; git commit -qm 'mine 2'; echo c >c",
    );
    sandbox.step("next", &agent).exits(0);
    assert_eq!(
        sandbox.subjects("HEAD"),
        ["checkpoint: 1", "mine 2", "mine 1", "initial state", "first"]
    );
    assert_eq!(
        sandbox.git(&["diff", "--name-only", "HEAD^", "HEAD"]),
        format!("c\n{TASKS}")
    );
}

#[test]
fn the_users_hooks_signing_and_refs_of_odd_names_do_not_matter() {
    let sandbox = Sandbox::dirty();
    for hook in [
        "pre-commit",
        "commit-msg",
        "post-checkout",
        "prepare-commit-msg",
        "post-commit",
    ] {
        sandbox.hook(hook, "echo \"$0\" >>README.md; exit 1");
    }
    for (key, value) in [
        ("commit.gpgsign", "true"),
        ("gpg.program", "false"),
        ("merge.ff", "false"),
        ("color.ui", "always"),
        ("core.pager", "false"),
        ("commit.template", "no-such-file"),
        ("core.editor", "false"),
        ("status.short", "true"),
        ("core.autocrlf", "input"),
        ("diff.noprefix", "true"),
        ("log.showSignature", "true"),
    ] {
        sandbox.configure(key, value);
    }
    sandbox.git(&["tag", "ralph/add-login"]);
    sandbox.git(&["tag", "main"]);
    sandbox.write("HEAD", "a file\n");
    sandbox.write("main", "a file\n");
    sandbox.write("ralph/add-login", "a file\n");
    let tag = sandbox.git(&["rev-parse", "refs/tags/ralph/add-login"]);
    let before = sandbox.files();
    sandbox.start();
    let failing = sandbox.failing("echo x >HEAD; rm main; echo x >new");
    sandbox.step("next", &failing).exits(3);
    assert_eq!(sandbox.files(), before);
    let agent = sandbox.completing("echo more >>HEAD");
    sandbox.step("retry", &agent).exits(0);
    let tip = sandbox.git(&["rev-parse", "refs/heads/ralph/add-login"]);
    assert_eq!(
        sandbox.git(&["log", "-1", "--format=%s", "--no-show-signature", &tip]),
        "checkpoint: 1"
    );
    assert_eq!(sandbox.git(&["rev-parse", "refs/tags/ralph/add-login"]), tag);
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    assert_eq!(sandbox.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!(sandbox.read("HEAD"), "a file\nmore\n");
    assert_eq!(sandbox.read("README.md"), "# Edited\n");
    let gone = sandbox.git_cmd(&["rev-parse", "-q", "--verify", "refs/heads/ralph/add-login"]);
    gone.run().exits(1);
}

#[test]
fn no_identity_does_not_matter() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "--unset", "user.name"]);
    sandbox.git(&["config", "--unset", "user.email"]);
    sandbox.configure("user.useConfigOnly", "true");
    sandbox.start();
    let agent = sandbox.completing("echo x >x");
    sandbox.step("next", &agent).exits(0);
    assert_eq!(sandbox.git(&["log", "-1", "--format=%cn"]), "git-ralph");
}

#[test]
fn next_reports_committed_edits_only_after_the_commit() {
    let sandbox = Sandbox::started();
    sandbox.write("by-hand.txt", "mine\n");
    let args = ["next", "--", "sh", "-c", "true"];
    // Git moves no ref in a quarantine.
    let refused = sandbox.ralph_cmd(&args).env("GIT_QUARANTINE_PATH", "x").run();
    assert!(
        refused.code != 0 && !refused.stderr.contains("were committed"),
        "{}",
        refused.stderr
    );
    sandbox
        .ralph(&["status"])
        .exits(0)
        .says("a checkpoint is completed now");
    assert_eq!(sandbox.subjects("HEAD")[0], "checkpoint: edits before 1");
}

#[test]
fn edits_between_steps_are_a_checkpoint_of_their_own() {
    let sandbox = Sandbox::started();
    sandbox.write("by-hand.txt", "mine\n");
    sandbox.write("README.md", "# By hand\n");
    let agent = sandbox.failing("rm by-hand.txt; echo x >README.md");
    sandbox
        .step("next", &agent)
        .exits(3)
        .says("your edits since the last checkpoint were committed before story 1");
    assert_eq!(sandbox.read("by-hand.txt"), "mine\n");
    assert_eq!(sandbox.read("README.md"), "# By hand\n");
    assert_eq!(sandbox.subjects("HEAD")[0], "checkpoint: edits before 1");
    let agent = sandbox.completing("true");
    sandbox.step("retry", &agent).exits(0);
    sandbox.write("by-hand.txt", "committed\n");
    sandbox.git(&["commit", "-qam", "my own"]);
    sandbox.step("next", &agent).exits(0);
    assert_eq!(
        sandbox.subjects("HEAD")[..3],
        ["checkpoint: 2", "checkpoint: edits before 2", "my own"]
    );
}

#[test]
fn next_refuses_while_head_is_on_another_branch() {
    let sandbox = Sandbox::started();
    sandbox.git(&["checkout", "-q", "main"]);
    let before = sandbox.print();
    let agent = sandbox.completing("true");
    sandbox
        .ralph(&["next", CHANGE, "--", &agent])
        .exits(7)
        .says("HEAD is on main, not on ralph/add-login")
        .says("hint: git checkout ralph/add-login");
    assert_eq!(sandbox.print(), before);
    sandbox.git(&["checkout", "-q", "ralph/add-login"]);
    sandbox.git(&["commit", "-q", "--amend", "-m", "by hand"]);
    sandbox
        .step("next", &agent)
        .exits(7)
        .says("no longer contains its checkpoint");
    let status = sandbox.ralph(&["status"]).exits(0).stdout;
    assert!(
        status.contains("ralph/add-login no longer contains its checkpoint"),
        "{status}"
    );
    assert!(!status.contains("git ralph next"), "{status}");
}

#[test]
fn next_names_the_other_branch_even_if_the_list_is_missing() {
    let sandbox = Sandbox::new();
    sandbox.write("plan.md", "- [ ] 1 Database\n- [ ] 2 Pages\n");
    sandbox.ralph(&["start", CHANGE, "--stories", "plan.md"]).exits(0);
    sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
    sandbox.git(&["checkout", "-q", "main"]);
    let agent = sandbox.completing("true");
    sandbox
        .ralph(&["next", CHANGE, "--", &agent])
        .exits(7)
        .says("HEAD is on main, not on ralph/add-login");
}

#[test]
fn next_does_nothing_without_an_agent() {
    let sandbox = Sandbox::started();
    let (print, state) = (sandbox.print(), sandbox.state());
    sandbox
        .ralph(&["next"])
        .exits(1)
        .says("no agent is configured")
        .says("hint: git ralph next -- ");
    sandbox
        .step("next", "no-such-agent")
        .exits(1)
        .says("cannot find the agent 'no-such-agent'");
    assert_eq!((sandbox.print(), sandbox.state()), (print, state));
}

#[test]
fn a_configured_agent_is_a_shell_line() {
    let sandbox = Sandbox::new();
    let agent = sandbox.completing("echo \"$1\" >\"$notes/arg\"; cat >\"$notes/prompt\"");
    sandbox.configure("ralph.agent", &format!("{agent} 'a b'"));
    sandbox.start();
    sandbox.ralph(&["next"]).exits(0);
    assert_eq!(sandbox.noted("arg"), "a b\n");
    assert!(sandbox.noted("prompt").contains("1.1 Add the table"));
    let file = sandbox.completing("cp \"$1\" \"$notes/copy\"; wc -c >\"$notes/stdin\"");
    sandbox.ralph(&["next", "--", &file, "{prompt_file}"]).exits(0);
    assert!(sandbox.noted("copy").contains("2.1 Check the password"));
    assert_eq!(sandbox.noted("stdin").trim(), "0");
}

#[test]
fn no_story_left_is_exit_5() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.completing("true");
    for _ in 0..3 {
        sandbox.step("next", &agent).exits(0);
    }
    let print = sandbox.print();
    for step in ["next", "retry"] {
        let output = sandbox.step(step, &agent).exits(5);
        output
            .says("nothing left to do: 3 of 3")
            .says("hint: git ralph finish --cleanup add-login");
    }
    assert_eq!(sandbox.print(), print);
}

#[test]
fn gates_must_succeed() {
    let sandbox = Sandbox::new();
    let gate = "for i in $(seq 1 60); do echo line $i; done; test -f wanted";
    sandbox
        .ralph(&["start", CHANGE, "--verify", gate, "--allow-red"])
        .exits(0);
    let agent = sandbox.completing("cat >\"$notes/prompt\"; echo x >x");
    sandbox.step("next", &agent).exits(3);
    assert_eq!(sandbox.verdict(), "gate_failed");
    sandbox.is_at_checkpoint();
    assert!(!sandbox.top.join("x").exists());
    sandbox.step("retry", &agent).exits(3);
    let prompt = sandbox.noted("prompt");
    assert!(
        prompt.contains("> line 60\n") && prompt.contains("> line 21\n"),
        "{prompt}"
    );
    assert!(!prompt.contains("> line 20\n"), "{prompt}");
    let agent = sandbox.completing("echo x >wanted");
    sandbox.step("retry", &agent).exits(0);
    assert_eq!(sandbox.subjects("HEAD")[0], "checkpoint: 1");
}

/// A `git` that logs its arguments, first on `PATH`.
fn with_logged_git(sandbox: &Sandbox, cmd: Cmd) -> Cmd {
    let real = sandbox.cmd("sh").args(["-c", "command -v git"]).run().exits(0);
    let real = real.stdout.trim().to_owned();
    let bin = sandbox.outside("bin");
    fs::create_dir_all(&bin).unwrap();
    let log = sandbox.notes.join("git.log");
    let shim = format!(
        "#!/bin/sh\nprintf '%s ' \"$@\" >>'{}'\necho >>'{0}'\nexec '{real}' \"$@\"\n",
        log.display()
    );
    write_program(&bin.join("git"), &shim);
    let _ = fs::remove_file(&log);
    let dirs = std::iter::once(bin).chain(search_path());
    cmd.env("PATH", std::env::join_paths(dirs).unwrap())
}

/// The verbs of the git commands that ran.
fn logged(sandbox: &Sandbox) -> Vec<String> {
    let verb = |line: &str| {
        let mut words = line.split(' ');
        while let Some(word) = words.next() {
            match word {
                "-C" | "-c" => drop(words.next()),
                verb => return verb.to_owned(),
            }
        }
        String::new()
    };
    sandbox.noted("git.log").lines().map(verb).collect()
}

#[test]
fn no_step_runs_porcelain_and_each_runs_few_commands() {
    let sandbox = Sandbox::dirty();
    let completing = sandbox.completing("echo x >x");
    let failing = sandbox.failing("echo x >y");
    for (args, code, most) in [
        (&["start", CHANGE][..], 0, 25),
        (&["status", CHANGE], 0, 3),
        (&["next", "--", &completing], 0, 25),
        (&["next", "--", &failing], 3, 32),
        (&["finish", "--cleanup"], 0, 16),
    ] {
        with_logged_git(&sandbox, sandbox.direct(args)).run().exits(code);
        let verbs = logged(&sandbox);
        for porcelain in [
            "merge", "checkout", "commit", "reset", "clean", "switch", "restore", "stash", "branch",
        ] {
            assert!(
                !verbs.iter().any(|verb| verb == porcelain),
                "{porcelain} in {args:?}: {verbs:?}"
            );
        }
        assert!(
            verbs.len() <= most,
            "{} git commands in {args:?}: {verbs:?}",
            verbs.len()
        );
    }
}

#[test]
fn steps_make_git_sync_its_writes_to_disk() {
    let sandbox = Sandbox::dirty();
    let agent = sandbox.failing("echo x >x");
    for args in [&["start", CHANGE][..], &["next", "--", &agent]] {
        with_logged_git(&sandbox, sandbox.direct(args)).run();
        for line in sandbox.noted("git.log").lines() {
            let writes = [
                " add ",
                " commit-tree ",
                " update-ref ",
                " symbolic-ref -m",
                " write-tree",
            ];
            if writes.iter().any(|verb| line.contains(verb)) {
                assert!(line.contains("-c core.fsync=committed,reference "), "{line}");
                assert!(line.contains("-c gc.auto=0 "), "{line}");
            }
        }
    }
}

#[test]
fn an_amended_checkpoint_is_left_with_the_edit_in_the_work_tree() {
    let sandbox = Sandbox::started();
    sandbox
        .step("next", &sandbox.completing("echo one >one"))
        .exits(0);
    sandbox.write("one", "one\nand mine\n");
    sandbox.git(&["commit", "-q", "-a", "--amend", "-m", "mine"]);
    let refused = sandbox
        .step("next", &sandbox.completing("echo two >two"))
        .exits(7);
    let hint = refused
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("hint: "))
        .unwrap();
    let status = sandbox.ralph(&["status"]).exits(0).stdout;
    assert!(status.contains(&format!("(use \"{hint}\" ")), "{status}");
    sandbox.cmd("sh").args(["-c", hint]).run().exits(0);
    assert_eq!(sandbox.read("one"), "one\nand mine\n");
    sandbox
        .step("next", &sandbox.completing("echo two >two"))
        .exits(0);
    assert_eq!(sandbox.git(&["show", "HEAD:one"]), "one\nand mine");
}

#[test]
fn failed_attempt_reports_an_edited_list_and_restores_it() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let list = sandbox.read(TASKS);
    let edit = format!("sed -i 's/- \\[ \\] 1.1/- [x] 1.1/' {TASKS}");
    let ticked = sandbox.step("next", &sandbox.failing(&edit)).exits(3);
    assert!(!ticked.stderr.contains("was edited"), "{}", ticked.stderr);
    let edit = format!("echo '- [ ] 3.9 One more' >>{TASKS}");
    sandbox
        .step("retry", &sandbox.failing(&edit))
        .exits(3)
        .says(&format!("{TASKS} was edited during the attempt"))
        .says("the edit is kept: git ralph diff add-login 1@2");
    assert_eq!(sandbox.read(TASKS), list);
}

#[test]
fn without_a_loop_the_only_open_change_or_the_mistake_in_its_list_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("openspec/changes/old/tasks.md", "- [x] 1. Done\n");
    let verbs: [&[&str]; 3] = [&["next", "--", "true"], &["complete"], &["finish", "--keep"]];
    for verb in verbs {
        sandbox
            .ralph(verb)
            .exits(1)
            .says("no loop has been started in this repository\nhint: git ralph start add-login\n");
    }
    sandbox
        .ralph(&["status"])
        .exits(0)
        .says("to begin one: git ralph start add-login\n");
    fs::remove_dir_all(sandbox.top.join("openspec/changes/old")).unwrap();
    sandbox.write(TASKS, "no boxes\n");
    let why = format!("{TASKS} has no stories");
    for verb in verbs {
        sandbox.ralph(verb).exits(1).says(&why).says("add a task such as");
    }
    let status = sandbox.ralph(&["status"]).exits(0);
    status.says(&format!("no loop has been started in this repository; {why}\n"));
    sandbox.configure("ralph.adapter", "foo");
    for verb in verbs {
        sandbox.ralph(verb).exits(1).says("unknown adapter 'foo'");
    }
}
