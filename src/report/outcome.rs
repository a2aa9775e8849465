//! Describes the state of a loop in one line: its result, or why it stopped. Pure.

use std::fmt::Write;

use serde::Serialize;

use super::{StoryReport, StoryState, Totals};
use crate::inspect::status::Status;
use crate::names::counted;
use crate::state::Phase;

/// How a loop stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Outcome {
    /// The kind of the outcome.
    pub kind: OutcomeKind,
    /// The outcome in one line of words, with the reason if the loop stopped.
    pub text: String,
}

/// The kind of an outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, strum::IntoStaticStr)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum OutcomeKind {
    /// The loop was closed, and its work is there.
    Finished,
    /// The loop was aborted.
    Aborted,
    /// No story is left to do, and the loop is not closed yet.
    Complete,
    /// Something ended the loop before its time.
    Stopped,
    /// The loop waits until the user answers or decides.
    WaitsForPerson,
    /// The loop waits for the agent's service.
    WaitsForService,
    /// An attempt, a gate or an agent's session runs.
    Running,
    /// Stories are left to do, and nothing runs.
    #[default]
    Open,
}

impl OutcomeKind {
    /// Returns its name in JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl Outcome {
    /// Returns the outcome of a loop; `is_held` tells whether another process works on it.
    pub(super) fn of(status: &Status, is_held: bool, stories: &[StoryReport], totals: &Totals) -> Self {
        use OutcomeKind::{
            Aborted, Complete, Finished, Open, Running, Stopped, WaitsForPerson, WaitsForService,
        };
        let all = counted(totals.stories, "story", "stories");
        let complete = format!("{} of {all}", totals.complete);
        let skipped = stories
            .iter()
            .filter(|story| story.state == StoryState::Skipped)
            .count();
        let by_list = status.by_list.len();
        let mut without = String::new();
        for (number, what) in [(skipped, "skipped"), (by_list, "done or gone without an attempt")] {
            if number > 0 {
                let _ = write!(without, ", {number} {what}");
            }
        }
        let far = format!("{complete}{without}");
        let is_done = totals.stories > 0 && totals.complete + skipped >= totals.stories;
        let session = status.session.as_ref();
        let current = status.current.as_ref();
        let failed = |how: &str| {
            let id = current.map_or("", |current| &current.id);
            with_reason(
                &format!("stopped: story {id} {how}"),
                current.and_then(|current| current.reason.as_deref()),
            )
        };
        let (kind, text) = if status.phase == Phase::Finished {
            match status.closed.as_deref() {
                Some("abort") => (Aborted, format!("aborted: {far}")),
                Some("aside") => (
                    Finished,
                    format!("set aside: {far}; it continues from the remote"),
                ),
                _ => (Finished, format!("finished: {far}")),
            }
        } else if let Some(asked) = &status.awaiting_choice {
            (WaitsForPerson, format!("waits for an answer: {}", asked.question))
        } else if let Some(gate) = &status.gate {
            (
                Running,
                format!("running: the gate `{}`, before any work", gate.command),
            )
        } else if let Some(waiting) = &status.waiting {
            let until = waiting.until.strftime("%Y-%m-%d %H:%M:%S UTC");
            let what = format!("waits for an agent's service until {until}");
            (WaitsForService, with_reason(&what, waiting.reason.as_deref()))
        } else if let Some(running) = status.running.as_ref().filter(|_| is_held) {
            let text = format!("running: story {}, attempt {}", running.story, running.attempt);
            (Running, text)
        } else if is_held {
            (Running, format!("running: {far}"))
        } else if status.phase == Phase::Running {
            (Stopped, failed("was interrupted"))
        } else if let Some(restored) = status.restored.as_ref().filter(|_| status.next == "complete") {
            let text = format!("waits for you: the work of {restored} is restored");
            (WaitsForPerson, text)
        } else if let Some(error) = session.and_then(|session| session.error.as_deref()) {
            (Stopped, with_reason("stopped: the agent's session", Some(error)))
        } else if session.is_some_and(|session| session.ended_early) {
            (Stopped, "stopped: the agent's session ended".to_owned())
        } else if session.is_some_and(|session| session.at_work) {
            (Running, "running: in a session of the agent".to_owned())
        } else if let Some(why) = &status.stopped {
            let why = first_line(why);
            let begin = if why.starts_with("stopped") {
                ""
            } else {
                "stopped: "
            };
            (Stopped, format!("{begin}{why}"))
        } else {
            match status.phase {
                Phase::Exhausted => (Stopped, failed("has no retries left")),
                Phase::Failed => (Stopped, failed("failed, and retries are left")),
                _ if is_done && skipped > 0 => (Stopped, format!("stopped: {far}; no other story is left")),
                Phase::Complete => (Complete, format!("complete: {far}; the loop is not closed yet")),
                _ if is_done => (Complete, format!("complete: {far}; the loop is not closed yet")),
                _ => cut_off(stories).map_or_else(
                    || (Open, format!("open: {complete} complete{without}, not running")),
                    |text| (Stopped, text),
                ),
            }
        };
        Self { kind, text }
    }
}

/// Returns the description of the latest attempt, if it did not complete its story and does not count.
fn cut_off(stories: &[StoryReport]) -> Option<String> {
    let attempts = stories.iter().flat_map(|story| &story.attempts);
    let last = attempts.max_by_key(|one| one.entry.attempt.started)?;
    let done = &last.entry.attempt;
    let what = format!("stopped: {} {}", done.name(), done.verdict.words());
    (!last.is_complete() && !done.verdict.counts()).then(|| with_reason(&what, done.reason.as_deref()))
}

/// Returns the text, followed by a colon and the first line of the reason, if there is one.
fn with_reason(what: &str, reason: Option<&str>) -> String {
    match reason.map_or("", first_line) {
        "" => what.to_owned(),
        reason => format!("{what}: {reason}"),
    }
}

/// Returns the first line of a text that is not blank.
pub fn first_line(text: &str) -> &str {
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::events::{Attempt, Event, What};
    use crate::report::samples::report_of;
    use crate::state::Verdict;
    use jiff::Timestamp;

    #[test]
    fn latest_attempt_gives_the_reason_if_it_was_cut_off() {
        let event = |story: &str, verdict, second| {
            let started = Timestamp::from_second(second).unwrap();
            let reason = Some("\nkilled\nhard".to_owned());
            let what = What::AttemptEnded(Box::new(Attempt::ended(story, 1, verdict, reason, started)));
            Event::now("c", what)
        };
        let cut_off = |events: &[Event]| super::cut_off(&report_of(events).stories);
        let (first, second) = (
            event("2", Verdict::Interrupted, 1),
            event("1", Verdict::Complete, 2),
        );
        let words = "stopped: 2@1 interrupted: killed";
        assert_eq!(cut_off(std::slice::from_ref(&first)).as_deref(), Some(words));
        assert_eq!(cut_off(&[first, second]), None);
        assert_eq!(cut_off(&[event("1", Verdict::Failed, 1)]), None);
    }
}
