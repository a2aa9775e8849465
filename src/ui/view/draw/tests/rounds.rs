//! Rounds of an attempt, and stories that are worked on at once.

use super::*;

#[test]
fn list_says_in_which_round_an_attempt_is() {
    let round_started = |round| What::RoundStarted {
        story: "2".to_owned(),
        attempt: 2,
        round,
        why: crate::events::Further::Continue,
        left: None,
    };
    let mut all = events();
    all.push(event(230, round_started(2)));
    let rows = drawn(&model(all.clone()), &Chosen::default(), OUTPUT, (100, 16));
    assert!(rows[4].starts_with("   >@2 round 2, 2 left "), "{rows:#?}");
    all.push(event(240, attempt_ended("2", 2, Verdict::Complete, None)));
    if let What::AttemptEnded(ended) = &mut all.last_mut().unwrap().what {
        ended.rounds = Some(2);
    }
    let rows = drawn(&model(all), &Chosen::default(), OUTPUT, (100, 16));
    assert!(rows[4].starts_with("   >@2 complete, 2 rounds "), "{rows:#?}");
}

#[test]
fn title_says_how_many_stories_are_worked_on() {
    let mut model = Model::new("add-login", &listed());
    model.take(&besides(&[("2", 1), ("3", 2)]));
    let rows = drawn(&model, &Chosen::default(), OUTPUT, (80, 24));
    assert!(rows[0].contains("2 running"), "{rows:#?}");
    let running = |row: &&String| row.contains("running, 3 left");
    assert_eq!(rows.iter().filter(running).count(), 2, "{rows:#?}");
}
