//! The lines of real runs against the schema of the events, and what becomes of them when nobody reads.

use std::collections::BTreeSet;
use std::fs;

use jsonschema::Validator;
use serde_json::Value;

use crate::support::{ACCEPT, CHANGE, Output, Sandbox};

const SCHEMA: &str = include_str!("../../../src/events.schema.json");

fn schema() -> Value {
    serde_json::from_str(SCHEMA).unwrap()
}

fn validator() -> Validator {
    jsonschema::options()
        .should_validate_formats(true)
        .build(&schema())
        .unwrap()
}

/// The names of all events that the schema has.
fn names() -> BTreeSet<String> {
    let schema = schema();
    let events = schema["oneOf"].as_array().unwrap();
    let name = |event: &Value| event["properties"]["event"]["const"].as_str().unwrap().to_owned();
    events.iter().map(name).collect()
}

/// Asserts that each line is an event as the schema has it; gives their names.
#[track_caller]
fn valid(text: &str) -> BTreeSet<String> {
    let validator = validator();
    let mut names = BTreeSet::new();
    for line in text.lines() {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        if let Err(error) = validator.validate(&event) {
            panic!("{error}: {line}");
        }
        names.insert(event["event"].as_str().unwrap().to_owned());
    }
    names
}

/// The lines of an output that the loop records.
fn recorded(output: &Output) -> impl Iterator<Item = &str> {
    let is = |line: &str, name: &str| line.contains(&format!("\"event\":\"{name}\""));
    output
        .stdout
        .lines()
        .filter(move |line| !is(line, "output") && (!is(line, "error") || line.contains("\"kind\":")))
}

/// An agent whose first attempt is refused by a gate, whose second cannot be answered, whose third makes a tag and ticks all, and which then
/// only fails.
fn busy(sandbox: &Sandbox) -> String {
    sandbox.agent(
        r#"count
[ $n = 2 ] || { echo "attempt $n"; printf 'not \377 text\n' >&2; }
case $n in
1) echo red >red; complete ;;
2) echo '{"type":"system","subtype":"init","session_id":"s"}'
   echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"rate limit, try again in 1 second"}'
   exit 1 ;;
3) git tag mine; sed -i 's/\[ ]/[x]/' openspec/changes/*/tasks.md; echo x >x; complete ;;
*) failed "no $n" ;;
esac"#,
    )
}

#[test]
fn every_line_of_a_run_matches_the_schema() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.verify", "[ ! -e red ]");
    sandbox.write("red", "");
    let undone = sandbox.ralph(&["start", CHANGE, "--json"]).exits(1).stdout;
    fs::remove_file(sandbox.top.join("red")).unwrap();
    let agent = busy(&sandbox);
    let first = sandbox
        .ralph(&["run", CHANGE, "--max-retries", "1", "--json", "--", &agent])
        .exits(4);
    let refused = sandbox.ralph(&["next", "--json", "--", &agent]).exits(4);
    let complete = sandbox.completing(
        "[ -e done ] || { echo >done; echo '<promise>CONTINUE: rest</promise>'; exit; }; echo $RALPH_STORY >>done",
    );
    sandbox.ralph(&["skip"]).exits(0);
    sandbox.ralph(&["tell", "go on"]).exits(0);
    sandbox.configure("ralph.review", ACCEPT);
    let second = sandbox
        .ralph(&["run", CHANGE, "--json", "--", &complete])
        .exits(4);
    let redo = sandbox.ralph(&["redo", "3", "--force", "--json"]).exits(0);
    let finish = sandbox.ralph(&["finish", "--keep", "--json"]).exits(0);
    sandbox.git(&["checkout", "-q", "main"]);
    let start = sandbox.ralph(&["start", CHANGE, "--json"]).exits(0);
    let abort = sandbox.ralph(&["abort", "--json"]).exits(0);

    let outputs = [&first, &refused, &second, &redo, &finish, &start, &abort];
    let printed: String = outputs.iter().map(|output| output.stdout.as_str()).collect();
    let complete = printed
        .lines()
        .find(|line| line.contains("\"event\":\"complete\""))
        .unwrap();
    assert!(
        complete.contains("\"options\":[\"cleanup\",\"keep\"]"),
        "{complete}"
    );
    let seen = valid(&format!("{undone}{printed}"));
    let mut wanted = names();
    // Those are made by git's hooks, in processes of their own: `hooks_verb` sees them.
    // A loop that comes from a remote is in `verbs::run_remote`.
    for told in ["committed", "left", "returned", "handed_over"] {
        assert!(wanted.remove(told), "{told}");
    }
    assert_eq!(seen, wanted, "what the schema has and what happens");
    let file = fs::read_to_string(sandbox.top.join(".git/ralph/add-login/events.jsonl")).unwrap();
    valid(&file);
    let printed: Vec<&str> = outputs.iter().flat_map(|output| recorded(output)).collect();
    let skipped = file.lines().filter(|line| !printed.contains(line));
    assert_eq!(skipped.collect::<Vec<_>>(), [""; 0]);
    assert_eq!(printed, file.lines().collect::<Vec<_>>());
}

#[test]
fn step_that_completes_the_last_story_says_so() {
    let sandbox = Sandbox::started();
    let agent = sandbox.completing("echo $RALPH_STORY >>done");
    let is_complete = |output: &Output| output.stdout.contains("\"event\":\"complete\"");
    for args in [vec!["next", "--json", "--", &agent], vec!["complete", "--json"]] {
        assert!(!is_complete(&sandbox.ralph(&args).exits(0)), "{args:?}");
    }
    let last = sandbox.ralph(&["next", "--json", "--", &agent]).exits(0);
    let event: Value = serde_json::from_str(last.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(
        [&event["event"], &event["done"], &event["total"]],
        [&Value::from("complete"), &3.into(), &3.into()]
    );
    assert_eq!(event["options"], serde_json::json!(["cleanup", "keep"]));
    // A run says it once.
    let sandbox = Sandbox::started();
    let run = sandbox.ralph(&["run", "--json", "--", &agent]).exits(0);
    assert_eq!(run.stdout.matches("\"event\":\"complete\"").count(), 1);
}

#[test]
fn schema_rejects_other_lines() {
    let sandbox = Sandbox::new();
    let output = sandbox.ralph(&["start", CHANGE, "--json"]).exits(0);
    let validator = validator();
    let good = &output.events()[0];
    assert!(validator.is_valid(good), "{good}");
    for (name, wrong) in [
        ("v", 2.into()),
        ("t", "yesterday".into()),
        ("event", "begun".into()),
        ("change", 1.into()),
        ("branch", Value::Null),
        ("checkpoint", Value::Null),
    ] {
        let mut bad = good.clone();
        bad[name] = wrong;
        assert!(!validator.is_valid(&bad), "{bad}");
        bad.as_object_mut().unwrap().remove(name);
        assert!(!validator.is_valid(&bad), "{bad}");
    }
    let mut more = good.clone();
    more["more"] = 1.into();
    assert!(validator.is_valid(&more), "fields may be added");
}

#[test]
fn events_are_written_at_once() {
    let sandbox = Sandbox::new();
    sandbox.start();
    // The agent waits for what a reader gets of it: kept back, that would never come.
    let agent = sandbox.agent(
        "echo hello\nuntil grep -q 'hello' \"$notes/read\" && grep -q attempt_started \"$notes/read\"; do sleep 0.02; done\ncomplete",
    );
    let line = format!(
        "git ralph next --json -- '{agent}' | while read -r line; do printf '%s\\n' \"$line\" >>'{}/read'; done",
        sandbox.notes.display()
    );
    sandbox.cmd("sh").args(["-c", &line]).run().exits(0);
    assert!(valid(&sandbox.noted("read")).contains("checkpoint"));
}

#[test]
fn closed_reader_does_not_end_the_command() {
    for (redirection, read) in [("", "head -n 1"), ("2>&1", "head -n 1"), ("2>&1", "true")] {
        let sandbox = Sandbox::new();
        let agent = sandbox
            .completing("echo x >>x; i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); echo \"$i more\"; done");
        let line = format!(
            "{{ git ralph run {CHANGE} --json --cleanup -- '{agent}' {redirection}; echo $? >'{}/code'; }} | {read}",
            sandbox.notes.display()
        );
        sandbox.cmd("sh").args(["-c", &line]).run().exits(0);
        assert_eq!(sandbox.noted("code"), "0\n", "{redirection} | {read}");
        assert_eq!(sandbox.read("x"), "x\nx\nx\n");
        assert_eq!(sandbox.status()["phase"], "finished");
        let file = fs::read_to_string(sandbox.top.join(".git/ralph/add-login/events.jsonl")).unwrap();
        assert!(valid(&file).contains("finished"));
    }
}

#[test]
fn the_command_line_of_an_agent_is_neither_recorded_nor_committed() {
    let sandbox = Sandbox::new();
    let agent = sandbox.completing("echo x >x");
    sandbox.configure("ralph.agent", &format!("KEY=s3cret {agent}"));
    sandbox.start().says("s3cret");
    sandbox.ralph(&["next"]).exits(0);
    let events = sandbox.read(&format!(".git/ralph/{CHANGE}/events.jsonl"));
    assert!(
        events.contains("agent-0") && !events.contains("s3cret"),
        "{events}"
    );
    assert!(!sandbox.git(&["log", "-1", "--format=%B"]).contains("s3cret"));
}

#[test]
fn a_loop_without_its_events_says_that_it_does_not_know_what_it_rests_on() {
    let sandbox = Sandbox::started();
    let says = "; what that rests on is not recorded";
    assert!(!sandbox.ralph(&["status"]).exits(0).stdout.contains(says));
    sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
    let known = sandbox.ralph(&["status"]).exits(0).stdout;
    assert!(
        known.contains("1 of 3 stories are complete; 1 accepted on the agent's promise alone\n"),
        "{known}"
    );
    let events = sandbox.top.join(format!(".git/ralph/{CHANGE}/events.jsonl"));
    for content in [Some(""), Some("{{{\n"), None] {
        match content {
            Some(content) => fs::write(&events, content).unwrap(),
            None => fs::remove_file(&events).unwrap(),
        }
        let status = sandbox.ralph(&["status"]).exits(0).stdout;
        assert!(
            status.contains(&format!("1 of 3 stories are complete{says}\n")),
            "{status}"
        );
        sandbox.ralph(&["log"]).exits(0).says("no attempt is recorded");
    }
}
