mod rounds;

use proptest::prelude::*;
use ratatui::buffer::Cell;

use super::*;
use crate::events::{Event, What};
use crate::inspect::changed_files::{Changed, Unknown};
use crate::inspect::follow::News;
use crate::state::{AwaitingChoice, Verdict};
use crate::ui::view::chosen::Page;
use crate::ui::view::model::Gate;
use crate::ui::view::model::tests::{attempt_ended, besides, event, events, listed};

fn model(events: Vec<Event>) -> Model {
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
fn drawn(model: &Model, chosen: &Chosen, text: &[u8], size: (u16, u16)) -> Vec<String> {
    drawn_with(model, chosen, text, None, size)
}

/// The same, with files that were counted.
fn drawn_with(
    model: &Model,
    chosen: &Chosen,
    text: &[u8],
    files: Option<&Found>,
    (width, height): (u16, u16),
) -> Vec<String> {
    let text = output(text);
    let scene = Scene {
        model,
        which: (0, 1),
        chosen,
        text: &text,
        used: &Usage::default(),
        files,
        can_finish: model.is_at_its_end(),
        can_stop: model.is_driven,
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
        "add-login  running  1 of 3 stories  5m 16s  $0.84  claude"
    );
    assert_eq!(
        rows[1],
        " v 1  Form                1m 31s | story 2, attempt 2, claude: running 1m 31s"
    );
    assert!(rows[2].starts_with(">* 2  Session"), "{rows:#?}");
    assert_eq!(rows[3], "    @1 gate failed        1m 31s |   read  src/login.rs");
    assert_eq!(rows[4], "   >@2 running, 2 left    1m 31s |   $ cargo test");
    assert!(rows[5].starts_with("   3  A title ^[[31m from"), "{rows:#?}");
    assert_eq!(rows[14], "2@1: 3 tests failed");
    assert!(
        rows[15].starts_with(
            "S stop  Enter log  d diff  t story  c files  / search  p prompt  r raw  ? keys  q leave "
        ),
        "{rows:#?}"
    );
    // The usual size has both, too.
    let rows = drawn(&model(events()), &Chosen::default(), OUTPUT, (80, 24));
    assert!(
        rows[1].ends_with(" | story 2, attempt 2, claude: running 1m 31s"),
        "{rows:#?}"
    );
    let no_list = Chosen {
        no_list: true,
        ..Chosen::default()
    };
    let rows = drawn(&model(events()), &no_list, OUTPUT, (80, 24));
    assert_eq!(rows[3], "  read  src/login.rs");
}

#[test]
fn narrow_screen_has_list_or_output_and_tiny_screen_has_one_line() {
    let model = model(events());
    let rows = drawn(&model, &Chosen::default(), OUTPUT, (40, 10));
    assert_eq!(rows[0], "add-login  running  1 of 3 stories");
    assert_eq!(rows[1], "story 2, attempt 2, claude: running...");
    assert_eq!(rows[4], "test login::rate ... FAILED");
    assert_eq!(rows[9], "S stop  Tab list  ? keys  q leave");
    let list = Chosen {
        list: true,
        ..Chosen::default()
    };
    let rows = drawn(&model, &list, OUTPUT, (40, 10));
    assert_eq!(rows[1], " v 1  Form                       1m 31s");
    assert!(rows[9].starts_with("S stop  Tab output  ? keys"), "{rows:#?}");
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
        [
            events(),
            vec![event(
                310,
                What::Complete {
                    done: 3,
                    total: 3,
                    options: Vec::new(),
                },
            )],
        ]
        .concat(),
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
            let page = |page| Some((page, usize::MAX));
            for (page, list) in [
                (None, false),
                (page(Page::Help), false),
                (page(Page::Files), true),
                (None, true),
            ] {
                let chosen = Chosen {
                    page,
                    list,
                    ..Chosen::default()
                };
                let rows = drawn(&model, &chosen, OUTPUT, size);
                assert_eq!(rows.len(), usize::from(size.1) * usize::from(size.0.min(1)));
                if size.0 >= 80 && waits {
                    assert!(rows[0].contains("waiting, 9m 44s left"), "{rows:#?}");
                }
                if size.0 >= 20 && size.1 >= 4 {
                    let all = drawn(&model, &chosen, OUTPUT, (200, size.1));
                    let (shown, all) = (rows[0].split("  "), all[0].split("  "));
                    assert!(
                        shown.zip(all).skip(1).all(|(shown, all)| shown == all),
                        "{rows:#?}"
                    );
                }
            }
        }
    }
}

#[test]
fn scrolled_output_counts_the_new_lines() {
    let chosen = Chosen {
        below: 1,
        seen: 1,
        ..Chosen::default()
    };
    let rows = drawn(&model(events()), &chosen, OUTPUT, (60, 10));
    assert_eq!(rows[3], "  $ cargo test");
    assert!(rows[9].ends_with("[paused, 2 new lines]"), "{rows:#?}");
}

#[test]
fn text_is_the_same_without_colours() {
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
    model.gate = Some(gate(true));
    let rows = drawn(&model, &Chosen::default(), b"", (100, 16));
    assert_eq!(rows[0], "add-login  gate, 12s  5m 16s");
    assert!(
        rows[1].ends_with("| gate before any work: make test"),
        "{rows:#?}"
    );
    assert!(rows[3].ends_with("| nothing is printed yet"), "{rows:#?}");
    assert_eq!(rows[14], "gate before any work: make test");
}

fn gate(is_first: bool) -> Gate {
    Gate {
        is_review: false,
        command: "make test".to_owned(),
        since: Timestamp::from_second(1_790_000_304).unwrap(),
        is_first,
    }
}

/// The two lines that say whose text it is.
fn whose(model: &Model, chosen: &Chosen, files: Option<&Found>) -> [String; 2] {
    let no_list = Chosen {
        no_list: true,
        page: chosen.page,
        story: chosen.story,
        attempt: chosen.attempt,
        ..Chosen::default()
    };
    let rows = drawn_with(model, &no_list, OUTPUT, files, (100, 16));
    [rows[1].clone(), rows[2].clone()]
}

#[test]
fn header_names_the_shown_text_and_the_usage_of_the_attempt() {
    let mut model = model(events());
    let at = Timestamp::from_second(1_790_000_313).unwrap();
    let found = (at, Ok([("a".to_owned(), 'M'), ("b".to_owned(), 'A')].into()));
    let shown = |story, attempt, page: Option<Page>| Chosen {
        story,
        attempt,
        page: page.map(|page| (page, 0)),
        ..Chosen::default()
    };
    let now = shown(None, None, None);
    assert_eq!(
        whose(&model, &now, Some(&found)),
        [
            "story 2, attempt 2, claude: running 1m 31s",
            "2 files changed (counted 3s ago)"
        ]
    );
    assert_eq!(
        whose(&model, &now, Some(&(at, Ok(Changed::new()))))[1],
        "0 files changed (counted 3s ago)"
    );
    assert_eq!(
        whose(&model, &now, Some(&(at, Err(Unknown::TooLong))))[1],
        "files: git takes too long"
    );
    model.gate = Some(gate(false));
    assert_eq!(
        whose(&model, &now, None),
        [
            "story 2, attempt 2, gate: make test (12s)",
            "files not counted yet"
        ]
    );
    assert_eq!(drawn(&model, &now, OUTPUT, (40, 10))[8], "gate: make test");
    let third = shown(Some(2), None, None);
    let rows = drawn(&model, &third, OUTPUT, (80, 24));
    assert_eq!(rows[22], "2@2: gate: make test");
    model.gate = None;
    let rows = drawn(&model, &third, OUTPUT, (80, 24));
    assert_eq!(rows[22], "2@1: 3 tests failed");
    assert_eq!(
        rows[23],
        "S stop  t story  / search  o copy  ? keys  q leave                      [follow]"
    );
    model.gate = Some(gate(false));
    for (page, words) in [
        (Page::Story, "story 2: its text"),
        (Page::Prompt, "story 2, attempt 2: its prompt"),
        (
            Page::Files,
            "story 2, attempt 2: 2 files changed (counted 3s ago)",
        ),
        (Page::Help, "keys"),
    ] {
        assert_eq!(
            whose(&model, &shown(None, None, Some(page)), Some(&found))[0],
            words
        );
    }
    // The gate is that of the attempt that runs, not of another one on the screen.
    let before = shown(Some(1), Some(0), None);
    assert_eq!(
        whose(&model, &before, None)[0],
        "story 2, attempt 1, claude: gate failed"
    );
    let What::AttemptEnded(ended) = attempt_ended("2", 2, Verdict::GateFailed, None) else {
        panic!();
    };
    model.event(&event(
        312,
        What::AttemptEnded(Box::new(crate::events::Attempt {
            model: Some("opus\u{1b}[2J".to_owned()),
            input_tokens: Some(12_345),
            output_tokens: Some(950),
            files: Some(3),
            insertions: Some(12),
            deletions: Some(4),
            ..*ended
        })),
    ));
    assert_eq!(
        whose(&model, &now, None),
        [
            "story 2, attempt 2, claude: gate failed",
            "3 files +12 -4  $0.42  opus^[[2J  12.3k tokens in  950 out"
        ]
    );
    assert_eq!(whose(&model, &third, None), ["story 3", ""]);
    let rows = drawn(&model, &before, OUTPUT, (100, 16));
    assert_eq!(rows[14], "3 tests failed");
}

#[test]
fn search_marks_found_words_and_takes_input_in_the_last_line() {
    let chosen = Chosen {
        words: "LOGIN".to_owned(),
        typed: Some("log".to_owned()),
        ..Chosen::default()
    };
    let text = output(OUTPUT);
    let model = model(events());
    let scene = Scene {
        model: &model,
        which: (0, 1),
        chosen: &chosen,
        text: &text,
        used: &Usage::default(),
        files: None,
        can_finish: false,
        can_stop: false,
        now: Timestamp::UNIX_EPOCH,
    };
    let area = Rect::new(0, 0, 60, 10);
    let mut buffer = Buffer::empty(area);
    scene.draw(area, &mut buffer);
    let marked = buffer
        .content
        .iter()
        .filter(|cell| cell.modifier.contains(Modifier::REVERSED));
    assert_eq!(marked.map(Cell::symbol).collect::<String>(), "loginlogin");
    let rows = drawn(&model, &chosen, OUTPUT, (60, 10));
    assert_eq!(rows[9], "/log_  Enter: search  Esc: back");
}

#[test]
fn long_page_shows_its_position() {
    let text: String = (1..=20).map(|line| format!("line {line}\n")).collect();
    let at = |below| {
        let chosen = Chosen {
            page: Some((Page::Help, below)),
            ..Chosen::default()
        };
        let rows = drawn(&model(events()), &chosen, text.as_bytes(), (40, 10));
        (rows[2].clone(), rows[9].clone())
    };
    let (first, last) = at(usize::MAX);
    assert_eq!(first, "line 1");
    assert_eq!(last, "/ search  q back                    [0%]");
    assert_eq!(at(0).0, "line 15");
    assert!(at(0).1.ends_with("[100%]"));
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
        exit: Some(4),
        question: "what now?".to_owned(),
        options: Vec::new(),
    });
    let rows = drawn(&model, &Chosen::default(), OUTPUT, (100, 16));
    let words = "add-login  asks what to do (f: answer)";
    assert!(rows[0].starts_with(&format!("{words}  ")), "{rows:#?}");
    assert_eq!(rows[14], "git-ralph (process 12 on box) asks: what now?");
    let rows = drawn(&model, &Chosen::default(), OUTPUT, (40, 10));
    assert_eq!(rows[0], words);
    let narrow = drawn(&model, &Chosen::default(), OUTPUT, (30, 10));
    assert_eq!(narrow[0], "asks what to do (f: answer)");
    assert!(model.is_at_its_end());
}

#[test]
fn a_loop_with_a_skipped_story_is_not_shown_as_complete() {
    let mut model = model(events());
    (model.phase, model.is_driven) = (Some(Phase::Complete), false);
    for (skipped, words) in [
        (0, "complete (f: finish)"),
        (1, "no other story left (f: finish)"),
    ] {
        model.skipped = skipped;
        let rows = drawn(&model, &Chosen::default(), OUTPUT, (100, 16));
        assert!(rows[0].starts_with(&format!("add-login  {words}  ")), "{rows:#?}");
    }
}

#[test]
fn footer_has_the_keys_that_do_something() {
    let mut model = model(events());
    let footer = |model: &Model, size| {
        let rows = drawn(model, &Chosen::default(), OUTPUT, size);
        rows.last().unwrap().clone()
    };
    assert_eq!(
        footer(&model, (80, 24)),
        "S stop  Enter log  d diff  t story  c files  / search  ? keys  q leave  [follow]"
    );
    model.event(&event(312, attempt_ended("2", 2, Verdict::Failed, None)));
    (model.phase, model.is_driven) = (Some(Phase::Exhausted), false);
    for (size, keys) in [
        (
            (120, 40),
            "f finish  Enter log  d diff  t story  c files  / search  p prompt  r raw  o copy  ? keys  q leave               [follow]",
        ),
        (
            (80, 24),
            "f finish  Enter log  d diff  t story  c files  ? keys  q leave          [follow]",
        ),
        (
            (60, 15),
            "f finish  Enter log  Tab list  ? keys  q leave      [follow]",
        ),
        ((40, 10), "f finish  Tab list  ? keys  q leave"),
    ] {
        assert_eq!(footer(&model, size), keys);
    }
}
