//! git-ralph decides what is done, whatever the agent did to the list.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::{CHANGE, Sandbox, TASKS};

/// A loop whose agent edits the list with a line of sh (`$list` is its path) and completes.
#[track_caller]
fn next(sandbox: &Sandbox, edit: &str) -> crate::support::Output {
    let agent = sandbox.completing(&format!("list='{TASKS}'\n{edit}"));
    sandbox.step("next", &agent)
}

/// A repository in which attempts may write anything to the list.
fn allowed() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.listEdits", "allow");
    sandbox
}

fn done(sandbox: &Sandbox) -> Vec<bool> {
    let listed = sandbox.ralph(&["stories", CHANGE, "--json"]).exits(0).json();
    let stories = listed["stories"].as_array().unwrap();
    stories.iter().map(|story| story["done"] == true).collect()
}

#[test]
fn step_ticks_forgotten_boxes_and_warns_of_other_done_stories() {
    let sandbox = allowed();
    let list = sandbox.read(TASKS);
    sandbox.start();
    next(&sandbox, "sed -i 's/\\[ \\] 3.1/[x] 3.1/' \"$list\"")
        .exits(0)
        .says("warning: stories that had no attempt are done in the list: 3");
    let ticked = list.replace("[ ] 1.", "[x] 1.").replace("[ ] 3.1", "[x] 3.1");
    assert_eq!(sandbox.read(TASKS), ticked);
    assert_eq!(
        sandbox.git(&["show", &format!("HEAD:{TASKS}")]),
        ticked.trim_end()
    );
}

#[test]
fn an_earlier_story_that_the_agent_unticks_is_ticked_again() {
    for (sandbox, told) in [
        (Sandbox::new(), "put back: marks of 1;"),
        (allowed(), "ticked again: 1"),
    ] {
        sandbox.start();
        next(&sandbox, "true").exits(0);
        next(&sandbox, "sed -i 's/\\[x\\] 1.1/[ ] 1.1/' \"$list\"")
            .exits(0)
            .says(told);
        assert_eq!(done(&sandbox), [true, true, false]);
    }
}

#[test]
fn work_that_the_agent_may_add_to_an_earlier_story_is_open() {
    for (sandbox, is_done) in [(Sandbox::new(), true), (allowed(), false)] {
        sandbox.start();
        next(&sandbox, "true").exits(0);
        next(&sandbox, "sed -i '/1.2/a - [ ] 1.3 Migrate' \"$list\"").exits(0);
        assert_eq!(done(&sandbox), [is_done, true, false]);
    }
}

#[test]
fn a_story_that_was_renamed_renumbered_or_deleted_is_done() {
    for (edit, stories) in [
        (
            "sed -i 's/## 1. Database/## 1. Storage/' \"$list\"",
            vec![true, false, false],
        ),
        (
            "sed -i 's/## 1. Database/## 7. Database/' \"$list\"",
            vec![true, false, false],
        ),
        (
            "sed -i 's/## 1. Database/## 7. Storage/' \"$list\"",
            vec![true, false, false],
        ),
        (
            "printf '## 2. Server\\n- [ ] 2.1 Check the password\\n' >\"$list\"",
            vec![false],
        ),
        ("printf '## 8. Anew\\n- [ ] 8.1 Other\\n' >\"$list\"", vec![false]),
    ] {
        for (sandbox, stories) in [(Sandbox::new(), vec![true, false, false]), (allowed(), stories)] {
            sandbox.start();
            next(&sandbox, edit).exits(0);
            assert_eq!(done(&sandbox), stories, "{edit}");
            assert_eq!(sandbox.subjects("ralph/add-login")[0], "checkpoint: 1");
        }
    }
}

#[test]
fn a_list_that_cannot_be_read_any_more_fails_the_attempt() {
    let sandbox = allowed();
    sandbox.start();
    next(&sandbox, "rm \"$list\"")
        .exits(3)
        .says("of this loop is gone");
    sandbox.is_at_checkpoint();
    assert_eq!(done(&sandbox), [false, false, false]);
}

#[test]
fn broken_json_fails_the_attempt_with_its_place_as_the_reason() {
    let sandbox = allowed();
    let list = "{\"branchName\":\"add-login\",\n\"stories\":[{\"id\":\"a\"}]}\n";
    sandbox.git(&["rm", "-rq", "openspec"]);
    sandbox.write("prd.json", list);
    sandbox.start();
    let agent = sandbox.completing("printf '{\\n\\n oops' >prd.json");
    sandbox.step("next", &agent).exits(3);
    assert_eq!(sandbox.read("prd.json"), list);
    let prompt = sandbox.ralph(&["prompt"]).exits(0).stdout;
    assert!(prompt.contains("at line 3, column 2"), "{prompt}");
}

#[test]
fn an_ignored_list_comes_back_after_a_failed_attempt() {
    let sandbox = Sandbox::new();
    sandbox.write(".git/info/exclude", "prd.json\n");
    let list = r#"{"branchName":"mine","stories":[{"id":"a","passes":false},{"id":"b","passes":false}]}"#;
    sandbox.write("prd.json", list);
    sandbox.ralph(&["start", "mine"]).exits(0);
    let agent = sandbox.failing("sed -i 's/false/true/g' prd.json");
    sandbox.step("next", &agent).exits(3);
    assert_eq!(sandbox.read("prd.json"), list);
    let agent = sandbox.completing("true");
    sandbox.step("retry", &agent).exits(0);
    assert_eq!(sandbox.read("prd.json"), list.replacen("false", "true", 1));
}

#[test]
fn ignored_list_replaces_anything_in_its_place() {
    let sandbox = allowed();
    sandbox.write(".git/info/exclude", "/lists\n");
    let list = r#"{"branchName":"mine","stories":[{"id":"a","passes":false}]}"#;
    sandbox.write("lists/prd.json", list);
    sandbox.configure("ralph.maxRetries", "9");
    let path = "lists/prd.json";
    sandbox.ralph(&["start", "mine", "--stories", path]).exits(0);
    let mut step = "next";
    for (promise_kept, edit) in [
        (false, "rm $p; mkdir $p; echo mine >$p/file"),
        (true, "rm $p; mkdir $p; echo mine >$p/file"),
        (false, "rm $p; mkfifo $p"),
        (false, "rm $p; ln -s nowhere $p"),
        (false, "rm $p; ln -s . $p"),
        (false, "rm -r lists; echo >lists"),
        (false, "rm -r lists; ln -s nowhere lists"),
    ] {
        let edit = format!("p={path}; {edit}");
        let agent = if promise_kept {
            sandbox.completing(&edit)
        } else {
            sandbox.failing(&edit)
        };
        sandbox.step(step, &agent).exits(3);
        assert_eq!(sandbox.read(path), list, "{edit}");
        step = "retry";
    }
    let agent = sandbox.completing("true");
    sandbox.step("retry", &agent).exits(0);
    assert_eq!(sandbox.read(path), list.replace("false", "true"));
}

#[test]
fn a_story_that_moved_down_by_a_number_is_known_by_its_tasks() {
    let sandbox = allowed();
    sandbox.start();
    let edit = "printf '## 1. Before\\n- [ ] 1.0 Plan\\n\\n' >new; sed 's/## 1\\./## 2./; s/## 2\\. S/## 3. S/; s/## 3\\. P/## 4. P/' \"$list\" >>new; mv new \"$list\"";
    next(&sandbox, edit).exits(0);
    assert_eq!(done(&sandbox), [false, true, false, false]);
}

#[test]
fn a_list_outside_of_the_repository_is_marked_and_comes_back_too() {
    let sandbox = Sandbox::new();
    let list = sandbox.outside("plan.md");
    fs::write(&list, "- [ ] One\n- [ ] Two\n").unwrap();
    let path = list.to_str().unwrap();
    sandbox.ralph(&["start", "out", "--stories", path]).exits(0);
    let agent = sandbox.failing(&format!("echo gone >'{path}'"));
    sandbox.step("next", &agent).exits(3);
    assert_eq!(fs::read_to_string(&list).unwrap(), "- [ ] One\n- [ ] Two\n");
    let agent = sandbox.completing("true");
    sandbox.step("retry", &agent).exits(0);
    assert_eq!(fs::read_to_string(&list).unwrap(), "- [x] One\n- [ ] Two\n");
}

#[test]
fn a_list_that_a_link_puts_outside_is_refused_before_an_attempt() {
    let sandbox = Sandbox::new();
    let list = sandbox.outside("plan.md");
    fs::write(&list, "- [ ] One\n").unwrap();
    std::os::unix::fs::symlink(&list, sandbox.top.join("TODO.md")).unwrap();
    let start = ["start", "out", "--stories", "TODO.md"];
    sandbox.ralph(&start).exits(1).says("outside the repository");
    assert_eq!(sandbox.git(&["branch", "--list", "ralph/*"]), "");
    sandbox.configure("ralph.mark", "never");
    sandbox.ralph(&start).exits(0);
}

#[test]
fn a_change_that_the_agent_archives_is_followed() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let archive = "openspec/changes/archive/2026-11-21-add-login";
    let edit = format!("mkdir -p openspec/changes/archive && git mv openspec/changes/add-login {archive}");
    let agent = sandbox.failing(&edit);
    sandbox.step("next", &agent).exits(3);
    sandbox.is_at_checkpoint();
    let agent = sandbox.completing(&edit);
    sandbox
        .step("retry", &agent)
        .exits(0)
        .says(&format!("the stories are now in {archive}/tasks.md"));
    assert!(sandbox.read(&format!("{archive}/tasks.md")).contains("[x] 1.1"));
    let agent = sandbox.completing("true");
    sandbox.step("next", &agent).exits(0);
    assert_eq!(done(&sandbox), [true, true, false]);
    // A failed attempt later on keeps the list where it is now.
    let agent = sandbox.failing(&format!("rm -r {archive}"));
    sandbox.step("next", &agent).exits(3);
    assert_eq!(done(&sandbox), [true, true, false]);
    assert!(!sandbox.top.join(TASKS).exists());
}

#[test]
fn mark_agent_makes_a_promise_with_open_tasks_a_failure() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.mark", "agent");
    sandbox.start();
    next(&sandbox, "sed -i 's/\\[ \\] 1.1/[x] 1.1/' \"$list\"").exits(3);
    let prompt = sandbox.ralph(&["prompt"]).exits(0).stdout;
    assert!(prompt.contains("> 1.2 Add the index"), "{prompt}");
    assert!(prompt.contains("only when\n  all of them are ticked"), "{prompt}");
    let agent = sandbox.completing(&format!("sed -i 's/\\[ \\] 1/[x] 1/' {TASKS}"));
    sandbox.step("retry", &agent).exits(0);
    assert_eq!(done(&sandbox), [true, false, false]);
}

#[test]
fn mark_never_leaves_the_list_and_the_loop_remembers() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.mark", "never");
    let list = sandbox.read(TASKS);
    sandbox.start();
    next(&sandbox, "true").exits(0);
    assert_eq!(done(&sandbox), [true, false, false]);
    assert_eq!(sandbox.status()["stories_done"], 1);
    let agent = sandbox.completing("true");
    sandbox
        .ralph(&["run", CHANGE, "--cleanup", "--", &agent])
        .exits(0);
    assert_eq!(sandbox.read(TASKS), list);
    sandbox.configure("ralph.mark", "maybe");
    sandbox
        .ralph(&["start", CHANGE])
        .exits(1)
        .says("auto, agent or never");
}

#[test]
fn a_list_that_was_left_open_is_marked_before_the_next_story() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.completing("echo x >>work; echo \"$RALPH_STORY\" >>\"$notes/ran\"");
    let unmarked = ["-c", "ralph.mark=never", "ralph", "next", "--", &agent];
    for _ in 0..2 {
        sandbox
            .git_cmd(&unmarked)
            .run()
            .exits(1)
            .says("story 1 is complete, but openspec/")
            .says("mark it as done there, then run the same command again; or: git ralph skip add-login 1");
    }
    assert_eq!(sandbox.noted("ran"), "1\n");
    sandbox
        .step("next", &agent)
        .exits(0)
        .says("the story 1 is now marked as done");
    assert_eq!(done(&sandbox), [true, true, false]);
    // A person who opens a story that was seen as done wants it done again.
    let list = sandbox.read(TASKS);
    sandbox.write(TASKS, &list.replace("[x] 1.1", "[ ] 1.1"));
    sandbox.step("next", &agent).exits(0);
    assert_eq!(sandbox.noted("ran"), "1\n2\n1\n");
}

#[test]
fn only_the_box_changes_in_the_list() {
    let odd = "\u{feff}# T\u{e4}sks\r\n\r\n## 1. One\r\n* [ ] 1.1 a\t\r\n    * [ ] nested \u{1f600}\r\n- [x] 1.2 b\r\n```\r\n- [ ] code\r\n```\r\n## 2. Two\r\n+ [ ] 2.1 c";
    let sandbox = Sandbox::new();
    sandbox.write(TASKS, odd);
    fs::set_permissions(sandbox.top.join(TASKS), fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.start();
    let agent = sandbox.completing("true");
    sandbox.step("next", &agent).exits(0);
    let one = odd
        .replace("* [ ] 1.1", "* [x] 1.1")
        .replace("* [ ] nested", "* [x] nested");
    assert_eq!(sandbox.read(TASKS), one);
    sandbox.step("next", &agent).exits(0);
    assert_eq!(sandbox.read(TASKS), one.replace("+ [ ] 2.1", "+ [x] 2.1"));
    let mode = fs::metadata(sandbox.top.join(TASKS))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o755);
    sandbox.is_at_checkpoint();
}

#[test]
fn agent_may_tick_its_own_story_and_others() {
    let sandbox = allowed();
    sandbox.start();
    let agent = sandbox.completing(&format!("sed -i 's/\\[ \\] \\([12]\\)/[x] \\1/' {TASKS}"));
    sandbox
        .step("next", &agent)
        .exits(0)
        .says("warning: stories that had no attempt are done in the list: 2");
    assert_eq!(sandbox.status()["stories_done"], 2);
    let agent = sandbox.agent("echo $RALPH_STORY >\"$notes/story\"; complete");
    sandbox.step("next", &agent).exits(0);
    assert_eq!(sandbox.noted("story"), "3\n");
}

#[test]
fn a_list_that_the_agent_destroys_is_a_failure_with_a_reason() {
    for script in [
        format!("rm {TASKS}"),
        format!("rm {TASKS}; mkdir {TASKS}"),
        format!("rm {TASKS}; mkfifo {TASKS}"),
    ] {
        let sandbox = allowed();
        sandbox.start();
        let list = sandbox.read(TASKS);
        let agent = sandbox.completing(&script);
        sandbox.step("next", &agent).exits(3);
        assert_eq!(sandbox.verdict(), "failed");
        assert_eq!(sandbox.read(TASKS), list);
        let reason = sandbox.status()["current"]["reason"].as_str().unwrap().to_owned();
        assert!(reason.contains(TASKS), "{reason}");
    }
}

#[test]
fn an_ignored_list_is_put_back_too() {
    let sandbox = Sandbox::new();
    sandbox.write("plan.log", "## 1. One\n- [ ] 1.1 a\n\n## 2. Two\n- [ ] 2.1 b\n");
    sandbox
        .ralph(&["start", CHANGE, "--stories", "plan.log"])
        .exits(0);
    let list = sandbox.read("plan.log");
    let agent = sandbox.failing("sed -i 's/\\[ \\]/[x]/' plan.log");
    sandbox.step("next", &agent).exits(3);
    assert_eq!(sandbox.read("plan.log"), list);
    let agent = sandbox.completing("true");
    sandbox.step("retry", &agent).exits(0);
    assert_eq!(sandbox.read("plan.log"), list.replace("[ ] 1.1", "[x] 1.1"));
}

#[test]
fn step_warns_of_stories_that_the_agent_removed_from_the_list() {
    let sandbox = allowed();
    sandbox.write(TASKS, "- [ ] 1. a\n- [ ] 2. b\n- [ ] 3. c\n");
    sandbox.start();
    let agent = sandbox.completing(&format!("echo '- [ ] 1. a' >{TASKS}"));
    sandbox
        .step("next", &agent)
        .exits(0)
        .says("warning: stories that had no attempt are no longer in the list: 2, 3");
}
