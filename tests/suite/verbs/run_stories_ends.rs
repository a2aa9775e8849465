//! `git ralph run <change> --jobs` that is stopped or killed, and what other commands make of what it leaves.

use std::fs::File;

use nix::sys::signal::Signal;

use super::run_stories::{checkpoints, require_no_side, until, verdicts, words};
use super::run_stories_limits::SAYS;
use crate::support::{Running, Sandbox, wait_until};

/// An agent that works on until it may go on.
fn waiting(sandbox: &Sandbox) -> String {
    sandbox.completing(&format!(
        "echo \"half of $RALPH_STORY\" >work$RALPH_STORY; touch \"$notes/$RALPH_STORY\"; {}",
        until("go")
    ))
}

fn go_on(sandbox: &Sandbox) {
    std::fs::write(sandbox.notes.join("go"), "").unwrap();
}

/// Begins a run whose first two stories are at work.
fn begun(sandbox: &Sandbox, agent: &str) -> Running {
    let running = sandbox.direct(&words("--jobs=2", &[], agent)).start();
    wait_until("both work", || {
        ["1", "2"].iter().all(|note| sandbox.notes.join(note).exists())
    });
    running
}

#[test]
fn signal_ends_all_attempts_and_keeps_their_work() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let sandbox = Sandbox::with_free_stories(3);
        let agent = waiting(&sandbox);
        let running = begun(&sandbox, &agent);
        running.signal(signal);
        running.end().exits(128 + signal as i32);
        assert_eq!(checkpoints(&sandbox), [""; 0]);
        let mut made = verdicts(&sandbox);
        made.sort();
        assert_eq!(made, ["1 interrupted", "2 interrupted"]);
        for story in ["1", "2"] {
            let kept = format!("refs/ralph/todo/attempts/{story}/1:work{story}");
            assert_eq!(sandbox.git(&["show", &kept]), format!("half of {story}"));
        }
        require_no_side(&sandbox);
        let status = sandbox.ralph(&["status", "todo", "--json"]).exits(0).json();
        assert_eq!(status["current"]["id"], "1");
        go_on(&sandbox);
        sandbox.ralph(&words("--jobs=2", &[], &agent)).exits(0);
        assert_eq!(checkpoints(&sandbox).len(), 3);
        require_no_side(&sandbox);
    }
}

#[test]
fn stop_request_lets_attempts_end_and_begins_no_other() {
    let sandbox = Sandbox::with_free_stories(4);
    let agent = waiting(&sandbox);
    let running = begun(&sandbox, &agent);
    sandbox.ralph(&["stop", "todo"]).exits(0);
    go_on(&sandbox);
    running.end().exits(6).says("stopped by git ralph stop");
    assert_eq!(checkpoints(&sandbox).len(), 2);
    require_no_side(&sandbox);
}

#[test]
fn promised_work_of_a_run_that_ended_is_judged_and_no_agent_repeats_it() {
    for signal in [Signal::SIGKILL, Signal::SIGINT] {
        judged_later(signal);
    }
}

/// Begins a run of two stories whose gate waits: one is judged, the other promised. Returns the agent, too.
pub fn judging(sandbox: &Sandbox) -> (String, Running) {
    judging_work(
        sandbox,
        "echo x >>\"$notes/began$RALPH_STORY\"; echo x >work$RALPH_STORY",
    )
}

/// Does so with an agent that runs this.
pub fn judging_work(sandbox: &Sandbox, work: &str) -> (String, Running) {
    sandbox.configure("ralph.verify", &waiting_gate(sandbox));
    let agent = sandbox.completing(work);
    let running = judging_with(sandbox, &[], &agent);
    (agent, running)
}

/// A gate that waits once there is work.
fn waiting_gate(sandbox: &Sandbox) -> String {
    let notes = sandbox.notes.to_str().unwrap();
    let gate = format!(
        "ls work* 2>/dev/null || exit 0; touch \"$notes/judging\"; {}",
        until("go")
    );
    gate.replace("$notes", notes)
}

fn judging_with(sandbox: &Sandbox, args: &[&str], agent: &str) -> Running {
    let running = sandbox.direct(&words("--jobs=2", args, agent)).start();
    wait_until("one is judged, the other promised", || {
        let sides = ["ralph/todo+1", "ralph/todo+2"]
            .map(|side| sandbox.git_cmd(&["log", "-1", "--format=%s", side]).run());
        let promised = sides.iter().all(|side| side.stdout.starts_with("checkpoint: "));
        promised && sandbox.notes.join("judging").exists()
    });
    running
}

#[test]
fn run_that_could_not_judge_what_a_killed_one_left_moves_nothing() {
    let sandbox = Sandbox::with_free_stories(2);
    let agent = sandbox.completing("echo x >>\"$notes/began$RALPH_STORY\"; echo x >work$RALPH_STORY");
    let running = judging_with(&sandbox, &["--verify", &waiting_gate(&sandbox)], &agent);
    running.signal(Signal::SIGKILL);
    drop(running.end());
    sandbox.ralph(&["status", "todo"]).exits(0);
    let made = || (verdicts(&sandbox), sandbox.git(&["for-each-ref"]));
    let before = made();
    for _ in 0..2 {
        // The gate was typed: an attempt could have changed the record of it.
        sandbox
            .ralph(&words("--jobs=2", &[], &agent))
            .exits(7)
            .says("the gates of 'todo' are not certain");
        assert_eq!(made(), before);
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    }
    // So was the agent.
    sandbox
        .ralph(&["run", "todo", "--jobs=2", "--verify=true"])
        .exits(1);
    assert_eq!(made(), before);
    sandbox
        .ralph(&words("--jobs=2", &["--verify=true"], &agent))
        .exits(0);
    assert_eq!(sandbox.noted("began1") + &sandbox.noted("began2"), "x\nx\n");
    require_no_side(&sandbox);
}

/// Checks that both are judged by the next run, and that no agent repeats them.
pub fn require_judged(sandbox: &Sandbox, agent: &str) {
    go_on(sandbox);
    sandbox.ralph(&words("--jobs=2", &[], agent)).exits(0);
    for story in ["1", "2"] {
        assert_eq!(sandbox.noted(&format!("began{story}")), "x\n");
    }
    assert_eq!(checkpoints(sandbox).len(), 2);
    require_no_side(sandbox);
}

fn judged_later(signal: Signal) {
    let sandbox = Sandbox::with_free_stories(2);
    let (agent, running) = judging_work(
        &sandbox,
        &format!(
            "{SAYS} echo x >>\"$notes/began$RALPH_STORY\"; echo x >work$RALPH_STORY; \
             says '<promise>COMPLETE</promise>' false; exit"
        ),
    );
    running.signal(signal);
    drop(running.end());
    require_judged(&sandbox, &agent);
    // Each agent ran once, whatever became of the first judgement.
    let log = sandbox.ralph(&["log", "todo", "--json"]).exits(0).json();
    let attempts = log["attempts"].as_array().unwrap();
    let costs = attempts.iter().map(|one| one["cost_usd"].as_f64().unwrap());
    assert_eq!(costs.sum::<f64>().to_string(), "2");
    assert!(attempts.iter().all(|one| one["slot"].is_number()), "{log}");
}

#[test]
fn run_that_was_killed_goes_on_where_it_was() {
    let sandbox = Sandbox::with_free_stories(3);
    let agent = waiting(&sandbox);
    let running = begun(&sandbox, &agent);
    running.signal(Signal::SIGKILL);
    drop(running.end());
    go_on(&sandbox);
    sandbox.ralph(&words("--jobs=2", &[], &agent)).exits(0);
    assert_eq!(checkpoints(&sandbox).len(), 3);
    for story in ["1", "2"] {
        assert!(verdicts(&sandbox).contains(&format!("{story} interrupted")));
    }
    require_no_side(&sandbox);
}

/// A loop whose run was killed while two attempts were at work.
fn killed() -> Sandbox {
    let sandbox = Sandbox::with_free_stories(3);
    let agent = waiting(&sandbox);
    let running = begun(&sandbox, &agent);
    running.signal(Signal::SIGKILL);
    drop(running.end());
    sandbox
}

#[test]
fn end_of_a_loop_keeps_what_sides_have_and_leaves_no_side() {
    for end in [
        &["abort"] as &[&str],
        &["finish", "--cleanup"],
        &["finish", "--keep"],
    ] {
        let sandbox = killed();
        let words = [end, &["todo"]].concat();
        sandbox
            .ralph(&words)
            .exits(0)
            .says("the attempt at story 1 is not judged, because the loop ends");
        require_no_side(&sandbox);
        for story in ["1", "2"] {
            let kept = format!("refs/ralph/todo/attempts/{story}/1:work{story}");
            assert_eq!(
                sandbox.git(&["show", &kept]),
                format!("half of {story}"),
                "{end:?}"
            );
        }
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "{end:?}");
        assert_eq!(verdicts(&sandbox), ["1 interrupted", "2 interrupted"], "{end:?}");
        let shown = sandbox.ralph(&["diff", "todo", "1@1"]).exits(0);
        assert!(shown.stdout.contains("half of 1"), "{end:?}: {}", shown.stdout);
    }
}

#[test]
fn run_with_one_job_takes_in_what_a_killed_one_left() {
    let sandbox = killed();
    go_on(&sandbox);
    let agent = waiting(&sandbox);
    sandbox.ralph(&words("--jobs=1", &[], &agent)).exits(0);
    assert_eq!(
        checkpoints(&sandbox),
        ["checkpoint: 3", "checkpoint: 2", "checkpoint: 1"]
    );
    require_no_side(&sandbox);
}

#[test]
fn side_that_is_killed_costs_no_retry() {
    let sandbox = Sandbox::with_free_stories(2);
    // The first attempt at the first story kills its git-ralph.
    let agent = sandbox.agent(
        "if test $RALPH_STORY = 1 && ! test -e \"$notes/killed\"; then
            touch \"$notes/killed\"; kill -9 $(ps -o ppid= -p $PPID); sleep 60
        fi; echo x >work$RALPH_STORY; complete",
    );
    let output = sandbox.ralph(&words("--jobs=2", &["--max-retries=0"], &agent));
    output.exits(0);
    assert_eq!(checkpoints(&sandbox).len(), 2);
    require_no_side(&sandbox);
}

#[test]
fn damaged_side_stops_no_other() {
    for (damages, says) in [
        (
            "rm $dir/HEAD; mkdir $dir/HEAD",
            "attempt 1 of story 2 was interrupted",
        ),
        (
            "rm .git; git init -q",
            "the work tree of todo+2 no longer belongs to this repository; its files are in ",
        ),
    ] {
        let sandbox = Sandbox::with_free_stories(3);
        // The first attempt at story 2 damages its side, and kills the process that could repair it.
        let agent = sandbox.agent(&format!(
            "echo x >work$RALPH_STORY
             if test $RALPH_STORY = 2 && ! test -e \"$notes/killed\"; then
                touch \"$notes/killed\"
                dir=$(git rev-parse --git-dir); {damages}
                kill -9 $(ps -o ppid= -p $PPID); sleep 60
             fi; complete"
        ));
        let run = ["run", "todo", "--stories=TODO.md", "--jobs=2", "--", &agent];
        sandbox
            .ralph(&run)
            .exits(0)
            .says(says)
            .says("3 of 3 stories are complete");
    }
}

#[test]
fn side_whose_state_is_damaged_stops_no_other() {
    let sandbox = killed();
    go_on(&sandbox);
    let lock = File::open(sandbox.top.join(".git/ralph/todo+2.lock")).unwrap();
    wait_until("its process has ended", || lock.try_lock().is_ok());
    drop(lock);
    let state = sandbox.top.join(".git/ralph/todo+2.toml");
    std::fs::write(&state, "[[").unwrap();
    let agent = waiting(&sandbox);
    sandbox
        .ralph(&words("--jobs=2", &[], &agent))
        .exits(0)
        .says("todo+2 is not used: ")
        .says("3 of 3 stories are complete");
    assert_eq!(std::fs::read_to_string(&state).unwrap(), "[[");
}

#[test]
fn each_checkpoint_is_on_the_remote_and_sides_are_not() {
    let sandbox = Sandbox::with_free_stories(3);
    let remote = sandbox.top.with_extension("remote");
    let remote = remote.to_str().unwrap();
    sandbox.git(&["init", "-q", "--bare", remote]);
    sandbox.git(&["remote", "add", "origin", remote]);
    sandbox.git(&["push", "-q", "origin", "main"]);
    let agent = waiting(&sandbox);
    let running = sandbox
        .direct(&words("--jobs=2", &["--remote=origin"], &agent))
        .start();
    wait_until("both work", || {
        ["1", "2"].iter().all(|note| sandbox.notes.join(note).exists())
    });
    running.signal(Signal::SIGKILL);
    drop(running.end());
    go_on(&sandbox);
    sandbox
        .ralph(&words("--jobs=2", &["--remote=origin"], &agent))
        .exits(0);
    let refs = sandbox.git(&["ls-remote", "origin"]);
    assert!(!refs.contains("todo+"), "{refs}");
    let tip = sandbox.git(&["rev-parse", "ralph/todo"]);
    assert!(refs.contains(&format!("{tip}\trefs/heads/ralph/todo")), "{refs}");
    assert_eq!(checkpoints(&sandbox).len(), 3);
    require_no_side(&sandbox);
}

#[test]
fn promised_work_is_not_judged_while_the_story_it_waits_for_is_open_again() {
    let sandbox = Sandbox::with_free_stories(1);
    let list = "- [ ] 1. One\n- [ ] 2. Two (after 1)\n- [ ] 3. Three (after 1)\n";
    sandbox.write("TODO.md", list);
    sandbox.git(&["commit", "-qam", "order"]);
    sandbox.ralph(&["start", "todo", "--stories=TODO.md"]).exits(0);
    let agent = sandbox.completing("echo x >first");
    sandbox.ralph(&["next", "todo", "--", &agent]).exits(0);
    let (agent, running) = judging(&sandbox);
    running.signal(Signal::SIGKILL);
    drop(running.end());
    go_on(&sandbox);
    sandbox.ralph(&["redo", "todo", "1"]).exits(0);
    sandbox
        .ralph(&words("--jobs=2", &[], &agent))
        .exits(0)
        .says("story 1, for which it waits, is open again");
    let made = checkpoints(&sandbox);
    assert_eq!(made.last().map(String::as_str), Some("checkpoint: 1"), "{made:?}");
    assert_eq!(made.len(), 3, "{made:?}");
    require_no_side(&sandbox);
}
