//! What the run with `--jobs` knows of an attempt that was made in a work tree of its own: its commits, its notices,
//! and the words of its story.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use nix::sys::signal::Signal;

use super::run_stories::{checkpoints, require_no_side, until, verdicts, words};
use super::run_stories_ends::{judging, judging_work, require_judged};
use crate::support::{Sandbox, wait_until};

#[test]
fn commits_of_an_agent_stay_whether_its_work_is_accepted_or_not() {
    let sandbox = Sandbox::with_free_stories(2);
    sandbox.configure("ralph.verify", "test ! -e bad");
    sandbox.configure("ralph.maxRetries", "0");
    sandbox.configure("ralph.onFailure", "skip");
    let agent = sandbox.completing(
        "echo draft >work$RALPH_STORY; git add .; git commit -qm \"draft $RALPH_STORY\"; \
         echo final >work$RALPH_STORY; test $RALPH_STORY = 1 || touch bad",
    );
    sandbox.ralph(&words("--jobs=2", &[], &agent)).exits(4);
    let mut made = verdicts(&sandbox);
    made.sort();
    assert_eq!(made, ["1 complete", "2 gate_failed"]);
    let kept = sandbox.git(&["log", "--all", "--format=%s"]);
    for story in ["1", "2"] {
        assert!(kept.contains(&format!("draft {story}")), "{kept}");
    }
    let message = sandbox.git(&["log", "-1", "--format=%B", "ralph/todo"]);
    assert!(message.contains("Ralph-Agent: agent-0"), "{message}");
    require_no_side(&sandbox);
}

#[test]
fn notices_about_an_attempt_are_those_of_the_run() {
    let sandbox = Sandbox::with_free_stories(2);
    sandbox.git(&["branch", "users"]);
    let agent = sandbox.completing(
        "echo x >work$RALPH_STORY; test $RALPH_STORY = 1 || { \
         git -c core.hooksPath=/dev/null update-ref -d refs/heads/users; sed -i.bak 's/Story 1/Easy/' TODO.md; rm TODO.md.bak; }",
    );
    let run = sandbox.ralph(&words("--jobs=2", &[], &agent)).exits(0);
    let run = run.says("2: the branch users was deleted during the attempt");
    run.says("TODO.md: put back: ");
    let log = sandbox.ralph(&["log", "todo", "--json"]).exits(0).json();
    let attempts = log["attempts"].as_array().unwrap();
    let second = attempts.iter().find(|one| one["story"] == "2").unwrap();
    assert!(second["list_put_back"].is_string(), "{second}");
    let list = sandbox.git(&["show", "refs/ralph/todo/attempts/2/1-list:TODO.md"]);
    assert!(list.contains("Easy"), "{list}");
    require_no_side(&sandbox);
}

#[test]
fn promise_is_for_the_words_that_its_agent_was_given() {
    let sandbox = Sandbox::with_free_stories(2);
    let (agent, running) = judging(&sandbox);
    running.signal(Signal::SIGKILL);
    drop(running.end());
    sandbox.ralph(&["status", "todo"]).exits(0);
    let list = sandbox.read("TODO.md").replace("Story 2", "Another story");
    sandbox.write("TODO.md", &list);
    fs::write(sandbox.notes.join("go"), "").unwrap();
    sandbox
        .ralph(&words("--jobs=2", &[], &agent))
        .exits(0)
        .says("the words of the story were changed meanwhile: it was made for those before");
    assert_eq!(sandbox.noted("began1"), "x\n");
    assert_eq!(sandbox.noted("began2"), "x\nx\n");
    assert_eq!(
        checkpoints(&sandbox)
            .iter()
            .filter(|one| one.starts_with("checkpoint: 2"))
            .count(),
        1
    );
    require_no_side(&sandbox);
}

#[test]
fn list_that_git_converts_has_the_same_words() {
    let sandbox = Sandbox::with_free_stories(1);
    sandbox.configure("core.autocrlf", "true");
    sandbox.write(
        "TODO.md",
        "- [ ] 1. One\r\n  - [ ] part\r\n- [ ] 2. Two\r\n  - [ ] part\r\n",
    );
    sandbox.git(&["commit", "-qam", "parts"]);
    let agent = sandbox.completing("echo x >>\"$notes/began$RALPH_STORY\"; echo x >work$RALPH_STORY");
    sandbox.ralph(&words("--jobs=2", &[], &agent)).exits(0);
    for story in ["1", "2"] {
        assert_eq!(sandbox.noted(&format!("began{story}")), "x\n");
    }
}

#[test]
fn list_that_was_put_back_is_kept_where_nothing_is_judged() {
    let sandbox = Sandbox::with_free_stories(2);
    let work = "sed -i.bak 's/Story/Insight/' TODO.md; rm TODO.md.bak; echo x >work$RALPH_STORY";
    let (_, running) = judging_work(&sandbox, work);
    running.signal(Signal::SIGKILL);
    drop(running.end());
    fs::write(sandbox.notes.join("go"), "").unwrap();
    sandbox.ralph(&["abort", "todo"]).exits(0);
    for story in ["1", "2"] {
        let refs = sandbox.git(&[
            "for-each-ref",
            "--format=%(refname)",
            &format!("refs/ralph/todo/attempts/{story}"),
        ]);
        let has_it = |name: &str| {
            sandbox
                .git(&["show", &format!("{name}:TODO.md")])
                .contains("Insight")
        };
        assert!(refs.lines().any(has_it), "{refs}");
    }
    require_no_side(&sandbox);
}

#[test]
fn commands_for_an_attempt_beside_others_are_refused_and_it_is_taken_in_as_it_is() {
    let sandbox = Sandbox::with_free_stories(2);
    let (agent, running) = judging(&sandbox);
    running.signal(Signal::SIGKILL);
    drop(running.end());
    for command in [
        &["complete", "todo+2"][..],
        &["fail", "todo+2"],
        &["redo", "todo+2", "2"],
        &["abort", "todo+2"],
        &["skip", "todo+2"],
        &["tell", "todo+2", "words"],
        &["stop", "todo+2"],
        &["restore", "todo+2", "2@1"],
        &["start", "todo+2"],
        &["run", "todo+2"],
    ] {
        sandbox
            .ralph(command)
            .exits(1)
            .says("'todo+2' is an attempt of 'todo', beside others")
            .says("hint: git ralph status todo\n");
    }
    let status = sandbox.ralph(&["status", "todo+2"]).exits(0);
    let goes_on = "(use \"git ralph status todo\" to see the loop that takes in what is made here)";
    assert!(status.stdout.contains(goes_on), "{}", status.stdout);
    assert!(!status.stdout.contains("git ralph run"), "{}", status.stdout);
    require_judged(&sandbox, &agent);
}

#[test]
fn attempt_whose_work_tree_git_no_longer_knows_is_made_again() {
    let sandbox = Sandbox::with_free_stories(3);
    let agent = sandbox.completing(
        "echo x >>\"$notes/began$RALPH_STORY\"; echo x >work$RALPH_STORY; \
         if test $RALPH_STORY = 2 && mkdir \"$notes/once\" 2>/dev/null; then rm -r \"$(git rev-parse --git-dir)\"; fi",
    );
    sandbox
        .ralph(&words("--jobs=2", &[], &agent))
        .exits(0)
        .says("no longer belongs to this repository; its files are in ");
    assert_eq!(checkpoints(&sandbox).len(), 3);
    assert_eq!(sandbox.noted("began2"), "x\nx\n");
    let aside = sandbox.top.with_extension("ralph").join("todo+2.old");
    assert_eq!(fs::read_to_string(aside.join("work2")).unwrap(), "x\n");
    require_no_side(&sandbox);
}

#[test]
fn story_that_the_user_adds_meanwhile_waits_for_the_checkpoint_that_has_it() {
    let sandbox = Sandbox::with_free_stories(2);
    let agent = sandbox.completing(&format!(
        "touch \"$notes/at$RALPH_STORY\"; echo x >work$RALPH_STORY; case $RALPH_STORY in 1) {};; 2) {};; esac",
        until("one"),
        until("two")
    ));
    let running = sandbox.direct(&words("--jobs=3", &[], &agent)).start();
    wait_until("both work", || {
        ["at1", "at2"]
            .iter()
            .all(|note| sandbox.notes.join(note).exists())
    });
    let list = sandbox.read("TODO.md") + "- [ ] 3. Story 3\n";
    sandbox.write("TODO.md", &list);
    fs::write(sandbox.notes.join("one"), "").unwrap();
    wait_until("the first is complete", || {
        checkpoints(&sandbox).contains(&"checkpoint: 1".to_owned())
    });
    fs::write(sandbox.notes.join("two"), "").unwrap();
    let ended = running.end().exits(0);
    for words in ["is not used any more", "was removed during", "was deleted during"] {
        assert!(!ended.stderr.contains(words), "{}", ended.stderr);
    }
    // With that of the edit.
    assert_eq!(checkpoints(&sandbox).len(), 4);
    require_no_side(&sandbox);
}

#[test]
fn sides_of_a_loop_that_was_finished_elsewhere_are_removed_with_it() {
    let sandbox = Sandbox::with_free_stories(2);
    let bare = sandbox.outside("remote.git");
    sandbox.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    sandbox.git(&["remote", "add", "origin", bare.to_str().unwrap()]);
    sandbox.configure("ralph.remote", "origin");
    let (agent, running) = judging(&sandbox);
    running.signal(Signal::SIGKILL);
    drop(running.end());
    fs::write(sandbox.notes.join("go"), "").unwrap();
    let two = sandbox.outside("two");
    sandbox.git(&["clone", "-q", bare.to_str().unwrap(), two.to_str().unwrap()]);
    let there = |args: &[&str]| sandbox.direct(args).dir(&two).run().exits(0);
    there(&["pull", "todo", "--remote=origin", "--take", "--force"]);
    there(&["run", "todo", "--remote=origin", "--keep", "--", &agent]);
    let run = sandbox.ralph(&["run", "todo", "--remote=origin", "--keep", "--", &agent]);
    run.exits(5)
        .says("to bring its end here: git ralph pull todo --remote origin");
    let side = sandbox.top.with_extension("ralph").join("todo+2");
    fs::write(side.join("users"), "mine\n").unwrap();
    let pull = sandbox.ralph(&["pull", "todo"]).exits(0);
    let kept = "refs/ralph/todo+2/finished";
    pull.says(&format!(
        "what todo+2 had beside its attempt is kept: git log {kept}"
    ));
    assert_eq!(sandbox.git(&["show", &format!("{kept}:users")]), "mine");
    assert_eq!(sandbox.git(&["worktree", "list"]).lines().count(), 1);
    for story in ["1", "2"] {
        let kept = sandbox.git(&["for-each-ref", &format!("refs/ralph/todo/attempts/{story}")]);
        assert!(!kept.is_empty(), "nothing is kept of story {story}");
    }
}

#[test]
fn only_the_run_marks_a_story_while_attempts_run() {
    let sandbox = Sandbox::with_free_stories(3);
    let (list, ticked) = (sandbox.top.join("TODO.md"), until("ticked"));
    let agent = sandbox.completing(&format!(
        "echo x >work$RALPH_STORY; case $RALPH_STORY in 1) {ticked};; \
         2) sed 's/\\[ \\]/[x]/' '{list}' >\"$notes/list\"; cp \"$notes/list\" '{list}'; touch \"$notes/ticked\";; esac",
        list = list.display()
    ));
    sandbox.ralph(&words("--jobs=2", &[], &agent)).exits(0).says(
        "TODO.md: put back, because attempts ran since the last checkpoint: marks of 1, 2, 3 (kept: git show refs/ralph/todo/replaced/",
    );
    for story in ["1", "2", "3"] {
        let found = checkpoints(&sandbox);
        assert!(found.contains(&format!("checkpoint: {story}")), "{found:?}");
    }
    require_no_side(&sandbox);
}

#[test]
fn list_that_an_attempt_replaces_in_the_loops_own_work_tree_is_put_back() {
    for act in [
        "rm -f {}",
        "printf '\\0\\0' >{}",
        "echo '- [x] Other' >{}",
        "ln -sf \"$notes/list\" {}",
    ] {
        let sandbox = Sandbox::with_free_stories(3);
        let list = sandbox.top.join("TODO.md");
        let act = act.replace("{}", &format!("'{}'", list.display()));
        let agent = sandbox.completing(&format!(
            "sed 's/\\[ \\]/[x]/' '{list}' >\"$notes/list\"; echo x >work$RALPH_STORY; test $RALPH_STORY != 2 || {{ {act}; }}",
            list = list.display()
        ));
        sandbox
            .ralph(&words("--jobs=2", &[], &agent))
            .exits(0)
            .says("3 of 3 stories are complete");
        assert_eq!(verdicts(&sandbox).len(), 3, "{act}");
        require_no_side(&sandbox);
    }
}

#[test]
fn list_that_an_attempt_changed_is_put_back_after_a_kill() {
    for act in ["cp \"$notes/list\" {}", "rm -f {}", "ln -sf \"$notes/list\" {}"] {
        let sandbox = Sandbox::with_free_stories(3);
        let list = sandbox.top.join("TODO.md");
        let act = act.replace("{}", &format!("'{}'", list.display()));
        let agent = sandbox.completing(&format!(
            "test -e \"$notes/went\" || sed 's/\\[ \\]/[x]/' '{list}' >\"$notes/list\"; echo x >work$RALPH_STORY; \
             if test $RALPH_STORY = 2 && ! test -e \"$notes/went\"; then {act}; touch \"$notes/changed\"; fi; {}",
            until("went"),
            list = list.display()
        ));
        let running = sandbox.direct(&words("--jobs=3", &[], &agent)).start();
        wait_until("the list is changed", || sandbox.notes.join("changed").exists());
        let status = || sandbox.ralph(&["status", "todo", "--json"]).exits(0);
        assert_eq!(status().json()["stories_done"], 0, "{act}");
        running.signal(Signal::SIGKILL);
        drop(running.end());
        fs::write(sandbox.notes.join("went"), "").unwrap();
        let status = status().says("TODO.md: put back, because attempts ran");
        assert_eq!(status.json()["stories_done"], 0, "{act}");
        // From here on it is the user's.
        let added = sandbox.read("TODO.md").replace("Story 3", "Another story");
        sandbox.write("TODO.md", &added);
        sandbox
            .ralph(&words("--jobs=3", &[], &agent))
            .exits(0)
            .says("3 of 3 stories are complete");
        let mut made = verdicts(&sandbox);
        made.retain(|verdict| verdict.ends_with(" complete"));
        assert_eq!(made.len(), 3, "{act}");
        assert!(sandbox.read("TODO.md").contains("Another story"), "{act}");
        require_no_side(&sandbox);
    }
}

#[test]
fn private_file_stays_private_where_a_side_changes_it() {
    let sandbox = Sandbox::with_free_stories(2);
    let key = sandbox.top.join("key");
    sandbox.write("key", "mine\n");
    fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
    sandbox.git(&["add", "key"]);
    sandbox.git(&["commit", "-qm", "key"]);
    let agent = sandbox.completing(
        "test $RALPH_STORY = 1 || { echo more >>key; chmod +x common; umask 077; mkdir own; echo o >own/o; }; echo x >work$RALPH_STORY",
    );
    sandbox.ralph(&words("--jobs=2", &[], &agent)).exits(0);
    assert_eq!(sandbox.read("key"), "mine\nmore\n");
    for (path, mode) in [
        ("key", 0o600),
        ("common", 0o755),
        ("own", 0o700),
        ("own/o", 0o600),
    ] {
        let found = fs::metadata(sandbox.top.join(path)).unwrap();
        assert_eq!(found.permissions().mode() & 0o777, mode, "{path}");
    }
}

#[test]
fn new_loop_of_the_same_name_takes_nothing_from_the_one_before() {
    let sandbox = Sandbox::with_free_stories(2);
    sandbox.write(".gitignore", "ignored\n");
    sandbox.git(&["add", ".gitignore"]);
    sandbox.git(&["commit", "-qm", "rules"]);
    // What git ignores stays in the trash of a side, and so do the side's files.
    let agent = sandbox.completing("echo x >ignored; echo x >work$RALPH_STORY");
    for _ in 0..2 {
        sandbox.ralph(&words("--jobs=2", &[], &agent)).exits(0);
        let mut made = verdicts(&sandbox);
        made.sort();
        assert_eq!(made, ["1 complete", "2 complete"]);
        sandbox.git(&["checkout", "-q", "main"]);
        sandbox.git(&["branch", "-qD", "ralph/todo"]);
    }
}

#[test]
fn stash_entry_of_the_user_is_of_no_side() {
    let sandbox = Sandbox::with_free_stories(2);
    sandbox.write("f", "1\n");
    sandbox.git(&["add", "f"]);
    sandbox.git(&["commit", "-qm", "f"]);
    let stash = || {
        sandbox.write("f", "2\n");
        sandbox.git(&["stash", "-q"]);
    };
    stash();
    let agent = sandbox.completing(&format!(
        "touch \"$notes/$RALPH_STORY\"; {}
        test $RALPH_STORY = 1 || until git rev-parse -q --verify refs/heads/ralph/todo:work1; do sleep 0.05; done
        echo x >work$RALPH_STORY",
        until("go")
    ));
    let running = sandbox.direct(&words("--jobs=2", &[], &agent)).start();
    wait_until("both work", || {
        ["1", "2"].iter().all(|note| sandbox.notes.join(note).exists())
    });
    stash();
    fs::write(sandbox.notes.join("go"), "").unwrap();
    let output = running.end().exits(0);
    assert!(!output.stderr.contains("beside its attempt"), "{}", output.stderr);
    let mut made = verdicts(&sandbox);
    made.sort();
    assert_eq!(made, ["1 complete", "2 complete"]);
    assert_eq!(sandbox.git(&["stash", "list"]).lines().count(), 2);
    let refs = sandbox.git(&["for-each-ref", "--format=%(refname)"]);
    assert!(!refs.contains("todo+"), "{refs}");
    require_no_side(&sandbox);
}

#[test]
fn what_an_attempt_writes_into_the_loops_work_tree_is_not_called_the_users() {
    let sandbox = Sandbox::with_free_stories(2);
    let script = format!(
        "echo x >{}/stray$RALPH_STORY; echo x >work$RALPH_STORY",
        sandbox.top.display()
    );
    let output = sandbox.ralph(&words("--jobs=2", &[], &sandbox.completing(&script)));
    let output = output.exits(0);
    let says = format!(
        "changes in {} that no checkpoint had were committed",
        sandbox.top.display()
    );
    assert!(!output.stderr.contains("your edits"), "{}", output.stderr);
    output.says(&says);
}

#[test]
fn list_of_an_attempt_beside_others_is_taken_as_it_was_found() {
    let sandbox = Sandbox::with_free_stories(3);
    sandbox.configure("ralph.maxRetries", "0");
    sandbox.configure("ralph.verify", "test ! -e bad");
    let agent = sandbox.completing(
        "echo x >work$RALPH_STORY; test $RALPH_STORY != 2 || sed -i 's/Story 3/The third/' TODO.md
         test $RALPH_STORY = 1 || touch bad",
    );
    sandbox
        .ralph(&words("--jobs=2", &["--max-attempts=2"], &agent))
        .says("if you made this change: git ralph list --take todo 2@1\n");
    let take = ["list", "--take", "todo", "2@1"];
    sandbox.ralph(&take).exits(0);
    let taken = "- [x] 1. Story 1\n- [ ] 2. Story 2\n- [ ] 3. The third\n";
    assert_eq!(sandbox.read("TODO.md"), taken);
    sandbox.write("TODO.md", &taken.replace("The third", "Another"));
    let refused = sandbox.ralph(&take).exits(7).stderr;
    let shown = refused.split("to see what it made: git ").nth(1).unwrap();
    let shown: Vec<&str> = shown.trim_end().split(' ').collect();
    assert!(sandbox.git(&shown).contains("\n+- [ ] 3. The third"), "{refused}");
}
