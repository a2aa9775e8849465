//! Extracts the content of a list of JSON objects, by value, and the places of its marks.

use serde_json::Value;
use serde_json::value::RawValue;

use super::contains::{Mark, Part, View};
use super::records::{BODIES, DEPENDS, DONE, Members, Records, TASKS, TITLES, is_done, offset};

/// The literal of an open mark that is a word.
const OPEN_WORD: &[u8] = b"\"open\"";

/// Returns the content of a text whose list was read as `records`; `beside` has the members outside the list, and the
/// text begins at the offset `shift` of its file.
pub(super) fn view(text: &str, records: &Records, beside: &[(String, &RawValue)], shift: usize) -> View {
    let place = Place { text, shift };
    let stories = records.list.iter().filter_map(|record| {
        let value: &RawValue = serde_json::from_str(text.get(record.range.clone())?).ok()?;
        Some(place.part(&record.story.id, Members::of(value)?.pairs()))
    });
    View {
        above: canonical(beside.iter().map(|(key, value)| (key.clone(), by_value(value)))),
        stories: stories.collect(),
        can_be_ticked: true,
    }
}

/// The place of a value.
#[derive(Clone, Copy)]
struct Place<'a> {
    text: &'a str,
    shift: usize,
}

impl Place<'_> {
    fn part(self, id: &str, members: &[(String, &RawValue)]) -> Part {
        let mut marks = self.marks(members, "");
        let (mut all, mut own, mut boxes) = (Vec::new(), Vec::new(), Vec::new());
        let tasks = TASKS
            .iter()
            .find(|name| members.iter().any(|(key, _)| key == *name));
        for (key, value) in members {
            let key_of = |names: &[&str]| names.contains(&key.as_str());
            let said = if key_of(DONE) {
                String::new()
            } else if key_of(TASKS) {
                let items =
                    serde_json::from_str::<Vec<&RawValue>>(value.get()).unwrap_or_else(|_| vec![value]);
                let said: Vec<String> = items.iter().map(|item| said_of(item)).collect();
                if tasks == Some(&key.as_str()) {
                    boxes.clone_from(&said);
                    for (item, said) in items.iter().zip(&said) {
                        let inner = Members::of(item);
                        marks.extend(inner.iter().flat_map(|inner| self.marks(inner.pairs(), said)));
                    }
                }
                format!("[{}]", said.join(","))
            } else {
                by_value(value)
            };
            let is_known =
                key == "id" || key == "priority" || [TITLES, BODIES, DEPENDS].into_iter().any(key_of);
            if is_known {
                own.push((key.clone(), said.clone()));
            }
            all.push((key.clone(), said));
        }
        Part {
            id: id.to_owned(),
            all: canonical(all.into_iter()),
            own: canonical(own.into_iter()),
            boxes,
            marks,
        }
    }

    /// Returns the marks of an object, in the order of their names.
    fn marks(self, members: &[(String, &RawValue)], of: &str) -> Vec<Mark> {
        let mut marks: Vec<Mark> = members
            .iter()
            .filter(|(key, _)| DONE.contains(&key.as_str()))
            .map(|(key, value)| {
                let start = self.shift + offset(self.text, value);
                let open = if value.get().starts_with('"') {
                    OPEN_WORD
                } else {
                    b"false"
                };
                Mark {
                    of: format!("{key} {of}"),
                    range: start..start + value.get().len(),
                    is_done: is_done(value),
                    open: open.to_vec(),
                }
            })
            .collect();
        marks.sort_by(|one, other| one.of.cmp(&other.of));
        marks
    }
}

/// Returns the content of a task list's item without its marks.
fn said_of(item: &RawValue) -> String {
    let Some(members) = Members::of(item) else {
        return by_value(item);
    };
    let said = members.pairs().iter().map(|(key, value)| {
        let is_mark = DONE.contains(&key.as_str());
        (key.clone(), if is_mark { String::new() } else { by_value(value) })
    });
    canonical(said)
}

/// Returns members in the order of their names, including duplicates.
fn canonical(members: impl Iterator<Item = (String, String)>) -> String {
    let mut members: Vec<String> = members
        .map(|(key, said)| format!("{}:{said}", Value::String(key)))
        .collect();
    members.sort();
    format!("{{{}}}", members.join(","))
}

/// Returns a value without blanks, with its members in the order of their names.
fn by_value(value: &RawValue) -> String {
    let read: Result<Value, _> = serde_json::from_str(value.get());
    read.map_or_else(|_| value.get().to_owned(), |value| value.to_string())
}
