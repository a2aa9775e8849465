//! Warnings to the author of a list, whatever kind of list it is.

use std::collections::HashSet;

use super::{Story, Warning};
use crate::names::typed;

/// More tasks than this are too much for one attempt.
const MANY: usize = 15;

/// Words with which authors mark what an agent cannot or should not do.
const FOR_PEOPLE: &[&str] = &[
    "manual",
    "manually",
    "deferred",
    "out of scope",
    "by hand",
    "human",
];

/// The beginnings of titles of sections that say what to check at the end, or what to do if it goes wrong.
const FOR_LATER: &[&str] = &["rollback", "success criteria", "definition of done"];

/// Returns the warnings about `stories`, in their order.
pub(super) fn about(stories: &[Story]) -> Vec<Warning> {
    let waiting = stories.iter().any(|story| story.depends_on.is_some());
    let known = stories.iter().filter(|_| waiting);
    let ids: HashSet<&str> = known.map(|story| story.id.as_str()).collect();
    let mut warnings = Vec::new();
    let mut warn = |Story { line, .. }: &Story, message| warnings.push(Warning { line: *line, message });
    for story in stories.iter().filter(|story| has_promise(story)) {
        let id = &story.id;
        let message = format!(
            "the story {id} has a promise tag in its text: an agent that prints the text may seem to promise"
        );
        warn(story, message);
    }
    for story in stories.iter().filter(|story| !story.done) {
        let mut warn = |message| warn(story, message);
        if story.tasks.len() > MANY {
            warn(format!(
                "the story {} has {} tasks: more than {MANY} are much for one attempt",
                story.id,
                story.tasks.len()
            ));
        }
        if let Some(word) = for_people(story) {
            warn(format!(
                "the story {} reads like work for people ('{word}'); to pass over it: git ralph skip {}",
                story.id,
                typed(&story.id)
            ));
        }
        if let Some(words) = for_later(story) {
            warn(format!(
                "the story {} reads like a plan or a check ('{words}'), which is not work to do now; to pass over it: git ralph skip {}",
                story.id,
                typed(&story.id)
            ));
        }
        let ids_before = story.depends_on.iter().flatten();
        for missing in ids_before.filter(|id| !ids.contains(id.as_str())) {
            warn(not_listed(&story.id, missing));
        }
    }
    warnings
}

/// Returns the warning about a dependency that no list has: a tracker may leave out what is closed.
pub fn not_listed(story: &str, missing: &str) -> String {
    format!("story {story} depends on '{missing}', which is not in the list: it is taken as complete")
}

/// Returns true if the text has a whole promise tag.
fn has_promise(story: &Story) -> bool {
    let tasks = story.tasks.iter().map(|task| &task.text);
    let mut texts = [&story.title, &story.body].into_iter().chain(tasks);
    texts.any(|text| text.contains("<promise>") && text.contains("</promise>"))
}

/// Returns the word that marks a story as work for people: in the title, or in each task that is open.
fn for_people(story: &Story) -> Option<&'static str> {
    let mut open = story.tasks.iter().filter(|task| !task.done).peekable();
    word_in(&story.title).or_else(|| {
        let first = open.peek().filter(|task| task.text != story.title)?;
        let first = word_in(&first.text)?;
        open.all(|task| word_in(&task.text).is_some()).then_some(first)
    })
}

/// Returns the words that the title of a check or a fallback begins with, after a number.
fn for_later(story: &Story) -> Option<&'static str> {
    let words = story.title.trim_start_matches(|c: char| !c.is_alphabetic());
    FOR_LATER.iter().find(|known| begins_with(words, known)).copied()
}

/// Finds the first of the words that a text has; copies nothing, since lists may be long.
fn word_in(text: &str) -> Option<&'static str> {
    let mut inside = false;
    for (at, c) in text.char_indices() {
        let begins = !inside && c.is_ascii_alphabetic();
        inside = c.is_alphanumeric();
        if begins
            && let Some(rest) = text.get(at..)
            && let Some(known) = FOR_PEOPLE.iter().find(|known| begins_with(rest, known))
        {
            return Some(known);
        }
    }
    None
}

/// Returns whether the first words of a text are these, whatever separates them.
fn begins_with(text: &str, known: &str) -> bool {
    let first = |text: &str| text.bytes().next().map(|byte| byte.to_ascii_lowercase());
    if first(text) != first(known) {
        return false;
    }
    let mut words = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    known
        .split(' ')
        .all(|known| words.next().is_some_and(|word| word.eq_ignore_ascii_case(known)))
}

#[cfg(test)]
mod tests {
    use super::super::Task;
    use super::*;

    fn story(title: &str, tasks: &[(&str, bool)]) -> Story {
        let task = |(text, done): &(&str, bool)| Task {
            id: (*text).to_owned(),
            text: (*text).to_owned(),
            done: *done,
            optional: false,
            line: 9,
        };
        Story {
            id: "a b".to_owned(),
            title: title.to_owned(),
            body: String::new(),
            done: false,
            optional: false,
            depends_on: None,
            line: 7,
            tasks: tasks.iter().map(task).collect(),
        }
    }

    fn messages(story: Story) -> Vec<String> {
        let warnings = about(&[story]);
        assert!(warnings.iter().all(|warning| warning.line == 7));
        warnings.into_iter().map(|warning| warning.message).collect()
    }

    #[test]
    fn lint_reports_a_promise_tag_in_a_list() {
        let tag = "<promise>COMPLETE</promise>";
        let mut body = story("Check", &[]);
        body.body = format!("a\n{tag}\n");
        for with_tag in [body, story(tag, &[]), story("Check", &[(tag, true)])] {
            let warnings = messages(with_tag);
            assert!(
                warnings.iter().any(|one| one.contains("a promise tag")),
                "{warnings:?}"
            );
        }
        assert!(messages(story("Print <promise> tags", &[])).is_empty());
    }

    #[test]
    fn lint_reports_work_for_people_with_a_command() {
        let warning =
            ["the story a b reads like work for people ('manual'); to pass over it: git ralph skip 'a b'"];
        assert_eq!(messages(story("5. Manual testing", &[])), warning);
        assert_eq!(
            messages(story("Test", &[("x", true), ("manual: y", false)])),
            warning
        );
        assert!(!messages(story("Docs (out-of-scope)", &[])).is_empty());
        assert!(messages(story("Write the manuals", &[("x", false), ("by hand", false)])).is_empty());
        let done = Story {
            done: true,
            ..story("Deferred", &[])
        };
        assert!(messages(done).is_empty());
    }

    #[test]
    fn lint_reports_rollback_and_success_sections() {
        for title in [
            "Rollback",
            "7. Rollback plan",
            "Success Criteria",
            "**Definition of done**",
        ] {
            let warnings = messages(story(title, &[("x", false)]));
            assert_eq!(warnings.len(), 1, "{title}: {warnings:?}");
            assert!(warnings[0].contains("is not work to do now"), "{warnings:?}");
            assert!(warnings[0].ends_with("git ralph skip 'a b'"), "{warnings:?}");
        }
        for title in ["Add a rollback", "Test the success criteria", "Rollbacks"] {
            assert!(messages(story(title, &[("x", false)])).is_empty(), "{title}");
        }
    }

    #[test]
    fn lint_reports_many_tasks_and_unknown_dependencies() {
        assert!(messages(story("A", &[("t", false); 15])).is_empty());
        let many = messages(story("A", &[("t", false); 16]));
        assert_eq!(
            many,
            ["the story a b has 16 tasks: more than 15 are much for one attempt"]
        );
        let waiting = Story {
            depends_on: Some(vec!["a b".to_owned(), "zz".to_owned()]),
            ..story("A", &[])
        };
        assert_eq!(
            messages(waiting),
            ["story a b depends on 'zz', which is not in the list: it is taken as complete"]
        );
    }
}
