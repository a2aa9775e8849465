//! `git ralph redo`: a completed story is undone, and done again.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use crate::support::remote::Remote;
use crate::support::{CHANGE, Sandbox, TASKS};

/// An attempt that puts its number into a file of its story, and keeps its prompt.
const WORK: &str = "cat >\"$notes/prompt\"; echo \"$RALPH_ATTEMPT\" >\"story-$RALPH_STORY\"; complete";

/// A loop in which all stories are complete, and begun with these arguments.
fn complete_loop(args: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ralph(&[&["start", CHANGE], args].concat()).exits(0);
    run(&sandbox);
    sandbox
}

fn run(sandbox: &Sandbox) {
    let agent = sandbox.agent(WORK);
    sandbox.ralph(&["run", CHANGE, "--", &agent]).exits(0);
}

fn verdicts(sandbox: &Sandbox) -> String {
    let attempts = sandbox.attempts().into_iter().map(|one| {
        let text = |name: &str| one[name].as_str().unwrap().to_owned();
        format!("{}@{} {}", text("story"), one["attempt"], text("verdict"))
    });
    attempts.collect::<Vec<_>>().join(", ")
}

#[test]
fn redo_undoes_the_last_story_and_the_next_prompt_says_why() {
    let sandbox = complete_loop(&[]);
    let said = sandbox.ralph(&["redo", "3", "too", "slow:", "<promise>COMPLETE</promise>"]);
    said.exits(0)
        .says("story 3 is undone; kept: git ralph diff add-login 3@1")
        .says("to do it again: git ralph run add-login")
        .answers_nothing();
    assert!(!sandbox.top.join("story-3").exists());
    assert!(sandbox.top.join("story-2").exists());
    sandbox.is_at_checkpoint();
    assert_eq!(sandbox.subjects("HEAD")[0], "checkpoint: 2");
    let status = sandbox.status();
    assert_eq!(
        (&status["stories_done"], &status["phase"]),
        (&2.into(), &"ready".into())
    );
    run(&sandbox);
    let prompt = sandbox.noted("prompt");
    assert!(
        prompt.contains("## The user wants this story done again"),
        "{prompt}"
    );
    assert!(prompt.contains("> too slow: "), "{prompt}");
    assert!(!prompt.contains("slow: <promise>COMPLETE"), "{prompt}");
    assert!(
        prompt.contains("refs/ralph/add-login/attempts/3/1 | git apply --whitespace=nowarn"),
        "{prompt}"
    );
    assert_eq!(sandbox.read("story-3"), "2\n");
    assert_eq!(
        verdicts(&sandbox),
        "1@1 complete, 2@1 complete, 3@1 redone, 3@2 complete"
    );
    assert!(!sandbox.read(".git/ralph/add-login.toml").contains("redone"));
}

#[test]
fn redo_undoes_later_stories_only_if_it_is_told_to() {
    let sandbox = complete_loop(&[]);
    let print = sandbox.print();
    sandbox
        .ralph(&["redo", CHANGE, "1"])
        .exits(7)
        .says("other stories were completed after story 1, and would be undone with it: 2, 3")
        .says("git ralph redo --force add-login 1");
    assert_eq!(sandbox.print(), print);
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    let done = sandbox
        .ralph(&["redo", CHANGE, "1", "--force", "--json", "no"])
        .exits(0);
    let redone = done
        .events()
        .into_iter()
        .find(|event| event["event"] == "redone")
        .unwrap();
    assert_eq!(redone["words"], "no");
    assert_eq!(redone["stories"][2]["ref"], "refs/ralph/add-login/attempts/3/1");
    assert_eq!(sandbox.subjects("HEAD")[0], "initial state");
    let replaced = format!("refs/ralph/add-login/replaced/{}", &tip[..10]);
    assert_eq!(sandbox.git(&["rev-parse", &replaced]), tip);
    sandbox.ralph(&["log"]).exits(0);
    assert_eq!(verdicts(&sandbox), "1@1 redone, 2@1 redone, 3@1 redone");
    let log = sandbox.ralph(&["log"]).exits(0).stdout;
    assert!(log.contains("undone with story 1"), "{log}");
    sandbox.write(
        ".git/ralph/add-login/learnings.md",
        "[1@1] one\n[2@1] two\n[3@1] three\n",
    );
    let prompt = sandbox.ralph(&["prompt", CHANGE]).exits(0).stdout;
    for note in [
        "[1@1, not accepted] one",
        "[2@1, not accepted] two",
        "[3@1, not accepted] three",
    ] {
        assert!(prompt.contains(note), "{prompt}");
    }
    run(&sandbox);
    assert_eq!(sandbox.read("story-2"), "2\n");
    sandbox.ralph(&["report", "-o", "-"]).exits(0);
}

#[test]
fn redo_keeps_the_users_edits_and_no_commit_of_an_agent() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let commits =
        sandbox.completing("echo 1 >one; git add one; git commit -q -m 'checkpoint: edits before 9'");
    sandbox.step("next", &commits).exits(0);
    sandbox.write("mine.txt", "mine\n");
    sandbox.git(&["add", "mine.txt"]);
    sandbox.git(&["commit", "-q", "-m", "my own"]);
    sandbox.write("README.md", "# Mine\n");
    sandbox.step("next", &commits).exits(0);
    sandbox.ralph(&["redo", "1", "--force"]).exits(0);
    assert!(!sandbox.top.join("one").exists());
    assert_eq!(
        (sandbox.read("mine.txt"), sandbox.read("README.md")),
        ("mine\n".into(), "# Mine\n".into())
    );
    assert_eq!(
        sandbox.subjects("HEAD")[..2],
        ["checkpoint: edits before 2", "initial state"]
    );
    assert!(sandbox.read(TASKS).contains("- [ ] 1.1"));
    sandbox.is_at_checkpoint();
}

#[test]
fn redo_refuses_and_changes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox
        .step("next", &sandbox.completing("echo theirs >file"))
        .exits(0);
    sandbox.write("file", "mine\n");
    sandbox.step("next", &sandbox.completing("echo b >b")).exits(0);
    let print = sandbox.print();
    let refuses = |args: &[&str], code: i32, says: &str| {
        let redo = [&["redo"], args].concat();
        sandbox.ralph(&redo).exits(code).says(says);
        assert_eq!(sandbox.print(), print, "{args:?}");
    };
    refuses(
        &["1", "--force"],
        7,
        "changed files that story 1 or a later one changed too",
    );
    refuses(&["3"], 1, "story 3 has no checkpoint in this loop");
    let inside = sandbox.ralph_cmd(&["redo", "2"]).env("GIT_RALPH_RUN", "1-1");
    inside
        .run()
        .exits(1)
        .says("answer for the user, inside an attempt");
    sandbox.write("new", "new\n");
    sandbox
        .ralph(&["redo", "2"])
        .exits(7)
        .says("git stash -u; or undo them");
    fs::remove_file(sandbox.top.join("new")).unwrap();
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "mine"]);
    sandbox
        .ralph(&["redo", "2"])
        .exits(7)
        .says("has edits since the last checkpoint");
    sandbox.ralph(&["finish", "--keep"]).exits(0);
    sandbox
        .ralph(&["redo", CHANGE, "2"])
        .exits(1)
        .says("is over: closed by git ralph finish --keep");
}

#[test]
fn undone_story_can_be_restored_and_completed() {
    let sandbox = complete_loop(&[]);
    sandbox.ralph(&["redo", "2", "--force"]).exits(0);
    sandbox.ralph(&["restore", "2@1"]).exits(0);
    sandbox.ralph(&["complete"]).exits(0);
    assert_eq!(sandbox.read("story-2"), "1\n");
    sandbox.ralph(&["restore", "3@1"]).exits(0);
    sandbox.ralph(&["complete"]).exits(0);
    assert_eq!(sandbox.status()["phase"], "complete");
    assert_eq!(sandbox.read("story-3"), "1\n");
}

#[test]
fn redo_works_in_place_and_in_a_work_tree_of_the_loop() {
    for args in [["--strategy", "stash"].as_slice(), &["--worktree"]] {
        let sandbox = complete_loop(args);
        sandbox.ralph(&["redo", CHANGE, "2", "--force"]).exits(0);
        assert_eq!(sandbox.status()["stories_done"], 1, "{args:?}");
        run(&sandbox);
        assert_eq!(sandbox.status()["phase"], "complete", "{args:?}");
        sandbox.ralph(&["finish", CHANGE, "--cleanup"]).exits(0);
        assert_eq!(sandbox.read("story-2"), "2\n", "{args:?}");
        assert_eq!(sandbox.read("story-1"), "1\n", "{args:?}");
    }
}

#[test]
fn list_outside_has_to_be_opened_first() {
    let sandbox = Sandbox::new();
    let list = sandbox.outside("plan.md");
    let list = list.to_str().unwrap();
    sandbox.write(list, "## 1 One\n\n- [ ] 1.1 one\n\n## 2 Two\n\n- [ ] 2.1 two\n");
    sandbox.ralph(&["start", CHANGE, "--stories", list]).exits(0);
    run(&sandbox);
    let print = sandbox.print();
    sandbox
        .ralph(&["redo", "2"])
        .exits(7)
        .says("would still list story 2 as done; nothing was changed");
    assert_eq!(sandbox.print(), print);
    let opened = sandbox.read(list).replace("[x] 2.1", "[ ] 2.1");
    sandbox.write(list, &opened);
    sandbox.ralph(&["redo", "2"]).exits(0);
    assert!(!sandbox.top.join("story-2").exists());
    assert_eq!(sandbox.status()["stories_done"], 1);
}

#[test]
fn text_without_boxes_is_open_again() {
    let sandbox = Sandbox::new();
    sandbox.write("plan.md", "Write a parser.\n");
    sandbox.ralph(&["start", CHANGE, "--stories", "plan.md"]).exits(0);
    run(&sandbox);
    let id = sandbox.attempts()[0]["story"].as_str().unwrap().to_owned();
    sandbox.ralph(&["redo", &id, "shorter"]).exits(0);
    assert_eq!(sandbox.status()["stories_done"], 0);
    run(&sandbox);
    assert_eq!(sandbox.read(&format!("story-{id}")), "2\n");
}

#[test]
fn remote_gets_the_earlier_checkpoint() {
    let remote = Remote::new();
    let (one, two) = (remote.clone("one", &[]), remote.clone("two", &[]));
    let agent = remote.sandbox.agent(WORK);
    one.ralph(&["start", CHANGE]).exits(0);
    one.ralph(&["run", CHANGE, "--", &agent]).exits(0);
    two.ralph(&["pull", CHANGE]).exits(0);
    one.ralph(&["redo", CHANGE, "2", "--force", "the", "other", "way"])
        .exits(0);
    one.ralph(&["push", CHANGE]).exits(0);
    two.ralph(&["pull", CHANGE]).exits(0);
    assert_eq!(two.git(&["rev-parse", "HEAD"]), one.git(&["rev-parse", "HEAD"]));
    assert!(
        two.ralph(&["prompt", CHANGE])
            .exits(0)
            .stdout
            .contains("> the other way")
    );
    two.ralph(&["restore", CHANGE, "2@1"]).exits(0);
    two.ralph(&["revert", CHANGE]).exits(0);
    two.ralph(&["run", CHANGE, "--", &agent]).exits(0);
    one.ralph(&["pull", CHANGE]).exits(0);
    assert_eq!(two.git(&["rev-parse", "HEAD"]), one.git(&["rev-parse", "HEAD"]));
}

#[test]
fn tests_that_the_user_allowed_are_no_longer_stood_for() {
    let sandbox = Sandbox::new();
    sandbox.write("tests/value", "4\n");
    sandbox.write("app", "4\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "project"]);
    sandbox.configure("ralph.verify", "cmp app tests/value");
    sandbox.configure("ralph.tests", "tests");
    sandbox.start();
    let weakens = sandbox.completing("echo 5 >app; echo 5 >tests/value");
    let allowed = ["next", "--allow-test-changes", "--", &weakens];
    sandbox.ralph(&allowed).exits(0);
    sandbox.ralph(&["redo", "1"]).exits(0);
    assert_eq!(sandbox.read("tests/value"), "4\n");
    sandbox.step("next", &weakens).exits(3);
    assert!(
        !sandbox
            .read(".git/ralph/add-login.toml")
            .contains("[[loop.stood]]")
    );
}

#[test]
fn resumed_loop_knows_its_checkpoints() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.step("next", &sandbox.agent(WORK)).exits(0);
    sandbox.write("mine", "mine\n");
    sandbox.step("next", &sandbox.agent(WORK)).exits(0);
    fs::remove_dir_all(sandbox.top.join(".git/ralph")).unwrap();
    sandbox.ralph(&["start", CHANGE, "--resume"]).exits(0);
    run(&sandbox);
    sandbox.ralph(&["redo", "3"]).exits(0);
    assert_eq!(
        sandbox.subjects("HEAD")[..2],
        ["checkpoint: 2", "checkpoint: edits before 2"]
    );
    sandbox.ralph(&["redo", "2"]).exits(0);
    assert_eq!(sandbox.subjects("HEAD")[0], "checkpoint: edits before 2");
    assert_eq!(sandbox.read("mine"), "mine\n");
}

#[test]
fn redo_undoes_no_more_where_an_agent_merged() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.step("next", &sandbox.agent(WORK)).exits(0);
    sandbox.write("mine", "mine\n");
    let merges = sandbox.completing(
        "echo 2 >two; git add two; git commit -q -m two; own=$(git rev-parse HEAD); git checkout -q --detach main
         git merge -q --no-ff -m merged $own; merged=$(git rev-parse HEAD); git checkout -q ralph/add-login
         git merge -q --ff-only $merged; rm -f .git/ralph/add-login/events.jsonl",
    );
    sandbox.step("next", &merges).exits(0);
    sandbox.ralph(&["redo", "2"]).exits(0);
    assert!(!sandbox.top.join("two").exists());
    assert_eq!(
        (sandbox.read("mine"), sandbox.read("story-1")),
        ("mine\n".into(), "1\n".into())
    );
    assert_eq!(sandbox.status()["stories_done"], 1);
}

#[test]
fn moved_submodule_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.add_submodule();
    sandbox.start();
    let moves = "cd lib; git -c user.name=U -c user.email=u@e commit -q --allow-empty -m more; cd ..";
    sandbox.step("next", &sandbox.completing(moves)).exits(0);
    let print = sandbox.print();
    sandbox
        .ralph(&["redo", "1"])
        .exits(7)
        .says("moved the submodule lib; redo cannot move it back");
    assert_eq!(sandbox.print(), print);
}

#[test]
fn restore_after_redo_brings_back_what_was_accepted() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let ticks = sandbox.completing(&format!("echo x >x; sed -i 's/\\[ \\]/[x]/' {TASKS}"));
    sandbox
        .step("next", &ticks)
        .exits(0)
        .says("put back: marks of 2, 3");
    let left = sandbox.git(&["rev-parse", "refs/ralph/add-login/attempts/1/1"]);
    sandbox.ralph(&["redo", "1"]).exits(0);
    sandbox.ralph(&["restore", "1@1"]).exits(0);
    sandbox.ralph(&["complete"]).exits(0);
    assert_eq!(sandbox.status()["stories_done"], 1);
    let beside = format!("refs/ralph/add-login/attempts/1/1-{}", &left[..10]);
    assert_eq!(sandbox.git(&["rev-parse", &beside]), left);
}

#[test]
fn files_that_only_an_undone_rule_hid_are_named() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox
        .step("next", &sandbox.completing("echo secret >>.gitignore"))
        .exits(0);
    sandbox.write("secret", "key\n");
    sandbox
        .ralph(&["redo", "1"])
        .exits(0)
        .says("what no commit has is in ")
        .says("trash/redo.1.1: secret");
    assert_eq!(
        sandbox.read(".git/ralph/add-login/trash/redo.1.1/secret"),
        "key\n"
    );
}

#[test]
fn ignored_files_of_undone_stories_are_in_no_later_commit() {
    let sandbox = Sandbox::started();
    let writes = "test $RALPH_STORY != 1 || { printf 'keys/\\n*.key\\n' >.gitignore; mkdir keys; echo secret | tee a.key >keys/b; }";
    for _ in 1..=3 {
        let agent = sandbox.completing(&format!("{writes}; echo x >\"story-$RALPH_STORY\""));
        sandbox.step("next", &agent).exits(0);
    }
    sandbox.ralph(&["redo", "1", "--force"]).exits(0);
    sandbox.is_at_checkpoint();
    let trash = sandbox.top.join(".git/ralph/add-login/trash/redo.1.1");
    for file in ["a.key", "keys/b"] {
        assert!(
            !sandbox.top.join(file).exists() && trash.join(file).exists(),
            "{file}"
        );
    }
    sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
    assert_eq!(sandbox.subjects("HEAD")[..2], ["checkpoint: 1", "initial state"]);
}

#[test]
fn archived_list_is_back() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.agent(
        "cat >/dev/null; echo $RALPH_STORY >>work
         [ $RALPH_STORY != 3 ] || { mkdir -p openspec/changes/archive
         git mv openspec/changes/add-login openspec/changes/archive/2026-01-01-add-login; }
         complete",
    );
    sandbox.ralph(&["run", CHANGE, "--", &agent]).exits(0);
    sandbox.ralph(&["redo", "3"]).exits(0);
    let status = sandbox.status();
    assert_eq!(
        (&status["stories_done"], &status["phase"]),
        (&2.into(), &"ready".into())
    );
    run(&sandbox);
    assert_eq!(sandbox.status()["phase"], "complete");
}

#[test]
fn checkpoint_that_a_kill_cut_off_is_undone() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "list",
        "{\"id\":\"1\",\"title\":\"One\"}\n{\"id\":\"2\",\"title\":\"Two\"}\n",
    );
    sandbox.configure("ralph.adapter", "command");
    sandbox.configure("ralph.storiesCommand", "cat list");
    let notes = sandbox.notes.display();
    let kills = format!("[ -e '{notes}/killed' ] || {{ touch '{notes}/killed'; kill -9 $PPID; }}");
    sandbox.configure("ralph.doneCommand", &format!("after:{kills}"));
    sandbox.ralph(&["start", CHANGE]).exits(0);
    let agent = sandbox.agent(WORK);
    sandbox.direct(&["next", "--", &agent]).run().exits(137);
    sandbox.ralph(&["redo", "1"]).exits(0);
    assert!(!sandbox.top.join("story-1").exists());
    assert_eq!(sandbox.subjects("HEAD")[0], "initial state");
}

#[test]
fn bytes_that_a_filter_drops_and_permissions_are_those_of_the_earlier_checkpoint() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "filter.strip.clean", "sed /OUTPUT/d"]);
    sandbox.git(&["config", "filter.strip.smudge", "cat"]);
    sandbox.write(".gitattributes", "*.nb filter=strip\n");
    for name in ["u.nb", "v.nb", "key"] {
        sandbox.write(name, "old\n");
    }
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "notebooks"]);
    for name in ["u.nb", "v.nb"] {
        sandbox.write(name, "old\nOUTPUT of the user\n");
    }
    let mode = |name: &str| fs::metadata(sandbox.top.join(name)).unwrap().permissions().mode() & 0o777;
    let private = |name: &str| fs::set_permissions(sandbox.top.join(name), Permissions::from_mode(0o600));
    private("key").unwrap();
    sandbox.write("untracked", "secret\n");
    private("untracked").unwrap();
    sandbox.start();
    let first = sandbox.completing("echo x >>README.md");
    sandbox.step("next", &first).exits(0);
    let undone =
        sandbox.completing("printf 'new\\nOUTPUT of the agent\\n' >>u.nb; rm v.nb key; chmod 644 untracked");
    sandbox.step("next", &undone).exits(0);
    sandbox
        .ralph(&["redo", "2"])
        .exits(0)
        .says("bytes that git would not give back are kept in ");
    for name in ["u.nb", "v.nb"] {
        assert_eq!(sandbox.read(name), "old\nOUTPUT of the user\n");
    }
    assert_eq!(
        [mode("key"), mode("untracked")].map(|mode| format!("{mode:o}")),
        ["600", "600"]
    );
    sandbox.is_at_checkpoint();
    let kept = sandbox.read(".git/ralph/add-login/trash/redo.2.1/raw/u.nb");
    assert!(kept.ends_with("OUTPUT of the agent\n"), "{kept}");
    // Nothing of it is in a later checkpoint.
    let other = sandbox.completing("echo y >>README.md");
    sandbox.step("next", &other).exits(0);
    assert_eq!(sandbox.git(&["show", "HEAD:u.nb"]), "old");
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    assert_eq!(sandbox.read("v.nb"), "old\nOUTPUT of the user\n");
    assert_eq!(format!("{:o}", mode("key")), "600");
}
