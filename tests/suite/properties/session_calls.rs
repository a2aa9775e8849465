//! What agents hand to the hooks of their sessions, and where such a hook has nothing to say.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use super::session::{answered, complete, hook, prompt, stop, stop_json, told, was_prompted};
use crate::support::{COMPLETE, Print, Sandbox};

#[test]
fn an_error_of_the_service_is_recorded() {
    let sandbox = Sandbox::started();
    let failure = json!({"session_id": "one", "transcript_path": "", "cwd": sandbox.top,
        "hook_event_name": "StopFailure", "error": "rate_limit", "error_details": "429 slow down",
        "last_assistant_message": "API Error: 429"});
    assert_eq!(hook(&sandbox, "stop-failure", &failure), json!({}));
    assert_eq!(sandbox.status()["session"]["error"], "rate_limit: 429 slow down");
    let words = sandbox.ralph(&["status"]).exits(0).stdout;
    assert!(words.contains("rate_limit"), "{words}");
    let events = sandbox.read(".git/ralph/add-login/events.jsonl");
    assert!(events.lines().last().unwrap().contains("rate_limit"), "{events}");
    assert!(sandbox.attempts().is_empty());
    prompt(&complete(&sandbox));
    assert_eq!(sandbox.status()["session"]["error"], Value::Null);
    hook(&sandbox, "stop-failure", &failure);
    sandbox.step("next", &sandbox.completing("true")).exits(0);
    let words = sandbox.ralph(&["status"]).exits(0).stdout;
    assert!(!words.contains("rate_limit"), "the loop has gone on: {words}");
}

/// gemini's call after its agent's turn.
fn after_agent(sandbox: &Sandbox, response: &str, again: bool) -> Value {
    let input = json!({
        "session_id": "g",
        "transcript_path": sandbox.outside("g.json"),
        "cwd": sandbox.top,
        "hook_event_name": "AfterAgent",
        "timestamp": "2026-11-22T10:00:00.000Z",
        "prompt": "# Story 1. Database",
        "prompt_response": response,
        "stop_hook_active": again,
    });
    hook(sandbox, "stop", &input)
}

#[test]
fn hook_reads_only_the_new_part_of_geminis_message() {
    let sandbox = Sandbox::started();
    let first = format!("Done.\n{COMPLETE}");
    let answer = after_agent(&sandbox, &first, false);
    assert!(prompt(&answer).starts_with("# Story 2. "), "{answer}");
    let clear = json!({"hookEventName": "AfterAgent", "clearContext": true});
    assert_eq!(answer["hookSpecificOutput"], clear);
    // Nothing new; it says that nothing was said before, when its memory was cleared.
    let answer = after_agent(&sandbox, &first, false);
    assert!(prompt(&answer).contains("is not over"), "{answer}");
    let second = format!("{first}I am not sure.");
    let answer = after_agent(&sandbox, &second, true);
    assert!(prompt(&answer).contains("is not over"), "{answer}");
    assert_eq!(
        answer.get("hookSpecificOutput"),
        None,
        "a reminder needs what was said"
    );
    assert_eq!(sandbox.status()["stories_done"], 1);
    let third = format!("{second}Now.\n{COMPLETE}");
    assert!(prompt(&after_agent(&sandbox, &third, true)).starts_with("# Story 3. "));
    // The user has asked anew: the text begins from the beginning.
    assert!(told(&after_agent(&sandbox, &first, false)).contains("3 of 3"));
}

#[test]
fn a_message_that_is_not_in_the_call_is_in_the_transcript() {
    let sandbox = Sandbox::started();
    let transcript = sandbox.outside("t.jsonl");
    let call = |path: &Path| {
        let input = json!({"session_id": "one", "transcript_path": path, "cwd": sandbox.top,
            "hook_event_name": "Stop", "stop_hook_active": false});
        hook(&sandbox, "stop", &input)
    };
    let line = |kind: &str, text: &str| {
        json!({"type": kind, "message": {"role": kind, "content": [{"type": "text", "text": text}]}})
            .to_string()
    };
    let filler = line("user", &"x".repeat(1 << 20));
    let text = [vec![filler; 20], vec![line("assistant", COMPLETE), String::new()]]
        .concat()
        .join("\n");
    fs::write(&transcript, text).unwrap();
    assert!(prompt(&call(&transcript)).starts_with("# Story 2. "));
    fs::write(
        &transcript,
        line("assistant", COMPLETE) + "\n" + &line("user", "go on"),
    )
    .unwrap();
    let link = sandbox.outside("link.jsonl");
    symlink("/dev/zero", &link).unwrap();
    let nowhere = [
        Path::new("/dev/zero"),
        Path::new("/"),
        Path::new("/no/such"),
        Path::new("relative"),
    ];
    for nothing in nowhere.into_iter().chain([&*transcript, &*link]) {
        prompt(&call(nothing));
        assert_eq!(sandbox.status()["stories_done"], 1, "{}", nothing.display());
    }
}

#[test]
fn malformed_call_breaks_no_session() {
    let sandbox = Sandbox::started();
    sandbox.write("work.txt", "x\n");
    let print = sandbox.print();
    let state = fs::read(sandbox.state_file()).unwrap();
    let good = stop_json(&sandbox, "one", COMPLETE).to_string();
    let other = good.replace("\"Stop\"", "\"SubagentStop\"");
    let long = format!("{{\"x\":\"{}", "y".repeat(1 << 20));
    for (event, input) in [
        ("stop", ""),
        ("stop", "not json"),
        ("stop", "[1]"),
        ("stop", "null"),
        ("stop", &long),
        ("stop", &other),
        ("stop-failure", "{"),
        ("session-end", "\u{0}"),
        ("no-such-event", &good),
        ("", &good),
    ] {
        let output = sandbox.ralph_cmd(&["hook", event]).reading(input).run().exits(0);
        assert!(!output.stderr.is_empty(), "{event} {input:.40}");
        output.answers_nothing();
    }
    sandbox.ralph(&["hook"]).exits(0).answers_nothing();
    sandbox
        .ralph_cmd(&["hook", "stop"])
        .typing("")
        .run()
        .exits(0)
        .says("JSON")
        .answers_nothing();
    assert_eq!(sandbox.print(), print);
    assert_eq!(fs::read(sandbox.state_file()).unwrap(), state);
}

#[test]
fn a_state_of_a_newer_program_is_left_alone() {
    let sandbox = Sandbox::started();
    let state = fs::read_to_string(sandbox.state_file()).unwrap();
    for state in [
        state.replacen("version = 4", "version = 99\nshape = 7", 1),
        "rubbish = [".to_owned(),
    ] {
        fs::write(sandbox.state_file(), &state).unwrap();
        let input = stop_json(&sandbox, "one", COMPLETE).to_string();
        let output = sandbox
            .ralph_cmd(&["hook", "stop"])
            .reading(input)
            .run()
            .exits(0)
            .says("error");
        told(&output.json());
        assert_eq!(fs::read_to_string(sandbox.state_file()).unwrap(), state);
    }
}

#[test]
fn hook_prints_and_starts_nothing_outside_a_loop() {
    let sandbox = Sandbox::started();
    sandbox.git(&["checkout", "-q", "-f", "main"]);
    let plain = sandbox.outside("plain");
    fs::create_dir(&plain).unwrap();
    let other = sandbox.outside("other");
    fs::create_dir(&other).unwrap();
    sandbox
        .git_cmd(&["init", "-q", "-b", "ralph/add-login"])
        .dir(&other)
        .run()
        .exits(0);
    sandbox.install("git", "echo \"$*\" >>\"$notes/git\"\nexit 99");
    let print = fs::read(sandbox.state_file()).unwrap();
    for dir in [
        &sandbox.top,
        &sandbox.top.join("src/deep"),
        &plain,
        &other,
        &sandbox.outside("gone"),
    ] {
        for event in ["stop", "stop-failure", "session-end"] {
            let mut input = stop_json(&sandbox, "one", COMPLETE);
            input["cwd"] = json!(dir);
            input["hook_event_name"] = Value::Null;
            let output = sandbox
                .direct(&["hook", event])
                .reading(input.to_string())
                .run()
                .exits(0);
            assert_eq!(output.stderr, "");
            output.answers_nothing();
        }
    }
    assert!(!sandbox.notes.join("git").exists(), "no git was needed");
    assert_eq!(fs::read(sandbox.state_file()).unwrap(), print);
}

#[test]
fn a_loop_that_is_closed_is_no_loop() {
    let sandbox = Sandbox::started();
    prompt(&complete(&sandbox));
    sandbox.ralph(&["finish", "--keep"]).exits(0);
    let print: Print = sandbox.print();
    assert_eq!(complete(&sandbox), json!({}));
    assert_eq!(sandbox.print(), print);
}

#[test]
fn the_directory_of_the_session_may_be_below_the_top() {
    let sandbox = Sandbox::started();
    let mut input = stop_json(&sandbox, "one", COMPLETE);
    input["cwd"] = json!(sandbox.top.join("src/deep"));
    let outside = |input: &Value| {
        let cmd = sandbox.direct(&["hook", "stop"]).dir(&sandbox.notes);
        answered(cmd.reading(input.to_string()).run())
    };
    prompt(&outside(&input));
    let link = sandbox.outside("link");
    symlink(sandbox.top.join("src/deep"), &link).unwrap();
    input["cwd"] = json!(link);
    prompt(&outside(&input));
    // An attempt may have deleted the directory that it is in.
    input["cwd"] = json!(sandbox.top.join("gone/for/ever"));
    assert!(told(&outside(&input)).contains("3 of 3"));
}

#[test]
fn content_that_a_session_stages_is_a_part_of_its_attempt() {
    let sandbox = Sandbox::started();
    sandbox.write("x", "done\n");
    complete(&sandbox);
    sandbox.write("README.md", "staged\n");
    sandbox.git(&["add", "README.md"]);
    sandbox.write("README.md", "edited since\n");
    stop(&sandbox, "Hm.");
    assert_eq!(
        sandbox.git(&["for-each-ref", "refs/ralph/add-login/replaced"]),
        ""
    );
}

#[test]
fn a_session_is_given_words_with_its_next_story() {
    let sandbox = Sandbox::started();
    sandbox.ralph(&["tell", "use tabs"]).exits(0);
    assert!(
        sandbox
            .ralph(&["prompt"])
            .exits(0)
            .stdout
            .ends_with("\n> use tabs\n")
    );
    sandbox.write("one", "1\n");
    sandbox.ralph(&["tell", "be quick"]).exits(0);
    let answer = complete(&sandbox);
    let given = prompt(&answer);
    assert!(
        given.ends_with("1@1 ran, which could have written it too:\n\n> be quick\n"),
        "{given}"
    );
    assert!(!given.contains("use tabs"), "{given}");
    sandbox
        .ralph(&["tell", "stop"])
        .exits(0)
        .says("attempt 1 of story 2 is running");
    sandbox.write("two", "2\n");
    assert!(prompt(&complete(&sandbox)).ends_with("2@1 ran, which could have written it too:\n\n> stop\n"));
}

#[test]
fn session_is_asked_once_about_a_promise_as_another_process_would_be() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.emptyStory", "confirm");
    sandbox.start();
    was_prompted(&sandbox);
    // Words that speak against it.
    sandbox.write("one.txt", "1\n");
    let doubtful = "Two tests still fail.\n\n<promise>COMPLETE</promise>";
    let question = prompt(&stop(&sandbox, doubtful)).to_owned();
    assert!(
        question.starts_with("look at story 1. Database again."),
        "{question}"
    );
    assert!(
        question.contains("You said that the story is complete."),
        "{question}"
    );
    assert!(question.contains("> Two tests still fail."), "{question}");
    assert!(question.contains("- one.txt (+1 -0)"), "{question}");
    assert!(sandbox.attempts().is_empty());
    assert!(prompt(&complete(&sandbox)).starts_with("# Story 2. "));
    // Nothing that was done: a promise that names nothing is not accepted.
    let question = prompt(&complete(&sandbox)).to_owned();
    assert!(question.contains("git sees no change outside"), "{question}");
    let undone = prompt(&complete(&sandbox)).to_owned();
    assert!(undone.contains("does not count as done"), "{undone}");
    let question = prompt(&complete(&sandbox)).to_owned();
    assert!(question.contains("git sees no change outside"), "{question}");
    let named = stop(
        &sandbox,
        "It was done in `one.txt:1`.\n\n<promise>COMPLETE</promise>",
    );
    assert!(prompt(&named).starts_with("# Story 3. "), "{named}");
    let attempts = sandbox.attempts();
    let rests_on = &attempts[2]["rests_on"];
    assert_eq!(rests_on.to_string(), "[\"promise\",\"confirmed\"]");
    // By a setting, it is not asked.
    let sandbox = Sandbox::new();
    sandbox.start();
    was_prompted(&sandbox);
    assert!(prompt(&complete(&sandbox)).starts_with("# Story 2. "));
}
