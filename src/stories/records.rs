//! Stories written as JSON objects: the meaning of their fields, and their places in the text.
//!
//! Fields have several usual names; the first name in a list that an object has counts. Every value is kept as its
//! source, so that one literal can be replaced later without rewriting the rest.
//!
//! This module does not know where the text comes from.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::error::Category;
use serde_json::value::RawValue;

use super::contains::overwrite;
use super::ids::{self, Names};
use super::{Story, Task, Warning};
use crate::names::one_line;

/// The names of the member that marks a story as complete, in order of precedence.
pub(super) const DONE: &[&str] = &["passes", "complete", "completed", "done", "status"];
/// The names of the member that lists the dependencies of a story; all of them count.
pub(super) const DEPENDS: &[&str] = &[
    "dependsOn",
    "depends_on",
    "deps",
    "blockedBy",
    "blocked_by",
    "dependencies",
];
pub(super) const TITLES: &[&str] = &["title", "name", "summary", "description"];
pub(super) const BODIES: &[&str] = &["body"];
pub(super) const TASKS: &[&str] = &[
    "acceptanceCriteria",
    "acceptance_criteria",
    "criteria",
    "steps",
    "actionItems",
    "tasks",
];
const TASK_TEXTS: &[&str] = &["text", "title", "description", "criterion", "name"];
/// The status words for a complete story.
const COMPLETE: &[&str] = &[
    "done",
    "complete",
    "completed",
    "passed",
    "passes",
    "closed",
    "finished",
    "resolved",
    "true",
];
/// The word that is written if the list uses none.
const WORD: &str = "done";

/// A story, and the way to mark it as done.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) story: Story,
    /// Its bytes in the text.
    pub(super) range: Range<usize>,
    mark: Mark,
}

/// The edit of a text that marks a story as done.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Mark {
    /// The literal at these bytes becomes `true`.
    True(Range<usize>),
    /// The string at these bytes becomes the list's word for complete.
    Word(Range<usize>),
    /// A new member is inserted at this byte, after this white space.
    New(usize, String),
}

/// The stories of a text, in the order of their execution.
#[derive(Debug)]
pub(super) struct Records {
    pub(super) list: Vec<Record>,
    pub(super) warnings: Vec<Warning>,
    /// The word for complete that the list itself uses.
    word: String,
}

impl Records {
    /// Reads the objects `values`, which are parts of `text`.
    pub(super) fn read(text: &str, values: &[&RawValue]) -> Result<Self, String> {
        let lines = Lines::of(text);
        let mut records = Vec::with_capacity(values.len());
        let mut warnings = Vec::new();
        let mut names = Names::default();
        let mut first_line: HashMap<String, usize> = HashMap::new();
        let mut word = None;
        for value in values {
            let members = Members::of(value).ok_or_else(|| {
                let line = lines.line(offset(text, value));
                format!("a story must be an object at line {line}")
            })?;
            let (order, mut record) = members.record(text, &lines, value);
            word = word.or_else(|| members.word());
            let wanted = record.story.id.clone();
            let line = record.story.line;
            let first = *first_line.entry(wanted.clone()).or_insert(line);
            if let Some(numbered) = names.number(wanted.clone()) {
                warnings.push(Warning {
                    line,
                    message: format!(
                        "'{wanted}' is the id of the story on line {first}, so this one is called {numbered}"
                    ),
                });
                record.story.id = numbered;
            }
            records.push((order, record));
        }
        records.sort_by(|(one, _), (other, _)| one.partial_cmp(other).unwrap_or(Ordering::Equal));
        Ok(Self {
            list: records.into_iter().map(|(_, record)| record).collect(),
            warnings,
            word: word.unwrap_or_else(|| WORD.to_owned()),
        })
    }

    /// Returns the stories alone.
    pub(super) fn stories(&self) -> Vec<Story> {
        self.list.iter().map(|record| record.story.clone()).collect()
    }

    /// Returns the text with the story at `index` marked as done; every other byte stays.
    pub(super) fn marked(&self, text: &str, index: usize) -> Option<String> {
        let (range, new) = self.edit(self.list.get(index)?)?;
        let (before, after) = (text.get(..range.start)?, text.get(range.end..)?);
        Some(format!("{before}{new}{after}"))
    }

    /// Returns the text with all stories marked as done.
    pub(super) fn all_marked(&self, text: &str) -> Option<Vec<u8>> {
        let edits = self.list.iter().map(|record| {
            let (range, new) = self.edit(record)?;
            Some((range, new.into_bytes()))
        });
        Some(overwrite(text.as_bytes(), edits.collect::<Option<_>>()?))
    }

    fn edit(&self, record: &Record) -> Option<(Range<usize>, String)> {
        Some(match &record.mark {
            Mark::True(range) => (range.clone(), "true".to_owned()),
            Mark::Word(range) => (range.clone(), serde_json::to_string(&self.word).ok()?),
            Mark::New(at, space) => (*at..*at, format!("{space}\"{}\": true,", DONE.first()?)),
        })
    }
}

/// The members of an object in order, each value as its source.
pub(super) struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Reads the members of a value that is an object.
    pub(super) fn of(value: &'a RawValue) -> Option<Self> {
        serde_json::from_str(value.get()).ok()
    }

    /// Finds the value of the first of `names` that exists and is not null; of two members of the same name, the last
    /// counts.
    pub(super) fn first(&self, names: &[&str]) -> Option<(&str, &'a RawValue)> {
        names.iter().find_map(|name| {
            let (key, value) = self.0.iter().rev().find(|(key, _)| key == name)?;
            (value.get() != "null").then_some((key.as_str(), *value))
        })
    }

    /// Returns all members.
    pub(super) fn pairs(&self) -> &[(String, &'a RawValue)] {
        &self.0
    }

    fn text(&self, names: &[&str]) -> Option<String> {
        let (_, value) = self.first(names)?;
        scalar(value).filter(|text| !text.is_empty())
    }

    fn word(&self) -> Option<String> {
        let (_, status) = self.first(&["status"])?;
        scalar(status).filter(|text| is_complete(text))
    }

    fn record(&self, text: &str, lines: &Lines, value: &RawValue) -> (f64, Record) {
        let start = offset(text, value);
        let done = self.first(DONE).is_some_and(|(_, value)| is_done(value));
        let line_of = |names: &[&str]| {
            let line = one_line(&self.text(names)?);
            (!line.is_empty()).then_some(line)
        };
        let id = line_of(&["id"]);
        let title = line_of(TITLES).or_else(|| id.clone());
        let title = title.unwrap_or_else(|| "untitled".to_owned());
        let story = Story {
            id: id.unwrap_or_else(|| ids::slug(&title)),
            body: self.text(BODIES).unwrap_or_else(|| quoted(value.get())),
            done,
            optional: false,
            depends_on: self.depends_on(),
            line: lines.line(start),
            tasks: self.tasks(text, lines, done),
            title,
        };
        let order = self
            .first(&["priority"])
            .map_or(f64::INFINITY, |(_, value)| priority(value));
        let record = Record {
            story,
            range: start..start + value.get().len(),
            mark: self.mark(text, start),
        };
        (order, record)
    }

    fn mark(&self, text: &str, start: usize) -> Mark {
        let Some((_, value)) = DONE
            .iter()
            .find_map(|name| self.0.iter().rev().find(|(key, _)| key == name))
        else {
            let behind = text.get(start + 1..).unwrap_or_default();
            let space: String = behind.chars().take_while(char::is_ascii_whitespace).collect();
            return Mark::New(start + 1, space);
        };
        let at = offset(text, value);
        let range = at..at + value.get().len();
        if value.get().starts_with('"') {
            Mark::Word(range)
        } else {
            Mark::True(range)
        }
    }

    fn depends_on(&self) -> Option<Vec<String>> {
        let mut ids: Option<Vec<String>> = None;
        let said = |key: &str, value: &RawValue| DEPENDS.contains(&key) && value.get() != "null";
        for (_, value) in self.0.iter().filter(|(key, value)| said(key, value)) {
            let ids = ids.get_or_insert_default();
            let found = match serde_json::from_str::<Vec<&RawValue>>(value.get()) {
                Ok(items) => items.into_iter().filter_map(scalar).collect(),
                Err(_) => scalar(value).into_iter().collect::<Vec<_>>(),
            };
            for id in found.iter().map(|id| one_line(id)) {
                if !id.is_empty() && !ids.contains(&id) {
                    ids.push(id);
                }
            }
        }
        ids
    }

    fn tasks(&self, text: &str, lines: &Lines, done: bool) -> Vec<Task> {
        let Some((_, list)) = self.first(TASKS) else {
            return Vec::new();
        };
        let items: Vec<&RawValue> = serde_json::from_str(list.get()).unwrap_or_default();
        let found: Vec<(String, bool, usize)> = items
            .into_iter()
            .filter_map(|item| {
                let line = lines.line(offset(text, item));
                match Members::of(item) {
                    Some(members) => {
                        let own = members.first(DONE).is_some_and(|(_, value)| is_done(value));
                        Some((one_line(&members.text(TASK_TEXTS)?), done || own, line))
                    }
                    None => Some((one_line(&scalar(item)?), done, line)),
                }
            })
            .collect();
        ids::assign(found.iter().map(|(text, ..)| text.as_str()))
            .ids
            .into_iter()
            .zip(&found)
            .map(|(id, (text, done, line))| Task {
                id,
                text: text.clone(),
                done: *done,
                optional: false,
                line: *line,
            })
            .collect()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Each).map(Members)
    }
}

/// The offsets at which the lines of a text begin.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|end| end + 1);
        Self(std::iter::once(0).chain(ends).collect())
    }

    fn line(&self, offset: usize) -> usize {
        self.0.partition_point(|start| *start <= offset)
    }
}

/// Returns the offset in `text` at which a part of it begins.
pub(super) fn offset(text: &str, part: &RawValue) -> usize {
    part.get().as_ptr().addr().saturating_sub(text.as_ptr().addr())
}

/// Reads a string, number or truth value as text.
fn scalar(value: &RawValue) -> Option<String> {
    match serde_json::from_str(value.get()).ok()? {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

/// Returns whether the value of a mark means a complete story.
pub(super) fn is_done(value: &RawValue) -> bool {
    scalar(value).is_some_and(|word| is_complete(&word))
}

fn is_complete(word: &str) -> bool {
    COMPLETE
        .iter()
        .any(|complete| word.trim().eq_ignore_ascii_case(complete))
}

/// Parses a priority, smaller first: a number, `P0`, or a word.
fn priority(value: &RawValue) -> f64 {
    let text = scalar(value).unwrap_or_default().trim().to_ascii_lowercase();
    let number = text.strip_prefix('p').unwrap_or(&text).parse::<f64>();
    match (number, text.as_str()) {
        (Ok(number), _) if !number.is_nan() => number,
        (_, "critical" | "urgent" | "highest" | "must") => 0.0,
        (_, "high" | "should") => 1.0,
        (_, "medium" | "normal" | "could") => 2.0,
        (_, "low") => 3.0,
        (_, "lowest") => 4.0,
        _ => f64::INFINITY,
    }
}

/// Returns a JSON value as a block of code, with a fence that is longer than any in it.
fn quoted(json: &str) -> String {
    let longest = json.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}json\n{json}\n{fence}\n")
}

/// Returns the reason why a text is not JSON, and where.
pub(super) fn wrong_json(error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    match error.classify() {
        Category::Eof => format!("the JSON ends too early, at line {line}"),
        _ => {
            let words = error.to_string();
            let what = words.split(" at line ").next().unwrap_or_default();
            format!("it is not valid JSON at line {line}, column {column}: {what}")
        }
    }
}
