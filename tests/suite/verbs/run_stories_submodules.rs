//! `git ralph run <change> --jobs` in repositories with submodules.

use super::run_stories::{require_no_side, until, verdicts, words};
use crate::support::{Output, Sandbox};

/// Commits a new file of the story in the submodule.
const IN_LIB: &str = "echo $RALPH_STORY >lib/of$RALPH_STORY; git -C lib add .
    git -C lib -c user.name=A -c user.email=a@e commit -qm \"story $RALPH_STORY\"";

fn with_lib(stories: usize) -> Sandbox {
    let sandbox = Sandbox::with_free_stories(stories);
    sandbox.add_submodule();
    sandbox
}

fn run(sandbox: &Sandbox, args: &[&str], agent: &str) -> Output {
    sandbox.ralph(&words("--jobs=2", args, agent))
}

/// Runs git in the submodule of the user's work tree.
fn in_lib(sandbox: &Sandbox, args: &[&str]) -> String {
    let git = sandbox.git_cmd(args).dir(&sandbox.top.join("lib"));
    git.run().exits(0).stdout.trim().to_owned()
}

/// Lists the files of the submodule at the last checkpoint.
fn files_of_lib(sandbox: &Sandbox) -> Vec<String> {
    let commit = sandbox.git(&["rev-parse", "ralph/todo:lib"]);
    let files = in_lib(sandbox, &["ls-tree", "--name-only", &commit]);
    files.lines().map(str::to_owned).collect()
}

/// Checks that nothing of the sides is left, in the submodule either.
fn require_nothing_left(sandbox: &Sandbox) {
    require_no_side(sandbox);
    let refs = in_lib(sandbox, &["for-each-ref", "--format=%(refname)"]);
    assert!(!refs.contains("todo+"), "{refs}");
}

#[test]
fn commits_that_a_story_makes_in_a_submodule_are_in_its_checkpoint() {
    for args in [&[][..], &["--worktree"]] {
        let sandbox = with_lib(3);
        let script = format!("echo x >work$RALPH_STORY; test $RALPH_STORY != 2 || {{ {IN_LIB}; }}");
        // The gate sees the submodule of the work that it judges.
        sandbox.configure(
            "ralph.verify",
            "test ! -e work2 || test -e lib/of2; git -C lib status",
        );
        run(&sandbox, args, &sandbox.completing(&script)).exits(0);
        assert_eq!(verdicts(&sandbox).len(), 3);
        assert_eq!(files_of_lib(&sandbox), ["a", "of2"]);
        if args.is_empty() {
            require_nothing_left(&sandbox);
        }
        let commit = sandbox.git(&["rev-parse", "ralph/todo:lib"]);
        let kept = format!("refs/ralph/todo/modules/{commit}");
        assert_eq!(in_lib(&sandbox, &["rev-parse", &kept]), commit);
        if args.is_empty() {
            assert_eq!(in_lib(&sandbox, &["rev-parse", "HEAD"]), commit);
            assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
        }
    }
}

#[test]
fn stories_that_move_one_submodule_meet_in_conflicts_and_all_get_there() {
    let sandbox = with_lib(3);
    let meet = format!("touch \"$notes/$RALPH_STORY\"; {}; {}", until("1"), until("2"));
    let agent = sandbox.completing(&format!("{meet}; {IN_LIB}"));
    run(&sandbox, &["--max-retries=0"], &agent)
        .exits(0)
        .says("git cannot merge it with what other stories changed meanwhile")
        .says("todo: 3 of 3 stories are complete");
    assert_eq!(files_of_lib(&sandbox), ["a", "of1", "of2", "of3"]);
    assert!(verdicts(&sandbox).iter().any(|one| one.ends_with(" conflict")));
    require_nothing_left(&sandbox);
}

#[test]
fn refused_work_leaves_the_submodule_as_it_was() {
    let sandbox = with_lib(2);
    let before = in_lib(&sandbox, &["rev-parse", "HEAD"]);
    sandbox.configure("ralph.verify", "test ! -e lib/of2");
    let script = format!("echo x >work$RALPH_STORY; test $RALPH_STORY != 2 || {{ {IN_LIB}; }}");
    let agent = sandbox.completing(&script);
    run(&sandbox, &["--max-retries=0", "--on-failure=skip"], &agent).exits(4);
    let mut made = verdicts(&sandbox);
    made.sort();
    assert_eq!(made, ["1 complete", "2 gate_failed"]);
    assert_eq!(files_of_lib(&sandbox), ["a"]);
    assert_eq!(in_lib(&sandbox, &["rev-parse", "HEAD"]), before);
    // What it had committed is there.
    let commit = sandbox.git(&["rev-parse", "refs/ralph/todo/attempts/2/1:lib"]);
    assert_eq!(in_lib(&sandbox, &["show", &format!("{commit}:of2")]), "2");
}

#[test]
fn gates_that_fail_together_run_on_the_submodule_of_the_work_alone() {
    let sandbox = with_lib(2);
    // Passes with either of both.
    sandbox.configure("ralph.verify", "! { test -e lib/of1 && test -e work2; }");
    let script = format!(
        "touch \"$notes/$RALPH_STORY\"; {}; {}
        if test $RALPH_STORY = 2; then ls lib/of1 >/dev/null 2>&1 && echo x >other || echo x >work2; else
        ls work2 >/dev/null 2>&1 && echo x >other || {{ {IN_LIB}; }}; fi",
        until("1"),
        until("2"),
    );
    run(&sandbox, &["--max-retries=0"], &sandbox.completing(&script))
        .exits(0)
        .says(": passes on ")
        .says("todo: 2 of 2 stories are complete");
    assert_eq!(verdicts(&sandbox).len(), 3);
    require_nothing_left(&sandbox);
}

#[test]
fn story_that_adds_a_submodule_is_attempted_in_the_loops_own_work_tree() {
    let sandbox = with_lib(3);
    let library = sandbox.outside("library");
    let add = format!(
        "git -c protocol.file.allow=always submodule --quiet add {} more",
        library.display()
    );
    let script = format!("echo x >work$RALPH_STORY; test $RALPH_STORY != 2 || {add}");
    run(&sandbox, &["--max-retries=0"], &sandbox.completing(&script))
        .exits(0)
        .says("only the loop's own work tree can have what it did to the submodule more: it is attempted there next time")
        .says("story 2 is attempted in the loop's own work tree, with nothing beside it");
    let mut made = verdicts(&sandbox);
    made.sort();
    assert_eq!(made, ["1 complete", "2 complete", "2 conflict", "3 complete"]);
    assert!(
        sandbox
            .git(&["ls-tree", "ralph/todo", "more"])
            .starts_with("160000")
    );
}

#[test]
fn promised_work_waits_while_the_user_has_changes_in_the_submodule() {
    let sandbox = with_lib(2);
    // As the user, in the loop's work tree, while both attempts run.
    let script = format!(
        "echo x >>\"$notes/attempts\"; touch \"$notes/$RALPH_STORY\"; {}; {}
        test $RALPH_STORY != 2 || echo mine >{}/lib/mine; {IN_LIB}",
        until("1"),
        until("2"),
        sandbox.top.display()
    );
    let agent = sandbox.completing(&script);
    run(&sandbox, &[], &agent)
        .exits(7)
        .says("error: submodule lib has uncommitted changes:\n  lib/mine\n");
    assert_eq!(sandbox.read("lib/mine"), "mine\n");
    in_lib(&sandbox, &["stash", "-q", "-u"]);
    let agent = sandbox.completing(&format!("echo x >>\"$notes/attempts\"; {IN_LIB}"));
    run(&sandbox, &[], &agent).exits(0);
    assert_eq!(files_of_lib(&sandbox), ["a", "of1", "of2"]);
    // The agents of both have run once; the second one met the first.
    assert_eq!(sandbox.noted("attempts").lines().count(), 3);
    assert_eq!(in_lib(&sandbox, &["show", "stash@{0}^3:mine"]), "mine");
}

#[test]
fn commit_that_an_agent_amended_in_a_submodule_is_kept() {
    let sandbox = with_lib(1);
    let script = format!(
        "{IN_LIB}; git -C lib rev-parse HEAD >\"$notes/first\"; echo y >lib/y; git -C lib add .
        git -C lib -c user.name=A -c user.email=a@e commit -q --amend -m amended"
    );
    run(&sandbox, &[], &sandbox.completing(&script)).exits(0);
    let first = sandbox.noted("first");
    assert_eq!(in_lib(&sandbox, &["show", &format!("{}:of1", first.trim())]), "1");
}

#[test]
fn submodule_that_is_not_checked_out_leaves_nothing_in_the_trash() {
    let sandbox = with_lib(2);
    sandbox.git(&["submodule", "--quiet", "deinit", "-f", "lib"]);
    let agent = sandbox.completing("echo x >work$RALPH_STORY");
    run(&sandbox, &[], &agent).exits(0);
    require_no_side(&sandbox);
}

#[test]
fn filter_that_a_story_plants_in_the_submodule_of_the_loop_does_not_run() {
    for args in [&[][..], &["--worktree"]] {
        let sandbox = with_lib(3);
        let script = format!(
            "if test $RALPH_STORY = 1; then m=$(git rev-parse --path-format=absolute --git-common-dir)/modules/lib
            for program in clean smudge; do git config -f $m/config filter.f.$program \"sh -c 'touch $notes/ran; cat'\"; done
            mkdir -p $m/info; echo '* filter=f' >$m/info/attributes; touch \"$notes/1\"; {}; else {}; {IN_LIB}; touch \"$notes/2\"; fi",
            until("2"),
            until("1")
        );
        run(&sandbox, args, &sandbox.completing(&script)).exits(0);
        sandbox.git(&["status"]);
        assert!(!sandbox.notes.join("ran").exists(), "{args:?}");
        assert!(!sandbox.read(".git/modules/lib/config").contains("filter"));
    }
}

#[test]
fn story_that_moves_a_submodule_of_a_submodule_is_attempted_in_the_loops_own_work_tree() {
    let sandbox = with_lib(3);
    sandbox.add_submodule_in_lib();
    sandbox.configure("ralph.verify", "! test -e lib/inner/x");
    let commit = "git -c user.name=A -c user.email=a@e commit -qam";
    let agent = sandbox.completing(&format!(
        "echo x >work$RALPH_STORY; test $RALPH_STORY != 2 ||
        {{ (cd lib/inner; echo y >>a; {commit} in); (cd lib; {commit} in); }}"
    ));
    run(&sandbox, &["--max-retries=0"], &agent)
        .exits(0)
        .says("only the loop's own work tree can have what it did to the submodule lib/inner: it is attempted there next time")
        .says("todo: 3 of 3 stories are complete");
    let mut made = verdicts(&sandbox);
    made.sort();
    assert_eq!(made, ["1 complete", "2 complete", "2 conflict", "3 complete"]);
}
