//! What is heard in whole messages and in pieces of them.

use super::*;
use proptest::prelude::*;

const PROMPT: &str = "Do the story.\n\
    Print <promise>COMPLETE</promise> or <promise>FAILED: why</promise>.\n\
    - <promise>COMPLETE</promise>\n\
    End with: <promise>COMPLETE</promise>\n";

fn hear(text: impl AsRef<[u8]>) -> Heard {
    hear_in_pieces(text.as_ref(), usize::MAX)
}

fn hear_in_pieces(text: &[u8], size: usize) -> Heard {
    let mut scanner = PromiseScanner::new(PROMPT);
    for piece in text.chunks(size) {
        scanner.push(piece);
        assert!(scanner.message.text.capacity() <= 8 * REACH);
    }
    scanner.finish()
}

fn complete() -> Heard {
    Heard::Promise(Promise::Complete)
}

fn failed(reason: &str) -> Heard {
    Heard::Promise(Promise::Failed(reason.into()))
}

fn unknown(text: &str) -> Heard {
    Heard::Unknown(text.into())
}

#[test]
fn a_tag_on_a_line_of_its_own_counts() {
    for text in [
        "<promise>COMPLETE</promise>",
        "Done.\n\n<promise>COMPLETE</promise>\n",
        "Done.\r\n<promise>COMPLETE</promise>\r\nBye.\r\n",
        "<promise>COMPLETE</promise>\nTokens: 3 sent.\n",
        "```\n<promise>COMPLETE</promise>\n```\nBye.",
        "```<promise>COMPLETE</promise>```\nBye.",
        " \t> - **`<promise>COMPLETE</promise>`** \nBye.",
        "# <promise> COMPLETE </promise> #\nBye.",
        "<promise>\nCOMPLETE\n</promise>\nBye.",
        "working ...\r<promise>COMPLETE</promise>\nBye.",
        "the tag <promise> is due:\n<promise>COMPLETE</promise>\nBye.",
        "<promise>FAILED: no</promise>\n<promise>COMPLETE</promise>\nBye.",
        "\u{200b}<promise>COMPLETE</promise>\u{a0}\nBye.",
        "\u{a0}\u{200b}<promise>\u{a0}COMPLETE</promise> \u{200b}\u{200b}\nBye.",
    ] {
        assert_eq!(hear(text), complete(), "{text:?}");
    }
}

#[test]
fn the_last_of_several_counts_however_it_is_printed() {
    let shown = "\x1b[32m<promise>COMPLETE</promise>\x1b[0m\n";
    for text in [
        &b"<promise>FAILED: a</promise>\n<promise>COMPLETE</promise>\n"[..],
        b"done: <promise>COMPLETE</promise>",
        b"a\xff\xfeb\n<promise>COMPLETE</promise>\n",
        b"**<promise>COMPLETE</promise>**\r\n",
        shown.as_bytes(),
    ] {
        assert_eq!(hear(text), complete(), "{text:?}");
    }
    let both = "<promise>COMPLETE</promise>\n<promise>FAILED: b</promise>\n";
    assert_eq!(hear(both), failed("b"));
    for text in [&b"<promise>COMPLETE</prom"[..], b"\xff\xfe\n", b""] {
        assert_eq!(hear(text), Heard::Nothing, "{text:?}");
    }
    assert_eq!(hear("<promise>DONE</promise>\n"), unknown("DONE"));
}

#[test]
fn a_failure_carries_its_reason() {
    for (text, reason) in [
        ("<promise>FAILED: tests red</promise>", "tests red"),
        ("<promise>FAILED</promise>", ""),
        ("<promise>FAILED:</promise>", ""),
        ("<promise> FAILED:no space </promise>", "no space"),
        ("<promise>FAILED: a\n\n b\n</promise>\nBye.", "a\n\n b"),
        ("<promise>FAILED: a\r\nb\r\n</promise>\r\n", "a\nb"),
        ("So: <promise>FAILED: a\nb</promise>", "a\nb"),
        (
            "<promise>COMPLETE</promise>\nNo!\n<promise>FAILED: x</promise>\n",
            "x",
        ),
    ] {
        assert_eq!(hear(text), failed(reason), "{text:?}");
    }
    assert_eq!(hear(b"<promise>FAILED: \xff</promise>"), failed("\u{fffd}"));
}

#[test]
fn an_unclosed_failure_claims_what_it_mentions() {
    for text in [
        "<promise>FAILED: never got to <promise>COMPLETE</promise>",
        "Sorry: <promise>FAILED: never got to <promise>COMPLETE</promise>",
        "<promise>FAILED: never got to\n<promise>COMPLETE</promise>\nas the build is red</promise>\n",
    ] {
        let heard = hear(text);
        assert!(
            matches!(heard, Heard::Promise(Promise::Failed(_))),
            "{text:?} {heard:?}"
        );
    }
    let mentioned = "else I print <promise>FAILED: why.\n<promise>COMPLETE</promise>\n";
    assert_eq!(hear(mentioned), complete());
}

#[test]
fn without_one_of_its_own_line_a_tag_that_ends_the_message_counts() {
    for text in [
        "Done. <promise>COMPLETE</promise>",
        "Done. <promise>COMPLETE</promise>\r\n\r\n",
        "```\nDone. **<promise>COMPLETE</promise>**\n```\n\n",
        "<promise>ODD</promise>\nDone. <promise>COMPLETE</promise>\n",
        "Done. <promise>COMPLETE</promise>\u{200b}\n\u{a0}",
    ] {
        assert_eq!(hear(text), complete(), "{text:?}");
    }
    let later = "<promise>COMPLETE</promise>\nInstead of <promise>FAILED: x</promise>\n";
    assert_eq!(hear(later), complete());
}

#[test]
fn a_tag_in_a_sentence_does_not_count() {
    for text in [
        "I will print <promise>COMPLETE</promise> when done.",
        "Not yet <promise>COMPLETE</promise>.",
        "<promise>COMPLETE</promise> is what I shall print.\n",
        "See <promise>COMPLETE</promise>\nGoing on.\n",
        "<promise>COMPLETE</promise> <promise>COMPLETE</promise> they say",
        "~~Done: <promise>COMPLETE</promise>~~",
        "{\"text\":\"<promise>COMPLETE</promise>\"}\n",
    ] {
        assert_eq!(hear(text), Heard::InSentence, "{text:?}");
    }
}

#[test]
fn half_a_blank_is_none() {
    for end in ["\u{2020}", "\u{2009}", "\u{b0}"] {
        let text = format!("Done: <promise>COMPLETE</promise>{end}");
        assert_eq!(hear(text), Heard::InSentence);
    }
    for end in [
        &b"\xc2"[..],
        b"\xe2",
        b"\xe2\x80",
        b"\xe2\x80\n",
        b"\xe2\xe2\x80\x8b",
    ] {
        let text = [b"<promise>COMPLETE</promise>", end].concat();
        assert_eq!(hear(&text), Heard::InSentence, "{end:?}");
        let text = [b"<promise>COMPLETE</promise>", end, b"\nBye."].concat();
        assert_eq!(hear(&text), Heard::InSentence, "{end:?}");
    }
    let reason = "<promise>FAILED: a\u{2019}s \u{2020}\u{e9} \u{a0}b</promise>";
    assert_eq!(hear(reason), failed("a\u{2019}s \u{2020}\u{e9}  b"));
}

#[test]
fn other_text_in_a_tag_is_no_promise() {
    for (text, inner) in [
        ("<promise>DONE</promise>", "DONE"),
        ("<promise>complete</promise>", "complete"),
        ("<promise>COMPLETE!</promise>", "COMPLETE!"),
        ("<promise>NOT COMPLETE</promise>", "NOT COMPLETE"),
        ("<promise>FAILED - x</promise>", "FAILED - x"),
        ("<promise>FAILEDLY</promise>", "FAILEDLY"),
        ("<promise></promise>", ""),
        (
            "<promise>COMPLETE</promise>\n<promise>BLOCKED</promise>\n",
            "BLOCKED",
        ),
    ] {
        assert_eq!(hear(text), unknown(inner), "{text:?}");
    }
    let long = format!("<promise>{}</promise>", "é".repeat(5000));
    assert_eq!(hear(long), unknown(&"é".repeat(UNKNOWN_CHARS)));
}

#[test]
fn broken_tags_are_nothing() {
    for text in [
        "",
        "Done.",
        "<promise>",
        "<promise>COMPLETE",
        "<promise>COMPLETE</promise",
        "COMPLETE</promise>",
        "<promise >COMPLETE</promise>",
        "<Promise>COMPLETE</Promise>",
    ] {
        assert_eq!(hear(text), Heard::Nothing, "{text:?}");
    }
}

#[test]
fn lines_of_the_prompt_are_passed_over() {
    assert_eq!(hear(PROMPT), Heard::Nothing);
    assert_eq!(hear(PROMPT.replace('\n', "\r\n")), Heard::Nothing);
    for text in [
        "  \x1b[2mEnd with: <promise>COMPLETE</promise>\x1b[0m \n",
        "> End with: <promise>COMPLETE</promise>",
        "Print <promise>COMPLETE</promise> or <promise>FAILED: why</promise>.",
        "- <promise>COMPLETE</promise>",
    ] {
        assert_eq!(hear(text), Heard::Nothing, "{text:?}");
    }
    let own = format!("{PROMPT}<promise>COMPLETE</promise>\n{PROMPT}");
    assert_eq!(hear(own), complete());
    let echo_last = format!("So <promise>COMPLETE</promise>\n{PROMPT}");
    assert_eq!(hear(echo_last), Heard::InSentence);
}

#[test]
fn escape_sequences_do_not_hide_a_tag() {
    for text in [
        "\x1b[1;32m<promise>COM\x1b[0mPLETE</pro\x1b(Bmise>\x1b[K\nBye.",
        "\x1b]0;title\x07<promise>COMPLETE</promise>\x1b]8;;http://x\x1b\\\nBye.",
        "\x1b7<promise>COMPLETE</promise>\x1b\nBye.",
        "\x1b]never ended\n<promise>COMPLETE</promise>\nBye.",
        "\x1b\x1b[1m<promise>COMPLETE</promise>\x1b[\nBye.",
    ] {
        assert_eq!(hear(text), complete(), "{text:?}");
    }
    let title = "\x1b]0;<promise>COMPLETE</promise>\x07\n";
    assert_eq!(hear(title), Heard::Nothing);
}

#[test]
fn a_restart_forgets_the_message() {
    let mut scanner = PromiseScanner::new(PROMPT);
    scanner.push(b"<promise>COMPLETE</promise>\n\x1b[");
    scanner.restart();
    scanner.push(b"m<promise>COMPLETE");
    assert_eq!(scanner.finish(), Heard::Nothing);
}

/// Texts in which something lies just within or just out of reach.
fn far_texts() -> Vec<(String, Heard)> {
    let mut texts = Vec::new();
    for extra in 0..3 {
        let within = REACH - "<promise>FAILED: ".len() - 1 - extra;
        let reason = "x".repeat(within);
        let tag = format!("y\n<promise>FAILED: {reason}</promise>\n");
        texts.push((tag, failed(&reason)));
        let reason = "x".repeat(REACH - 8 + extra);
        let tag = format!("<promise>FAILED: {reason}</promise>\n");
        texts.push((tag, Heard::Nothing));
        let blanks = " ".repeat(REACH - 1 - extra);
        let tag = format!("<promise>COMPLETE</promise>{blanks}\nBye.");
        texts.push((tag, complete()));
        let blanks = " ".repeat(REACH + extra);
        let tag = format!("<promise>COMPLETE</promise>{blanks}\nBye.");
        texts.push((tag.clone(), Heard::InSentence));
        texts.push((format!("{tag}\n{tag}"), Heard::InSentence));
        let filler = "some text\n".repeat(40_000 + extra);
        let tag = format!("{filler}<promise>COMPLETE</promise>\n{filler}");
        texts.push((tag, complete()));
        texts.push((
            format!("{filler}<promise>COMPLETE</promise>. "),
            Heard::InSentence,
        ));
    }
    texts
}

#[test]
fn limits_are_distances_in_the_text() {
    for (text, heard) in far_texts() {
        for size in [977, PIECE - 1, PIECE, REACH + 1, usize::MAX] {
            assert_eq!(hear_in_pieces(text.as_bytes(), size), heard, "{size}");
        }
    }
}

#[test]
fn floods_of_tags_take_little() {
    for tags in [
        "<promise>",
        "</promise>",
        "<promise></promise>",
        "<promise>FAILED",
        "<promise>COMPLETE</promise>\n",
        "</promis",
        "\x1b",
        "\x1b[",
        "\u{200b}",
        " ",
    ] {
        hear_in_pieces(tags.repeat(300_000).as_bytes(), 65_536);
    }
}

fn fragment() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![
        "<promise>",
        "</promise>",
        "COMPLETE",
        "FAILED",
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

/// The rules once more, for one-line tags in text without escapes, as plainly as can be.
fn plainly(text: &str) -> Option<Promise> {
    let marks = [' ', '`', '-', '\u{200b}', '\u{a0}'];
    let own = |line: &str| match line.trim_matches(marks) {
        "<promise>COMPLETE</promise>" => Some(Promise::Complete),
        "<promise>FAILED: no</promise>" => Some(Promise::Failed("no".into())),
        _ => None,
    };
    let ending = || {
        let text = text.trim_end_matches([' ', '`', '-', '\n', '\u{200b}', '\u{a0}']);
        let complete = text.ends_with("<promise>COMPLETE</promise>");
        let failed = text.ends_with("<promise>FAILED: no</promise>");
        match (complete, failed) {
            (true, _) => Some(Promise::Complete),
            (_, true) => Some(Promise::Failed("no".into())),
            _ => None,
        }
    };
    text.lines().rev().find_map(own).or_else(ending)
}

proptest! {
    #[test]
    fn pieces_do_not_matter(
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
    fn pieces_do_not_matter_far_apart(
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

    #[test]
    fn any_bytes_are_survived(text in prop::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert_eq!(hear_in_pieces(&text, 1), hear(&text));
    }

    #[test]
    fn the_rules_hold(parts in prop::collection::vec(prop::sample::select(vec![
        "<promise>COMPLETE</promise>", "<promise>FAILED: no</promise>", "\n", "\n", " ", "`", "- ", "word", "\u{200b}", "\u{a0}",
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
