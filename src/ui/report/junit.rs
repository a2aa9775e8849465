//! Writes the report as JUnit XML for CI systems: one test suite per change, one test per story. Failed attempts are
//! reruns, except the last one of a failed story. The outcome of the loop is a property of its suite, and an additional
//! failed test if the loop ended without being done.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Report as Document, TestCase, TestCaseStatus, TestRerun, TestSuite};

use super::cards::rests_on;
use super::{state_of, took, took_in_all};
use crate::names::test_name;
use crate::report::{AttemptReport, OutcomeKind, Report, StoryReport, StoryState, first_line};
use crate::ui::shown::plain;

/// Maximum length of a reason, in characters.
const LONGEST: usize = 10_000;

/// Returns the reports as a JUnit document.
pub fn junit(reports: &[Report]) -> String {
    let mut document = Document::new("git-ralph");
    for report in reports {
        let mut suite = TestSuite::new(report.change.to_string());
        suite.add_property(("outcome.kind", report.outcome.kind.name()));
        suite.add_property(("outcome.text", &*plain(&report.outcome.text)));
        let cases = report.stories.iter().map(case_of);
        for mut case in cases.chain(case_of_loop(report)) {
            case.set_classname(report.change.to_string());
            suite.add_test_case(case);
        }
        suite.set_time(duration(took_in_all(report)));
        document.add_test_suite(suite);
    }
    // Writing to memory does not fail.
    let text = document.to_string().unwrap_or_default();
    // XML does not allow these characters.
    let text = text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
    without_sum_of_skipped(&text) + "\n"
}

/// Removes an attribute of the outermost element that Jenkins' schema does not allow.
fn without_sum_of_skipped(text: &str) -> String {
    let Some((before, after)) = text.split_once("<testsuites ") else {
        return text.trim_end().to_owned();
    };
    let (tag, rest) = after.split_once('>').unwrap_or((after, ""));
    let kept = tag
        .split(' ')
        .filter(|attribute| !attribute.starts_with("skipped="));
    let kept: Vec<&str> = kept.collect();
    format!("{before}<testsuites {}>{rest}", kept.join(" "))
        .trim_end()
        .to_owned()
}

/// Returns the test of the loop itself, if it has stopped and is not done: the CI page then shows the reason if no
/// story has one.
fn case_of_loop(report: &Report) -> Option<TestCase> {
    let (outcome, totals) = (&report.outcome, &report.totals);
    match outcome.kind {
        OutcomeKind::Aborted | OutcomeKind::Stopped | OutcomeKind::WaitsForPerson => {}
        OutcomeKind::Finished if totals.complete < totals.stories => {}
        OutcomeKind::Finished
        | OutcomeKind::Complete
        | OutcomeKind::WaitsForService
        | OutcomeKind::Running
        | OutcomeKind::Open => return None,
    }
    let text: String = plain(&outcome.text).chars().take(LONGEST).collect();
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status
        .set_message(first_line(&text).to_owned())
        .set_type(outcome.kind.name());
    status.set_description(text);
    let mut case = TestCase::new("the loop", status);
    case.set_time(Duration::ZERO);
    Some(case)
}

fn case_of(story: &StoryReport) -> TestCase {
    let failed: Vec<&AttemptReport> = story
        .attempts
        .iter()
        .filter(|attempt| !attempt.is_complete())
        .collect();
    let skipped = || {
        let mut status = TestCaseStatus::skipped();
        status.set_message(state_of(story));
        status
    };
    let status = match (story.state, failed.split_last()) {
        (StoryState::Complete, _) if story.attempts.is_empty() => skipped(),
        (StoryState::Complete, _) => {
            let mut status = TestCaseStatus::success();
            status.add_reruns(failed.into_iter().map(rerun));
            status
        }
        (StoryState::Failed | StoryState::Skipped, Some((last, earlier))) => {
            let mut status = TestCaseStatus::non_success(kind_of(last));
            let (message, text) = said(last);
            status
                .set_message(message)
                .set_type(last.entry.attempt.verdict.words());
            status.set_description(text);
            status.add_reruns(earlier.iter().copied().map(rerun));
            status
        }
        _ => skipped(),
    };
    let mut case = TestCase::new(plain(&test_name(&story.id, &story.title)), status);
    case.set_time(duration(story.attempts.iter().map(took).sum()));
    if let Some(rests_on) = rests_on(story) {
        case.set_system_out(format!("rests on: {rests_on}"));
    }
    case
}

fn rerun(attempt: &AttemptReport) -> TestRerun {
    let mut rerun = TestRerun::new(kind_of(attempt));
    let (message, text) = said(attempt);
    rerun
        .set_message(message)
        .set_type(attempt.entry.attempt.verdict.words());
    rerun.set_description(text);
    rerun
}

/// Returns a failure if the attempt's work was not accepted, and an error for any other reason.
fn kind_of(attempt: &AttemptReport) -> NonSuccessKind {
    use crate::state::Verdict::{Conflict, Failed, GateFailed, NoSignal, ReviewRejected};
    match attempt.entry.attempt.verdict {
        Conflict | Failed | GateFailed | NoSignal | ReviewRejected => NonSuccessKind::Failure,
        _ => NonSuccessKind::Error,
    }
}

/// Returns the attempt's name with the first line of its reason, and the whole reason.
fn said(attempt: &AttemptReport) -> (String, String) {
    let attempt = &attempt.entry.attempt;
    let reason = attempt.reason.as_deref().unwrap_or_default();
    let text: String = plain(reason).chars().take(LONGEST).collect();
    let line = match first_line(&text) {
        "" => format!("{} {}", attempt.name(), attempt.verdict.words()),
        first => format!("{}: {first}", attempt.name()),
    };
    (plain(&line).into_owned(), text)
}

fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or_default()
}
