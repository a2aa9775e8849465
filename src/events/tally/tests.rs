use std::fs;
use std::io::Write;

use jiff::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::events::log::{Log, attempts};
use crate::events::{AttemptStarted, Basis, Event, GateEnded, ListPutBack, What};
use crate::names::{Change, Oid};
use crate::state::Undone;

fn oid() -> Oid {
    Oid::parse(&"1".repeat(40)).unwrap()
}

fn started(story: &str, attempt: u32) -> What {
    What::AttemptStarted(AttemptStarted {
        story: story.to_owned(),
        attempt,
        ..AttemptStarted::default()
    })
}

fn ended(story: &str, attempt: u32, verdict: Verdict) -> What {
    What::AttemptEnded(Box::new(Attempt {
        duration: 0.1 * f64::from(attempt),
        cost_usd: (!attempt.is_multiple_of(3)).then(|| 0.1 * f64::from(attempt)),
        base: (attempt == 4).then(oid),
        files: Some(u64::from(attempt % 2)),
        rests_on: vec![Basis::Promise],
        reason: Some(format!("\"{story}\"\n")),
        ..Attempt::ended(story, attempt, verdict, None, Timestamp::UNIX_EPOCH)
    }))
}

fn gate(story: &str, attempt: u32) -> What {
    What::Gate(GateEnded {
        story: Some(story.to_owned()),
        attempt: Some(attempt),
        command: "make".to_owned(),
        passed: true,
        reason: None,
        duration: 0.7,
        output: None,
        held: false,
        slot: None,
    })
}

fn gate_before_work() -> What {
    match gate("a", 1) {
        What::Gate(gate) => What::Gate(GateEnded {
            story: None,
            attempt: None,
            ..gate
        }),
        other => other,
    }
}

fn undone(story: String, attempt: u32) -> Undone {
    Undone {
        story,
        attempt,
        kept: String::new(),
        oid: oid(),
    }
}

fn what() -> impl Strategy<Value = What> {
    let verdict = prop_oneof![
        Just(Verdict::Complete),
        Just(Verdict::NoSignal),
        Just(Verdict::Interrupted),
    ];
    (0..13_u8, "[ab]", 1..9_u32, verdict).prop_map(|(kind, story, attempt, verdict)| match kind {
        0 => What::Started {
            branch: String::new(),
            original_branch: None,
            original_head: None,
            checkpoint: oid(),
            source: String::new(),
        },
        1..4 => started(&story, attempt),
        4..8 => ended(&story, attempt, verdict),
        8 => gate(&story, attempt),
        11 => gate_before_work(),
        9 => What::ListPutBack(ListPutBack {
            story,
            attempt,
            list: String::new(),
            what: "a box".to_owned(),
            kept: String::new(),
            shown: String::new(),
        }),
        10 => What::Redone {
            stories: vec![undone(story, attempt)],
            oid: oid(),
            words: None,
        },
        _ => What::Checkpoint {
            story: Some(story),
            attempt: Some(attempt),
            oid: oid(),
            slot: None,
        },
    })
}

fn lines(events: &[What]) -> Vec<u8> {
    let lines = events.iter().map(|what| Event::now("c", what.clone()).line());
    lines.collect::<String>().into_bytes()
}

/// The events of attempts as they are made: each has a number of its own.
fn in_order(attempts: u32) -> Vec<What> {
    let each = (1..=attempts).flat_map(|number| {
        let story = if number % 5 == 0 { "b" } else { "a" };
        let verdict = if number % 5 == 0 {
            Verdict::Complete
        } else {
            Verdict::NoSignal
        };
        [started(story, number), ended(story, number, verdict)]
    });
    each.collect()
}

fn remember_all(events: &Path) {
    let door = Below::new(events.parent().unwrap());
    remember_now(&door, events, fs::metadata(events).unwrap().len()).unwrap();
}

/// Checks that all readers agree.
fn check(events: &Path) -> Result<(), TestCaseError> {
    let found = Tally::read(events).unwrap();
    let log = Log::read(Change::new("c").unwrap(), events).unwrap();
    let of_log = Tally {
        before_work: log.before_work,
        ..attempts(events).unwrap().iter().collect()
    };
    let _ = fs::remove_file(Remembered::file(events));
    prop_assert_eq!(&found, &Tally::read(events).unwrap());
    for story in ["a", "b"] {
        prop_assert_eq!(found.latest(story), of_log.latest(story));
        prop_assert_eq!(found.complete(story), of_log.complete(story));
    }
    let without_stories = |tally: Tally| Tally {
        stories: BTreeMap::new(),
        ..tally
    };
    prop_assert_eq!(without_stories(found), without_stories(of_log));
    Ok(())
}

proptest! {
    #[test]
    fn what_is_remembered_never_changes_the_answer(
        parts in proptest::collection::vec(proptest::collection::vec(what(), 0..8), 1..4),
        edit in 0..7_u8,
        place in any::<proptest::sample::Index>(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let events = dir.path().join("events.jsonl");
        let mut file = fs::File::create(&events).unwrap();
        let (last, first) = parts.split_last().unwrap();
        for part in first {
            file.write_all(&lines(part)).unwrap();
            remember_all(&events);
        }
        let mut bytes = fs::read(&events).unwrap();
        let at = place.index(bytes.len() + 1);
        let byte = bytes.get(at).copied();
        match (edit, byte) {
            (0, _) => bytes.truncate(at),
            (1, Some(byte)) => bytes[at] = if byte == b'1' { b'2' } else { b'1' },
            (2, _) => drop(bytes.splice(at..at, lines(last))),
            (3, _) => bytes = lines(last),
            _ => {}
        }
        bytes.extend(lines(last));
        fs::write(&events, bytes).unwrap();
        check(&events)?;
    }
}

#[test]
fn what_is_remembered_is_not_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let events = dir.path().join("events.jsonl");
    let mut all = in_order(12);
    all.insert(1, gate("a", 1));
    let (first, rest) = all.split_at(17);
    assert!(reader_of_last(&events).unwrap().is_none());
    fs::write(&events, lines(first)).unwrap();
    remember_all(&events);
    let known = Remembered::file(&events);
    let mut remembered = Remembered::read(&events).unwrap();
    assert_eq!(remembered.first.tally.attempts, 8);
    // Nothing but this file can say so.
    remembered.first.tally.attempts = 1_000;
    let text = toml::to_string(&remembered).unwrap();
    fs::write(&known, &text).unwrap();
    let mut file = fs::File::options().append(true).open(&events).unwrap();
    file.write_all(&lines(rest)).unwrap();
    assert_eq!(Tally::read(&events).unwrap().attempts, 1_004);
    let mut reader = reader_of_last(&events).unwrap().unwrap();
    reader.read_on(&events).unwrap();
    assert_eq!(reader.history.ended().count(), 4);
    assert!(reader.gates.contains("make"));
    for other in [
        text.replace("form = 2", "form = 3"),
        text.replace("version = \"", "version = \"x"),
        text.replace("end = ", "end = 1"),
        text[..text.len() / 2].to_owned(),
    ] {
        fs::write(&known, other).unwrap();
        assert_eq!(Tally::read(&events).unwrap().attempts, 12);
    }
    fs::write(&known, &text).unwrap();
    // An attempt that was counted is undone by the user, or is over by a crash.
    for what in [
        What::Redone {
            stories: vec![undone("b".to_owned(), 5)],
            oid: oid(),
            words: None,
        },
        ended("b", 5, Verdict::Interrupted),
    ] {
        let before = fs::read(&events).unwrap();
        file.write_all(&lines(&[what])).unwrap();
        let tally = Tally::read(&events).unwrap();
        assert_eq!(tally.attempts, 12);
        assert_eq!(tally.complete("b").map(|one| one.attempt), Some(10));
        fs::write(&events, before).unwrap();
    }
}

#[test]
fn few_events_are_not_remembered_and_a_line_that_breaks_off_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let (door, events) = (Below::new(dir.path()), dir.path().join("events.jsonl"));
    let known = Remembered::file(&events);
    remember(&door, &events).unwrap();
    let mut bytes = lines(&in_order(10));
    fs::write(&events, &bytes).unwrap();
    remember(&door, &events).unwrap();
    assert!(!known.exists());
    let notice = What::Notice {
        message: "x".repeat(1 << 20),
    };
    bytes.extend(lines(&[notice]));
    fs::write(&events, &bytes[..bytes.len() - 1]).unwrap();
    remember(&door, &events).unwrap();
    assert!(!known.exists());
    fs::write(&events, &bytes).unwrap();
    remember(&door, &events).unwrap();
    let end = |events: &Path| Remembered::read(events).map(|known| known.first.end);
    assert_eq!(end(&events), Some(bytes.len() as u64));
    // Another file, which is shorter.
    fs::write(&events, &bytes[10..]).unwrap();
    remember(&door, &events).unwrap();
    assert_eq!(end(&events), Some(bytes.len() as u64 - 10));
}

#[test]
fn gates_before_any_work_are_a_sum_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let events = dir.path().join("events.jsonl");
    let all = [
        gate_before_work(),
        gate_before_work(),
        started("a", 1),
        gate("a", 1),
        ended("a", 1, Verdict::Complete),
    ];
    fs::write(&events, lines(&all)).unwrap();
    let tally = Tally::read(&events).unwrap();
    assert!((tally.before_work - 1.4).abs() < 1e-9, "{}", tally.before_work);
    assert!(tally.seconds < 1.0, "{}", tally.seconds);
}
