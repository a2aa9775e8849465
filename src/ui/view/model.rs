//! A loop as the view shows it: made of its events and its state, and of nothing else. Pure.

use jiff::{SignedDuration, Timestamp};

use crate::events::{Event, What};
use crate::inspect::follow::News;
use crate::state::{AgentSession, AwaitingChoice, Phase, Running, RunningGate, State, Verdict};
use crate::ui::narration;
use crate::ui::shown::plain;

/// The mark of a story, before its id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mark {
    /// Nobody has worked on it.
    #[default]
    Open,
    Running,
    Failed,
    Complete,
    Skipped,
}

impl Mark {
    /// Returns the sign for it, which every terminal has.
    pub fn sign(self) -> char {
        match self {
            Self::Open => ' ',
            Self::Running => '*',
            Self::Failed => 'x',
            Self::Complete => 'v',
            Self::Skipped => '-',
        }
    }
}

/// A story with its attempts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Story {
    pub id: String,
    pub title: String,
    pub mark: Mark,
    pub attempts: Vec<Attempt>,
}

/// An attempt.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Attempt {
    pub number: u32,
    pub since: Timestamp,
    /// Retries that are left if this attempt fails.
    pub left: u32,
    /// The name of its agent's format.
    pub format: Option<String>,
    /// The verdict and the seconds, once it has ended.
    pub ended: Option<(Verdict, f64)>,
}

/// A loop.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Model {
    pub change: String,
    pub stories: Vec<Story>,
    /// The numbers of complete and of all stories, once they are known.
    pub progress: Option<(usize, usize)>,
    pub begun: Option<Timestamp>,
    /// The time of the latest event.
    pub latest: Option<Timestamp>,
    pub agent: Option<String>,
    /// The cost of the attempts so far, in US dollars, as far as it is known.
    pub cost: Option<f64>,
    /// The limit of that cost.
    pub max_cost: Option<f64>,
    /// The longest silence of an agent's own session that is at work.
    pub idle: Option<SignedDuration>,
    /// The agent's own session that drives it.
    pub session: Option<AgentSession>,
    /// The end of the time that the loop may take.
    pub ends: Option<Timestamp>,
    pub waits_until: Option<Timestamp>,
    pub phase: Option<Phase>,
    /// The latest words about the loop, without control characters.
    pub told: String,
    /// The reason why the last attempt failed.
    pub reason: Option<String>,
    pub is_driven: bool,
    /// The gate that runs before any attempt.
    pub gate: Option<RunningGate>,
    /// The question that the process asks a person that drives it.
    pub asks: Option<AwaitingChoice>,
    pub is_gone: bool,
    /// True once an attempt of a process that was seen at work has begun or gone on.
    pub was_driven: bool,
}

impl Model {
    /// Makes the model of a loop of which nothing is known but its list: ids, titles, and the complete ones.
    pub fn new(change: &str, listed: &[(String, String, bool)]) -> Self {
        let stories = listed.iter().map(|(id, title, done)| Story {
            id: id.clone(),
            title: plain(title).into_owned(),
            mark: if *done { Mark::Complete } else { Mark::Open },
            attempts: Vec::new(),
        });
        Self {
            change: change.to_owned(),
            stories: stories.collect(),
            ..Self::default()
        }
    }

    /// Takes the news of a loop.
    pub fn take(&mut self, news: &News) {
        if news.anew {
            self.forget();
        }
        for event in &news.events {
            self.event(event);
        }
        if let Some(state) = &news.state {
            self.state(state);
        }
        self.is_driven = news.is_driven;
        self.asks.clone_from(&news.asks);
        self.was_driven |= news.is_driven;
        self.is_gone = news.is_gone;
    }

    /// Returns whether an agent's own session works on it, as far as is known.
    pub fn has_session(&self) -> bool {
        let session = self.session.as_ref();
        session.is_some_and(|session| session.is_heard_at_work(self.idle))
    }

    /// Forgets the attempts of an earlier loop.
    fn forget(&mut self) {
        for story in &mut self.stories {
            story.attempts.clear();
        }
        (self.cost, self.reason, self.waits_until) = (None, None, None);
    }

    /// Takes the next event.
    pub fn event(&mut self, event: &Event) {
        self.latest = Some(event.t);
        if let Some(words) = narration::of(&event.change, &event.what)
            && let Some(first) = words.lines().next()
        {
            plain(first.trim()).as_ref().clone_into(&mut self.told);
        }
        match &event.what {
            What::Started { .. } => {
                self.forget();
                self.begun = Some(event.t);
            }
            What::AttemptStarted {
                story,
                title,
                attempt,
                retries,
                max_retries,
                done,
                total,
                agent,
                format,
                ..
            } => {
                self.progress = Some((*done, *total));
                self.agent = agent.as_deref().map(|agent| plain(agent).into_owned());
                self.waits_until = None;
                let begun = Attempt {
                    number: *attempt,
                    since: event.t,
                    left: max_retries.saturating_sub(*retries),
                    format: format.clone(),
                    ended: None,
                };
                let story = self.story(story, Some(title));
                story.mark = Mark::Running;
                story.attempts.push(begun);
            }
            What::AttemptEnded(ended) => {
                if let Some(cost) = ended.cost_usd {
                    self.cost = Some(self.cost.unwrap_or_default() + cost);
                }
                let first = ended.reason.as_deref().and_then(|reason| reason.lines().next());
                self.reason = first.map(|first| plain(first).into_owned());
                let story = self.story(&ended.story, None);
                story.mark = match ended.verdict {
                    Verdict::Complete => Mark::Complete,
                    verdict if verdict.counts() => Mark::Failed,
                    _ => Mark::Open,
                };
                let attempts = story.attempts.iter_mut();
                if let Some(attempt) = attempts.rev().find(|attempt| attempt.number == ended.attempt) {
                    attempt.ended = Some((ended.verdict, ended.duration));
                }
            }
            What::Checkpoint {
                story: Some(story), ..
            } => self.story(story, None).mark = Mark::Complete,
            What::Waiting { until, .. } => self.waits_until = Some(*until),
            What::StoryProgress { done, total, skipped } => {
                self.progress = Some((*done, *total));
                for story in &mut self.stories {
                    if skipped.contains(&story.id) {
                        story.mark = Mark::Skipped;
                    } else if story.mark == Mark::Skipped {
                        story.mark = Mark::Open;
                    }
                }
            }
            What::Complete { done, total } => {
                self.progress = Some((*done, *total));
                self.told = format!("all {total} stories are complete");
                if done < total {
                    self.told = narration::far(*done, *total, &[]);
                }
            }
            _ => {}
        }
    }

    /// Takes what only the state tells.
    fn state(&mut self, state: &State) {
        self.phase = Some(state.progress.phase);
        self.begun = Some(state.started);
        self.waits_until = state.waits_until;
        self.session.clone_from(&state.session);
        self.gate = state.running.as_ref().and_then(Running::gate).cloned();
        if let Some(listed) = &state.listed {
            self.progress = Some((listed.done, listed.total));
        }
        for completed in &state.progress.completed {
            self.story(&completed.id, Some(&completed.title)).mark = Mark::Complete;
        }
        for id in &state.progress.skipped {
            self.story(id, None).mark = Mark::Skipped;
        }
        if let Some(stopped) = &state.stopped {
            plain(stopped)
                .lines()
                .next()
                .unwrap_or_default()
                .clone_into(&mut self.told);
        }
    }

    /// Finds a story, or appends it.
    fn story(&mut self, id: &str, title: Option<&str>) -> &mut Story {
        let known = self.stories.iter().position(|story| story.id == id);
        let at = known.unwrap_or_else(|| {
            self.stories.push(Story {
                id: id.to_owned(),
                ..Story::default()
            });
            self.stories.len() - 1
        });
        let story = &mut self.stories[at];
        if let Some(title) = title {
            plain(title).as_ref().clone_into(&mut story.title);
        }
        story
    }

    /// Returns the story that is worked on, else the one with the latest attempt.
    pub fn current(&self) -> usize {
        let latest = |(at, story): (usize, &Story)| Some((story.attempts.last()?.since, at));
        let stories = self.stories.iter().enumerate();
        stories.filter_map(latest).max().map_or(0, |(_, at)| at)
    }

    /// Returns whether no story is left, or the current one has no retries left, and no process is at work; one that asks a
    /// person leaves the loop to everybody.
    pub fn is_at_its_end(&self) -> bool {
        let phase = self.phase;
        (!self.is_driven || self.asks.is_some())
            && (matches!(phase, Some(Phase::Complete | Phase::Exhausted))
                || phase == Some(Phase::Ready)
                    && self
                        .progress
                        .is_some_and(|(done, total)| done == total && total > 0))
    }

    /// Returns the latest attempt that has not ended.
    pub fn running(&self) -> Option<(&Story, &Attempt)> {
        let story = self.stories.get(self.current())?;
        let attempt = story.attempts.last().filter(|attempt| attempt.ended.is_none())?;
        Some((story, attempt))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::events::Attempt as Ended;
    use crate::events::log::entries_of;
    use proptest::prelude::*;

    pub fn event(second: i64, what: What) -> Event {
        Event {
            t: Timestamp::from_second(1_790_000_000 + second).unwrap(),
            ..Event::now("add-login", what)
        }
    }

    pub fn attempt_started(story: &str, title: &str, attempt: u32, done: usize) -> What {
        What::AttemptStarted {
            story: story.to_owned(),
            title: title.to_owned(),
            attempt,
            retries: attempt - 1,
            max_retries: 3,
            done,
            total: 3,
            agent: Some("claude".to_owned()),
            format: Some("claude".to_owned()),
            log: None,
            settings: None,
        }
    }

    pub fn attempt_ended(story: &str, attempt: u32, verdict: Verdict, reason: Option<&str>) -> What {
        let since = Timestamp::from_second(1_790_000_000).unwrap();
        What::AttemptEnded(Ended {
            duration: 91.0,
            cost_usd: Some(0.42),
            ..Ended::ended(story, attempt, verdict, reason.map(ToOwned::to_owned), since)
        })
    }

    /// Returns the events of a loop: story 1 complete, story 2 in its second attempt.
    pub fn events() -> Vec<Event> {
        let progress = |done| What::StoryProgress {
            done,
            total: 3,
            skipped: Vec::new(),
        };
        vec![
            event(0, attempt_started("1", "Form", 1, 0)),
            event(130, attempt_ended("1", 1, Verdict::Complete, None)),
            event(131, progress(1)),
            event(132, attempt_started("2", "Session 日本", 1, 1)),
            event(
                223,
                attempt_ended("2", 1, Verdict::GateFailed, Some("3 tests failed")),
            ),
            event(225, attempt_started("2", "Session 日本", 2, 1)),
        ]
    }

    pub fn listed() -> Vec<(String, String, bool)> {
        let story = |id: &str, title: &str| (id.to_owned(), title.to_owned(), false);
        vec![
            story("1", "Form"),
            story("2", "Session 日本"),
            story("3", "A title \u{1b}[31m from right to left: שלום"),
        ]
    }

    fn model_of(events: &[Event]) -> Model {
        let mut model = Model::new("add-login", &listed());
        for event in events {
            model.event(event);
        }
        model
    }

    #[test]
    fn events_make_a_list_of_stories_with_attempts() {
        let model = model_of(&events());
        let marks: Vec<char> = model.stories.iter().map(|story| story.mark.sign()).collect();
        assert_eq!(marks, ['v', '*', ' ']);
        assert_eq!(model.current(), 1);
        assert_eq!(model.progress, Some((1, 3)));
        assert_eq!(model.cost, Some(0.84));
        assert_eq!(model.reason.as_deref(), Some("3 tests failed"));
        let (story, attempt) = model.running().unwrap();
        assert_eq!((story.id.as_str(), attempt.number, attempt.left), ("2", 2, 2));
        assert!(!model.stories[2].title.contains('\u{1b}'));
        // The same as `git ralph log` says.
        let ended: usize = model.stories.iter().map(|story| story.attempts.len()).sum();
        assert_eq!(ended - 1, entries_of(&events()).len());
    }

    #[test]
    fn a_new_loop_begins_without_the_attempts_of_the_one_before() {
        let mut model = model_of(&events());
        model.take(&News {
            anew: true,
            is_driven: true,
            ..News::default()
        });
        assert!(model.stories.iter().all(|story| story.attempts.is_empty()));
        assert_eq!((model.cost, model.is_driven), (None, true));
    }

    proptest! {
        #[test]
        fn the_model_does_not_depend_on_how_the_events_came(cut in 0_usize..6) {
            let all = events();
            let mut model = Model::new("add-login", &listed());
            for part in [&all[..cut], &all[cut..]] {
                model.take(&News { events: part.to_vec(), ..News::default() });
            }
            prop_assert_eq!(model, model_of(&all));
        }
    }
}
