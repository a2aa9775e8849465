//! The state machine of a loop: (progress, event) -> (progress, actions). Pure: no clock, no files,
//! no processes; it imports nothing but types.
//!
//! Invariants (property-tested below): never two attempts at once; a story never gets more than
//! 1 + `max_retries` attempts that count; interrupted and rate-limited attempts do not count; `Close`
//! is reachable from every state.

use crate::state::{Completed, Current, Phase, Progress, Verdict};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The story list was read; these stories are incomplete, in order, skipped ones left out.
    Listed {
        /// Ids of the incomplete stories.
        incomplete: Vec<String>,
    },
    /// Somebody asks for an attempt at this story.
    Begin {
        /// Who asks.
        step: Step,
        /// The story's id.
        id: String,
        /// Its title.
        title: String,
        /// The attempt's number.
        attempt: u32,
    },
    /// The attempt in flight has ended.
    Ended {
        /// What it came to.
        verdict: Verdict,
        /// Why, for the next prompt; only failures that have one.
        reason: Option<String>,
    },
    /// The loop shall pass over a story.
    Skip {
        /// The story's id.
        id: String,
    },
    /// The loop shall no longer pass over a story.
    Unskip {
        /// The story's id.
        id: String,
    },
    /// Another number of retries holds from now on.
    Limit {
        /// Retries after the first attempt, a story.
        max_retries: u32,
    },
    /// The loop is closed.
    Close,
}

/// Which command asks for an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// `next`: the first incomplete story, for the first time.
    Next,
    /// `retry`: the story that failed.
    Retry,
    /// `complete` or `fail`: a person or a driver speaks for the story.
    Hand,
}

/// What the engine has to do now, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Work on the story.
    Attempt,
    /// Make the checkpoint of the story.
    Checkpoint,
    /// Keep what the attempt left, then go back to the checkpoint.
    KeepAndRevert,
    /// Say that no retry is left.
    TellExhausted,
}

/// Why an event is not possible now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// An attempt is in flight.
    Running,
    /// The story failed and has retries left: `retry` is meant.
    RetryFirst,
    /// The story failed and has no retries left.
    RetriesSpent,
    /// Nothing has failed: `next` is meant.
    NothingFailed,
    /// No story is left to do.
    NoStory,
    /// The loop is closed.
    Finished,
    /// No attempt is in flight.
    NotRunning,
}

/// The next progress and what to do, or why the event is not possible; `progress` is never half changed.
///
/// # Errors
/// A [`Refusal`] when the event is not possible in this phase.
pub fn step(progress: &Progress, event: Event) -> Result<(Progress, Vec<Action>), Refusal> {
    if progress.phase == Phase::Finished {
        return Err(Refusal::Finished);
    }
    let mut next = progress.clone();
    let actions = match event {
        Event::Listed { incomplete } => listed(&mut next, &incomplete)?,
        Event::Begin {
            step,
            id,
            title,
            attempt,
        } => begin(&mut next, step, id, title, attempt)?,
        Event::Ended { verdict, reason } => ended(&mut next, verdict, reason)?,
        Event::Skip { id } => skip(&mut next, id)?,
        Event::Unskip { id } => {
            require_idle(&next)?;
            next.skipped.retain(|skipped| *skipped != id);
            if next.phase == Phase::Complete {
                next.phase = Phase::Ready;
            }
            Vec::new()
        }
        Event::Limit { max_retries } => {
            require_idle(&next)?;
            next.max_retries = max_retries;
            if next.phase != Phase::Complete {
                next.phase = idle_phase(&next);
            }
            Vec::new()
        }
        Event::Close => {
            require_idle(&next)?;
            next.phase = Phase::Finished;
            Vec::new()
        }
    };
    Ok((next, actions))
}

fn require_idle(progress: &Progress) -> Result<(), Refusal> {
    if progress.phase == Phase::Running {
        Err(Refusal::Running)
    } else {
        Ok(())
    }
}

fn listed(progress: &mut Progress, incomplete: &[String]) -> Result<Vec<Action>, Refusal> {
    require_idle(progress)?;
    let current_is_open = progress
        .story
        .as_ref()
        .is_some_and(|story| incomplete.contains(&story.id));
    if !current_is_open {
        progress.story = None;
    }
    progress.phase = if incomplete.is_empty() {
        Phase::Complete
    } else {
        idle_phase(progress)
    };
    Ok(Vec::new())
}

/// Where a loop stands between attempts, by the failures of its current story.
fn idle_phase(progress: &Progress) -> Phase {
    match &progress.story {
        None => Phase::Ready,
        Some(story) if story.failures == 0 => Phase::Ready,
        Some(story) if story.failures <= progress.max_retries => Phase::Failed,
        Some(_) => Phase::Exhausted,
    }
}

fn begin(
    progress: &mut Progress,
    step: Step,
    id: String,
    title: String,
    attempt: u32,
) -> Result<Vec<Action>, Refusal> {
    match (step, progress.phase) {
        (_, Phase::Running) => return Err(Refusal::Running),
        (_, Phase::Complete) => return Err(Refusal::NoStory),
        (Step::Next, Phase::Failed) => return Err(Refusal::RetryFirst),
        (Step::Next | Step::Retry, Phase::Exhausted) => return Err(Refusal::RetriesSpent),
        (Step::Retry, Phase::Ready) => return Err(Refusal::NothingFailed),
        _ => {}
    }
    match &mut progress.story {
        Some(story) if story.id == id => {
            story.title = title;
            story.attempt = attempt;
        }
        other => {
            *other = Some(Current {
                id,
                title,
                retries: 0,
                failures: 0,
                attempt,
                reason: None,
                verdict: None,
            });
        }
    }
    progress.phase = Phase::Running;
    Ok(vec![Action::Attempt])
}

fn ended(progress: &mut Progress, verdict: Verdict, reason: Option<String>) -> Result<Vec<Action>, Refusal> {
    let max_retries = progress.max_retries;
    let (Phase::Running, Some(story)) = (progress.phase, &mut progress.story) else {
        return Err(Refusal::NotRunning);
    };
    if verdict == Verdict::Complete {
        let done = Completed {
            id: story.id.clone(),
            title: story.title.clone(),
        };
        progress.completed.push(done);
        progress.story = None;
        progress.phase = Phase::Ready;
        return Ok(vec![Action::Checkpoint]);
    }
    story.verdict = Some(verdict);
    if verdict.counts() {
        // A hand-made failure after the last retry must not count beyond the limit.
        story.failures = story
            .failures
            .saturating_add(1)
            .min(max_retries.saturating_add(1));
        story.retries = story.failures.saturating_sub(1);
        story.reason = reason;
    }
    progress.phase = idle_phase(progress);
    Ok(if progress.phase == Phase::Exhausted && verdict.counts() {
        vec![Action::KeepAndRevert, Action::TellExhausted]
    } else {
        vec![Action::KeepAndRevert]
    })
}

fn skip(progress: &mut Progress, id: String) -> Result<Vec<Action>, Refusal> {
    require_idle(progress)?;
    if progress.story.as_ref().is_some_and(|story| story.id == id) {
        progress.story = None;
        progress.phase = Phase::Ready;
    }
    if !progress.skipped.contains(&id) {
        progress.skipped.push(id);
    }
    Ok(Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fresh(max_retries: u32) -> Progress {
        Progress {
            phase: Phase::Ready,
            max_retries,
            skipped: Vec::new(),
            story: None,
            completed: Vec::new(),
        }
    }

    fn begin_of(step: Step, id: &str, attempt: u32) -> Event {
        Event::Begin {
            step,
            id: id.to_owned(),
            title: format!("title of {id}"),
            attempt,
        }
    }

    fn end_with(verdict: Verdict) -> Event {
        Event::Ended {
            verdict,
            reason: Some("why".to_owned()),
        }
    }

    fn run(progress: &Progress, events: impl IntoIterator<Item = Event>) -> Progress {
        let mut progress = progress.clone();
        for event in events {
            progress = super::step(&progress, event).unwrap().0;
        }
        progress
    }

    #[test]
    fn one_and_three_attempts_then_exhausted() {
        let mut progress = run(
            &fresh(3),
            [begin_of(Step::Next, "1", 1), end_with(Verdict::Failed)],
        );
        for attempt in 2..=4 {
            assert_eq!(progress.phase, Phase::Failed, "before attempt {attempt}");
            progress = run(
                &progress,
                [begin_of(Step::Retry, "1", attempt), end_with(Verdict::Failed)],
            );
        }
        assert_eq!(progress.phase, Phase::Exhausted);
        assert_eq!(progress.story.as_ref().unwrap().retries, 3);
        let again = super::step(&progress, begin_of(Step::Retry, "1", 5));
        assert_eq!(again.unwrap_err(), Refusal::RetriesSpent);
    }

    #[test]
    fn the_last_failure_is_told_once() {
        let begun = run(&fresh(0), [begin_of(Step::Next, "1", 1)]);
        let (_, actions) = super::step(&begun, end_with(Verdict::Failed)).unwrap();
        assert_eq!(actions, [Action::KeepAndRevert, Action::TellExhausted]);
    }

    #[test]
    fn next_after_a_failure_is_refused_and_retry_without_one_too() {
        let failed = run(
            &fresh(1),
            [begin_of(Step::Next, "1", 1), end_with(Verdict::NoSignal)],
        );
        let next = super::step(&failed, begin_of(Step::Next, "1", 2));
        assert_eq!(next.unwrap_err(), Refusal::RetryFirst);
        let retry = super::step(&fresh(1), begin_of(Step::Retry, "1", 1));
        assert_eq!(retry.unwrap_err(), Refusal::NothingFailed);
    }

    #[test]
    fn an_interrupted_attempt_changes_nothing_that_counts() {
        let failed = run(
            &fresh(1),
            [begin_of(Step::Next, "1", 1), end_with(Verdict::Failed)],
        );
        let after = run(
            &failed,
            [begin_of(Step::Retry, "1", 2), end_with(Verdict::Interrupted)],
        );
        assert_eq!(after.phase, Phase::Failed);
        let story = after.story.unwrap();
        assert_eq!((story.retries, story.reason.as_deref()), (0, Some("why")));
    }

    #[test]
    fn another_limit_opens_and_closes_what_is_exhausted() {
        let limit = |max_retries| Event::Limit { max_retries };
        let exhausted = run(
            &fresh(0),
            [begin_of(Step::Next, "1", 1), end_with(Verdict::Failed)],
        );
        let opened = run(&exhausted, [limit(1)]);
        assert_eq!(opened.phase, Phase::Failed);
        assert_eq!(run(&opened, [limit(0)]).phase, Phase::Exhausted);
    }

    #[test]
    fn a_person_may_complete_what_is_exhausted() {
        let exhausted = run(
            &fresh(0),
            [begin_of(Step::Next, "1", 1), end_with(Verdict::Failed)],
        );
        let done = run(
            &exhausted,
            [begin_of(Step::Hand, "1", 2), end_with(Verdict::Complete)],
        );
        assert_eq!((done.phase, done.completed.len()), (Phase::Ready, 1));
    }

    #[test]
    fn a_failed_story_that_is_gone_from_the_list_is_forgotten() {
        let failed = run(
            &fresh(1),
            [begin_of(Step::Next, "1", 1), end_with(Verdict::Failed)],
        );
        let listed = |ids: &[&str]| Event::Listed {
            incomplete: ids.iter().map(ToString::to_string).collect(),
        };
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
            Verdict::TimedOut,
            Verdict::RateLimited,
            Verdict::Overloaded,
            Verdict::Auth,
            Verdict::NotStarted,
            Verdict::AgentError,
            Verdict::Interrupted,
        ])
    }

    fn any_event() -> impl Strategy<Value = Event> {
        let id = || proptest::sample::select(vec!["1".to_owned(), "2".to_owned(), "3".to_owned()]);
        let asked = proptest::sample::select(vec![Step::Next, Step::Retry, Step::Hand]);
        prop_oneof![
            proptest::collection::vec(id(), 0..3).prop_map(|incomplete| Event::Listed { incomplete }),
            (asked, id(), 1..9u32).prop_map(|(step, id, attempt)| begin_of(step, &id, attempt)),
            any_verdict().prop_map(end_with),
            id().prop_map(|id| Event::Skip { id }),
            id().prop_map(|id| Event::Unskip { id }),
        ]
    }

    proptest! {
        #[test]
        fn the_invariants_hold(
            max_retries in 0..4u32,
            events in proptest::collection::vec(any_event(), 0..60),
        ) {
            let mut progress = fresh(max_retries);
            let mut agent_attempts = 0;
            for event in events {
                let was = progress.phase;
                let begun_by_agent = matches!(&event, Event::Begin { step: Step::Next | Step::Retry, .. });
                let counted = matches!(&event, Event::Ended { verdict, .. } if verdict.counts());
                let before = progress.story.clone();
                let Ok((next, actions)) = super::step(&progress, event) else { continue };
                let attempts = actions.iter().filter(|a| **a == Action::Attempt).count();
                prop_assert!(attempts == 0 || was != Phase::Running, "two attempts at once");
                prop_assert_eq!(next.phase == Phase::Running, attempts == 1);
                if let Some(story) = &next.story {
                    prop_assert!(story.retries <= max_retries);
                    prop_assert!(story.failures <= max_retries + 1);
                    if let Some(before) = before.filter(|b| b.id == story.id && was == Phase::Running) {
                        prop_assert_eq!(counted || story.failures == before.failures, true);
                    }
                }
                if begun_by_agent {
                    let failures = next.story.as_ref().map_or(0, |story| story.failures);
                    prop_assert!(failures <= max_retries, "an attempt beyond the limit");
                    agent_attempts += 1;
                }
                progress = next;
            }
            prop_assert!(agent_attempts <= 60);
            if progress.phase == Phase::Running {
                progress = super::step(&progress, end_with(Verdict::Interrupted)).unwrap().0;
            }
            let closed = super::step(&progress, Event::Close).unwrap().0;
            prop_assert_eq!(closed.phase, Phase::Finished);
            prop_assert_eq!(super::step(&closed, Event::Close).unwrap_err(), Refusal::Finished);
        }
    }
}
