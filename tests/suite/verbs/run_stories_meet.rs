//! `git ralph run <change> --jobs` meets what the user does meanwhile, what git ignores, and what has the name of a side.

use std::fs;

use nix::sys::signal::Signal;

use super::run_stories::{checkpoints, require_no_side, until, verdicts, words};
use crate::support::{Sandbox, wait_until};

/// Begins a run of two stories that wait, does something meanwhile, and lets them go on; the run ends well.
fn meanwhile(sandbox: &Sandbox, act: impl FnOnce(&Sandbox)) {
    let agent = sandbox.completing(&format!(
        "touch \"$notes/$RALPH_STORY\"; {}; echo x >work$RALPH_STORY",
        until("go")
    ));
    let running = sandbox.direct(&words("--jobs=2", &[], &agent)).start();
    wait_until("both work", || {
        ["1", "2"].iter().all(|note| sandbox.notes.join(note).exists())
    });
    act(sandbox);
    fs::write(sandbox.notes.join("go"), "").unwrap();
    running.end().exits(0);
    assert_eq!(
        checkpoints(sandbox).iter().filter(|one| one.len() == 13).count(),
        2
    );
    require_no_side(sandbox);
}

#[test]
fn edits_and_commits_of_the_user_meanwhile_stay() {
    let edited = Sandbox::with_free_stories(2);
    meanwhile(&edited, |sandbox| {
        sandbox.write("common", "of the user's\n");
        sandbox.write("new", "of the user's\n");
    });
    assert_eq!(edited.read("common"), "of the user's\n");
    assert_eq!(edited.git(&["show", "ralph/todo:new"]), "of the user's");
    let committed = Sandbox::with_free_stories(2);
    meanwhile(&committed, |sandbox| {
        sandbox.write("common", "of the user's\n");
        sandbox.git(&["commit", "-qam", "user"]);
    });
    assert_eq!(committed.git(&["show", "ralph/todo:common"]), "of the user's");
    let struck = Sandbox::with_free_stories(2);
    meanwhile(&struck, |sandbox| {
        let list = sandbox.read("TODO.md").replace("- [ ] 2. Story 2\n", "");
        sandbox.write("TODO.md", &list);
    });
    assert!(struck.read("TODO.md").contains("- [x] 2. Story 2\n"));
}

#[test]
fn file_of_the_users_that_git_ignores_is_not_replaced() {
    let sandbox = Sandbox::with_free_stories(2);
    sandbox.write(".gitignore", ".env\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "rules"]);
    sandbox.write(".env", "precious\n");
    let agent = sandbox.completing(
        "test $RALPH_STORY != 1 || { echo template >.env; git add -f .env; git commit -qm env; }; echo x >work$RALPH_STORY",
    );
    sandbox
        .ralph(&words(
            "--jobs=2",
            &["--max-retries=0", "--on-failure=skip"],
            &agent,
        ))
        .exits(4)
        .says("in the way of its own: .env");
    assert_eq!(sandbox.read(".env"), "precious\n");
    let kept = sandbox.git(&["show", "refs/ralph/todo/attempts/1/1:.env"]);
    assert_eq!(kept, "template");
}

#[test]
fn rule_of_one_story_takes_nothing_out_of_another() {
    let sandbox = Sandbox::with_free_stories(2);
    // The second has its file where no rule ignores it yet.
    let agent = sandbox.completing(&format!(
        "touch \"$notes/$RALPH_STORY\"; {}; {}
        case $RALPH_STORY in
        1) echo '*.made' >>.gitignore;;
        2) until git log --format=%s ralph/todo | grep -q 'checkpoint: 1'; do sleep 0.05; done; echo x >it.made;;
        esac; echo x >work$RALPH_STORY",
        until("1"),
        until("2")
    ));
    sandbox.git(&["config", "ralph.verify", "test ! -e work2 || test -e it.made"]);
    sandbox
        .ralph(&words("--jobs=2", &["--max-retries=0"], &agent))
        .exits(0);
    assert_eq!(verdicts(&sandbox), ["1 complete", "2 complete"]);
    assert_eq!(sandbox.git(&["show", "ralph/todo:it.made"]), "x");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn what_agents_write_into_the_learnings_reaches_the_loop() {
    let sandbox = Sandbox::with_free_stories(2);
    let agent =
        sandbox.completing("echo \"found by $RALPH_STORY\" >>\"$RALPH_LEARNINGS\"; echo x >work$RALPH_STORY");
    // The end of a known line is another line.
    sandbox.write(".git/ralph/todo/learnings.md", "also found by 1\n");
    sandbox.ralph(&words("--jobs=2", &[], &agent)).exits(0);
    let learned = sandbox.read(".git/ralph/todo/learnings.md");
    for story in ["1", "2"] {
        let line = format!("[{story}@1] found by {story}\n");
        assert_eq!(learned.matches(&line).count(), 1, "{learned}");
    }
}

#[test]
fn loop_and_branch_with_the_name_of_a_side_stay_the_users() {
    let sandbox = Sandbox::with_free_stories(2);
    sandbox.git(&["branch", "ralph/todo+1", "main"]);
    let place = sandbox.top.with_extension("mine");
    let place = format!("--worktree={}", place.display());
    sandbox
        .ralph(&["start", "todo+2", "--stories=TODO.md", &place])
        .exits(0);
    let agent = sandbox.completing("echo x >work$RALPH_STORY");
    sandbox
        .ralph(&words("--jobs=2", &[], &agent))
        .exits(0)
        .says("begins in todo+3")
        .says("begins in todo+4");
    assert_eq!(
        sandbox.git(&["rev-parse", "ralph/todo+1"]),
        sandbox.git(&["rev-parse", "main"])
    );
    let status = sandbox.ralph(&["status", "todo+2", "--json"]).exits(0).json();
    assert_eq!(status["phase"], "ready");
}

#[test]
fn side_whose_work_tree_is_removed_costs_no_retry() {
    for by_git in [true, false] {
        let sandbox = Sandbox::with_free_stories(3);
        let side = sandbox.top.with_extension("ralph").join("todo+2");
        let agent = sandbox.completing(&format!(
            "touch \"$notes/$RALPH_STORY\"; {}; echo x >work$RALPH_STORY",
            until("go")
        ));
        let running = sandbox
            .direct(&words("--jobs=2", &["--max-retries=0"], &agent))
            .start();
        wait_until("both work", || {
            ["1", "2"].iter().all(|note| sandbox.notes.join(note).exists())
        });
        if by_git {
            sandbox.git(&["worktree", "remove", "-f", "-f", side.to_str().unwrap()]);
        } else {
            fs::remove_dir_all(&side).unwrap();
        }
        fs::write(sandbox.notes.join("go"), "").unwrap();
        running.end().exits(0);
        assert_eq!(checkpoints(&sandbox).len(), 3);
        require_no_side(&sandbox);
    }
}

#[test]
fn place_whose_work_tree_is_removed_is_used_again_though_its_trash_stays() {
    let sandbox = Sandbox::with_free_stories(6);
    sandbox.write(".gitignore", "ignored\n");
    sandbox.git(&["add", ".gitignore"]);
    sandbox.git(&["commit", "-qm", "rules"]);
    let side = sandbox.top.with_extension("ralph").join("todo+2");
    let agent = sandbox.completing(&format!(
        "echo x >ignored; case $RALPH_STORY in 3|4) touch \"$notes/$RALPH_STORY\"; {};; esac; echo x >work$RALPH_STORY",
        until("go")
    ));
    let running = sandbox.direct(&words("--jobs=2", &[], &agent)).start();
    wait_until("both work", || {
        ["3", "4"].iter().all(|note| sandbox.notes.join(note).exists())
    });
    fs::remove_dir_all(&side).unwrap();
    fs::write(sandbox.notes.join("go"), "").unwrap();
    running.end().exits(0);
    assert_eq!(checkpoints(&sandbox).len(), 6);
    assert_eq!(sandbox.git(&["worktree", "list"]).lines().count(), 1);
    let refs = sandbox.git(&["for-each-ref", "--format=%(refname)"]);
    assert!(!refs.contains("todo+"), "{refs}");
}

#[test]
fn place_is_used_again_after_a_kill_while_its_work_tree_was_made() {
    let sandbox = Sandbox::with_free_stories(5);
    sandbox.write(".gitignore", "ignored\n");
    sandbox.git(&["add", ".gitignore"]);
    sandbox.git(&["commit", "-qm", "rules"]);
    let notes = sandbox.notes.display();
    // The third work tree is in a place that was used before.
    let setup = format!(
        "echo x >ignored; echo x >>'{notes}/made'; test $(wc -l <'{notes}/made') = 3 || exit 0; \
         touch '{notes}/prepares'; until test -e '{notes}/go'; do sleep 0.05; done"
    );
    sandbox.configure("ralph.worktreeSetup", &setup);
    // Where something is missing, a work tree is prepared again.
    let agent = sandbox.completing("rm ignored; echo x >work$RALPH_STORY");
    let running = sandbox.direct(&words("--jobs=2", &[], &agent)).start();
    let prepares = sandbox.notes.join("prepares");
    wait_until("it prepares", || prepares.exists());
    running.signal(Signal::SIGKILL);
    drop(running.end());
    fs::write(sandbox.notes.join("go"), "").unwrap();
    let again = sandbox.ralph(&words("--jobs=2", &[], &agent)).exits(0);
    assert!(!again.stderr.contains(" stays: "), "{}", again.stderr);
    assert_eq!(checkpoints(&sandbox).len(), 5);
    assert_eq!(sandbox.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn story_that_waits_for_a_skipped_one_stops_no_other() {
    let sandbox = Sandbox::with_free_stories(1);
    sandbox.write("TODO.md", "- [ ] 1. A\n- [ ] 2. B (after 1)\n- [ ] 3. C\n");
    sandbox.git(&["commit", "-qam", "order"]);
    let agent =
        sandbox.agent("test $RALPH_STORY != 1 || { failed no; exit 0; }; echo x >work$RALPH_STORY; complete");
    sandbox
        .ralph(&words(
            "--jobs=2",
            &["--max-retries=0", "--on-failure=skip"],
            &agent,
        ))
        .exits(4)
        .says("2 waits for 1");
    assert_eq!(checkpoints(&sandbox), ["checkpoint: 3"]);
}

#[test]
fn place_that_cannot_be_prepared_is_left_to_others() {
    let sandbox = Sandbox::with_free_stories(3);
    sandbox.git(&["config", "ralph.worktreeSetup", "test $RALPH_SLOT != 2"]);
    let agent = sandbox.completing("echo x >work$RALPH_STORY");
    sandbox
        .ralph(&words("--jobs=2", &[], &agent))
        .exits(0)
        .says(
            "in todo+2: the command `test $RALPH_SLOT != 2` that sets up the loop's work tree failed (exit code 1); \
             the run continues without todo+2",
        );
    assert_eq!(checkpoints(&sandbox).len(), 3);
}

#[test]
fn work_tree_with_what_is_nowhere_else_is_named_and_its_place_is_not_used_again() {
    let sandbox = Sandbox::with_free_stories(3);
    let library = sandbox.outside("library");
    std::fs::create_dir(&library).unwrap();
    sandbox.git_cmd(&["init", "-q"]).dir(&library).run().exits(0);
    let user = ["-c", "user.name=U", "-c", "user.email=u@e"];
    let commit = [&user[..], &["commit", "-q", "--allow-empty", "-m", "x"]].concat();
    sandbox.git_cmd(&commit).dir(&library).run().exits(0);
    let agent = sandbox.completing(&format!(
        "echo $RALPH_STORY >work$RALPH_STORY; [ $RALPH_STORY != 1 ] ||
         git -c protocol.file.allow=always submodule --quiet add '{}' lib",
        library.display()
    ));
    let ended = sandbox
        .ralph(&words("--jobs=2", &[], &agent))
        .exits(0)
        .says("only the loop's own work tree can have what it did to the submodule lib")
        .says("story 1 is attempted in the loop's own work tree, with nothing beside it")
        .says("stays: it has what is nowhere else, or cannot be removed");
    assert!(!ended.stderr.contains("is not used any more"), "{}", ended.stderr);
    assert_eq!(checkpoints(&sandbox).len(), 3);
}

#[test]
fn work_tree_that_a_killed_side_began_to_make_is_removed_with_the_loop() {
    let sandbox = Sandbox::with_free_stories(2);
    let kill = "test $RALPH_SLOT != 2 || { kill -9 $(ps -o ppid= -p $PPID); sleep 60; }";
    sandbox.git(&["config", "ralph.worktreeSetup", kill]);
    let agent = sandbox.completing("echo x >work$RALPH_STORY");
    sandbox
        .ralph(&words("--jobs=2", &[], &agent))
        .exits(0)
        .says("its process was ended by SIGKILL; the run continues without todo+2");
    assert_eq!(checkpoints(&sandbox).len(), 2);
    assert_eq!(sandbox.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn agent_that_marks_or_reformats_its_list_is_in_conflict_with_no_other() {
    let sandbox = Sandbox::with_free_stories(3);
    sandbox.configure("ralph.mark", "agent");
    let agent = sandbox.completing("echo x >work$RALPH_STORY; sed -i.bak \"s/\\[ \\] $RALPH_STORY/[x] $RALPH_STORY/\" TODO.md; rm TODO.md.bak");
    sandbox.ralph(&words("--jobs=3", &[], &agent)).exits(0);
    assert_eq!(verdicts(&sandbox).len(), 3);
    let json = Sandbox::new();
    let stories = [1, 2, 3].map(|id| format!(r#"{{"id":"{id}","title":"Story {id}","passes":false}}"#));
    json.write(
        "prd.json",
        &format!(r#"{{"userStories":[{}]}}"#, stories.join(",")),
    );
    json.git(&["add", "-A"]);
    json.git(&["commit", "-q", "-m", "list"]);
    json.configure("ralph.order", "free");
    let agent =
        json.completing("echo x >work$RALPH_STORY; sed -i.bak 's/,/,\\n  /g' prd.json; rm prd.json.bak");
    let run = [
        "run",
        "todo",
        "--stories=prd.json",
        "--jobs=3",
        "--keep",
        "--",
        &agent,
    ];
    json.ralph(&run).exits(0);
    assert_eq!(verdicts(&json).len(), 3);
    json.git(&["checkout", "-q", "main"]);
    let sorts = r#"s/"id":"(.)","title":"([^"]*)"/"title":"\2","id":"\1"/g"#;
    let agent = json.completing(&format!(
        "echo y >work$RALPH_STORY; sed -i.bak -E '{sorts}' prd.json; rm prd.json.bak"
    ));
    let again = ["run", "again", run[2], run[3], run[4], run[5], &agent];
    json.ralph(&again).exits(0);
    let log = json.ralph(&["log", "again", "--json"]).exits(0).json();
    assert_eq!(log["attempts"].as_array().unwrap().len(), 3, "{log}");
}

#[test]
fn two_attempts_that_add_a_story_at_the_end_of_a_json_list_are_in_no_conflict() {
    let sandbox = Sandbox::new();
    let stories = [1, 2].map(|id| format!(r#"{{"id":"{id}","title":"Story {id}","passes":false}}"#));
    let list = format!("{{\"userStories\":[\n  {}\n]}}\n", stories.join(",\n  "));
    sandbox.write("prd.json", &list);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "list"]);
    sandbox.configure("ralph.order", "free");
    let agent = sandbox.completing(
        "echo x >work$RALPH_STORY; touch \"$notes/$RALPH_STORY\"
        case $RALPH_STORY in 1|2) ;; *) exec echo '<promise>COMPLETE</promise>';; esac
        until test -e \"$notes/1\" && test -e \"$notes/2\"; do sleep 0.05; done
        new=\"{\\\"id\\\":\\\"new$RALPH_STORY\\\",\\\"title\\\":\\\"More\\\",\\\"passes\\\":false}\"
        sed -i.bak \"s/^]/,$new]/\" prd.json; rm prd.json.bak",
    );
    let list = ["run", "todo", "--stories=prd.json", "--jobs=2", "--keep"];
    sandbox.ralph(&[&list[..], &["--", &agent]].concat()).exits(0);
    assert_eq!(verdicts(&sandbox).len(), 4);
    let done = sandbox.git(&["show", "ralph/todo:prd.json"]);
    assert_eq!(done.matches("\"passes\":true").count(), 4, "{done}");
}

#[test]
fn work_trees_among_the_files_of_the_loop_are_for_one_story_after_another() {
    let sandbox = Sandbox::with_free_stories(2);
    sandbox.configure("ralph.worktreeDir", ".trees");
    let agent = sandbox.completing("echo x >work$RALPH_STORY");
    let why = "ralph.worktreeDir is in the work tree, and git does not ignore it";
    sandbox.ralph(&words("--jobs=2", &[], &agent)).exits(0).says(why);
    let ignored = Sandbox::with_free_stories(2);
    ignored.configure("ralph.worktreeDir", ".trees");
    ignored.write(".git/info/exclude", ".trees/\n");
    let agent = ignored.completing("echo x >work$RALPH_STORY");
    ignored
        .ralph(&words("--jobs=2", &[], &agent))
        .exits(0)
        .says("story 2 begins in todo+2");
    require_no_side(&ignored);
}

#[test]
fn side_whose_preparation_makes_files_leaves_no_work_tree_and_no_ref() {
    let sandbox = Sandbox::with_free_stories(2);
    sandbox.configure("ralph.worktreeSetup", "echo made >prepared");
    let agent = sandbox.completing("echo x >work$RALPH_STORY");
    let run = sandbox.ralph(&words("--jobs=2", &[], &agent)).exits(0);
    assert!(!run.stderr.contains("beside its attempt"), "{}", run.stderr);
    assert_eq!(sandbox.git(&["worktree", "list"]).lines().count(), 1);
    let refs = sandbox.git(&["for-each-ref", "--format=%(refname)"]);
    assert!(!refs.contains("todo+"), "{refs}");
}

#[test]
fn notes_of_an_agent_in_a_list_of_one_line_a_story_are_never_lost() {
    let sandbox = Sandbox::new();
    let stories =
        [1, 2, 3].map(|id| format!(r#"{{"id":"{id}","title":"Story {id}","passes":false,"notes":""}}"#));
    sandbox.write(
        "prd.json",
        &format!(r#"{{"userStories":[{}]}}"#, stories.join(",")),
    );
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "list"]);
    sandbox.configure("ralph.order", "free");
    let agent = sandbox.completing(
        "sed -i.bak \"s/Story $RALPH_STORY\\\",\\\"passes\\\":false,\\\"notes\\\":\\\"/&learned $RALPH_STORY/\" prd.json; rm prd.json.bak; echo x >work$RALPH_STORY",
    );
    let run = [
        "run",
        "todo",
        "--stories=prd.json",
        "--jobs=3",
        "--keep",
        "--",
        &agent,
    ];
    sandbox.ralph(&run).exits(0);
    let list = sandbox.read("prd.json");
    for id in ["1", "2", "3"] {
        assert!(list.contains(&format!("learned {id}")), "{list}");
    }
}

#[test]
fn story_that_is_attempted_beside_others_is_skipped_alone() {
    let sandbox = Sandbox::with_free_stories(3);
    let agent = sandbox.completing(&format!(
        "echo x >work$RALPH_STORY; touch \"$notes/$RALPH_STORY\"; test $RALPH_STORY = 3 || {}",
        until("go$RALPH_STORY")
    ));
    let running = sandbox.direct(&words("--jobs=2", &[], &agent)).start();
    wait_until("both work", || {
        ["1", "2"].iter().all(|note| sandbox.notes.join(note).exists())
    });
    sandbox
        .ralph(&["skip"])
        .exits(1)
        .says("several stories of 'todo' are attempted: 1, 2");
    sandbox
        .ralph(&["skip", "2"])
        .exits(0)
        .says("ends the attempt at story 2, keeps its work");
    wait_until("the third works", || sandbox.notes.join("3").exists());
    fs::write(sandbox.notes.join("go1"), "").unwrap();
    running
        .end()
        .exits(5)
        .says("story 2 is skipped, by a request that came meanwhile");
    let mut made = verdicts(&sandbox);
    made.sort();
    assert_eq!(made, ["1 complete", "2 interrupted", "3 complete"]);
    let printed = sandbox.ralph(&["log", "todo", "2@1"]).exits(0);
    assert!(!printed.stdout.contains("COMPLETE"), "{}", printed.stdout);
    let kept = sandbox.git(&[
        "for-each-ref",
        "--format=%(refname)",
        "refs/ralph/todo/attempts/2",
    ]);
    assert_eq!(sandbox.git(&["show", &format!("{kept}:work2")]), "x");
    require_no_side(&sandbox);
}

#[test]
fn story_that_archives_the_change_takes_its_list_along() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "openspec/changes/add-cart/tasks.md",
        "## 1. One\n- [ ] a\n## 2. Two\n- [ ] b\n## 3. Three\n- [ ] c\n",
    );
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "list"]);
    sandbox.configure("ralph.order", "free");
    let agent = sandbox.completing(&format!(
        "echo x >work$RALPH_STORY; touch \"$notes/$RALPH_STORY\"; test $RALPH_STORY != 2 || {{
        {}; mkdir openspec/changes/archive; git mv openspec/changes/add-cart openspec/changes/archive/2026-11-30-add-cart; }}",
        until("3")
    ));
    sandbox
        .ralph(&["run", "add-cart", "--jobs=2", "--keep", "--", &agent])
        .exits(0)
        .says("the stories are now in openspec/changes/archive/2026-11-30-add-cart/tasks.md");
    assert_eq!(
        sandbox.git(&["ls-files", "*tasks.md"]),
        "openspec/changes/add-login/tasks.md\nopenspec/changes/archive/2026-11-30-add-cart/tasks.md"
    );
    let list = sandbox.read("openspec/changes/archive/2026-11-30-add-cart/tasks.md");
    assert!(!list.contains("[ ]"), "{list}");
}
