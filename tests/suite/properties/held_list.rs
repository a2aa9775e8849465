//! The story list is held: what an attempt makes of it, beyond its own story and additions, is put back and kept.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::rounds::rounds;
use crate::support::{CHANGE, Output, Sandbox, TASKS};

/// An attempt that edits the list with a line of sh (`$list` is its path) and completes.
#[track_caller]
fn next(sandbox: &Sandbox, edit: &str) -> Output {
    let script = format!("list='{TASKS}'\necho x >>work.txt\n{edit}");
    sandbox.step("next", &sandbox.completing(&script))
}

fn done(sandbox: &Sandbox) -> Vec<bool> {
    let listed = sandbox.ralph(&["stories", CHANGE, "--json"]).exits(0).json();
    let stories = listed["stories"].as_array().unwrap();
    stories.iter().map(|story| story["done"] == true).collect()
}

#[test]
fn step_restores_and_reports_ticks_of_other_stories() {
    let sandbox = Sandbox::started();
    let list = sandbox.read(TASKS);
    let told = format!("{TASKS}: put back: marks of 2, 3; to see it: git ralph diff add-login 1@1");
    next(&sandbox, "sed -i 's/\\[ \\]/[x]/' \"$list\"")
        .exits(0)
        .says(&told);
    let ticked = list.replace("[ ] 1.", "[x] 1.");
    assert_eq!(sandbox.read(TASKS), ticked);
    assert_eq!(
        sandbox.git(&["show", &format!("HEAD:{TASKS}")]),
        ticked.trim_end()
    );
    // What the attempt made of it is kept, and shown wherever the attempt is.
    let left = sandbox.ralph(&["diff", "1@1"]).exits(0).stdout;
    assert!(left.contains("+- [x] 3.1") && left.contains("+x"), "{left}");
    let accepted = sandbox.ralph(&["diff", CHANGE, "1"]).exits(0).stdout;
    assert!(
        accepted.contains("+- [x] 1.1") && !accepted.contains("[x] 3.1"),
        "{accepted}"
    );
    let refs = sandbox.git(&[
        "for-each-ref",
        "--format=%(refname)",
        "refs/ralph/add-login/attempts",
    ]);
    assert_eq!(refs, "refs/ralph/add-login/attempts/1/1");
    let log = sandbox.ralph(&["log"]).exits(0).stdout;
    assert!(log.contains("list put back: marks of 2, 3\n"), "{log}");
    assert_eq!(sandbox.attempts()[0]["list_put_back"], "marks of 2, 3");
    assert_eq!(sandbox.status()["list_put_back"], serde_json::json!(["1@1"]));
    sandbox.ralph(&["status"]).exits(0);
    let report = sandbox.ralph(&["report", "--markdown"]).exits(0).stdout;
    assert!(report.contains("marks of 2"), "{report}");
    let agent = sandbox.completing("echo x >>work.txt");
    let run = sandbox.ralph(&["run", CHANGE, "--", &agent]).exits(0);
    run.says("changes to the story list were undone after: 1@1");
    assert_eq!(sandbox.attempts().len(), 3);
}

#[test]
fn damaged_list_does_not_change_the_other_stories() {
    for edit in [
        "sed -i '/^## 2/,$d' \"$list\"",
        "sed -i 's/Check the password/Do nothing/' \"$list\"",
        "sed -i 's/^## 2/# Old\\n\\n## 2/' \"$list\"",
        "sed -i 's/^## 2/<!--\\n## 2/' \"$list\"; echo '-->' >>\"$list\"",
        "rm \"$list\"",
        "rm \"$list\"; mkdir \"$list\"",
        "rm \"$list\"; mkfifo \"$list\"",
        "rm \"$list\"; ln -s nowhere \"$list\"",
        "cp \"$list\" other; rm \"$list\"; ln -s ../../../other \"$list\"",
        "rm -r openspec/changes; echo >openspec/changes",
        "printf 'oops' >\"$list\"",
        "git mv openspec/changes/add-login openspec/elsewhere; git commit -qm moved",
    ] {
        let sandbox = Sandbox::started();
        let list = sandbox.read(TASKS);
        fs::set_permissions(sandbox.top.join(TASKS), fs::Permissions::from_mode(0o755)).unwrap();
        next(&sandbox, edit)
            .exits(0)
            .says("put back: the list as it was before the attempt (");
        assert_eq!(sandbox.read(TASKS), list.replace("[ ] 1.", "[x] 1."), "{edit}");
        let found = fs::symlink_metadata(sandbox.top.join(TASKS)).unwrap();
        assert!(found.is_file(), "{edit}");
        assert_eq!(found.permissions().mode() & 0o777, 0o755, "{edit}");
        sandbox.is_at_checkpoint();
    }
}

#[test]
fn added_stories_stay_and_are_open() {
    let sandbox = Sandbox::started();
    let list = sandbox.read(TASKS);
    let added = "\n## 4. Mail\n- [x] 4.1 Send it\n";
    next(
        &sandbox,
        "printf '\\n## 4. Mail\\n- [x] 4.1 Send it\\n' >>\"$list\"; sed -i '/1.2/a - [ ] 1.3 more' \"$list\"",
    )
    .exits(0)
    .says("put back: marks of new stories: 4;");
    let list = list
        .replace("[ ] 1.", "[x] 1.")
        .replace("index\n", "index\n- [x] 1.3 more\n");
    assert_eq!(
        sandbox.read(TASKS),
        format!("{list}{}", added.replace("[x]", "[ ]"))
    );
    // With `none` they are put back too, with `allow` all stays.
    for (setting, stories) in [
        ("none", vec![true, false, false]),
        ("allow", vec![true, true, false, true]),
    ] {
        let sandbox = Sandbox::new();
        sandbox.configure("ralph.listEdits", setting);
        sandbox.start();
        next(&sandbox, "printf '\\n## 4. Mail\\n- [x] 4.1 Send it\\n' >>\"$list\"; [ $RALPH_STORY = 1 ] && sed -i 's/\\[ \\] 2/[x] 2/' \"$list\"")
            .exits(0);
        assert_eq!(done(&sandbox), stories, "{setting}");
        let by_list = &sandbox.status()["by_list"];
        assert_eq!(
            by_list.as_array().unwrap().len(),
            usize::from(setting == "allow"),
            "{by_list}"
        );
    }
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.listEdits", "some");
    sandbox
        .ralph(&["start", CHANGE])
        .exits(1)
        .says("additions, allow or none");
}

#[test]
fn gates_reviewers_and_hooks_cannot_change_the_list() {
    let tick = format!("sed -i 's/\\[ \\]/[x]/' {TASKS}");
    for who in ["verify", "review", "hook"] {
        let sandbox = Sandbox::new();
        match who {
            "verify" => sandbox.configure("ralph.verify", &tick),
            "review" => sandbox.configure("ralph.review", &sandbox.agent(&format!("{tick}; accept"))),
            _ => sandbox.hook("ralph-pre-checkpoint", &tick),
        }
        sandbox.ralph(&["start", CHANGE, "--allow-red"]).exits(0);
        let list = sandbox.read(TASKS).replace("[x]", "[ ]");
        sandbox.write(TASKS, &list);
        next(&sandbox, "true").exits(0);
        assert_eq!(sandbox.read(TASKS), list.replace("[ ] 1.", "[x] 1."), "{who}");
        assert_eq!(
            sandbox.git(&["show", &format!("HEAD:{TASKS}")]),
            list.replace("[ ] 1.", "[x] 1.").trim_end()
        );
    }
}

#[test]
fn a_refused_attempt_is_kept_with_the_list_that_it_made() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.verify", "test $RALPH_ATTEMPT = 2");
    sandbox.ralph(&["start", CHANGE, "--allow-red"]).exits(0);
    let list = sandbox.read(TASKS);
    next(&sandbox, "sed -i 's/\\[ \\] 2/[x] 2/' \"$list\"").exits(3);
    sandbox.is_at_checkpoint();
    assert_eq!(sandbox.read(TASKS), list);
    let left = sandbox.ralph(&["diff", "1@1"]).exits(0).stdout;
    assert!(left.contains("+- [x] 2.1") && left.contains("+x"), "{left}");
    let refs = sandbox.git(&[
        "for-each-ref",
        "--format=%(refname)",
        "refs/ralph/add-login/attempts",
    ]);
    assert_eq!(refs, "refs/ralph/add-login/attempts/1/1");
    sandbox
        .step("retry", &sandbox.completing("echo x >work.txt"))
        .exits(0);
}

#[test]
fn a_list_that_git_does_not_track_is_held_too() {
    let sandbox = Sandbox::new();
    let outside = sandbox.outside("plan.md");
    sandbox.write(".git/info/exclude", "/lists\n");
    let text = "- [ ] One\n- [ ] Two\n";
    fs::create_dir(sandbox.top.join("lists")).unwrap();
    for (change, path) in [("in", "lists/plan.md"), ("out", outside.to_str().unwrap())] {
        let list = sandbox.top.join(path);
        fs::write(&list, text).unwrap();
        sandbox.ralph(&["start", change, "--stories", path]).exits(0);
        let agent = sandbox.completing(&format!("echo '- [x] Other' >'{path}'; echo x >>work.txt"));
        let output = sandbox.ralph(&["next", change, "--", &agent]).exits(0);
        assert_eq!(fs::read_to_string(&list).unwrap(), "- [x] One\n- [ ] Two\n");
        let shown = output.stderr.split("to see it: ").nth(1).unwrap();
        let kept = shown.lines().next().unwrap();
        assert_eq!(fs::read_to_string(kept).unwrap(), "- [x] Other\n");
        sandbox.ralph(&["finish", change, "--keep"]).exits(0);
        sandbox.git(&["checkout", "-q", "main"]);
    }
}

#[test]
fn link_to_the_list_stays_a_link() {
    let sandbox = Sandbox::new();
    let text = "- [ ] One\n- [ ] Two\n";
    sandbox.write("docs/plan.md", text);
    symlink("docs/plan.md", sandbox.top.join("TODO.md")).unwrap();
    sandbox.ralph(&["start", CHANGE, "--stories", "TODO.md"]).exits(0);
    for (edit, is_story) in [
        ("rm TODO.md; cp docs/plan.md TODO.md", "One"),
        ("rm docs/plan.md; echo x >>work.txt", "Two"),
    ] {
        sandbox
            .step("next", &sandbox.completing(edit))
            .exits(0)
            .says("put back: the list");
        assert!(
            fs::symlink_metadata(sandbox.top.join("TODO.md"))
                .unwrap()
                .is_symlink(),
            "{edit}"
        );
        assert!(
            sandbox.read("docs/plan.md").contains(&format!("[x] {is_story}")),
            "{edit}"
        );
    }
}

#[test]
fn complete_accepts_the_users_edits_of_the_list() {
    let sandbox = Sandbox::started();
    let list = sandbox
        .read(TASKS)
        .replace("[ ] 2", "[x] 2")
        .replace("3. Page", "3. Form");
    sandbox.write(TASKS, &list);
    sandbox.ralph(&["complete"]).exits(0);
    assert_eq!(sandbox.read(TASKS), list.replace("[ ] 1.", "[x] 1."));
}

#[test]
fn stories_that_the_list_alone_finishes_are_named() {
    // In the tracker, during an attempt.
    let sandbox = Sandbox::new();
    let list = sandbox.outside("list");
    let story = |id: u32, done: bool| format!("{{\"id\":\"{id}\",\"title\":\"t{id}\",\"done\":{done}}}\n");
    let write = |done: [bool; 3]| {
        fs::write(
            &list,
            (1..)
                .zip(done)
                .map(|(id, done)| story(id, done))
                .collect::<String>(),
        )
        .unwrap();
    };
    write([false; 3]);
    sandbox.configure("ralph.adapter", "command");
    sandbox.configure("ralph.storiesCommand", &format!("cat '{}'", list.display()));
    sandbox.ralph(&["start", "work"]).exits(0);
    let tick = format!(
        "echo x >>work.txt; [ $RALPH_STORY = 1 ] && sed -i 's/\"t2\",\"done\":false/\"t2\",\"done\":true/' '{}'",
        list.display()
    );
    let run = sandbox
        .ralph(&["run", "work", "--", &sandbox.completing(&tick)])
        .exits(0);
    run.says("done in the list, 1 done or gone without an attempt (2)");
    let log = sandbox.ralph(&["log", "work", "--json"]).exits(0).json();
    assert_eq!(log["attempts"].as_array().unwrap().len(), 2);
    assert_eq!(
        sandbox.ralph(&["status", "work", "--json"]).json()["by_list"],
        serde_json::json!(["2"])
    );
    let junit = sandbox.ralph(&["report", "work", "--junit"]).exits(0).stdout;
    let skipped = "<skipped message=\"done in the list; no attempt at it is in this report\"/>";
    assert_eq!(junit.matches(skipped).count(), 1, "{junit}");
    // In a file, between two attempts of one run.
    let sandbox = Sandbox::new();
    sandbox.hook(
        "ralph-post-checkpoint",
        &format!("[ \"$RALPH_STORY\" != 1 ] || sed -i '/^## 2/,/^$/d' {TASKS}"),
    );
    sandbox.start();
    let agent = sandbox.completing("echo x >>work.txt");
    let run = sandbox.ralph(&["run", CHANGE, "--", &agent]).exits(0);
    run.says("done in the list, 1 done or gone without an attempt (2)");
    // Between two commands the user has written it.
    let sandbox = Sandbox::started();
    next(&sandbox, "true").exits(0);
    sandbox.write(TASKS, &sandbox.read(TASKS).replace("[ ] 2", "[x] 2"));
    next(&sandbox, "true").exits(0);
    assert_eq!(sandbox.status()["by_list"], serde_json::json!([]));
}

#[test]
fn a_list_that_attempts_make_longer_and_longer_stops_the_run() {
    let sandbox = Sandbox::new();
    sandbox.write("TODO.md", "- [ ] 1. first\n");
    sandbox.ralph(&["start", "grow", "--stories", "TODO.md"]).exits(0);
    let agent = sandbox.completing("count; echo \"- [ ] $((n + 1)). more\" >>TODO.md; echo x >>work.txt");
    let output = sandbox.ralph(&["run", "grow", "--", &agent]).exits(7);
    output
        .says("attempts have added 11 stories to TODO.md; the next of them is 12")
        .says("to go on: git ralph run grow");
    assert_eq!(sandbox.noted("count"), "11\n");
    sandbox
        .ralph(&["run", "grow", "--max-attempts=1", "--", &agent])
        .exits(6);
    assert_eq!(sandbox.noted("count"), "12\n");
}

#[test]
fn take_merges_what_the_user_made_of_the_list_meanwhile() {
    let sandbox = Sandbox::started();
    next(
        &sandbox,
        "sed -i 's/\\[ \\] 3/[x] 3/; s/2.1 /2.1 now /' \"$list\"; echo 'Note.' >>\"$list\"",
    )
    .exits(0)
    .says("if you made this change: git ralph list --take add-login 1@1");
    sandbox.write("mine", "mine\n");
    sandbox
        .ralph(&["list", "--take", "1@1"])
        .exits(0)
        .says("has what 1@1 made of it, as your own edit");
    assert_eq!(done(&sandbox), [true, false, true]);
    let list = sandbox.read(TASKS);
    assert!(list.contains("2.1 now ") && list.ends_with("Note.\n"), "{list}");
    assert_eq!(sandbox.read("mine"), "mine\n");
    sandbox
        .ralph(&["list", "--take", CHANGE, "1@1"])
        .exits(0)
        .says("already has all that 1@1 made of it; nothing was changed");
    assert_eq!(sandbox.read(TASKS), list);
    next(&sandbox, ":")
        .exits(0)
        .says("your edits since the last checkpoint were committed");
    assert_eq!(sandbox.status()["phase"], "complete");
}

#[test]
fn take_merges_marks_of_neighbouring_lines() {
    let sandbox = Sandbox::new();
    sandbox.write("TODO.md", "- [ ] 1. first\n- [ ] 2. second\n- [ ] 3. third\n");
    sandbox.ralph(&["start", "take", "--stories", "TODO.md"]).exits(0);
    let ticks = "sed -i 's/\\[ \\] 2/[x] 2/; s/third/the third/' TODO.md; echo x >x";
    sandbox
        .ralph(&["next", "take", "--", &sandbox.completing(ticks)])
        .exits(0)
        .says("if you made this change: git ralph list --take take 1@1");
    sandbox.ralph(&["list", "--take", "take", "1@1"]).exits(0);
    assert_eq!(
        sandbox.read("TODO.md"),
        "- [x] 1. first\n- [x] 2. second\n- [ ] 3. the third\n"
    );
    // The same line says something else now.
    sandbox.write("TODO.md", "- [x] 1. first\n- [ ] 2. other\n- [ ] 3. third\n");
    sandbox.ralph(&["list", "--take", "take", "1@1"]).exits(7);
}

#[test]
fn take_completes_no_story_whose_work_was_undone() {
    let sandbox = Sandbox::new();
    sandbox.write("TODO.md", "- [ ] 1. first\n- [ ] 2. second\n- [ ] 3. third\n");
    sandbox.ralph(&["start", "take", "--stories", "TODO.md"]).exits(0);
    let step = |agent: &str| sandbox.ralph(&["next", "take", "--", agent]);
    step(&sandbox.completing("echo x >x")).exits(0);
    sandbox.ralph(&["redo", "take", "1"]).exits(0);
    sandbox
        .ralph(&["list", "--take", "take", "1@1"])
        .exits(7)
        .says("git has no other version of TODO.md from 1@1");
    let edits = "sed -i 's/\\[ \\] 1/[x] 1/; s/\\[ \\] 3. third/[x] 3. the third/' TODO.md";
    step(&sandbox.failing(edits)).exits(3);
    sandbox.ralph(&["list", "--take", "take", "1@2"]).exits(0);
    assert_eq!(
        sandbox.read("TODO.md"),
        "- [ ] 1. first\n- [ ] 2. second\n- [x] 3. the third\n"
    );
}

#[test]
fn take_that_cannot_be_merged_changes_nothing() {
    let sandbox = Sandbox::started();
    next(&sandbox, "sed -i 's/2.1 /2.1 now /' \"$list\"").exits(0);
    let list = sandbox.read(TASKS).replace("2.1 ", "2.1 other ");
    sandbox.write(TASKS, &list);
    let print = sandbox.print();
    let refuses = |args: &[&str], code: i32, says: &str| {
        sandbox
            .ralph(&[&["list", "--take"], args].concat())
            .exits(code)
            .says(says);
        assert_eq!(sandbox.print(), print, "{args:?}");
    };
    refuses(
        &["1@1"],
        7,
        "has other changes in the same lines as what 1@1 made of it; nothing was changed",
    );
    refuses(&["2@1"], 1, "there is no saved attempt 2@1");
    refuses(&["add-login"], 1, "is not an attempt: use <story>@<number>");
    let inside = sandbox
        .ralph_cmd(&["list", "--take", "1@1"])
        .env("GIT_RALPH_RUN", "1-1");
    inside
        .run()
        .exits(1)
        .says("answer for the user, inside an attempt");
    sandbox.write(TASKS, &sandbox.git(&["show", &format!("HEAD:{TASKS}")]));
    let plain = sandbox.failing("echo x >x");
    sandbox.step("next", &plain).exits(3);
    sandbox
        .ralph(&["list", "--take", "2@1"])
        .exits(7)
        .says("git has no other version of openspec/changes/add-login/tasks.md from 2@1");
    let deletes = sandbox.completing(&format!("rm {TASKS}; echo y >y"));
    sandbox
        .step("retry", &deletes)
        .exits(0)
        .says("put back: the list");
    sandbox
        .ralph(&["list", "--take", "2@2"])
        .exits(7)
        .says("git has no other version of openspec/changes/add-login/tasks.md from 2@2");
    assert!(sandbox.top.join(TASKS).exists());
}

#[test]
fn list_that_grows_at_each_attempt_stops_the_loop_also_if_all_edits_are_allowed() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.listEdits", "allow");
    sandbox.start();
    let agent = sandbox.completing(&format!(
        "count; echo $n >>work; printf '\\n## %s. More\\n\\n- [ ] more %s\\n' $((n+3)) $n >>{TASKS}"
    ));
    sandbox
        .ralph(&["run", CHANGE, "--", &agent])
        .exits(7)
        .says("attempts have added 11 stories to");
}

#[test]
fn list_of_the_last_round_is_the_attempts_own() {
    let sandbox = Sandbox::started();
    let agent = rounds(
        &sandbox,
        &[
            &format!("echo x >a; sed -i 's/Server/Early/' {TASKS}; echo '<promise>CONTINUE: more</promise>'"),
            &format!("echo x >b; sed -i 's/Page/Late/' {TASKS}; complete"),
        ],
    );
    sandbox.step("next", &agent).exits(0);
    let own = sandbox.ralph(&["diff", "1@1"]).exits(0).stdout;
    assert!(own.contains("Late") && !own.contains("Early"), "{own}");
    sandbox.ralph(&["list", "--take", CHANGE, "1@1"]).exits(0);
    assert!(sandbox.read(TASKS).contains("Late"), "{}", sandbox.read(TASKS));
}
