//! A loop as the view shows it: built only from its events and its state. Pure.

use jiff::{SignedDuration, Timestamp};

use crate::agent::decode::{Usage, sum_of_costs};
use crate::events::{self, Event, What};
use crate::inspect::beside::ParallelAttempt;
use crate::inspect::follow::News;
use crate::names::ShortNames;
use crate::state::{AgentSession, AwaitingChoice, Phase, Running, State, Verdict};
use crate::ui::shown::plain;
use crate::ui::{amounts, narration};

/// The mark of a story, before its id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// The story had no attempt.
    #[default]
    Open,
    Running,
    Failed,
    Complete,
    Skipped,
}

impl Mark {
    /// Returns its sign, which every terminal can show.
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

/// The id of a story, and the number of an attempt at it.
pub type Name = (String, u32);

/// A story with its attempts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Story {
    pub id: String,
    pub title: String,
    pub mark: Mark,
    pub attempts: Vec<Attempt>,
}

impl Story {
    /// Returns the stories of a list: ids, titles, and the complete ones.
    fn of_list(listed: &[(String, String, bool)]) -> Vec<Self> {
        let stories = listed.iter().map(|(id, title, done)| Self {
            id: id.clone(),
            title: plain(title).into_owned(),
            mark: if *done { Mark::Complete } else { Mark::Open },
            attempts: Vec::new(),
        });
        stories.collect()
    }
}

/// An attempt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attempt {
    pub number: u32,
    pub since: Timestamp,
    /// Retries left if this attempt fails.
    pub left: u32,
    /// The name of its agent.
    pub agent: Option<String>,
    /// The name of its agent's format.
    pub format: Option<String>,
    /// The number of its rounds; 0 if it has one.
    pub rounds: u32,
    /// Seconds that its gates and reviews took.
    pub judging: f64,
    /// The verdict and the seconds, once it has ended.
    pub ended: Option<(Verdict, f64)>,
    /// The first line of the reason why it failed.
    pub reason: Option<String>,
    pub used: Usage,
    /// The files that it changed, and the lines that it added and removed, once it has ended.
    pub size: Option<(u64, u64, u64)>,
    /// Its side and work tree, if it is made beside others, and the loop has not taken it in yet.
    pub beside: Option<Box<ParallelAttempt>>,
}

impl Attempt {
    /// Returns whether the attempt failed by its own fault.
    pub fn has_failed(&self) -> bool {
        self.ended
            .is_some_and(|(verdict, _)| verdict != Verdict::Complete && verdict.counts())
    }
}

/// A gate that runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// The shell command.
    pub command: String,
    pub since: Timestamp,
    /// True if it runs before any attempt.
    pub is_first: bool,
    /// True for a reviewer, whose name is `command`.
    pub is_review: bool,
}

impl Gate {
    /// Returns what it is: `gate` or `review`.
    pub fn kind(&self) -> &'static str {
        if self.is_review { "review" } else { "gate" }
    }

    fn of(running: &Running) -> Option<Self> {
        let (gate, is_first) = match (&running.gate, &running.judging) {
            (Some(gate), _) => (gate, true),
            (None, judging) => (judging.as_ref()?, false),
        };
        Some(Self {
            command: plain(&gate.command).into_owned(),
            since: gate.since,
            is_first,
            is_review: gate.is_review,
        })
    }
}

/// A loop.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    pub change: String,
    pub stories: Vec<Story>,
    /// The stories of the list from before the shown attempts of the loop.
    listed: Vec<Story>,
    /// The numbers of complete and of all stories, once known.
    pub progress: Option<(usize, usize)>,
    pub begun: Option<Timestamp>,
    /// The time of the latest event.
    pub latest: Option<Timestamp>,
    pub agent: Option<String>,
    /// The known cost of the attempts so far, in US dollars.
    pub cost: Option<f64>,
    /// The limit of that cost.
    pub max_cost: Option<f64>,
    /// Maximum silence of an agent's own session that counts as working.
    pub idle: Option<SignedDuration>,
    /// The agent's own session that drives it.
    pub session: Option<AgentSession>,
    /// The time limit of the loop.
    pub ends: Option<Timestamp>,
    pub waits_until: Option<Timestamp>,
    pub phase: Option<Phase>,
    /// The number of stories that the loop skips.
    pub skipped: usize,
    /// The latest message about the loop, without control characters, and the attempt that it concerns.
    pub notice: (Option<Name>, String),
    /// The attempt that failed last, and the reason.
    pub reason: Option<(Name, String)>,
    pub is_driven: bool,
    /// The current or last gate.
    pub gate: Option<Gate>,
    /// The question of the process that drives the loop.
    pub asks: Option<AwaitingChoice>,
    pub is_gone: bool,
    /// True once an attempt of a running process has begun or continued.
    pub was_driven: bool,
}

impl Model {
    /// Makes the model of a loop from its list alone: ids, titles, and the complete ones.
    pub fn new(change: &str, listed: &[(String, String, bool)]) -> Self {
        let listed = Story::of_list(listed);
        Self {
            change: change.to_owned(),
            stories: listed.clone(),
            listed,
            ..Self::default()
        }
    }

    /// Applies the news of a loop.
    pub fn take(&mut self, news: &News) {
        if let Some(listed) = &news.listed {
            self.listed = Story::of_list(listed);
        }
        if news.restarted {
            self.forget();
        }
        for event in &news.events {
            self.event(event);
        }
        if let Some(state) = &news.state {
            self.state(state);
        }
        self.beside(&news.beside);
        self.is_driven = news.is_driven;
        self.asks.clone_from(&news.asks);
        self.was_driven |= news.is_driven;
        self.is_gone = news.is_gone;
    }

    /// Returns whether an agent's own session seems to work on the loop.
    pub fn has_session(&self) -> bool {
        let session = self.session.as_ref();
        session.is_some_and(|session| session.is_heard_at_work(self.idle))
    }

    /// Returns the gate that runs.
    pub fn gate_at_work(&self) -> Option<&Gate> {
        self.gate.as_ref().filter(|_| self.is_driven)
    }

    /// Returns whether this attempt seems to be running.
    pub fn is_at_work(&self, attempt: &Attempt) -> bool {
        attempt.ended.is_none() && (self.is_driven || self.has_session())
    }

    /// Discards the events of an earlier loop: the stories are those of the list again.
    fn forget(&mut self) {
        self.stories.clone_from(&self.listed);
        (self.cost, self.reason, self.waits_until, self.agent) = (None, None, None, None);
    }

    /// Applies the next event.
    pub fn event(&mut self, event: &Event) {
        self.latest = Some(event.t);
        if let Some(words) = narration::of(&event.change, &event.what)
            && let Some(first) = words.lines().next()
        {
            plain(first.trim()).as_ref().clone_into(&mut self.notice.1);
            self.notice.0 = match &event.what {
                What::AttemptStarted(new) => Some((new.story.clone(), new.attempt)),
                What::Started { .. }
                | What::StoryProgress { .. }
                | What::Finished { .. }
                | What::StartUndone { .. } => None,
                _ => self.notice.0.take(),
            };
        }
        match &event.what {
            What::Started { .. } => {
                self.forget();
                self.begun = Some(event.t);
            }
            What::AttemptStarted(new) => {
                self.progress = Some((new.done, new.total));
                let agent = new.agent.as_deref().map(|agent| plain(agent).into_owned());
                self.agent.clone_from(&agent);
                (self.waits_until, self.gate) = (None, None);
                let begun = Attempt {
                    number: new.attempt,
                    since: event.t,
                    left: new.max_retries.saturating_sub(new.retries),
                    agent,
                    format: new.format.clone(),
                    ..Attempt::default()
                };
                let story = self.story(&new.story, Some(&new.title));
                story.mark = Mark::Running;
                story.attempts.push(begun);
            }
            What::RoundStarted {
                story,
                attempt,
                round,
                ..
            } => {
                if let Some(attempt) = self.attempt(story, *attempt) {
                    attempt.rounds = *round;
                }
            }
            What::AttemptEnded(ended) => self.ended(ended),
            What::Gate(gate) => self.judged(gate.story.as_deref().zip(gate.attempt), gate.duration),
            What::Review(review) => self.judged(Some((&review.story, review.attempt)), review.duration),
            What::Checkpoint {
                story: Some(story), ..
            } => self.story(story, None).mark = Mark::Complete,
            What::Redone { stories, .. } => {
                for one in stories {
                    self.story(&one.story, None).mark = Mark::Open;
                }
            }
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
            What::Complete { done, total, .. } => {
                self.progress = Some((*done, *total));
                let mut words = format!("all {total} stories are complete");
                if done < total {
                    words = amounts::far(*done, *total, &[]);
                }
                self.notice = (None, words);
            }
            _ => {}
        }
    }

    /// Applies the end of a gate or a review of the attempt with this name.
    fn judged(&mut self, name: Option<(&str, u32)>, seconds: f64) {
        self.gate = None;
        if let Some((story, number)) = name
            && let Some(attempt) = self.attempt(story, number)
        {
            attempt.judging += seconds;
        }
    }

    /// Applies the end of an attempt.
    fn ended(&mut self, ended: &events::Attempt) {
        self.cost = sum_of_costs(self.cost, ended.whole_cost());
        let first = ended.reason.as_deref().and_then(|reason| reason.lines().next());
        let reason = first.map(|first| plain(first).into_owned());
        let name = (ended.story.clone(), ended.attempt);
        self.reason = reason.clone().map(|reason| (name, reason));
        self.gate = None;
        self.story(&ended.story, None).mark = match ended.verdict {
            Verdict::Complete => Mark::Complete,
            verdict if verdict.counts() => Mark::Failed,
            _ => Mark::Open,
        };
        if let Some(attempt) = self.attempt(&ended.story, ended.attempt) {
            attempt.ended = Some((ended.verdict, ended.duration + attempt.judging));
            attempt.reason = reason;
            attempt.rounds = ended.rounds.unwrap_or_default();
            attempt.used = Usage {
                model: ended.model.clone(),
                input_tokens: ended.input_tokens,
                output_tokens: ended.output_tokens,
                cost_usd: ended.cost_usd,
            };
            let lines = ended.insertions.zip(ended.deletions);
            attempt.size = ended
                .files
                .zip(lines)
                .map(|(files, (added, removed))| (files, added, removed));
        }
    }

    /// Applies the facts that only the state has.
    fn state(&mut self, state: &State) {
        self.phase = Some(state.phase());
        self.skipped = state.progress().skipped.len();
        self.begun = Some(state.common.started);
        self.waits_until = state.here.waits_until.get();
        self.session.clone_from(&state.here.session);
        self.gate = state.running().as_ref().and_then(Gate::of);
        if let Some(listed) = state.listed() {
            self.progress = Some((listed.done, listed.total));
        }
        for completed in &state.progress().completed {
            self.story(&completed.id, Some(&completed.title)).mark = Mark::Complete;
        }
        for id in &state.progress().left_out().0 {
            self.story(id, None).mark = Mark::Skipped;
        }
        if let Some(stopped) = &state.here.stopped {
            let stopped = plain(stopped);
            self.notice = (None, stopped.lines().next().unwrap_or_default().to_owned());
        }
    }

    /// Applies the parallel attempts, whose events follow once the loop takes them in.
    fn beside(&mut self, running: &[ParallelAttempt]) {
        for story in &mut self.stories {
            let before = story.attempts.len();
            story.attempts.retain(|attempt| attempt.beside.is_none());
            let last = story.attempts.last();
            let is_over = story.attempts.len() < before && last.is_none_or(|last| last.ended.is_some());
            if is_over && story.mark == Mark::Running {
                story.mark = match last {
                    Some(last) if last.has_failed() => Mark::Failed,
                    _ => Mark::Open,
                };
            }
        }
        for one in running {
            let story = self.story(&one.story, Some(&one.title));
            if story.attempts.iter().any(|known| known.number == one.attempt) {
                continue;
            }
            story.mark = Mark::Running;
            story.attempts.push(Attempt {
                number: one.attempt,
                since: one.since.unwrap_or_default(),
                left: one.left,
                beside: Some(Box::new(one.clone())),
                ..Attempt::default()
            });
        }
    }

    /// Returns the shortest names of the stories.
    pub fn short_names(&self) -> ShortNames {
        let stories = self.stories.iter();
        ShortNames::of_list(stories.map(|story| (story.id.as_str(), story.title.as_str())))
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

    /// Finds an attempt at a story.
    fn attempt(&mut self, story: &str, number: u32) -> Option<&mut Attempt> {
        let mut stories = self.stories.iter_mut();
        let story = stories.find(|known| known.id == story)?;
        let attempts = story.attempts.iter_mut();
        attempts.rev().find(|attempt| attempt.number == number)
    }

    /// Returns the current story, else the one with the latest attempt.
    pub fn current(&self) -> usize {
        let latest = |(at, story): (usize, &Story)| Some((story.attempts.last()?.since, at));
        let stories = self.stories.iter().enumerate();
        stories.filter_map(latest).max().map_or(0, |(_, at)| at)
    }

    /// Returns whether no story is left, or the current one has no retries left, and no process works on the loop. A
    /// process that asks the user does not count: any other command may take the loop then.
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
pub(super) mod tests;
