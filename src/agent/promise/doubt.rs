//! Finds words of an agent that make its promise of completion doubtful. A doubt is no denial: the agent is asked.
//!
//! The form of a line tells in any language; the phrases need not be complete: one too many costs a question, one too few
//! leaves what the promise says.

use super::sentence::{ENDS, is_bare, is_decoration, is_item, is_one_of, phrases};

/// The number of lines with words that are read before the promise.
const LINES: usize = 12;

/// The completion after which nothing is to be said.
const COMPLETION: &str = "<promise>COMPLETE</promise>";

/// The beginnings of a line with an open box or a cross, without the marker of its item.
const OPEN_BOXES: &[&str] = &["[ ]", "[]", "☐", "❌", "✗", "✘"];

/// Words for which a line that announces the promise is no condition.
const DONE: &str = "done, complete, finished, signal, promise, final";

/// The fewest words of a line that is taken for a sentence, and its fewest letters in a script without blanks.
const SENTENCE: (usize, usize) = (4, 6);

/// The same of a line that is taken for a condition.
const CONDITION: (usize, usize) = (5, 7);

/// The beginnings of lines with which programs or habits end a message.
const FOOTERS: &str = "co-authored-by, generated with, signed-off-by, tokens, total, cost, session, model, \
                       duration, usage, time, http, summary, let me know, all tests, done in, finished in, saved, \
                       thank";

/// Words of a footer that begins with a number: it counts them.
const COUNTED: &str = "passed, token, changed, %";

/// The tags of what the prompt asks for besides the promise.
const BLOCKS: &[(&str, &str)] = &[("<learning>", "</learning>"), ("<unchanged>", "</unchanged>")];

/// Words with which a sentence says that there is nothing of the kind, or no longer, that nothing changed, or no need.
const NOTHING: &str = "nothing, none, no longer, previously, initially, at first, any other, neces, nécess, hace falta, \
                       hizo falta, już, больше не, 没有任何, без измен, без змін, bez zmian, aynı";

/// Words that set what is missing against what is done, or tell what is to come. They count in the last line before the
/// promise.
const TURNS: &str = "but, however, although, aber, jedoch, allerdings, mais je, mais j, mais la, mais le, mais les, \
                     mais l, mais il, cependant, toutefois, pero, aunque, sin embargo, mas, porém, ma non, ma il, ma la, \
                     ma i, ma manca, però, tuttavia, maar, но, однако, але, проте, ale, lecz, jednak, ama, ancak, fakat, \
                     لكن, ولكن, لكنني, लेकिन, nhưng, men, אבל, 但, 不过, ましたが, ますが, ですが, ただし, 지만, 다만, i ll, i will, \
                     waiting for";

/// Words for tests that failed. They count beside a number other than 0.
const FAILED: &str = "failed, failure, fehlgeschlagen, échou, échec, fallid, fallaron, falhar, fallit, упал, провал, 失败, \
                      失敗, 실패, başarısız, niezalicz, nieudan, فشل, فاشل, mislukt, selhal, विफल, असफल, thất bại";

/// Words between a part and the whole: "3 of 5".
const OF: &str = "of, von, sur, de, di, su, из, з, z, ze, van, av";

/// Phrases with which a message says that something is not done, in the languages that agents mostly answer in.
const UNDONE: &str = include_str!("undone.txt");

/// Returns the line of a message that makes its completion doubtful: a box that is open, words that say that something is
/// not done or to come, another promise, or anything after the promise. The end of an `output` may be words of another program.
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
    let is_open = |line: &&str| is_condition(line) || !is_item(line) && turns(line);
    let announced = || last.last().copied().filter(is_open);
    let has_words = |line: &&str| !is_bare(line) && line.contains(char::is_alphanumeric);
    let mut after = after.lines().filter(|line| has_words(line) || has_open_box(line));
    let is_more = |line: &str| !is_footer(line) && (!output || is_sentence(line) && !line.starts_with('['));
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
    let says = |sentence: &str| {
        let sentence = format!("{sentence}.");
        let has = |list: &'static str| phrases(list).any(|phrase| sentence.contains(phrase));
        has(UNDONE) && !has(NOTHING)
    };
    has_open_box(&line)
        || is_other_promise(&line)
        || counts_failures(&line)
        || counts_parts(&line)
        || line
            .split(|char| ENDS.contains(&char) || ['?', '？', ';', '；'].contains(&char))
            .any(says)
}

/// Returns true for a line that holds only a promise, of something else than completion.
fn is_other_promise(line: &str) -> bool {
    let line = line.trim_matches(|char| is_decoration(char) || char == '<');
    let inner = line
        .strip_prefix("promise>")
        .and_then(|line| line.strip_suffix("/promise"));
    inner.is_some_and(|inner| inner != "complete<")
}

/// Returns true for a line that ends with a question.
fn asks(line: &str) -> bool {
    line.trim_end_matches(is_decoration).ends_with(['?', '？', '؟'])
}

/// Returns true for a line that counts what failed, in any order of words: "2 failed", "2 tests failed", "failed: 2".
fn counts_failures(line: &str) -> bool {
    let is_between = |char: char| !char.is_alphanumeric() && char != '_';
    let counts = |(at, failed): (usize, &str)| {
        let before = line[..at].rsplit([',', ';', '(', ')', '，', '、', '،']).next();
        let before = before.unwrap_or_default().trim_end_matches(is_between);
        let further = before
            .trim_end_matches(char::is_alphabetic)
            .trim_end_matches(is_between);
        let after = line[at + failed.len()..].trim_start_matches(char::is_alphabetic);
        let after = after.trim_start_matches([' ', ':', '：', '=']);
        let is_other = |char: char| !char.is_ascii_digit();
        let behind = after.split(is_other).next();
        let numbers = [
            before.rsplit(is_other).next(),
            further.rsplit(is_other).next(),
            behind,
        ];
        let mut numbers = numbers
            .into_iter()
            .flatten()
            .filter(|number| !number.is_empty())
            .peekable();
        numbers.peek().is_some() && numbers.all(|number| !number.trim_matches('0').is_empty())
    };
    let failing = line.contains("pass").then_some("failing");
    phrases(FAILED)
        .chain(failing)
        .any(|failed| line.match_indices(failed).any(counts))
}

/// Returns true for a line that counts a part of a whole: "3/5", "3 of 5", "3 tests of 5".
fn counts_parts(line: &str) -> bool {
    let is_part = |part: &str, whole: &str| {
        let numbers = part.parse::<u64>().ok().zip(whole.parse().ok());
        numbers.is_some_and(|(part, whole)| 0 < part && part < whole)
    };
    let words = line.split(|char: char| !char.is_alphanumeric() && char != '/');
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let is_of = |at: usize, whole: &str| {
        let part = |back: usize| at >= back && is_part(words[at - back], whole);
        at > 1 && is_one_of(OF, words[at - 1]) && (part(2) || part(3))
    };
    words.iter().enumerate().any(|(at, word)| {
        word.split_once('/')
            .is_some_and(|(part, whole)| is_part(part, whole))
            || is_of(at, word)
    })
}

/// Returns true for a line that leads to what follows, and does not say that it is done: "once all is green, I print:".
fn is_condition(line: &str) -> bool {
    let is_word = |word: &&str| word.contains(char::is_alphanumeric);
    let is_long = || {
        let letters = line
            .chars()
            .filter(|char| ('\u{2e80}'..'\u{a000}').contains(char));
        line.split_whitespace().filter(is_word).count() >= CONDITION.0 || letters.count() >= CONDITION.1
    };
    let is_done = || {
        let line = line.to_lowercase();
        phrases(DONE).any(|word| line.contains(word))
    };
    let leads = line.trim_end_matches(is_decoration).ends_with([':', '：']);
    let runs_on = || {
        let is_label = line.contains(|char: char| char == ':' || char.is_numeric());
        !is_label && line.starts_with(char::is_alphabetic) && line.trim_end().ends_with(char::is_alphabetic)
    };
    (leads || runs_on()) && is_long() && !is_done()
}

/// Returns true for a sentence that sets something against what it said before, tells what is to come, or asks in its
/// middle. An item of a list describes the work.
fn turns(line: &str) -> bool {
    let line = line.to_lowercase();
    let words: Vec<&str> = line
        .split(|char: char| !char.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let words = format!(" {} ", words.join(" "));
    let is_there = |word: &str| {
        let has_blanks = word.starts_with(|char| char < '\u{2e80}');
        words.contains(word) && (!has_blanks || words.contains(&format!(" {word} ")))
    };
    let mut asked = line.match_indices("? ");
    phrases(TURNS).any(is_there)
        || line.contains(['？', '؟'])
        || asked.any(|(at, _)| line[..at].ends_with(char::is_alphabetic))
}

/// Returns true for a line that ends as a sentence does.
fn is_sentence(line: &str) -> bool {
    let text = line.trim_end_matches(is_decoration);
    text.ends_with(|char| ENDS.contains(&char) || ['?', '？'].contains(&char)) && has_words(text)
}

fn has_words(text: &str) -> bool {
    let letters = text
        .chars()
        .filter(|char| !char.is_ascii() && char.is_alphanumeric());
    text.split_whitespace().count() >= SENTENCE.0 || letters.count() >= SENTENCE.1
}

fn is_footer(line: &str) -> bool {
    let line = line.to_lowercase();
    let line = line.trim_start_matches(|char: char| !char.is_alphanumeric());
    let is_number = |text: &str| text.trim_start().starts_with(|char: char| char.is_ascii_digit());
    let is_counted =
        phrases(COUNTED).any(|counted| line.contains(counted)) || !line.contains(char::is_alphabetic);
    let has_label = line
        .split_once([':', '：'])
        .is_some_and(|(_, count)| is_number(count));
    let mut words = line.split_whitespace().rev();
    let took = words
        .next()
        .is_some_and(|word| is_number(word) && word.trim_end_matches('.').ends_with('s'));
    let is_count = is_number(line) && is_counted || has_label || took;
    is_count || phrases(FOOTERS).any(|footer| line.starts_with(footer))
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
            "Sobald alles grün ist, schreibe ich",
            "Tests: 28 passed, 3 tests failed",
            "Tests : 14 réussis, 3 échoués.",
            "测试：14 个通过，失败 3 个。",
            "3/5 tasks",
            "3 tâches sur 5 sont faites.",
            "Выполнено 3 из 5 задач.",
            "Le code est écrit mais je n'ai rien lancé.",
            "Kod jest napisany, lecz nie działa.",
            "コードは書きましたが、テストは動かしていません。",
            "코드는 작성했지만 실행하지 않았습니다.",
            "Which base is it? Then I can go on.",
            "Next I'll write the migration.",
            "Previously it was red. Now it is not finished.",
            "<promise>FAILED: no database</promise>",
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
            "The test `test_404_failed` is new.",
            "Tests : 27 réussis, 0 échoué.",
            "通过 37 个测试，失败 0 个",
            "14 test geçti, 0 başarısız",
            "修复了：测试失败是因为字段没有设置。",
            "5/5 tasks, 1/0",
            "I initially could not run the tests; now they pass.",
            "La tâche est terminée :",
            "- Names are escaped not when written but when read.",
            "Stary interfejs pozostał bez zmian.",
            "Agora não há mais falhas.",
            "Teraz nie ma błędów.",
            "All tests pass now",
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
            ("🎉", false),
            ("Task completed in 3m 12s.", false),
            ("»", false),
            ("12,345", false),
            ("Время: 12 с", false),
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
            ("[INFO] The session has ended.", false),
            ("Wait, I take that back.", true),
            ("现在开始第一步。", true),
        ] {
            let message = format!("{COMPLETION}\n{after}\n");
            assert_eq!(doubt(&message, true).is_some(), is_doubtful, "{after}");
        }
        assert!(doubt(&format!("{COMPLETION}\n- [ ] tests\n"), true).is_some());
        assert!(doubt(&format!("- [ ] {COMPLETION}\n"), false).is_some());
        assert!(doubt(&format!("- [x] {COMPLETION}\n"), false).is_none());
    }
}
