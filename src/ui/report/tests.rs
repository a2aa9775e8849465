//! Tests that every form of a report keeps to its size, and that text of others stays text.

use proptest::prelude::*;
use pulldown_cmark::Event::{Html, InlineHtml, Start};
use pulldown_cmark::{Options as MarkdownOptions, Parser, Tag};

use super::{JOB_PAGE, PULL_REQUEST, junit, markdown, page};
use crate::events::{Attempt, Event, GateEnded, What};
use crate::report::{Outcome, OutcomeKind, Report, StoryState, samples};
use crate::state::Verdict;
use jiff::Timestamp;

/// Maximum size of the page of a CI job that a host accepts, and of a page that a browser opens quickly, in bytes.
const MOST_OF_JOB: usize = 900 * 1024;
const MOST_OF_PAGE: usize = 5 << 20;

fn fits(reports: &[Report]) {
    let body = markdown(reports, PULL_REQUEST);
    assert!(body.chars().count() <= PULL_REQUEST, "{}", body.len());
    let job = markdown(reports, JOB_PAGE);
    assert!(job.len() <= MOST_OF_JOB, "{}", job.len());
    let page = page(reports, false);
    assert!(!page.is_empty() && page.len() <= MOST_OF_PAGE, "{}", page.len());
}

#[test]
fn large_loops_fit() {
    for (attempts, length) in [(0, 0), (3, 300_000), (300, 5_000), (1200, 200)] {
        let report = samples::large(attempts, length);
        fits(std::slice::from_ref(&report));
        let body = markdown(std::slice::from_ref(&report), PULL_REQUEST);
        assert_eq!(
            body.contains("Left out: "),
            attempts > 0,
            "{attempts} of {length}"
        );
    }
    let several = vec![samples::large(100, 2000); 12];
    fits(&several);
    fits(&vec![samples::large(1, 10); 600]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_form_renders_any_events(events in samples::events()) {
        let report = samples::report_of(&events);
        let reports = [report];
        fits(&reports);
        let page = page(&reports, true);
        for bad in ["<script", "\0", "\u{202e}", "javascript:"] {
            prop_assert!(!page.contains(bad));
        }
        prop_assert!(page.ends_with("</html>"), "{}", &page[page.len().saturating_sub(100)..]);
        // Each link within the page leads somewhere.
        for target in page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
            let id = format!("id=\"{target}\"");
            prop_assert_eq!(page.matches(&id).count(), 1, "{}", target);
        }
        let text = markdown(&reports, PULL_REQUEST);
        for event in Parser::new_ext(&text, MarkdownOptions::all()) {
            match event {
                Html(tag) | InlineHtml(tag) => {
                    let own = ["<details><summary>", "</summary>", "</details>"];
                    let rest = own.iter().fold(tag.to_string(), |rest, own| rest.replace(own, ""));
                    prop_assert!(!rest.contains('<'), "{}", tag);
                }
                Start(Tag::Link { .. } | Tag::Image { .. }) => prop_assert!(false, "{}", text),
                _ => {}
            }
        }
        let xml = junit(&reports);
        let read = quick_junit::Report::deserialize_from_str(&xml);
        let read = read.map_err(|error| TestCaseError::fail(format!("{error} in {xml}")))?;
        prop_assert_eq!(read.test_suites.len(), 1);
        let cases = &read.test_suites[0].test_cases;
        let of_loop = cases.iter().filter(|case| case.name.as_str() == "the loop").count();
        prop_assert_eq!(cases.len(), reports[0].stories.len() + of_loop);
    }
}

#[test]
fn junit_shows_the_outcome_and_fails_if_the_loop_ended_undone() {
    use OutcomeKind::{Aborted, Complete, Finished, Open, Running, Stopped, WaitsForPerson, WaitsForService};
    let mut report = samples::report_of(&[]);
    for (kind, fails) in [
        (Finished, false),
        (Aborted, true),
        (Complete, false),
        (Stopped, true),
        (WaitsForPerson, true),
        (WaitsForService, false),
        (Running, false),
        (Open, false),
    ] {
        assert_eq!(serde_json::json!(kind), kind.name());
        let text = "why: a < \u{1}b".to_owned();
        report.outcome = Outcome { kind, text };
        let xml = junit(std::slice::from_ref(&report));
        let property = format!("<property name=\"outcome.kind\" value=\"{}\"/>", kind.name());
        assert!(xml.contains(&property), "{xml}");
        assert!(
            xml.contains("name=\"outcome.text\" value=\"why: a &lt; "),
            "{xml}"
        );
        let case = format!("<error message=\"why: a &lt; ^Ab\" type=\"{}\">", kind.name());
        assert_eq!(xml.contains(&case), fails, "{xml}");
        assert_eq!(xml.contains("errors=\"1\""), fails, "{xml}");
    }
}

#[test]
fn gate_is_green_if_a_checkpoint_rests_on_its_last_run() {
    let gate = |attempt, passed| {
        Event::now(
            "c",
            What::Gate(GateEnded {
                story: Some("1".to_owned()),
                attempt: Some(attempt),
                command: "make".to_owned(),
                passed,
                reason: (!passed).then(|| "exit code 1".to_owned()),
                duration: 0.001,
                output: None,
                held: false,
                slot: None,
            }),
        )
    };
    let ended = |attempt, verdict| {
        let ended = Attempt::ended("1", attempt, verdict, None, Timestamp::UNIX_EPOCH);
        Event::now("c", What::AttemptEnded(Box::new(ended)))
    };
    let red = vec![gate(1, false), ended(1, Verdict::GateFailed)];
    let rejected = [&red[..], &[gate(2, true), ended(2, Verdict::ReviewRejected)]].concat();
    let complete = [&rejected[..], &[gate(3, true), ended(3, Verdict::Complete)]].concat();
    for (events, mark) in [
        (red, "failed\">failed after 0.01s (exit code 1)<"),
        (rejected, "other\">passed, after 1 failure; 2 runs, 0.01s<"),
        (complete, "complete\">passed, after 1 failure; 3 runs, 0.01s<"),
    ] {
        let mut report = samples::report_of(&events);
        let mark = format!("make</code>: <span class=\"mark {mark}");
        assert!(
            page(std::slice::from_ref(&report), false).contains(&mark),
            "{mark}"
        );
        // Nothing rests on an attempt whose story is open again.
        report.stories[0].state = StoryState::Open;
        assert!(!page(&[report], false).contains("make</code>: <span class=\"mark complete"));
    }
}

#[test]
fn junit_counts_a_conflict_as_work_that_was_not_accepted() {
    let why = Some("other stories changed the same lines".to_owned());
    let ended = Attempt::ended("1", 1, Verdict::Conflict, why, Timestamp::UNIX_EPOCH);
    let report = samples::report_of(&[Event::now("c", What::AttemptEnded(Box::new(ended)))]);
    let xml = junit(std::slice::from_ref(&report));
    assert!(
        xml.contains("failures=\"1\"") && xml.contains("type=\"conflict\""),
        "{xml}"
    );
}
