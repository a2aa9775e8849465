//! The strategy stash: HEAD, its branch and the index stay as they are, and the state before the story is a stash entry.

use std::fs;
use std::path::Path;

use crate::support::{CHANGE, Output, Sandbox, search_path, write_program};

const FIRST: &str = "On main: ralph:add-login:1";
const SECOND: &str = "On main: ralph:add-login:2";

/// What must not change: HEAD, the reflogs, the index byte for byte.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    head: String,
    reflogs: String,
    index: Vec<u8>,
}

impl Place {
    fn of(sandbox: &Sandbox) -> Self {
        let read = |name: &str| fs::read_to_string(sandbox.top.join(".git").join(name)).unwrap_or_default();
        Self {
            head: read("HEAD") + &read("refs/heads/main"),
            reflogs: read("logs/HEAD") + &read("logs/refs/heads/main"),
            index: fs::read(sandbox.top.join(".git/index")).unwrap(),
        }
    }
}

/// A repository with work of every kind and an entry of the user's in the stash.
fn stashed() -> Sandbox {
    let sandbox = Sandbox::dirty();
    sandbox.configure("ralph.strategy", "stash");
    sandbox.git(&["stash", "-q"]);
    sandbox.git(&["stash", "apply", "-q", "--index"]);
    sandbox
}

fn list(sandbox: &Sandbox) -> Vec<String> {
    let list = sandbox.git(&["stash", "list", "--format=%gs"]);
    list.lines().map(ToOwned::to_owned).collect()
}

fn next(sandbox: &Sandbox, script: &str) -> Output {
    sandbox.step("next", &sandbox.agent(script))
}

#[test]
fn stash_strategy_moves_nothing_of_the_user_from_start_to_finish() {
    let sandbox = stashed();
    let mine = list(&sandbox);
    let place = Place::of(&sandbox);
    sandbox.start().says("started on main (");
    assert_eq!((Place::of(&sandbox), list(&sandbox)), (place, mine.clone()));
    let place = Place::of(&sandbox);
    next(
        &sandbox,
        "git stash list >\"$notes/list\"; echo 1 >one; git add -A; git rm -q --cached README.md; complete",
    )
    .exits(0);
    assert_eq!(
        sandbox.noted("list").lines().next(),
        Some(&*format!("stash@{{0}}: {FIRST}"))
    );
    assert_eq!((Place::of(&sandbox), list(&sandbox)), (place, mine.clone()));
    let (place, files) = (Place::of(&sandbox), sandbox.files());
    next(
        &sandbox,
        "rm -rf one notes; echo mess >>README.md; git add -A; failed red",
    )
    .exits(3);
    assert_eq!(sandbox.files(), files);
    assert_eq!(Place::of(&sandbox), place);
    assert_eq!(list(&sandbox), [&[SECOND.to_owned()][..], &mine].concat());
    sandbox.ralph(&["diff", "2@1"]).exits(0);
    sandbox
        .step("retry", &sandbox.agent("echo 2 >two; complete"))
        .exits(0);
    assert_eq!((Place::of(&sandbox), list(&sandbox)), (place, mine.clone()));
    next(&sandbox, "echo 3 >three; complete").exits(0);
    let place = Place::of(&sandbox);
    let status = sandbox.ralph(&["status"]).exits(0).stdout;
    assert!(
        status.contains("to close the loop; all changes stay, uncommitted"),
        "{status}"
    );
    // The stash has no entry of the loop any more.
    assert!(!status.contains("finish --keep"), "{status}");
    let (files, mtimes) = (sandbox.files(), sandbox.mtimes());
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    assert_eq!((sandbox.files(), sandbox.mtimes()), (files, mtimes));
    assert_eq!((Place::of(&sandbox), list(&sandbox)), (place, mine));
    let subjects = sandbox.git(&["log", "--format=%s", "refs/ralph/add-login/finished"]);
    assert!(subjects.starts_with("checkpoint: 3\ncheckpoint: 2\ncheckpoint: 1\ninitial state\n"));
    assert_eq!(
        sandbox.git(&["for-each-ref", "refs/heads/ralph", "refs/ralph/add-login/tip"]),
        ""
    );
}

#[test]
fn an_entry_is_applied_by_hand_to_a_clean_checkout() {
    let sandbox = stashed();
    sandbox.start();
    next(&sandbox, "failed red").exits(3);
    let other = sandbox.outside("other");
    let dir = other.to_str().unwrap();
    sandbox.git(&["worktree", "add", "-q", "--detach", dir, "main"]);
    let there = |args: &[&str]| sandbox.git_cmd(args).dir(&other).run().exits(0).stdout;
    there(&["stash", "apply", "-q", "--index"]);
    for args in [&["ls-files", "-s"][..], &["status", "--porcelain"]] {
        assert_eq!(there(args).trim_end(), sandbox.git(args));
    }
    let mut wanted = sandbox.files();
    // What git ignores is in no stash entry.
    wanted.retain(|path, _| path != Path::new(".env"));
    let mut applied = crate::support::print::files(&other);
    applied.retain(|path, _| path != Path::new(".git"));
    assert_eq!(applied, wanted);
    let shown = sandbox.git(&["stash", "show", "--include-untracked", "--name-only"]);
    assert!(shown.contains("notes/untracked.txt"), "{shown}");
}

#[test]
fn commits_of_an_attempt_come_off_the_branch_and_are_kept() {
    for (promise, code) in [("complete", 0), ("failed red", 3)] {
        let sandbox = stashed();
        sandbox.configure("ralph.guard", "false");
        sandbox.start();
        let place = sandbox.print();
        let commit = "git add -A; git commit -q -m agent; git checkout -q -b side; git commit -q --allow-empty -m side";
        next(&sandbox, &format!("echo 1 >one; {commit}; {promise}"))
            .exits(code)
            .says("the branch main was moved during the attempt; it is put back to ");
        let now = sandbox.print();
        assert_eq!((&now.head, &now.index), (&place.head, &place.index));
        let main = place
            .refs
            .lines()
            .find(|line| line.starts_with("refs/heads/main"))
            .unwrap();
        assert!(now.refs.contains(main), "{}", now.refs);
        let kept = "refs/ralph/add-login/attempts/1/1-*";
        assert!(
            sandbox
                .git(&["for-each-ref", "--format=%(subject)", kept])
                .contains("agent")
        );
        assert_eq!(sandbox.top.join("one").exists(), code == 0);
    }
}

#[test]
fn guard_asks_to_leave_the_work_uncommitted() {
    let sandbox = stashed();
    sandbox.start();
    let place = Place::of(&sandbox);
    let agent = "echo 1 >one; git add one; git commit -q -m mine 2>\"$notes/said\"
        git stash drop 2>>\"$notes/said\"; git stash clear 2>>\"$notes/said\"; complete";
    next(&sandbox, agent).exits(0);
    let said = sandbox.noted("said");
    assert!(
        said.contains("leave the work in the work tree, uncommitted"),
        "{said}"
    );
    assert!(
        said.contains("the stash holds entries that were there before this attempt"),
        "{said}"
    );
    assert_eq!(Place::of(&sandbox), place);
    assert_eq!(list(&sandbox).len(), 1);
}

#[test]
fn an_entry_that_is_gone_is_stored_again() {
    let sandbox = stashed();
    sandbox.configure("ralph.guard", "false");
    sandbox.start();
    let files = sandbox.files();
    next(
        &sandbox,
        "rm -r src; git stash pop -q; git stash drop -q; failed red",
    )
    .exits(3)
    .says(&format!("the stash entry '{FIRST}' was gone; it is stored again"));
    assert_eq!(sandbox.files(), files);
    let whole = list(&sandbox);
    assert_eq!((whole[0].as_str(), whole.len()), (FIRST, 2));
    sandbox
        .step("retry", &sandbox.agent("git stash clear; failed red"))
        .exits(3)
        .says(&format!(
            "the stash entry '{}' was dropped during the attempt; it is stored again",
            whole[1]
        ));
    assert_eq!(list(&sandbox), whole);
    // A person clears it between two attempts.
    sandbox.git(&["stash", "clear"]);
    sandbox
        .step(
            "retry",
            &sandbox.agent("git stash list --format=%gs >\"$notes/list\"; complete"),
        )
        .exits(0);
    assert_eq!(sandbox.noted("list").trim_end(), FIRST);
    assert!(list(&sandbox).is_empty());
}

#[test]
fn stash_entry_of_an_attempt_fails_it_as_hidden_work() {
    let sandbox = stashed();
    sandbox.start();
    let files = sandbox.files();
    next(&sandbox, "echo 1 >one; git stash -q -u; complete")
        .exits(3)
        .says("work was put into the stash");
    assert_eq!(sandbox.files(), files);
    assert!(list(&sandbox).contains(&FIRST.to_owned()));
}

#[test]
fn a_reset_takes_no_earlier_work_along() {
    let sandbox = stashed();
    sandbox.start();
    let files = sandbox.files();
    for (step, misdeed) in [("next", "git reset -q --hard"), ("retry", "git checkout -q -f .")] {
        let agent = sandbox.agent(&format!("{misdeed}; echo 1 >one; complete"));
        sandbox
            .step(step, &agent)
            .exits(3)
            .says("from before this attempt are gone");
        assert_eq!(sandbox.files(), files, "{misdeed}");
    }
}

#[test]
fn user_may_commit_between_attempts() {
    let sandbox = stashed();
    sandbox.start();
    next(&sandbox, "failed red").exits(3);
    let old = sandbox.git(&["rev-parse", "stash@{0}"]);
    sandbox.git(&["commit", "-q", "-m", "mine"]);
    let (place, files) = (Place::of(&sandbox), sandbox.files());
    sandbox
        .step("retry", &sandbox.failing("git add -A"))
        .exits(3)
        .says("main moved from ");
    assert_eq!((Place::of(&sandbox), sandbox.files()), (place, files));
    assert_ne!(sandbox.git(&["rev-parse", "stash@{0}"]), old);
    assert_eq!(list(&sandbox).iter().filter(|entry| *entry == FIRST).count(), 1);
    assert_eq!(sandbox.git(&["log", "-1", "--format=%s"]), "mine");
    sandbox.ralph(&["abort"]).exits(7).says("main");
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    assert_eq!(sandbox.git(&["log", "-1", "--format=%s"]), "mine");
}

#[test]
fn abort_restores_the_state_before_the_loop() {
    let sandbox = stashed();
    let (place, mine, files) = (Place::of(&sandbox), list(&sandbox), sandbox.files());
    sandbox.start();
    next(&sandbox, "rm README.md; echo 1 >one; complete").exits(0);
    next(&sandbox, "failed red").exits(3);
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!((Place::of(&sandbox), list(&sandbox)), (place, mine));
    assert_eq!(sandbox.files(), files);
}

#[test]
fn restart_begins_from_the_users_index() {
    let sandbox = stashed();
    let place = Place::of(&sandbox);
    sandbox.start();
    next(&sandbox, "echo 1 >one; complete").exits(0);
    sandbox.ralph(&["start", CHANGE, "--restart"]).exits(0);
    assert_eq!(Place::of(&sandbox), place);
    let same = ["start", CHANGE, "--strategy", "branch"];
    sandbox.ralph(&same).exits(0).says("it keeps the strategy stash");
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(Place::of(&sandbox), place);
    sandbox.ralph(&same).exits(0);
    assert_eq!(sandbox.status()["branch"], "ralph/add-login");
}

#[test]
fn keep_leaves_the_entries_of_stories_that_failed() {
    let sandbox = stashed();
    sandbox.start();
    next(&sandbox, "failed red").exits(3);
    sandbox.ralph(&["skip"]).exits(0);
    next(&sandbox, "failed red").exits(3);
    let kept = list(&sandbox);
    assert_eq!(kept[..2], [SECOND, FIRST]);
    sandbox.write("mine.txt", "x\n");
    sandbox.git(&["stash", "push", "-q", "-u", "--", "mine.txt"]);
    let closed = sandbox.ralph(&["finish", "--keep"]).exits(0);
    let drop = "to drop them: git stash drop 2 && git stash drop 1\n";
    closed.says("the stash keeps ralph:add-login:").says(drop);
    assert_eq!(list(&sandbox)[1..], kept);
    for at in ["2", "1"] {
        sandbox.git(&["stash", "drop", "-q", at]);
    }
    assert_eq!(list(&sandbox)[1..], kept[2..]);
}

#[test]
fn entries_are_not_found_by_their_names() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.strategy", "stash");
    let stories =
        r#"[{"id": "a: b", "title": "x", "passes": false}, {"id": "a", "title": "y", "passes": false}]"#;
    sandbox.write("prd.json", stories);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "list"]);
    // An entry of the user's with a name of ours, and one of a change with a longer name.
    let mut mine = Vec::new();
    for name in ["ralph:c:a: b", "ralph:cc:a", "ralph:c"] {
        sandbox.write("README.md", name);
        sandbox.git(&["stash", "push", "-q", "-m", name]);
        mine.insert(0, format!("On main: {name}"));
    }
    sandbox.ralph(&["start", "c", "--stories", "prd.json"]).exits(0);
    let step = |step: &str, script: &str| sandbox.ralph(&[step, "c", "--", &sandbox.agent(script)]);
    step("next", "failed red").exits(3);
    assert_eq!(list(&sandbox)[0], "On main: ralph:c:a: b");
    assert_eq!(list(&sandbox)[1..], mine);
    step("retry", "echo 1 >one; complete").exits(0);
    assert_eq!(list(&sandbox), mine);
    step("next", "failed red").exits(3);
    assert_eq!(list(&sandbox).len(), 4);
    sandbox.ralph(&["finish", "--cleanup", "c"]).exits(0);
    assert_eq!(list(&sandbox), mine);
}

#[test]
fn two_work_trees_share_the_list() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.strategy", "stash");
    sandbox.write("d.md", "- [ ] 1. one\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "list"]);
    let other = sandbox.outside("other");
    sandbox.git(&["worktree", "add", "-q", "-b", "other", other.to_str().unwrap()]);
    sandbox.start();
    let there = |args: &[&str]| sandbox.direct(args).dir(&other).run();
    there(&["start", "d", "--stories", "d.md"]).exits(0);
    let failing = sandbox.agent("failed red");
    next(&sandbox, "failed red").exits(3);
    // Neither is named: each work tree has its own.
    there(&["next", "--", &failing]).exits(3);
    assert_eq!(list(&sandbox), ["On other: ralph:d:1", FIRST]);
    let done = sandbox.agent("echo 1 >one; complete");
    sandbox.step("retry", &done).exits(0);
    assert_eq!(list(&sandbox), ["On other: ralph:d:1"]);
    there(&["retry", "--", &done]).exits(0);
    assert!(list(&sandbox).is_empty());
    there(&["finish", "--cleanup"]).exits(0);
    assert!(
        !sandbox
            .top
            .join("one")
            .metadata()
            .is_ok_and(|_| !other.join("one").exists())
    );
}

#[test]
fn stash_entry_made_at_the_same_moment_stays() {
    // Just before git drops the loop's entry, somebody else stashes.
    let sandbox = stashed();
    sandbox.start();
    let mut dirs = search_path().into_iter().map(|dir| dir.join("git"));
    let real = dirs.find(|git| git.is_file()).unwrap();
    let (real, once) = (real.display(), sandbox.notes.join("once"));
    let shim = format!(
        "#!/bin/sh\ncase \" $* \" in *' stash drop '*)\nif mkdir '{}' 2>/dev/null; then theirs=$('{real}' commit-tree \
         -p HEAD -p stash@{{1}} -m theirs HEAD^{{tree}}); '{real}' stash store -m theirs \"$theirs\"; fi ;;\nesac\nexec '{real}' \"$@\"\n",
        once.display()
    );
    let dir = sandbox.outside("shim");
    fs::create_dir(&dir).unwrap();
    write_program(&dir.join("git"), &shim);
    let path = std::env::join_paths(std::iter::once(dir).chain(search_path())).unwrap();
    let mine = list(&sandbox);
    let agent = sandbox.agent("echo 1 >one; complete");
    let next = sandbox.direct(&["next", "--", &agent]).env("PATH", path);
    next.run().exits(0).says("the entry 'theirs' is stored again");
    assert!(once.is_dir());
    assert_eq!(list(&sandbox), [&["theirs".to_owned()][..], &mine].concat());
}

#[test]
fn a_detached_head_stays_detached() {
    let sandbox = stashed();
    sandbox.git(&["checkout", "-q", "--detach"]);
    let place = Place::of(&sandbox);
    sandbox.start();
    next(&sandbox, "echo 1 >one; complete").exits(0);
    next(
        &sandbox,
        "git -c core.hooksPath=/dev/null commit -q -a -m agent; failed red",
    )
    .exits(3);
    let now = Place::of(&sandbox);
    assert_eq!((now.head, now.index), (place.head, place.index));
    assert_eq!(list(&sandbox)[0], "On (no branch): ralph:add-login:2");
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
}

#[test]
fn settings_for_the_output_of_git_change_nothing() {
    let sandbox = stashed();
    for (key, value) in [
        ("log.showSignature", "true"),
        ("color.ui", "always"),
        ("stash.showIncludeUntracked", "true"),
        ("log.decorate", "full"),
        ("core.logAllRefUpdates", "false"),
    ] {
        sandbox.configure(key, value);
    }
    let mine = list(&sandbox);
    sandbox.start();
    let place = Place::of(&sandbox);
    next(&sandbox, "git add -A; failed red").exits(3);
    assert_eq!(list(&sandbox), [&[FIRST.to_owned()][..], &mine].concat());
    sandbox
        .step("retry", &sandbox.agent("echo 1 >one; complete"))
        .exits(0);
    assert_eq!((Place::of(&sandbox), list(&sandbox)), (place, mine));
}

#[test]
fn loop_in_place_works_with_reftables() {
    let sandbox = Sandbox::empty();
    fs::create_dir_all(&sandbox.top).unwrap();
    let init = sandbox
        .git_cmd(&["init", "-q", "-b", "main", "--ref-format=reftable"])
        .run();
    if init.code != 0 {
        // Git before 2.45 has no such format.
        return;
    }
    sandbox.configure("user.name", "Somebody");
    sandbox.configure("user.email", "somebody@example.org");
    sandbox.write("t.md", "- [ ] 1. one\n- [ ] 2. two\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "first"]);
    sandbox.write("t.md", "- [ ] 1. one\n- [ ] 2. two\n\nedited\n");
    sandbox.git(&["stash", "-q"]);
    sandbox.git(&["stash", "apply", "-q"]);
    sandbox.configure("ralph.guard", "false");
    let mine = list(&sandbox);
    let before = sandbox.print();
    sandbox
        .ralph(&["start", "c", "--strategy", "stash", "--stories", "t.md"])
        .exits(0);
    next(&sandbox, "git stash clear; git commit -q -a -m agent; failed red").exits(3);
    let own = [FIRST.replace("add-login", "c")];
    assert_eq!(list(&sandbox), [&own[..], &mine].concat());
    sandbox
        .step("retry", &sandbox.agent("echo 1 >one; complete"))
        .exits(0);
    assert_eq!(list(&sandbox), mine);
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    let now = sandbox.print();
    assert_eq!((now.index, now.head), (before.index, before.head));
    let main = before
        .refs
        .lines()
        .find(|line| line.starts_with("refs/heads/main"))
        .unwrap();
    assert!(now.refs.contains(main));
}

#[test]
fn a_lost_state_is_rebuilt() {
    let sandbox = stashed();
    sandbox.start();
    next(&sandbox, "echo 1 >one; complete").exits(0);
    next(&sandbox, "failed red").exits(3);
    let (place, files) = (Place::of(&sandbox), sandbox.files());
    fs::remove_file(sandbox.state_file()).unwrap();
    sandbox.ralph(&["start", CHANGE, "--resume"]).exits(0);
    assert_eq!(sandbox.status()["stories_done"], 1);
    next(&sandbox, "echo mess >>README.md; git add -A; failed red").exits(3);
    assert_eq!((Place::of(&sandbox), sandbox.files()), (place, files));
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    assert_eq!(list(&sandbox).len(), 1);
}

#[test]
fn step_is_refused_on_another_branch() {
    let sandbox = stashed();
    sandbox.start();
    sandbox.git(&["stash", "push", "-q"]);
    sandbox.git(&["checkout", "-q", "-b", "elsewhere"]);
    next(&sandbox, "complete").exits(7).says("git checkout main");
}
