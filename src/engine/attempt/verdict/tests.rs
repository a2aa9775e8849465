use super::*;
use crate::agent::decode::{Decoder, Format};

fn report(text: &str) -> Report {
    let mut decoder = Decoder::new(Format::Text, "");
    decoder.push(text.as_bytes());
    decoder.finish()
}

const COMPLETE: &str = "<promise>COMPLETE</promise>\n";

#[test]
fn limit_or_signal_overrides_the_printed_promise() {
    let said = report(COMPLETE);
    let verdict = |ending: Ending| judge(&ending, &said, None).verdict;
    assert_eq!(verdict(Ending::Interrupted(2)), Verdict::Interrupted);
    assert_eq!(
        verdict(Ending::TimedOut("late".to_owned(), Duration::from_mins(1))),
        Verdict::TimedOut
    );
    assert_eq!(verdict(Ending::Killed(9)), Verdict::AgentError);
    assert_eq!(verdict(Ending::RunnerKilled(9)), Verdict::Failed);
    let broken = judge(&Ending::RunnerPanicked, &said, None);
    assert!(broken.advice.is_none() && !broken.verdict.counts());
    assert_eq!(verdict(Ending::Exited(0)), Verdict::Complete);
    assert_eq!(verdict(Ending::Exited(3)), Verdict::Complete);
}

#[test]
fn a_stream_without_its_end_is_interrupted() {
    let mut said = report(COMPLETE);
    said.ended = false;
    for ending in [Ending::Exited(0), Ending::Killed(9)] {
        assert_eq!(judge(&ending, &said, None).verdict, Verdict::Interrupted);
    }
}

#[test]
fn advice_names_the_setting_for_an_agent_of_another_format() {
    let judged = |stdout: &str| {
        let mut decoder = Decoder::new(Format::Codex, "");
        decoder.push(stdout.as_bytes());
        judge(&Ending::Exited(0), &decoder.finish(), Some("codex"))
    };
    let text = judged(COMPLETE);
    assert_eq!(text.verdict, Verdict::Interrupted);
    assert_eq!(
        text.reason.as_deref(),
        Some("not one line of the agent's output is of the format 'codex'")
    );
    assert_eq!(
        text.advice.as_deref(),
        Some("git config ralph.agent.codex.format auto")
    );
    let mut decoder = Decoder::new(Format::Codex, "");
    decoder.push(b"sh: 1: Syntax error: Unterminated quoted string\n");
    let unread = judge(&Ending::Exited(2), &decoder.finish(), Some("codex"));
    assert_eq!(
        unread.advice.as_deref(),
        Some("check ralph.agent.codex.args and ralph.agent.codex.command")
    );
    for (stderr, code) in [
        ("thread 'main' panicked at x.rs", 101),
        ("Segmentation fault", 139),
        ("", 1),
    ] {
        let mut decoder = Decoder::new(Format::Codex, "");
        decoder.push_stderr(stderr.as_bytes());
        let crashed = judge(&Ending::Exited(code), &decoder.finish(), Some("codex"));
        assert_eq!(crashed.unjudged, Some(Unjudged::Crashed), "{stderr}");
    }
    let cut = judged("{\"type\":\"thread.started\"}\n");
    assert_eq!(
        cut.reason.as_deref(),
        Some("the agent's output ends in the middle")
    );
}

#[test]
fn missing_program_or_sign_in_is_no_failed_attempt() {
    assert_eq!(
        judge(&Ending::Exited(127), &report(""), None).verdict,
        Verdict::NotStarted
    );
    let mut said = report(COMPLETE);
    said.fault = Some(Fault {
        kind: FaultKind::Auth,
        message: "sign in".to_owned(),
        retry_after: None,
    });
    let judged = judge(&Ending::Exited(0), &said, None);
    assert_eq!(
        (judged.verdict, judged.reason.as_deref()),
        (Verdict::Auth, Some("sign in"))
    );
}

#[test]
fn last_words_before_an_error_exit_give_the_service_fault() {
    let verdict = |code, stdout: &str, stderr: &str| {
        let mut decoder = Decoder::new(Format::Auto, "");
        decoder.push(stdout.as_bytes());
        decoder.push_stderr(stderr.as_bytes());
        judge(&Ending::Exited(code), &decoder.finish(), None).verdict
    };
    let limit = "API Error: Request rejected (429)\n";
    assert_eq!(verdict(1, limit, ""), Verdict::RateLimited);
    assert_eq!(verdict(1, "", limit), Verdict::RateLimited);
    for limit in [
        "You've hit your session limit \u{b7} resets 3:20pm (Europe/Berlin)\n",
        "5-hour limit reached \u{2219} resets 11pm\n",
        "Weekly limit reached \u{2219} resets Nov 25, 3am\n",
        "You've hit your usage limit. Try again later.\n",
        "API Error: Request rejected (429) \u{b7} You have reached your usage limit.\n",
    ] {
        assert_eq!(verdict(1, limit, ""), Verdict::RateLimited, "{limit}");
        let result = serde_json::json!({"type": "result", "is_error": true, "result": limit});
        assert_eq!(
            verdict(1, &format!("{result}\n"), ""),
            Verdict::RateLimited,
            "{limit}"
        );
    }
    assert_eq!(verdict(1, "Invalid API key\n", ""), Verdict::Auth);
    assert_eq!(verdict(0, limit, limit), Verdict::NoSignal);
    assert_eq!(
        verdict(1, &format!("{limit}{COMPLETE}"), limit),
        Verdict::Complete
    );
    let talk = "I made the limit of requests part of the API.\n".repeat(100);
    assert_eq!(verdict(1, &format!("{talk}{limit}"), ""), Verdict::NoSignal);
    assert_eq!(verdict(1, &talk, limit), Verdict::RateLimited);
}

#[test]
fn last_words_give_the_cause_of_a_time_out() {
    let judged = |stdout: &str, stderr: &str| {
        let mut decoder = Decoder::new(Format::Auto, "");
        decoder.push(stdout.as_bytes());
        decoder.push_stderr(stderr.as_bytes());
        let silent = "ended after 30 minutes without output".to_owned();
        let report = decoder.finish();
        let judged = judge(&Ending::TimedOut(silent, Duration::from_mins(30)), &report, None);
        (judged.verdict, judged.reason.unwrap())
    };
    let limit = "API Error: Request rejected (429)\n";
    let (verdict, reason) = judged("", limit);
    assert_eq!(verdict, Verdict::RateLimited);
    assert!(
        reason.starts_with("ended after 30 minutes without output; its last words: "),
        "{reason}"
    );
    assert_eq!(judged("", "Invalid API key\n").0, Verdict::Auth);
    assert_eq!(judged("Working on it.\n", "").0, Verdict::TimedOut);
    assert_eq!(judged(COMPLETE, limit).0, Verdict::TimedOut);
}

#[test]
fn missing_promise_gives_a_reason() {
    let reason = |text: &str| judge(&Ending::Exited(1), &report(text), None).reason.unwrap();
    assert_eq!(
        reason(""),
        "the agent's last message has no promise (exit code 1)"
    );
    assert_eq!(
        reason("Working.\nIt broke.\n"),
        "the agent's last message has no promise (exit code 1): It broke."
    );
    assert!(reason("I will print <promise>COMPLETE</promise> when I am done.\nMore.").contains("sentence"));
    assert_eq!(
        reason("> <promise>COMPLETE</promise>\n"),
        "the promise stood in a quotation or a diff, not on a line of its own (exit code 1)"
    );
    assert!(reason("<promise>DONE</promise>\n").contains("'DONE'"));
    assert_eq!(
        reason("{\"x\":\"<promise>COMPLETE</promise>\"}\n"),
        "the agent printed JSON of a format that git-ralph does not know (exit code 1); have it print text instead"
    );
}
