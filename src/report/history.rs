//! Reads a loop's events into stories with their attempts, and a list of other events. Pure.
//!
//! The attempts are the same as in `git ralph log`: those of the loop that was started last.

use jiff::Timestamp;

use super::{
    AgentVersion, AttemptReport, Closed, Environment, Gate, Happening, Kind, Report, Review, StoryReport,
    StoryState, words,
};
use crate::events::log::{History, LogEntry};
use crate::events::{AttemptStarted, Event, GateEnded, What, seconds_between};
use crate::names::Oid;

/// Adds the events since the loop was last started to a report. `running` has the running attempts.
pub(super) fn add(report: &mut Report, all: &[Event], running: &[(String, u32)]) {
    let is_start = |event: &Event| matches!(event.what, What::Started { .. });
    let first = all.iter().rposition(is_start).unwrap_or(0);
    let events = &all[first..];
    report.started = events.iter().map(|event| event.t).min();
    report.ended = events.iter().map(|event| event.t).max();
    let mut history = History::default();
    for (number, event) in events.iter().enumerate() {
        let next = events.get(number + 1).map(|next| next.t);
        let happened = happened(event, next, history.checkpoint.as_ref());
        report.events.extend(happened);
        history.take(event);
        if let What::Finished {
            how, branch, kept, ..
        } = &event.what
        {
            report.closed = Some(Closed {
                how: how.clone(),
                branch: branch.clone(),
                kept: kept.clone(),
            });
        }
    }
    report.gates = history.gates.iter().map(gate_of).collect();
    for entry in history.latest() {
        add_attempt(report, entry, running);
    }
    report.events.sort_by_key(|event| event.t);
    for story in &mut report.stories {
        story.state = if story.attempts.iter().any(AttemptReport::is_complete) {
            StoryState::Complete
        } else {
            StoryState::Failed
        };
    }
}

fn add_attempt(report: &mut Report, entry: LogEntry, running: &[(String, u32)]) {
    let begun = entry.begun.as_ref().map(|(_, begun)| begun);
    let environment = begun.and_then(|begun| environment_of(&mut report.environments, begun));
    let gates = entry.gates.iter().map(gate_of);
    if !entry.has_ended {
        // Their output is in another log.
        report.gates.extend(gates.map(|gate| Gate {
            printed: None,
            ..gate
        }));
        let runs = running
            .iter()
            .any(|(story, number)| entry.attempt.is(story, *number));
        if let Some((t, _)) = entry.begun.filter(|_| !runs) {
            let text = format!("{} began; its end is not recorded", entry.attempt.name());
            report.events.push(happening(t, Kind::Unended, text));
        }
        return;
    }
    let agent = begun.and_then(|begun| begun.agent.clone());
    let known = agent.clone().zip(entry.attempt.agent_version.clone());
    if let Some((own, (agent, version))) = environment.zip(known) {
        let known = AgentVersion { agent, version };
        if !own.agents.contains(&known) {
            own.agents.push(known);
        }
    }
    let reviews = entry.reviews.iter().map(|(ended, review)| Review {
        reviewer: review.reviewer.clone(),
        accepted: review.accepted,
        words: review.words.clone(),
        ended: *ended,
        duration: review.duration,
        cost_usd: review.cost_usd,
    });
    let story = story_of(&mut report.stories, &entry.attempt.story, entry.title.as_deref());
    story.attempts.push(AttemptReport {
        agent,
        gates: gates.collect(),
        reviews: reviews.collect(),
        told: entry.told.clone(),
        entry,
        ..AttemptReport::default()
    });
}

fn gate_of((ended, gate): &(Timestamp, GateEnded)) -> Gate {
    Gate {
        command: gate.command.clone(),
        passed: gate.passed,
        reason: gate.reason.clone(),
        ended: *ended,
        duration: gate.duration,
        output: None,
        held: gate.held,
        printed: gate.output,
    }
}

/// Returns the index of an attempt's settings; adds an entry if they differ from the last.
fn environment_of<'e>(all: &'e mut Vec<Environment>, begun: &AttemptStarted) -> Option<&'e mut Environment> {
    let (settings, last) = (begun.settings.as_deref()?, all.last());
    if last.is_none_or(|last| (last.max_retries, &last.settings) != (begun.max_retries, settings)) {
        all.push(Environment {
            since: format!("{}@{}", begun.story, begun.attempt),
            max_retries: begun.max_retries,
            agents: Vec::new(),
            settings: settings.clone(),
        });
    }
    all.last_mut()
}

/// Returns the report's entry for an event, if the report shows it; `next` is the time of the next event, `base` the last
/// checkpoint.
fn happened(event: &Event, next: Option<Timestamp>, base: Option<&Oid>) -> Option<Happening> {
    let (kind, text) = words::of(&event.what)?;
    let mut happened = happening(event.t, kind, text);
    match &event.what {
        What::Waiting { until, .. } => {
            // A run that continues earlier has not waited until then.
            let end = next.map_or(*until, |next| next.min(*until));
            happened.duration = Some(seconds_between(event.t, end));
        }
        What::Checkpoint { oid, .. } => {
            (happened.base, happened.checkpoint) = (base.cloned(), Some(oid.clone()));
        }
        _ => {}
    }
    Some(happened)
}

fn happening(t: Timestamp, kind: Kind, text: String) -> Happening {
    Happening {
        t,
        kind,
        text,
        ..Happening::default()
    }
}

/// Finds a story by its id, or adds it.
pub(super) fn story_of<'a>(
    stories: &'a mut Vec<StoryReport>,
    id: &str,
    title: Option<&str>,
) -> &'a mut StoryReport {
    let at = stories
        .iter()
        .position(|story| story.id == id)
        .unwrap_or_else(|| {
            stories.push(StoryReport {
                id: id.to_owned(),
                ..StoryReport::default()
            });
            stories.len() - 1
        });
    let story = &mut stories[at];
    if let Some(title) = title.filter(|title| !title.is_empty()) {
        title.clone_into(&mut story.title);
    }
    story
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::log::{attempts, read_events};
    use crate::report::samples;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sums_are_those_of_the_log(events in samples::events(), torn in 0_usize..40) {
            let dir = tempfile::tempdir().unwrap();
            let file = dir.path().join("events.jsonl");
            let text: String = events.iter().map(Event::line).collect();
            let end = text.len().saturating_sub(torn);
            std::fs::write(&file, &text.as_bytes()[..end]).unwrap();
            let logged = attempts(&file).unwrap();
            let report = samples::report_of(&read_events(&file).unwrap());
            let mut mine: Vec<_> = report.stories.iter().flat_map(|story| &story.attempts).map(|one| &one.entry).collect();
            prop_assert_eq!(mine.len(), logged.len());
            for entry in &logged {
                let at = mine.iter().position(|one| *one == entry);
                prop_assert!(at.is_some(), "{:?} is missing", entry);
                mine.remove(at.unwrap());
            }
            let totals = &report.totals;
            let all = || logged.iter().map(|entry| &entry.attempt);
            prop_assert_eq!(totals.attempts, logged.len());
            prop_assert_eq!(totals.cost_unknown, all().filter(|one| one.cost_usd.is_none()).count());
            prop_assert_eq!(totals.cost_usd.is_some(), all().any(|one| one.cost_usd.is_some()));
            let cost: f64 = all().filter_map(|one| one.cost_usd).sum();
            prop_assert!((totals.cost_usd.unwrap_or(0.0) - cost).abs() < 1e-6);
            let time: f64 = all().map(|one| one.duration).sum();
            prop_assert!((totals.agent_duration - time).abs() < 1e-6);
            let tokens = |of: fn(&crate::events::Attempt) -> Option<u64>| all().filter_map(of).reduce(|one, two| one + two);
            prop_assert_eq!(totals.input_tokens, tokens(|one| one.input_tokens));
            prop_assert_eq!(totals.cache_read_tokens, tokens(|one| one.cache_read_tokens));
            prop_assert_eq!(totals.output_tokens, tokens(|one| one.output_tokens));
            prop_assert!(totals.waiting >= 0.0 && totals.duration >= 0.0);
        }
    }
}
