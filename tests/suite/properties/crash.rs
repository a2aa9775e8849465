//! SIGKILL in the middle of an attempt, and two processes at once.

use std::fs;

use nix::sys::signal::Signal;

use crate::support::remote::Remote;
use crate::support::{CHANGE, Cmd, Sandbox, git, search_path, wait_for, write_program};

/// Kills git-ralph while the agent works; the agent lives on.
fn killed(sandbox: &Sandbox) {
    let agent = sandbox.agent(
        "echo x >x; rm README.md; git add -A; git commit -qm mine; echo >\"$notes/at-work\"; sleep 600",
    );
    let running = sandbox.direct(&["next", "--", &agent]).start();
    wait_for(&sandbox.notes.join("at-work"));
    running.signal(Signal::SIGKILL);
    // The agent still holds the pipes, so nobody waits for their end here.
    running.wait_for_its_end();
    assert_eq!(sandbox.state()["loop"]["phase"].as_str(), Some("running"));
}

#[test]
fn repository_that_an_attempt_put_in_the_place_of_the_own_one_is_not_used_after_a_kill() {
    for plant in [
        "cp -r .git \"$notes/copy\"; mv .git \"$notes/was\"; echo \"gitdir: $notes/copy\" >.git",
        "mv .git inner; echo 'gitdir: inner' >.git",
        "mv .git inner; ln -s inner .git",
    ] {
        let sandbox = Sandbox::new();
        sandbox.start();
        let agent = sandbox.agent(&format!(
            "echo x >x; {plant}; echo >\"$notes/at-work\"; sleep 600"
        ));
        let running = sandbox.direct(&["next", "--", &agent]).start();
        wait_for(&sandbox.notes.join("at-work"));
        running.signal(Signal::SIGKILL);
        running.wait_for_its_end();
        for refused in [&["next"] as &[&str], &["abort"], &["finish", "--keep"]] {
            sandbox
                .ralph(refused)
                .exits(7)
                .says("/.git is no directory, as it was when the loop began, and leads to")
                .says("rm ");
        }
        sandbox
            .ralph(&["status"])
            .exits(0)
            .says("is no directory, as it was");
        let link = sandbox.top.join(".git");
        let place = sandbox.git(&["rev-parse", "--absolute-git-dir"]);
        fs::remove_file(&link).unwrap();
        assert!(
            std::process::Command::new("mv")
                .arg(&place)
                .arg(&link)
                .status()
                .unwrap()
                .success()
        );
        sandbox.ralph(&["abort"]).exits(0);
        assert!(!sandbox.top.join("x").exists());
        assert_eq!(sandbox.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    }
}

#[test]
fn next_continues_after_a_crash() {
    let sandbox = Sandbox::dirty();
    sandbox.start();
    let files = sandbox.files();
    killed(&sandbox);
    let agent = sandbox.completing("ls >\"$notes/seen\"");
    sandbox
        .step("next", &agent)
        .exits(0)
        .says("attempt 1 of story 1 was interrupted; it does not count");
    assert!(!sandbox.noted("seen").contains("x\n"));
    assert!(sandbox.noted("seen").contains("README.md"));
    let mut now = sandbox.files();
    now.retain(|path, _| !path.ends_with("tasks.md"));
    let mut was = files;
    was.retain(|path, _| !path.ends_with("tasks.md"));
    assert_eq!(now, was);
    sandbox.nothing_is_alive();
    assert_eq!(sandbox.git(&["show", "refs/ralph/add-login/attempts/1/1:x"]), "x");
    let verdicts: Vec<_> = sandbox
        .attempts()
        .iter()
        .map(|attempt| attempt["verdict"].clone())
        .collect();
    assert_eq!(verdicts, ["interrupted", "complete"]);
}

#[test]
fn complete_accepts_no_work_tree_that_the_user_has_not_seen() {
    let sandbox = Sandbox::new();
    sandbox.start();
    killed(&sandbox);
    let complete = sandbox.ralph(&["complete"]).exits(1);
    complete.says("an attempt that was cut off is undone now: the work tree is not the one that you saw");
    assert_eq!(sandbox.subjects("HEAD")[0], "initial state");
    sandbox.ralph(&["complete"]).exits(0);
    assert_eq!(sandbox.subjects("HEAD")[0], "checkpoint: 1");
}

#[test]
fn status_finishes_a_step_after_a_crash() {
    let sandbox = Sandbox::dirty();
    sandbox.start();
    let print = sandbox.print();
    killed(&sandbox);
    let output = sandbox
        .ralph(&["status", CHANGE, "--json"])
        .exits(0)
        .says("was cut off");
    let status = output.json();
    assert_eq!(
        (&status["phase"], &status["next"]),
        (&"ready".into(), &"next".into())
    );
    sandbox.nothing_is_alive();
    assert_eq!(sandbox.print().files, print.files);
    sandbox.is_at_checkpoint();
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
}

#[test]
fn finish_after_a_crash_keeps_work_of_the_attempt() {
    let sandbox = Sandbox::dirty();
    sandbox.start();
    let files = sandbox.files();
    killed(&sandbox);
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    sandbox.nothing_is_alive();
    assert_eq!(sandbox.files(), files);
    assert_eq!(sandbox.git(&["branch", "--show-current"]), "main");
    assert_eq!(sandbox.git(&["show", "refs/ralph/add-login/attempts/1/1:x"]), "x");
}

#[test]
fn second_process_is_refused_while_the_first_runs() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.agent("echo >\"$notes/at-work\"; read go <\"$notes/go\"; complete");
    let fifo = sandbox.notes.join("go");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let running = sandbox.direct(&["next", "--", &agent]).start();
    wait_for(&sandbox.notes.join("at-work"));
    for args in [
        &["next", "--", "true"][..],
        &["retry", "--", "true"],
        &["run", CHANGE, "--", "true"],
        &["finish", "--cleanup"],
        &["complete"],
        &["fail"],
        &["revert"],
        &["start", CHANGE],
    ] {
        sandbox
            .ralph(args)
            .exits(75)
            .says("'add-login' is running (process ")
            .says("hint: watch it: git ralph watch add-login; stop it: git ralph stop add-login\n");
    }
    // Looking is possible all the time.
    assert_eq!(sandbox.status()["phase"], "running");
    sandbox.ralph(&["stories"]).exits(0);
    sandbox.ralph(&["log"]).exits(0);
    fs::write(&fifo, "go\n").unwrap();
    running.end().exits(0);
    assert_eq!(sandbox.subjects("HEAD")[0], "checkpoint: 1");
}

#[test]
fn steps_ignore_a_stale_lock_of_the_loops_own_index() {
    let sandbox = Sandbox::new();
    let dir = sandbox.top.join(format!(".git/ralph/{CHANGE}/slots/1"));
    std::fs::create_dir_all(&dir).unwrap();
    for step in ["start", "next", "next"] {
        std::fs::write(dir.join("work.index.lock"), "").unwrap();
        if step == "start" {
            sandbox.start();
        } else {
            sandbox.step(step, &sandbox.completing("echo x >>x")).exits(0);
        }
    }
}

/// A `git` first on `PATH` that goes on only when it is told to, the first time that it runs this verb.
fn with_slow_git(sandbox: &Sandbox, verb: &str, cmd: Cmd) -> Cmd {
    let real = sandbox.cmd("sh").args(["-c", "command -v git"]).run().exits(0);
    let dir = sandbox.outside("slow");
    fs::create_dir_all(&dir).unwrap();
    let shim = format!(
        "#!/bin/sh\ncase \" $* \" in *' {verb} '*)\nif mkdir '{0}/first' 2>/dev/null; then echo >'{0}/at-git'; \
         read go <'{0}/go'; fi ;; esac\nexec '{1}' \"$@\"\n",
        sandbox.notes.display(),
        real.stdout.trim()
    );
    write_program(&dir.join("git"), &shim);
    let dirs = std::iter::once(dir).chain(search_path());
    cmd.env("PATH", std::env::join_paths(dirs).unwrap())
}

#[test]
fn next_command_waits_for_a_git_that_outlived_git_ralph() {
    // Each is refused only after a while.
    std::thread::scope(|scope| {
        for (verb, args) in [
            ("add", &["start", CHANGE][..]),
            ("update-ref", &["start", CHANGE]),
            ("add", &["complete"]),
            ("update-ref", &["fail"]),
        ] {
            scope.spawn(|| outlived(verb, args));
        }
    });
}

/// Kills git-ralph at this git of a step; that git goes on only after the next command was refused.
fn outlived(verb: &str, args: &[&str]) {
    let sandbox = Sandbox::dirty();
    if args[0] != "start" {
        sandbox.start();
        sandbox.write("new.txt", "new\n");
    }
    let go = sandbox.notes.join("go");
    nix::unistd::mkfifo(&go, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let running = with_slow_git(&sandbox, verb, sandbox.direct(args)).start();
    wait_for(&sandbox.notes.join("at-git"));
    running.signal(Signal::SIGKILL);
    running.wait_for_its_end();
    sandbox
        .ralph(args)
        .exits(75)
        .says("a git process that it started for 'add-login' is still running");
    let waiting = sandbox.direct(args).start();
    fs::write(&go, "go\n").unwrap();
    let code = if args[0] == "fail" { 3 } else { 0 };
    let ended = waiting.end();
    assert_eq!(ended.code, code, "{verb} {args:?}: {}", ended.stderr);
    sandbox.is_at_checkpoint();
    if args[0] == "complete" {
        assert_eq!(sandbox.git(&["show", "HEAD:new.txt"]), "new");
    }
    sandbox.git(&["fsck", "--strict"]);
}

#[test]
fn git_that_waits_for_a_silent_remote_and_outlives_git_ralph_holds_nothing_up() {
    for verb in ["ls-remote", "fetch", "push"] {
        let remote = Remote::new();
        let sandbox = &remote.sandbox;
        let clone = remote.clone("clone", &[]);
        let agent = sandbox.completing("echo x >>f");
        let run = ["run", CHANGE, "--keep", "--", &agent];
        if verb == "fetch" {
            // There must be something to fetch.
            let there = remote.clone("there", &[]);
            there.ralph(&["start", CHANGE]).exits(0);
            there.ralph(&["push", CHANGE]).exits(0);
        }
        let go = sandbox.notes.join("go");
        nix::unistd::mkfifo(&go, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let cmd = with_slow_git(sandbox, verb, sandbox.direct(&run).dir(&clone.dir));
        let running = cmd.start();
        wait_for(&sandbox.notes.join("at-git"));
        running.signal(Signal::SIGKILL);
        running.wait_for_its_end();
        let ended = clone.ralph(&run);
        fs::write(&go, "go\n").unwrap();
        assert_eq!(ended.code, 0, "{verb}: {}", ended.stderr);
    }
}

#[test]
fn status_ends_a_git_of_the_attempt_before_it_looks_for_locks() {
    // `commit -a` holds the lock of the index while its editor runs.
    let commits = "echo x >>README.md; GIT_EDITOR=\"echo >'$notes/at-work'; sleep 600; :\" git commit -qa";
    for is_reviewer in [false, true] {
        let sandbox = Sandbox::dirty();
        if is_reviewer {
            sandbox.configure("ralph.review", &sandbox.agent(commits));
        }
        sandbox.start();
        let agent = if is_reviewer { "complete" } else { commits };
        let running = sandbox.direct(&["next", "--", &sandbox.agent(agent)]).start();
        wait_for(&sandbox.notes.join("at-work"));
        running.signal(Signal::SIGKILL);
        running.wait_for_its_end();
        sandbox
            .ralph(&["status", CHANGE])
            .exits(0)
            .says("attempt 1 of story 1 was interrupted; it does not count");
        sandbox.is_at_checkpoint();
        sandbox.nothing_is_alive();
    }
}

#[test]
fn status_waits_for_no_git_of_the_user_and_postpones_the_attempt() {
    let sandbox = Sandbox::dirty();
    sandbox.start();
    let agent = sandbox.agent("echo x >x; echo >\"$notes/at-work\"; sleep 600");
    let running = sandbox.direct(&["next", "--", &agent]).start();
    wait_for(&sandbox.notes.join("at-work"));
    let has_lock = sandbox.notes.join("has-lock");
    let editor = format!("echo >'{}'; sleep 600; :", has_lock.display());
    sandbox.write("README.md", "by the user\n");
    let git = sandbox
        .git_cmd(&["commit", "-qa"])
        .env("GIT_EDITOR", editor)
        .start();
    wait_for(&has_lock);
    running.signal(Signal::SIGKILL);
    running.wait_for_its_end();
    let output = sandbox.ralph(&["status", CHANGE]).exits(0);
    assert!(!output.stderr.contains("was interrupted"), "{}", output.stderr);
    assert_eq!(sandbox.state()["loop"]["phase"].as_str(), Some("running"));
    assert_eq!(sandbox.read("README.md"), "by the user\n");
    git.kill_group();
    sandbox
        .ralph(&["status", CHANGE])
        .exits(0)
        .says("was interrupted");
    sandbox.is_at_checkpoint();
    let kept = "refs/ralph/add-login/attempts/1/1:README.md";
    assert_eq!(sandbox.git(&["show", kept]), "by the user");
}

#[test]
fn attempt_whose_commit_is_pruned_before_a_ref_keeps_it_is_read_again() {
    let sandbox = Sandbox::dirty();
    sandbox.start();
    let script = format!(
        "case \" $* \" in *' update-ref '*) in=$(mktemp); cat >$in
         ! grep -aq refs/ralph/add-login/attempts/ $in || [ -e '{1}' ] || {{ touch '{1}'; '{0}' prune --expire=now; }}
         '{0}' \"$@\" <$in; code=$?; rm $in; exit $code ;; esac\nexec '{0}' \"$@\"",
        git().display(),
        sandbox.notes.join("pruned").display()
    );
    sandbox.install("git", &script);
    let agent = sandbox.failing("echo x >x; rm README.md");
    let output = sandbox.direct(&["next", "--", &agent]).run().exits(3);
    let named = "cannot be kept as refs/ralph/add-login/attempts/1/1: the commit is gone";
    assert!(output.stderr.contains(named), "{}", output.stderr);
    fs::remove_file(sandbox.outside("programs/git")).unwrap();
    sandbox.is_at_checkpoint();
    let kept = "refs/ralph/add-login/attempts/1/1";
    assert_eq!(sandbox.git(&["show", &format!("{kept}:x")]), "x");
    assert!(
        !sandbox
            .git(&["ls-tree", "--name-only", kept])
            .contains("README.md")
    );
    sandbox.ralph(&["abort"]).exits(0);
}

#[test]
fn no_ref_of_a_judged_tree_without_a_record_is_left() {
    let sandbox = Sandbox::dirty();
    sandbox.configure("ralph.verify", "true");
    sandbox.start();
    let script = format!(
        "case \" $* \" in *' update-ref '*) in=$(cat); printf '%s\\n' \"$in\" | '{0}' \"$@\"; code=$?
         case $in in *refs/ralph/add-login/judged*) kill -KILL $PPID ;; esac; exit $code ;; esac\nexec '{0}' \"$@\"",
        git().display()
    );
    sandbox.install("git", &script);
    let agent = sandbox.completing("echo x >x");
    sandbox.direct(&["next", "--", &agent]).run().exits(137);
    fs::remove_file(sandbox.outside("programs/git")).unwrap();
    let judged = ["for-each-ref", "refs/ralph/add-login/judged"];
    assert_ne!(sandbox.git(&judged), "");
    sandbox
        .ralph(&["status", CHANGE])
        .exits(0)
        .says("was interrupted");
    assert_eq!(sandbox.git(&judged), "");
    sandbox.is_at_checkpoint();
}

#[test]
fn processes_left_by_gates_hooks_and_filters_hold_no_lock() {
    let sandbox = Sandbox::dirty();
    let see = |name: &str| format!("ls -l /proc/self/fd >\"{}/{name}\"", sandbox.notes.display());
    sandbox.configure("ralph.verify", &see("gate"));
    sandbox.hook("ralph-post-attempt", &see("hook"));
    // A filter of the user's leaves a process behind, with all that git has given to it.
    let daemon = format!(
        "sh -c 'test -e \"{0}\" || {{ sleep 1000 >/dev/null 2>&1 & echo $! >\"{0}\"; }}; cat'",
        sandbox.notes.join("daemon").display()
    );
    sandbox.configure("filter.f.clean", &daemon);
    sandbox.write(".gitattributes", "*.f filter=f\n");
    sandbox.write("one.f", "one\n");
    sandbox.start();
    assert!(!sandbox.noted("daemon").is_empty());
    sandbox.step("next", &sandbox.completing(&see("agent"))).exits(0);
    for name in ["gate", "hook", "agent"] {
        assert!(
            !sandbox.noted(name).contains(".lock"),
            "{name}: {}",
            sandbox.noted(name)
        );
    }
    let pid = sandbox.noted("daemon").trim().parse().unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), Signal::SIGKILL).unwrap();
}

#[test]
fn finish_and_abort_can_be_repeated_after_a_kill() {
    let done = || {
        let sandbox = Sandbox::new();
        sandbox.start();
        sandbox
            .step("next", &sandbox.completing("echo new >new"))
            .exits(0);
        sandbox
    };
    for args in [&["finish", "--cleanup"][..], &["finish", "--keep"], &["abort"]] {
        let sandbox = done();
        sandbox.cut_off(args);
        sandbox.ralph(args).exits(0).says("is completed now");
        assert_eq!(sandbox.status()["phase"], "finished");
        // Only what was cut off is done by that.
        sandbox.ralph(args).exits(1).says("is over: closed");
    }
    let sandbox = done();
    sandbox.cut_off(&["abort"]);
    let finish = sandbox.ralph(&["finish", "--keep"]).exits(1);
    finish.says("abort is completed now").says("is over: closed");
}

#[test]
fn complete_and_fail_repeated_after_a_kill_count_once() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.write("work", "of the first story\n");
    sandbox.cut_off(&["complete"]);
    let said = sandbox.ralph(&["complete"]).exits(0);
    said.says("a checkpoint is completed now");
    assert_eq!(sandbox.status()["stories_done"], 1);
    sandbox.write("work", "of the second\n");
    sandbox.cut_off(&["fail", "red"]);
    let said = sandbox.ralph(&["fail", "red"]).exits(3);
    said.says("going back to the checkpoint is completed now");
    assert_eq!(sandbox.status()["current"]["retries"], 0);
    assert_eq!(sandbox.attempts().len(), 2);
    // What is said next is said of what is there now.
    sandbox.ralph(&["fail", "red"]).exits(3);
    assert_eq!(sandbox.status()["current"]["retries"], 1);
}

#[test]
fn status_names_the_end_that_was_cut_off() {
    for (args, problem) in [
        (&["finish", "--cleanup"][..], "finish was cut off"),
        (&["abort"], "abort was cut off"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.start();
        let agent = sandbox.completing("echo new >new; echo more >>README.md");
        sandbox.step("next", &agent).exits(0);
        if args.len() > 1 {
            // The files change only if the original branch has moved.
            let base = sandbox.git(&["commit-tree", "-p", "main", "-m", "moved", "main^{tree}"]);
            sandbox.git(&["update-ref", "refs/heads/main", &base]);
        }
        sandbox.cut_off(args);
        sandbox.write("README.md", "mine\n");
        let shown = sandbox.ralph(&["status", CHANGE]).exits(0);
        let steps = shown.stdout.lines().filter(|line| line.contains("(use \""));
        let command = args.join(" ");
        assert_eq!(
            steps.collect::<Vec<_>>(),
            [format!(
                "  (use \"git ralph {command} add-login\" to complete it)"
            )],
            "{shown:?}"
        );
        assert_eq!(sandbox.status()["problem"], problem);
        sandbox.ralph(args).exits(0).says("is completed now");
    }
}
