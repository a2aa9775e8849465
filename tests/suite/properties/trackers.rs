//! Stories of a tracker that commands list and mark: what is told to whom, and what happens when a
//! command does not do its part.

use std::fs;

use super::sources;
use crate::support::{Sandbox, wait_until};

fn ids(sandbox: &Sandbox) -> Vec<String> {
    sources::ids(sandbox, "work")
}

/// Runs the loop to its end with an agent that always completes.
#[track_caller]
fn run(sandbox: &Sandbox) {
    let agent = sandbox.completing("echo \"$RALPH_STORY\" >>work.txt");
    sandbox
        .ralph(&["run", "work", "--cleanup", "--", &agent])
        .exits(0);
}

/// A tracker in two files, `list` (JSON lines) and `log`, beside the repository.
fn tracker(sandbox: &Sandbox) {
    let list = sandbox.notes.join("list");
    fs::write(
        &list,
        "{\"id\":2,\"title\":\"Second\",\"priority\":2}\n{\"id\":\"1\",\"title\":\"First\",\"body\":\"Do this\\nwell\",\"priority\":1}\n{\"id\":3,\"title\":\"Third\",\"depends_on\":[2],\"priority\":3}\n",
    )
    .unwrap();
    let notes = sandbox.notes.display();
    sandbox.configure("ralph.adapter", "command");
    sandbox.configure("ralph.storiesCommand", &format!("cat '{notes}/list'"));
    sandbox.configure(
        "ralph.doneCommand",
        &format!("cat >>'{notes}/done' && echo \"$RALPH_CHANGE/$RALPH_STORY/$RALPH_ATTEMPT\" >>marks.txt && sed \"s/\\\"id\\\":\\\"*$RALPH_STORY\\\"*,/&\\\"done\\\":true,/\" '{notes}/list' >'{notes}/new' && mv '{notes}/new' '{notes}/list'"),
    );
}

#[test]
fn commands_list_and_mark_the_stories_of_a_tracker() {
    let sandbox = Sandbox::new();
    tracker(&sandbox);
    let after = format!(
        "after:git log -1 --format=%s >>'{}/closed'; cat >>'{0}/closed'",
        sandbox.notes.display()
    );
    sandbox.git(&["config", "--add", "ralph.doneCommand", &after]);
    assert_eq!(ids(&sandbox), ["1", "2", "3"]);
    sandbox.ralph(&["start", "work"]).exits(0);
    let prompt = sandbox.ralph(&["prompt"]).exits(0).stdout;
    assert!(prompt.contains("Do this\nwell"), "{prompt}");
    run(&sandbox);
    assert_eq!(sandbox.read("work.txt"), "1\n2\n3\n");
    // What the command changed in the repository is part of the checkpoint.
    assert_eq!(sandbox.read("marks.txt"), "work/1/1\nwork/2/1\nwork/3/1\n");
    let told = sandbox.noted("done");
    assert_eq!(told.lines().count(), 3);
    assert!(told.contains(r#""body":"Do this\nwell""#), "{told}");
    assert!(
        sandbox.noted("closed").starts_with("checkpoint: 1\n{"),
        "{}",
        sandbox.noted("closed")
    );
}

#[test]
fn story_removed_from_the_tracker_is_done_and_still_counted() {
    let sandbox = Sandbox::new();
    tracker(&sandbox);
    let open_only = format!(
        "grep -v '\"done\":true' '{}/list' || true",
        sandbox.notes.display()
    );
    sandbox.configure("ralph.storiesCommand", &open_only);
    let agent = sandbox.completing("echo \"$RALPH_STORY\" >>work.txt");
    sandbox.ralph(&["start", "work"]).exits(0);
    for count in ["1 of 3", "2 of 3"] {
        sandbox.step("next", &agent).exits(0).says(count);
    }
    let status = sandbox.ralph(&["status", "work", "--json"]).exits(0).json();
    assert_eq!(
        (&status["stories_done"], &status["stories_total"]),
        (&2.into(), &3.into())
    );
    sandbox
        .ralph(&["run", "work", "--cleanup", "--", &agent])
        .exits(0)
        .says("3 of 3");
    assert_eq!(sandbox.read("work.txt"), "1\n2\n3\n");
}

#[test]
fn loop_remembers_done_stories_if_no_command_marks_them() {
    let sandbox = Sandbox::new();
    tracker(&sandbox);
    sandbox.git(&["config", "--unset", "ralph.doneCommand"]);
    sandbox.ralph(&["start", "work"]).exits(0);
    let agent = sandbox.completing("echo \"$RALPH_STORY\" >>work.txt");
    sandbox.step("next", &agent).exits(0);
    assert_eq!(ids(&sandbox), ["1+", "2", "3"]);
    run(&sandbox);
    assert_eq!(sandbox.read("work.txt"), "1\n2\n3\n");
}

/// What `ralph.doneCommand` is replaced by in [`with_broken_mark`].
const BROKEN: &str = "echo no network >&2; exit 9";

/// A loop over the tracker whose first story has its checkpoint, but is still open in the tracker; gives
/// the command that would have marked it.
fn with_broken_mark(sandbox: &Sandbox, broken: &str) -> String {
    tracker(sandbox);
    let right = sandbox.git(&["config", "ralph.doneCommand"]);
    sandbox.configure("ralph.doneCommand", broken);
    sandbox.ralph(&["start", "work"]).exits(0);
    let agent = working(sandbox);
    sandbox
        .step("next", &agent)
        .exits(1)
        .says("story 1 is complete, but")
        .says("still lists it as open");
    right
}

/// An agent that says for which stories it ran.
fn working(sandbox: &Sandbox) -> String {
    sandbox.completing("echo \"$RALPH_STORY\" >>\"$notes/ran\"")
}

#[test]
fn a_story_that_stays_open_after_its_mark_is_never_run_again() {
    for (broken, said) in [("true", ""), (BROKEN, "no network")] {
        let sandbox = Sandbox::new();
        with_broken_mark(&sandbox, broken);
        let agent = working(&sandbox);
        for command in [
            vec!["next", "work", "--", &agent],
            vec!["retry", "work", "--", &agent],
            vec!["run", "work", "--", &agent],
            vec!["complete", "work"],
            vec!["fail", "work"],
            vec!["prompt", "work"],
        ] {
            let output = sandbox.ralph(&command).exits(1);
            let output = output
                .says("still lists it as open")
                .says("fix ralph.doneCommand, then run the same command again")
                .says("git ralph skip work 1");
            if command[0] != "prompt" {
                output.says(said);
            }
        }
        assert_eq!(sandbox.noted("ran"), "1\n", "{broken}");
        let subjects = sandbox.subjects("ralph/work");
        assert_eq!(subjects[..2], ["checkpoint: 1", "initial state"], "{broken}");
    }
}

#[test]
fn repaired_mark_command_runs_before_the_next_story() {
    for (by_flag, step) in [
        (false, "next"),
        (true, "next"),
        (false, "run"),
        (false, "complete"),
    ] {
        let sandbox = Sandbox::new();
        let right = with_broken_mark(&sandbox, BROKEN);
        let agent = working(&sandbox);
        let mut command = match step {
            "complete" => vec![step, "work"],
            _ => vec![step, "work", "--", &agent],
        };
        let setting = format!("ralph.doneCommand={right}");
        if by_flag {
            command.splice(0..0, ["-c", &setting, "ralph"]);
            sandbox.git_cmd(&command).run()
        } else {
            sandbox.configure("ralph.doneCommand", &right);
            sandbox.ralph(&command)
        }
        .exits(0)
        .says("the story 1 is now marked as done");
        let expected = match step {
            "next" => "1\n2\n",
            "run" => "1\n2\n3\n",
            _ => "1\n",
        };
        assert_eq!(sandbox.noted("ran"), expected, "{step}");
        assert_eq!(ids(&sandbox)[..2], ["1+", "2+"], "{step}");
        // The command is told once more of the story that it had not marked, as of that attempt.
        let marks = sandbox.read("marks.txt");
        assert!(marks.starts_with("work/1/1\nwork/2/1\n"), "{marks}");
        let subjects = sandbox.subjects("ralph/work");
        let checkpoints = subjects.iter().filter(|subject| *subject == "checkpoint: 1");
        assert_eq!(checkpoints.count(), 1, "{subjects:?}");
        // What the command line names holds for its step, what is set from then on.
        if step != "run" {
            sandbox
                .step("next", &agent)
                .exits(i32::from(by_flag))
                .says(if by_flag { "no network" } else { "[3/3] 3: Third" });
        }
    }
}

#[test]
fn story_that_the_user_marks_or_skips_stops_nothing() {
    let sandbox = Sandbox::new();
    with_broken_mark(&sandbox, BROKEN);
    let list = fs::read_to_string(sandbox.notes.join("list")).unwrap();
    let by_hand = |id: &str, done: bool| {
        let (from, to) = (format!("\"id\":{id},"), format!("\"id\":{id},\"done\":true,"));
        let text = fs::read_to_string(sandbox.notes.join("list")).unwrap();
        let text = if done {
            text.replace(&from, &to)
        } else {
            text.replace(&to, &from)
        };
        fs::write(sandbox.notes.join("list"), text).unwrap();
    };
    let agent = working(&sandbox);
    by_hand("\"1\"", true);
    sandbox.step("next", &agent).exits(1).says("story 2 is complete");
    // What was seen as done may be opened again by a person, on purpose.
    by_hand("\"1\"", false);
    sandbox.ralph(&["skip", "work", "2"]).exits(0);
    sandbox.step("next", &agent).exits(1).says("story 1 is complete");
    assert_eq!(sandbox.noted("ran"), "1\n2\n1\n");
    // A story that waits for the one that is passed over need not wait: that is complete.
    sandbox.ralph(&["skip", "work", "1"]).exits(0);
    sandbox.step("next", &agent).exits(1).says("story 3 is complete");
    sandbox.ralph(&["skip", "work", "3"]).exits(0);
    sandbox.step("next", &agent).exits(5);
    sandbox.ralph(&["skip", "--undo", "work", "2"]).exits(0);
    sandbox.step("next", &agent).exits(1).says("story 2 is complete");
    assert_eq!(sandbox.noted("ran"), "1\n2\n1\n3\n");
    assert_eq!(fs::read_to_string(sandbox.notes.join("list")).unwrap(), list);
}

#[test]
fn error_reports_a_command_that_fails_or_prints_nonsense() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.adapter", "command");
    sandbox
        .ralph(&["start", "work"])
        .exits(1)
        .says("hint: git config ralph.storiesCommand");
    for (command, said) in [
        ("echo broken >&2; exit 3", "exit code 3\n  broken"),
        (
            "printf '{\"id\":1}\\n{\"id\":\\n'",
            "the JSON ends too early, at line 3",
        ),
        ("echo 7", "a story must be an object at line 1"),
        ("true", "printed no stories\nhint: run it in the top"),
        (
            "echo '[]'",
            "it must print one JSON object per story, such as: {\"id\"",
        ),
    ] {
        sandbox.configure("ralph.storiesCommand", command);
        sandbox.ralph(&["start", "work"]).exits(1).says(said);
    }
    sandbox.configure("ralph.storiesCommand", "sleep 600");
    sandbox.configure("ralph.commandTimeout", "10s");
    sandbox
        .ralph(&["start", "work"])
        .exits(1)
        .says("timed out after 10 seconds\n");
    // What was killed may take a moment to be gone.
    wait_until("nothing is alive", || sandbox.alive().is_empty());
}

#[test]
fn the_command_after_a_checkpoint_runs_once() {
    let sandbox = Sandbox::new();
    tracker(&sandbox);
    let notes = sandbox.notes.display().to_string();
    sandbox.configure(
        // As it was before `ralph.doneCommand=after:`.
        "ralph.closedCommand",
        &format!("echo ran >>'{notes}/closed'; [ -e '{notes}/killed' ] || {{ touch '{notes}/killed'; kill -9 $PPID; }}"),
    );
    sandbox.ralph(&["start", "work"]).exits(0);
    let agent = sandbox.completing("echo x >x");
    sandbox.direct(&["next", "--", &agent]).run().exits(137);
    for _ in 0..2 {
        sandbox.ralph(&["status", "work"]).exits(0);
    }
    assert_eq!(sandbox.noted("closed"), "ran\n");
    let status = sandbox.ralph(&["status", "work", "--json"]).exits(0).json();
    assert_eq!(status["stories_done"], 1);
}
