//! Checklists in markdown: which stories a file has, and how to tick one.
//!
//! Invariants:
//! - any bytes can be parsed; work and memory grow only with their number;
//! - every box of a file belongs to exactly one story, and every story has a box.
//!
//! This module must not know where a file is kept.

mod boxes;
mod document;
mod groups;
mod outline;
mod tick;

use std::ops::Range;

use self::document::Document;
use self::groups::{Group, empty_sections, groups};
use self::outline::{CheckBox, Outline};
use super::{Grouping, Story, Task, Warning, ids};

pub use self::tick::{Spoiled, Ticked, tick};

/// The title of a story whose heading or box has no text.
const UNTITLED: &str = "untitled";

/// The stories of a file, and where their boxes are.
#[derive(Debug)]
pub struct Plan {
    /// The stories in the order of the file.
    pub stories: Vec<Story>,
    /// What the author should look at, ordered by line.
    pub warnings: Vec<Warning>,
    /// Every box in the order of the file.
    boxes: Vec<CheckBox>,
    /// For each story, the indices of its boxes.
    members: Vec<Range<usize>>,
}

impl Plan {
    /// Parses any bytes; those that are not UTF-8 are unreadable text.
    #[must_use]
    pub fn parse(bytes: &[u8], grouping: Grouping) -> Self {
        let document = Document::new(bytes);
        let outline = Outline::of(&document);
        let mut groups = groups(&document, &outline, grouping);
        for group in groups.iter_mut().filter(|group| group.title.is_empty()) {
            UNTITLED.clone_into(&mut group.title);
        }
        let named = ids::assign(groups.iter().map(|group| group.title.as_str()));
        let warnings = warnings(&groups, &named, &outline, grouping);
        let named = named.ids;
        let members = groups.iter().map(|group| group.boxes.clone()).collect();
        let stories = groups
            .into_iter()
            .zip(named)
            .map(|(group, id)| story(&document, &outline.boxes, group, id))
            .collect();
        Self {
            stories,
            warnings,
            boxes: outline.boxes,
            members,
        }
    }
}

fn story(document: &Document<'_>, boxes: &[CheckBox], group: Group, id: String) -> Story {
    let members = boxes.get(group.boxes.clone()).unwrap_or_default();
    let tasks = boxes.get(group.tasks.clone()).unwrap_or_default();
    Story {
        id,
        title: group.title,
        body: document.source(group.body).into_owned(),
        done: members.iter().all(|member| member.done || member.optional),
        optional: members.iter().all(|member| member.optional),
        depends_on: Vec::new(),
        line: group.line,
        tasks: named(tasks),
    }
}

fn named(tasks: &[CheckBox]) -> Vec<Task> {
    let task = |(task, id): (&CheckBox, String)| Task {
        id,
        text: task.text.clone(),
        done: task.done,
        optional: task.optional,
        line: task.line,
    };
    match tasks {
        // Long lists mostly have stories of one task.
        [only] => vec![task((only, ids::alone(&only.text)))],
        _ => {
            let ids = ids::assign(tasks.iter().map(|task| task.text.as_str())).ids;
            tasks.iter().zip(ids).map(task).collect()
        }
    }
}

fn warnings(groups: &[Group], named: &ids::Ids<'_>, outline: &Outline, grouping: Grouping) -> Vec<Warning> {
    let line = |index: usize| groups.get(index).map_or(1, |group| group.line);
    let repeated = named.repeated.iter().map(|again| Warning {
        line: line(again.index),
        message: format!(
            "'{}' already begins the story on line {}, so neither has it as its id",
            again.leading,
            line(again.first)
        ),
    });
    let hidden = outline.lookalikes.iter().map(|lookalike| Warning {
        line: lookalike.line,
        message: format!("looks like a box but is inside {}", lookalike.place),
    });
    let unclosed = outline.unclosed.iter().map(|line| Warning {
        line: *line,
        message: "the code fence that begins here is never closed".to_owned(),
    });
    let empty = empty_sections(outline, grouping)
        .into_iter()
        .map(|heading| Warning {
            line: heading.line,
            message: format!("the section '{}' has no box, so it is no story", heading.title),
        });
    let mut warnings: Vec<Warning> = repeated.chain(hidden).chain(unclosed).chain(empty).collect();
    warnings.sort_by_key(|warning| warning.line);
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn parse(text: &str) -> Plan {
        Plan::parse(text.as_bytes(), Grouping::Auto)
    }

    #[test]
    fn a_section_becomes_a_story() {
        let plan = parse(
            "# Plan\n\n## 1. Read\n\nWhy.\n\n- [x] 1.1 open\n- [ ]* 1.2 test\n\n## Write\n- [ ] save\n",
        );
        let read = &plan.stories[0];
        assert_eq!((read.id.as_str(), read.title.as_str()), ("1", "1. Read"));
        assert_eq!(read.body, "\nWhy.\n\n- [x] 1.1 open\n- [ ]* 1.2 test\n\n");
        assert!(read.done && !read.optional);
        assert_eq!(read.line, 3);
        let task = |id: &str, text: &str, done, optional, line| Task {
            id: id.to_owned(),
            text: text.to_owned(),
            done,
            optional,
            line,
        };
        assert_eq!(
            read.tasks,
            [
                task("1.1", "1.1 open", true, false, 7),
                task("1.2", "1.2 test", false, true, 8),
            ]
        );
        let write = &plan.stories[1];
        assert_eq!(
            (write.id.as_str(), write.body.as_str()),
            ("write", "- [ ] save\n")
        );
        assert!(!write.done);
        assert!(plan.warnings.is_empty());
    }

    #[test]
    fn an_item_becomes_a_story() {
        let plan = parse("- [ ] 1. Read\n  the file\n  - [x] 1.1 open\n  notes\n- [ ]* 2. Write\n");
        let read = &plan.stories[0];
        assert_eq!((read.id.as_str(), read.title.as_str()), ("1", "1. Read the file"));
        assert_eq!(read.body, "  - [x] 1.1 open\n  notes\n");
        assert!(!read.done, "its own box is open");
        assert_eq!(read.tasks.len(), 1);
        let write = &plan.stories[1];
        assert!(write.optional && write.done);
        assert_eq!(write.tasks[0].text, "2. Write");
    }

    #[test]
    fn the_preamble_begins_behind_the_front_matter() {
        let plan = parse("---\nk: v\n---\nHi.\n\n- [ ] a\n\n## Preamble\n- [ ] b\n## B\n- [ ] c\n");
        let ids: Vec<&str> = plan.stories.iter().map(|story| story.id.as_str()).collect();
        assert_eq!(ids, ["preamble", "preamble-2", "b"]);
        assert_eq!(plan.stories[0].body, "Hi.\n\n- [ ] a\n\n");
        assert_eq!(plan.stories[0].line, 6);
    }

    #[test]
    fn a_story_without_a_title_is_untitled() {
        let plan = parse("##\n- [ ] a\n##\n- [ ] b\n");
        assert_eq!(plan.stories[1].title, "untitled");
        assert_eq!(plan.stories[1].id, "untitled-2");
    }

    #[test]
    fn warns_of_repeated_ids_and_hidden_boxes() {
        let plan = parse("## 1. A\n- [ ] a\n## 1. B\n- [ ] b\n```\n- [ ] c\n```\n## Notes\ntext\n```\n");
        let warnings: Vec<_> = plan
            .warnings
            .iter()
            .map(|warning| (warning.line, warning.message.as_str()))
            .collect();
        assert_eq!(
            warnings,
            [
                (
                    3,
                    "'1' already begins the story on line 1, so neither has it as its id"
                ),
                (6, "looks like a box but is inside a code block"),
                (8, "the section 'Notes' has no box, so it is no story"),
                (10, "the code fence that begins here is never closed"),
            ]
        );
    }

    /// Generates pieces that mean something in markdown, in any order.
    fn soup() -> impl Strategy<Value = Vec<u8>> {
        let pieces: Vec<&[u8]> = vec![
            b"- ",
            b"* ",
            b"1. ",
            b"7) ",
            b"[ ]",
            b"[x]",
            b"[]",
            b"[",
            b"]",
            b"(",
            b")",
            b"*",
            b"`",
            b"```\n",
            b"<!--",
            b"-->",
            b"<div>",
            b"> ",
            b"\n",
            b"\n\n",
            b"\r\n",
            b"\r",
            b"  ",
            b"\t",
            b"# ",
            b"## 1. a",
            b"===",
            b"---\n",
            b"[x]: u",
            b"\\",
            b"&#91;",
            b"\xef\xbb\xbf",
            b"\xc3\xa9",
            b"\xff",
            b"\xe2\x82",
            b"\0",
            b"a",
            b" ",
            b"2",
            b":",
        ];
        prop::collection::vec(prop::sample::select(pieces), 0..80).prop_map(|pieces| pieces.concat())
    }

    fn anything() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![3 => soup(), 1 => prop::collection::vec(any::<u8>(), 0..300)]
    }

    fn any_grouping() -> impl Strategy<Value = Grouping> {
        prop::sample::select(vec![Grouping::Auto, Grouping::Item, Grouping::Group])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1024))]
        #[test]
        fn any_bytes_are_divided_into_stories(bytes in anything(), grouping in any_grouping()) {
            let plan = Plan::parse(&bytes, grouping);
            let in_stories: Vec<usize> = plan.members.iter().cloned().flatten().collect();
            prop_assert_eq!(in_stories, (0..plan.boxes.len()).collect::<Vec<_>>());
            prop_assert_eq!(plan.members.len(), plan.stories.len());
            let ids: HashSet<&str> = plan.stories.iter().map(|story| story.id.as_str()).collect();
            prop_assert_eq!(ids.len(), plan.stories.len());
            for story in &plan.stories {
                prop_assert!(!story.id.is_empty() && !story.id.contains(char::is_whitespace));
                prop_assert!(!story.title.is_empty() && !story.title.contains(['\n', '\r']));
                prop_assert!(!story.tasks.is_empty());
            }
            for found in &plan.boxes {
                prop_assert_eq!(bytes[found.mark.start - 1], b'[');
                prop_assert_eq!(bytes[found.mark.end], b']');
            }
        }

        #[test]
        fn any_bytes_are_ticked_or_left_alone(bytes in anything(), grouping in any_grouping()) {
            let plan = Plan::parse(&bytes, grouping);
            for (index, members) in plan.members.iter().enumerate() {
                let Ok(ticked) = tick(&bytes, &plan, index) else { continue };
                let after = Plan::parse(&ticked.bytes, grouping);
                prop_assert_eq!(after.boxes.len(), plan.boxes.len());
                for (at, (after, before)) in after.boxes.iter().zip(&plan.boxes).enumerate() {
                    prop_assert_eq!(after.done, before.done || members.contains(&at));
                }
                let open = plan.boxes[members.clone()].iter().filter(|found| !found.done);
                prop_assert_eq!(ticked.count, open.count());
            }
        }
    }
}
