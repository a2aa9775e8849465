//! Reads a loop's events into stories with their attempts, and a list of other events. Pure.
//!
//! The attempts are the same as in `git ralph log`: those of the loop that was started last.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{
    AgentVersion, AttemptReport, Closed, Environment, Gate, Happening, Kind, Review, StoryReport, StoryState,
    words,
};
use crate::events::log::entries_of;
use crate::events::{AttemptStarted, Event, What, seconds_between};
use crate::names::Oid;

/// The content of a loop's events.
#[derive(Debug, Default)]
pub(super) struct History {
    pub started: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    pub stories: Vec<StoryReport>,
    pub gates: Vec<Gate>,
    pub events: Vec<Happening>,
    pub closed: Option<Closed>,
    pub environments: Vec<Environment>,
    /// For each checkpoint and each kept attempt, the checkpoint before it, with which it is compared.
    pub bases: BTreeMap<String, Oid>,
}

/// Facts about an attempt that its entry in the log does not have.
#[derive(Default)]
struct Beside {
    agent: Option<String>,
    gates: Vec<Gate>,
    reviews: Vec<Review>,
    told: Option<String>,
    begun: Option<Timestamp>,
    /// The place of its environment among those of the loop.
    environment: Option<usize>,
}

type Name = (String, u32);

/// Reads the events of the loop that was started last.
pub(super) fn of_events(all: &[Event]) -> History {
    let is_start = |event: &Event| matches!(event.what, What::Started { .. });
    let first = all.iter().rposition(is_start).unwrap_or(0);
    let events = &all[first..];
    let mut history = History {
        started: events.iter().map(|event| event.t).min(),
        ended: events.iter().map(|event| event.t).max(),
        ..History::default()
    };
    let mut beside: BTreeMap<Name, Beside> = BTreeMap::new();
    let mut base = None;
    for (number, event) in events.iter().enumerate() {
        let next = events.get(number + 1).map(|next| next.t);
        history.take(event, next, &mut beside, &mut base);
    }
    for entry in entries_of(all) {
        let name = (entry.attempt.story.clone(), entry.attempt.attempt);
        let Beside {
            agent,
            gates,
            reviews,
            told,
            environment,
            ..
        } = beside.remove(&name).unwrap_or_default();
        let own = environment.and_then(|place| history.environments.get_mut(place));
        let known = agent.clone().zip(entry.attempt.agent_version.clone());
        if let Some((own, (agent, version))) = own.zip(known) {
            let known = AgentVersion { agent, version };
            if !own.agents.contains(&known) {
                own.agents.push(known);
            }
        }
        let title = entry.title.clone();
        let report = AttemptReport {
            entry,
            agent,
            gates,
            reviews,
            told,
            ..AttemptReport::default()
        };
        let story = story_of(&mut history.stories, &name.0, title.as_deref());
        story.attempts.push(report);
    }
    for ((story, attempt), beside) in beside {
        // Their output is in another log than that of the others.
        let gates = beside.gates.into_iter();
        history.gates.extend(gates.map(|gate| Gate {
            printed: None,
            ..gate
        }));
        if let Some(t) = beside.begun {
            let text = format!("{story}@{attempt} began; its end is not recorded");
            history.events.push(happening(t, Kind::Unended, text));
        }
    }
    history.events.sort_by_key(|event| event.t);
    for story in &mut history.stories {
        story.state = if story.attempts.iter().any(AttemptReport::is_complete) {
            StoryState::Complete
        } else {
            StoryState::Failed
        };
    }
    history
}

impl History {
    fn take(
        &mut self,
        event: &Event,
        next: Option<Timestamp>,
        beside: &mut BTreeMap<Name, Beside>,
        base: &mut Option<Oid>,
    ) {
        match &event.what {
            What::Started { checkpoint, .. } => *base = Some(checkpoint.clone()),
            What::AttemptStarted(new) => {
                let own = self.environment_of(new);
                let begun = beside.entry((new.story.clone(), new.attempt)).or_default();
                begun.agent.clone_from(&new.agent);
                begun.begun = Some(event.t);
                begun.environment = own;
            }
            What::Gate(ended) => {
                let gate = Gate {
                    command: ended.command.clone(),
                    passed: ended.passed,
                    reason: ended.reason.clone(),
                    ended: event.t,
                    duration: ended.duration,
                    output: None,
                    held: ended.held,
                    printed: ended.output,
                };
                match ended.story.clone().zip(ended.attempt) {
                    Some(name) => beside.entry(name).or_default().gates.push(gate),
                    None => self.gates.push(gate),
                }
            }
            What::Review(ended) => {
                let review = Review {
                    reviewer: ended.reviewer.clone(),
                    accepted: ended.accepted,
                    words: ended.words.clone(),
                    ended: event.t,
                    duration: ended.duration,
                    cost_usd: ended.cost_usd,
                };
                let name = (ended.story.clone(), ended.attempt);
                beside.entry(name).or_default().reviews.push(review);
            }
            What::Retry { story, reason, .. } => {
                // It follows the attempt that failed.
                let of_story = beside.iter_mut().filter(|((id, _), _)| id == story);
                let last = of_story.max_by_key(|(_, beside)| beside.begun);
                if let Some((_, last)) = last {
                    last.told.clone_from(reason);
                }
            }
            What::Checkpoint { oid, .. } => {
                let before = base.replace(oid.clone());
                if let Some(before) = before {
                    self.bases.insert(oid.to_string(), before);
                }
            }
            What::Redone { stories, oid, .. } => {
                for one in stories {
                    if let Some(before) = self.bases.get(one.oid.as_str()).cloned() {
                        self.bases.insert(one.kept.clone(), before);
                    }
                }
                *base = Some(oid.clone());
            }
            What::Reverted {
                oid,
                kept: Some(kept),
                ..
            } => drop(self.bases.insert(kept.clone(), oid.clone())),
            What::Finished {
                how, branch, kept, ..
            } => {
                self.closed = Some(Closed {
                    how: how.clone(),
                    branch: branch.clone(),
                    kept: kept.clone(),
                });
            }
            _ => {}
        }
        self.events.extend(happened(event, next));
    }

    /// Returns the place of the environment of an attempt, which is a new one if it differs from the last.
    fn environment_of(&mut self, begun: &AttemptStarted) -> Option<usize> {
        let (settings, last) = (begun.settings.as_deref()?, self.environments.last());
        if last.is_none_or(|last| (last.max_retries, &last.settings) != (begun.max_retries, settings)) {
            self.environments.push(Environment {
                since: format!("{}@{}", begun.story, begun.attempt),
                max_retries: begun.max_retries,
                agents: Vec::new(),
                settings: settings.clone(),
            });
        }
        Some(self.environments.len() - 1)
    }
}

/// Returns what happened by an event, if the report shows it; `next` is when something else happened.
fn happened(event: &Event, next: Option<Timestamp>) -> Option<Happening> {
    let (kind, text) = words::of(&event.what)?;
    let mut happened = happening(event.t, kind, text);
    match &event.what {
        What::Waiting { until, .. } => {
            // A run that continues earlier has not waited until then.
            let end = next.map_or(*until, |next| next.min(*until));
            happened.duration = Some(seconds_between(event.t, end));
        }
        What::Checkpoint { oid, .. } => happened.checkpoint = Some(oid.clone()),
        _ => {}
    }
    Some(happened)
}

fn happening(t: Timestamp, kind: Kind, text: String) -> Happening {
    Happening {
        t,
        kind,
        text,
        duration: None,
        checkpoint: None,
        diff: None,
        patch: None,
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
                title: String::new(),
                state: StoryState::Open,
                asked: None,
                by_word_alone: None,
                attempts: Vec::new(),
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
