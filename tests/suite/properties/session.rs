//! `git ralph hook stop|stop-failure|session-end`: an agent's own session drives the loop by its hooks. The JSON is
//! what the real agents write.

use std::fs;

use serde_json::{Value, json};

use crate::support::{CHANGE, COMPLETE, Output, Sandbox, TASKS};

/// What a hook answered: nothing is an empty object.
pub fn answered(output: Output) -> Value {
    let output = output.exits(0);
    if output.stdout.is_empty() {
        return json!({});
    }
    assert_eq!(output.stdout.lines().count(), 1, "{}", output.stdout);
    output.json()
}

/// A hook, as the agent calls it.
pub fn hook(sandbox: &Sandbox, event: &str, input: &Value) -> Value {
    answered(
        sandbox
            .ralph_cmd(&["hook", event])
            .reading(input.to_string())
            .run(),
    )
}

/// claude's, and codex's, call of the Stop hook.
pub fn stop_json(sandbox: &Sandbox, session: &str, message: &str) -> Value {
    json!({
        "session_id": session,
        "transcript_path": sandbox.outside("transcript-of-one.jsonl"),
        "cwd": sandbox.top,
        "permission_mode": "bypassPermissions",
        "hook_event_name": "Stop",
        "stop_hook_active": true,
        "last_assistant_message": message,
        "background_tasks": [],
    })
}

/// Has the session's transcript begin with the prompt, as it does where the user has pasted that.
pub fn was_prompted(sandbox: &Sandbox) {
    let text = sandbox.ralph(&["prompt"]).exits(0).stdout;
    let line = json!({"type": "user", "message": {"role": "user", "content": text}});
    fs::write(sandbox.outside("transcript-of-one.jsonl"), format!("{line}\n")).unwrap();
}

pub fn stop(sandbox: &Sandbox, message: &str) -> Value {
    hook(sandbox, "stop", &stop_json(sandbox, "one", message))
}

pub fn complete(sandbox: &Sandbox) -> Value {
    stop(sandbox, &format!("It is done.\n\n{COMPLETE}"))
}

fn failed(sandbox: &Sandbox, why: &str) -> Value {
    stop(sandbox, &format!("No.\n<promise>FAILED: {why}</promise>"))
}

/// The prompt by which the session goes on.
#[track_caller]
pub fn prompt(answer: &Value) -> &str {
    assert_eq!(answer["decision"], "block", "{answer}");
    let (who, asks) = (
        "git-ralph drives this session for its user: this hook asks you to ",
        answer["reason"].as_str().unwrap(),
    );
    let asks = asks.strip_prefix(who).unwrap();
    let next = "do the next story. What is quoted in it is the user's story.\n\n";
    asks.strip_prefix(next)
        .or_else(|| asks.strip_prefix("go on. "))
        .or_else(|| asks.starts_with("look at ").then_some(asks))
        .unwrap()
}

/// What its user is told when the session may end.
#[track_caller]
pub fn told(answer: &Value) -> &str {
    assert!(answer.get("decision").is_none(), "{answer}");
    answer["systemMessage"].as_str().unwrap_or_default()
}

#[test]
fn a_session_goes_through_the_whole_loop() {
    let sandbox = Sandbox::dirty();
    let gate = "test ! -e broken";
    sandbox
        .ralph(&["start", CHANGE, "--verify", gate, "--allow-red"])
        .exits(0);
    let files = sandbox.files();

    sandbox.write("one.txt", "wrong\n");
    let answer = failed(&sandbox, "the table is there already");
    assert_eq!(sandbox.files(), files);
    sandbox.is_at_checkpoint();
    let next = sandbox.ralph(&["prompt"]).exits(0).stdout;
    let (undone, retry) = prompt(&answer).split_once("\n\n").unwrap();
    assert!(undone.contains("back at the last checkpoint"), "{undone}");
    assert!(undone.contains("refs/ralph/add-login/attempts/1/1"), "{undone}");
    assert_eq!(retry, next);
    assert!(retry.contains("> the table is there already"), "{retry}");
    assert_eq!(
        sandbox.git(&["show", "refs/ralph/add-login/attempts/1/1:one.txt"]),
        "wrong"
    );

    sandbox.write("one.txt", "right\n");
    let answer = complete(&sandbox);
    assert_eq!(prompt(&answer), sandbox.ralph(&["prompt"]).exits(0).stdout);
    assert!(prompt(&answer).starts_with("# Story 2. "), "{answer}");
    assert_eq!(sandbox.subjects("HEAD")[0], "checkpoint: 1");

    sandbox.write("broken", "");
    let answer = complete(&sandbox);
    assert!(prompt(&answer).contains(gate), "{answer}");
    sandbox.is_at_checkpoint();
    sandbox.write("two.txt", "2\n");
    assert!(prompt(&complete(&sandbox)).starts_with("# Story 3. "));
    sandbox.write("three.txt", "3\n");
    let answer = complete(&sandbox);
    assert!(told(&answer).contains("3 of 3"), "{answer}");
    assert!(
        told(&answer).contains("git ralph finish --cleanup add-login"),
        "{answer}"
    );
    assert_eq!(stop(&sandbox, "You are welcome."), json!({}), "it is said once");

    let verdicts: Vec<_> = sandbox
        .attempts()
        .iter()
        .map(|attempt| attempt["verdict"].clone())
        .collect();
    assert_eq!(
        verdicts,
        ["failed", "complete", "gate_failed", "complete", "complete"]
    );
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    assert_eq!(sandbox.read("one.txt"), "right\n");
    assert_eq!(sandbox.read(TASKS).matches("[x]").count(), 4);
}

#[test]
fn hook_does_not_judge_a_session_inside_an_attempt() {
    let sandbox = Sandbox::started();
    sandbox.write("work.txt", "x\n");
    let input = stop_json(&sandbox, "one", COMPLETE).to_string();
    let inside = sandbox.direct(&["hook", "stop"]).env("GIT_RALPH_RUN", "1-1");
    assert_eq!(answered(inside.reading(input).run()), json!({}));
    assert!(sandbox.top.join("work.txt").exists());
    assert!(sandbox.attempts().is_empty());
}

#[test]
fn retries_end_and_the_session_may_end() {
    let sandbox = Sandbox::new();
    sandbox.ralph(&["start", CHANGE, "--max-retries", "1"]).exits(0);
    prompt(&failed(&sandbox, "a"));
    let answer = failed(&sandbox, "b");
    assert!(told(&answer).contains("retries"), "{answer}");
    assert!(told(&answer).contains("git ralph finish"), "{answer}");
    assert_eq!(sandbox.status()["phase"], "exhausted");
    assert_eq!(complete(&sandbox), json!({}), "no attempt is left");
    assert_eq!(sandbox.attempts().len(), 2);
}

#[test]
fn limits_end_a_session_between_stories() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.maxAttempts", "2");
    sandbox.start();
    prompt(&failed(&sandbox, "a"));
    let answer = complete(&sandbox);
    assert!(told(&answer).contains("ralph.maxAttempts"), "{answer}");
    assert!(told(&answer).contains("git ralph finish"), "{answer}");
    assert_eq!(sandbox.status()["stories_done"], 1);
    // Another session begins to count anew.
    let next = stop_json(&sandbox, "two", COMPLETE);
    prompt(&hook(&sandbox, "stop", &next));
}

#[test]
fn a_limit_of_time_leaves_unfinished_work_where_it_is() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.maxDuration", "1ms");
    sandbox.start();
    was_prompted(&sandbox);
    sandbox.write("half.txt", "x\n");
    let answer = stop(&sandbox, "Still at it.");
    assert!(told(&answer).contains("limit"), "{answer}");
    assert!(sandbox.top.join("half.txt").exists());
    assert!(sandbox.attempts().is_empty());
}

#[test]
fn hook_ignores_a_conversation_about_something_else() {
    let sandbox = Sandbox::started();
    sandbox.write("edit.txt", "mine\n");
    let transcript = sandbox.outside("talk.jsonl");
    let mut input = stop_json(&sandbox, "talk", "The function is in src/lib.txt.");
    input["transcript_path"] = transcript.to_str().into();
    let files = sandbox.files();
    let user = |text: &str| {
        let line = json!({"type": "user", "message": {"role": "user", "content": text}});
        fs::write(&transcript, format!("{line}\n")).unwrap();
    };
    user("Where is the function?");
    for _ in 0..4 {
        assert_eq!(hook(&sandbox, "stop", &input), json!({}));
    }
    assert_eq!(sandbox.files(), files);
    assert!(sandbox.attempts().is_empty());
    // Nor is one the loop's whose transcript cannot be read, or that has none.
    for transcript in [json!(sandbox.outside("gone.jsonl")), json!(""), Value::Null] {
        input["transcript_path"] = transcript;
        for _ in 0..3 {
            assert_eq!(hook(&sandbox, "stop", &input), json!({}));
        }
    }
    assert_eq!(sandbox.files(), files);
    assert!(sandbox.attempts().is_empty());
    input["transcript_path"] = transcript.to_str().into();
    // One that was given a prompt knows of the promise.
    user(&sandbox.ralph(&["prompt"]).exits(0).stdout);
    input["session_id"] = "work".into();
    assert!(prompt(&hook(&sandbox, "stop", &input)).contains("promise"));
}

#[test]
fn status_counts_no_commit_of_a_session_as_by_hand() {
    let sandbox = Sandbox::started();
    sandbox.ralph(&["hooks", "install"]).exits(0);
    prompt(&complete(&sandbox));
    let commit = ["commit", "-q", "--allow-empty", "-m", "the agent's"];
    sandbox.git(&commit);
    assert_eq!(sandbox.status()["commits_by_hand"], 0);
    let end = json!({"session_id": "one", "cwd": sandbox.top, "hook_event_name": "SessionEnd"});
    hook(&sandbox, "session-end", &end);
    sandbox.git(&commit);
    assert_eq!(sandbox.status()["commits_by_hand"], 2);
}

#[test]
fn a_session_without_a_promise_is_reminded_twice_and_then_undone() {
    let sandbox = Sandbox::started();
    was_prompted(&sandbox);
    for _ in 0..2 {
        sandbox.write("half.txt", "x\n");
        let answer = stop(&sandbox, "I think that is it.");
        let words = prompt(&answer);
        assert!(words.contains("promise") && !words.contains("# Story"), "{words}");
        assert!(
            !words.lines().any(|line| line.trim().starts_with("<promise>")),
            "{words}"
        );
        assert!(sandbox.top.join("half.txt").exists(), "nothing is judged yet");
        assert!(sandbox.attempts().is_empty());
    }
    let answer = stop(&sandbox, "As I said.");
    assert!(prompt(&answer).contains("# Story 1. "), "{answer}");
    assert!(!sandbox.top.join("half.txt").exists());
    assert_eq!(sandbox.verdict(), "no_signal");
    // The next attempt is reminded anew, with the reason that the form was wrong.
    let answer = stop(
        &sandbox,
        "I will say <promise>COMPLETE</promise> when it is done, later.",
    );
    assert!(prompt(&answer).contains("sentence"), "{answer}");
    prompt(&complete(&sandbox));
    assert_eq!(sandbox.verdict(), "complete");
}

#[test]
fn hook_repairs_damage_made_by_the_session() {
    let sandbox = Sandbox::started();
    prompt(&complete(&sandbox));
    let (main, config) = (sandbox.git(&["rev-parse", "main"]), sandbox.read(".git/config"));
    sandbox.write("work.txt", "x\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&[
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@b",
        "commit",
        "-qm",
        "mine",
    ]);
    sandbox.git(&["branch", "-f", "main", "HEAD"]);
    sandbox.configure("core.autocrlf", "true");
    sandbox.hook("ralph-pre-checkpoint", "exit 1");
    fs::remove_file(sandbox.top.join(".env")).unwrap();
    prompt(&failed(&sandbox, "x"));
    assert_eq!(sandbox.git(&["rev-parse", "main"]), main);
    assert_eq!(sandbox.read(".git/config"), config);
    assert_eq!(sandbox.read(".env"), "SECRET=1\n");
    sandbox.is_at_checkpoint();
    sandbox.hook("ralph-pre-checkpoint", "exit 1");
    prompt(&complete(&sandbox));
    assert_eq!(
        sandbox.verdict(),
        "complete",
        "a hook that the session planted has no say"
    );
}

#[test]
fn the_story_is_the_one_that_was_given_whatever_is_ticked() {
    let sandbox = Sandbox::new();
    sandbox
        .ralph(&["start", CHANGE, "--verify", "test -e good", "--allow-red"])
        .exits(0);
    let list = sandbox.read(TASKS);
    let ticked = list
        .replacen("[ ] 1.1", "[x] 1.1", 1)
        .replacen("[ ] 1.2", "[x] 1.2", 1);
    for attempt in 1..=2 {
        sandbox.write(TASKS, &ticked);
        assert!(prompt(&complete(&sandbox)).contains("# Story 1. "));
        assert_eq!(sandbox.read(TASKS), list, "attempt {attempt}");
        sandbox.is_at_checkpoint();
    }
    sandbox.write(TASKS, &ticked);
    sandbox.write("good", "");
    assert!(prompt(&complete(&sandbox)).starts_with("# Story 2. "));
    assert_eq!(sandbox.subjects("HEAD")[0], "checkpoint: 1");
}

#[test]
fn an_ignored_list_goes_back_with_the_attempt() {
    let sandbox = Sandbox::new();
    sandbox.write("todo.log", "- [ ] one\n- [ ] two\n- [ ] three\n");
    sandbox
        .ralph(&["start", CHANGE, "--stories", "todo.log"])
        .exits(0);
    prompt(&complete(&sandbox));
    let list = sandbox.read("todo.log");
    assert_eq!(list, "- [x] one\n- [ ] two\n- [ ] three\n");
    sandbox.write("todo.log", "- [x] one\n- [x] two\n- [ ] three\n");
    assert!(prompt(&failed(&sandbox, "x")).contains("two"));
    assert_eq!(sandbox.read("todo.log"), list);
}

#[test]
fn next_continues_after_a_dead_session_with_force() {
    let sandbox = Sandbox::started();
    prompt(&complete(&sandbox));
    sandbox.write("half.txt", "half\n");
    let agent = sandbox.completing("cat half.txt >seen.txt");
    // Two writers in one work tree would spoil each other's work.
    for step in ["next", "run"] {
        sandbox
            .step(step, &agent)
            .exits(75)
            .says("an agent's session is working on story 2 of 'add-login' (last active ")
            .says("add --force to the same command");
    }
    assert_eq!(sandbox.subjects("HEAD")[0], "checkpoint: 1");
    let words = sandbox.ralph(&["status"]).exits(0).stdout;
    assert!(words.contains("next add-login --force"), "{words}");
    let output = sandbox.ralph(&["next", "--force", "--", &agent]).exits(0);
    output.says("an agent's session was given story 2");
    assert_eq!(
        sandbox.subjects("HEAD")[..2],
        ["checkpoint: 2", "checkpoint: edits before 2"]
    );
    assert_eq!(sandbox.read("seen.txt"), "half\n");
    // Should it be alive after all, it is told, and judged by nothing that it no longer knows.
    sandbox.write("late.txt", "x\n");
    let answer = complete(&sandbox);
    assert!(told(&answer).contains("moved on"), "{answer}");
    assert!(sandbox.top.join("late.txt").exists());
    assert_eq!(sandbox.status()["stories_done"], 2);
}

#[test]
fn a_session_closes_only_the_story_that_it_was_given() {
    let sandbox = Sandbox::started();
    let given = sandbox.ralph(&["prompt"]).exits(0).stdout;
    assert!(given.starts_with("# Story 1. "), "{given}");
    assert!(given.contains("`.git/ralph/add-login/learnings.md`"), "{given}");
    // Somebody else closes it.
    sandbox.write("one.txt", "1\n");
    sandbox.ralph(&["complete"]).exits(0);
    let answer = complete(&sandbox);
    let (words, next) = prompt(&answer).split_once("\n\n").unwrap();
    assert!(words.contains("since you were given story 1"), "{words}");
    assert!(next.starts_with("# Story 2. "), "{next}");
    assert_eq!(sandbox.status()["stories_done"], 1);
    // Now it was given the second one, and does it; what that took is in its transcript.
    sandbox.write("two.txt", "2\n");
    sandbox.write(".git/ralph/add-login/learnings.md", "found\n");
    let transcript = sandbox.outside("transcript.jsonl");
    let line = r#"{"type":"assistant","timestamp":"2099-01-01T00:00:00Z","message":{"id":"a","content":[{"type":"text","text":"Done."}],"usage":{"input_tokens":7,"output_tokens":3}}}"#;
    fs::write(&transcript, line).unwrap();
    let mut call = stop_json(&sandbox, "one", &format!("Done.\n{COMPLETE}"));
    call["transcript_path"] = json!(transcript);
    prompt(&hook(&sandbox, "stop", &call));
    assert_eq!(sandbox.read(".git/ralph/add-login/learnings.md"), "[2@1] found\n");
    assert_eq!(sandbox.status()["stories_done"], 2);
    let attempt = sandbox.attempts().pop().unwrap();
    assert_eq!(
        (&attempt["input_tokens"], &attempt["output_tokens"]),
        (&json!(7), &json!(3))
    );
}

#[test]
fn an_answer_that_was_cut_off_is_given_again() {
    let sandbox = Sandbox::new();
    let flag = sandbox.notes.join("killed");
    let gate = format!(
        "test -e {0} || {{ touch {0}; kill -9 $(ps -o ppid= -p $PPID); sleep 60; }}",
        flag.display()
    );
    sandbox.start();
    prompt(&complete(&sandbox));
    let state = sandbox.state();
    sandbox.write("work.txt", "x\n");
    let input = stop_json(&sandbox, "one", COMPLETE).to_string();
    let with_gate = |sandbox: &Sandbox| {
        let cmd = sandbox.git_cmd(&["-c", &format!("ralph.verify={gate}"), "ralph", "hook", "stop"]);
        cmd.reading(input.clone()).run()
    };
    assert_ne!(with_gate(&sandbox).code, 0, "it was killed");
    assert!(flag.exists());
    assert!(sandbox.top.join("work.txt").exists(), "the work stays");
    assert_eq!(sandbox.state()["loop"]["checkpoint"], state["loop"]["checkpoint"]);
    let answer = answered(with_gate(&sandbox));
    assert!(prompt(&answer).starts_with("# Story 3. "), "{answer}");
    assert_eq!(sandbox.git(&["show", "HEAD:work.txt"]), "x");
    assert_eq!(sandbox.attempts().len(), 2, "what was cut off is no attempt");
}

#[test]
fn second_session_gets_a_notice_and_no_story() {
    let sandbox = Sandbox::started();
    prompt(&complete(&sandbox));
    sandbox.write("work.txt", "x\n");
    let print = sandbox.print();
    let answer = hook(&sandbox, "stop", &stop_json(&sandbox, "two", COMPLETE));
    assert!(told(&answer).contains("another session"), "{answer}");
    assert_eq!(sandbox.print(), print);
    assert!(
        prompt(&complete(&sandbox)).starts_with("# Story 3. "),
        "the first goes on"
    );
    // One that has ended is nobody any more.
    let end =
        json!({"session_id": "one", "cwd": sandbox.top, "hook_event_name": "SessionEnd", "reason": "other"});
    assert_eq!(hook(&sandbox, "session-end", &end), json!({}));
    let answer = hook(&sandbox, "stop", &stop_json(&sandbox, "two", COMPLETE));
    assert!(told(&answer).contains("3 of 3"), "{answer}");
}

#[test]
fn a_loop_that_another_process_holds_lets_the_session_end() {
    let sandbox = Sandbox::started();
    let path = sandbox.top.join(".git/ralph/add-login.lock");
    let lock = fs::File::options().write(true).open(&path).unwrap();
    lock.lock().unwrap();
    fs::write(&path, format!("process {}\n", std::process::id())).unwrap();
    let answer = complete(&sandbox);
    assert!(told(&answer).contains("'add-login' is running"), "{answer}");
    drop(lock);
    prompt(&complete(&sandbox));
}

#[test]
fn status_reports_a_session_that_ended_before_its_loop() {
    let sandbox = Sandbox::started();
    prompt(&complete(&sandbox));
    let status = sandbox.status();
    assert_eq!(status["session"]["at_work"], true);
    assert_eq!(status["session"]["story"], "2");
    let words = sandbox.ralph(&["status"]).exits(0).stdout;
    assert!(words.contains("an agent's session was given it"), "{words}");
    let end = json!({"session_id": "one", "transcript_path": "", "cwd": sandbox.top,
        "hook_event_name": "SessionEnd", "reason": "other"});
    assert_eq!(hook(&sandbox, "session-end", &end), json!({}));
    assert_eq!(sandbox.status()["session"]["ended_early"], true);
    let words = sandbox.ralph(&["status"]).exits(0).stdout;
    assert!(
        words.contains("session has ended, but the loop is still active"),
        "{words}"
    );
    assert!(words.contains("git ralph next add-login"), "{words}");
    // The same session, resumed, goes on.
    prompt(&complete(&sandbox));
    assert_eq!(sandbox.status()["session"]["ended_early"], false);
    told(&complete(&sandbox));
    hook(&sandbox, "session-end", &end);
    assert_eq!(
        sandbox.status()["session"]["ended_early"],
        false,
        "it was told that it may end"
    );
}
