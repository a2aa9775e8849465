//! Tests of single changes, and of random sequences of them.

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
    TurnTo(String),
    LeaveUnfailed,
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
            Self::TurnTo(id) => progress.turn_to(id)?,
            Self::LeaveUnfailed => progress.leave_unfailed()?,
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
fn stories_side_by_side_fail_and_end_each_for_itself() {
    let turn_to = |id: &str| Ask::TurnTo(id.to_owned());
    let failed = || Ask::End(Verdict::Failed);
    let both = run(
        &fresh(1),
        [
            turn_to("1"),
            begin(Step::Next, "1", 1),
            failed(),
            turn_to("2"),
            begin(Step::Next, "2", 1),
            failed(),
            turn_to("1"),
            begin(Step::Retry, "1", 2),
            failed(),
        ],
    );
    assert_eq!(both.phase, Phase::Exhausted);
    let failures = |progress: &Progress, id| progress.failed(id).map_or(0, |story| story.failures);
    assert_eq!((failures(&both, "1"), failures(&both, "2")), (2, 1));
    // The other story is complete; the first has no retries left, however it is chosen.
    let after = run(
        &both,
        [
            turn_to("2"),
            begin(Step::Retry, "2", 2),
            Ask::End(Verdict::Complete),
        ],
    );
    assert_eq!(after.phase, Phase::Ready);
    assert_eq!(
        after.clone().begin(Step::Next, "1", "title", 3),
        Err(Refusal::RetriesSpent)
    );
    assert_eq!(run(&after, [turn_to("1")]).phase, Phase::Exhausted);
    // A conflict is not counted, and has a reason.
    let conflict = run(
        &fresh(0),
        [begin(Step::Next, "1", 1), Ask::End(Verdict::Conflict)],
    );
    assert_eq!(conflict.phase, Phase::Ready);
    assert_eq!(conflict.story.unwrap().reason.as_deref(), Some("why"));
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
        Verdict::Conflict,
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
        id().prop_map(Ask::TurnTo),
        Just(Ask::LeaveUnfailed),
    ]
}

/// Drives these stories with `ralph.onFailure=later`; calls `succeeds` for each attempt. Returns the final progress and
/// the stories in the order of their attempts.
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
            progress.put_off(progress.completed.len()).unwrap();
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
fn a_raised_limit_gives_stories_that_were_put_off_their_retries() {
    let stories = ["a", "b", "c"].map(ToOwned::to_owned);
    let (mut progress, _) = drive_later(&stories, 0, |_| false);
    let left = |progress: &Progress| progress.story.as_ref().map(|story| story.id.clone());
    assert_eq!(left(&progress).as_deref(), Some("a"));
    // The same limit again changes nothing.
    progress.limit(0).unwrap();
    assert!(!progress.may_put_off());
    progress.limit(1).unwrap();
    let mut tried = Vec::new();
    while let Some(id) = left(&progress) {
        assert_eq!(progress.phase, Phase::Failed, "{id}");
        progress.begin(Step::Retry, &id, "title", 9).unwrap();
        progress.end(Verdict::Failed, None, None).unwrap();
        tried.push(id);
        if !progress.may_put_off() {
            break;
        }
        progress.put_off(progress.completed.len()).unwrap();
        progress.take_up().unwrap();
    }
    assert_eq!(tried.concat(), "abc");
    assert_eq!(progress.phase, Phase::Exhausted);
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
    let is = |tried: &str, left: &str, skipped: &str| (tried.to_owned(), left.to_owned(), skipped.to_owned());
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
