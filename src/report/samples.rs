//! Sample reports for tests: of arbitrary events, and large ones.

use jiff::Timestamp;
use proptest::prelude::*;

use super::by_agent;
use super::changes::add_up;
use super::history;
use super::{Asked, FileChange, Gate, Outcome, OutcomeKind, Patch, Report, Totals, VERSION};
use crate::events::{Attempt, AttemptStarted, Event, GateEnded, ReviewEnded, What};
use crate::names::{Change, Oid};
use crate::state::{Phase, Verdict};

/// A text that would do harm as markup.
const HOSTILE: &str = "</pre><script>alert(1)</script>`|@x\u{202e}\0";

fn oid(digit: u8) -> Oid {
    Oid::parse(&format!("{digit:x}").repeat(40)[..40]).unwrap()
}

fn verdicts() -> impl Strategy<Value = Verdict> {
    prop::sample::select(vec![
        Verdict::Complete,
        Verdict::Failed,
        Verdict::GateFailed,
        Verdict::ReviewRejected,
        Verdict::RateLimited,
        Verdict::Interrupted,
    ])
}

/// Generates an arbitrary event.
fn what() -> impl Strategy<Value = What> {
    let story = || prop::sample::select(vec!["1", "2", "a b", HOSTILE]).prop_map(str::to_owned);
    let number = || 1_u32..5;
    let reason = || {
        prop::option::of(prop::sample::select(vec!["red", "red\nvery", "", HOSTILE]).prop_map(str::to_owned))
    };
    let ended = (
        story(),
        number(),
        verdicts(),
        reason(),
        -5.0..5000.0_f64,
        prop::option::of(0.0..3.0_f64),
        prop::option::of(0_u64..1_000_000),
        prop::option::of(0_u64..1000),
        -1000_i64..1000,
    );
    prop_oneof![
           1 => (0_u8..16).prop_map(|digit| What::Started {
               branch: "ralph/c".to_owned(),
               original_branch: None,
               original_head: None,
               checkpoint: oid(digit),
               source: "tasks.md".to_owned(),
           }),
           8 => (story(), number()).prop_map(|(story, attempt)| What::AttemptStarted(AttemptStarted {
    slot: None,
               title: format!("{story}. Title"),
               story,
               attempt,
               retries: 0,
               max_retries: 3,
               done: 0,
               total: 2,
               agent: Some("claude".to_owned()),
               format: None,
               log: None,
               settings: None,
           })),
           12 => ended.prop_map(|(story, number, verdict, reason, duration, cost, input, output, started)| {
               What::AttemptEnded(Box::new(Attempt {
                   started: Timestamp::from_second(started).unwrap(),
                   duration,
                   cost_usd: cost,
                   input_tokens: input,
                   cache_read_tokens: output,
                   output_tokens: output,
                   ..Attempt::ended(&story, number, verdict, reason, Timestamp::UNIX_EPOCH)
               }))
           }),
           4 => (prop::option::of(story()), number(), any::<bool>(), 0.0..100.0_f64).prop_map(|(story, number, passed, duration)| What::Gate(GateEnded {
               attempt: story.is_some().then_some(number),
               story,
               command: "make test".to_owned(),
               passed,
               reason: None,
               duration,
               output: None,
               held: number % 2 == 0,
               slot: None,
           })),
           3 => (story(), number(), prop::option::of(any::<bool>()), reason(), 0.0..100.0_f64).prop_map(
               |(story, attempt, accepted, words, duration)| What::Review(ReviewEnded {
                   story,
                   attempt,
                   reviewer: HOSTILE.to_owned(),
                   accepted,
                   words,
                   duration,
                   cost_usd: Some(duration),
                   output: None,
               })
           ),
           4 => (prop::option::of(story()), number(), 0_u8..16).prop_map(|(story, number, digit)| What::Checkpoint {
               story,
               attempt: Some(number),
               oid: oid(digit),
               slot: None,
           }),
           4 => (story(), number(), 0_u8..16).prop_map(|(story, number, digit)| What::Reverted {
               kept: Some(format!("refs/ralph/c/attempts/x/{number}")),
               story: Some(story),
               attempt: Some(number),
               oid: oid(digit),
               changed: true,
               slot: None,
           }),
           2 => (0_u64..1000, -1000_i64..1000).prop_map(|(seconds, until)| What::Waiting {
               reason: HOSTILE.to_owned(),
               seconds,
               until: Timestamp::from_second(until).unwrap(),
           }),
           1 => Just(What::Notice { message: HOSTILE.to_owned() }),
           1 => (story(), reason()).prop_map(|(story, reason)| What::Retry { story, retries: 1, max_retries: 3, reason }),
       ]
}

/// Generates the events of loops, with a clock that may go back.
pub(crate) fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = (what(), -1000_i64..1000).prop_map(|(what, t)| Event {
        v: 1,
        t: Timestamp::from_second(t).unwrap(),
        what,
        change: "c".to_owned(),
    });
    prop::collection::vec(event, 0..60)
}

/// Makes the report of some events, without a repository.
pub(crate) fn report_of(events: &[Event]) -> Report {
    let mut report = Report {
        v: VERSION,
        change: Change::new("c").unwrap(),
        made_by: String::new(),
        git: None,
        made: Timestamp::UNIX_EPOCH,
        phase: Phase::Ready,
        outcome: Outcome {
            kind: OutcomeKind::Stopped,
            text: HOSTILE.repeat(50),
        },
        branch: "ralph/c".to_owned(),
        original_branch: Some("main".to_owned()),
        original_head: None,
        tip: oid(1),
        agents: Vec::new(),
        by_agent: Vec::new(),
        environments: Vec::new(),
        started: None,
        ended: None,
        totals: Totals::default(),
        stories: Vec::new(),
        gates: Vec::new(),
        events: Vec::new(),
        files: Vec::new(),
        compare_url: None,
        closed: None,
        dropped: Vec::new(),
    };
    history::add(&mut report, events, &[]);
    let stories = report.stories.len();
    report.sum_up(0, stories);
    report.by_agent = by_agent::of(&report);
    report
}

/// Makes the report of a loop with this many attempts; each has a reason and a patch of up to `length` bytes.
pub(crate) fn large(attempts: u32, length: usize) -> Report {
    let line = format!("+{}\n", &HOSTILE.repeat(20)[..100]);
    let text = line.repeat(length / line.len());
    let mut events = Vec::new();
    for number in 0..attempts {
        let verdict = if number % 3 == 0 {
            Verdict::Failed
        } else {
            Verdict::Complete
        };
        let story = format!("{}", number / 3);
        let started = Timestamp::from_second(i64::from(number) * 10).unwrap();
        let ended = Attempt::ended(&story, number % 3 + 1, verdict, Some(text.clone()), started);
        events.push(Event {
            v: 1,
            t: started,
            what: What::AttemptEnded(Box::new(ended)),
            change: "c".to_owned(),
        });
    }
    let mut report = report_of(&events);
    let change = FileChange {
        path: HOSTILE.to_owned(),
        old_path: None,
        status: "modified",
        insertions: Some(1),
        deletions: None,
    };
    for story in &mut report.stories {
        story.asked = Some(Asked {
            text: HOSTILE.repeat(10),
            tasks: Vec::new(),
        });
    }
    for attempt in report.stories.iter_mut().flat_map(|story| &mut story.attempts) {
        attempt.message = Some(HOSTILE.repeat(10));
        attempt.gates = vec![Gate {
            command: HOSTILE.to_owned(),
            passed: true,
            reason: None,
            ended: attempt.entry.attempt.started,
            duration: 1.0,
            output: Some(HOSTILE.repeat(10)),
            held: true,
            printed: None,
        }];
        attempt.diff = Some(vec![change.clone(); 3]);
        attempt.patch = Some(Patch {
            text: text.clone(),
            is_cut: false,
        });
        attempt.entry.checkpoint = attempt.is_complete().then(|| oid(2));
    }
    add_up(&mut report);
    report
}
