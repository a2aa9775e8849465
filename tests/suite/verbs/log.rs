//! `git ralph log`: every attempt, what it came to, and what keeps it.

use crate::support::Sandbox;

#[test]
fn every_attempt_is_there() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox
        .ralph(&["log"])
        .exits(0)
        .says("no attempt was made yet")
        .answers_nothing();
    let agent = sandbox
        .agent("count; echo $n >f; case $n in 1) exit 9 ;; 2) failed 'no luck' ;; *) complete ;; esac");
    sandbox.step("next", &agent).exits(3);
    sandbox.step("retry", &agent).exits(3);
    sandbox.step("retry", &agent).exits(0);
    let attempts = sandbox.attempts();
    let verdicts: Vec<_> = attempts.iter().map(|attempt| &attempt["verdict"]).collect();
    assert_eq!(verdicts, ["no_signal", "failed", "complete"]);
    assert_eq!(attempts[0]["exit_code"], 9);
    assert_eq!(attempts[1]["reason"], "no luck");
    for (index, attempt) in attempts.iter().enumerate() {
        assert_eq!(attempt["attempt"], index + 1);
        assert_eq!(attempt["story"], "1");
        assert!(attempt["duration"].as_f64().unwrap() >= 0.0);
    }
    let kept = attempts[1]["ref"].as_str().unwrap();
    assert_eq!(sandbox.git(&["show", &format!("{kept}:f")]), "2");
    assert_eq!(attempts[2]["checkpoint"], sandbox.git(&["rev-parse", "HEAD"]));
    let words = sandbox.ralph(&["log"]).exits(0).stdout;
    assert!(words.contains("no luck") && words.contains("complete"), "{words}");
    let raw = sandbox.top.join(".git/ralph/add-login/attempts/1.2.log");
    assert!(std::fs::read_to_string(raw).unwrap().contains("FAILED: no luck"));
}

#[test]
fn a_line_that_was_cut_off_is_passed_over() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.completing("true");
    sandbox.step("next", &agent).exits(0);
    let events = sandbox.top.join(".git/ralph/add-login/events.jsonl");
    let mut text = std::fs::read_to_string(&events).unwrap();
    text.push_str("{\"v\":1,\"t\":\"2026");
    std::fs::write(&events, text).unwrap();
    assert_eq!(sandbox.attempts().len(), 1);
}
