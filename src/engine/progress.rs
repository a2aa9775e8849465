//! Decides the next steps of the loop, and the consequences of an attempt for its story. Pure: no clock, no files, no
//! processes.
//!
//! Invariants (property-tested below): never two attempts at the same time; a story never gets more than 1 +
//! `max_retries` attempts that count; interrupted and rate-limited attempts do not count; a loop can be closed in every
//! state except during an attempt.

use crate::state::{Completed, Current, Phase, Progress, PutOff, Verdict};

/// The kind of a request for an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// `next`: the first incomplete story, for the first time.
    Next,
    /// `retry`: the story that failed.
    Retry,
    /// `complete`, `fail` or an agent's own session, which report on the story.
    Manual,
}

/// The consequence of an attempt for its story.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// The story is complete.
    Complete,
    /// The story failed and has retries left.
    RetriesLeft,
    /// The story failed and has no retries left.
    RetriesSpent,
    /// The attempt does not count.
    Uncounted,
}

/// The reason why something is not possible now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// An attempt is in progress.
    Running,
    /// The story failed and has retries left: `retry` is the right command.
    RetryFirst,
    /// The story failed and has no retries left.
    RetriesSpent,
    /// Nothing has failed: `next` is the right command.
    NothingFailed,
    /// No story is left to do.
    NoStory,
    /// The loop is closed.
    Finished,
    /// No attempt is in progress.
    NotRunning,
}

/// A refused change leaves the progress as it was.
impl Progress {
    /// Returns the progress of a new loop.
    pub fn new(max_retries: u32, completed: Vec<Completed>) -> Self {
        Self {
            phase: Phase::Ready,
            max_retries,
            skipped: Vec::new(),
            put_off: Vec::new(),
            story: None,
            completed,
        }
    }

    /// Sets the incomplete stories, in order, without skipped ones. A failed story that is no longer among them is
    /// forgotten.
    pub fn listed(&mut self, incomplete: &[String]) -> Result<(), Refusal> {
        self.require_rest()?;
        let current_is_open = self
            .story
            .as_ref()
            .is_some_and(|story| incomplete.contains(&story.id));
        if !current_is_open {
            self.story = None;
        }
        self.phase = if incomplete.is_empty() {
            Phase::Complete
        } else {
            self.phase_at_rest()
        };
        Ok(())
    }

    /// Decides whether an attempt may be requested now.
    pub fn may_begin(&self, step: Step) -> Result<(), Refusal> {
        match (step, self.phase) {
            (_, Phase::Finished) => Err(Refusal::Finished),
            (_, Phase::Running) => Err(Refusal::Running),
            (_, Phase::Complete) => Err(Refusal::NoStory),
            (Step::Next, Phase::Failed) => Err(Refusal::RetryFirst),
            (Step::Next | Step::Retry, Phase::Exhausted) => Err(Refusal::RetriesSpent),
            (Step::Retry, Phase::Ready) => Err(Refusal::NothingFailed),
            _ => Ok(()),
        }
    }

    /// Begins the attempt with this number at a story.
    pub fn begin(&mut self, step: Step, id: &str, title: &str, attempt: u32) -> Result<(), Refusal> {
        self.may_begin(step)?;
        match &mut self.story {
            Some(story) if story.id == id => {
                title.clone_into(&mut story.title);
                story.attempt = attempt;
            }
            other => {
                *other = Some(Current {
                    id: id.to_owned(),
                    title: title.to_owned(),
                    retries: 0,
                    failures: 0,
                    attempt,
                    reason: None,
                    shown: None,
                    verdict: None,
                });
            }
        }
        self.phase = Phase::Running;
        Ok(())
    }

    /// Ends the attempt in progress; `reason` is for the next prompt, if the failure has one, and `shown` for people, if
    /// they are told more.
    pub fn end(
        &mut self,
        verdict: Verdict,
        reason: Option<String>,
        shown: Option<String>,
    ) -> Result<Outlook, Refusal> {
        let max_retries = self.max_retries;
        let (Phase::Running, Some(story)) = (self.phase, &mut self.story) else {
            return Err(Refusal::NotRunning);
        };
        if verdict == Verdict::Complete {
            let done = Completed {
                id: story.id.clone(),
                title: story.title.clone(),
            };
            self.completed.push(done);
            self.story = None;
            self.phase = Phase::Ready;
            return Ok(Outlook::Complete);
        }
        story.verdict = Some(verdict);
        if verdict.counts() {
            // A failure that the user declares after the last retry must not count beyond the limit.
            story.failures = story
                .failures
                .saturating_add(1)
                .min(max_retries.saturating_add(1));
            story.retries = story.failures.saturating_sub(1);
            story.reason = reason;
            story.shown = shown;
        }
        self.phase = self.phase_at_rest();
        Ok(match (verdict.counts(), self.phase) {
            (false, _) => Outlook::Uncounted,
            (true, Phase::Exhausted) => Outlook::RetriesSpent,
            (true, _) => Outlook::RetriesLeft,
        })
    }

    /// Skips a story from now on.
    pub fn skip(&mut self, id: &str) -> Result<(), Refusal> {
        self.require_rest()?;
        if self.story.as_ref().is_some_and(|story| story.id == id) {
            self.story = None;
            self.phase = Phase::Ready;
        }
        if !self.skipped.iter().any(|skipped| skipped == id) {
            self.skipped.push(id.to_owned());
        }
        self.put_off.retain(|other| other.story.id != id);
        Ok(())
    }

    /// Returns whether the story without retries left can be tried again after the others: it was not yet, or another one can be
    /// tried first.
    pub fn may_put_off(&self) -> bool {
        let id = self.story.as_ref().map(|story| &story.id);
        let was_put_off = self.put_off.iter().any(|other| Some(&other.story.id) == id);
        self.phase == Phase::Exhausted && (!was_put_off || self.next_put_off().is_some())
    }

    /// Puts the story without retries left off until the others are through; returns its id.
    pub fn put_off(&mut self) -> Result<String, Refusal> {
        let story = self.story.clone().filter(|_| self.may_put_off());
        let story = story.ok_or(Refusal::NothingFailed)?;
        let is_over = self.put_off.iter().any(|other| other.story.id == story.id);
        self.skip(&story.id)?;
        let id = story.id.clone();
        self.put_off.push(PutOff {
            story,
            completed: self.completed.len(),
            is_over,
        });
        Ok(id)
    }

    /// Takes up the next story that was put off, if another one was completed since, with all its retries; returns its id.
    pub fn take_up(&mut self) -> Option<String> {
        let id = self.next_put_off()?;
        let at = self.put_off.iter().position(|other| other.story.id == id)?;
        let kept = self.put_off.get(at).cloned();
        self.unskip(&id).ok()?;
        // It is not put off again, and its place in the list stays known.
        self.put_off.extend(kept.map(|kept| PutOff {
            is_over: true,
            ..kept
        }));
        Some(id)
    }

    /// Returns to the first story that was put off, which has no retries left; returns its id.
    pub fn give_up(&mut self) -> Option<String> {
        let is_skipped = |other: &&PutOff| self.skipped.contains(&other.story.id);
        let story = self.put_off.iter().find(is_skipped)?.story.clone();
        let id = story.id.clone();
        self.unskip(&id).ok()?;
        self.story = Some(story);
        self.phase = self.phase_at_rest();
        Some(id)
    }

    fn next_put_off(&self) -> Option<String> {
        let is_due = |other: &&PutOff| {
            !other.is_over && other.completed < self.completed.len() && self.skipped.contains(&other.story.id)
        };
        self.put_off
            .iter()
            .find(is_due)
            .map(|other| other.story.id.clone())
    }

    /// Stops skipping a story.
    pub fn unskip(&mut self, id: &str) -> Result<(), Refusal> {
        self.require_rest()?;
        self.skipped.retain(|skipped| skipped != id);
        self.put_off.retain(|other| other.story.id != id);
        if self.phase == Phase::Complete {
            self.phase = Phase::Ready;
        }
        Ok(())
    }

    /// Sets the number of retries from now on.
    pub fn limit(&mut self, max_retries: u32) -> Result<(), Refusal> {
        self.require_rest()?;
        self.max_retries = max_retries;
        if self.phase != Phase::Complete {
            self.phase = self.phase_at_rest();
        }
        Ok(())
    }

    /// Closes the loop.
    pub fn close(&mut self) -> Result<(), Refusal> {
        self.require_rest()?;
        self.phase = Phase::Finished;
        Ok(())
    }

    fn require_rest(&self) -> Result<(), Refusal> {
        match self.phase {
            Phase::Running => Err(Refusal::Running),
            Phase::Finished => Err(Refusal::Finished),
            _ => Ok(()),
        }
    }

    /// Returns the phase between attempts, according to the failures of the current story.
    fn phase_at_rest(&self) -> Phase {
        match &self.story {
            None => Phase::Ready,
            Some(story) if story.failures == 0 => Phase::Ready,
            Some(story) if story.failures <= self.max_retries => Phase::Failed,
            Some(_) => Phase::Exhausted,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fresh(max_retries: u32) -> Progress {
        Progress::new(max_retries, Vec::new())
    }

    /// An operation on a progress.
    #[derive(Clone, Debug)]
    enum Ask {
        Listed(Vec<String>),
        Begin(Step, String, u32),
        End(Verdict),
        Skip(String),
        Unskip(String),
        Limit(u32),
    }

    impl Ask {
        fn of(&self, progress: &mut Progress) -> Result<Option<Outlook>, Refusal> {
            match self {
                Self::Listed(incomplete) => progress.listed(incomplete)?,
                Self::Begin(step, id, attempt) => progress.begin(*step, id, "title", *attempt)?,
                Self::End(verdict) => return progress.end(*verdict, Some("why".to_owned()), None).map(Some),
                Self::Skip(id) => progress.skip(id)?,
                Self::Unskip(id) => progress.unskip(id)?,
                Self::Limit(max_retries) => progress.limit(*max_retries)?,
            }
            Ok(None)
        }
    }

    fn begin(step: Step, id: &str, attempt: u32) -> Ask {
        Ask::Begin(step, id.to_owned(), attempt)
    }

    fn run(progress: &Progress, asked: impl IntoIterator<Item = Ask>) -> Progress {
        let mut progress = progress.clone();
        for ask in asked {
            ask.of(&mut progress).unwrap();
        }
        progress
    }

    #[test]
    fn story_is_exhausted_after_one_attempt_and_three_retries() {
        let failed = Ask::End(Verdict::Failed);
        let mut progress = run(&fresh(3), [begin(Step::Next, "1", 1), failed.clone()]);
        for attempt in 2..=4 {
            assert_eq!(progress.phase, Phase::Failed, "before attempt {attempt}");
            progress = run(&progress, [begin(Step::Retry, "1", attempt), failed.clone()]);
        }
        assert_eq!(progress.phase, Phase::Exhausted);
        assert_eq!(progress.current().unwrap().retries, 3);
        assert_eq!(progress.may_begin(Step::Retry), Err(Refusal::RetriesSpent));
    }

    #[test]
    fn end_of_an_attempt_returns_its_outlook() {
        let outlook = |max_retries, verdict| {
            let mut begun = run(&fresh(max_retries), [begin(Step::Next, "1", 1)]);
            begun.end(verdict, None, None).unwrap()
        };
        assert_eq!(outlook(0, Verdict::Failed), Outlook::RetriesSpent);
        assert_eq!(outlook(1, Verdict::NoSignal), Outlook::RetriesLeft);
        assert_eq!(outlook(0, Verdict::RateLimited), Outlook::Uncounted);
        assert_eq!(outlook(0, Verdict::Complete), Outlook::Complete);
    }

    #[test]
    fn progress_refuses_next_after_a_failure_and_retry_without_one() {
        let failed = run(
            &fresh(1),
            [begin(Step::Next, "1", 1), Ask::End(Verdict::NoSignal)],
        );
        assert_eq!(failed.may_begin(Step::Next), Err(Refusal::RetryFirst));
        assert_eq!(fresh(1).may_begin(Step::Retry), Err(Refusal::NothingFailed));
    }

    #[test]
    fn interrupted_attempt_keeps_phase_retries_and_reason() {
        let failed = run(&fresh(1), [begin(Step::Next, "1", 1), Ask::End(Verdict::Failed)]);
        let after = run(
            &failed,
            [begin(Step::Retry, "1", 2), Ask::End(Verdict::Interrupted)],
        );
        assert_eq!(after.phase, Phase::Failed);
        let story = after.story.unwrap();
        assert_eq!((story.retries, story.reason.as_deref()), (0, Some("why")));
    }

    #[test]
    fn new_retry_limit_opens_or_exhausts_a_failed_story() {
        let exhausted = run(&fresh(0), [begin(Step::Next, "1", 1), Ask::End(Verdict::Failed)]);
        let opened = run(&exhausted, [Ask::Limit(1)]);
        assert_eq!(opened.phase, Phase::Failed);
        assert_eq!(run(&opened, [Ask::Limit(0)]).phase, Phase::Exhausted);
    }

    #[test]
    fn user_may_complete_an_exhausted_story() {
        let exhausted = run(&fresh(0), [begin(Step::Next, "1", 1), Ask::End(Verdict::Failed)]);
        let done = run(
            &exhausted,
            [begin(Step::Manual, "1", 2), Ask::End(Verdict::Complete)],
        );
        assert_eq!((done.phase, done.completed.len()), (Phase::Ready, 1));
    }

    #[test]
    fn progress_forgets_a_failed_story_that_left_the_list() {
        let failed = run(&fresh(1), [begin(Step::Next, "1", 1), Ask::End(Verdict::Failed)]);
        let listed = |ids: &[&str]| Ask::Listed(ids.iter().map(ToString::to_string).collect());
        assert_eq!(run(&failed, [listed(&["1", "2"])]).phase, Phase::Failed);
        assert_eq!(run(&failed, [listed(&["2"])]).phase, Phase::Ready);
        assert_eq!(run(&failed, [listed(&[])]).phase, Phase::Complete);
    }

    fn any_verdict() -> impl Strategy<Value = Verdict> {
        proptest::sample::select(vec![
            Verdict::Complete,
            Verdict::Failed,
            Verdict::NoSignal,
            Verdict::GateFailed,
            Verdict::ReviewRejected,
            Verdict::TimedOut,
            Verdict::RateLimited,
            Verdict::Overloaded,
            Verdict::Auth,
            Verdict::NotStarted,
            Verdict::AgentError,
            Verdict::Interrupted,
        ])
    }

    fn anything_asked() -> impl Strategy<Value = Ask> {
        let id = || proptest::sample::select(vec!["1".to_owned(), "2".to_owned(), "3".to_owned()]);
        let step = proptest::sample::select(vec![Step::Next, Step::Retry, Step::Manual]);
        prop_oneof![
            proptest::collection::vec(id(), 0..3).prop_map(Ask::Listed),
            (step, id(), 1..9u32).prop_map(|(step, id, attempt)| Ask::Begin(step, id, attempt)),
            any_verdict().prop_map(Ask::End),
            id().prop_map(Ask::Skip),
            id().prop_map(Ask::Unskip),
        ]
    }

    /// Drives these stories with `ralph.onFailure=later`; `succeeds` is asked about each attempt. Returns the progress at the end,
    /// and the stories in the order of their attempts.
    fn drive_later(
        stories: &[String],
        max_retries: u32,
        mut succeeds: impl FnMut(&str) -> bool,
    ) -> (Progress, Vec<String>) {
        let (mut progress, mut tried) = (fresh(max_retries), Vec::new());
        loop {
            let is_done = |id: &String| progress.completed.iter().any(|done| done.id == *id);
            let is_open = |id: &&String| !is_done(id) && !progress.skipped.contains(id);
            let open: Vec<String> = stories.iter().filter(is_open).cloned().collect();
            progress.listed(&open).unwrap();
            if progress.phase == Phase::Exhausted {
                if !progress.may_put_off() {
                    return (progress, tried);
                }
                progress.put_off().unwrap();
                continue;
            }
            let current = progress.story.as_ref().map(|story| story.id.clone());
            let Some(id) = current.or_else(|| open.first().cloned()) else {
                if progress.take_up().is_some() {
                    continue;
                }
                progress.give_up();
                return (progress, tried);
            };
            let step = if progress.phase == Phase::Failed {
                Step::Retry
            } else {
                Step::Next
            };
            let attempt = u32::try_from(tried.len()).unwrap();
            progress.begin(step, &id, "title", attempt).unwrap();
            let verdict = if succeeds(&id) {
                Verdict::Complete
            } else {
                Verdict::Failed
            };
            progress.end(verdict, None, None).unwrap();
            tried.push(id);
        }
    }

    #[test]
    fn a_story_is_put_off_once_and_tried_again_only_if_another_was_completed() {
        let stories = ["a", "b", "c"].map(ToOwned::to_owned);
        let course = |succeeds: &dyn Fn(&str, usize) -> bool| {
            let mut counts = std::collections::HashMap::<String, usize>::new();
            let (progress, tried) = drive_later(&stories, 0, |id| {
                let count = counts.entry(id.to_owned()).or_default();
                *count += 1;
                succeeds(id, *count)
            });
            let left = progress.story.map(|story| story.id);
            (
                tried.concat(),
                left.unwrap_or_default(),
                progress.skipped.concat(),
            )
        };
        let is =
            |tried: &str, left: &str, skipped: &str| (tried.to_owned(), left.to_owned(), skipped.to_owned());
        assert_eq!(course(&|_, _| true), is("abc", "", ""));
        assert_eq!(course(&|id, count| id != "a" || count > 1), is("abca", "", ""));
        assert_eq!(course(&|id, _| id != "a"), is("abca", "a", ""));
        assert_eq!(course(&|_, _| false), is("abc", "a", "bc"));
        assert_eq!(course(&|id, _| id == "c"), is("abcab", "b", "a"));
        assert_eq!(
            course(&|id, count| id == "c" || id == "b" && count > 1),
            is("abcab", "a", "")
        );
    }

    proptest! {
        #[test]
        fn the_invariants_hold(
            max_retries in 0..4u32,
            asked in proptest::collection::vec(anything_asked(), 0..60),
        ) {
            let mut progress = fresh(max_retries);
            for ask in asked {
                let before = progress.clone();
                let answer = ask.of(&mut progress);
                if answer.is_err() {
                    prop_assert_eq!(&progress, &before, "a refusal changed something");
                    continue;
                }
                let begun = matches!(ask, Ask::Begin(..));
                prop_assert!(!begun || before.phase != Phase::Running, "two attempts at once");
                prop_assert_eq!(progress.phase == Phase::Running, begun);
                if let Some(story) = progress.current() {
                    prop_assert!(story.retries <= max_retries);
                    prop_assert!(story.failures <= max_retries + 1);
                    let counted = matches!(ask, Ask::End(verdict) if verdict.counts());
                    if let Some(before) = before.story.filter(|b| b.id == story.id && before.phase == Phase::Running) {
                        prop_assert!(counted || story.failures == before.failures);
                    }
                }
                if matches!(ask, Ask::Begin(Step::Next | Step::Retry, ..)) {
                    let failures = progress.current().map_or(0, |story| story.failures);
                    prop_assert!(failures <= max_retries, "an attempt beyond the limit");
                }
            }
            if progress.phase == Phase::Running {
                progress.end(Verdict::Interrupted, None, None).unwrap();
            }
            progress.close().unwrap();
            prop_assert_eq!(progress.phase, Phase::Finished);
            prop_assert_eq!(progress.close(), Err(Refusal::Finished));
        }

        #[test]
        fn a_drive_that_puts_stories_off_ends(ends in prop::collection::vec(any::<bool>(), 0..60), max_retries in 0_u32..3) {
            let stories = ["a", "b", "c", "d"].map(ToOwned::to_owned);
            let mut ends = ends.into_iter();
            let (progress, tried) = drive_later(&stories, max_retries, |_| ends.next().unwrap_or(false));
            for story in &stories {
                let times = tried.iter().filter(|id| *id == story).count();
                prop_assert!(times <= 2 * (1 + max_retries as usize), "{}: {}", story, times);
            }
            let is_all = progress.completed.len() == stories.len();
            prop_assert_eq!(progress.phase, if is_all { Phase::Complete } else { Phase::Exhausted });
        }
    }
}
