//! Finds words of an agent that make its promise of completion doubtful. A doubt is no denial: the agent is asked.
//!
//! The phrases need not be complete: one too many costs a question, one too few leaves what the promise says.

use super::sentence::is_bare;

/// The number of lines with words that are read before the promise.
const LINES: usize = 12;

/// The completion after which nothing is to be said.
const COMPLETION: &str = "<promise>COMPLETE</promise>";

/// The beginnings of a line with an open box, without the marker of its item.
const OPEN_BOXES: &[&str] = &["[ ]", "[]", "☐"];

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
];

/// The tags of what the prompt asks for besides the promise.
const BLOCKS: &[(&str, &str)] = &[("<learning>", "</learning>"), ("<unchanged>", "</unchanged>")];

/// Words with which a line says that there is nothing of the kind.
const NOTHING: &[&str] = &["nothing", "none", "no longer", "previously"];

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
        !is_code && !is_fence && !is_bare(line)
    });
    let prose: Vec<&str> = prose.collect();
    let last = prose.get(prose.len().saturating_sub(LINES)..).unwrap_or_default();
    let said = last.iter().copied().find(|line| says_undone(line));
    let mut after = after.lines().filter(|line| !is_bare(line));
    let behind = || after.find(|line| says_undone(line) || !output && !is_footer(line));
    said.or_else(behind).map(ToOwned::to_owned)
}

/// Returns a text without what stands between these tags.
fn without(text: &str, (open, close): (&str, &str)) -> String {
    let mut parts = text.split(open);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + part.split_once(close).map_or("", |(_, rest)| rest)
    })
}

fn says_undone(line: &str) -> bool {
    let line = line.to_lowercase().replace('\u{2019}', "'");
    let item = line.trim_start_matches(|char: char| {
        char.is_whitespace() || "-*+>.)".contains(char) || char.is_ascii_digit()
    });
    let is_nothing = NOTHING.iter().any(|word| line.contains(word));
    OPEN_BOXES.iter().any(|open| item.starts_with(open))
        || !is_nothing && phrases().any(|phrase| line.contains(phrase))
}

fn phrases() -> impl Iterator<Item = &'static str> {
    UNDONE
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn is_footer(line: &str) -> bool {
    let line = line.to_lowercase();
    let line = line.trim_start_matches(|char: char| !char.is_alphanumeric());
    let is_count = line.starts_with(|char: char| char.is_ascii_digit());
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
        ] {
            let message = format!("{COMPLETION}\n{after}\n");
            assert_eq!(
                doubt(&message, false).as_deref(),
                Some(after).filter(|_| is_doubtful),
                "{after}"
            );
        }
        assert_eq!(doubt(&format!("{COMPLETION}\nBye.\n"), true), None);
        assert!(doubt(&format!("{COMPLETION}\n- [ ] tests\n"), true).is_some());
    }
}
