//! Properties of any message, and messages with several tags.

use super::tests::{PROMPT, failed, hear, hear_in_pieces, unknown};
use super::*;
use proptest::prelude::*;

fn fragment() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![
        "<promise>",
        "</promise>",
        "COMPLETE",
        "FAILED",
        "CONTINUE",
        ": no",
        "<promise>COMPLETE</promise>",
        "<pro",
        "mise>",
        "</",
        "\n",
        "\r\n",
        "\r",
        " ",
        "`",
        "- ",
        "+",
        "<learning>",
        "</learning>",
        "<lear",
        "<think>",
        "</think>",
        "<|channel|>analysis<|message|>",
        "<|channel|>",
        "final<|message|>",
        "<|start|>assistant",
        "<|end|>",
        "<|ret",
        "not",
        ". ",
        "word",
        "\u{200b}",
        "\u{a0}",
        "\u{2020}",
        "\x1b[1m",
        "\x1b]0;t\x07",
        "\x1b",
        "Print <promise>COMPLETE</promise> or <promise>FAILED: why</promise>.",
        "End with: <promise>COMPLETE</promise>",
    ]);
    prop_oneof![
        9 => known.prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..20),
    ]
}

const MORE: &str = "<promise>CONTINUE: x</promise>";

/// Finds the promise by the same rules, for one-line tags in text without escapes, in the simplest way.
fn plainly(text: &str) -> Option<Promise> {
    let marks = [' ', '`', '-', '\n', '\u{200b}', '\u{a0}'];
    let is_alone = |line: &str| {
        let line = line.trim_matches(marks);
        // The same tag may be repeated on the line.
        !line.is_empty() && line.replace(MORE, "").trim_matches(marks).is_empty()
    };
    let is_left = text.lines().any(is_alone) || text.trim_end_matches(marks).ends_with(MORE);
    match plainly_without_more(text) {
        Some(Promise::Failed(reason)) => Some(Promise::Failed(reason)),
        _ if is_left => Some(Promise::Continue("x".into())),
        promise => promise,
    }
}

fn plainly_without_more(text: &str) -> Option<Promise> {
    let marks = [' ', '`', '-', '\u{200b}', '\u{a0}'];
    let own = |line: &str| {
        let line = line.trim_matches(marks);
        // The same tag may be repeated on the line.
        let is_only = |tag: &str| !line.is_empty() && line.replace(tag, "").trim_matches(marks).is_empty();
        if is_only("<promise>COMPLETE</promise>") {
            Some(Promise::Complete)
        } else {
            is_only("<promise>FAILED: no</promise>").then(|| Promise::Failed("no".into()))
        }
    };
    let ending = || {
        let text = text.trim_end_matches([' ', '`', '-', '\n', '\u{200b}', '\u{a0}']);
        // A completion counts only after a finished sentence, which is missing.
        let failed = text.ends_with("<promise>FAILED: no</promise>");
        failed.then(|| Promise::Failed("no".into()))
    };
    let lines: Vec<&str> = text.lines().collect();
    let last = lines.iter().rposition(|line| own(line).is_some());
    match last {
        None => ending(),
        Some(last) if own(lines[last]) != Some(Promise::Complete) => own(lines[last]),
        Some(last) => {
            let vetoed = lines[last + 1..].iter().any(|line| line.contains("FAILED"));
            let failed = ending().filter(|ending| *ending != Promise::Complete);
            let before = || {
                lines[..last]
                    .iter()
                    .rev()
                    .find_map(|line| own(line).filter(|own| *own != Promise::Complete))
            };
            if vetoed {
                failed
            } else {
                before().or_else(|| own(lines[last]))
            }
        }
    }
}

proptest! {
    #[test]
    fn sizes_of_pieces_do_not_change_the_promise(
        fragments in prop::collection::vec(fragment(), 0..30),
        sizes in prop::collection::vec(1_usize..12, 1..8),
    ) {
        let text = fragments.concat();
        let whole = hear(&text);
        let mut scanner = PromiseScanner::new(PROMPT);
        let mut rest = text.as_slice();
        for size in sizes.iter().cycle() {
            let (piece, after) = rest.split_at((*size).min(rest.len()));
            scanner.push(piece);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(scanner.finish(), whole);
    }

    #[test]
    fn scanner_survives_any_bytes(text in prop::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert_eq!(hear_in_pieces(&text, 1), hear(&text));
    }

    #[test]
    fn scanner_agrees_with_the_plain_rules(parts in prop::collection::vec(prop::sample::select(vec![
        "<promise>COMPLETE</promise>", "<promise>FAILED: no</promise>", MORE, "\n", "\n", " ", "`", "- ", "word", "\u{200b}", "\u{a0}",
    ]), 0..12)) {
        let text = parts.concat();
        let mut scanner = PromiseScanner::new("");
        scanner.push(text.as_bytes());
        let heard = scanner.finish();
        match plainly(&text) {
            Some(promise) => prop_assert_eq!(heard, Heard::Promise(promise)),
            None => prop_assert!(!matches!(heard, Heard::Promise(_))),
        }
    }
}

proptest! {
    // Each text has up to a megabyte.
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn sizes_of_pieces_do_not_change_far_apart_promises(
        fragments in prop::collection::vec((fragment(), 0_usize..3), 0..12),
        filler in prop::sample::select(vec![" ", "x", "\n", "y\n"]),
        size in 1000_usize..100_000,
    ) {
        let far = filler.repeat(33_000 / filler.len());
        let text: Vec<u8> = fragments
            .iter()
            .flat_map(|(fragment, times)| [fragment.clone(), far.repeat(*times).into()].concat())
            .collect();
        prop_assert_eq!(hear_in_pieces(&text, size), hear(&text));
    }
}

#[test]
fn learning_that_the_end_of_thoughts_cuts_off_hides_no_promise_in_them() {
    let texts = [
        "<learning>\n</think><promise>COMPLETE</promise>\n</think>",
        "<learning>\n<promise>COMPLETE</promise>\n</think>",
    ];
    for text in texts {
        assert_eq!(hear(text.as_bytes()), Heard::InThoughts, "{text}");
        assert_eq!(hear_in_pieces(text.as_bytes(), 1), Heard::InThoughts, "{text}");
    }
}

#[test]
fn work_that_is_left_is_heard_beside_a_completion_but_not_beside_a_failure() {
    let left = |text: &str| Heard::Promise(Promise::Continue(text.into()));
    let (done, no) = ("<promise>COMPLETE</promise>\n", "<promise>FAILED: no</promise>\n");
    let more = "<promise>CONTINUE: the tests</promise>\n";
    for (text, heard) in [
        (more.to_owned(), left("the tests")),
        ("<promise>CONTINUE</promise>".to_owned(), left("")),
        ("Half. <promise>CONTINUE: a\nb</promise>".to_owned(), left("a\nb")),
        (format!("{more}{done}"), left("the tests")),
        (format!("{done}{more}"), left("the tests")),
        (format!("{done}Not all.\n{more}Bye."), left("the tests")),
        (
            format!("{more}<promise>CONTINUE: the rest</promise>\n"),
            left("the rest"),
        ),
        (format!("{more}{no}"), failed("no")),
        (format!("{no}{more}"), failed("no")),
        (format!("Say {more} or go."), Heard::InSentence),
        (
            "<promise>CONTINUE - x</promise>".to_owned(),
            unknown("CONTINUE - x"),
        ),
    ] {
        assert_eq!(hear(&text), heard, "{text:?}");
        assert_eq!(hear_in_pieces(text.as_bytes(), 1), heard, "{text:?}");
    }
}
