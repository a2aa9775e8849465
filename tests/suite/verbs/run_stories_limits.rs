//! `git ralph run <change> --jobs`: what the user says, asks and limits holds for the attempts that run, and what does not
//! count is known, too.

use super::run_stories::{require_no_side, until, verdicts, words};
use crate::support::{Running, Sandbox, wait_until};

/// An agent that notes its prompt as `prompt<story>.<attempt>`, where `$n` is the number of the attempt, and then does more.
fn noting(more: &str) -> String {
    format!(
        "n=$(cat \"$notes/began$RALPH_STORY\" 2>/dev/null | wc -l | tr -d ' '); n=$((n + 1)); \
         echo x >>\"$notes/began$RALPH_STORY\"; cat >\"$notes/prompt$RALPH_STORY.$n\"; {more}"
    )
}

/// Begins a run, and waits until there are these notes.
fn begun(sandbox: &Sandbox, args: &[&str], agent: &str, notes: &[&str]) -> Running {
    let running = sandbox.direct(&words("--jobs=2", args, agent)).start();
    wait_until("both work", || {
        notes.iter().all(|note| sandbox.notes.join(note).exists())
    });
    running
}

fn go_on(sandbox: &Sandbox) {
    std::fs::write(sandbox.notes.join("go"), "").unwrap();
}

#[test]
fn message_stays_until_a_story_is_complete_whose_prompt_had_it() {
    let sandbox = Sandbox::with_free_stories(2);
    let list = sandbox.read("TODO.md");
    sandbox.write("TODO.md", &format!("{list}- [ ] 3. Last (after 1, 2)\n"));
    sandbox.git(&["commit", "-qam", "three"]);
    let agent = sandbox.completing(&noting(&format!(
        "echo x >work$RALPH_STORY; touch \"$notes/at$RALPH_STORY\"; {}",
        until("go")
    )));
    let running = begun(&sandbox, &[], &agent, &["at1", "at2"]);
    sandbox.ralph(&["tell", "todo", "use tabs"]).exits(0);
    go_on(&sandbox);
    running.end().exits(0);
    let has_it = |story| sandbox.noted(&format!("prompt{story}.1")).contains("use tabs");
    assert_eq!([1, 2, 3].map(has_it), [false, false, true]);
    let log = sandbox.ralph(&["log", "todo", "--json"]).exits(0).json();
    let told = &log["messages"][0];
    assert_eq!((&told["story"], &told["attempt"]), (&"3".into(), &1.into()));
    require_no_side(&sandbox);
}

#[test]
fn message_of_one_story_is_not_over_with_another_one() {
    let sandbox = Sandbox::with_free_stories(2);
    // The second attempt at the first story fails when the second story, whose prompt had no message, is complete.
    let agent = sandbox.completing(&noting(&format!(
        "echo x >work$RALPH_STORY; touch \"$notes/at$RALPH_STORY.$n\"; case $RALPH_STORY.$n in \
         1.1) {}; exit 1;; 2.1) {};; \
         1.2) until git log --format=%s ralph/todo | grep -q 'checkpoint: 2'; do sleep 0.05; done; exit 1;; esac",
        until("go"),
        until("at1.2")
    )));
    let running = begun(&sandbox, &[], &agent, &["at1.1", "at2.1"]);
    sandbox.ralph(&["tell", "todo", "use tabs"]).exits(0);
    go_on(&sandbox);
    running.end().exits(0);
    let has_it = |number| sandbox.noted(&format!("prompt1.{number}")).contains("use tabs");
    assert_eq!([1, 2, 3].map(has_it), [false, true, true]);
    assert_eq!(verdicts(&sandbox).len(), 4);
    require_no_side(&sandbox);
}

#[test]
fn attempt_that_changed_no_file_is_said_to_have_changed_none() {
    let sandbox = Sandbox::with_free_stories(2);
    let agent = sandbox.agent(
        "cat >/dev/null; test $RALPH_STORY = 1 && { echo '<promise>FAILED: no</promise>'; exit; }\n\
         echo x >work2; echo '<promise>COMPLETE</promise>'",
    );
    let run = sandbox.ralph(&words("--jobs=2", &["--max-retries=0"], &agent));
    let text = run.exits(4).says(": no file was changed").stderr;
    assert!(!text.contains("kept: git ralph diff"), "{text}");
}
