//! Recognizes patterns of sentences and lines about missing work, for which a list of phrases would be endless.

use super::sentence::{is_decoration, phrases};

/// The patterns, one per line.
const SHAPES: &str = include_str!("shapes.txt");

/// Maximum number of words between two words of a pattern.
const APART: usize = 3;

/// Words for missing work that are a whole table cell, all text after the colon or the arrow of a line, or all text
/// beside a number.
const STATES: &str = "pending, partial, partly, partially, open, blocked, todo, to do, tbd, tba, fixme, later, later pr, next pr, not done, wip, in progress, not started, deferred, \
                      skipped, incomplete, missing, fail, failed, failing, red, broken, untested, unverified, offen, ausstehend, teilweise, in arbeit, blockiert, fehlt, \
                      en attente, partiel, en cours, à faire, bloqué, pendiente, parcial, a medias, en curso, bloqueado, por hacer, \
                      pendente, em andamento, a fazer, in sospeso, parziale, in corso, da fare, bloccato, частично, в работе, \
                      не готово, не сделано, ожидает, do zrobienia, 待办, 进行中, 部分, 未完成, 待处理, 未着手, 対応中, 進行中, 一部, 진행 중, 대기, 일부, 미완료, 보류";

/// Such words at the end of a text in parentheses.
const REMARKS: &str = "pending, todo, tbd, fixme, not done, blocked";

/// Words for progress, and the characters of a progress bar that is not full.
const PROGRESS: &str =
    "progress, fortschritt, avancement, progression, progreso, прогресс, postęp, 进度, 進捗, 진행, ░, ▱, □";

/// Returns true for a lower-case sentence that matches a pattern.
pub(super) fn has_shape(sentence: &str) -> bool {
    let words: Vec<&str> = sentence
        .split(|char: char| !char.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let mut shapes = SHAPES.lines().filter(|line| line.contains('>'));
    shapes.any(|shape| follows(shape, &words, words.len()))
}

/// Returns true if a word of each list of the pattern follows, the first one after at most `most` words.
fn follows(shape: &'static str, words: &[&str], most: usize) -> bool {
    let (first, rest) = shape.split_once('>').unwrap_or((shape, ""));
    let fits = |word: &str| phrases(first).any(|pattern| matches(pattern, word));
    let mut places = (0..words.len().min(most.saturating_add(1))).filter(|at| fits(words[*at]));
    places.any(|at| rest.is_empty() || follows(rest, &words[at + 1..], APART))
}

fn matches(pattern: &str, word: &str) -> bool {
    match (pattern, pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        ("#", ..) => word.parse().is_ok_and(|number: u64| number > 0),
        (_, Some(end), _) => word.ends_with(end),
        (.., Some(begin)) => word.starts_with(begin),
        _ => word == pattern,
    }
}

/// Returns true for a lower-case line that names the state of a part as not done.
pub(super) fn names_state(line: &str) -> bool {
    let is_in = |list: &'static str, text: &str| phrases(list).any(|state| state == text);
    let is_state = |text: &str| is_in(STATES, text.trim().trim_matches(is_decoration));
    let after_colon = line.rsplit_once([':', '：']).map(|(_, end)| end);
    let cells = line.split(['|', '→']).skip(1);
    let is_number = |char: char| char.is_ascii_digit() || ". #)".contains(char);
    let mut numbered = line
        .split([';', ',', '；', '，'])
        .map(str::trim)
        .filter_map(|part| {
            let rest = part.trim_start_matches(is_number);
            let label = part[..part.len() - rest.len()].trim_end();
            label.contains(['.', '#', ')']).then_some(rest)
        });
    let mut remarks = line.split(['(', '（']).skip(1);
    let is_remark = |rest: &str| {
        let remark = rest.split([')', '）']).next().unwrap_or_default().trim_end();
        phrases(REMARKS).any(|state| {
            remark
                .strip_suffix(state)
                .is_some_and(|before| !before.ends_with(char::is_alphanumeric))
        })
    };
    after_colon.into_iter().chain(cells).any(is_state) || numbered.any(is_state) || remarks.any(is_remark)
}

/// Returns true for a lower-case line that states incomplete progress.
pub(super) fn counts_progress(line: &str) -> bool {
    let is_part = |(at, word): (usize, &str)| {
        let rest = line[at + word.len()..].trim_start_matches(|char: char| !char.is_alphanumeric());
        let number = rest.split_once('%').map(|(number, _)| number.trim_end().parse());
        matches!(number, Some(Ok(0..100_u32)))
    };
    phrases(PROGRESS).any(|word| line.match_indices(word).any(is_part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_words_near_each_other_in_their_order() {
        for (sentence, has) in [
            ("les tests n'ont pas été lancés", true),
            ("i test non sono stati eseguiti", true),
            ("os testes não foram executados", true),
            ("testów nie uruchomiłem", true),
            ("las pruebas no se han ejecutado", true),
            ("os testes não passam", true),
            ("npm test exits with code 1", true),
            ("npm test exits with code 0", false),
            ("it exits with code 2 if the file is missing", false),
            ("la seconde moitié n'est qu'une ébauche", true),
            ("la segunda mitad es solo un esbozo", true),
            ("a segunda metade é apenas um esboço", true),
            ("druga połowa to tylko zaślepka", true),
            ("вторая половина — только заглушка", true),
            ("die prüfung habe ich für später gelassen", true),
            ("ein puffer für spätere aufrufe", false),
            ("ho lasciato la validazione per dopo", true),
            ("проверку ввода я оставил на потом", true),
            ("fixme remains in auth", true),
            ("je terminerai la seconde partie", true),
            ("la segunda parte la terminaré luego", true),
            ("la segunda parte está lista", false),
            ("la seconda parte la scriverò dopo", true),
            ("a segunda parte terminarei depois", true),
            ("den zweiten teil mache ich danach", true),
            ("lancés pas", false),
            ("only after a second and a third try is it a stub", false),
            ("", false),
        ] {
            assert_eq!(has_shape(sentence), has, "{sentence}");
        }
    }

    #[test]
    fn state_of_a_part_stands_after_a_sign_or_a_label_or_in_parentheses() {
        for (line, names) in [
            ("1.2: tbd", true),
            ("1.1 done; 1.2 blocked", true),
            ("#7 deferred", true),
            ("1.2 → later pr", true),
            ("(second box pending)", true),
            ("logout (fixme)", true),
            ("- проверка: не сделано", true),
            ("12 passed; 2 skipped", false),
            ("ok. 12 passed; 0 failed; 0 ignored", false),
            ("1.2 done → next", false),
            ("the queue (depending on its size) is new", false),
            ("requests (all pending ones) are cancelled", false),
        ] {
            assert_eq!(names_state(line), names, "{line}");
        }
    }

    #[test]
    fn bar_of_progress_below_the_whole_is_a_part() {
        for (line, is_part) in [
            ("progress: ███████░░░ 70%", true),
            ("fortschritt: 80 %", true),
            ("progress: 100%", false),
            ("covers 85% of the lines", false),
            ("a progress bar that shows 0% to 100%", false),
        ] {
            assert_eq!(counts_progress(line), is_part, "{line}");
        }
    }
}
