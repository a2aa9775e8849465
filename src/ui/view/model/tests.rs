use std::path::PathBuf;

use super::*;
use crate::events::log::History;
use crate::events::{Attempt as Ended, AttemptStarted};
use crate::inspect::beside::Stage;
use crate::names::Change;
use proptest::prelude::*;

pub fn event(second: i64, what: What) -> Event {
    Event {
        t: Timestamp::from_second(1_790_000_000 + second).unwrap(),
        ..Event::now("add-login", what)
    }
}

pub fn attempt_started(story: &str, title: &str, attempt: u32, done: usize) -> What {
    What::AttemptStarted(AttemptStarted {
        slot: None,
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
    })
}

pub fn attempt_ended(story: &str, attempt: u32, verdict: Verdict, reason: Option<&str>) -> What {
    let since = Timestamp::from_second(1_790_000_000).unwrap();
    What::AttemptEnded(Box::new(Ended {
        duration: 91.0,
        cost_usd: Some(0.42),
        ..Ended::ended(story, attempt, verdict, reason.map(ToOwned::to_owned), since)
    }))
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
    let reason = (("2".to_owned(), 1), "3 tests failed".to_owned());
    assert_eq!(model.reason, Some(reason));
    let (story, attempt) = model.running().unwrap();
    assert_eq!((story.id.as_str(), attempt.number, attempt.left), ("2", 2, 2));
    assert!(!model.stories[2].title.contains('\u{1b}'));
    // The same as `git ralph log` says.
    let ended: usize = model.stories.iter().map(|story| story.attempts.len()).sum();
    assert_eq!(ended - 1, History::of(&events()).ended().count());
}

#[test]
fn time_of_an_attempt_includes_its_gates() {
    let gate = r#"{"v":1,"t":"2026-09-21T14:17:00Z","change":"add-login","event":"gate","story":"2","attempt":2,
        "command":"make","passed":true,"reason":null,"duration":9}"#;
    let mut model = model_of(&events());
    model.event(&serde_json::from_str(gate).unwrap());
    model.event(&event(312, attempt_ended("2", 2, Verdict::Complete, None)));
    let last = model.stories[1].attempts.last().unwrap();
    assert_eq!(last.ended, Some((Verdict::Complete, 100.0)));
}

#[test]
fn a_new_loop_begins_without_the_attempts_of_the_one_before() {
    let mut model = model_of(&events());
    model.take(&News {
        restarted: true,
        is_driven: true,
        ..News::default()
    });
    assert!(model.stories.iter().all(|story| story.attempts.is_empty()));
    assert_eq!((model.cost, model.is_driven), (None, true));
}

#[test]
fn second_loop_begins_with_the_marks_of_its_list() {
    let marks = |model: &Model| -> String { model.stories.iter().map(|story| story.mark.sign()).collect() };
    let mut model = model_of(&events());
    model.event(&event(300, attempt_started("9", "Gone", 1, 1)));
    assert_eq!(marks(&model), "v* *");
    let begun = r#"{"v":1,"t":"2026-09-21T14:17:00Z","change":"add-login","event":"started","branch":"ralph/add-login",
        "original_branch":"main","original_head":null,"checkpoint":"1111111111111111111111111111111111111111",
        "source":"tasks.md"}"#;
    let begun: Event = serde_json::from_str(begun).unwrap();
    let mut again = model.clone();
    again.event(&begun);
    assert_eq!((marks(&again).as_str(), again.reason.clone()), ("   ", None));
    again.event(&event(400, attempt_started("1", "Form", 1, 0)));
    assert_eq!(marks(&again), "*  ");
    // What the first loop has done can stay in the list.
    let mut list = listed();
    list[0].2 = true;
    model.take(&News {
        listed: Some(list),
        events: vec![begun],
        ..News::default()
    });
    assert_eq!(marks(&model), "v  ");
}

/// The news that these attempts run side by side.
pub fn besides(names: &[(&str, u32)]) -> News {
    let beside = |(at, (story, attempt)): (usize, &(&str, u32))| ParallelAttempt {
        slot: 1,
        story: (*story).to_owned(),
        title: String::new(),
        attempt: *attempt,
        side: Change::new("add-login")
            .unwrap()
            .side(u16::try_from(at).unwrap())
            .unwrap(),
        worktree: String::new(),
        top: PathBuf::new(),
        left: 3,
        since: Timestamp::from_second(1_790_000_300 + i64::try_from(at).unwrap()).ok(),
        last_output: None,
        stage: Stage::Running,
    };
    News {
        beside: names.iter().enumerate().map(beside).collect(),
        is_driven: true,
        ..News::default()
    }
}

#[test]
fn attempts_side_by_side_run_until_the_events_tell_of_them() {
    let mut model = Model::new("add-login", &listed());
    let marks = |model: &Model| -> String { model.stories.iter().map(|story| story.mark.sign()).collect() };
    let counts =
        |model: &Model| -> Vec<usize> { model.stories.iter().map(|story| story.attempts.len()).collect() };
    let open = marks(&model);
    let all: Vec<String> = model.stories.iter().map(|story| story.id.clone()).collect();
    let (one, two) = (all[1].as_str(), all[2].as_str());
    model.take(&besides(&[(one, 1), (two, 1)]));
    assert_eq!((&marks(&model)[1..3], &counts(&model)[1..3]), ("**", &[1, 1][..]));
    // The loop takes one in: it is not there twice.
    let mut news = besides(&[(one, 1), (two, 1)]);
    news.events = vec![event(305, attempt_started(one, "Session", 1, 0))];
    model.take(&news);
    assert_eq!(&counts(&model)[1..3], [1, 1]);
    assert!(model.stories[1].attempts[0].beside.is_none());
    let mut news = besides(&[(one, 1), (two, 1)]);
    news.events = vec![event(310, attempt_ended(one, 1, Verdict::Complete, None))];
    model.take(&news);
    assert_eq!(&marks(&model)[1..3], "v*");
    // The other one is gone without a trace.
    model.take(&besides(&[]));
    assert_eq!((&marks(&model)[1..2], &marks(&model)[2..3]), ("v", &open[2..3]));
    assert_eq!(counts(&model)[2], 0);
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
