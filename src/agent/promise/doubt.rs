//! Finds text in an agent's message that makes its promise doubtful. A doubt is no denial: the agent is asked.
//!
//! The form of a line is a hint in any language; the phrases need not be complete: a wrong match costs a question, and
//! a missing one leaves the promise in force.

use super::affirmation::{leads_as_affirmation, without_zeros};
use super::sentence::{ENDS, SUMMARY, is_bare, is_decoration, is_item, is_one_of, phrases};
use super::shape::{counts_progress, has_shape, names_state};

/// The beginning of a reviewer's acceptance.
const ACCEPTANCE: &str = "<verdict>ACCEPT";

/// Phrases with which a reviewer rejects the work.
const REJECTS: &str = "should be rejected, must be rejected, i would reject, i'd reject, i reject, have to reject, cannot accept, can't accept, \
                       not acceptable, not be accepted, muss abgelehnt, sollte abgelehnt, lehne ich ab, nicht annehmbar, nicht akzept, être rejeté, \
                       je rejette, pas acceptable, debe rechazar, debería rechazar, rechazo, no es aceptable, ser rejeitad, rejeito, não é aceit, \
                       essere respint, essere rifiutat, respingo, rifiuto, non è accett, należy odrzuc, odrzucam, следует отклон, отклоняю, \
                       应拒绝, 应该拒绝, 应予拒绝, 应驳回, 应该驳回, 不应接受, 不能接受, 却下すべき, 拒否すべき, 却下します, 承認できません, 거부해야, 거절해야, 반려, 승인할 수 없";

/// Number of lines with words that are read before the promise.
const LINES: usize = 24;

/// The completion, after which no text is expected.
const COMPLETION: &str = "<promise>COMPLETE</promise>";

/// The beginnings of a line with an open box, without the marker of its item.
const OPEN_BOXES: &[&str] = &["[ ]", "[]", "☐", "[~]", "[-]", "[/]"];

/// Symbols for failed or pending items; they also count at the end of a line and in a cell of a table.
const CROSSES: &[char] = &['❌', '✗', '✘', '🔴', '⏳', '🚧', '⬜', '🔲', '◻'];

/// Another sign that begins an item, or a cell of a table.
const WARNING: char = '⚠';

/// Number words, each with its translations.
const NUMBERS: [&str; 10] = [
    "one, ein, eine, einer, eines, un, une, uno, una, um, uma",
    "two, zwei, deux, dos, dois, duas, due",
    "three, drei, trois, tres, três, tre",
    "four, vier, quatre, cuatro, quatro, quattro",
    "five, fünf, cinq, cinco, cinque",
    "six, sechs, seis, sei",
    "seven, sieben, sept, siete, sete, sette",
    "eight, acht, huit, ocho, oito, otto",
    "nine, neun, neuf, nueve, nove",
    "ten, zehn, dix, diez, dez, dieci",
];

/// Words that make a line before the promise an announcement, and no condition.
const DONE: &str = "done, complete, finished, signal, promise, final, fertig, erledigt, termin, fini, listo, hecho, \
                    conclu, pronto, fatto, finit, готов, gotow, 完成, 完了, 완료, bitti";

/// Minimum number of words of a sentence, and of letters in a script without blanks.
const SENTENCE: (usize, usize) = (3, 6);

/// Minimum number of words of a condition, and of letters in a script without blanks.
const CONDITION: (usize, usize) = (5, 7);

/// The beginnings of lines that programs or habits put at the end of a message.
const FOOTERS: &str = "co-authored-by, generated with, signed-off-by, tokens, total, cost, session, model, \
                       duration, usage, time, http, summary, let me know, all tests, done in, finished in, saved, \
                       thank";

/// Words after a number at the beginning of a footer, which counts them.
const COUNTED: &str = "passed, token, changed, %";

/// The tags of other parts of a message that the prompt asks for.
const BLOCKS: &[(&str, &str)] = &[("<learning>", "</learning>"), ("<unchanged>", "</unchanged>")];

/// The tags of thoughts, which are no part of the message.
const THOUGHTS: &[(&str, &str)] = &[("<think>", "</think>"), ("<thinking>", "</thinking>")];

/// Phrases of sentences that deny the fault: there is none, or no longer, nothing changed, no need, or it is the work
/// of another story.
const NOTHING: &str = "nothing, none, no longer, no todo, no fixme, before., before this, before the change, before the fix, what is missing, previously, \
                       initially, at first, any other, no test fail, no tests fail, not crash, no remaining, 100%, belongs to, other story, \
                       vorher, kein test schlägt, keine tests schlagen, gehört zu, auparavant, appartient, es neces, fue neces, era neces, è neces, é neces, foi neces, \
                       est nécess, no hace falta, no hizo falta, que faltan, que faltaba ya, no falta nada, não falta nada, que faltava já, \
                       pertenece, anteriormente, foi preciso, pertence, mancanti, appartiene, precedentemente, już, \
                       wcześniej, bez zmian, больше не, больше ничего, раньше, ранее, кроме того, без измен, без змін, 没有任何, \
                       没有剩余, 没有测试失败, 以前, 之前, 残っている作業はあり, 残っていません, 変更していません, aynı, gerek yok, nicht mehr, n'échoue, \
                       non fallisc, todavía funciona, aún funciona, sigue funcionando, ainda funciona, não conseguia, \
                       funziona ancora, ancora funziona, placeholder text, placeholder attribute, \
                       не остал, 仍然可用, 仍可, 仍能, 仍然有效, 仍然支持, 影響はありません, 問題ありません, 남아 있지 않, 남은 작업이 없, 남은 일이 없, 변경하지 않았, \
                       keiner wurde, keine wurde, durch die echte, durch den echten, durch das echte, rien n'a été laissé, rien n'a été omis, \
                       nada ficou, nada pendente, nada quedó, campos em falta, заглушку я заменил, заглушку заменил, 换成了真正, 빨간색으로 표시, 残りはあり, \
                       : keine, : aucun, : ninguno, : ninguna, : nenhum, : nessun, : нет, ：无, ：なし, : 없음, : no.";

/// Phrases that look like these, but mean that nothing was done.
const NOTHING_DONE: &str = "nothing has been implement, nothing was implement, nothing is implement, nothing has been done, \
                            nothing was done, nothing is done, nothing is verified, nothing was verified, nothing has been verified, \
                            nothing is tested, nothing was tested, nothing was run";

/// Words that contrast missing work with completed work, or announce future work. They count in the last line before
/// the promise.
const TURNS: &str = "but, however, although, aber, jedoch, allerdings, mais je, mais j, mais la, mais le, mais les, \
                     mais l, mais il, cependant, toutefois, pero, aunque, sin embargo, mas, porém, ma non, ma il, ma la, \
                     ma i, ma manca, però, tuttavia, maar, но, однако, але, проте, ale, lecz, jednak, ama, ancak, fakat, \
                     لكن, ولكن, لكنني, लेकिन, nhưng, men, אבל, 但, 不过, ましたが, ますが, ですが, ただし, 지만, 다만, i ll, i will, \
                     waiting for";

/// Phrases of such sentences that name no missing work.
const NO_TURN: &str = "no longer, 影響はありません, 問題ありません";

/// Words for failed tests. They count beside a number other than 0.
const FAILED: &str = "failed, failure, fehlgeschlagen, échou, échec, fallid, fallaron, falhar, fallit, упал, провал, 失败, \
                      失敗, 실패, başarısız, niezalicz, nieudan, فشل, فاشل, mislukt, selhal, विफल, असफल, thất bại";

/// The names of checks whose result a line reports.
const RUNS: &str =
    "test:, tests:, build:, lint:, check:, checks:, result:, results:, errors:, typecheck:, clippy:";

/// Words between a part and the whole: "3 of 5".
const OF: &str = "of, von, sur, des, de, dos, das, di, delle, dei, su, из, з, z, ze, van, av";

/// Articles between such a word and the total.
const ARTICLES: &str = "the, den, der, les, las, los, le, i, de";

/// Suffixes of the word after the total in languages that put it before the part, as Turkish: "5 testten 3".
const OUT_OF: &[&str] = &["ten", "tan", "den", "dan"];

/// Maximum number of words of a name in quotation marks.
const QUOTED: usize = 3;

/// Phrases for work that is not done, in the languages in which agents mostly answer.
const UNDONE: &str = include_str!("undone.txt");

/// Returns the line of a message that makes its completion doubtful: an open box, words for work that is missing or
/// pending, another promise, or text after the promise. The end of an `output` may come from another program.
pub fn doubt(message: &str, output: bool) -> Option<String> {
    let at = message.rfind(COMPLETION)?;
    let (before, after) = (message.get(..at)?, message.get(at + COMPLETION.len()..)?);
    let before = without(before, THOUGHTS);
    let (own, after) = (without(&before, BLOCKS), without(after, BLOCKS));
    // The last section of a text that has sections.
    let section = before.rsplit_once("<|message|>");
    let end = End::of(section.map_or(before.as_str(), |(_, said)| said));
    let said = end.find(|line| says_undone(line) || asks(line));
    let is_open = |line: &&str| is_condition(line) || !is_item(line) && turns(line);
    let announced = || end.lines.last().copied().filter(is_open);
    let ends_section = |line: &str| section.is_some() && line.trim_start().starts_with("<|");
    let has_words =
        |line: &&str| !is_bare(line) && line.contains(char::is_alphanumeric) && !ends_section(line);
    let (after, summary) = after.split_once(SUMMARY).unwrap_or((&after, ""));
    let mut after = after.lines().filter(|line| has_words(line) || has_open_box(line));
    // A carriage return may print text over the promise.
    let is_more = |line: &str| {
        line.contains('\r') || !is_footer(line) && (!output || is_sentence(line) && !line.starts_with('['))
    };
    let behind = || {
        after
            .find(|line| says_undone(line) || is_more(line))
            .or_else(|| undone_line(summary))
    };
    let led = || leads_in_doubt(&own);
    let found = said.or_else(announced).or_else(behind).map(ToOwned::to_owned);
    found.or_else(led)
}

/// Returns the line before or around the promise, if it leads to the promise and says more than that the story is done.
fn leads_in_doubt(before: &str) -> Option<String> {
    let before = before.replace(COMPLETION, "");
    let said = before
        .rsplit_once("<|message|>")
        .map_or(&*before, |(_, said)| said);
    let has_words = |line: &str| line.contains(char::is_alphanumeric);
    let line = said.lines().rfind(|line| !is_bare(line))?;
    let is_beside = !said.ends_with('\n') && said.lines().last().is_some_and(has_words);
    let leads = is_beside || line.trim_end_matches(is_decoration).ends_with([':', '：']);
    let named = |line: &str| {
        if is_bare(line) {
            line.to_owned()
        } else {
            without_names(line)
        }
    };
    let text: Vec<String> = said.lines().map(named).collect();
    (leads && !leads_as_affirmation(&text.join("\n"))).then(|| line.to_owned())
}

/// Returns true if the end of a message without a promise names missing or pending work.
pub fn leaves_undone(message: &str) -> bool {
    undone_line(message).is_some()
}

/// Returns the line at the end of a text that names missing or pending work.
fn undone_line(text: &str) -> Option<&str> {
    let end = End::of(text);
    let is_open = |line: &&str| !is_item(line) && turns(line);
    end.find(says_undone)
        .or_else(|| end.lines.last().copied().filter(is_open))
}

/// Returns true if the paragraph before a reviewer's last acceptance, or a line after it, names missing work, or
/// rejects the work. Items of a list are only remarks.
pub fn denies_acceptance(message: &str) -> bool {
    let Some((before, rest)) = message.rsplit_once(ACCEPTANCE) else {
        return false;
    };
    let after = rest.split_once('\n').map_or("", |(_, after)| after);
    let is_blank = |line: &&str| is_bare(line);
    let lines = before.lines().rev().skip_while(is_blank);
    let paragraph = lines.take_while(|line| !is_bare(line));
    let mut words = paragraph.chain(after.lines()).filter(|line| !is_item(line));
    let rejects = |line: &str| {
        let line = line.to_lowercase().replace('\u{2019}', "'");
        phrases(REJECTS).any(|phrase| line.contains(phrase))
    };
    words.any(|line| says_undone(line) || rejects(line))
}

/// The end of a text.
struct End<'a> {
    /// The last lines with words, outside code blocks.
    lines: Vec<&'a str>,
    /// The last line of a code block that counts tests.
    result: Option<&'a str>,
}

impl<'a> End<'a> {
    fn of(text: &'a str) -> Self {
        let mut is_code = false;
        let (mut lines, mut result) = (Vec::new(), None);
        for line in text.lines() {
            let is_fence = line.trim_start().starts_with("```");
            is_code ^= is_fence;
            if is_code {
                result = Some(line).filter(|line| is_result(line)).or(result);
            } else if !is_fence && (!is_bare(line) || has_open_box(line)) {
                lines.push(line);
            }
        }
        let lines = lines.split_off(lines.len().saturating_sub(LINES));
        Self { lines, result }
    }

    /// Returns the first line of this kind, or else the result line of failed tests.
    fn find(&self, is_kind: impl Fn(&str) -> bool) -> Option<&'a str> {
        let failed = || self.result.filter(|line| counts_failures(&line.to_lowercase()));
        self.lines
            .iter()
            .copied()
            .find(|line| is_kind(line))
            .or_else(failed)
    }
}

/// Returns a text without the parts between these pairs of tags.
fn without(text: &str, tags: &[(&str, &str)]) -> String {
    tags.iter().fold(text.to_owned(), |text, (open, close)| {
        let mut parts = text.split(open);
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |text, part| {
            text + part.split_once(close).map_or("", |(_, rest)| rest)
        })
    })
}

/// Returns true for a list item with an open box, and for an item or a table cell with a cross.
fn has_open_box(line: &str) -> bool {
    let item = line.trim_start_matches(|char: char| {
        char.is_whitespace() || "-*+>.)".contains(char) || char.is_ascii_digit()
    });
    OPEN_BOXES.iter().any(|open| item.starts_with(open))
        || item.starts_with(CROSSES)
        || item.starts_with(WARNING)
        || item.trim_end_matches(is_decoration).ends_with(CROSSES)
        || line
            .split('|')
            .skip(1)
            .any(|cell| cell.trim().starts_with(CROSSES) || cell.trim().starts_with(WARNING))
}

/// Returns true for a line in which a program counts tests.
fn is_result(line: &str) -> bool {
    let line = line.to_lowercase();
    line.contains(|char: char| char.is_ascii_digit())
        && (line.contains("pass") || phrases(FAILED).any(|failed| line.contains(failed)))
}

/// Returns a line without the names in it: text in backquotes, or a few words in quotation marks.
fn without_names(line: &str) -> String {
    const QUOTES: &[(char, char)] = &[
        ('`', '`'),
        ('"', '"'),
        ('“', '”'),
        ('«', '»'),
        ('„', '“'),
        ('「', '」'),
    ];
    QUOTES.iter().fold(line.to_owned(), |line, (open, close)| {
        let mut kept = String::new();
        let mut rest = line.as_str();
        while let Some((before, quoted)) = rest.split_once(*open) {
            kept.push_str(before);
            let Some((name, after)) = quoted.split_once(*close) else {
                break;
            };
            let is_name = *open == '`' || name.split_whitespace().count() <= QUOTED;
            kept.push_str(if is_name { "x" } else { name });
            rest = after;
        }
        kept + rest
    })
}

fn says_undone(line: &str) -> bool {
    let line = line.to_lowercase().replace('\u{2019}', "'");
    let says = |sentence: &str| {
        let sentence = format!("{}.", without_zeros(sentence).trim_end_matches(is_decoration));
        let has = |list: &'static str| phrases(list).any(|phrase| sentence.contains(phrase));
        (has(UNDONE) || has_shape(&sentence)) && !has(NOTHING) || has(NOTHING_DONE)
    };
    has_open_box(&line)
        || names_state(&line)
        || is_other_promise(&line)
        || counts_failures(&line)
        || counts_parts(&line)
        || counts_progress(&line)
        || without_names(&line)
            .split(|char| ENDS.contains(&char) || ['?', '？', ';', '；'].contains(&char))
            .any(says)
}

/// Returns true for a line that contains only a promise other than completion.
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

/// Returns true for a line that counts failures, in any word order: "2 failed", "2 tests failed", "failed: 2".
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
        // Such a test is expected to fail.
        let is_expected = line[..at].ends_with('x');
        !is_expected && numbers.peek().is_some() && numbers.all(|number| !number.trim_matches('0').is_empty())
    };
    let failing = line.contains("pass").then_some("failing");
    // In other lines, the error can be the subject of the work.
    let error = phrases(RUNS).any(|run| line.contains(run)).then_some("error");
    phrases(FAILED)
        .chain(failing)
        .chain(error)
        .any(|failed| line.match_indices(failed).any(counts))
}

/// Returns true for a line that counts a part of a total: "3/5", "3 of 5", "3 tests of 5".
fn counts_parts(line: &str) -> bool {
    let is_part = |part: &str, whole: &str| {
        let numbers = number_of(part).zip(number_of(whole));
        numbers.is_some_and(|(part, whole)| 0 < part && part < whole)
    };
    let words = line.split(|char: char| !char.is_alphanumeric() && char != '/');
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let is_of = |at: usize, whole: &str| {
        let of = at - usize::from(at > 0 && is_one_of(ARTICLES, words[at - 1]));
        let part = |back: usize| of >= back && is_part(words[of - back], whole);
        of > 1 && is_one_of(OF, words[of - 1]) && (part(2) || part(3))
    };
    let is_out_of = |at: usize, word: &str| {
        let ends = OUT_OF.iter().any(|end| word.ends_with(end));
        ends && at > 0 && words.get(at + 1).is_some_and(|part| is_part(part, words[at - 1]))
    };
    words.iter().enumerate().any(|(at, word)| {
        word.split_once('/')
            .is_some_and(|(part, whole)| is_part(part, whole))
            || is_of(at, word)
            || is_out_of(at, word)
    }) || is_among(line, is_part)
}

/// Returns the value of a number word or of digits.
fn number_of(word: &str) -> Option<usize> {
    let spelled = || NUMBERS.iter().position(|names| is_one_of(names, word));
    word.parse().ok().or_else(|| spelled().map(|at| at + 1))
}

/// Returns true if a part of a total is counted as in Chinese and Japanese: "5 件中 3 件".
fn is_among(line: &str, is_part: impl Fn(&str, &str) -> bool) -> bool {
    let is_other = |char: char| !char.is_ascii_digit();
    line.split_once('中').is_some_and(|(before, after)| {
        let mut before = before.rsplit(is_other).filter(|number| !number.is_empty());
        let mut after = after.split(is_other).filter(|number| !number.is_empty());
        before
            .next()
            .zip(after.next())
            .is_some_and(|(whole, part)| is_part(part, whole))
    })
}

/// Returns true for a line that leads to the next one and does not say that it is done: "once all is green, I print:".
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
    (leads || runs_on()) && is_long() && !is_done() && !leads_as_affirmation(line)
}

/// Returns true for a sentence with a contrast, with future work, or with a question in its middle. A list item
/// describes the work.
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
    phrases(TURNS).any(is_there) && !phrases(NO_TURN).any(|nothing| line.contains(nothing))
        || line.contains(['？', '؟'])
        || asked.any(|(at, _)| line[..at].ends_with(char::is_alphabetic))
}

/// Returns true for a line that ends like a sentence.
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
mod tests;
