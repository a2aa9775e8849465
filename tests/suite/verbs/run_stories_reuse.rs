//! `git ralph run <change> --jobs` with a preparation: the work tree of an accepted story is used for the next one.

use std::fs;
use std::path::{Path, PathBuf};

use nix::sys::signal::Signal;

use super::run_stories::{checkpoints, until, verdicts, words};
use crate::support::{Sandbox, wait_until};

/// Returns a sandbox with this list, in which each preparation of a side is noted with its number. It installs for the lock file, and
/// makes a new file that git does not ignore.
fn sandbox(list: &str) -> Sandbox {
    let sandbox = Sandbox::with_free_stories(1);
    sandbox.write("TODO.md", list);
    sandbox.write("package-lock.json", "start\n");
    sandbox.write(".gitignore", "/installed\n/built\n/.env\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "lock"]);
    let notes = sandbox.notes.display();
    let setup = format!(
        "cp package-lock.json installed; echo new >prepared; \
         test \"$RALPH_WORKTREE\" = \"$RALPH_MAIN_WORKTREE\" || echo $RALPH_SLOT >>'{notes}/prepared'"
    );
    sandbox.configure("ralph.worktreeSetup", &setup);
    sandbox
}

const CHAIN: &str = "- [ ] 1. A\n- [ ] 2. B (after 1)\n- [ ] 3. C (after 2)\n";

/// An agent that does this, and notes what was built before it.
fn agent(sandbox: &Sandbox, also: &str) -> String {
    sandbox.completing(&format!(
        "echo \"$RALPH_STORY $(cat built 2>/dev/null | tr '\\n' ' ')\" >>\"$notes/built\"
        cmp -s package-lock.json installed && test -e prepared && echo $RALPH_STORY >>\"$notes/whole\"
        echo $RALPH_STORY >>built; echo x >work$RALPH_STORY; {also}"
    ))
}

/// Runs the loop to its end with two jobs.
fn run(sandbox: &Sandbox, also: &str) {
    let agent = agent(sandbox, also);
    sandbox.ralph(&words("--jobs=2", &[], &agent)).exits(0);
    let of_side = sandbox.git(&["log", "--format=", "--name-only", "ralph/todo"]);
    assert!(!of_side.lines().any(|path| path == "prepared"), "{of_side}");
    assert_eq!(sandbox.git(&["worktree", "list"]).lines().count(), 1);
    let refs = sandbox.git(&["for-each-ref", "--format=%(refname)"]);
    assert!(!refs.contains("todo+"), "{refs}");
}

#[test]
fn work_tree_of_an_accepted_story_is_used_as_its_preparation_left_it() {
    let sandbox = sandbox(CHAIN);
    run(&sandbox, "mkdir -p empty; test ! -p pipe && mkfifo pipe");
    assert_eq!(sandbox.noted("prepared"), "1\n");
    assert_eq!(sandbox.noted("whole"), "1\n2\n3\n");
    // What another story built is in the trash.
    assert_eq!(sandbox.noted("built"), "1 \n2 \n3 \n");
    assert_eq!(
        checkpoints(&sandbox),
        ["checkpoint: 3", "checkpoint: 2", "checkpoint: 1"]
    );
    for (story, lacks) in [(1, 2), (2, 3)] {
        let at = format!("ralph/todo~{}:", 3 - story);
        let files = sandbox.git(&["ls-tree", "--name-only", &at]);
        assert!(files.contains(&format!("work{story}")) && !files.contains(&format!("work{lacks}")));
    }
}

#[test]
fn each_attempt_gets_a_new_work_tree_where_no_preparation_is_saved() {
    // The agent leaves something in git's own directory of its work tree, which stays there.
    let mark = "at=$(git rev-parse --git-dir)/COMMIT_EDITMSG; test ! -e \"$at\" || echo $RALPH_STORY >>\"$notes/again\"; touch \"$at\"";
    let sandbox = sandbox(CHAIN);
    run(&sandbox, mark);
    assert_eq!(sandbox.noted("again"), "2\n3\n");
    let without = self::sandbox(CHAIN);
    without.git(&["config", "--unset-all", "ralph.worktreeSetup"]);
    without.configure("ralph.worktreeCopy", ".env");
    without.write(".env", "secret\n");
    run(&without, mark);
    assert!(!without.notes.join("again").exists());
}

#[test]
fn refused_story_leaves_its_work_tree_to_none() {
    let sandbox = sandbox("- [ ] 1. A\n- [ ] 2. B (after 1)\n");
    sandbox.configure("ralph.verify", "test ! -e refused");
    run(
        &sandbox,
        "test $RALPH_STORY = 2 || test -e \"$notes/once\" || { touch \"$notes/once\" refused; }",
    );
    assert_eq!(verdicts(&sandbox), ["1 gate_failed", "1 complete", "2 complete"]);
    assert_eq!(sandbox.noted("prepared"), "1\n1\n");
}

#[test]
fn new_work_tree_is_made_where_inputs_differ_or_something_is_missing() {
    for also in ["echo two >>package-lock.json", "rm installed", "rm prepared"] {
        let sandbox = sandbox(CHAIN);
        run(&sandbox, &format!("test $RALPH_STORY != 1 || {also}"));
        assert_eq!(sandbox.noted("prepared"), "1\n1\n", "{also}");
        assert_eq!(sandbox.noted("whole"), "1\n2\n3\n", "{also}");
    }
}

#[test]
fn what_is_copied_is_copied_again_where_it_is_missing() {
    let sandbox = sandbox(CHAIN);
    sandbox.write(".env", "secret\n");
    sandbox.configure("ralph.worktreeCopy", ".env");
    run(
        &sandbox,
        "cat .env >>\"$notes/env\"; test $RALPH_STORY = 2 || rm .env",
    );
    assert_eq!(sandbox.noted("env"), "secret\n".repeat(3));
    assert_eq!(sandbox.noted("prepared"), "1\n1\n");
}

/// The stories 1 and 3 run at once; the second of them does this once the work tree of the first one is used by none. Story 2 waits for
/// both.
fn run_meeting(sandbox: &Sandbox, also: &str) {
    sandbox.configure("ralph.order", "free");
    run(sandbox, &once_left(also));
    let mut ended = verdicts(sandbox);
    assert_eq!(ended.pop().unwrap(), "2 complete");
    assert_eq!(ended, ["1 complete", "3 complete"]);
}

/// What story 3 does once the work tree of story 1 is used by none.
fn once_left(also: &str) -> String {
    format!(
        "test $RALPH_STORY != 3 || {{ git=$(git rev-parse --path-format=absolute --git-common-dir)
        until grep -q 'leaving = true' \"$git/ralph/todo+1.toml\"; do sleep 0.05; done; {also}; }}"
    )
}

const MEETING: &str = "- [ ] 1. A\n- [ ] 3. C\n- [ ] 2. B (after 1, 3)\n";

#[test]
fn new_work_tree_is_made_where_the_unused_one_is_not_as_it_was_left() {
    for change in [
        "echo /other >>.gitignore",
        "echo '* text' >.gitattributes",
        "echo mine >\"$side/stray\"",
        "echo other >\"$side/prepared\"",
        "echo other >\"$side/work1\"",
        "git -C \"$side\" update-index --skip-worktree work1; rm \"$side/work1\"",
        "git -C \"$side\" rm -q --cached work1",
        "git -C \"$side\" update-ref refs/worktree/mine HEAD",
        "touch \"$git/worktrees/todo+1/MERGE_MSG\"",
        "git config -f \"$git/worktrees/todo+1/config.worktree\" core.excludesFile mine",
    ] {
        let sandbox = sandbox(MEETING);
        run_meeting(
            &sandbox,
            &format!("side=$(git rev-parse --show-toplevel)/../todo+1; {change}"),
        );
        assert_eq!(sandbox.noted("prepared").lines().count(), 3, "{change}");
        let files = sandbox.git(&["ls-tree", "--name-only", "ralph/todo"]);
        assert!(!files.contains("stray"), "{files}");
        let wanted = ["work1", "work2", "work3"];
        assert!(
            wanted.iter().all(|file| files.contains(file)),
            "{change}: {files}"
        );
        if change.contains("stray") {
            let trash = sandbox.top.join(".git/ralph/todo+1/trash");
            let mut kept = entries_of(&trash).into_iter().map(|place| place.join("stray"));
            assert!(kept.any(|stray| stray.exists()));
        }
    }
}

#[test]
fn new_work_tree_is_made_where_another_command_prepares_it() {
    let sandbox = sandbox(MEETING);
    // The user changes it in a file of their own.
    let own = sandbox.notes.join("own.config");
    let own = own.to_str().unwrap();
    let setup = sandbox.git(&["config", "ralph.worktreeSetup"]);
    sandbox.git(&["config", "--unset-all", "ralph.worktreeSetup"]);
    sandbox.git(&["config", "-f", own, "ralph.worktreeSetup", &setup]);
    sandbox.configure("include.path", own);
    run_meeting(
        &sandbox,
        "git config -f \"$notes/own.config\" ralph.worktreeSetup \"$(git config ralph.worktreeSetup); :\"",
    );
    assert_eq!(sandbox.noted("prepared").lines().count(), 3);
}

#[test]
fn filter_that_an_attempt_plants_in_an_unused_work_tree_runs_in_none() {
    // With the story that would use it, and without.
    for list in [MEETING, "- [ ] 1. A\n- [ ] 3. C\n"] {
        let sandbox = sandbox(list);
        sandbox.configure("ralph.order", "free");
        sandbox.git(&["config", "extensions.worktreeConfig", "true"]);
        let notes = sandbox.notes.display();
        fs::write(sandbox.notes.join("attributes"), "* filter=planted\n").unwrap();
        let plant = format!(
            "at=\"$git/worktrees/todo+1/config.worktree\"
            git config -f \"$at\" core.attributesFile '{notes}/attributes'
            git config -f \"$at\" filter.planted.clean 'touch \"{notes}/ran\"; cat'
            touch \"$git/../../repo.ralph/todo+1/work1\""
        );
        run(&sandbox, &once_left(&plant));
        assert!(!sandbox.notes.join("ran").exists(), "{list}");
        assert_eq!(verdicts(&sandbox).len(), list.lines().count());
    }
}

#[test]
fn unused_work_tree_is_used_although_it_was_shown() {
    let sandbox = sandbox(MEETING);
    run_meeting(
        &sandbox,
        "git ralph status todo+1 >\"$notes/status\" 2>&1; git ralph log todo+1 >>\"$notes/status\" 2>&1",
    );
    let status = sandbox.noted("status");
    assert_eq!(sandbox.noted("prepared").lines().count(), 2, "{status}");
    assert!(!status.contains("removed"), "{status}");
}

#[test]
fn commit_in_an_unused_work_tree_keeps_that() {
    let sandbox = sandbox(MEETING);
    sandbox.configure("ralph.order", "free");
    let agent = agent(
        &sandbox,
        &once_left("git -C \"$(git rev-parse --show-toplevel)/../todo+1\" commit -q --allow-empty -m mine"),
    );
    sandbox
        .ralph(&words("--jobs=2", &[], &agent))
        .exits(0)
        .says("no branch has the commit that is checked out in it");
    let side = sandbox.git(&["worktree", "list"]);
    let side = side.lines().find(|line| line.contains("todo+1")).unwrap();
    let top = side.split_whitespace().next().unwrap();
    assert_eq!(sandbox.git(&["-C", top, "log", "-1", "--format=%s"]), "mine");
}

#[test]
fn run_that_ends_or_is_killed_leaves_no_work_tree() {
    let sandbox = sandbox(CHAIN);
    let agent = agent(&sandbox, "");
    sandbox
        .ralph(&words("--jobs=2", &["--max-attempts=1"], &agent))
        .exits(6);
    assert_eq!(sandbox.git(&["worktree", "list"]).lines().count(), 1);
    let sandbox = self::sandbox(MEETING);
    sandbox.configure("ralph.order", "free");
    let agent = self::agent(
        &sandbox,
        &format!("test $RALPH_STORY != 3 || {{ {}; }}", until("go")),
    );
    let running = sandbox.direct(&words("--jobs=2", &[], &agent)).start();
    let left = sandbox.top.join(".git/ralph/todo+1.toml");
    wait_until("the work tree of story 1 is used by none", || {
        fs::read_to_string(&left).is_ok_and(|state| state.contains("leaving = true"))
    });
    running.signal(Signal::SIGKILL);
    drop(running.end());
    sandbox.ralph(&["abort", "todo"]).exits(0);
    assert_eq!(sandbox.git(&["worktree", "list"]).lines().count(), 1);
    let refs = sandbox.git(&["for-each-ref", "--format=%(refname)"]);
    assert!(!refs.contains("todo+"), "{refs}");
}

fn entries_of(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}
