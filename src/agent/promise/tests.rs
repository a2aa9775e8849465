//! Tests of whole messages and of messages in pieces.

use super::tag::UNKNOWN_CHARS;
use super::*;
use crate::agent::learnings::LONGEST;

pub(super) const PROMPT: &str = "Do the story.\n\
    Print <promise>COMPLETE</promise> or <promise>FAILED: why</promise>.\n\
    - <promise>COMPLETE</promise>\n\
    End with: <promise>COMPLETE</promise>\n";

pub(super) fn hear(text: impl AsRef<[u8]>) -> Heard {
    hear_in_pieces(text.as_ref(), usize::MAX)
}

pub(super) fn hear_in_pieces(text: &[u8], size: usize) -> Heard {
    let mut scanner = PromiseScanner::new(PROMPT);
    for piece in text.chunks(size) {
        scanner.push(piece);
        assert!(scanner.message.text.capacity() <= 8 * REACH);
    }
    scanner.finish()
}

pub(super) fn complete() -> Heard {
    Heard::Promise(Promise::Complete)
}

pub(super) fn failed(reason: &str) -> Heard {
    Heard::Promise(Promise::Failed(reason.into()))
}

pub(super) fn unknown(text: &str) -> Heard {
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
        "\u{200b}<promise>COMPLETE</promise>\u{a0}\nBye.",
        "\u{a0}\u{200b}<promise>\u{a0}COMPLETE</promise> \u{200b}\u{200b}\nBye.",
    ] {
        assert_eq!(hear(text), complete(), "{text:?}");
    }
}

#[test]
fn last_of_several_tags_counts_in_any_style() {
    let shown = "\x1b[32m<promise>COMPLETE</promise>\x1b[0m\n";
    for text in [
        &b"<promise>COMPLETE</promise>\nHm.\n<promise>COMPLETE</promise>\n"[..],
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
        (
            "<promise>FAILED: x</promise>\nBut:\n<promise>COMPLETE</promise>\nBye.",
            "x",
        ),
        (
            "<promise>FAILED: x</promise>\nThe story is not done.\n<promise>COMPLETE</promise>\n",
            "x",
        ),
        (
            "<promise>FAILED: x</promise>\nAll is done. <promise>COMPLETE</promise>",
            "x",
        ),
    ] {
        assert_eq!(hear(text), failed(reason), "{text:?}");
    }
    assert_eq!(hear(b"<promise>FAILED: \xff</promise>"), failed("\u{fffd}"));
}

#[test]
fn unclosed_failure_includes_the_tags_that_it_mentions() {
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
fn tag_at_the_end_counts_if_none_has_its_own_line() {
    for text in [
        "Done. <promise>COMPLETE</promise>",
        "Done. <promise>COMPLETE</promise>\r\n\r\n",
        "```\nDone. **<promise>COMPLETE</promise>**\n```\n\n",
        "<promise>ODD</promise>\nDone. <promise>COMPLETE</promise>\n",
        "Done. <promise>COMPLETE</promise>\u{200b}\n\u{a0}",
    ] {
        assert_eq!(hear(text), complete(), "{text:?}");
    }
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
        "~~<promise>COMPLETE</promise>~~",
        "~~<promise>COMPLETE</promise>~~\nThe second box is open.\n",
    ] {
        assert_eq!(hear(text), Heard::InSentence, "{text:?}");
    }
}

#[test]
fn a_frame_or_a_bullet_may_stand_around_a_tag() {
    for text in [
        "\u{256d}\u{2500}\u{2500}\u{256e}\n\u{2502} <promise>COMPLETE</promise>    \u{2502}\n\u{2570}\u{2500}\u{256f}\nBye.\n",
        "\u{2503} Done.\n\u{2503} <promise>COMPLETE</promise> \u{2503}\nBye.\n",
        "| <promise>COMPLETE</promise> |\nBye.\n",
        "\u{2022} <promise>COMPLETE</promise>\nTo resume: x\n",
        "\u{25cf} <promise>COMPLETE</promise>\nTo resume: x\n",
        "Done. <promise>COMPLETE</promise> \u{2502}\n\u{2502}  \u{2502}\n",
    ] {
        for size in [1, 2, 5, usize::MAX] {
            let mut scanner = PromiseScanner::new("");
            text.as_bytes()
                .chunks(size.min(text.len()))
                .for_each(|piece| scanner.push(piece));
            assert_eq!(scanner.finish(), complete(), "{text:?} {size}");
        }
    }
    for text in [
        "\u{2502} I print <promise>COMPLETE</promise> \u{2502}\nBye.\n",
        "\u{2502} 12 \u{2502} <promise>COMPLETE</promise>\nBye.\n",
    ] {
        assert_eq!(hear(text), Heard::InSentence, "{text:?}");
    }
    for text in [
        "\u{2502} +<promise>COMPLETE</promise>\nBye.\n",
        "| -<promise>COMPLETE</promise>\nBye.\n",
    ] {
        assert_eq!(hear(text), Heard::Repeated, "{text:?}");
    }
    let reason = "\u{2502} <promise>FAILED: one  \u{2502}\n\u{2502} two\u{2502} \u{2502}\n\u{2502} three</promise> \u{2502}\n";
    assert_eq!(hear(reason), failed("one\ntwo\u{2502}\nthree"));
    let reason = "<promise>FAILED: \u{2022} red\u{2502}</promise>\n";
    let failed = Promise::Failed("\u{2022} red\u{2502}".to_owned());
    assert_eq!(hear(reason), Heard::Promise(failed));
}

#[test]
fn a_tag_in_json_does_not_count() {
    for text in [
        "{\"text\":\"<promise>COMPLETE</promise>\"}\n",
        "[\"<promise>COMPLETE</promise>\"]\n",
        "Working.\n  [{\"text\":\"Done.\\n<promise>COMPLETE</promise>\"}]",
    ] {
        assert_eq!(hear(text), Heard::InJson, "{text:?}");
    }
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
fn broken_tag_is_no_promise() {
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
fn scanner_skips_lines_of_the_prompt() {
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

#[test]
fn a_failure_anywhere_after_a_completion_vetoes_it() {
    let done = "<promise>COMPLETE</promise>";
    for (text, heard) in [
        (
            format!("{done}\nIt did not work: <promise>FAILED: x</promise>"),
            failed("x"),
        ),
        (
            format!("{done}\nInstead of <promise>FAILED: x</promise>\n"),
            failed("x"),
        ),
        (
            format!("{done}\nSo <promise>FAILED: x</promise> it is.\n"),
            Heard::InSentence,
        ),
        (
            format!("{done}\n- no: <promise>FAILED</promise> sadly\nBye"),
            Heard::InSentence,
        ),
        (
            format!("{done}\nSo <promise>FAILED - x</promise> it is.\n"),
            unknown("FAILED - x"),
        ),
        (format!("{done}\nHm <promise>FAILED: and then"), Heard::InSentence),
        (
            format!("{done}\n-<promise>FAILED: x</promise>\n"),
            Heard::Repeated,
        ),
        (
            format!("So: <promise>FAILED: it said\n{done}\nonly</promise>\nBye"),
            Heard::InSentence,
        ),
        // A later completion is the last word.
        (
            format!("{done}\nSo <promise>FAILED: x</promise> at first.\n{done}\n"),
            complete(),
        ),
        (
            format!("So <promise>FAILED: x</promise> at first.\n{done}\n"),
            complete(),
        ),
        // Other tags in sentences veto nothing.
        (format!("{done}\nAs {done} says.\n"), complete()),
        (format!("{done}\nAs <promise>ODD</promise> says.\n"), complete()),
        // The prompt is not the agent's word.
        (format!("{done}\n{PROMPT}"), complete()),
        (
            format!("So {done}\nOr <promise>FAILED: x</promise> it is."),
            Heard::InSentence,
        ),
    ] {
        assert_eq!(hear(&text), heard, "{text:?}");
    }
}

#[test]
fn tag_inside_a_learning_is_no_promise() {
    let done = "<promise>COMPLETE</promise>";
    for (text, heard) in [
        (format!("<learning>{done}</learning>"), Heard::Nothing),
        (
            format!("<learning>\nend with\n{done}\n</learning>\n"),
            Heard::Nothing,
        ),
        (
            format!("{done}\n<learning>not <promise>FAILED: x</promise></learning>\n"),
            complete(),
        ),
        (
            format!("<learning>a</learning>{done}<learning>b</learning>\nBye."),
            complete(),
        ),
        (
            format!("Done.\n{done}\n<learning>a\nb</learning>\nBye."),
            complete(),
        ),
        (format!("<learning>left open\n{done}\n"), complete()),
        (
            "<promise>COM<learning>x</learning>PLETE</promise>".to_owned(),
            unknown("COM PLETE"),
        ),
        (
            format!("\x1b[1m<lear\x1b[0mning>{done}</learning>"),
            Heard::Nothing,
        ),
    ] {
        assert_eq!(hear(&text), heard, "{text:?}");
        for size in [1, 2, 7] {
            assert_eq!(hear_in_pieces(text.as_bytes(), size), heard, "{text:?}");
        }
    }
    for (length, heard) in [(LONGEST, Heard::Nothing), (LONGEST + 1, complete())] {
        let filler = "x".repeat(length - done.len() - 2);
        let text = format!("<learning>{filler}\n{done}\n</learning>");
        for size in [1, 977, usize::MAX] {
            assert_eq!(hear_in_pieces(text.as_bytes(), size), heard, "{length}");
        }
    }
}

#[test]
fn tag_in_a_line_of_a_diff_or_quotation_is_no_promise() {
    let done = "<promise>COMPLETE</promise>";
    let own_and_repeated = [
        // What comes before the tag, and whether it counts in a message, and in an output.
        ("", true, true),
        ("- ", true, true),
        ("* ", true, true),
        ("# ", true, true),
        ("  ", true, true),
        ("**", true, true),
        ("`", true, true),
        ("> ", true, false),
        (">", true, false),
        (" > > ", true, false),
        ("-", false, false),
        ("-  ", true, true),
        ("--", false, false),
        ("-> ", true, false),
        ("--> ", true, false),
        ("->", false, false),
        ("-`", false, false),
        ("+", false, false),
        (" +", false, false),
        ("++", false, false),
        ("+- ", false, false),
    ];
    for (before, in_message, in_output) in own_and_repeated {
        for after in ["\n", "\nBye.\n", ""] {
            let text = format!("Look:\n{before}{done}{after}");
            for (output, counts) in [(false, in_message), (true, in_output)] {
                let mut scanner = PromiseScanner::new("");
                if output {
                    scanner.hear_output();
                }
                scanner.push(text.as_bytes());
                let heard = if counts { complete() } else { Heard::Repeated };
                assert_eq!(scanner.finish(), heard, "{text:?}, output: {output}");
            }
        }
    }
    // As the last words a bullet of Markdown may stand before it; in an output it is a diff.
    for (before, heard) in [("+ ", Heard::Repeated), ("< ", Heard::Repeated)] {
        let mut scanner = PromiseScanner::new("");
        scanner.hear_output();
        scanner.push(format!("{before}{done}").as_bytes());
        assert_eq!(scanner.finish(), heard);
    }
    let shown = format!("{done}\n+{done}\n-<promise>ODD</promise>\n");
    assert_eq!(hear(shown), complete());
}

/// Returns texts in which something lies just within or just out of reach.
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
        texts.push((format!("{filler}<promise>COMPLETE</promise>. "), complete()));
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
fn scanner_reads_floods_of_tags_in_little_time() {
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
        "<learning>",
        "<learning></learning>",
        "<lear",
        "<think></think>\n<",
        "<|channel|>",
        "<|channel|>x<|message|>",
        " ",
    ] {
        hear_in_pieces(tags.repeat(100_000).as_bytes(), 65_536);
    }
}
