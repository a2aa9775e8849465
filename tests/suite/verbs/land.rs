//! `git ralph land`: finished changes are merged into the branch that is checked out, once gates pass on the merged files.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use nix::sys::signal::Signal;

use crate::support::{Running, Sandbox, wait_until};

/// A repository in which these changes are finished with `--keep`. Each has a file of its name, and `common` as `two` and `three`
/// want it.
fn finished(changes: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    for change in changes {
        let list = format!("openspec/changes/{change}/tasks.md");
        sandbox.write(&list, "## 1. Story\n- [ ] a\n");
    }
    sandbox.write("common", "base\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "lists"]);
    let agent = sandbox.completing(
        "echo x >\"$RALPH_CHANGE\"; case $RALPH_CHANGE in two|three) echo $RALPH_CHANGE >common;; esac",
    );
    for change in changes {
        let run = ["run", change, "--worktree", "--keep", "--", &agent];
        sandbox.ralph(&run).exits(0);
    }
    sandbox
}

/// Checks that no work tree, branch or state of a landing is left.
fn require_nothing_left(sandbox: &Sandbox) {
    let trees = sandbox.git(&["worktree", "list"]);
    let refs = sandbox.git(&["for-each-ref"]);
    let states = fs::read_dir(sandbox.top.join(".git/ralph")).unwrap();
    let mut states = states.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(!trees.contains('+') && !refs.contains("+1"), "{trees}\n{refs}");
    assert!(!states.any(|name| name.contains("+1.toml")));
}

#[test]
fn changes_land_in_the_order_that_was_typed_and_leave_out_what_conflicts() {
    let sandbox = finished(&["one", "two", "three"]);
    sandbox.write("mine", "of the user's\n");
    let landed = sandbox.ralph(&["land", "three", "two", "one", "--json"]).exits(7);
    let json = landed.json();
    let result = |at: usize| json["changes"][at]["result"].as_str().unwrap();
    assert_eq!(
        [result(0), result(1), result(2)],
        ["landed", "left_out", "landed"]
    );
    assert_eq!(json["changes"][1]["why"], "it conflicts with main in common");
    assert_eq!(
        sandbox.git(&["log", "--first-parent", "-3", "--format=%s"]),
        "Merge branch 'ralph/one'\nMerge branch 'ralph/three'\nlists"
    );
    assert_eq!(sandbox.git(&["log", "-1", "--format=%b"]).trim(), "- 1. Story");
    assert_eq!(sandbox.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "?? mine");
    assert_eq!(sandbox.read("common"), "three\n");
    sandbox
        .ralph(&["land", "one"])
        .exits(0)
        .says("main has all of one");
    require_nothing_left(&sandbox);
}

#[test]
fn change_that_is_green_alone_and_red_with_another_never_reaches_the_branch() {
    let sandbox = finished(&["one", "two"]);
    sandbox.configure(
        "ralph.verify",
        "if test -e one && test -e two; then echo together; exit 1; fi",
    );
    let landed = sandbox.ralph(&["land"]).exits(7);
    assert!(
        landed.stderr.contains("one has landed on main"),
        "{}",
        landed.stderr
    );
    assert!(landed.stderr.contains("together"), "{}", landed.stderr);
    landed.says("two is left out: the gate `if test -e one && test -e two; then echo together; exit 1; fi` fails on the merged work (exit code 1)");
    assert!(!sandbox.top.join("two").exists());
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    require_nothing_left(&sandbox);
}

#[test]
fn squash_makes_one_commit_and_a_second_time_nothing() {
    let sandbox = finished(&["one"]);
    sandbox
        .ralph(&["land", "--squash"])
        .exits(0)
        .says("nothing but the merge was checked");
    assert_eq!(sandbox.git(&["log", "--format=%s", "-2"]), "one: 1. Story\nlists");
    assert_eq!(sandbox.read("one"), "x\n");
    sandbox
        .ralph(&["land", "one"])
        .exits(0)
        .says("main has all of one");
    assert_eq!(sandbox.git(&["rev-list", "--count", "main"]), "3");
}

#[test]
fn edits_in_the_way_refuse_before_anything_and_others_stay() {
    let sandbox = finished(&["two"]);
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    for (path, ignored) in [("common", ""), ("two", ""), ("two", "two\n")] {
        sandbox.write(path, "of the user's\n");
        sandbox.write(".git/info/exclude", ignored);
        sandbox.ralph(&["land", "two"]).exits(7).says(&format!(
            "has changes of yours in files that 'two' changes:\n  {path}\n"
        ));
        assert_eq!(sandbox.read(path), "of the user's\n");
        assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), head);
        if path == "common" {
            sandbox.git(&["checkout", "-q", "common"]);
        } else {
            fs::remove_file(sandbox.top.join(path)).unwrap();
        }
    }
    // The file has what the merge has, and something else is staged.
    sandbox.write("common", "staged\n");
    sandbox.git(&["add", "common"]);
    sandbox.write("common", "two\n");
    sandbox
        .ralph(&["land", "two"])
        .exits(7)
        .says("changes of yours in files that 'two' changes:\n  common\n");
    assert_eq!(sandbox.git(&["show", ":common"]), "staged");
    assert_eq!(sandbox.read("common"), "two\n");
    sandbox.git(&["reset", "-q", "--hard"]);
    sandbox.write("staged", "x\n");
    sandbox.git(&["add", "staged"]);
    sandbox.ralph(&["land", "two"]).exits(0);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "A  staged");
}

#[test]
fn file_in_the_place_of_a_directory_refuses_before_anything() {
    let sandbox = Sandbox::new();
    let agent = sandbox.completing("mkdir -p dir; echo $RALPH_STORY >dir/file");
    sandbox
        .ralph(&["run", "--worktree", "--keep", "--", &agent])
        .exits(0);
    sandbox.write("dir", "of the user's\n");
    sandbox
        .ralph(&["land"])
        .exits(7)
        .says("has changes of yours in files that")
        .says("\n  dir\n");
    assert_eq!(sandbox.read("dir"), "of the user's\n");
}

#[test]
fn change_that_cannot_land_stops_no_other() {
    let sandbox = finished(&["one", "two"]);
    sandbox.git(&["update-ref", "-d", "refs/heads/ralph/one"]);
    sandbox
        .ralph(&["land", "one", "two"])
        .exits(7)
        .says("one is left out: branch ralph/one no longer exists")
        .says("two has landed on main");
}

#[test]
fn changes_that_have_no_branch_to_merge_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let change = crate::support::CHANGE;
    sandbox.ralph(&["land", change]).exits(7).says("is still active");
    let agent = sandbox.completing("echo x >work$RALPH_STORY");
    sandbox.ralph(&["run", "--keep", "--", &agent]).exits(0);
    sandbox.ralph(&["land", change]).exits(7).says(&format!(
        "this work tree is on ralph/{change}, the branch of '{change}' itself"
    ));
    sandbox.git(&["checkout", "-q", "--detach", "main"]);
    sandbox
        .ralph(&["land", change])
        .exits(7)
        .says("HEAD is not on a branch");
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.ralph(&["land"]).exits(0).says("has landed on main");
    sandbox
        .ralph(&["land"])
        .exits(5)
        .says("no change is finished with --keep and not yet part of main");
}

#[test]
fn merge_in_progress_is_for_the_user_to_end() {
    let sandbox = finished(&["one"]);
    sandbox.git(&["checkout", "-q", "-b", "side"]);
    for (branch, text) in [("side", "1\n"), ("main", "2\n")] {
        sandbox.git(&["checkout", "-q", branch]);
        sandbox.write("common", text);
        sandbox.git(&["commit", "-qam", branch]);
    }
    assert_ne!(sandbox.git_cmd(&["merge", "-q", "side"]).run().code, 0);
    sandbox
        .ralph(&["land", "one"])
        .exits(7)
        .says("a merge is in progress here")
        .says("git merge --abort");
}

#[test]
fn what_gates_change_is_under_the_ref_that_is_named() {
    let sandbox = finished(&["one"]);
    for (gate, code) in [
        ("echo y >one; touch new; false", 7),
        ("echo z >one; touch new", 0),
    ] {
        sandbox.configure("ralph.verify", gate);
        let said = sandbox.ralph(&["land", "one"]).exits(code).stderr;
        let (_, named) = said.split_once("to see the changes: git diff ").unwrap();
        let words = named.lines().next().unwrap().split(' ');
        let diff: Vec<&str> = ["diff"].into_iter().chain(words).collect();
        assert!(sandbox.git(&diff).contains("-x"), "{said}");
        let moved = said.lines().filter_map(|line| line.split_once(" moved to "));
        assert_eq!(moved.collect::<Vec<_>>(), [], "{said}");
    }
}

#[test]
fn private_files_stay_private() {
    let sandbox = Sandbox::new();
    sandbox.write("key", "mine\n");
    fs::set_permissions(sandbox.top.join("key"), fs::Permissions::from_mode(0o600)).unwrap();
    sandbox.git(&["add", "key"]);
    sandbox.git(&["commit", "-qm", "key"]);
    let agent = sandbox.completing("echo more >>key; echo x >>new; chmod 600 new");
    let run = ["run", "--worktree", "--keep", "--", &agent];
    sandbox.ralph(&run).exits(0);
    sandbox.ralph(&["land"]).exits(0);
    for name in ["key", "new"] {
        let found = fs::metadata(sandbox.top.join(name)).unwrap();
        assert_eq!(found.permissions().mode() & 0o777, 0o600, "{name}");
    }
}

#[test]
fn branch_that_a_second_work_tree_has_is_not_moved_under_it() {
    let sandbox = finished(&["two"]);
    let second = sandbox.notes.join("second");
    let second = second.to_str().unwrap();
    sandbox.git(&["worktree", "add", "-q", "-f", second, "main"]);
    sandbox
        .ralph(&["land", "two"])
        .exits(7)
        .says("has branch main checked out too, and its files would stay behind")
        .says(&format!("git -C {second} checkout --detach"));
    sandbox.git(&["-C", second, "checkout", "-q", "--detach"]);
    sandbox.ralph(&["land", "two"]).exits(0);
}

/// Begins to land a change whose gate waits.
fn judging(sandbox: &Sandbox) -> Running {
    let notes = sandbox.notes.display();
    let gate = format!("touch '{notes}/judges'; until test -e '{notes}/go'; do sleep 0.05; done");
    sandbox.configure("ralph.verify", &gate);
    let running = sandbox.direct(&["land", "one"]).start();
    wait_until("the gate runs", || sandbox.notes.join("judges").exists());
    running
}

#[test]
fn branch_that_moves_while_gates_run_is_not_moved_again() {
    let sandbox = finished(&["one"]);
    let running = judging(&sandbox);
    sandbox.write("common", "of the user's\n");
    sandbox.git(&["commit", "-qam", "user"]);
    fs::write(sandbox.notes.join("go"), "").unwrap();
    running.end().exits(7).says("main moved while it was judged");
    assert_eq!(sandbox.git(&["log", "-1", "--format=%s"]), "user");
    sandbox.ralph(&["land", "one"]).exits(0);
    assert_eq!(sandbox.read("common"), "of the user's\n");
    require_nothing_left(&sandbox);
}

#[test]
fn landing_that_was_killed_or_stopped_leaves_what_the_same_command_completes() {
    for signal in [Signal::SIGKILL, Signal::SIGINT] {
        let sandbox = finished(&["one"]);
        let running = judging(&sandbox);
        running.signal(signal);
        drop(running.end());
        assert!(!sandbox.top.join("one").exists());
        fs::write(sandbox.notes.join("go"), "").unwrap();
        sandbox
            .ralph(&["land", "one"])
            .exits(0)
            .says("one has landed on main");
        require_nothing_left(&sandbox);
    }
    // Killed after the files were written, and before the branch moved.
    let sandbox = finished(&["one"]);
    sandbox.git(&["merge", "-q", "--squash", "ralph/one"]);
    sandbox
        .ralph(&["land", "one"])
        .exits(0)
        .says("one has landed on main");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn landing_that_was_killed_leaves_nothing_if_the_user_merges_instead() {
    let sandbox = finished(&["one"]);
    let running = judging(&sandbox);
    running.signal(Signal::SIGKILL);
    running.wait_for_its_end();
    sandbox.git(&[
        "-c",
        "user.name=U",
        "-c",
        "user.email=u@e",
        "merge",
        "-q",
        "ralph/one",
    ]);
    fs::write(sandbox.notes.join("go"), "").unwrap();
    sandbox
        .ralph(&["land", "one"])
        .exits(0)
        .says("main has all of one");
    require_nothing_left(&sandbox);
}

#[test]
fn what_the_user_configures_while_gates_run_is_put_back_with_a_word_and_a_copy() {
    let sandbox = finished(&["one"]);
    let running = judging(&sandbox);
    sandbox.git(&["config", "user.signingKey", "MINE"]);
    fs::write(sandbox.notes.join("go"), "").unwrap();
    let said = running.end().exits(0).stderr;
    let line = said
        .lines()
        .find(|line| line.contains("was changed during a gate"))
        .unwrap();
    let copy = line.rsplit_once("kept as ").unwrap().1;
    assert!(fs::read_to_string(copy).unwrap().contains("MINE"), "{line}");
}

#[test]
fn landing_that_could_not_write_a_file_takes_back_what_it_wrote() {
    let sandbox = finished(&["one", "two"]);
    let other = sandbox.top.with_extension("ralph").join("one");
    // A filter of the user's that fails only in the user's own work tree.
    fs::write(other.join("z"), "z\n").unwrap();
    fs::write(other.join(".gitattributes"), "z filter=picky\n").unwrap();
    let at = other.to_str().unwrap().to_owned();
    sandbox.git(&["-C", &at, "add", "-A"]);
    sandbox.git(&["-C", &at, "commit", "-qm", "user"]);
    sandbox.configure("filter.picky.smudge", "false");
    sandbox.configure("filter.picky.required", "true");
    let landed = sandbox.ralph(&["land", "two", "one", "--json"]).exits(1).json();
    assert_eq!(landed["changes"][0]["result"], "landed");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    sandbox.configure("filter.picky.smudge", "cat");
    sandbox.ralph(&["land", "one"]).exits(0);
    assert_eq!(sandbox.read("one"), "x\n");
}

#[test]
fn file_with_another_time_and_one_that_has_the_new_bytes_already_are_in_no_ones_way() {
    let sandbox = finished(&["two"]);
    sandbox.write("common", "other\n");
    sandbox.write("common", "base\n");
    sandbox.write("two", "x\n");
    sandbox.ralph(&["land"]).exits(0);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    assert_eq!(sandbox.read("common"), "two\n");
}

#[test]
fn landing_that_was_killed_in_the_preparation_is_repeated() {
    let sandbox = finished(&["one"]);
    let notes = sandbox.notes.display();
    sandbox.configure("ralph.verify", "true");
    let setup = format!("touch '{notes}/prepares'; until test -e '{notes}/go'; do sleep 0.05; done");
    sandbox.configure("ralph.worktreeSetup", &setup);
    let running = sandbox.direct(&["land", "one"]).start();
    wait_until("it prepares", || sandbox.notes.join("prepares").exists());
    running.signal(Signal::SIGKILL);
    drop(running.end());
    fs::write(sandbox.notes.join("go"), "").unwrap();
    sandbox
        .ralph(&["land", "one"])
        .exits(0)
        .says("one has landed on main");
    require_nothing_left(&sandbox);
}

#[test]
fn branch_that_lost_what_was_finished_is_left_out() {
    let sandbox = finished(&["one", "two"]);
    let at = sandbox.top.with_extension("ralph").join("one");
    sandbox.git(&["-C", at.to_str().unwrap(), "reset", "-q", "--hard", "main"]);
    sandbox.write("common", "of the user's\n");
    let landed = sandbox.ralph(&["land", "two", "one", "--json"]).exits(7).json();
    let whys = [0, 1].map(|at| landed["changes"][at]["why"].as_str().unwrap().to_owned());
    assert!(whys[0].contains("has changes of yours"), "{whys:?}");
    assert_eq!(
        whys[1],
        "ralph/one no longer has what was finished (refs/ralph/one/finished)"
    );
}

#[test]
fn private_files_stay_private_after_a_kill() {
    for is_after in [false, true] {
        let sandbox = Sandbox::new();
        sandbox.write("key", "mine\n");
        fs::set_permissions(sandbox.top.join("key"), fs::Permissions::from_mode(0o600)).unwrap();
        sandbox.git(&["add", "key"]);
        sandbox.git(&["commit", "-qm", "key"]);
        let agent = sandbox.completing("echo more >>key");
        sandbox
            .ralph(&["run", "--worktree", "--keep", "--", &agent])
            .exits(0);
        let git = sandbox.git_program().display().to_string();
        let dies = format!("{is_after} && {git} \"$@\"; kill -9 $PPID; exit 1");
        let written = "cat key 2>/dev/null | grep -q more";
        let shim = format!(
            "case \" $* \" in *' update-ref '*) if {written}; then {dies}; fi;; esac\nexec {git} \"$@\"\n"
        );
        sandbox.install("git", &shim);
        sandbox.direct(&["land"]).run().exits(137);
        fs::remove_file(sandbox.outside("programs/git")).unwrap();
        sandbox.ralph(&["land", "add-login"]).exits(0);
        assert_eq!(sandbox.read("key").lines().count(), 4, "{is_after}");
        let found = fs::metadata(sandbox.top.join("key")).unwrap();
        assert_eq!(found.permissions().mode() & 0o777, 0o600, "{is_after}");
    }
}

#[test]
fn bytes_that_git_would_not_give_back_are_kept() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "filter.strip.clean", "sed /OUTPUT/d"]);
    sandbox.git(&["config", "filter.strip.smudge", "cat"]);
    sandbox.write(".gitattributes", "*.nb filter=strip\n");
    sandbox.write("u.nb", "code\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "notebook"]);
    sandbox.write("u.nb", "code\nOUTPUT of the user\n");
    sandbox.git(&["add", "u.nb"]);
    let agent = sandbox.completing("echo more >>u.nb");
    sandbox
        .ralph(&["run", "--worktree", "--keep", "--", &agent])
        .exits(0);
    sandbox
        .ralph(&["land"])
        .exits(0)
        .says("bytes that git would not give back are kept in ");
    let kept = sandbox.read(".git/ralph/add-login/trash/land/raw/u.nb");
    assert_eq!(kept, "code\nOUTPUT of the user\n");
}

#[test]
fn finish_of_work_that_landed_names_no_command_that_brings_it_again() {
    let sandbox = finished(&["one"]);
    sandbox
        .ralph(&["finish", "--cleanup", "one"])
        .exits(1)
        .says("already finished, with --keep\nhint: to have it as after --cleanup: ");
    sandbox.ralph(&["land", "one"]).exits(0);
    let over = "hint: its commits: git log refs/ralph/one/finished\n";
    sandbox.ralph(&["finish", "--cleanup", "one"]).exits(1).says(over);
    sandbox.ralph(&["prune", "--worktrees"]).exits(0);
    assert_eq!(sandbox.git(&["branch", "--list", "ralph/*"]), "");
    sandbox.ralph(&["finish", "--cleanup", "one"]).exits(1).says(over);
}
