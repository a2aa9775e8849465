use proptest::prelude::*;
use ratatui::buffer::Cell;

use super::*;
use crate::events::What;
use crate::inspect::follow::News;
use crate::state::{AwaitingChoice, RunningGate};
use crate::ui::view::model::tests::{attempt_ended, event, events, listed};

fn model(events: Vec<crate::events::Event>) -> Model {
    let mut model = Model::new("add-login", &listed());
    model.take(&News {
        events,
        is_driven: true,
        ..News::default()
    });
    model.begun = Some(Timestamp::from_second(1_790_000_000).unwrap());
    model
}

fn output(text: &[u8]) -> Lines {
    let mut lines = Lines::default();
    lines.push(text);
    lines
}

/// The rows of a screen of this size, without blanks at their ends.
fn drawn(model: &Model, chosen: &Chosen, text: &[u8], (width, height): (u16, u16)) -> Vec<String> {
    let output = output(text);
    let scene = Scene {
        model,
        which: (0, 1),
        chosen,
        output: &output,
        now: Timestamp::from_second(1_790_000_316).unwrap(),
    };
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    scene.draw(area, &mut buffer);
    let rows = buffer.content.chunks(usize::from(width.max(1)));
    rows.map(|row| {
        row.iter()
            .map(Cell::symbol)
            .collect::<String>()
            .trim_end()
            .to_owned()
    })
    .collect()
}

const OUTPUT: &[u8] = b"  read  src/login.rs\n  $ cargo test\ntest login::rate ... FAILED\n";

#[test]
fn a_wide_screen_has_the_list_and_the_output() {
    let rows = drawn(&model(events()), &Chosen::default(), OUTPUT, (100, 16));
    assert_eq!(
        rows[0],
        "add-login  1 of 3 stories  5m 16s  $0.84  claude  running"
    );
    assert_eq!(rows[1], " v 1  Form                1m 31s |   read  src/login.rs");
    assert!(rows[2].starts_with(">* 2  Session"), "{rows:#?}");
    assert_eq!(
        rows[3],
        "    @1 gate failed        1m 31s | test login::rate ... FAILED"
    );
    assert_eq!(rows[4], "   >@2 running, 2 left    1m 31s |");
    assert!(rows[5].starts_with("   3  A title ^[[31m from"), "{rows:#?}");
    assert_eq!(rows[14], "the attempt before: 3 tests failed");
    assert!(rows[15].starts_with("Enter log  d diff  r raw  S stop  ? keys  q leave"));
    assert!(rows[15].ends_with("[follow]"));
}

#[test]
fn a_narrow_screen_has_one_of_both_and_a_tiny_one_a_line() {
    let model = model(events());
    let rows = drawn(&model, &Chosen::default(), OUTPUT, (40, 10));
    assert_eq!(rows[0], "add-login  1 of 3 stories  5m 16s  $0.84");
    assert_eq!(rows[3], "test login::rate ... FAILED");
    assert!(
        rows[9].ends_with("[follow]") && rows[9].contains("q leave"),
        "{rows:#?}"
    );
    let list = Chosen {
        list: true,
        ..Chosen::default()
    };
    let rows = drawn(&model, &list, OUTPUT, (40, 10));
    assert_eq!(rows[1], " v 1  Form                       1m 31s");
    let rows = drawn(&model, &Chosen::default(), OUTPUT, (19, 3));
    assert_eq!(rows, ["add-login 1/3 2@2 1", "", ""]);
}

#[test]
fn every_state_fits_every_size() {
    let states = [
        Vec::new(),
        events(),
        [
            events(),
            vec![
                event(
                    300,
                    attempt_ended("2", 2, Verdict::RateLimited, Some("5-hour limit")),
                ),
                event(
                    301,
                    What::Waiting {
                        reason: "5-hour limit".to_owned(),
                        seconds: 600,
                        until: Timestamp::from_second(1_790_000_900).unwrap(),
                    },
                ),
            ],
        ]
        .concat(),
        [events(), vec![event(310, What::Complete { done: 3, total: 3 })]].concat(),
    ];
    for events in states {
        let waits = events
            .iter()
            .any(|event| matches!(event.what, What::Waiting { .. }));
        let model = model(events);
        for size in [
            (120, 30),
            (80, 24),
            (60, 20),
            (40, 10),
            (20, 5),
            (10, 2),
            (1, 1),
            (0, 0),
        ] {
            for (help, list) in [(false, false), (true, false), (false, true)] {
                let chosen = Chosen {
                    help,
                    list,
                    ..Chosen::default()
                };
                let rows = drawn(&model, &chosen, OUTPUT, size);
                assert_eq!(rows.len(), usize::from(size.1) * usize::from(size.0.min(1)));
                if size.0 >= 80 && waits {
                    assert!(rows[0].contains("waiting, 9m 44s left"), "{rows:#?}");
                }
            }
        }
    }
}

#[test]
fn output_that_was_scrolled_says_how_much_is_new() {
    let chosen = Chosen {
        below: 1,
        seen: 1,
        ..Chosen::default()
    };
    let rows = drawn(&model(events()), &chosen, OUTPUT, (60, 10));
    assert_eq!(rows[2], "  $ cargo test");
    assert!(rows[9].ends_with("[paused, 2 new lines]"), "{rows:#?}");
}

#[test]
fn colours_say_nothing_that_words_do_not() {
    let model = model(events());
    let rows = |coloured| {
        let chosen = Chosen {
            coloured,
            ..Chosen::default()
        };
        drawn(&model, &chosen, OUTPUT, (120, 30))
    };
    assert_eq!(rows(true), rows(false));
}

proptest! {
    #[test]
    fn no_byte_of_an_agent_reaches_the_terminal_as_a_control_character(
        bytes in prop::collection::vec(any::<u8>(), 0..300), width in 0_u16..100, height in 0_u16..20
    ) {
        for row in drawn(&model(events()), &Chosen::default(), &bytes, (width, height)) {
            prop_assert!(!row.contains(char::is_control));
        }
    }
}

#[test]
fn a_gate_before_any_work_is_shown_with_a_clock() {
    let mut model = model(Vec::new());
    model.gate = Some(RunningGate {
        command: "make test".to_owned(),
        since: Timestamp::from_second(1_790_000_304).unwrap(),
    });
    let rows = drawn(&model, &Chosen::default(), b"", (100, 16));
    assert!(rows[0].ends_with("  gate, 12s"), "{rows:#?}");
    assert_eq!(rows[14], "gate before any work: make test");
}

#[test]
fn a_question_is_shown_and_can_be_answered() {
    let mut model = model(events());
    model.phase = Some(Phase::Exhausted);
    model.asks = Some(AwaitingChoice {
        pid: 12,
        started: None,
        host: Some("box".to_owned()),
        since: Timestamp::UNIX_EPOCH,
        question: "what now?".to_owned(),
        options: Vec::new(),
    });
    let rows = drawn(&model, &Chosen::default(), OUTPUT, (100, 16));
    assert!(rows[0].ends_with("  asks what to do (f: answer)"), "{rows:#?}");
    assert_eq!(rows[14], "git-ralph (process 12 on box) asks: what now?");
    assert!(model.is_at_its_end());
}
