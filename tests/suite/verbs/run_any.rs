//! `git ralph run --any`: what needs a person is passed over, and the rest is done.

use std::fs;

use crate::support::remote::{Clone, Remote};
use crate::support::{CHANGE, wait_until};

/// A clone with the lists of these changes, of one story each, and no other.
fn clone_with<'r>(remote: &'r Remote, changes: &[&str]) -> Clone<'r> {
    let clone = remote.clone("one", &[]);
    fs::remove_dir_all(clone.dir.join("openspec/changes/add-login")).unwrap();
    for change in changes {
        let dir = clone.dir.join(format!("openspec/changes/{change}"));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("tasks.md"), "## 1. One\n- [ ] 1.1 do it\n").unwrap();
    }
    clone.git(&["add", "-A"]);
    clone.git(&["commit", "-q", "-m", "changes"]);
    clone.git(&["push", "-q", "origin", "main"]);
    clone
}

/// The phase of a change in the queue.
fn phase(clone: &Clone<'_>, change: &str) -> String {
    let queue = clone.ralph(&["queue", "--json"]).exits(0).json();
    let entries = queue["changes"].as_array().unwrap();
    let entry = entries.iter().find(|entry| entry["change"] == change).unwrap();
    entry["phase"].as_str().unwrap().to_owned()
}

#[test]
fn run_any_skips_a_spent_change_that_can_be_continued() {
    let remote = Remote::new();
    let clone = clone_with(&remote, &["a", "b", "c"]);
    let agent = remote
        .sandbox
        .agent("echo x >\"f-$RALPH_CHANGE\"; test $RALPH_CHANGE = b && failed no || complete");
    let any = ["run", "--any", "--keep", "--max-retries", "0", "--", &agent];
    let run = clone.ralph(&any).exits(4).says("1 change needs attention");
    let said = "passed over b: a story has no retries left\n";
    assert_eq!(run.stderr.matches(said).count(), 1, "{}", run.stderr);
    assert!(!run.stderr.contains("finished: HEAD"), "{}", run.stderr);
    assert_eq!(clone.git(&["symbolic-ref", "--short", "HEAD"]), "main\n");
    for change in ["a", "c"] {
        assert_eq!(
            remote.git(&["show", &format!("ralph/{change}:f-{change}")]),
            "x\n"
        );
    }
    assert_eq!(phase(&clone, "b"), "exhausted");
    // Another worker does not take it either, and says so.
    let other = remote.clone("other", &[]);
    other.ralph(&any).exits(4).says(said);
    let good = remote.sandbox.completing("echo y >f-b");
    // A person goes on with it here, where it was set aside, or elsewhere.
    other.ralph(&["pull", "b"]).exits(0);
    clone
        .ralph(&["run", "b", "--keep", "--max-retries", "3", "--", &good])
        .exits(0);
    assert_eq!(remote.git(&["show", "ralph/b:f-b"]), "y\n");
    clone.ralph(&any).exits(5);
}

#[test]
fn the_worst_exit_code_is_that_of_the_run() {
    let remote = Remote::new();
    let clone = clone_with(&remote, &["a", "b", "c"]);
    clone.git(&["config", "core.hooksPath", remote.sandbox.notes.to_str().unwrap()]);
    crate::support::write_program(
        &remote.sandbox.notes.join("ralph-pre-finish"),
        "#!/bin/sh\ntest \"$1\" != a\n",
    );
    let agent = remote
        .sandbox
        .agent("echo x >\"f-$RALPH_CHANGE\"; test $RALPH_CHANGE = b && failed no || complete");
    let any = ["run", "--any", "--keep", "--max-retries", "0", "--", &agent];
    clone
        .ralph(&any)
        .exits(7)
        .says("passed over a: ")
        .says("passed over b: ")
        .says("2 changes need attention");
    assert_eq!(remote.git(&["show", "ralph/c:f-c"]), "x\n");
    assert_eq!(phase(&clone, "a"), "complete");
    clone
        .ralph(&any)
        .exits(7)
        .says("passed over a: no story is left; finish it\n");
}

#[test]
fn work_that_the_remote_does_not_have_stays_where_it_is() {
    let remote = Remote::new();
    let clone = clone_with(&remote, &["a"]);
    remote.refuse(
        "case $ref in *state) git ls-tree -r --name-only \"$3^2\" | grep -q workflow ;; *) false ;; esac",
    );
    let agent = remote.sandbox.completing("echo x >workflow.yml");
    let any = ["run", "--any", "--keep", "--", &agent];
    clone
        .ralph(&any)
        .exits(7)
        .says("a stays active here: origin does not have all of it");
    let status = clone.ralph(&["status", "a", "--json"]).exits(0).json();
    assert_eq!(status["closed"], serde_json::Value::Null);
    assert_eq!(clone.git(&["symbolic-ref", "--short", "HEAD"]), "ralph/a\n");
}

#[test]
fn a_directory_that_the_next_job_uses_again_goes_back_to_its_loop() {
    let remote = Remote::new();
    let clone = clone_with(&remote, &["a", "b"]);
    let agent = remote.sandbox.completing("echo x >\"f-$RALPH_CHANGE\"");
    clone.ralph(&["start", "a"]).exits(0);
    clone.ralph(&["push", "a"]).exits(0);
    // As a host's runner does in a directory that it knows.
    clone.git(&["checkout", "-q", "-f", "--detach", "origin/main"]);
    clone.git(&["clean", "-ffdxq"]);
    // The list of this commit would say less than is done.
    let refused = clone.ralph(&["run", "a", "--keep", "--", &agent]).exits(7);
    refused.says("HEAD is on a detached commit, not on ralph/a");
    let any = ["run", "--any", "--keep", "--", &agent];
    clone.ralph(&any).exits(0);
    for change in ["a", "b"] {
        assert_eq!(
            remote.git(&["show", &format!("ralph/{change}:f-{change}")]),
            "x\n"
        );
    }
}

#[test]
fn a_directory_whose_branches_a_host_removes_goes_back_to_its_loop() {
    let remote = Remote::new();
    let clone = clone_with(&remote, &["a"]);
    let agent = remote.sandbox.completing("echo x >>\"f-$RALPH_STORY\"");
    clone.ralph(&["start", "a"]).exits(0);
    clone.ralph(&["push", "a"]).exits(0);
    // As actions/checkout does.
    clone.git(&["checkout", "-q", "--detach"]);
    clone.git(&["branch", "-q", "-D", "ralph/a", "main"]);
    clone.git(&["checkout", "-q", "-B", "main", "origin/main"]);
    // A command that is typed moves no HEAD, and names the way back.
    let typed = clone.ralph(&["run", "a", "--keep", "--", &agent]).exits(7);
    typed.says("git branch ralph/a ");
    clone.ralph(&["run", "--any", "--keep", "--", &agent]).exits(0);
    assert_eq!(remote.git(&["show", "ralph/a:f-1"]), "x\n");
    assert_eq!(clone.git(&["symbolic-ref", "--short", "HEAD"]), "main\n");
}

/// Has a run find that its loop, which was never pushed, began on the remote too.
fn run_where_another_began(before: impl Fn(&Clone<'_>)) {
    let remote = Remote::new();
    let clone = clone_with(&remote, &["a"]);
    let other = remote.clone("two", &[]);
    clone.ralph(&["start", "a"]).exits(0);
    fs::write(clone.dir.join("mine.txt"), "mine\n").unwrap();
    other.ralph(&["start", "a"]).exits(0);
    other.ralph(&["push", "a"]).exits(0);
    before(&clone);
    let agent = remote.sandbox.completing("echo x >>\"f-$RALPH_STORY\"");
    let ended = clone.ralph(&["run", "--any", "--keep", "--", &agent]).exits(0);
    let words = "another loop a is on the remote, and this one has no complete story: it is aborted; what it had: git log ";
    let said = ended.stderr.lines().find_map(|line| line.strip_prefix(words));
    let commit = said.unwrap_or_else(|| panic!("{}", ended.stderr));
    // The user's work in it is there, whatever else ends.
    let keeps = clone.git(&["log", "--format=%H", commit, "--", "mine.txt"]);
    assert!(!keeps.is_empty());
    let refs = clone.git(&["for-each-ref", "--contains", commit]);
    assert!(!refs.is_empty());
    assert_eq!(remote.git(&["show", "ralph/a:f-1"]), "x\n");
    assert_eq!(clone.git(&["symbolic-ref", "--short", "HEAD"]), "main\n");
}

#[test]
fn loop_that_was_begun_twice_gives_way_where_nothing_was_done() {
    run_where_another_began(|_| ());
}

#[test]
fn loop_whose_giving_way_was_cut_off_has_given_way() {
    run_where_another_began(|clone| clone.remote.sandbox.cut_off_in(&clone.dir, &["abort"]));
}

#[test]
fn loop_gives_way_to_one_that_begins_on_the_remote_while_its_run_looks_there() {
    let remote = Remote::new();
    let sandbox = &remote.sandbox;
    let (clone, other) = (clone_with(&remote, &["a"]), remote.clone("two", &[]));
    clone.ralph(&["start", "a"]).exits(0);
    other.ralph(&["start", "a"]).exits(0);
    // The remote has none at the first look, and the other one at the second.
    let real = sandbox.git_program();
    let (real, two, notes) = (real.display(), other.dir.display(), sandbox.notes.display());
    let push = format!("'{real}' -C '{two}' ralph push a >&2");
    let shim = format!(
        "case \" $* \" in *' ls-remote '*)\nif mkdir '{notes}/first' 2>/dev/null; then :; \
         elif mkdir '{notes}/second' 2>/dev/null; then {push}; fi ;; esac\nexec '{real}' \"$@\"\n"
    );
    sandbox.install("git", &shim);
    let agent = sandbox.completing("echo x >>\"f-$RALPH_STORY\"");
    let run = ["run", "--any", "--keep", "--", &agent];
    let ended = sandbox.direct(&run).dir(&clone.dir).run();
    ended
        .exits(0)
        .says("another loop a is on the remote, and this one has no complete story: it is aborted");
    assert_eq!(remote.git(&["show", "ralph/a:f-1"]), "x\n");
}

#[test]
fn a_list_without_a_story_is_passed_over_and_needs_a_person() {
    let remote = Remote::new();
    let clone = clone_with(&remote, &["a", "empty"]);
    fs::write(clone.dir.join("openspec/changes/empty/tasks.md"), "# x\n").unwrap();
    clone.git(&["commit", "-q", "-am", "empty"]);
    let agent = remote.sandbox.completing("echo x >f");
    clone
        .ralph(&["run", "--any", "--keep", "--", &agent])
        .exits(7)
        .says("passed over empty: openspec/changes/empty/tasks.md has no stories\n");
    assert_eq!(phase(&clone, "a"), "finished");
}

#[test]
fn a_finished_change_whose_list_grew_is_begun_again() {
    let remote = Remote::new();
    let (one, other, third) = (
        remote.clone("one", &[]),
        remote.clone("other", &[]),
        remote.clone("third", &[]),
    );
    let agent = remote.sandbox.completing("echo \"$RALPH_STORY\" >>f");
    let run = ["run", "--any", "--keep", "--", agent.as_str()];
    one.ralph(&run).exits(0);
    let tasks = |clone: &Clone<'_>, line: &str| {
        let list = clone.dir.join("openspec/changes/add-login/tasks.md");
        let text = fs::read_to_string(&list).unwrap();
        fs::write(&list, format!("{text}{line}")).unwrap();
        clone.git(&["commit", "-q", "-a", "-m", "one more"]);
    };
    // Without the work of the loop, all of it would be done again.
    tasks(&other, "\n## 4. More\n- [ ] 4.1 more\n");
    assert_eq!(phase(&other, CHANGE), "finished");
    other.ralph(&run).exits(5);
    // As many complete ones are there, but not those of the loop.
    let done = ["5", "6", "7"].map(|number| format!("\n## {number}. Other\n- [x] {number}.1 done\n"));
    tasks(&other, &done.concat());
    assert_eq!(phase(&other, CHANGE), "finished");
    other.ralph(&run).exits(5);
    other.git(&["reset", "-q", "--hard", "origin/main"]);
    other.git(&["pull", "-q", "origin", "ralph/add-login"]);
    tasks(&other, "\n## 4. More\n- [ ] 4.1 more\n");
    other.git(&["push", "-q", "origin", "HEAD:main"]);
    third.git(&["pull", "-q", "origin", "main"]);
    one.git(&["pull", "-q", "origin", "main"]);
    for clone in [&one, &other, &third] {
        assert_eq!(phase(clone, CHANGE), "new");
    }
    let watching = third.cmd(&["ralph", "watch", "--remote", "--interval=200ms"]);
    let watching = watching.on_terminal(200).start();
    wait_until("the open story", || watching.seen().contains("3/4  new"));
    third.ralph(&["start", CHANGE]).exits(0);
    third.ralph(&["push", CHANGE]).exits(0);
    assert_eq!(phase(&other, CHANGE), "ready");
    other.ralph(&run).exits(0);
    watching.end().exits(0);
    assert_eq!(remote.git(&["show", "ralph/add-login:f"]), "1\n2\n3\n4\n");
    assert_eq!(phase(&one, CHANGE), "finished");
    one.git(&["pull", "-q", "origin", "ralph/add-login"]);
    tasks(&one, "\n## 5. More\n- [ ] 5.1 more\n");
    one.ralph(&run).exits(0);
    assert_eq!(remote.git(&["show", "ralph/add-login:f"]), "1\n2\n3\n4\n5\n");
    one.ralph(&run).exits(5);
}

#[test]
fn a_loop_that_was_set_aside_is_not_published_as_finished() {
    let remote = Remote::new();
    let clone = clone_with(&remote, &["a", "b"]);
    let agent = remote
        .sandbox
        .agent("echo x >\"f-$RALPH_CHANGE\"; test $RALPH_CHANGE = b && failed no || complete");
    let any = ["run", "--any", "--keep", "--max-retries", "0", "--", &agent];
    clone.ralph(&any).exits(4);
    // The remote loses it.
    remote.git(&["update-ref", "-d", "refs/ralph/b/state"]);
    assert_eq!(phase(&clone, "b"), "blocked");
    clone
        .ralph(&["push", "b"])
        .exits(7)
        .says("was set aside here")
        .says("git ralph start b --resume && git ralph push b");
    clone.ralph(&["start", "b", "--resume"]).exits(0);
    clone.ralph(&["push", "b"]).exits(0);
    assert!(["ready", "exhausted", "failed"].contains(&&*phase(&clone, "b")));
}

#[test]
fn own_work_on_a_change_that_was_finished_elsewhere_stays_active() {
    let remote = Remote::new();
    let clone = clone_with(&remote, &["a", "b"]);
    let agent = remote.sandbox.completing("echo x >\"f-$RALPH_CHANGE\"");
    clone.ralph(&["start", "a"]).exits(0);
    clone.ralph(&["next", "--", &agent]).exits(0);
    let other = remote.clone("other", &[]);
    other.ralph(&["run", "a", "--keep", "--", &agent]).exits(0);
    let any = ["run", "--any", "--keep", "--", &agent];
    clone.ralph(&any).exits(7).says("a stays active here");
    assert_eq!(clone.git(&["symbolic-ref", "--short", "HEAD"]), "ralph/a\n");
}

#[test]
fn a_checkpoint_that_was_not_pushed_is_named_where_the_loop_is_finished_elsewhere() {
    let remote = Remote::new();
    let clone = clone_with(&remote, &["a"]);
    let agent = remote.sandbox.completing("echo x >>\"f-$RALPH_CHANGE\"");
    clone.ralph(&["start", "a"]).exits(0);
    clone.ralph(&["push", "a"]).exits(0);
    clone.ralph(&["next", "a", "--", &agent]).exits(0);
    let tip = clone.git(&["rev-parse", "HEAD"]);
    let other = remote.clone("other", &[]);
    let any = ["run", "--any", "--keep", "--", &agent];
    // The same work in the same second would be the same commit.
    let others = remote.sandbox.completing("echo y >>\"f-$RALPH_CHANGE\"");
    other.ralph(&["run", "--any", "--keep", "--", &others]).exits(0);
    clone
        .ralph(&any)
        .exits(5)
        .says("what a has here, and origin may not have, stays on its branch: git log ralph/a");
    assert_eq!(clone.git(&["rev-parse", "ralph/a"]), tip);
    clone
        .ralph(&["pull", "a"])
        .exits(0)
        .says("is kept: git log refs/ralph/a/replaced/1");
    assert_eq!(clone.git(&["rev-parse", "refs/ralph/a/replaced/1"]), tip);
}

#[test]
fn a_new_story_counts_where_a_skipped_one_was_ticked_by_hand() {
    let remote = Remote::new();
    let (one, other) = (remote.clone("one", &[]), remote.clone("other", &[]));
    let agent = remote
        .sandbox
        .agent("test $RALPH_STORY = 2 && failed no || { echo x >>f; complete; }");
    let skipping = ["--max-retries", "0", "--on-failure", "skip", "--keep"];
    one.ralph(&[&["run", CHANGE], &skipping[..], &["--", &agent]].concat())
        .exits(4);
    other.git(&["pull", "-q", "origin", "ralph/add-login"]);
    let edit = |clone: &Clone<'_>, from: &str, to: &str| {
        let list = clone.dir.join("openspec/changes/add-login/tasks.md");
        let text = fs::read_to_string(&list).unwrap();
        fs::write(&list, text.replace(from, to)).unwrap();
        clone.git(&["commit", "-q", "-a", "-m", "list"]);
    };
    let list = fs::read_to_string(other.dir.join("openspec/changes/add-login/tasks.md")).unwrap();
    // A story that is new and done leaves only the skipped one.
    edit(&other, &list, &format!("{list}\n## 4. More\n- [x] 4.1 more\n"));
    assert_eq!(phase(&other, CHANGE), "finished");
    edit(&other, "- [ ]", "- [x]");
    edit(&other, "4.1 more\n", "4.1 more\n\n## 5. New\n- [ ] 5.1 new\n");
    for clone in [&one, &other] {
        clone.git(&["fetch", "-q", other.dir.to_str().unwrap(), "HEAD"]);
        clone.git(&["reset", "-q", "--hard", "FETCH_HEAD"]);
        assert_eq!(phase(clone, CHANGE), "new");
    }
}

#[test]
fn a_loop_that_lacks_the_finished_work_does_not_follow_it() {
    let remote = Remote::new();
    let (one, other) = (remote.clone("one", &[]), remote.clone("other", &[]));
    let agent = remote.sandbox.completing("echo \"$RALPH_STORY\" >>f");
    // As many stories are complete, but not the same.
    let list = other.dir.join("openspec/changes/add-login/tasks.md");
    let done = ["5", "6", "7"].map(|number| format!("\n## {number}. Other\n- [x] {number}.1 done\n"));
    fs::write(&list, fs::read_to_string(&list).unwrap() + &done.concat()).unwrap();
    other.git(&["commit", "-q", "-a", "-m", "others"]);
    other.ralph(&["start", CHANGE]).exits(0);
    one.ralph(&["run", CHANGE, "--keep", "--", &agent]).exits(0);
    let state = remote.git(&["rev-parse", "refs/ralph/add-login/state"]);
    other.ralph(&["push", CHANGE]).exits(5);
    other.ralph(&["run", CHANGE, "--keep", "--", &agent]).exits(5);
    assert_eq!(remote.git(&["rev-parse", "refs/ralph/add-login/state"]), state);
}
