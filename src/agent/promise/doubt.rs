//! Finds words of an agent that make its promise of completion doubtful. A doubt is no denial: the agent is asked.
//!
//! The form of a line tells in any language; the phrases need not be complete: one too many costs a question, one too few
//! leaves what the promise says.

use super::sentence::{is_bare, is_decoration};

/// The number of lines with words that are read before the promise.
const LINES: usize = 12;

/// The completion after which nothing is to be said.
const COMPLETION: &str = "<promise>COMPLETE</promise>";

/// The beginnings of a line with an open box or a cross, without the marker of its item.
const OPEN_BOXES: &[&str] = &["[ ]", "[]", "☐", "❌", "✗", "✘"];

/// Words for which a line that announces the promise is no condition.
const DONE: &[&str] = &["done", "complete", "finished", "signal", "promise", "final"];

/// The fewest words of a line that is taken for a sentence, and its fewest letters in a script without blanks.
const SENTENCE: (usize, usize) = (4, 8);

/// The beginnings of lines with which programs or habits end a message.
const FOOTERS: &[&str] = &[
    "co-authored-by",
    "generated with",
    "signed-off-by",
    "tokens",
    "total",
    "cost",
    "session",
    "model",
    "duration",
    "usage",
    "time",
    "http",
    "summary",
    "let me know",
    "all tests",
    "done in",
    "finished in",
    "saved",
    "thank",
];

/// Words of a footer that begins with a number: it counts them.
const COUNTED: &[&str] = &["passed", "token", "changed", "%"];

/// The tags of what the prompt asks for besides the promise.
const BLOCKS: &[(&str, &str)] = &[("<learning>", "</learning>"), ("<unchanged>", "</unchanged>")];

/// Words with which a line says that there is nothing of the kind.
const NOTHING: &[&str] = &["nothing", "none", "no longer", "previously", "hace falta"];

/// Phrases with which a message says that something is not done, in the languages that agents mostly answer in.
const UNDONE: &str = include_str!("undone.txt");

/// Returns the line of a message that makes its completion doubtful: a box that is open, words that say that something is
/// not done, or anything after the promise. The end of an `output` may be words of another program.
pub fn doubt(message: &str, output: bool) -> Option<String> {
    let at = message.rfind(COMPLETION)?;
    let (before, after) = (message.get(..at)?, message.get(at + COMPLETION.len()..)?);
    let after = BLOCKS
        .iter()
        .fold(after.to_owned(), |text, tags| without(&text, *tags));
    let mut is_code = false;
    let prose = before.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence && (!is_bare(line) || has_open_box(line))
    });
    let prose: Vec<&str> = prose.collect();
    let last = prose.get(prose.len().saturating_sub(LINES)..).unwrap_or_default();
    let said = last.iter().copied().find(|line| says_undone(line) || asks(line));
    let announced = || last.last().copied().filter(|line| is_condition(line));
    let mut after = after.lines().filter(|line| !is_bare(line));
    let is_more = |line: &str| !is_footer(line) && (!output || is_sentence(line));
    let behind = || after.find(|line| says_undone(line) || is_more(line));
    said.or_else(announced).or_else(behind).map(ToOwned::to_owned)
}

/// Returns a text without what stands between these tags.
fn without(text: &str, (open, close): (&str, &str)) -> String {
    let mut parts = text.split(open);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + part.split_once(close).map_or("", |(_, rest)| rest)
    })
}

/// Returns true for an item of a list with an open box or a cross.
fn has_open_box(line: &str) -> bool {
    let item = line.trim_start_matches(|char: char| {
        char.is_whitespace() || "-*+>.)".contains(char) || char.is_ascii_digit()
    });
    OPEN_BOXES.iter().any(|open| item.starts_with(open))
}

fn says_undone(line: &str) -> bool {
    let line = line.to_lowercase().replace('\u{2019}', "'");
    let is_nothing = NOTHING.iter().any(|word| line.contains(word));
    has_open_box(&line)
        || counts_failures(&line)
        || !is_nothing && phrases().any(|phrase| line.contains(phrase))
}

/// Returns true for a line that ends with a question.
fn asks(line: &str) -> bool {
    line.trim_end_matches(is_decoration).ends_with(['?', '？', '؟'])
}

/// Returns true for a line that counts tests that failed, as programs do that run them.
fn counts_failures(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_failed = |word: &str| match word.trim_end_matches(['.', ',', ';', ')']) {
        "failed" | "failure" | "failures" => true,
        "failing" => line.contains("pass"),
        _ => false,
    };
    let number = |word: &str| {
        word.trim_matches(|char: char| !char.is_ascii_digit())
            .parse::<u64>()
    };
    words
        .windows(2)
        .any(|pair| is_failed(pair[1]) && number(pair[0]).is_ok_and(|count| count > 0))
}

/// Returns true for a line that leads to what follows, and does not say that it is done: "once all is green, I print:".
fn is_condition(line: &str) -> bool {
    let text = line.trim_end_matches(is_decoration);
    let is_done = || {
        let line = line.to_lowercase();
        DONE.iter().any(|word| line.contains(word))
    };
    text.ends_with([':', '：']) && has_words(text) && !is_done()
}

/// Returns true for a line that ends as a sentence does.
fn is_sentence(line: &str) -> bool {
    let text = line.trim_end_matches(is_decoration);
    text.ends_with(['.', '!', '?', '。', '！', '？']) && has_words(text)
}

fn has_words(text: &str) -> bool {
    let letters = text
        .chars()
        .filter(|char| !char.is_ascii() && char.is_alphanumeric());
    text.split_whitespace().count() >= SENTENCE.0 || letters.count() >= SENTENCE.1
}

fn phrases() -> impl Iterator<Item = &'static str> {
    UNDONE
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn is_footer(line: &str) -> bool {
    let line = line.to_lowercase();
    let line = line.trim_start_matches(|char: char| !char.is_alphanumeric());
    let begins_with_number = line.starts_with(|char: char| char.is_ascii_digit());
    let is_count = begins_with_number && COUNTED.iter().any(|counted| line.contains(counted));
    is_count || FOOTERS.iter().any(|footer| line.starts_with(footer))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        format!("{text}\n\n{COMPLETION}\n")
    }

    #[test]
    fn words_that_say_the_opposite_are_doubtful_in_ten_languages() {
        for text in [
            "Two tests still fail.",
            "- [ ] tests",
            "1. [ ] tests",
            "☐ tests",
            "Remaining work: the second file.",
            "The parser isn’t done. It doesn’t pass.",
            "That was the first half. The second half is for the next turn.",
            "TODO: real implementation",
            "Die Story ist nicht fertig.",
            "Die zweite Box fehlt noch, das habe ich nicht geschafft.",
            "L'histoire n'est pas terminée.",
            "Je n'ai pas pu lancer les tests.",
            "La historia todavía no está terminada.",
            "A história ainda não está pronta.",
            "La storia non è completa.",
            "Het verhaal is nog niet klaar.",
            "Historia nie jest gotowa.",
            "История ещё не готова.",
            "测试没有通过，所以我不能输出",
            "第二个任务还没做。",
            "ストーリーはまだ完了していません。",
            "아직 완료되지 않았습니다.",
            "İkinci kutu henüz bitmedi.",
            "Tests: 2 failed, 9 passed.",
            "  9 passing\n  1 failing, 9 passing",
            "❌ the second box",
            "Welche Datei soll ich nehmen?",
            "どのファイルを使いますか？",
            "Wenn alles grün ist, schreibe ich:",
            "全部通过之后我会写这一行：",
        ] {
            assert_eq!(
                doubt(&said(text), false).as_deref(),
                text.lines().last(),
                "{text}"
            );
            assert!(doubt(&said(text), true).is_some(), "{text}");
        }
    }

    #[test]
    fn honest_messages_are_not_doubtful() {
        for text in [
            "",
            "All tests pass. There were no failures.",
            "- [x] tests\n- [x] docs",
            "I could not find any other caller, so nothing else changes.",
            "There is nothing left to do.",
            "**Remaining work:** none",
            "Previously the cache was not implemented; now it is.",
            "Added the page and its tests:\n\n```\n- [ ] an example\nnot yet\n```\nDone.",
            "Alle Tests laufen, keine Fehler.",
            "Tous les tests passent.",
            "Todas las pruebas pasan sin errores.",
            "Все тесты проходят.",
            "所有测试都通过了。",
            "すべてのテストに合格しました。",
            "모든 테스트가 통과했습니다.",
            "Result: 0 failed, 12 passed",
            "failed: 0, passed: 12",
            "I fixed the 2 failing tests.",
            "Status:",
            "The story is complete, so here is the line:",
            "No hace falta cambiar nada más.",
        ] {
            assert_eq!(doubt(&said(text), false), None, "{text}");
        }
        let far = format!(
            "This is not done yet.\n{}",
            "Then I changed a file.\n".repeat(LINES)
        );
        assert_eq!(doubt(&said(&far), false), None);
        assert_eq!(doubt("Not yet.", false), None);
    }

    #[test]
    fn what_follows_the_promise_is_doubtful_unless_it_is_a_footer() {
        for (after, is_doubtful) in [
            ("Tokens: 3 sent.", false),
            ("🤖 Generated with a tool", false),
            ("```", false),
            ("---", false),
            ("<learning>The parser is not done by\nhand.</learning>", false),
            ("<unchanged>form.html shows it</unchanged>", false),
            ("Summary: all tests pass.", false),
            ("12 passed in 0.3s", false),
            ("Let me know if you'd like any changes!", false),
            ("I will add the second part tomorrow.", true),
            ("第二部分明天再做。", true),
            ("2. adım yarın yapılacak.", true),
            ("3 files changed, 2 insertions(+)", false),
        ] {
            let message = format!("{COMPLETION}\n{after}\n");
            assert_eq!(
                doubt(&message, false).as_deref(),
                Some(after).filter(|_| is_doubtful),
                "{after}"
            );
        }
        for (after, is_doubtful) in [
            ("Bye.", false),
            ("Session saved to /tmp/log", false),
            ("Done in 3.2 seconds.", false),
            ("tokens used\n1,234", false),
            ("Wait, I take that back.", true),
            ("第二部分明天再做。", true),
        ] {
            let message = format!("{COMPLETION}\n{after}\n");
            assert_eq!(doubt(&message, true).is_some(), is_doubtful, "{after}");
        }
        assert!(doubt(&format!("{COMPLETION}\n- [ ] tests\n"), true).is_some());
        assert!(doubt(&format!("- [ ] {COMPLETION}\n"), false).is_some());
        assert!(doubt(&format!("- [x] {COMPLETION}\n"), false).is_none());
    }
}
