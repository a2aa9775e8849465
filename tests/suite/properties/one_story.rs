//! A text without boxes is one story.

use crate::support::{CHANGE, Sandbox};

const TEXT: &str = "# Dark mode\n\nThe pages follow the setting of the system.\n";

fn with_text(text: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("spec.md", text);
    sandbox.git(&["add", "spec.md"]);
    sandbox.git(&["commit", "-q", "-m", "spec"]);
    sandbox
}

#[test]
fn a_text_without_boxes_is_done_once_and_can_be_done_again() {
    let sandbox = with_text(TEXT);
    let start = ["start", CHANGE, "--stories", "spec.md"];
    sandbox
        .ralph(&start)
        .exits(0)
        .says("spec.md:1: the text is one story; nothing in it is checked line by line");
    let agent = sandbox.completing("cat >\"$notes/prompt\"; echo x >dark.css");
    sandbox.step("next", &agent).exits(0);
    let prompt = sandbox.noted("prompt");
    assert!(prompt.contains("# Story Dark mode"), "{prompt}");
    assert!(prompt.contains("The pages follow"), "{prompt}");
    assert!(prompt.contains("- Leave `spec.md` as it is."), "{prompt}");
    assert!(!prompt.contains("Add stories"), "{prompt}");
    assert_eq!(sandbox.status()["phase"], "complete");
    sandbox.step("next", &agent).exits(5);
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    assert_eq!(sandbox.read("spec.md"), TEXT);
    // No mark in the text says that it is done.
    sandbox
        .ralph(&start)
        .exits(5)
        .says("nothing left to do: 1 of 1 story is complete");
    sandbox
        .ralph(&["stories", CHANGE, "--stories", "spec.md"])
        .exits(0)
        .says("to do it again: git ralph start --restart add-login --stories 'spec.md#whole'");
    let status = sandbox.ralph(&["status", CHANGE]).exits(0).stdout;
    let again = "git ralph start --restart add-login --stories 'spec.md#whole'";
    assert!(status.contains(again), "{status}");
    // Another text under the same heading is not done.
    sandbox.write("spec.md", &format!("{TEXT}\nThey remember it.\n"));
    let stories = sandbox.ralph(&["stories", CHANGE, "--stories", "spec.md", "--json"]);
    assert_eq!(stories.exits(0).json()["done"], 0);
    sandbox.write("spec.md", TEXT);
    sandbox.cmd("sh").args(["-c", again]).run().exits(0);
    assert_eq!(sandbox.status()["stories_done"], 0);
    sandbox.ralph(&["abort"]).exits(0);
    // What was aborted was not done.
    sandbox.ralph(&start).exits(0);
}

#[test]
fn an_attempt_changes_nothing_of_the_text() {
    let sandbox = with_text(TEXT);
    sandbox.ralph(&["start", CHANGE, "--stories", "spec.md"]).exits(0);
    for edit in [
        "printf '\\n- [x] all of it\\n' >>spec.md",
        "rm spec.md",
        "sed -i 's/Dark/Light/' spec.md",
    ] {
        sandbox
            .step("next", &sandbox.failing(&format!("{edit}; echo x >dark.css")))
            .exits(3);
        sandbox.ralph(&["revert"]).exits(0);
        let agent = sandbox.completing(&format!("{edit}; echo x >>dark.css"));
        let ends = sandbox.step("retry", &agent);
        assert!(ends.stderr.contains("put back"), "{}", ends.stderr);
        assert_eq!(sandbox.read("spec.md"), TEXT, "{edit}");
        assert_eq!(sandbox.status()["stories_done"], 1, "{edit}");
        sandbox.ralph(&["abort"]).exits(0);
        sandbox.ralph(&["start", CHANGE, "--stories", "spec.md"]).exits(0);
    }
}

#[test]
fn other_texts_are_stories_only_if_that_is_said() {
    let text = "# Plan\n\n1. Read\n2. Write\n";
    let sandbox = with_text(text);
    sandbox
        .ralph(&["start", CHANGE, "--stories", "spec.md"])
        .exits(1)
        .says("spec.md has no stories")
        .says("take the whole text as one story: --stories spec.md#whole");
    sandbox
        .ralph(&["start", CHANGE, "--stories", "spec.md#whole"])
        .exits(0);
    sandbox.step("next", &sandbox.completing("echo x >f")).exits(0);
    assert_eq!(sandbox.status()["phase"], "complete");
    // Also a list with boxes.
    let sandbox = Sandbox::new();
    let list = "openspec/changes/add-login/tasks.md";
    let before = sandbox.read(list);
    sandbox
        .ralph(&["start", "add-login", "--stories", &format!("{list}#whole")])
        .exits(0);
    sandbox
        .step(
            "next",
            &sandbox.completing(&format!("sed -i 's/\\[ \\]/[x]/' {list}; echo x >f")),
        )
        .exits(0);
    assert_eq!(sandbox.read(list), before);
    assert_eq!(sandbox.status()["stories_total"], 1);
}

#[test]
fn a_text_is_one_story_in_every_mode() {
    for (args, mark) in [
        (&["--strategy", "stash"][..], "auto"),
        (&["--worktree"], "auto"),
        (&[], "agent"),
        (&[], "never"),
    ] {
        let sandbox = with_text(TEXT);
        sandbox.configure("ralph.mark", mark);
        let agent = sandbox.completing("echo x >f");
        let mut run = vec!["run", CHANGE, "--stories", "spec.md", "--cleanup"];
        run.extend(args);
        run.extend(["--", &agent]);
        sandbox.ralph(&run).exits(0).says("1 of 1 story is complete");
        assert_eq!(
            (sandbox.read("f"), sandbox.read("spec.md")),
            ("x\n".to_owned(), TEXT.to_owned()),
            "{args:?}"
        );
    }
    // A change that was typed needs no path; one that was not typed is no change of one story.
    let sandbox = Sandbox::new();
    sandbox.write("openspec/changes/add-login/tasks.md", TEXT);
    sandbox.ralph(&["start", CHANGE]).exits(0);
    sandbox.step("next", &sandbox.completing("echo x >f")).exits(0);
    sandbox.ralph(&["finish", "--keep"]).exits(0);
    // Another clone knows what was done from the commits.
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.ralph(&["start", "--restart", CHANGE]).exits(0);
    sandbox.step("next", &sandbox.completing("echo y >f")).exits(0);
    std::fs::remove_dir_all(sandbox.top.join(".git/ralph")).unwrap();
    sandbox.ralph(&["start", CHANGE, "--resume"]).exits(0);
    assert_eq!(sandbox.status()["stories_done"], 1);
}
