//! Stories of one change side by side (`git ralph run <change> --jobs`): processes of the run are killed again and again, and an
//! attempt does to the loop, and to the sides of others, what no attempt may. Each story gets one checkpoint, and nothing else is left.

use std::panic::catch_unwind;

use crate::side_by_side::endure;
use crate::support::Sandbox;
use crate::two_loops::MISDEEDS;
use crate::{nothing_of, stride, whole};

const STORIES: usize = 10;

/// Checks that each of so many stories has one checkpoint, and that no side is left.
fn require_all(sandbox: &Sandbox, stories: usize) {
    let subjects = sandbox.subjects("ralph/todo");
    let own = subjects.iter().take_while(|subject| *subject != "initial state");
    let mut own: Vec<&str> = own.map(String::as_str).collect();
    own.sort_unstable();
    let mut wanted: Vec<String> = (1..=stories).map(|id| format!("checkpoint: {id}")).collect();
    wanted.sort();
    assert_eq!(own, wanted);
    assert!(!sandbox.git(&["show", "ralph/todo:TODO.md"]).contains("[ ]"));
    let trees = sandbox.git(&["worktree", "list"]);
    assert_eq!(trees.lines().count(), 1, "{trees}");
    let branches = sandbox.git(&["for-each-ref", "--format=%(refname)", "refs/heads"]);
    assert!(!branches.contains("todo+"), "{branches}");
}

#[test]
fn killed_runs_do_each_story_once() {
    let seeds = if whole() { 1..=2 } else { 1..=1 };
    let found: Vec<String> = seeds.filter_map(|seed| storm(seed).err()).collect();
    nothing_of(&found);
}

fn storm(seed: u64) -> Result<(), String> {
    let sandbox = Sandbox::with_free_stories(STORIES);
    sandbox.write(".gitignore", "built\n");
    sandbox.git(&["add", ".gitignore"]);
    sandbox.git(&["commit", "-q", "-m", "rules"]);
    // The work tree of a story is used again, and prepared again where nothing is built.
    sandbox.configure("ralph.worktreeSetup", "echo new >prepared; echo new >built");
    // Every third story meets another one in a file.
    let agent = sandbox.completing(
        "test $((RALPH_STORY % 4)) != 0 || rm built
        sleep 0.$((1 + $$ % 3)); echo \"$RALPH_STORY\" >work$RALPH_STORY
        test $((RALPH_STORY % 3)) != 0 || echo \"$RALPH_STORY\" >>common",
    );
    sandbox.configure("ralph.verify", "sleep 0.05; test -e common");
    let run = [
        "run",
        "todo",
        "--stories=TODO.md",
        "--jobs=3",
        "--keep",
        "--",
        &agent,
    ];
    endure(&sandbox, &run, seed)?;
    require_all(&sandbox, STORIES);
    for story in 1..=STORIES {
        let work = sandbox.git(&["show", &format!("ralph/todo:work{story}")]);
        assert_eq!(work, story.to_string());
    }
    let files = sandbox.git(&["ls-tree", "--name-only", "ralph/todo"]);
    assert!(!files.contains("prepared") && !files.contains("built"), "{files}");
    let common = sandbox.git(&["show", "ralph/todo:common"]);
    let mut lines: Vec<&str> = common.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["3", "6", "9", "start"]);
    Ok(())
}

#[test]
fn misdeeds_of_one_story_do_not_judge_another_nor_the_loop() {
    let mut found = Vec::new();
    for (at, misdeed) in MISDEEDS.iter().enumerate().step_by(stride(6, 2)) {
        // What is done to the loop, or to the side of the other story.
        let of = if at % 2 == 0 { "todo" } else { "todo+1" };
        let misdeed = misdeed.replace("ralph/a", &format!("ralph/{of}"));
        let misdeed = misdeed.replace("worktrees/a/", "worktrees/todo+1/");
        if let Err(why) = catch_unwind(|| two_stories(&misdeed)) {
            let why = why.downcast_ref::<String>().cloned().unwrap_or_default();
            found.push(format!("{misdeed}: {why}"));
        }
    }
    nothing_of(&found);
}

fn two_stories(misdeed: &str) {
    let sandbox = Sandbox::with_free_stories(2);
    sandbox.git(&["tag", "one"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "second"]);
    sandbox.write("README.md", "of the user's\n");
    sandbox.git(&["stash", "-q"]);
    let script = format!(
        "touch \"$notes/began$RALPH_STORY\"; echo x >work$RALPH_STORY
        git=$(git rev-parse --path-format=absolute --git-common-dir)
        if test $RALPH_STORY = 2; then
            until test -e \"$notes/began1\"; do sleep 0.01; done
            (unset $(env | sed -n 's/^\\(GIT_CONFIG_[A-Z]*\\)=.*/\\1/p'); {misdeed}) >\"$notes/out\" 2>&1
            touch \"$notes/harmed\"
            i=0; until git log --format=%s ralph/todo | grep -q 'checkpoint: 1' || test $((i += 1)) = 300; do sleep 0.05; done
        else
            until test -e \"$notes/harmed\"; do sleep 0.01; done
        fi"
    );
    let agent = sandbox.completing(&script);
    let run = [
        "run",
        "todo",
        "--stories=TODO.md",
        "--jobs=2",
        "--keep",
        "--max-retries=0",
        "--",
        &agent,
    ];
    let output = sandbox.direct(&run).patiently().start().end();
    let told = &output.stderr;
    let log = sandbox.ralph(&["log", "todo", "--json"]).exits(0).json();
    let attempts = log["attempts"].as_array().unwrap();
    let first: Vec<_> = attempts.iter().filter(|one| one["story"] == "1").collect();
    // The attempt may be judged for what it has done; the other is not.
    assert_eq!(first.len(), 1, "{told}");
    assert_eq!(first[0]["verdict"], "complete", "{told}");
    assert_eq!(sandbox.git(&["show", "ralph/todo:work1"]), "x", "{told}");
    if output.code == 0 {
        require_all(&sandbox, 2);
    }
}
