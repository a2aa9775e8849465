//! Loops with work trees of their own, many at once in one repository.

use std::fs;

use serde_json::Value;

use crate::support::{CHANGE, Sandbox, wait_for, wait_until, working_git};

#[test]
fn eight_loops_work_side_by_side() {
    let sandbox = Sandbox::new();
    let names: Vec<String> = (1..=8).map(|number| format!("side-{number}")).collect();
    for name in &names {
        let list = "## 1. One\n- [ ] 1.1 a\n\n## 2. Two\n- [ ] 2.1 b\n";
        sandbox.write(&format!("openspec/changes/{name}/tasks.md"), list);
    }
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "changes"]);
    // As often as git can: it packs refs and objects meanwhile.
    sandbox.configure("gc.auto", "1");
    sandbox.configure("gc.autoDetach", "false");
    let agent = sandbox.agent(
        "n=$(ls \"$notes\" | grep -c failed-$RALPH_CHANGE); echo \"$RALPH_STORY\" >>\"work-$RALPH_CHANGE\"
         git add -A; git commit -qm \"by the agent of $RALPH_CHANGE\"; git gc -q --auto 2>/dev/null
         [ $n = 1 ] || { echo >\"$notes/failed-$RALPH_CHANGE\"; failed 'first try'; exit; }; complete",
    );
    let run = |name: &String| {
        let args = ["run", name, "--worktree", "--keep", "--", &agent];
        sandbox.direct(&args).patiently().start()
    };
    let running: Vec<_> = names.iter().map(run).collect();
    for (running, name) in running.into_iter().zip(&names) {
        let output = running.end().exits(0);
        assert!(
            !output.stderr.contains("during the attempt"),
            "{name}:\n{}",
            output.stderr
        );
    }
    for name in &names {
        let work = sandbox.git(&["show", &format!("ralph/{name}:work-{name}")]);
        assert_eq!(work, "1\n2", "{name}");
        let files = sandbox.git(&["ls-tree", "--name-only", &format!("ralph/{name}")]);
        assert_eq!(
            files.lines().filter(|file| file.starts_with("work-")).count(),
            1,
            "{name}"
        );
        let log = sandbox.ralph(&["log", name, "--json"]).exits(0).json();
        let verdicts: Vec<&Value> = log["attempts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| &one["verdict"])
            .collect();
        assert_eq!(verdicts, ["failed", "complete", "complete"], "{name}");
        sandbox.git(&["cat-file", "-e", &format!("refs/ralph/{name}/attempts/1/1")]);
    }
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
    assert_eq!(sandbox.git(&["worktree", "list"]).lines().count(), 9);
    let status = sandbox.ralph(&["status", "--json"]).exits(0).json();
    assert_eq!(status.as_array().unwrap().len(), 8);
    let page = sandbox.ralph(&["report", "--all", "-o", "-"]).exits(0).stdout;
    assert!(names.iter().all(|name| page.contains(name.as_str())));
}

#[test]
fn the_watcher_sees_loops_of_several_work_trees() {
    let sandbox = Sandbox::new();
    sandbox.write("openspec/changes/second/tasks.md", "## 1. One\n- [ ] 1.1 a\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "second"]);
    let go = sandbox.notes.join("go");
    let agent = sandbox.agent(
        "echo >\"$notes/began-$RALPH_CHANGE\"; until test -e \"$notes/go\"; do sleep 0.05; done; echo x >>x; complete",
    );
    let run = |change: &str| {
        let running = sandbox
            .direct(&["run", change, "--worktree", "--keep", "--", &agent])
            .start();
        wait_for(&sandbox.notes.join(format!("began-{change}")));
        running
    };
    let running = [run(CHANGE), run("second")];
    let watching = sandbox.direct(&["watch", "--plain"]).on_terminal(80).start();
    wait_until("both", || {
        let seen = watching.seen();
        seen.contains("add-login: [1/3] 1. Database") && seen.contains("second: [1/1] 1. One")
    });
    fs::write(&go, "").unwrap();
    for running in running {
        running.end().exits(0);
    }
    let seen = watching.end().stdout;
    assert!(seen.contains("second: finished: on ralph/second"), "{seen}");
}

#[test]
fn a_lock_that_a_git_in_another_work_tree_can_hold_is_left() {
    let sandbox = Sandbox::new();
    sandbox.ralph(&["start", CHANGE, "--worktree"]).exits(0);
    let lock = sandbox.top.join(".git/packed-refs.lock");
    let git = working_git(|args| sandbox.git_cmd(args));
    fs::write(&lock, "").unwrap();
    sandbox
        .ralph(&["revert", CHANGE])
        .exits(75)
        .says("packed-refs.lock");
    assert!(lock.exists());
    git.signal(nix::sys::signal::Signal::SIGKILL);
    git.wait_for_its_end();
    sandbox.ralph(&["revert", CHANGE]).exits(0);
    assert!(!lock.exists());
}

#[test]
fn a_stale_lock_beside_a_git_that_only_reads_costs_no_attempt() {
    let sandbox = Sandbox::started();
    // As in a pager.
    let reads = sandbox.git_cmd(&["log", "--stdin"]).typing("").start();
    let comm = format!("/proc/{}/comm", reads.pid);
    wait_until("git runs", || {
        fs::read_to_string(&comm).is_ok_and(|name| name.trim() == "git")
    });
    let agent = sandbox.completing("echo x >new; touch -t 203801010000 .git/packed-refs.lock");
    sandbox
        .step("next", &agent)
        .exits(0)
        .says("the attempt left locks in the repository; they are removed");
    assert_eq!(sandbox.git(&["show", "ralph/add-login:new"]), "x");
    reads.signal(nix::sys::signal::Signal::SIGKILL);
    reads.wait_for_its_end();
}

#[test]
fn attempt_cannot_use_a_stash_of_several_work_trees() {
    let sandbox = Sandbox::new();
    sandbox.ralph(&["start", CHANGE, "--worktree"]).exits(0);
    // What another loop, or the user, puts there meanwhile.
    sandbox.write("README.md", "# Mine\n");
    sandbox.git(&["stash", "-q"]);
    let agent = sandbox.completing(
        "echo x >x; echo more >>src/lib.txt; git stash push -q -u && echo stashed >stashed; true",
    );
    sandbox
        .step("next", &agent)
        .exits(0)
        .says("what the attempt wanted to put there is kept as refs/ralph/add-login/attempts/1/1-stash");
    assert_eq!(sandbox.git(&["show", "ralph/add-login:x"]), "x");
    sandbox
        .git_cmd(&["cat-file", "-e", "ralph/add-login:stashed"])
        .run()
        .exits(128);
    assert_eq!(sandbox.git(&["stash", "list"]).lines().count(), 1);
    let kept = sandbox.git(&["show", "refs/ralph/add-login/attempts/1/1-stash:src/lib.txt"]);
    assert!(kept.ends_with("more"), "{kept}");
}

#[test]
fn a_refused_stash_entry_of_a_killed_attempt_is_kept() {
    let sandbox = Sandbox::new();
    sandbox.ralph(&["start", CHANGE, "--worktree"]).exits(0);
    // The autostash conflicts, cannot be stored, and its rebase ends without it.
    let agent = sandbox.agent(
        "echo one >>src/lib.txt; git commit -qam one; git checkout -q --detach HEAD^; echo more >>src/lib.txt
         git rebase -q --autostash ralph/add-login; git reset -q --hard
         kill -9 $(ps -o ppid= -p $PPID)",
    );
    sandbox.step("next", &agent).exits(137);
    sandbox
        .ralph(&["status"])
        .exits(0)
        .says("what the attempt wanted to put there is kept as refs/ralph/add-login/attempts/1/1-stash");
    let kept = sandbox.git(&["show", "refs/ralph/add-login/attempts/1/1-stash:src/lib.txt"]);
    assert!(kept.ends_with("more"), "{kept}");
}

#[test]
fn branch_that_a_loop_moved_which_has_ended_meanwhile_is_put_back() {
    let sandbox = Sandbox::new();
    sandbox.write("openspec/changes/second/tasks.md", "## 1. One\n- [ ] 1.1 a\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "second"]);
    for change in [CHANGE, "second"] {
        sandbox.ralph(&["start", change, "--worktree"]).exits(0);
    }
    let waits = sandbox
        .completing("touch \"$notes/began\"; until test -e \"$notes/go\"; do sleep 0.05; done; echo x >x");
    let running = sandbox.direct(&["next", CHANGE, "--", &waits]).start();
    wait_for(&sandbox.notes.join("began"));
    let moves = format!("env -u GIT_CONFIG_COUNT git update-ref refs/heads/ralph/{CHANGE} main");
    let moves = sandbox.completing(&format!("{moves}; echo y >y"));
    sandbox.ralph(&["next", "second", "--", &moves]).exits(0);
    fs::write(sandbox.notes.join("go"), "").unwrap();
    running
        .end()
        .exits(0)
        .says("while another loop was running is undone; it says nothing about this attempt");
}
