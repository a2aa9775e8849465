use super::*;

fn ended(verdict: Verdict, reason: Option<&str>) -> Attempt {
    Attempt::ended(
        "1",
        1,
        verdict,
        reason.map(str::to_owned),
        jiff::Timestamp::UNIX_EPOCH,
    )
}

#[test]
fn an_attempt_whose_checkpoint_was_cut_off_is_not_complete() {
    let first = Attempt {
        cost_usd: Some(0.5),
        ..ended(Verdict::Complete, None)
    };
    let again = ended(Verdict::Interrupted, Some("cut off"));
    let events = [first, again].map(|attempt| Event::now("x", What::AttemptEnded(Box::new(attempt))));
    let history = History::of(&events);
    let attempts: Vec<_> = history
        .ended()
        .map(|entry| {
            (
                entry.attempt.verdict,
                entry.attempt.reason.as_deref(),
                entry.attempt.cost_usd,
            )
        })
        .collect();
    assert_eq!(attempts, [(Verdict::Interrupted, Some("cut off"), Some(0.5))]);
}

#[test]
fn a_reader_takes_each_event_once() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("events.jsonl");
    let line = |number| {
        let attempt = Attempt::ended("1", number, Verdict::Failed, None, Timestamp::UNIX_EPOCH);
        serde_json::to_string(&Event::now("x", What::AttemptEnded(Box::new(attempt)))).unwrap() + "\n"
    };
    let (mut reader, [first, second]) = (Reader::default(), [1, 2].map(line));
    let (half, rest) = second.split_at(20);
    for (text, ended) in [
        (String::new(), 0),
        (first.clone() + half, 1),
        (first.clone() + half + rest, 2),
        (first.clone(), 1),
    ] {
        std::fs::write(&file, &text).unwrap();
        reader.read_on(&file).unwrap();
        assert_eq!(reader.history.ended().count(), ended, "{text}");
    }
}
