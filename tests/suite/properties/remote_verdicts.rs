//! What is said of a remote that does not take a loop, or lost it: only what is known, with what to type.

use std::fs;

use crate::support::remote::{Clone, Remote};
use crate::support::{CHANGE, wait_for};

/// A run of a clone, with an agent that is at work.
fn at_work(clone: &Clone<'_>) -> crate::support::Running {
    clone.git(&["config", "ralph.lease", "3s"]);
    let sandbox = &clone.remote.sandbox;
    let agent = sandbox.agent("echo mine >mine; touch \"$notes/there\"; while :; do sleep 0.05; done");
    let running = clone
        .cmd(&["ralph", "run", CHANGE, "--keep", "--", &agent])
        .start();
    wait_for(&sandbox.notes.join("there"));
    running
}

#[test]
fn a_state_that_was_deleted_is_not_said_to_be_held_by_another_run() {
    let remote = Remote::new();
    let clone = remote.clone("one", &[]);
    let running = at_work(&clone);
    remote.git(&["update-ref", "-d", "refs/ralph/add-login/state"]);
    let ended = running.end().exits(7);
    ended.says("this run lost 'add-login': origin does not have refs/ralph/add-login/state any more");
    clone.ralph(&["push", CHANGE]).exits(0);
    assert!(
        remote
            .git(&["for-each-ref"])
            .contains("refs/ralph/add-login/state")
    );
}

#[test]
fn a_lease_that_could_not_be_renewed_is_told_with_the_words_of_git() {
    let remote = Remote::new();
    let clone = remote.clone("one", &[]);
    let running = at_work(&clone);
    clone.git(&["config", "remote.origin.url", "/nowhere"]);
    let ended = running.end().exits(75);
    ended.says("it could not renew its lease on origin for 2 seconds\n  fatal: '/nowhere' does not appear to be a git repository");
}

#[test]
fn settings_of_the_users_own_pushes_keep_no_loop_back() {
    let remote = Remote::new();
    let clone = remote.clone("one", &[]);
    clone.git(&["config", "push.pushOption", "ci.skip"]);
    clone.git(&["config", "remote.origin.mirror", "true"]);
    clone.git(&["config", "push.gpgSign", "true"]);
    remote.git(&["config", "receive.advertisePushOptions", "false"]);
    clone.ralph(&["start", CHANGE]).exits(0);
    clone.ralph(&["push", CHANGE]).exits(0);
    assert!(
        remote
            .git(&["for-each-ref"])
            .contains("refs/ralph/add-login/state")
    );
}

#[test]
fn a_clone_without_the_setting_is_told_where_the_loops_are() {
    let remote = Remote::new();
    let (one, other) = (remote.clone("one", &[]), remote.clone("other", &[]));
    one.git(&["config", "ralph.remoteRefs", "refs/heads/ralph-state/"]);
    one.ralph(&["start", CHANGE]).exits(0);
    one.ralph(&["push", CHANGE]).exits(0);
    for args in [&["queue"][..], &["run", CHANGE, "--", "true"], &["pull", CHANGE]] {
        let refused = other.ralph(args).exits(1);
        refused.says("origin keeps its loops below refs/heads/ralph-state/, and none below refs/ralph/\nhint: git config ralph.remoteRefs refs/heads/ralph-state/");
    }
}

#[test]
fn clone_whose_setting_changed_does_not_begin_its_loop_again() {
    let remote = Remote::new();
    let (one, other) = (remote.clone("one", &[]), remote.clone("other", &[]));
    let run = ["run", CHANGE, "--max-attempts", "1"];
    let agent = remote.sandbox.completing("echo $RALPH_STORY >>f");
    let run = [&run[..], &["--", &agent]].concat();
    one.ralph(&run).exits(6);
    let tip = remote.git(&["rev-parse", "ralph/add-login"]);
    for clone in [&one, &other] {
        clone.git(&["config", "ralph.remoteRefs", "refs/heads/ralph-state/"]);
        clone
            .ralph(&run)
            .exits(1)
            .says("origin keeps its loops below refs/ralph/, and none below refs/heads/ralph-state/\n");
    }
    // Another loop is kept there.
    let other_loop = "refs/heads/ralph-state/x/state";
    remote.git(&["update-ref", other_loop, "refs/ralph/add-login/state"]);
    for clone in [&one, &other] {
        clone
            .ralph(&run)
            .exits(7)
            .says("origin has 'add-login' below refs/ralph/; a loop below refs/heads/ralph-state/ would do its work again\n")
            .says("hint: git config ralph.remoteRefs refs/ralph/; ");
    }
    assert_eq!(remote.git(&["rev-parse", "ralph/add-login"]), tip);
    one.git(&["config", "ralph.remoteRefs", "refs/ralph/"]);
    one.ralph(&run).exits(6);
}

#[test]
fn a_branch_that_git_takes_for_a_state_is_named() {
    let remote = Remote::new();
    let clone = remote.clone("one", &[]);
    remote.git(&["branch", "refs/ralph/add-login/state", "main"]);
    let queue = clone.ralph(&["queue", "--json"]).exits(0).json();
    assert_eq!(queue["need_person"], 1, "{queue}");
    clone.ralph(&["start", CHANGE]).exits(0);
    let refused = clone.ralph(&["push", CHANGE]).exits(7);
    refused.says("origin has a ref refs/heads/refs/ralph/add-login/state");
    let name = "refs/heads/refs/ralph/add-login/state";
    clone.git(&["fetch", "-q", "origin", &format!("{name}:refs/heads/kept")]);
    clone.git(&["push", "-q", "origin", &format!(":{name}")]);
    clone.ralph(&["push", CHANGE]).exits(0);
}

#[test]
fn a_change_whose_state_was_deleted_is_not_begun_again() {
    let remote = Remote::new();
    let (one, other) = (remote.clone("one", &[]), remote.clone("other", &[]));
    let agent = remote.sandbox.completing("echo x >>f");
    one.ralph(&["start", CHANGE]).exits(0);
    one.ralph(&["next", CHANGE, "--", &agent]).exits(0);
    one.ralph(&["push", CHANGE]).exits(0);
    remote.git(&["update-ref", "-d", "refs/ralph/add-login/state"]);
    let run = ["run", CHANGE, "--keep", "--", &agent];
    let refused = other.ralph(&run).exits(7);
    refused.says(
        "origin has branch ralph/add-login with commits that are not here, and no state of 'add-login'",
    );
    let queue = other.ralph(&["queue", "--json"]).exits(0).json();
    assert_eq!(queue["need_person"], 1, "{queue}");
    let why = queue["changes"][0]["why"].as_str().unwrap();
    assert!(why.contains("no state of 'add-login'; where the loop is whole: git ralph push"));
    other
        .ralph(&["run", "--any", "--keep", "--", &agent])
        .exits(7)
        .says("to begin it again: git fetch origin");
    one.ralph(&["push", CHANGE]).exits(0);
    other.ralph(&run).exits(0);
    assert_eq!(remote.git(&["show", "ralph/add-login:f"]), "x\nx\nx\n");
}

#[test]
fn a_state_whose_refs_leave_commits_out_is_refused() {
    let remote = Remote::new();
    let (one, other) = (remote.clone("one", &[]), remote.clone("other", &[]));
    let failing = remote.sandbox.agent("echo x >f; exit 1");
    one.ralph(&["start", CHANGE]).exits(0);
    one.ralph(&["next", CHANGE, "--", &failing]).exits(3);
    one.ralph(&["push", CHANGE]).exits(0);
    let mut state = remote.state(CHANGE);
    assert!(state.text("refs").contains("attempts/1/1"));
    state.edit("refs", |_| String::new());
    remote.put_state(CHANGE, &state);
    let refused = other.ralph(&["pull", CHANGE]).exits(1);
    refused.says("its refs do not name every commit that came with it");
}

#[test]
fn lists_and_workers_say_that_a_remote_went_back_and_what_to_type() {
    let remote = Remote::new();
    let clone = remote.clone("one", &[]);
    let agent = remote.sandbox.completing("echo x >>f");
    clone.ralph(&["start", CHANGE]).exits(0);
    clone.ralph(&["push", CHANGE]).exits(0);
    let before = remote.git(&["rev-parse", "refs/ralph/add-login/state"]);
    clone.ralph(&["next", CHANGE, "--", &agent]).exits(0);
    clone.ralph(&["push", CHANGE]).exits(0);
    remote.point(CHANGE, before.trim());
    let why = "origin went back: it has state 1 of 'add-login', which does not follow the last one seen here, state 2; put what is here there again: git push origin --delete refs/ralph/add-login/state, then:";
    let listed = clone.ralph(&["queue"]).exits(0).stdout;
    assert!(listed.contains(why), "{listed}");
    let worked = clone.ralph(&["run", "--any", "--keep", "--", &agent]).exits(7);
    let said = [worked.stdout.as_str(), &worked.stderr].concat();
    for part in [
        why.split_once("; ").unwrap().0,
        "put what is here there again: git push",
    ] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn a_renamed_and_a_second_remote_get_what_is_here() {
    let remote = Remote::new();
    let clone = remote.clone("one", &[]);
    let second = remote.sandbox.outside("second.git");
    let second = second.to_str().unwrap();
    remote.sandbox.git(&["init", "-q", "--bare", second]);
    clone.git(&["remote", "add", "second", second]);
    let agent = remote.sandbox.completing("echo \"$RALPH_STORY\" >>f");
    let next = || clone.ralph(&["next", CHANGE, "--", &agent]).exits(0);
    let push = |name: &str| clone.ralph(&["push", CHANGE, "--remote", name]).exits(0);
    clone.ralph(&["start", CHANGE]).exits(0);
    next();
    push("origin");
    clone.git(&["remote", "rename", "origin", "upstream"]);
    push("second");
    next();
    for name in ["upstream", "second", "upstream"] {
        push(name);
    }
    let run = ["run", CHANGE, "--keep", "--remote", "second", "--", &agent];
    clone.ralph(&run).exits(0);
    assert_eq!(clone.git(&["show", "ralph/add-login:f"]), "1\n2\n3\n");
    push("upstream");
    assert_eq!(remote.git(&["show", "ralph/add-login:f"]), "1\n2\n3\n");
    // Another machine goes on from either, and does nothing twice.
    let other = remote.clone("other", &[]);
    other.ralph(&["pull", CHANGE]).exits(0);
}

#[test]
fn a_worker_asks_the_remote_as_few_times_as_it_can() {
    let remote = Remote::new();
    let clone = remote.clone("one", &[]);
    let list = clone.dir.join("openspec/changes/add-login/tasks.md");
    let stories = (1..=4).map(|number| format!("## {number}. S{number}\n- [ ] {number}.1 do it\n"));
    fs::write(list, stories.collect::<String>()).unwrap();
    clone.git(&["commit", "-q", "-a", "-m", "four"]);
    let log = remote.sandbox.outside("calls");
    let agent = remote.sandbox.completing("echo x >>f");
    let run = ["ralph", "run", "--any", "--keep", "--", &agent];
    clone.cmd(&run).env("GIT_TRACE2_EVENT", &log).run().exits(0);
    let text = fs::read_to_string(&log).unwrap();
    let calls = |name: &str| {
        let name = format!("\"name\":\"{name}\",");
        text.lines()
            .filter(|line| line.contains("\"cmd_name\"") && line.contains(&name))
            .count()
    };
    // The queue before and after, and the change; its beginning, four checkpoints, and its end.
    assert_eq!(["ls-remote", "fetch", "push"].map(calls), [2, 0, 6]);
}
