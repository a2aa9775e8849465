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

/// Shell code of an agent that says what it costs, a dollar for each process, and that its service is out of reach.
pub const SAYS: &str = r#"
says() {
    echo '{"type":"system","subtype":"init","session_id":"x","model":"m"}'
    printf '{"type":"result","subtype":"success","is_error":%s,"result":"%s","total_cost_usd":1.0,"duration_ms":10,"num_turns":1}\n' "$2" "$1"
}
"#;

#[test]
fn attempt_that_a_service_ended_is_known_with_its_work_and_its_output() {
    let sandbox = Sandbox::with_free_stories(2);
    let fallback = sandbox.completing("echo x >work$RALPH_STORY");
    sandbox.configure("ralph.fallbackAgent", &fallback);
    let agent = sandbox.agent(&format!(
        "{SAYS} test $RALPH_STORY = 2 && {{ echo x >work2; says '<promise>COMPLETE</promise>' false; exit; }}\n\
         echo precious >draft; says '' true | head -n 1; \
         echo '{{\"type\":\"assistant\",\"message\":{{\"content\":[{{\"type\":\"text\",\"text\":\"words of the first\"}}]}}}}'; \
         says 'Claude AI usage limit reached|4000000000' true | tail -n 1; exit 1"
    ));
    sandbox.ralph(&words("--jobs=2", &[], &agent)).exits(0);
    let mut made = verdicts(&sandbox);
    made.sort();
    assert_eq!(made, ["1 complete", "1 rate_limited", "2 complete"]);
    assert_eq!(
        sandbox.git(&["show", "refs/ralph/todo/attempts/1/1:draft"]),
        "precious"
    );
    let output = sandbox.ralph(&["log", "todo", "1@1"]).exits(0).stdout;
    assert!(output.contains("words of the first"), "{output}");
    let log = sandbox.ralph(&["log", "todo", "--json"]).exits(0).json();
    let costs = log["attempts"].as_array().unwrap().iter();
    let costs = costs.map(|one| one["cost_usd"].as_f64().unwrap_or(0.0));
    assert_eq!(costs.sum::<f64>().to_string(), "2");
    assert_eq!(log["attempts"].as_array().unwrap().len(), 3);
    require_no_side(&sandbox);
}

#[test]
fn crash_of_an_agent_is_repeated_once() {
    let sandbox = Sandbox::with_free_stories(2);
    sandbox.configure("ralph.maxWait", "0");
    let agent = sandbox.agent(
        "cat >/dev/null; test $RALPH_STORY = 2 && { echo x >work2; echo '<promise>COMPLETE</promise>'; exit; }\n\
         echo x >>\"$notes/began1\"; echo '{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"x\",\"model\":\"m\"}'; \
         printf '{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"h'; exit 1",
    );
    let run = sandbox.ralph(&words("--jobs=2", &[], &agent)).exits(1);
    let text = run
        .says("the agent could not work on story 1: interrupted")
        .stderr;
    assert_eq!(sandbox.noted("began1"), "x\nx\n");
    let mut made = verdicts(&sandbox);
    made.sort();
    assert_eq!(made, ["1 interrupted", "1 interrupted", "2 complete"]);
    let logs = text
        .lines()
        .filter_map(|line| line.split_once("output of the agent: "));
    let logs: Vec<&str> = logs.map(|(_, log)| log).collect();
    assert!(
        !logs.is_empty() && logs.iter().all(|log| std::path::Path::new(log).exists()),
        "{text}"
    );
    let status = sandbox.ralph(&["status", "todo"]).exits(0).stdout;
    assert!(!status.contains("not taken in yet"), "{status}");
    require_no_side(&sandbox);
}

#[test]
fn stop_request_ends_attempts_before_their_next_round() {
    let sandbox = Sandbox::with_free_stories(2);
    let agent = sandbox.agent(&noting(&format!(
        "echo x >work$RALPH_STORY; touch \"$notes/at$RALPH_STORY\"; {}; \
         test $n = 1 && echo '<promise>CONTINUE: more</promise>' || echo '<promise>COMPLETE</promise>'",
        until("go")
    )));
    let running = begun(&sandbox, &[], &agent, &["at1", "at2"]);
    sandbox.ralph(&["stop", "todo"]).exits(0);
    go_on(&sandbox);
    running.end().exits(6).says("stopped by git ralph stop");
    assert_eq!(
        (sandbox.noted("began1"), sandbox.noted("began2")),
        ("x\n".into(), "x\n".into())
    );
    let mut made = verdicts(&sandbox);
    made.sort();
    assert_eq!(made, ["1 interrupted", "2 interrupted"]);
    require_no_side(&sandbox);
    sandbox.ralph(&words("--jobs=2", &[], &agent)).exits(0);
    require_no_side(&sandbox);
}

#[test]
fn limit_on_the_cost_holds_for_the_rounds_of_all_attempts() {
    let sandbox = Sandbox::with_free_stories(3);
    // The first story has another round when that of the second ends.
    let agent = sandbox.agent(&format!(
        "{SAYS}{}",
        noting(&format!(
            "echo x >work$RALPH_STORY; touch \"$notes/at$RALPH_STORY.$n\"; case $RALPH_STORY.$n in \
             1.2) {};; 2.1) {};; esac; \
             test $RALPH_STORY.$n = 1.2 && says '<promise>COMPLETE</promise>' false || says '<promise>CONTINUE: more</promise>' false",
            until("at2.1"),
            until("at1.2"),
        ))
    ));
    let run = sandbox
        .ralph(&words("--jobs=2", &["--max-cost=2"], &agent))
        .exits(6);
    // The second round of the first story may have ended before.
    run.says("stopped between two rounds at a limit: $")
        .says("stopped at a limit: $3.00 of $2.00 spent");
    assert_eq!(
        (sandbox.noted("began1"), sandbox.noted("began2")),
        ("x\nx\n".into(), "x\n".into())
    );
    let mut made = verdicts(&sandbox);
    made.sort();
    assert_eq!(made, ["1 complete", "2 interrupted"]);
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

#[test]
fn notices_name_what_is_kept_by_the_loop() {
    let sandbox = Sandbox::with_free_stories(2);
    let agent = sandbox.completing(
        "echo x >work$RALPH_STORY; test $RALPH_STORY = 2 || { echo hidden >common; git stash -q; echo x >work1; }",
    );
    let run = sandbox.ralph(&words("--jobs=2", &["--max-retries=0"], &agent));
    let text = run.says("is kept as refs/ralph/todo/attempts/1/1-stash").stderr;
    let name = text.split_once("is kept as ").unwrap().1.lines().next().unwrap();
    assert_eq!(sandbox.git(&["show", &format!("{name}:common")]), "hidden");
    require_no_side(&sandbox);
}

#[test]
fn other_agent_takes_the_place_of_one_that_is_missing() {
    let sandbox = Sandbox::with_free_stories(2);
    let fallback = sandbox.completing("echo x >work$RALPH_STORY");
    sandbox.configure("ralph.fallbackAgent", &fallback);
    sandbox.ralph(&words("--jobs=2", &[], "/no/such/agent")).exits(0);
    assert_eq!(verdicts(&sandbox).len(), 2);
}
