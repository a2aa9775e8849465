//! Recognizes sentences that only say that a story is done. Conditions and announcements are endless in any language,
//! so the words of affirmations are listed: a sentence with any other word beside a promise is doubtful.

use super::sentence::{AROUND, Sentence, lower, phrases};

const WORDS: &str = include_str!("affirmed.txt");

/// The completion that is searched in a sentence.
const COMPLETION: &str = "<promise>COMPLETE</promise>";

/// Words for faults, of which zero is good.
const FAULTS: &str =
    "error, errors, failure, failures, warning, warnings, issue, issues, regressions, problems";

/// First words that make a sentence a question or a condition.
const INVERTED: &str = "is, are, was, were, has, have, ist, sind, laufen, passent, pasan, passam, passano";

/// Maximum length of a sentence in bytes: an affirmation is short.
const LONGEST: usize = 1024;

/// Returns true if each word of a lower-case sentence belongs to an affirmation, or has a digit.
fn affirms(sentence: &str) -> bool {
    if sentence.len() > LONGEST {
        return false;
    }
    let sentence = without_zeros(&sentence.replace("will now", "now"));
    let is_apart = |char: char| !char.is_alphanumeric() && char != '\'';
    let mut words = sentence
        .split(is_apart)
        .filter(|word| !word.is_empty())
        .peekable();
    let is_inverted = words
        .peek()
        .is_some_and(|first| phrases(INVERTED).any(|word| word == *first));
    !is_inverted && !sentence.contains(['?', '？', '؟']) && words.all(is_known)
}

fn is_known(word: &str) -> bool {
    let is_spaced = |char: char| char < '\u{2e80}';
    let mut rest = word;
    while !rest.is_empty() {
        if rest.contains(|char: char| char.is_ascii_digit()) || phrases(WORDS).any(|known| known == rest) {
            return true;
        }
        // The longest match wins: none of these words is the beginning of a longer one with another meaning.
        let begins = |known: &&str| rest.starts_with(*known) && !known.starts_with(is_spaced);
        let Some(longest) = phrases(WORDS).filter(begins).max_by_key(|known| known.len()) else {
            return false;
        };
        rest = &rest[longest.len()..];
    }
    true
}

/// Returns true if a message has a completion inside a sentence, and each sentence around one only says that the story
/// is done.
pub fn promises_in_sentence(message: &str) -> bool {
    let ends = |char: char| ".!?。！？\n\r".contains(char);
    let mut found = message.match_indices(COMPLETION).peekable();
    let is_there = found.peek().is_some();
    is_there
        && found.all(|(at, tag)| {
            let after = message[at + tag.len()..].split(ends).next();
            leads_as_affirmation(&message[..at]) && affirms(&lower(after.unwrap_or_default().as_bytes()))
        })
}

/// Returns true if the last sentence of a text only says that a story is done, or there is none.
pub(super) fn leads_as_affirmation(text: &str) -> bool {
    let text = lower(text.as_bytes());
    Sentence::last_of(&text).is_none_or(|sentence| affirms(sentence.text))
}

/// Returns true if the text before a tag shows a quotation of a file or a program: the tag is indented like a code
/// block, and a line above that ends with a colon, and is no affirmation, introduces it.
pub(super) fn leads_to_quotation(text: &[u8]) -> bool {
    let blanks = text
        .iter()
        .rev()
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count();
    let (above, own) = text.split_at(text.len() - blanks);
    // Most tags are at the beginning or in the middle of a line.
    if !own.starts_with(b"    ") && !own.contains(&b'\t') || !above.ends_with(b"\n") {
        return false;
    }
    let above = lower(&above[above.len().saturating_sub(AROUND)..]);
    let last = above.lines().rfind(|line| !line.trim().is_empty());
    let leads = |line: &str| {
        line.trim_end().ends_with([':', '：']) && !line.starts_with("    ") && !line.starts_with('\t')
    };
    last.is_some_and(leads) && !leads_as_affirmation(&above)
}

/// Returns a sentence without its zero counts: "0 skipped", "no errors".
pub(super) fn without_zeros(sentence: &str) -> String {
    let is_fault = |word: &&str| phrases(FAULTS).any(|fault| word.trim_end_matches([',', '.', ':']) == fault);
    let mut words = sentence.split_whitespace().peekable();
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        if word == "0" || word == "no" && words.peek().is_some_and(is_fault) {
            words.next();
        } else {
            kept.push(word);
        }
    }
    kept.join(" ")
}

#[cfg(test)]
mod tests {
    use crate::agent::promise::{doubt, promises_in_sentence};

    const TAG: &str = "<promise>COMPLETE</promise>";

    #[test]
    fn words_beside_a_promise_leave_no_doubt_if_they_affirm_in_any_language() {
        for words in [
            "Done:",
            "All 12 tests pass.",
            "Tests: 12 passed, 0 failed.",
            "All green, no errors.",
            "All acceptance criteria are met.",
            "Story 1.2 is complete.",
            "`src/a.rs` is finished:",
            "Alle Tests laufen durch:",
            "Terminé.",
            "C'est fait :",
            "Todas las pruebas pasan.",
            "Tudo pronto:",
            "Tutti i test sono verdi.",
            "Gotowe.",
            "Все тесты проходят.",
            "所有测试都通过了：",
            "すべてのテストに合格しました。",
            "모든 테스트가 통과했습니다.",
            "<unchanged>README.md shows it, if it is new</unchanged>",
            "- [x]",
        ] {
            for message in [format!("{words} {TAG}"), format!("{words}\n\n{TAG}\n")] {
                assert_eq!(doubt(&message, true), None, "{message}");
            }
        }
    }

    #[test]
    fn other_words_beside_a_promise_leave_doubt() {
        for words in [
            "The promise will be:",
            "Once the tests pass:",
            "Are all tests green:",
            "Sobald CI grün ist:",
            "Nach der Prüfung:",
            "Sind alle Tests grün:",
            "Dès que tout passe :",
            "Si todo va bien:",
            "Se tutto passa:",
            "Quando tudo passar:",
            "Gdy testy przejdą:",
            "Когда тесты пройдут:",
            "测试全部通过后：",
            "テストが合格したら：",
            "테스트가 통과하면:",
        ] {
            for message in [format!("{words} {TAG}"), format!("{words}\n\n{TAG}\n")] {
                assert!(doubt(&message, true).is_some(), "{message}");
            }
        }
        let fenced = format!("Sobald `ci` grün ist:\n\n```\n{TAG}\n```\n");
        assert_eq!(doubt(&fenced, true).as_deref(), Some("Sobald `ci` grün ist:"));
        // Text that ends with a period is a separate sentence, unless the promise is beside it.
        for words in ["Wenn die Tests laufen.", "3 errors.", "No tests run."] {
            assert!(doubt(&format!("{words} {TAG}"), true).is_some(), "{words}");
        }
        assert!(doubt(&format!("Wenn die\nTests laufen: {TAG}"), true).is_some());
        assert_eq!(doubt(&format!("Falls leer, kommt 404.\n\n{TAG}"), true), None);
    }

    #[test]
    fn sentence_of_any_length_is_no_affirmation_beyond_its_limit() {
        for words in ["完成了", "all done "] {
            assert!(super::affirms(&words.repeat(100)), "{words}");
            assert!(!super::affirms(&words.repeat(1_000_000)), "{words}");
        }
    }

    #[test]
    fn promise_inside_a_sentence_with_other_words_is_open() {
        for (message, is_free) in [
            ("The story is @ now!", true),
            ("Die Story ist @ und fertig.", true),
            ("As soon as CI is green, expect @ from me.", false),
            ("Sobald alles läuft, kommt @ von mir.", false),
            ("Dès que tout passe, @ suivra.", false),
            ("Cuando pase CI diré @ aquí.", false),
            ("Quando la CI passa, @ arriva.", false),
            ("Quando a CI passar, @ vem.", false),
            ("Gdy testy przejdą, @ będzie.", false),
            ("Когда тесты пройдут, @ появится.", false),
            ("测试通过后输出 @ 。", false),
            ("テストが通ったら @ と書きます。", false),
            ("테스트가 통과하면 @ 라고 씁니다.", false),
        ] {
            let message = message.replace('@', TAG);
            assert_eq!(promises_in_sentence(&message), is_free, "{message}");
        }
    }
}
