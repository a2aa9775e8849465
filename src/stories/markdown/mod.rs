//! Checklists in markdown: finds the stories of a file, and ticks one.
//!
//! Invariants:
//! - any bytes can be parsed; work and memory grow only with their number;
//! - every box of a file belongs to exactly one story, and every story has a box.
//!
//! This module does not know where a file is stored.

mod after;
mod beside;
mod boxes;
mod document;
mod groups;
mod outline;
mod prose;
mod tick;
mod unended;
mod view;

use std::ops::Range;

use self::beside::{has_more_text, preamble};
use self::document::Document;
use self::groups::{Group, empty_sections, groups};
use self::outline::{CheckBox, Heading, Outline};
use super::contains::few;
use super::{Grouping, Story, Task, Warning, ids};

pub use self::tick::tick;

/// The title of a story whose heading or box has no text.
const UNTITLED: &str = "untitled";

/// The stories of a file, and the places of their boxes.
#[derive(Debug)]
pub struct Plan {
    /// The stories in the order of the file.
    pub stories: Vec<Story>,
    /// The text above the first story; empty if there are only headings.
    pub preamble: String,
    /// True if there is text outside of all stories after the start of the first one.
    pub has_more_text: bool,
    /// The warnings for the author, ordered by line.
    pub warnings: Vec<Warning>,
    /// The least important warning: about sections that are probably no stories.
    pub aside: Option<Warning>,
    /// The reason why the file is unusable as a list: a part of it may be missing.
    pub incomplete: Option<String>,
    /// Every box in the order of the file.
    boxes: Vec<CheckBox>,
    /// For each story, the indices of its boxes.
    members: Vec<Range<usize>>,
    /// For each story, the text below its title.
    bodies: Vec<Range<usize>>,
}

impl Plan {
    /// Parses any bytes; invalid UTF-8 is replaced.
    pub fn parse(bytes: &[u8], grouping: Grouping) -> Self {
        Self::read(bytes, grouping, false)
    }

    /// Parses the list of a tool that counts every line with a box, even in code.
    pub fn parse_for_openspec(bytes: &[u8], grouping: Grouping) -> Self {
        Self::read(bytes, grouping, true)
    }

    fn read(bytes: &[u8], grouping: Grouping, for_openspec: bool) -> Self {
        let document = Document::new(bytes);
        let outline = Outline::of(&document);
        let mut groups = groups(&document, &outline, grouping);
        for group in groups.iter_mut().filter(|group| group.title.is_empty()) {
            UNTITLED.clone_into(&mut group.title);
        }
        let stay = after::take_out(&mut groups);
        let named = ids::assign(groups.iter().map(|group| group.title.as_str()));
        let mut warnings = warnings(&groups, &named, &outline, grouping, for_openspec);
        warnings.extend(stay);
        warnings.sort_by_key(|warning| warning.line);
        let named = named.ids;
        let members = groups.iter().map(|group| group.boxes.clone()).collect();
        let bodies = groups.iter().map(|group| group.body.clone()).collect();
        let preamble = preamble(&document, groups.first());
        let has_more_text = has_more_text(&document, &groups);
        let stories = groups
            .into_iter()
            .zip(named)
            .map(|(group, id)| story(&document, &outline.boxes, group, id))
            .collect();
        Self {
            stories,
            preamble,
            has_more_text,
            warnings,
            aside: boilerplate(&outline, grouping),
            incomplete: outline.swallowed.map(|found| {
                let unended::Swallowed { line, open_box, what } = found;
                format!("line {line}: the {what} that begins here is never closed, and hides the open box on line {open_box}")
            }),
            boxes: outline.boxes,
            members,
            bodies,
        }
    }
}

fn story(document: &Document<'_>, boxes: &[CheckBox], group: Group, id: String) -> Story {
    let members = boxes.get(group.boxes.clone()).unwrap_or_default();
    let tasks = boxes.get(group.tasks.clone()).unwrap_or_default();
    let mut tasks = named(tasks);
    if let [only] = &mut *tasks
        && group.depends_on.is_some()
        && only.line == group.line
    {
        // The box is the story.
        (only.id, only.text) = (ids::alone(&group.title), group.title.clone());
    }
    Story {
        id,
        title: group.title,
        body: document.source(group.body).into_owned(),
        done: members.iter().all(|member| member.done || member.optional),
        optional: members.iter().all(|member| member.optional),
        depends_on: group.depends_on,
        line: group.line,
        tasks,
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
        // Stories of long lists mostly have one task.
        [only] => vec![task((only, ids::alone(&only.text)))],
        _ => {
            let ids = ids::assign(tasks.iter().map(|task| task.text.as_str())).ids;
            tasks.iter().zip(ids).map(task).collect()
        }
    }
}

fn warnings(
    groups: &[Group],
    named: &ids::Ids<'_>,
    outline: &Outline,
    grouping: Grouping,
    for_openspec: bool,
) -> Vec<Warning> {
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
        message: if for_openspec && lookalike.open_in_fence {
            format!(
                "looks like a box but {}; OpenSpec counts it as open",
                lookalike.why
            )
        } else {
            format!("looks like a box but {}", lookalike.why)
        },
    });
    let unclosed = outline.unclosed.iter().map(|line| Warning {
        line: *line,
        message: "the code fence that begins here is never closed".to_owned(),
    });
    let empty = empty_sections(outline, grouping).into_iter();
    let empty = empty
        .filter(|heading| ids::may_be_numbered(&heading.title))
        .map(without_box);
    let mut warnings: Vec<Warning> = repeated.chain(hidden).chain(unclosed).chain(empty).collect();
    warnings.sort_by_key(|warning| warning.line);
    warnings
}

fn without_box(heading: &Heading) -> Warning {
    Warning {
        line: heading.line,
        message: format!("the section '{}' has no box, so it is no story", heading.title),
    }
}

/// Returns one warning for the sections without boxes that do not look like stories.
fn boilerplate(outline: &Outline, grouping: Grouping) -> Option<Warning> {
    let mut sections = empty_sections(outline, grouping);
    sections.retain(|heading| !ids::may_be_numbered(&heading.title));
    let first = sections.first()?;
    if sections.len() == 1 {
        return Some(without_box(first));
    }
    let named = sections.iter().map(|heading| format!("'{}'", heading.title));
    let named = few(&named.collect::<Vec<_>>());
    Some(Warning {
        line: first.line,
        message: format!("these sections have no box, so they are no stories: {named}"),
    })
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
    fn a_story_without_a_title_is_untitled() {
        let plan = parse("##\n- [ ] a\n##\n- [ ] b\n");
        assert_eq!(plan.stories[1].title, "untitled");
        assert_eq!(plan.stories[1].id, "untitled-2");
    }

    #[test]
    fn plan_lists_plain_sections_without_boxes_in_one_line() {
        let text = "## Notes\n## 1. A\n- [ ] a\n## Phase 2: B\n## 3. C\n## Summary\n## Stepping\n## Step\n";
        let plan = parse(text);
        let warnings = plan.warnings.iter().chain(&plan.aside);
        let warnings: Vec<_> = warnings
            .map(|warning| (warning.line, warning.message.as_str()))
            .collect();
        let alone = |title: &str| format!("the section '{title}' has no box, so it is no story");
        assert_eq!(
            warnings,
            [
                (4, &*alone("Phase 2: B")),
                (5, &*alone("3. C")),
                (8, &*alone("Step")),
                (
                    1,
                    "these sections have no box, so they are no stories: 'Notes', 'Summary', 'Stepping'"
                ),
            ]
        );
        let many = "## 1. A\n- [ ] a\n## B\n## C\n## D\n## E\n## F\n## G\n## H\n";
        let aside = parse(many).aside.unwrap().message;
        assert!(aside.ends_with("'B', 'C', 'D', 'E', 'F' and 2 more"), "{aside}");
    }

    #[test]
    fn plan_warns_of_each_section_of_a_list_without_boxes() {
        let text = "# Plan\n## 1. A\n### Why\n## Notes\n";
        let plan = parse(text);
        let warnings = plan.warnings.iter().chain(&plan.aside);
        let warnings: Vec<_> = warnings
            .map(|warning| (warning.line, warning.message.as_str()))
            .collect();
        let alone = |title: &str| format!("the section '{title}' has no box, so it is no story");
        assert_eq!(warnings, [(2, &*alone("1. A")), (4, &*alone("Notes"))]);
    }

    #[test]
    fn plan_warns_of_boxes_that_only_openspec_counts() {
        let text = "## A\n- [ ] a\n```\n- [ ] b\n- [x] c\n```\n\n    - [ ] d\n";
        let messages = |plan: Plan| {
            plan.warnings
                .into_iter()
                .map(|warning| warning.message)
                .collect::<Vec<_>>()
        };
        let inside = "looks like a box but is inside a code block";
        assert_eq!(messages(parse(text)), [inside; 3]);
        let counted = format!("{inside}; OpenSpec counts it as open");
        assert_eq!(
            messages(Plan::parse_for_openspec(text.as_bytes(), Grouping::Auto)),
            [&counted, inside, inside]
        );
    }

    #[test]
    fn warns_of_repeated_ids_and_hidden_boxes() {
        let plan = parse("## 1. A\n- [ ] a\n## 1. B\n- [ ] b\n```\n- [ ] c\n```\n## Notes\ntext\n```\n");
        let warnings = plan.warnings.iter().chain(&plan.aside);
        let warnings: Vec<_> = warnings
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
                (10, "the code fence that begins here is never closed"),
                (8, "the section 'Notes' has no box, so it is no story"),
            ]
        );
    }

    /// Generates markdown fragments in any order.
    fn soup() -> impl Strategy<Value = Vec<u8>> {
        let pieces: Vec<&[u8]> = vec![
            b"- ",
            b"* ",
            b"1. ",
            b"7) ",
            b"[ ]",
            b"[x]",
            b"[]",
            b"[ x]",
            b"[  ]",
            b"[P]",
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
                prop_assert!(bytes[..found.mark.start].trim_ascii_end().ends_with(b"["));
                prop_assert!(bytes[found.mark.end..].trim_ascii_start().starts_with(b"]"));
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
