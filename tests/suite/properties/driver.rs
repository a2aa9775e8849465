//! The promise of the whole: a list with all boxes open is worked through by the plain shell driver,
//! by `run`, and by hand; afterwards the work is uncommitted on the original branch.

use std::fs;

use crate::support::Sandbox;

/// A list with nested boxes and odd characters.
const LIST: &str = include_str!("../../fixtures/tasks.md");
const DRIVER: &str = include_str!("../../fixtures/driver.sh");
const NAME: &str = "export-data";

fn prepared() -> Sandbox {
    let sandbox = Sandbox::dirty();
    sandbox.write("openspec/changes/export-data/tasks.md", LIST);
    sandbox
}

/// An agent that commits a mess for every story and fails once.
fn messy(sandbox: &Sandbox) -> String {
    sandbox.agent(
        "count
         echo \"$RALPH_STORY\" >>done.txt; mkdir -p \"dir $n\"; echo $n >\"dir $n/file\"
         git add -A; git commit -qm \"mess $n\"; git tag -f t >/dev/null; git tag -d t >/dev/null
         echo unfinished >>README.md; rm -f src/lib.txt; git checkout -q --detach
         test $n = 2 && { git checkout -q -b \"side-$n\"; failed 'not yet'; exit 1; }
         complete",
    )
}

/// All work is there, uncommitted and unstaged, and of the list only the boxes have changed.
#[track_caller]
fn is_finished(sandbox: &Sandbox, done: &str) {
    assert_eq!(sandbox.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!(sandbox.subjects("main"), ["first"]);
    assert_eq!(sandbox.git(&["diff", "--cached", "--name-only"]), "");
    assert_eq!(sandbox.git(&["branch", "--list", "ralph/*"]), "");
    let status = sandbox.git(&["status", "--porcelain"]);
    for line in [
        " D old.txt",
        "?? done.txt",
        "?? notes/",
        "?? openspec/changes/export-data/",
    ] {
        assert!(status.lines().any(|have| have == line), "{line} in:\n{status}");
    }
    assert_eq!(sandbox.read("done.txt"), done);
    assert_eq!(sandbox.read("notes/untracked.txt"), "mine\n");
    assert_eq!(sandbox.read(".env"), "SECRET=1\n");
    let list = sandbox.read("openspec/changes/export-data/tasks.md");
    assert!(!list.contains("[ ]"), "{list}");
    assert_eq!(list, LIST.replace("[ ]", "[x]"));
}

#[test]
fn shell_driver_completes_a_change() {
    let sandbox = prepared();
    let agent = messy(&sandbox);
    let script = format!("change=$1; shift\n{DRIVER}");
    let args = ["-c", &script, "driver", NAME, &agent];
    let output = sandbox.cmd("sh").args(args).run().exits(0);
    assert!(output.stderr.contains("not yet"), "{}", output.stderr);
    is_finished(&sandbox, "1\n2\n3\n");
    assert_eq!(sandbox.noted("count"), "4\n");
    assert_eq!(
        sandbox.read("README.md"),
        "# Edited\nunfinished\nunfinished\nunfinished\n"
    );
    assert!(sandbox.top.join("dir 4/file").exists() && !sandbox.top.join("dir 2").exists());
}

#[test]
fn shell_driver_stops_with_4_and_leaves_the_loop_open_when_a_story_fails() {
    let sandbox = prepared();
    let agent =
        sandbox.agent("echo $RALPH_STORY >>done.txt; test $RALPH_STORY = 1 && complete || failed never");
    let script = format!("change=$1; shift\n{DRIVER}");
    let args = ["-c", &script, "driver", NAME, &agent];
    sandbox.cmd("sh").args(args).run().exits(4);
    sandbox.ralph(&["finish", "--cleanup", NAME]).exits(0);
    assert_eq!(sandbox.git(&["branch", "--show-current"]), "main");
    assert_eq!(sandbox.read("done.txt"), "1\n");
    let list = sandbox.read("openspec/changes/export-data/tasks.md");
    assert!(list.contains("[x]") && list.contains("[ ]"));
}

#[test]
fn run_completes_a_change_like_the_shell_driver() {
    let sandbox = prepared();
    let agent = messy(&sandbox);
    sandbox.ralph(&["run", NAME, "--cleanup", "--", &agent]).exits(0);
    is_finished(&sandbox, "1\n2\n3\n");
    assert_eq!(sandbox.noted("count"), "4\n");
}

#[test]
fn user_completes_a_change_without_an_agent() {
    let sandbox = prepared();
    sandbox.ralph(&["start", NAME]).exits(0);
    for story in ["1", "2", "3"] {
        let prompt = sandbox.ralph(&["prompt", NAME]).exits(0).stdout;
        assert!(prompt.contains(&format!("# Story {story}. ")), "{prompt}");
        let mut done = fs::read_to_string(sandbox.top.join("done.txt")).unwrap_or_default();
        done.push_str(&format!("{story}\n"));
        sandbox.write("done.txt", &done);
        sandbox.ralph(&["complete", NAME]).exits(0);
    }
    sandbox.ralph(&["complete", NAME]).exits(5);
    sandbox.ralph(&["finish", "--cleanup", NAME]).exits(0);
    is_finished(&sandbox, "1\n2\n3\n");
}
