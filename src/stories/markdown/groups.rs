//! Groups boxes into stories: by section, or each outermost box on its own.
//!
//! Invariant: the groups divide the boxes into consecutive runs; every box is
//! in exactly one group, and no group is empty.
//!
//! This module does not know ids.

use std::ops::Range;

use super::super::Grouping;
use super::document::Document;
use super::outline::{CheckBox, Heading, Outline};

/// The title of the story formed by the boxes above the first section.
const PREAMBLE: &str = "preamble";

/// Titles of a section that contains the whole list, as BMAD, Agent OS and others write it.
const LISTS: &[&str] = &["tasks", "tasks / subtasks", "spec tasks", "todo", "to do"];

/// The boxes of one story.
pub(super) struct Group {
    pub(super) title: String,
    /// The 1-based line of the heading or of the first box.
    pub(super) line: usize,
    /// The dependencies that were removed from the title.
    pub(super) depends_on: Option<Vec<String>>,
    /// The text below the title.
    pub(super) body: Range<usize>,
    /// The indices of its boxes.
    pub(super) boxes: Range<usize>,
    /// The indices of the boxes that are its tasks.
    pub(super) tasks: Range<usize>,
}

/// Returns the groups of `outline` in the order of the file.
pub(super) fn groups(document: &Document<'_>, outline: &Outline, grouping: Grouping) -> Vec<Group> {
    match section_level(outline, grouping) {
        Some(level) => by_section(document, outline, level),
        None => by_item(&outline.boxes),
    }
}

/// Returns the sections without boxes that could be stories; in a list without boxes, those below its title.
pub(super) fn empty_sections(outline: &Outline, grouping: Grouping) -> Vec<&Heading> {
    let below_title = || {
        let levels = outline.headings.iter().map(|heading| heading.level);
        let level = levels.filter(|level| *level > 1).min();
        level.filter(|_| outline.boxes.is_empty() && grouping != Grouping::Item)
    };
    let Some(level) = section_level(outline, grouping).or_else(below_title) else {
        return Vec::new();
    };
    cuts(outline, level)
        .filter(|cut| cut.heading.level == level && cut.boxes.is_empty())
        .map(|cut| cut.heading)
        .collect()
}

/// Returns the level of the headings that make stories; `None` if each item makes one.
fn section_level(outline: &Outline, grouping: Grouping) -> Option<usize> {
    let topmost = match grouping {
        Grouping::Item | Grouping::Whole => return None,
        Grouping::Auto => 2,
        Grouping::Group => 1,
    };
    let sections: Vec<(usize, usize)> = (1..=6)
        .map(|level| (level, sections_with_boxes(outline, level)))
        .collect();
    let divided = sections.iter().find(|(_, count)| *count >= 2);
    let deepest = || {
        let mut deepest_first = sections.iter().rev();
        let (level, _) = deepest_first.find(|(level, count)| *level >= topmost && *count > 0)?;
        let only = cuts(outline, *level).find(|cut| cut.heading.level == *level && !cut.boxes.is_empty())?;
        let is_list = grouping == Grouping::Auto && is_name_of_list(&only.heading.title);
        (!is_list).then_some(*level)
    };
    divided.map(|(level, _)| *level).or_else(deepest)
}

/// Returns whether a title names the list itself: the boxes of its section are then the stories.
fn is_name_of_list(title: &str) -> bool {
    LISTS.iter().any(|name| title.trim().eq_ignore_ascii_case(name))
}

/// Counts the sections of `level` that have boxes, including boxes below deeper headings.
fn sections_with_boxes(outline: &Outline, level: usize) -> usize {
    cuts(outline, level)
        .filter(|cut| cut.heading.level == level && !cut.boxes.is_empty())
        .count()
}

/// A heading with all text up to a heading that is not deeper than `level`.
struct Cut<'a> {
    heading: &'a Heading,
    boxes: Range<usize>,
    /// The offset at which the next cut begins, if there is one.
    end: Option<usize>,
}

/// Cuts the file at every heading that is not deeper than `level`.
fn cuts(outline: &Outline, level: usize) -> impl Iterator<Item = Cut<'_>> {
    let mut headings = outline
        .headings
        .iter()
        .filter(move |heading| heading.level <= level)
        .peekable();
    std::iter::from_fn(move || {
        let heading = headings.next()?;
        let next = headings.peek();
        let boxes_end = next.map_or(outline.boxes.len(), |next| next.boxes_before);
        Some(Cut {
            heading,
            boxes: heading.boxes_before..boxes_end,
            end: next.map(|next| next.range.start),
        })
    })
}

/// Makes one group of each section. Boxes above the first section with boxes are the preamble; boxes that a higher
/// heading separates from all sections are a group under that heading.
fn by_section(document: &Document<'_>, outline: &Outline, level: usize) -> Vec<Group> {
    let (_, start) = document.markdown();
    let mut sections = cuts(outline, level)
        .skip_while(|cut| cut.heading.level != level || cut.boxes.is_empty())
        .filter(|cut| !cut.boxes.is_empty())
        .peekable();
    let preamble = sections.peek().and_then(|first| {
        let first_box = outline.boxes.first()?;
        let boxes = 0..first.heading.boxes_before;
        (!boxes.is_empty()).then(|| Group {
            title: PREAMBLE.to_owned(),
            line: first_box.line,
            depends_on: None,
            body: start..first.heading.range.start,
            tasks: boxes.clone(),
            boxes,
        })
    });
    let sections = sections.map(|cut| {
        let body_start = document.line_start_from(cut.heading.range.end);
        let end_of_file = document.text().len();
        Group {
            title: cut.heading.title.clone(),
            line: cut.heading.line,
            depends_on: None,
            body: body_start..cut.end.unwrap_or(end_of_file),
            tasks: cut.boxes.clone(),
            boxes: cut.boxes,
        }
    });
    preamble.into_iter().chain(sections).collect()
}

/// Makes one group of each outermost box. Its tasks are the boxes inside it, or the box itself if there are none.
fn by_item(boxes: &[CheckBox]) -> Vec<Group> {
    let mut start = 0;
    boxes
        .chunk_by(|_, next| !next.outermost)
        .filter_map(|family| {
            let head = family.first()?;
            let boxes = start..start + family.len();
            start = boxes.end;
            let inner = boxes.start + 1..boxes.end;
            Some(Group {
                title: head.text.clone(),
                line: head.line,
                depends_on: None,
                body: head.body.clone(),
                tasks: if inner.is_empty() { boxes.clone() } else { inner },
                boxes,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns each group as its title and the number of its boxes.
    fn grouped(text: &str, grouping: Grouping) -> Vec<(String, usize)> {
        let document = Document::new(text.as_bytes());
        let outline = Outline::of(&document);
        groups(&document, &outline, grouping)
            .into_iter()
            .map(|group| (group.title, group.boxes.len()))
            .collect()
    }

    fn expect(text: &str, grouping: Grouping, expected: &[(&str, usize)]) {
        let expected: Vec<_> = expected
            .iter()
            .map(|(title, boxes)| ((*title).to_owned(), *boxes))
            .collect();
        assert_eq!(grouped(text, grouping), expected, "{text}");
    }

    #[test]
    fn the_highest_level_with_two_sections_with_boxes_makes_the_stories() {
        let text = "# T\n## A\n- [ ] 1\n### B\n- [ ] 2\n### C\n- [ ] 3\n## Notes\ntext\n## D\n- [ ] 4\n";
        expect(text, Grouping::Auto, &[("A", 3), ("D", 1)]);
        let two_parts = "# A\n## B\n- [ ] 1\n## C\n- [ ] 2\n# D\n- [ ] 3\n";
        expect(two_parts, Grouping::Auto, &[("A", 2), ("D", 1)]);
    }

    #[test]
    fn boxes_above_the_first_story_are_the_preamble() {
        let text = "# T\n- [ ] 0\n## Empty\n## A\n- [ ] 1\n## B\n- [ ] 2\n";
        expect(text, Grouping::Auto, &[("preamble", 1), ("A", 1), ("B", 1)]);
    }

    #[test]
    fn boxes_outside_of_all_sections_belong_to_their_own_heading() {
        let text = "## A\n### B\n- [ ] 1\n### C\n- [ ] 2\n# D\n- [ ] 3\n";
        expect(text, Grouping::Auto, &[("B", 1), ("C", 1), ("D", 1)]);
    }

    #[test]
    fn single_section_selects_the_deepest_level() {
        let text = "# T\n## A\n- [ ] 0\n### B\n- [ ] 1\n- [ ] 2\n## Notes\n";
        expect(text, Grouping::Auto, &[("preamble", 1), ("B", 2)]);
    }

    #[test]
    fn outermost_box_is_a_story_if_there_are_no_sections() {
        let text = "# T\n- [ ] 1\n  - [ ] 1.1\n- plain\n  - [ ] 2\n";
        expect(text, Grouping::Auto, &[("1", 2), ("2", 1)]);
        expect("- [ ] a\n", Grouping::Auto, &[("a", 1)]);
        expect("", Grouping::Auto, &[]);
        expect("## A\n## B\n", Grouping::Auto, &[]);
    }

    #[test]
    fn a_section_that_is_the_list_is_no_story() {
        let story =
            "# Story 1.1: Log in\n## Story\nAs a user\n## Tasks / Subtasks\n- [ ] A\n  - [ ] a\n- [ ] B\n";
        expect(story, Grouping::Auto, &[("A", 2), ("B", 1)]);
        expect(story, Grouping::Group, &[("Tasks / Subtasks", 3)]);
        expect("## Tasks\n- [ ] A\n", Grouping::Auto, &[("A", 1)]);
        let with_another = "## Tasks\n- [ ] A\n- [ ] B\n## Tests\n- [ ] C\n";
        expect(with_another, Grouping::Auto, &[("Tasks", 2), ("Tests", 1)]);
    }

    #[test]
    fn the_grouping_can_be_forced() {
        let text = "## A\n- [ ] 1\n## B\n- [ ] 2\n  - [ ] 3\n";
        expect(text, Grouping::Item, &[("1", 1), ("2", 2)]);
        let titled = "# T\n- [ ] 1\n- [ ] 2\n";
        expect(titled, Grouping::Group, &[("T", 2)]);
        expect("- [ ] 1\n", Grouping::Group, &[("1", 1)]);
    }

    #[test]
    fn the_tasks_of_an_item_are_the_boxes_in_it_or_itself() {
        let document = Document::new(b"- [ ] 1\n  - [ ] 2\n- [ ] 3\n");
        let outline = Outline::of(&document);
        let tasks: Vec<_> = groups(&document, &outline, Grouping::Item)
            .into_iter()
            .map(|group| group.tasks)
            .collect();
        assert_eq!(tasks, [1..2, 2..3]);
    }
}
