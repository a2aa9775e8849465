//! Ticking the boxes of a story in the bytes of a file.
//!
//! Invariant: the result differs from the file only between the brackets of the ticked boxes, and parses to the same
//! boxes with these marked as done.
//!
//! This module does not know files.

use std::ops::Range;

use super::Plan;
use super::document::Document;
use super::outline::Outline;
use crate::stories::contains::overwrite;

/// A file with newly ticked boxes.
#[derive(Debug, PartialEq, Eq)]
pub struct Ticked {
    /// The whole new content.
    pub bytes: Vec<u8>,
    /// The number of boxes that were ticked.
    pub count: usize,
}

/// A box that would no longer be a box after a tick, but a link for instance.
#[derive(Debug, PartialEq, Eq)]
pub struct Spoiled {
    /// Its 1-based line.
    pub line: usize,
}

/// Ticks every open box of the story at `index` of `plan`, which was parsed from `bytes`.
pub fn tick(bytes: &[u8], plan: &Plan, index: usize) -> Result<Ticked, Spoiled> {
    let members = plan.members.get(index).cloned().unwrap_or_default();
    tick_boxes(bytes, plan, members)
}

/// Ticks every open box of `plan`, which was parsed from `bytes`.
pub(super) fn tick_all(bytes: &[u8], plan: &Plan) -> Result<Ticked, Spoiled> {
    tick_boxes(bytes, plan, 0..plan.boxes.len())
}

fn tick_boxes(bytes: &[u8], plan: &Plan, members: Range<usize>) -> Result<Ticked, Spoiled> {
    let members_of = plan.boxes.get(members.clone()).unwrap_or_default();
    let open = members_of.iter().filter(|member| !member.done);
    let ticks: Vec<_> = open.map(|member| (member.mark.clone(), b"x".to_vec())).collect();
    let ticked = Ticked {
        count: ticks.len(),
        bytes: overwrite(bytes, ticks),
    };
    first_spoiled(plan, &members, &ticked.bytes).map_or(Ok(ticked), Err)
}

/// Finds the first box that `bytes` lost or changed, except for the ticks of `members`.
fn first_spoiled(plan: &Plan, members: &Range<usize>, bytes: &[u8]) -> Option<Spoiled> {
    let after = Outline::of(&Document::new(bytes)).boxes;
    let mut found = after.iter();
    let spoiled = plan.boxes.iter().enumerate().find(|(index, before)| {
        let done = before.done || members.contains(index);
        !found.next().is_some_and(|after| {
            after.done == done
                && after.line == before.line
                && after.text == before.text
                && after.optional == before.optional
        })
    });
    let line = match spoiled {
        Some((_, before)) => before.line,
        None => found.next()?.line,
    };
    Some(Spoiled { line })
}

#[cfg(test)]
mod tests {
    use super::super::super::Grouping;
    use super::*;
    use proptest::prelude::*;

    fn ticked(text: &str, index: usize) -> Result<(String, usize), Spoiled> {
        let plan = Plan::parse(text.as_bytes(), Grouping::Auto);
        let ticked = tick(text.as_bytes(), &plan, index)?;
        Ok((String::from_utf8(ticked.bytes).unwrap(), ticked.count))
    }

    fn done(bytes: &[u8]) -> usize {
        let plan = Plan::parse(bytes, Grouping::Auto);
        plan.boxes.iter().filter(|found| found.done).count()
    }

    #[test]
    fn ticks_every_open_box_of_one_story() {
        let text = "- [ ] a\r\n  - [x] b\r\n  - [~] c\r\n  - [] d\r\n  - [ ]* e\r\n- [ ] f";
        let expected = "- [x] a\r\n  - [x] b\r\n  - [x] c\r\n  - [x] d\r\n  - [x]* e\r\n- [ ] f";
        assert_eq!(ticked(text, 0), Ok((expected.to_owned(), 4)));
        assert_eq!(ticked(expected, 0), Ok((expected.to_owned(), 0)));
        assert_eq!(ticked(text, 9), Ok((text.to_owned(), 0)), "no such story");
    }

    #[test]
    fn a_mark_of_several_bytes_is_replaced_whole() {
        assert_eq!(ticked("- [\u{2610}] a\n", 0), Ok(("- [x] a\n".to_owned(), 1)));
    }

    #[test]
    fn reports_a_box_that_a_tick_would_spoil() {
        let becomes_definition = "- [ ] a\n- [ ]: b\n";
        assert_eq!(ticked(becomes_definition, 1), Err(Spoiled { line: 2 }));
        let becomes_link = "- [ ] a\n\n[x]: https://example.org\n";
        assert_eq!(ticked(becomes_link, 0), Err(Spoiled { line: 1 }));
    }

    /// Generates one line of a checklist that a user could have written.
    fn line() -> impl Strategy<Value = String> {
        let item = (
            0..4_usize,
            prop::sample::select(vec!["-", "*", "+", "1.", "7)"]),
            prop::sample::select(vec![
                "[ ]", "[x]", "[X]", "[~]", "[-]", "[]", "[ ]*", "[  ]", "[ x]", "[ - ]",
            ]),
            "[a-z0-9 *_<&`]{0,12}",
        );
        let item = item
            .prop_map(|(depth, marker, mark, text)| format!("{}{marker} {mark} {text}", "  ".repeat(depth)));
        let other = prop::sample::select(vec![
            "", "# a", "## 1. b", "### c", "words", "  words", "```", "> quote", "---",
        ]);
        prop_oneof![4 => item, 2 => other.prop_map(str::to_owned)]
    }

    fn checklist() -> impl Strategy<Value = String> {
        let ending = prop::sample::select(vec!["\n", "\r\n"]);
        let start = prop::sample::select(vec!["", "\u{feff}"]);
        (start, prop::collection::vec(line(), 0..24), ending)
            .prop_map(|(start, lines, ending)| format!("{start}{}", lines.join(ending)))
    }

    proptest! {
        #[test]
        fn one_tick_is_one_byte_and_one_more_done(text in checklist()) {
            let bytes = text.as_bytes();
            let plan = Plan::parse(bytes, Grouping::Auto);
            for open in plan.boxes.iter().filter(|found| !found.done) {
                let mark = open.mark.clone();
                let after = overwrite(bytes, vec![(mark.clone(), b"x".to_vec())]);
                prop_assert_eq!(&after[..mark.start], &bytes[..mark.start]);
                prop_assert_eq!(after[mark.start], b'x');
                prop_assert_eq!(&after[mark.start + 1..], &bytes[mark.end..]);
                prop_assert!(mark.len() <= 1);
                prop_assert_eq!(done(&after), done(bytes) + 1);
            }
        }

        #[test]
        fn a_story_is_done_once_ticked(text in checklist(), items in any::<bool>()) {
            let grouping = if items { Grouping::Item } else { Grouping::Auto };
            let plan = Plan::parse(text.as_bytes(), grouping);
            for index in 0..plan.stories.len() {
                let ticked = tick(text.as_bytes(), &plan, index).unwrap();
                prop_assert_eq!(done(&ticked.bytes), done(text.as_bytes()) + ticked.count);
                let after = Plan::parse(&ticked.bytes, grouping);
                let mut expected = plan.stories.clone();
                expected[index].done = true;
                for task in &mut expected[index].tasks {
                    task.done = true;
                }
                for (after, expected) in after.stories.iter().zip(&expected) {
                    prop_assert_eq!(&after.id, &expected.id);
                    prop_assert_eq!(after.done, expected.done);
                    prop_assert_eq!(&after.tasks, &expected.tasks);
                }
                prop_assert_eq!(after.stories.len(), expected.len());
            }
        }
    }
}
