//! Tables of endings: of those that deny, and of those that are honest.

use crate::agent::promise::tests::hear;
use crate::agent::promise::{Heard, Promise, PromiseScanner, promises_in_sentence};

/// Endings with `@` for the tag; none is a completion.
const DENIALS: &[&str] = &[
    "I could not finish, so I will not say\n@",
    "I can't output\n\n`@`\n\nbecause the tests fail",
    "The work is not done. Do not print @",
    "I did not reach @",
    "I will not say\n@\n",
    "I won't print:\n\n@",
    "I can\u{2019}t print:\n\n@",
    "I cannot honestly write\n\n@",
    "I am unable to print:\n@",
    "It would be wrong to print:\n\n@",
    "It would be dishonest to end with:\n\n@",
    "Once the tests pass I would print:\n@",
    "When all is done, I will print\n@",
    "If the build were green, I would say:\n```\n@\n```\n",
    "Until the gate is green I refuse to claim\n\n@",
    "Unless you disagree I will write:\n\n@",
    "Before I print\n@\nI have to fix the tests.",
    "Instead of\n@\nI have to say that it failed.",
    "I never got as far as\n\n**@**",
    "Do not take this as\n@",
    "So far I have not\nbeen able to say\n@",
    "The story is not done.\n\n@",
    "This is not yet complete.\n@",
    "The story isn't finished!\n\n@",
    "I could not finish.\n\n@",
    "Status: not finished\n@",
    "The story is incomplete\n\n@",
    "The tests could not be run, therefore no\n@",
    "- I will not print\n- @",
    "- I can't say:\n\n@",
    "> I will not say\n> @",
    "\u{2502} I will not say  \u{2502}\n\u{2502} @ \u{2502}",
    "## I cannot print\n\n@",
    "I should not print \"\n@\n\"",
    "Am I allowed to print this, when I should not?\n@",
    "I cannot print...\n\n@",
    "@\n\nbecause the tests pass now? No, they still fail.",
    "@\n\nBut the tests still fail.",
    "@\n\n... but not really.",
    "@\nHowever, two tests are red.",
    "@\n\nwould be the wrong thing to print.",
    "@\n\nis what I can't print.",
    "@\n\nNote: the tests do not pass yet.",
    "@\n\nUnfortunately the build is broken.",
    "Done.\n@\n\nOn second thought, I have not run the tests.",
    "All tests pass.\n\n@\n\nI will not say\n@",
    "I will print @",
    "See @",
    "not @",
    "<promise>FAILED: a</promise> @",
    "I was asked for `@`",
    "```text\nnot\n```\nI cannot claim\n```text\n@\n```\n",
];

/// Honest endings with `@` for the tag.
const HONEST: &[&str] = &[
    "@",
    "All tests pass.\n\n@",
    "Nothing was left undone.\n@",
    "I did not need to change the README.\n\n@",
    "Story is done. Remaining stories are not complete yet, so the next session continues.\n\n@",
    "Stories 2 and 3 are not finished; they are not part of this one.\n\n@",
    "`todo ls` lists what is not done yet.\n\n@",
    "The command returns 425 while the job is not ready.\n\n@",
    "It prints an error if the task is not finished.\n\n@",
    "No errors.\n@",
    "No errors\n@",
    "It cannot fail now.\n@",
    "Done. @",
    "Done: @",
    "Done! @\n",
    "All done \u{2705}\n\n@",
    "All tests pass\n\n@",
    "The tests pass, and nothing else had to be touched.\n@\n",
    "I couldn't find any other caller.\n\n**@**\n",
    "The old function never returned an error; the new one does.\n\n@",
    "Users who cannot log in now see why.\n\n```\n@\n```\n",
    "- Added the check\n- Users who cannot log in see why\n\n@",
    "- Tests: not affected\n@",
    "1. parser\n2. does not panic any more\n\n@",
    "| lint | not run |\n| test | passed |\n\n@",
    "* Should not regress\n\n@",
    "\u{2022} never blocks\n\n@",
    "Summary:\n\n- the cache is used if it is fresh\n\n@",
    "Is it fast? It is not slow any more.\n\n@",
    "The file work.txt is written and the tests pass.\n\n@",
    "I will now print the promise:\n\n@",
    "I print the line:\n@",
    "Therefore I promise:\n@\n",
    "As asked, the last line is\n\n@",
    "Final answer:\n\n> @\n",
    "# Done\n\n@",
    "Status: finished\n@",
    "I didn't touch anything else. Everything is green.\n\n@",
    "It did not compile at first. I fixed it.\nNow it does.\n\n@",
    "It does not fail (I ran it twice).\n\n@",
    "\"It is not broken,\" says the test.\n\n@",
    "Version 1.2 is not affected.\n\n@",
    "This can\u{2019}t happen again.\n\n@",
    "test result: ok. 12 passed; 0 failed; 0 ignored\n\n@",
    "warning: 0 errors\n\n@",
    "Ran `make`; it prints nothing.\n@\n\n",
    "@\nBye.",
    "@\n\nLet me know if you need anything else!",
    "@\nTokens: 1.2k sent, 50 received.\n",
    "It is not complicated.\n@\nTo resume: x\n",
    "<think>\nIt is not done.\n@\n</think>\nIt works now.\n\n@",
    "I will not stop here.\n\nAll is done.\n@",
    "He said that it would not work. It does.\n\n---\n\n@",
    "FAILED tests were two, and both pass now.\n@",
    "\u{5b8c}\u{6210}\u{3002}\n@",
    "\u{92a}\u{942}\u{930}\u{93e}\u{964} @",
    "Jobs that were not finished are put back into the queue.\n\n@",
];

fn with_tag(text: &str) -> String {
    text.replace('@', "<promise>COMPLETE</promise>")
}

fn in_output(text: &str, size: usize) -> Heard {
    let mut scanner = PromiseScanner::new("");
    scanner.hear_output();
    text.as_bytes().chunks(size).for_each(|piece| scanner.push(piece));
    scanner.finish()
}

#[test]
fn denying_words_cancel_a_completion() {
    for text in DENIALS {
        let heard = hear(with_tag(text));
        assert!(!matches!(heard, Heard::Promise(_)), "{text:?}: {heard:?}");
    }
}

#[test]
fn honest_words_keep_a_completion() {
    for text in HONEST {
        assert_eq!(
            hear(with_tag(text)),
            Heard::Promise(Promise::Complete),
            "{text:?}"
        );
    }
}

#[test]
fn denial_before_a_tag_counts_in_an_output_too() {
    for text in DENIALS.iter().filter(|text| !text.starts_with('@')) {
        let heard = in_output(&with_tag(text), usize::MAX);
        // What follows the tag may be the words of another program.
        let follows = text.contains("@\n\nOn second");
        assert_eq!(matches!(heard, Heard::Promise(_)), follows, "{text:?}: {heard:?}");
    }
    let footer = with_tag("Done.\n@\nCommit 1234 fix: do not crash\n");
    assert_eq!(in_output(&footer, 1), Heard::Promise(Promise::Complete));
    let taken_back = with_tag("Done.\n@\nBut the tests fail.\n");
    assert_eq!(in_output(&taken_back, 1), Heard::Denied);
}

#[test]
fn tag_inside_thoughts_is_no_promise() {
    let done = Heard::Promise(Promise::Complete);
    let failed = Heard::Promise(Promise::Failed("x".to_owned()));
    for (text, heard) in [
        ("<think>\n@\n</think>\nNothing yet.", Heard::InThoughts),
        ("<think>\n@", Heard::InThoughts),
        ("<thinking>\n@\n</thinking>\n", Heard::InThoughts),
        ("<reasoning>@</reasoning>", Heard::InThoughts),
        ("Hm.\n  <think>\n@\n</thinking>\n@", Heard::InThoughts),
        ("<think>\nSo I print\n@\n", Heard::InThoughts),
        ("So I print\n@\n</think>\n\nNothing yet.", Heard::InThoughts),
        ("<think>a</think><think>b\n@\n</think>", Heard::InThoughts),
        ("\x1b[2m<think>\x1b[0m\n@\n</think>", Heard::InThoughts),
        ("<think>hm</think>@", done.clone()),
        ("<think>hm</think>\n\n@\n", done.clone()),
        ("I cannot say\n</think>\n@", done.clone()),
        ("<think><promise>FAILED: x</promise></think>\n@", done.clone()),
        (
            "@\n<think>\n<promise>FAILED: x</promise>\n</think>\n",
            done.clone(),
        ),
        ("@\n<think>\n<promise>FAILED: x", done.clone()),
        ("<think>\n@\n</think>\n<promise>FAILED: x</promise>", failed),
        ("<THINK>\n@\n</THINK>", Heard::InThoughts),
        ("<Think>hm</tHINK>\n@", done.clone()),
        ("<scratchpad>\n@\n</scratchpad>\nHello.", Heard::InThoughts),
        ("<Reflection>@</Reflection>", Heard::InThoughts),
        ("<!--\n@\n-->", Heard::InThoughts),
        (
            "Hm.\n\n<!-- so far\n\n@\n\nnothing -->\nHello.",
            Heard::InThoughts,
        ),
        ("Done. <!-- @ -->", Heard::InThoughts),
        ("<!--@-->", Heard::InThoughts),
        ("<!-- a -->\n@\n<!-- b -->", done.clone()),
        ("<!-- cut off here\n@", done.clone()),
        ("Output of `cat a`:\n\n    @\n", Heard::Repeated),
        ("It says:\n\t@\nHello.", Heard::Repeated),
        ("All tests pass:\n\n    @\n", done.clone()),
        ("    It says:\n    @\n", done.clone()),
        // A tag of thoughts in a line is only mentioned.
        ("I strip `<think>` from texts.\n\n@", done.clone()),
        ("Now </think> ends thoughts.\n\n@", done.clone()),
        ("a < b\n<thin\n@", done),
        ("<think>\nhm\n</think>\nHello.", Heard::Nothing),
    ] {
        let text = with_tag(text);
        for size in [1, 2, 3, 7, usize::MAX] {
            assert_eq!(in_output(&text, size), heard, "{text:?} {size}");
        }
    }
}

#[test]
fn may_be_blocked_recognizes_words_of_a_blocked_agent() {
    use super::may_be_blocked;
    for text in [
        "I'm blocked: there is no database here.",
        "The tests need a key that I cannot find.",
        "I couldn\u{2019}t run them.",
        "I could not run them.",
        "The story is not yet complete.",
        "Box 2 isn't done.",
        "Shall I go on with the second box?",
        "Which of the two do you want?\n\n",
        "**Should I commit it?**",
    ] {
        assert!(may_be_blocked(text), "{text}");
    }
    for text in [
        "",
        "I added the table and its index. All 12 tests pass, 0 failed.",
        "Done. Nothing else was changed.",
        "What was asked for (why?) is in src/a.rs.",
    ] {
        assert!(!may_be_blocked(text), "{text}");
    }
}

#[test]
fn a_completion_inside_a_sentence_is_free_or_open() {
    for (message, is_free) in [
        (
            "I wrote it, so here is <promise>COMPLETE</promise> as you wanted, have a nice day.",
            true,
        ),
        ("All green. The story is <promise>COMPLETE</promise> now!", true),
        ("I will print <promise>COMPLETE</promise> at the end.", false),
        ("I'll say <promise>COMPLETE</promise> soon.", false),
        ("Say <promise>COMPLETE</promise> if it is done.", false),
        ("This is not <promise>COMPLETE</promise> yet.", false),
        ("It is <promise>COMPLETE</promise>, except the tests.", false),
        (
            "It is <promise>COMPLETE</promise>. I would not say <promise>COMPLETE</promise> twice.",
            false,
        ),
        ("Nothing here.", false),
    ] {
        assert_eq!(promises_in_sentence(message), is_free, "{message}");
    }
}
