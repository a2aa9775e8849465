//! `prd.json`: stories as JSON objects in a file.
//!
//! The list is the value of `userStories`, `stories` or `tasks`, or the file itself is the list. `branchName`
//! says which change the file is for: `<change>` or `ralph/<change>`.
//!
//! Invariant: marking a story replaces one literal (or adds the one that is missing) and leaves every
//! other byte as it was.

use std::collections::HashSet;
use std::path::Path;

use serde_json::value::RawValue;

use super::contains::View;
use super::error::UNREADABLE;
use super::records::{Members, Records, wrong_json};
use super::{SourceError, file, json_view};

use crate::fs::may_exist;

/// The places where such files are searched, relative to the top.
const PLACES: &[&str] = &["prd.json", ".ralph/prd.json", "scripts/ralph/prd.json"];
/// The names of the list.
const LISTS: &[&str] = &["userStories", "stories", "tasks"];
const BYTE_ORDER_MARK: char = '\u{feff}';

/// A file in one of the places, and the change that it belongs to.
pub(super) struct Found {
    pub(super) path: &'static str,
    /// The branch that it names, or the reason why that is unknown.
    branch: Result<Option<String>, String>,
}

impl Found {
    /// Returns whether the file names `change` as its own.
    pub(super) fn is_of(&self, change: &str) -> bool {
        matches!(&self.branch, Ok(Some(branch)) if change_of(branch) == change)
    }

    /// Returns the change that the file is for, if its name can be one.
    pub(super) fn change(&self) -> Option<String> {
        let branch = self.branch.as_ref().ok()?.as_ref()?;
        Some(change_of(branch).to_owned()).filter(|change| !change.is_empty() && !change.contains('/'))
    }

    /// Explains why the file cannot be found by the name of a change, if that is so.
    pub(super) fn why_not(&self) -> Option<String> {
        let path = self.path;
        match &self.branch {
            Err(cause) => Some(format!("{path}{UNREADABLE}{cause})")),
            Ok(None) => Some(format!("{path} has no branchName ralph/<change>")),
            Ok(Some(branch)) if self.change().is_none() => {
                Some(format!("{path} has the branchName {branch}, not ralph/<change>"))
            }
            Ok(Some(_)) => None,
        }
    }
}

/// Returns the first of these files that has stories to do but belongs to no change.
pub(super) fn nameless(top: &Path) -> Option<&'static str> {
    let has_open_story = |found: &&Found| {
        let bytes = file::read(&top.join(found.path), found.path);
        let records = bytes.and_then(|bytes| parse(&bytes, found.path));
        records.is_ok_and(|records| records.stories().iter().any(|story| !story.done))
    };
    let found = found(top);
    let mut nameless = found.iter().filter(|found| found.change().is_none());
    nameless.find(has_open_story).map(|found| found.path)
}

/// Returns the places of the file of a change, in words.
pub(super) fn places(change: &str) -> String {
    format!("{} with the branchName ralph/{change}", PLACES.join(", "))
}

/// Finds the files of the repository at `top`.
pub(super) fn found(top: &Path) -> Vec<Found> {
    let places = PLACES.iter().filter(|path| may_exist(&top.join(path)));
    places
        .map(|path| Found {
            path,
            branch: branch(top, path),
        })
        .collect()
}

fn branch(top: &Path, path: &str) -> Result<Option<String>, String> {
    let bytes = file::read(&top.join(path), path).map_err(|error| error.to_string())?;
    Ok(text_of(root(text(&bytes)?)?, "branchName"))
}

/// Returns the text of a member.
fn text_of(root: &RawValue, name: &str) -> Option<String> {
    let members = Members::of(root)?;
    let (_, value) = members.first(&[name])?;
    serde_json::from_str(value.get()).ok()
}

fn change_of(branch: &str) -> &str {
    branch.strip_prefix("ralph/").unwrap_or(branch)
}

/// Reads the stories of a file, in the order in which they are to be worked on.
pub(super) fn parse(bytes: &[u8], shown: &str) -> Result<Records, SourceError> {
    let read = text(bytes).and_then(records);
    read.map(|(records, _)| records).map_err(malformed(shown))
}

/// Returns the description of the whole list; empty if it has none.
pub(super) fn description(bytes: &[u8]) -> String {
    let root = text(bytes).and_then(root).ok();
    let described = root.and_then(|root| text_of(root, "description"));
    described.unwrap_or_default().trim().to_owned()
}

/// The members beside a list.
type Beside<'a> = Vec<(String, &'a RawValue)>;

/// Reads the stories of a text, and the members beside their list.
fn records(text: &str) -> Result<(Records, Beside<'_>), String> {
    let root = root(text)?;
    let (list, beside) = match Members::of(root) {
        Some(members) => {
            let list = members.first(LISTS).map(|(_, list)| list);
            let list = list.ok_or_else(|| format!("it has no list of stories ({})", LISTS.join(", ")))?;
            let beside = members.pairs().iter();
            let beside = beside.map(|(key, value)| {
                if std::ptr::eq(*value, list) {
                    (format!("the list {key}"), RawValue::NULL)
                } else {
                    (key.clone(), *value)
                }
            });
            (list, beside.collect())
        }
        None => (root, Vec::new()),
    };
    let values: Vec<&RawValue> =
        serde_json::from_str(list.get()).map_err(|_| "its stories are not a list".to_owned())?;
    Ok((Records::read(text, &values)?, beside))
}

/// Returns what a file says.
pub(super) fn view(bytes: &[u8], shown: &str) -> Result<View, SourceError> {
    let text = text(bytes).map_err(malformed(shown))?;
    let (records, beside) = records(text).map_err(malformed(shown))?;
    let mut view = json_view::view(text, &records, &beside, bytes.len() - text.len());
    let marked = records
        .all_marked(text)
        .and_then(|marked| parse(&marked, shown).ok());
    view.can_be_ticked = marked.is_some_and(|marked| {
        let ids = |records: &Records| {
            records
                .stories()
                .into_iter()
                .map(|story| story.id)
                .collect::<Vec<_>>()
        };
        ids(&marked) == ids(&records) && marked.list.iter().all(|record| record.story.done)
    });
    Ok(view)
}

/// Returns the file with the story at `index` of `records`, which were parsed from it, marked as done.
pub(super) fn mark(
    bytes: &[u8],
    records: &Records,
    index: usize,
    shown: &str,
) -> Result<Vec<u8>, SourceError> {
    let unmarkable = || SourceError::Unmarkable {
        path: shown.to_owned(),
        line: records.list.get(index).map_or(1, |record| record.story.line),
    };
    let text = str::from_utf8(bytes).map_err(|_| unmarkable())?;
    let unmarked = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let marked = records.marked(unmarked, index).ok_or_else(unmarkable)?;
    let after = parse(marked.as_bytes(), shown)?;
    let same = after.list.len() == records.list.len()
        && after
            .list
            .iter()
            .zip(&records.list)
            .enumerate()
            .all(|(at, (after, before))| {
                after.story.id == before.story.id && after.story.done == (before.story.done || at == index)
            });
    if !same {
        return Err(unmarkable());
    }
    let mut whole = bytes
        .get(..bytes.len() - unmarked.len())
        .unwrap_or_default()
        .to_vec();
    whole.extend_from_slice(marked.as_bytes());
    Ok(whole)
}

/// Returns the list `tip` with the stories that are in `theirs` and not in `base`, behind its last one; `None` if one of the three is no
/// list, or `tip` has no story.
pub(super) fn with_new_of(tip: &[u8], base: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
    let read = |bytes| {
        let text = text(bytes).ok()?;
        Some((text, records(text).ok()?.0.list))
    };
    let ((list, stories), (_, base), (their_list, theirs)) = (read(tip)?, read(base)?, read(theirs)?);
    let known: HashSet<&str> = base.iter().map(|record| record.story.id.as_str()).collect();
    let mut new = theirs;
    new.retain(|record| !known.contains(record.story.id.as_str()));
    new.sort_by_key(|record| record.range.start);
    let last = stories.iter().max_by_key(|record| record.range.end)?;
    let (before, _) = list.split_at_checked(last.range.start)?;
    let (above, below) = list.split_at_checked(last.range.end)?;
    let space = before.get(before.trim_end().len()..)?;
    let mut with_new = tip.get(..tip.len() - list.len())?.to_vec();
    with_new.extend_from_slice(above.as_bytes());
    for record in new {
        let story = their_list.get(record.range)?;
        with_new.extend_from_slice(format!(",{space}{story}").as_bytes());
    }
    with_new.extend_from_slice(below.as_bytes());
    Some(with_new)
}

fn malformed(shown: &str) -> impl Fn(String) -> SourceError {
    |cause| SourceError::Malformed {
        path: shown.to_owned(),
        cause,
    }
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    let text = str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        let column = before.len() - memchr::memrchr(b'\n', before).map_or(0, |end| end + 1) + 1;
        format!("it is not UTF-8 at line {line} column {column}")
    })?;
    Ok(text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text))
}

fn root(text: &str) -> Result<&RawValue, String> {
    serde_json::from_str(text).map_err(|error| wrong_json(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(text: &str) -> Vec<(String, bool)> {
        let records = parse(text.as_bytes(), "prd.json").unwrap();
        records
            .stories()
            .into_iter()
            .map(|story| (story.id, story.done))
            .collect()
    }

    fn marked(text: &str, id: &str) -> String {
        let records = parse(text.as_bytes(), "prd.json").unwrap();
        let index = records.stories().iter().position(|story| story.id == id).unwrap();
        String::from_utf8(mark(text.as_bytes(), &records, index, "prd.json").unwrap()).unwrap()
    }

    fn wrong(text: &[u8]) -> String {
        parse(text, "prd.json").unwrap_err().to_string()
    }

    #[test]
    fn new_stories_of_two_lists_are_one_behind_the_other() {
        let list = |stories: &str| format!("\u{feff}{{\"userStories\": [\n  {stories}\n], \"b\": 1}}\n");
        let (one, two, three) = (r#"{"id":"1"}"#, r#"{"id":"2"}"#, r#"{"id":"3", "passes": false}"#);
        let base = list(one);
        let with = |tip: &str, theirs: &str| {
            let made = with_new_of(tip.as_bytes(), base.as_bytes(), theirs.as_bytes())?;
            Some(String::from_utf8(made).unwrap())
        };
        let tip = list(&format!("{one},\n  {two}"));
        // The order and the layout of theirs do not matter.
        let theirs = list(&format!("{three},{one}"));
        assert_eq!(
            with(&tip, &theirs).unwrap(),
            list(&format!("{one},\n  {two},\n  {three}"))
        );
        assert_eq!(with(&tip, &base).unwrap(), tip);
        assert_eq!(with(&list(""), &theirs), None);
        assert_eq!(with(&tip, "no list"), None);
    }

    #[test]
    fn description_of_the_list_is_read() {
        let described = |text: &str| description(text.as_bytes());
        assert_eq!(
            described(r#"{"description":" Use make. ","stories":[]}"#),
            "Use make."
        );
        for without in ["[]", "{}", r#"{"description":3}"#, "no JSON"] {
            assert_eq!(described(without), "", "{without}");
        }
    }

    #[test]
    fn the_list_is_found_in_every_shape() {
        for text in [
            r#"[{"id":"a","passes":true},{"id":"b"}]"#,
            r#"{"userStories":[{"id":"a","complete":true},{"id":"b","complete":false}]}"#,
            r#"{"x":1,"stories":[{"id":"a","status":"Done"},{"id":"b","status":"in_progress"}]}"#,
            r#"{"tasks":[{"id":"a","completed":true},{"id":"b","completed":null}]}"#,
            "\u{feff}[{\"id\":\"a\",\"passes\":true},{\"id\":\"b\"}]",
        ] {
            assert_eq!(
                list(text),
                [("a".to_owned(), true), ("b".to_owned(), false)],
                "{text}"
            );
        }
    }

    #[test]
    fn priority_comes_before_the_order_of_the_file() {
        let text = r#"[{"id":"d"},{"id":"c","priority":2},{"id":"a","priority":1},{"id":"b","priority":1}]"#;
        let ids: Vec<String> = list(text).into_iter().map(|(id, _)| id).collect();
        assert_eq!(ids, ["a", "b", "c", "d"]);
        let words =
            r#"[{"id":"c","priority":"low"},{"id":"a","priority":"P0"},{"id":"b","priority":"high"}]"#;
        let ids: Vec<String> = list(words).into_iter().map(|(id, _)| id).collect();
        assert_eq!(ids, ["a", "b", "c"]);
    }

    #[test]
    fn fields_are_read_by_their_names() {
        let text = "[\n {\"id\": 7, \"title\": \"Do\\n it\", \"acceptanceCriteria\": [\"one\",\n \"two\"],\n  \"dependsOn\": [\"x\", 3], \"blockedBy\": \"y\", \"notes\": \"```\"}]";
        let story = parse(text.as_bytes(), "p").unwrap().stories().remove(0);
        assert_eq!(
            (story.id.as_str(), story.title.as_str(), story.line),
            ("7", "Do it", 2)
        );
        assert_eq!(story.depends_on.as_deref().unwrap(), ["x", "3", "y"]);
        let none = "[{\"title\": \"a\", \"deps\": []}, {\"title\": \"b\", \"deps\": null}]";
        let stories = parse(none.as_bytes(), "p").unwrap().stories().into_iter();
        let none: Vec<_> = stories.map(|story| story.depends_on).collect();
        assert_eq!(none, [Some(Vec::new()), None], "what is not said is not none");
        let tasks: Vec<_> = story
            .tasks
            .iter()
            .map(|task| (task.text.as_str(), task.line))
            .collect();
        assert_eq!(tasks, [("one", 2), ("two", 3)]);
        assert!(story.body.starts_with("````json\n{\"id\": 7"), "{}", story.body);
    }

    #[test]
    fn missing_and_repeated_ids_are_made_unique_and_reported() {
        let text =
            "[{\"description\":\"Add it\"},\n{\"description\":\"Add it\"},\n{\"id\":\"1\"},\n{\"id\":1}]";
        let records = parse(text.as_bytes(), "p").unwrap();
        let ids: Vec<String> = records.stories().into_iter().map(|story| story.id).collect();
        assert_eq!(ids, ["add-it", "add-it-2", "1", "1-2"]);
        let lines: Vec<_> = records.warnings.iter().map(|warning| warning.line).collect();
        assert_eq!(lines, [2, 4]);
    }

    #[test]
    fn a_mark_replaces_one_literal() {
        let text = "{\r\n  \"stories\": [ {\"id\":\"a\",  \"passes\" :false , \"n\":1e3},\r\n {\"id\":\"b\",\"status\":\"open\"},\r\n {\"id\":\"c\",\"status\":\"completed\"},\r\n {\r\n  \"id\":\"d\"} ]\r\n}";
        assert_eq!(marked(text, "a"), text.replace(":false", ":true"));
        assert_eq!(marked(text, "b"), text.replace("\"open\"", "\"completed\""));
        assert_eq!(
            marked(text, "d"),
            text.replace(
                "{\r\n  \"id\":\"d\"",
                "{\r\n  \"passes\": true,\r\n  \"id\":\"d\""
            )
        );
        let null = r#"[{"id":"a","passes":null,"status":"x"}]"#;
        assert_eq!(marked(null, "a"), r#"[{"id":"a","passes":true,"status":"x"}]"#);
    }

    #[test]
    fn error_names_the_place_of_a_mistake() {
        assert_eq!(
            wrong(b"{\n \"stories\": [\n  {\"id\": }\n"),
            "cannot read stories from 'prd.json': it is not valid JSON at line 3, column 10: expected value"
        );
        assert!(wrong(b"[\n\"\xff\"]").contains("not UTF-8 at line 2 column 2"));
        assert!(wrong(b"{}").contains("has no list of stories (userStories, stories, tasks)"));
        assert!(wrong(b"{\n\"stories\": [\n").ends_with("the JSON ends too early, at line 3"));
        assert!(wrong(b"3").contains("its stories are not a list"));
        assert!(wrong(b"[\n3]").contains("a story must be an object at line 2"));
        assert!(wrong(b"").contains("the JSON ends too early, at line 1"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes, "p");
        }

        #[test]
        fn a_mark_makes_one_story_more_complete(
            stories in prop::collection::vec(
                (
                    prop::sample::select(vec!["passes", "complete", "completed", "status", "x"]),
                    prop::sample::select(vec!["false", "true", "null", "\"open\"", "\"done\"", "0", "{}", "[1]"]),
                    prop::sample::select(vec!["", " ", "\n  ", "\r\n\t"]),
                ),
                1..6,
            ),
            pick in any::<prop::sample::Index>(),
        ) {
            let objects: Vec<String> = stories
                .iter()
                .enumerate()
                .map(|(n, (key, value, space))| format!("{{{space}\"id\":{n},{space}\"{key}\":{space}{value}}}"))
                .collect();
            let text = format!("[{}]", objects.join(",\n"));
            let records = parse(text.as_bytes(), "p").unwrap();
            let index = pick.index(records.list.len());
            let after = mark(text.as_bytes(), &records, index, "p").unwrap();
            let after = parse(&after, "p").unwrap();
            for (at, (now, was)) in after.stories().iter().zip(records.stories()).enumerate() {
                prop_assert_eq!(now.done, was.done || at == index);
            }
        }
    }
}
