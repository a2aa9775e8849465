//! `git ralph report`: what a loop came to, in each form.

use std::fs;
use std::process::Command;

use serde_json::Value;
use snapbox::{Data, assert_data_eq};

use crate::support::{CHANGE, Sandbox, TASKS, wait_for};

/// A loop with a failure, a red gate, a person's edit and a wait, of which times, ids and tokens are always the same.
fn looped() -> Sandbox {
    let sandbox = Sandbox::started();
    sandbox.configure(
        "ralph.verify",
        "test ! -e red || { echo 1 of 2 tests failed; exit 1; }",
    );
    let result = |text: &str, rest: &str| {
        format!(
            r#"echo '{{"type":"result","subtype":"success","is_error":false,{rest}"result":"{text}","usage":{{"input_tokens":20,"cache_read_input_tokens":900,"output_tokens":30}}}}'"#
        )
    };
    let complete = result("<promise>COMPLETE</promise>", r#""total_cost_usd":0.5,"#);
    let failed = result(r"<promise>FAILED: no table <b>\\nand more|of it</promise>", "");
    let limited = r#"echo '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1}}'; echo '{"type":"assistant","message":{},"error":"rate_limit"}'; echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"wait"}'"#;
    let agent = sandbox.agent(&format!(
        r#"count
echo '{{"type":"system","subtype":"init","session_id":"s","model":"m-1"}}'
case $n in
1) echo one >one; {complete} ;;
2) echo two >two; {failed} ;;
3) echo two >two; echo x >red; {complete} ;;
4) echo 2 >two; {complete} ;;
5) {limited} ;;
*) mv one three; {complete} ;;
esac"#
    ));
    sandbox.step("next", &agent).exits(0);
    sandbox.step("next", &agent).exits(3);
    sandbox.step("retry", &agent).exits(3);
    sandbox.write("by-hand", "mine\n");
    // A reviewer that is asked twice about the last story.
    let reviewer = sandbox.agent(
        r#"echo r >>"$notes/reviews"
case $(wc -l <"$notes/reviews") in
1) echo 'It | does <b>what</b> is asked.'; echo 'And more.'; accept ;;
2) echo 'I do not know.' ;;
*) accept ;;
esac"#,
    );
    sandbox.configure("ralph.review", &reviewer);
    sandbox.step("retry", &agent).exits(0);
    sandbox.step("next", &agent).exits(0);
    fix_times(&sandbox);
    sandbox
}

fn events_of(sandbox: &Sandbox) -> Vec<Value> {
    let text = sandbox.read(&format!(".git/ralph/{CHANGE}/events.jsonl"));
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Sets the times of the events: a minute from each to the next.
fn fix_times(sandbox: &Sandbox) {
    let mut text = String::new();
    let at = |minute: usize| format!("2026-11-22T10:{minute:02}:00Z");
    let mut begun = 0;
    for (minute, mut event) in events_of(sandbox).into_iter().enumerate() {
        event["t"] = at(minute).into();
        match event["event"].as_str().unwrap() {
            "attempt_started" => begun = minute,
            "attempt_ended" => {
                event["started"] = at(begun).into();
                event["duration"] = 45.into();
            }
            "gate" | "review" => event["duration"] = 15.into(),
            "waiting" => {
                event["seconds"] = 60.into();
                event["until"] = at(minute + 1).into();
            }
            _ => {}
        }
        text.push_str(&format!("{event}\n"));
    }
    sandbox.write(&format!(".git/ralph/{CHANGE}/events.jsonl"), &text);
}

/// A text with what differs from run to run replaced: object ids by numbers, the time of the report.
fn settled(sandbox: &Sandbox, text: &str) -> String {
    let mut text = text.to_owned();
    let made = text.match_indices("made").filter_map(|(at, _)| {
        let rest = &text[at..];
        let begin = rest.find("20").filter(|begin| *begin < 12)?;
        let end = rest[begin..].find(|c: char| !c.is_ascii_digit() && !"-:.TZ UC".contains(c))?;
        Some(rest[begin..begin + end].trim_end().to_owned())
    });
    for made in made.collect::<Vec<_>>() {
        text = text.replace(&made, "[MADE]");
    }
    let log = sandbox.git(&[
        "log",
        "--all",
        "--reflog",
        "--topo-order",
        "--format=%H",
        "--date-order",
    ]);
    let mut ids: Vec<&str> = log.lines().collect();
    ids.sort_by_key(|id| text.find(&id[..10]).unwrap_or(usize::MAX));
    for (number, id) in ids.into_iter().enumerate() {
        text = text.replace(id, &format!("[OID {number}]"));
        text = text.replace(&id[..10], &format!("[OID {number}]"));
    }
    let version = sandbox.git(&["version"]);
    let version = version.trim_start_matches("git version ").splitn(3, '.').take(2);
    let version = version.collect::<Vec<_>>().join(".");
    text = text.replace(&format!("· git {version}<"), "· git [GIT]<");
    text = text.replace(&format!("\"git\": \"{version}\""), "\"git\": \"[GIT]\"");
    let agent = sandbox.git(&["rev-parse", "--show-toplevel"]);
    text.replace(&agent, "[TOP]")
}

#[test]
fn a_loop_is_reported_in_all_forms() {
    let sandbox = looped();
    let fixture = |name: &str| {
        let path = format!("{}/tests/fixtures/report/{name}", env!("CARGO_MANIFEST_DIR"));
        Data::read_from(path.as_ref(), Some(snapbox::data::DataFormat::Text)).raw()
    };
    for (args, name) in [
        (&["--markdown"][..], "report.md"),
        (&["--json"], "report.json"),
        (&["--junit"], "report.xml"),
        (&["-o", "-"], "report.html"),
    ] {
        let args = [&["report"], args].concat();
        let text = sandbox.ralph(&args).exits(0).stdout;
        assert_data_eq!(settled(&sandbox, &text), fixture(name));
    }
    let answer = sandbox.ralph(&["report"]).exits(0).stdout;
    let path = sandbox.top.join(format!(".git/ralph/{CHANGE}/report.html"));
    assert_eq!(answer, format!("{}\n", path.display()));
    assert!(fs::read_to_string(path).unwrap().starts_with("<!doctype html>"));
    sandbox.ralph(&["status"]).exits(0);
}

#[test]
fn the_sums_are_those_of_the_log_and_the_schema_holds() {
    let sandbox = looped();
    let report = sandbox.ralph(&["report", "--json"]).exits(0).json();
    let schema: Value = serde_json::from_str(include_str!("../../../src/report/report.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<_> = validator
        .iter_errors(&report)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
    let attempts = sandbox.attempts();
    let sum = |field: &str| attempts.iter().filter_map(|one| one[field].as_f64()).sum::<f64>();
    let totals = &report["totals"];
    assert_eq!(totals["attempts"], attempts.len());
    for (total, field) in [
        ("agent_duration", "duration"),
        ("cost_usd", "cost_usd"),
        ("input_tokens", "input_tokens"),
        ("cache_read_tokens", "cache_read_tokens"),
        ("output_tokens", "output_tokens"),
    ] {
        assert_eq!(totals[total].as_f64(), Some(sum(field)), "{total}");
    }
    let unknown = attempts.iter().filter(|one| one["cost_usd"].is_null()).count();
    assert_eq!(totals["cost_unknown"], unknown);
    assert!(totals["cache_write_tokens"].is_null());
    let mut in_report: Vec<Value> = report["stories"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|story| story["attempts"].as_array().unwrap().clone())
        .collect();
    for (mine, logged) in in_report.iter_mut().zip(&attempts) {
        let mine = mine.as_object_mut().unwrap();
        mine.retain(|field, _| logged.get(field).is_some());
        assert_eq!(&Value::Object(mine.clone()), logged);
    }
}

#[test]
fn the_outcome_and_its_reason_are_on_top() {
    let sandbox = Sandbox::started();
    let outcome = || {
        let outcome = sandbox.ralph(&["report", CHANGE, "--json"]).exits(0).json()["outcome"].clone();
        let part = |name: &str| outcome[name].as_str().unwrap().to_owned();
        (part("kind"), part("text"))
    };
    let is = |kind: &str, text: &str| assert_eq!(outcome(), (kind.to_owned(), text.to_owned()));
    is("open", "open: 0 of 3 stories complete, not running");
    sandbox.configure("ralph.verify", "test ! -e red || { echo 1 test failed; exit 1; }");
    let red = sandbox.completing("echo x >red");
    sandbox.configure("ralph.maxRetries", "0");
    sandbox.ralph(&["run", "--", &red]).exits(4);
    let why = "stopped: story 1 has no retries left: the gate `test ! -e red || { echo 1 test failed; exit 1; }` \
               failed (exit code 1)";
    is("stopped", why);
    let page = sandbox.ralph(&["report", "-o", "-"]).exits(0).stdout;
    let (begin, _) = page.split_once("Timeline</h2>").unwrap();
    assert!(
        begin.contains(r#"mark failed">stopped: story 1 has no retries left: the gate"#),
        "{begin}"
    );
    let text = sandbox.ralph(&["report", "--markdown"]).exits(0).stdout;
    let first = text.lines().nth(2).unwrap();
    assert!(
        first.starts_with("**``stopped: story 1 has no retries left: the gate `test ! -e red"),
        "{first}"
    );
    sandbox.ralph(&["skip"]).exits(0);
    let agent = sandbox.completing("echo x >>x");
    sandbox.configure("ralph.maxAttempts", "1");
    sandbox.ralph(&["run", "--", &agent]).exits(6);
    is("stopped", "stopped at a limit: 1 attempt (ralph.maxAttempts)");
    sandbox.step("next", &agent).exits(0);
    // A story that failed and was skipped is not complete.
    is(
        "stopped",
        "stopped: 2 of 3 stories, 1 skipped; no other story is left",
    );
    let status = sandbox.status();
    assert_eq!([&status["phase"], &status["next"]], ["exhausted", "finish"]);
    let report = sandbox.ralph(&["report", "--json"]).exits(0).json();
    assert_eq!(report["phase"], "exhausted");
    let short = sandbox.ralph(&["status", "--short"]).exits(0).stdout;
    assert_eq!(short, "ralph: add-login 2/3 (1 skipped) no other story left\n");
    let junit = || sandbox.ralph(&["report", "--junit"]).exits(0).stdout;
    assert!(
        junit().contains(r#"tests="4" failures="1" errors="1""#),
        "{}",
        junit()
    );
    sandbox.ralph(&["finish", "--keep"]).exits(0);
    is("finished", "finished: 2 of 3 stories, 1 skipped");
    assert!(junit().contains(r#"failures="1" errors="1""#), "{}", junit());
}

#[test]
fn the_page_can_show_only_what_failed_and_has_times() {
    let sandbox = looped();
    let page = sandbox.ralph(&["report", "-o", "-"]).exits(0).stdout;
    assert!(page.contains("body:has(#only-failed:checked) .accepted { display: none; }"));
    assert_eq!(page.matches(r#"type="checkbox" id="only-failed""#).count(), 1);
    // A card is hidden if nothing failed in it; of the others, what was accepted.
    let cards = page.split("<article class=\"").skip(1);
    let hidden: Vec<_> = cards.map(|card| card.starts_with("card accepted\"")).collect();
    assert_eq!(hidden, [true, false, false]);
    let attempts = page.split("<details id=").skip(1);
    let attempts: Vec<_> = attempts
        .map(|one| one.split_once("</summary>").unwrap().0)
        .collect();
    assert_eq!(attempts.len(), 6);
    for one in attempts {
        assert_eq!(
            one.contains(" accepted\""),
            one.contains("mark complete"),
            "{one}"
        );
    }
    // The edits of a person are accepted as well.
    assert!(
        page.contains("<details class=\"accepted\">\n<summary>edits by hand, "),
        "{page}"
    );
    for time in ["10:03", "10:20"] {
        assert!(
            page.contains(&format!(" text-anchor=\"middle\">{time}</text>")),
            "{page}"
        );
    }
    let green = Sandbox::started();
    green.step("next", &green.completing("echo x >x")).exits(0);
    let page = green.ralph(&["report", "-o", "-"]).exits(0).stdout;
    assert!(!page.contains("checkbox"), "{page}");
}

#[test]
fn report_leaves_out_missing_parts() {
    let sandbox = Sandbox::new();
    sandbox
        .ralph(&["report"])
        .exits(1)
        .says("no loop has been started")
        .answers_nothing();
    sandbox.start();
    for form in ["--markdown", "--json", "--junit"] {
        sandbox.ralph(&["report", form]).exits(0);
    }
    let page = sandbox.ralph(&["report", "-o", "-"]).exits(0).stdout;
    let state = "open; no attempt at it is in this report</span>";
    assert_eq!(page.matches(state).count(), 3, "{page}");
    let agent = sandbox.failing("echo x >x");
    sandbox.step("next", &agent).exits(3);
    // What was kept is gone, and a line is torn.
    let kept = format!("refs/ralph/{CHANGE}/attempts/1/1");
    sandbox.git(&["update-ref", "-d", &kept]);
    let events = sandbox.top.join(format!(".git/ralph/{CHANGE}/events.jsonl"));
    let mut text = fs::read_to_string(&events).unwrap();
    text.push_str("{\"v\":1,\"t\":\"20\0\n\u{202e}");
    fs::write(&events, text).unwrap();
    let report = sandbox.ralph(&["report", "--json"]).exits(0).json();
    let attempt = &report["stories"][0]["attempts"][0];
    assert_eq!(attempt["verdict"], "failed");
    assert!(
        attempt["diff"].is_null() && attempt["cost_usd"].is_null(),
        "{attempt}"
    );
    assert!(report["totals"]["cost_usd"].is_null());
    fs::remove_file(&events).unwrap();
    let report = sandbox.ralph(&["report", "--json"]).exits(0).json();
    assert_eq!(report["totals"]["attempts"], 0);
}

#[test]
fn report_claims_no_story_that_is_reopened_undone_or_gone() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
    sandbox.step("next", &sandbox.failing("echo y >y")).exits(3);
    let report = || sandbox.ralph(&["report", CHANGE, "--json"]).exits(0).json();
    assert_eq!(report()["totals"]["complete"], 1);
    assert_eq!(report()["closed"], Value::Null);
    // A person opens the first story again.
    let list = sandbox.read(TASKS);
    sandbox.write(TASKS, &list.replace("[x]", "[ ]"));
    let (told, status) = (report(), sandbox.status());
    assert_eq!(told["totals"]["complete"], status["stories_done"]);
    let states = told["stories"].as_array().unwrap();
    let states: Vec<_> = states.iter().map(|story| &story["state"]).collect();
    assert_eq!(states, ["open", "failed", "open"]);
    sandbox.write(TASKS, &list);
    // The work of an attempt that was pruned cannot be looked at.
    assert_ne!(report()["stories"][1]["attempts"][0]["ref"], Value::Null);
    let kept = "refs/ralph/add-login/attempts/2/1";
    sandbox.git(&["update-ref", "-d", kept]);
    let told = report();
    assert_eq!(told["stories"][1]["attempts"][0]["ref"], Value::Null);
    assert_eq!(
        told["dropped"][0],
        "the work of 1 failed attempt, which is no longer kept"
    );
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(report()["closed"]["how"], "abort");
    let status = sandbox.ralph(&["status", CHANGE]).exits(0).stdout;
    assert!(status.contains("; its work is on no branch\n"), "{status}");
    let text = sandbox.ralph(&["report", CHANGE, "--markdown"]).exits(0).stdout;
    assert!(
        text.contains("aborted: the work is on no branch, and kept as refs/ralph/add-login/finished"),
        "{text}"
    );
    assert!(!text.contains("git ralph diff add-login 2"), "{text}");
}

#[test]
fn junit_is_what_ci_systems_read() {
    let sandbox = looped();
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/report/junit.rng");
    let agent = sandbox.failing("echo x >x");
    sandbox.write(
        "TODO.md",
        "- [ ] one \u{1b} \u{fffe} <b>\n- [ ] two\n- [ ] three\n",
    );
    sandbox.ralph(&["finish", "--keep"]).exits(0);
    sandbox
        .ralph(&["start", "other", "--stories", "TODO.md"])
        .exits(0);
    sandbox.step("next", &agent).exits(3);
    sandbox.step("retry", &agent).exits(3);
    sandbox
        .ralph(&["report", "--all", "--junit", "-o", "junit.xml"])
        .exits(0);
    if !crate::installed("xmllint") {
        return;
    }
    #[expect(clippy::disallowed_methods, reason = "a test runs such programs as it likes")]
    let check = Command::new("xmllint")
        .args(["--noout", "--nonet", "--relaxng", schema])
        .arg(sandbox.top.join("junit.xml"))
        .output()
        .unwrap();
    assert!(check.status.success(), "{check:?} {}", sandbox.read("junit.xml"));
}

#[test]
fn report_of_a_running_loop_says_that_its_attempt_runs() {
    let sandbox = Sandbox::started();
    let go = sandbox.outside("go");
    let agent = sandbox.completing(&format!(
        "touch '{0}.there'; until test -e '{0}'; do sleep 0.05; done",
        go.display()
    ));
    let running = sandbox.direct(&["next", CHANGE, "--", &agent]).start();
    wait_for(&go.with_extension("there"));
    let reported = || sandbox.ralph(&["report", "--markdown"]).exits(0).stdout;
    let text = reported();
    assert!(text.contains("\n**running: story 1, attempt 1**\n"), "{text}");
    assert!(text.contains("\n##### 1. Database: attempt 1 runs\n"), "{text}");
    assert!(!text.contains("its end is not recorded"), "{text}");
    assert!(text.contains("\nOn ralph/add-login, from main (`"), "{text}");
    fs::write(&go, "").unwrap();
    running.end().exits(0);
    let text = reported();
    assert!(text.contains("\n##### 1. Database: complete\n"), "{text}");
}
