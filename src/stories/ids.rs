//! Names for stories and tasks that stay the same when lines move.
//!
//! An id is the label that a title begins with (`2`, `1.1`, `T001`), if no other title begins with the same
//! one; else the slug of the title; else that slug with a number. The ids of one list are unique and never
//! empty.
//!
//! This module must not know where titles come from.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::names::SLUG_LENGTH;

/// The slug of a title without letters and digits.
const NAMELESS: &str = "untitled";

/// The ids of a list of titles.
pub(super) struct Ids<'a> {
    /// One id per title, in the same order.
    pub(super) ids: Vec<String>,
    /// The titles that could not get the label that they begin with as their id.
    pub(super) repeated: Vec<Repeated<'a>>,
}

/// A title that begins with the same label as one before.
pub(super) struct Repeated<'a> {
    pub(super) leading: &'a str,
    /// The index of the title.
    pub(super) index: usize,
    /// The index of the first title that begins with it.
    pub(super) first: usize,
}

/// Gives each of `titles` its id.
pub(super) fn assign<'a>(titles: impl Iterator<Item = &'a str>) -> Ids<'a> {
    let titles: Vec<(&str, Option<&str>)> = titles.map(|title| (title, leading(title))).collect();
    let mut first_with: HashMap<&str, usize> = HashMap::new();
    let mut repeated: Vec<Repeated<'a>> = Vec::new();
    for (index, (_, leading)) in titles.iter().enumerate() {
        let Some(leading) = *leading else { continue };
        let first = *first_with.entry(leading).or_insert(index);
        if first != index {
            repeated.push(Repeated {
                leading,
                index,
                first,
            });
        }
    }
    let ambiguous: HashSet<&str> = repeated.iter().map(|again| again.leading).collect();
    first_with.retain(|leading, _| !ambiguous.contains(leading));

    let own: Vec<Cow<'_, str>> = titles
        .iter()
        .map(|(title, leading)| match leading {
            Some(leading) if first_with.contains_key(leading) => Cow::Borrowed(*leading),
            _ => Cow::Owned(slug(title)),
        })
        .collect();
    // Most slugs are free: only those that are not are ever copied.
    let mut names = Names::default();
    names.taken.reserve(own.len());
    names.taken.extend(first_with.keys().copied().map(Cow::Borrowed));
    let numbered: Vec<(usize, String)> = own
        .iter()
        .enumerate()
        .filter_map(|(index, id)| match id {
            Cow::Borrowed(_) => None,
            Cow::Owned(slug) => Some((index, names.number(slug.as_str())?)),
        })
        .collect();
    drop(names);
    let mut ids: Vec<String> = own.into_iter().map(Cow::into_owned).collect();
    for (index, id) in numbered {
        if let Some(own) = ids.get_mut(index) {
            *own = id;
        }
    }
    Ids { ids, repeated }
}

/// Returns the id of a title without others beside it.
pub(super) fn alone(title: &str) -> String {
    leading(title).map_or_else(|| slug(title), str::to_owned)
}

/// Names that are taken one after the other; a name that is already taken gets a number.
#[derive(Default)]
pub(super) struct Names<'a> {
    taken: HashSet<Cow<'a, str>>,
    /// The last number that each name got, so that many equal ones stay cheap.
    last_suffix: HashMap<Cow<'a, str>, usize>,
}

impl<'a> Names<'a> {
    /// Takes `name`, or else the first of `name-2`, `name-3`, … that is free; returns the name it took.
    pub(super) fn number(&mut self, name: impl Into<Cow<'a, str>>) -> Option<String> {
        let name = name.into();
        if self.taken.insert(name.clone()) {
            return None;
        }
        let suffix = self.last_suffix.entry(name.clone()).or_insert(1);
        loop {
            *suffix += 1;
            let candidate = format!("{name}-{suffix}");
            if self.taken.insert(Cow::Owned(candidate.clone())) {
                return Some(candidate);
            }
        }
    }
}

/// Returns whether a title begins like that of one step among others: with a digit, or such a word.
pub(super) fn may_be_numbered(title: &str) -> bool {
    let title = title.trim_start_matches(|c: char| !c.is_alphanumeric());
    let word = title
        .split(|c: char| !c.is_alphabetic())
        .next()
        .unwrap_or_default();
    let steps = ["phase", "task", "step", "sprint"];
    title.starts_with(|c: char| c.is_ascii_digit())
        || steps.iter().any(|step| word.eq_ignore_ascii_case(step))
}

/// Returns the letters and digits of `title` in lower case, with everything else as single dashes.
pub(super) fn slug(title: &str) -> String {
    let mut slug = if title.is_ascii() {
        ascii_slug(title)
    } else {
        let mut slug = String::with_capacity(title.len().min(4 * SLUG_LENGTH));
        let words = title.split(|c: char| !c.is_alphanumeric());
        let words = words.filter(|word| !word.is_empty()).enumerate();
        let dashed = words.flat_map(|(index, word)| {
            let dash = (index > 0).then_some('-');
            dash.into_iter().chain(word.chars().flat_map(char::to_lowercase))
        });
        slug.extend(dashed.take(SLUG_LENGTH));
        slug
    };
    slug.truncate(slug.trim_end_matches('-').len());
    if slug.is_empty() {
        return NAMELESS.to_owned();
    }
    slug
}

/// Returns the slug of a title in ASCII, byte by byte, perhaps with a dash at its end.
fn ascii_slug(title: &str) -> String {
    let mut slug = String::with_capacity(title.len().min(SLUG_LENGTH));
    let mut dash = false;
    for byte in title.bytes() {
        if !byte.is_ascii_alphanumeric() {
            dash = !slug.is_empty();
            continue;
        }
        if std::mem::take(&mut dash) && slug.len() < SLUG_LENGTH {
            slug.push('-');
        }
        if slug.len() == SLUG_LENGTH {
            break;
        }
        slug.push(char::from(byte.to_ascii_lowercase()));
    }
    slug
}

/// Finds the label that `title` begins with.
///
/// It is a number (`2. Title`, `1.1 Title`), the number after a word (`Phase 3: Title`) or a code (`T001
/// Title`, `US-001: Title`).
fn leading(title: &str) -> Option<&str> {
    let title = title.trim_start_matches(['*', '_', '~', '`', '[', '(']);
    let (id, rest) = number(title)
        .or_else(|| numbered_word(title))
        .or_else(|| code(title))?;
    ends_id(rest).then_some(id)
}

/// Splits `1` or `1.2.3` off.
fn number(text: &str) -> Option<(&str, &str)> {
    let mut length = digits(text)?;
    while let Some(next) = text.get(length..).and_then(|rest| rest.strip_prefix('.')) {
        let Some(part) = digits(next) else { break };
        length += 1 + part;
    }
    text.split_at_checked(length)
}

fn digits(text: &str) -> Option<usize> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    Some(text.len() - rest.len()).filter(|&length| length > 0)
}

/// Splits `Phase 3` off, as `3`; the number must close a label, as in
/// `Phase 3: Title`, `Phase 3 - Title` or `Phase 3 (Title)`.
fn numbered_word(text: &str) -> Option<(&str, &str)> {
    let behind_word = text.trim_start_matches(char::is_alphabetic);
    let behind_space = behind_word.trim_start();
    if behind_word.len() == text.len() || behind_space.len() == behind_word.len() {
        return None;
    }
    let (id, rest) = number(behind_space)?;
    let next = rest.trim_start().chars().next();
    let closed = next.is_none_or(|c| !c.is_alphanumeric());
    closed.then_some((id, rest))
}

/// Splits `T001` or `US-001` off.
fn code(text: &str) -> Option<(&str, &str)> {
    let behind_letters = text.trim_start_matches(|c: char| c.is_ascii_uppercase());
    if behind_letters.len() == text.len() {
        return None;
    }
    let behind_dash = behind_letters.strip_prefix('-').unwrap_or(behind_letters);
    let (_, rest) = number(behind_dash)?;
    text.split_at_checked(text.len() - rest.len())
}

/// Returns whether an id may end before `rest`: no word continues there.
fn ends_id(rest: &str) -> bool {
    let behind_marks = rest.trim_start_matches(['.', ')', ':', ']', '*', '_', '~', '`']);
    behind_marks.is_empty()
        || behind_marks.starts_with(char::is_whitespace)
        || rest.starts_with(['：', '、', '．', '）'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(titles: &[&str]) -> Vec<String> {
        assign(titles.iter().copied()).ids
    }

    #[test]
    fn takes_the_leading_number_word_or_code() {
        for (title, id) in [
            ("2. Storage", "2"),
            ("2) Storage", "2"),
            ("2 Storage", "2"),
            ("12", "12"),
            ("1.1 Storage", "1.1"),
            ("1.10.2. Storage", "1.10.2"),
            ("**3.** Storage", "3"),
            ("Phase 3: Storage", "3"),
            ("Step 4 \u{2013} Storage", "4"),
            ("Part 5", "5"),
            ("阶段 6：存储", "6"),
            ("T001 [P] Storage", "T001"),
            ("US-001: Storage", "US-001"),
            ("[US7] Storage", "US7"),
        ] {
            assert_eq!(ids(&[title]), [id], "{title:?}");
        }
    }

    #[test]
    fn leaves_numbers_that_belong_to_the_sentence() {
        for (title, id) in [
            ("3D view", "3d-view"),
            ("2.x branch", "2-x-branch"),
            ("Support 2 keys", "support-2-keys"),
            ("Phase 2A: keys", "phase-2a-keys"),
            ("utf-8 names", "utf-8-names"),
            ("T001a names", "t001a-names"),
            ("Phase: one", "phase-one"),
        ] {
            assert_eq!(ids(&[title]), [id], "{title:?}");
        }
    }

    #[test]
    fn slugs_keep_letters_of_any_script_up_to_sixty() {
        assert_eq!(ids(&["  Überprüfe `a::b`!"]), ["überprüfe-a-b"]);
        assert_eq!(ids(&["添加 命令"]), ["添加-命令"]);
        assert_eq!(ids(&["", "!?"]), ["untitled", "untitled-2"]);
        assert_eq!(slug(&"é".repeat(99)).chars().count(), 60);
        assert_eq!(slug(&format!("{} b", "a".repeat(59))), "a".repeat(59));
    }

    #[test]
    fn a_repeated_number_falls_back_to_slugs() {
        let titles = ["1. Read", "2. Write", "1. Close"];
        let assigned = assign(titles.into_iter());
        assert_eq!(assigned.ids, ["1-read", "2", "1-close"]);
        let repeated: Vec<_> = assigned
            .repeated
            .iter()
            .map(|again| (again.leading, again.index, again.first))
            .collect();
        assert_eq!(repeated, [("1", 2, 0)]);
    }

    #[test]
    fn equal_slugs_get_the_next_free_suffix() {
        assert_eq!(
            ids(&["Read", "read!", "Read_2", "READ", "Read"]),
            ["read", "read-2", "read-2-2", "read-3", "read-4"]
        );
    }

    #[test]
    fn a_slug_never_takes_the_number_of_another() {
        assert_eq!(ids(&["\u{ff08}2\u{ff09}", "2. Write"]), ["2-2", "2"]);
    }
}
