//! `git ralph run <change> --jobs`: several stories of one change side by side.

use std::path::Path;

use crate::support::{Output, Sandbox};

/// The words of a run with so many jobs.
pub fn words<'a>(jobs: &'a str, args: &[&'a str], agent: &'a str) -> Vec<&'a str> {
    let run = ["run", "todo", "--stories=TODO.md", jobs, "--keep"];
    [&run, args, &["--", agent]].concat()
}

/// Shell code that waits until a note is there.
pub fn until(note: &str) -> String {
    format!("until test -e \"$notes/{note}\"; do sleep 0.05; done")
}

/// Returns the subjects of the loop's commits, newest first, up to its first one.
pub fn checkpoints(sandbox: &Sandbox) -> Vec<String> {
    let subjects = sandbox.subjects("ralph/todo");
    let own = subjects.iter().take_while(|subject| *subject != "initial state");
    own.cloned().collect()
}

/// Returns the verdicts of all attempts, in order, as `1 complete`.
pub fn verdicts(sandbox: &Sandbox) -> Vec<String> {
    let log = sandbox.ralph(&["log", "todo", "--json"]).exits(0).json();
    let attempts = log["attempts"].as_array().unwrap().iter();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    attempts
        .map(|one| format!("{} {}", text(&one["story"]), text(&one["verdict"])))
        .collect()
}

/// Checks that nothing of the sides is left: no work tree, no branch, no ref, no state.
pub fn require_no_side(sandbox: &Sandbox) {
    assert_eq!(sandbox.git(&["worktree", "list"]).lines().count(), 1);
    let refs = sandbox.git(&["for-each-ref", "--format=%(refname)"]);
    assert!(!refs.contains("todo+"), "{refs}");
    let names = std::fs::read_dir(sandbox.top.join(".git/ralph")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = names
        .filter(|name| name.contains('+') && Path::new(name).extension().is_none_or(|end| end != "lock"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

fn run(sandbox: &Sandbox, args: &[&str], agent: &str) -> Output {
    sandbox.ralph(&words("--jobs=3", args, agent))
}

#[test]
fn stories_that_do_not_need_each_other_are_attempted_at_once() {
    let sandbox = Sandbox::with_free_stories(4);
    // Each of the first two needs the other; the others see both.
    let meet = format!(
        "touch \"$notes/$RALPH_STORY\"; case $RALPH_STORY in 1) {};; 2) {};; esac",
        until("2"),
        until("1")
    );
    let agent = sandbox.completing(&format!("{meet}; echo \"$RALPH_CHANGE\" >\"work$RALPH_STORY\""));
    sandbox
        .ralph(&words("--jobs=2", &["--max-retries=0"], &agent))
        .exits(0)
        .says("story 2 begins in todo+2\n")
        .says("\n1: <promise>COMPLETE</promise>\n")
        .says("todo: 4 of 4 stories are complete");
    let log = sandbox.ralph(&["log", "todo", "--json"]).exits(0).json();
    let slots = log["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["slot"].as_u64().unwrap());
    assert_eq!(slots.collect::<std::collections::BTreeSet<_>>(), [1, 2].into());
    let events = sandbox.read(".git/ralph/todo/events.jsonl");
    let of_checkpoints = events
        .lines()
        .filter(|line| line.contains("\"event\":\"checkpoint\""));
    assert!(
        of_checkpoints.clone().all(|line| line.contains("\"slot\":")),
        "{events}"
    );
    assert_eq!(of_checkpoints.count(), 4);
    let mut made = checkpoints(&sandbox);
    made.sort();
    assert_eq!(
        made,
        ["checkpoint: 1", "checkpoint: 2", "checkpoint: 3", "checkpoint: 4"]
    );
    for story in 1..=4 {
        // The agent's change is that of the user.
        assert_eq!(sandbox.read(&format!("work{story}")), "todo\n");
    }
    assert!(!sandbox.read("TODO.md").contains("[ ]"));
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    require_no_side(&sandbox);
}

#[test]
fn list_that_says_nothing_of_its_order_is_worked_on_in_order() {
    let sandbox = Sandbox::with_free_stories(2);
    sandbox.git(&["config", "--unset", "ralph.order"]);
    let agent =
        sandbox.completing("test $RALPH_STORY = 1 || test -e work1 || exit 1; echo x >work$RALPH_STORY");
    run(&sandbox, &["--max-retries=0"], &agent)
        .exits(0)
        .says("the stories are attempted one after another: nothing in TODO.md says which do not need each other")
        .says("git config ralph.order free");
    assert_eq!(checkpoints(&sandbox), ["checkpoint: 2", "checkpoint: 1"]);
}

#[test]
fn story_begins_after_those_that_it_names() {
    let sandbox = Sandbox::with_free_stories(1);
    sandbox.write(
        "TODO.md",
        "- [ ] 1. A (after 3)\n- [ ] 2. B (after 1)\n- [ ] 3. C\n",
    );
    sandbox.git(&["commit", "-qam", "order"]);
    let agent = sandbox.completing(
        "case $RALPH_STORY in 1) test -e work3 || exit 1;; 2) test -e work1 || exit 1;; esac; echo x >work$RALPH_STORY",
    );
    run(&sandbox, &["--max-retries=0"], &agent).exits(0);
    assert_eq!(
        checkpoints(&sandbox),
        ["checkpoint: 2", "checkpoint: 1", "checkpoint: 3"]
    );
    let list = sandbox.read("TODO.md");
    assert_eq!(list, "- [x] 1. A (after 3)\n- [x] 2. B (after 1)\n- [x] 3. C\n");
}

#[test]
fn stories_that_wait_for_each_other_are_refused() {
    let sandbox = Sandbox::with_free_stories(1);
    sandbox.write(
        "TODO.md",
        "- [ ] 1. A (after 2)\n- [ ] 2. B (after 1)\n- [ ] 3. C\n",
    );
    sandbox.git(&["commit", "-qam", "order"]);
    let agent = sandbox.completing("echo x >work$RALPH_STORY");
    run(&sandbox, &[], &agent)
        .exits(7)
        .says("TODO.md: ")
        .says("git ralph run todo --jobs 1");
}

#[test]
fn conflict_is_not_counted_and_is_tried_again_from_the_tip() {
    let sandbox = Sandbox::with_free_stories(3);
    // The first attempts end in the order of the stories, before any of them is taken in twice.
    let agent = sandbox.agent(&format!(
        "cat >\"$notes/prompt$RALPH_STORY.$RALPH_ATTEMPT\"; touch \"$notes/$RALPH_STORY\"
        {}; {}; {}
        echo \"line of $RALPH_STORY\" >>common; complete",
        until("1"),
        until("2"),
        until("3")
    ));
    run(&sandbox, &["--max-retries=0"], &agent)
        .exits(0)
        .says("git cannot merge it with what other stories changed meanwhile (complete since: ")
        .says("todo: 3 of 3 stories are complete");
    let mut lines: Vec<String> = sandbox.read("common").lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["line of 1", "line of 2", "line of 3", "start"]);
    let verdicts = verdicts(&sandbox);
    let conflicts = verdicts.iter().filter(|one| one.ends_with("conflict")).count();
    assert!((2..=3).contains(&conflicts), "{verdicts:?}");
    assert_eq!(verdicts.len(), 3 + conflicts);
    // The next prompt has the reason, and where the work is.
    let again = verdicts.iter().find(|one| one.ends_with("conflict")).unwrap();
    let again = again.split(' ').next().unwrap();
    let prompt = sandbox.noted(&format!("prompt{again}.2"));
    assert!(
        prompt.contains("> git cannot merge it with what other stories changed meanwhile"),
        "{prompt}"
    );
    assert!(
        prompt.contains(&format!("refs/ralph/todo/attempts/{again}/1")),
        "{prompt}"
    );
    // The kept work is that of the story alone.
    let diff = sandbox.ralph(&["diff", "todo", &format!("{again}@1")]).exits(0);
    let is_change =
        |line: &&str| line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---");
    let changes: Vec<&str> = diff.stdout.lines().filter(is_change).collect();
    assert_eq!(changes, [format!("+line of {again}")]);
    require_no_side(&sandbox);
}

/// A gate that fails where more than one part is there, and an agent that makes one unless another is there already.
fn parts(sandbox: &Sandbox) -> String {
    sandbox.git(&["config", "ralph.verify", "test $(ls | grep -c '^part') -lt 2"]);
    sandbox.agent(&format!(
        "touch \"$notes/$RALPH_STORY\"; {}; {}
        ls part* >/dev/null 2>&1 && echo x >other$RALPH_STORY || echo x >part$RALPH_STORY; complete",
        until("1"),
        until("2")
    ))
}

#[test]
fn work_that_passes_alone_and_fails_together_is_no_checkpoint_and_not_counted() {
    let sandbox = Sandbox::with_free_stories(2);
    let agent = parts(&sandbox);
    run(&sandbox, &["--max-retries=0"], &agent)
        .exits(0)
        .says("the gates failed on the merged work: they run once more")
        .says("conflict after")
        .says(": passes on ")
        .says("todo: 2 of 2 stories are complete");
    let parts = sandbox.git(&["ls-tree", "--name-only", "ralph/todo"]);
    assert_eq!(parts.lines().filter(|name| name.starts_with("part")).count(), 1);
    assert_eq!(parts.lines().filter(|name| name.starts_with("other")).count(), 1);
    // No checkpoint had both.
    for commit in sandbox.git(&["rev-list", "ralph/todo"]).lines() {
        let names = sandbox.git(&["ls-tree", "--name-only", commit]);
        assert!(names.lines().filter(|name| name.starts_with("part")).count() < 2);
    }
    let verdicts = verdicts(&sandbox);
    assert_eq!(verdicts.len(), 3, "{verdicts:?}");
    assert!(verdicts[1].ends_with(" conflict"), "{verdicts:?}");
}

#[test]
fn work_that_fails_alone_is_counted() {
    let sandbox = Sandbox::with_free_stories(3);
    sandbox.git(&["config", "ralph.verify", "! test -e broken"]);
    let agent = sandbox.completing("test $RALPH_STORY != 2 || touch broken; echo x >work$RALPH_STORY");
    run(&sandbox, &["--max-retries=0", "--on-failure=skip"], &agent)
        .exits(4)
        .says("story 2 is skipped, because it failed");
    let mut made = checkpoints(&sandbox);
    made.sort();
    assert_eq!(made, ["checkpoint: 1", "checkpoint: 3"]);
    assert!(verdicts(&sandbox).contains(&"2 gate_failed".to_owned()));
    let kept = sandbox.git(&["ls-tree", "--name-only", "refs/ralph/todo/attempts/2/1"]);
    assert!(kept.contains("broken"), "{kept}");
}

#[test]
fn failures_of_several_stories_are_counted_apart() {
    let sandbox = Sandbox::with_free_stories(3);
    // Each fails once, in turns.
    let agent = sandbox.agent(
        "cat >\"$notes/prompt$RALPH_STORY.$RALPH_ATTEMPT\"
        if test $RALPH_ATTEMPT = 1; then echo \"<promise>FAILED: not yet $RALPH_STORY</promise>\"; exit 0; fi
        echo x >work$RALPH_STORY; complete",
    );
    run(&sandbox, &["--max-retries=1"], &agent).exits(0);
    let mut made = verdicts(&sandbox);
    made.sort();
    assert_eq!(
        made,
        [
            "1 complete",
            "1 failed",
            "2 complete",
            "2 failed",
            "3 complete",
            "3 failed"
        ]
    );
    for story in 1..=3 {
        let prompt = sandbox.noted(&format!("prompt{story}.2"));
        assert!(prompt.contains(&format!("> not yet {story}")), "{prompt}");
    }
    require_no_side(&sandbox);
}

#[test]
fn story_that_fails_beside_others_is_tried_again_after_those_that_were_completed_meanwhile() {
    let sandbox = Sandbox::with_free_stories(2);
    sandbox.configure("ralph.onFailure", "later");
    let agent = |needed: &str| {
        sandbox.agent(&format!(
            "if test $RALPH_STORY = 2; then echo x >work2; complete; exit 0; fi
            until git rev-parse -q --verify refs/heads/ralph/todo:work2; do sleep 0.05; done
            test -e {needed} && complete || failed 'it is missing'",
        ))
    };
    run(&sandbox, &["--max-retries=0"], &agent("work2"))
        .exits(0)
        .says("story 1 was put off, and is tried again");
    assert_eq!(verdicts(&sandbox), ["2 complete", "1 failed", "1 complete"]);
    require_no_side(&sandbox);
    // With the work of all others, it is not.
    let sandbox = Sandbox::with_free_stories(1);
    sandbox.configure("ralph.onFailure", "later");
    let agent = sandbox.failing("echo x >work1");
    let output = run(&sandbox, &["--max-retries=0"], &agent).exits(4);
    assert!(!output.stderr.contains("put off"), "{}", output.stderr);
    output.says("story 1 failed, no retries left");
    assert_eq!(
        sandbox.ralph(&["status", "todo", "--json"]).exits(0).json()["current"]["id"],
        "1"
    );
}

#[test]
fn story_without_retries_left_stops_the_run_and_others_get_their_checkpoint() {
    let sandbox = Sandbox::with_free_stories(4);
    // The others end when the failure is taken in.
    let agent = sandbox.agent(&format!(
        "touch \"$notes/$RALPH_STORY\"
        if test $RALPH_STORY = 1; then {}; exit 0; fi
        until git rev-parse -q --verify refs/ralph/todo/attempts/1/1; do sleep 0.05; done
        echo x >work$RALPH_STORY; complete",
        until("3")
    ));
    run(&sandbox, &["--max-retries=0"], &agent).exits(4);
    let mut made = checkpoints(&sandbox);
    made.sort();
    assert_eq!(made, ["checkpoint: 2", "checkpoint: 3"]);
    let status = sandbox.ralph(&["status", "todo", "--json"]).exits(0).json();
    assert_eq!(status["phase"], "exhausted");
    assert_eq!(status["current"]["id"], "1");
    require_no_side(&sandbox);
}

#[test]
fn both_edit_the_list_and_nothing_of_it_is_lost() {
    let sandbox = Sandbox::with_free_stories(2);
    let agent = sandbox.agent(&format!(
        "touch \"$notes/$RALPH_STORY\"; {}; {}
        if test $RALPH_STORY -lt 3; then echo \"- [ ] $((RALPH_STORY + 2)). From $RALPH_STORY\" >>TODO.md; fi
        echo x >work$RALPH_STORY; complete",
        until("1"),
        until("2")
    ));
    run(&sandbox, &[], &agent)
        .exits(0)
        .says("4 of 4 stories are complete");
    let list = sandbox.read("TODO.md");
    for story in ["- [x] 1. Story 1", "- [x] 2. Story 2", "From 1", "From 2"] {
        assert!(list.contains(story), "{list}");
    }
    assert!(!list.contains("[ ]"), "{list}");
}

#[test]
fn loops_that_cannot_be_split_go_in_turn() {
    let agent = |sandbox: &Sandbox| sandbox.completing("echo x >work$RALPH_STORY");
    let stash = Sandbox::with_free_stories(2);
    run(&stash, &["--strategy=stash"], &agent(&stash))
        .exits(0)
        .says("one after another: the loop leaves HEAD in its place (ralph.strategy)");
    let untracked = Sandbox::with_free_stories(2);
    untracked.git(&["rm", "-q", "--cached", "TODO.md"]);
    untracked.git(&["commit", "-qm", "untracked"]);
    untracked.write(".git/info/exclude", "TODO.md\n");
    run(&untracked, &[], &agent(&untracked))
        .exits(0)
        .says("one after another: git does not track TODO.md");
    // A run of several changes has one story of each at work.
    let several = Sandbox::with_free_stories(2);
    several.git(&["config", "ralph.jobs", "2"]);
    for change in ["one", "two"] {
        let list = format!("openspec/changes/{change}/tasks.md");
        several.write(&list, "## 1. A\n- [ ] a\n\n## 2. B\n- [ ] b\n");
    }
    several.git(&["add", "-A"]);
    several.git(&["commit", "-qm", "two"]);
    let agent = agent(&several);
    let output = several
        .ralph(&["run", "one", "two", "--jobs=2", "--keep", "--", &agent])
        .exits(0);
    assert!(!output.stderr.contains("begins in"), "{}", output.stderr);
}

#[test]
fn hooks_run_once_for_each_attempt_and_learnings_reach_later_stories() {
    let sandbox = Sandbox::with_free_stories(2);
    let hooks = sandbox.notes.join("hooks");
    for (hook, word) in [("ralph-pre-attempt", "pre"), ("ralph-post-checkpoint", "post")] {
        sandbox.hook(
            hook,
            &format!("echo \"{word} $RALPH_STORY\" >>'{}'", hooks.display()),
        );
    }
    let agent = sandbox.agent(
        "cat >\"$notes/prompt$RALPH_STORY\"
        echo x >work$RALPH_STORY; echo \"<learning>found by $RALPH_STORY</learning>\"; complete",
    );
    sandbox
        .ralph(&words("--jobs=2", &["--max-attempts=1"], &agent))
        .exits(6);
    sandbox.ralph(&words("--jobs=2", &[], &agent)).exits(0);
    let mut hooks: Vec<String> = sandbox.noted("hooks").lines().map(str::to_owned).collect();
    hooks.sort();
    assert_eq!(hooks, ["post 1", "post 2", "pre 1", "pre 2"]);
    assert!(sandbox.noted("prompt2").contains("found by 1"));
}

#[test]
fn line_of_what_runs_stays_below_what_the_others_print() {
    let sandbox = Sandbox::with_free_stories(2);
    // The second prints while the first is judged, which a line on the terminal shows.
    let notes = sandbox.notes.display();
    sandbox.configure(
        "ralph.verify",
        &format!("test ! -e work1 || {{ touch '{notes}/judged'; until test -e '{notes}/printed'; do sleep 0.05; done; }}"),
    );
    let agent = sandbox.completing(&format!(
        "echo x >work$RALPH_STORY; test $RALPH_STORY = 1 || {{ {}; echo beside; touch \"$notes/printed\"; }}",
        until("judged")
    ));
    let run = sandbox
        .direct(&words("--jobs=2", &["--max-retries=0"], &agent))
        .on_terminal(100)
        .run()
        .exits(0);
    let shown = run.stdout;
    let line = shown.lines().find(|line| line.ends_with("2: beside")).unwrap();
    // It begins where the line was erased, or at the left.
    assert!(
        line == "2: beside" || line.ends_with("\u{1b}[K2: beside"),
        "{line:?}"
    );
    assert!(shown.contains("running: 1 0s"), "{shown:?}");
}

#[test]
fn run_without_an_agent_begins_nothing() {
    let sandbox = Sandbox::with_free_stories(2);
    sandbox.ralph(&["start", "todo", "--stories=TODO.md"]).exits(0);
    for (agent, words) in [
        (&[] as &[&str], "error: no agent is configured"),
        (&["--", "/no/such/agent"], "/no/such/agent"),
    ] {
        let run = [&["run", "todo", "--jobs=2", "--keep"], agent].concat();
        let output = sandbox.ralph(&run).exits(1).says(words);
        assert!(!output.stderr.contains(" begins in "), "{}", output.stderr);
    }
    require_no_side(&sandbox);
}
