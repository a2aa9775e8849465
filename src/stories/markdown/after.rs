//! The dependencies of a story at the end of its title: `(after 1, 2)`.
//!
//! They are removed before ids are made, and only if each is the id of a story; otherwise they are text.

use std::collections::HashSet;

use super::super::{Warning, ids};
use super::groups::Group;

/// Maximum number of times that ids are made: ids made from titles depend on the removed text.
const ROUNDS: usize = 16;

/// A title that ends like one with dependencies.
struct After {
    /// The index of its story.
    index: usize,
    /// The title without dependencies.
    title: String,
    names: Vec<String>,
}

/// Moves the dependencies from the titles into the groups; returns warnings about those that stay.
pub(super) fn take_out(groups: &mut [Group]) -> Vec<Warning> {
    let found = groups.iter().enumerate();
    let found: Vec<After> = found
        .filter_map(|(index, group)| split(index, &group.title))
        .collect();
    if found.is_empty() {
        return Vec::new();
    }
    let mut are_taken = vec![true; found.len()];
    let mut known = HashSet::new();
    for left in (0..ROUNDS).rev() {
        let mut titles: Vec<&str> = groups.iter().map(|group| group.title.as_str()).collect();
        for (after, is_taken) in found.iter().zip(&are_taken) {
            if let Some(title) = titles.get_mut(after.index).filter(|_| *is_taken) {
                *title = &after.title;
            }
        }
        known = ids::assign(titles.into_iter()).ids.into_iter().collect();
        let are_known = found
            .iter()
            .map(|after| after.names.iter().all(|name| known.contains(name)));
        let are_known: Vec<bool> = are_known.map(|is_known| is_known && left != 1).collect();
        if left == 0 || are_known == are_taken {
            break;
        }
        are_taken = are_known;
    }
    let mut warnings = Vec::new();
    for (after, is_taken) in found.into_iter().zip(are_taken) {
        let Some(group) = groups.get_mut(after.index) else {
            continue;
        };
        if is_taken {
            group.title = after.title;
            group.depends_on = Some(after.names);
            continue;
        }
        let unknown = after.names.iter().find(|name| !known.contains(*name));
        let why = match unknown {
            Some(name) => format!("no story has the id '{name}'"),
            None => "if it were not, a story that it names would have another id".to_owned(),
        };
        let named = after.names.join(", ");
        warnings.push(Warning {
            line: group.line,
            message: format!("'(after {named})' is read as a part of the title: {why}"),
        });
    }
    warnings
}

/// Splits a title from the names at its end.
fn split(index: usize, title: &str) -> Option<After> {
    let (title, names) = title.strip_suffix(')')?.rsplit_once(" (after ")?;
    let names: Vec<String> = names.split(',').map(|name| name.trim().to_owned()).collect();
    let title = title.trim_end().to_owned();
    let is_name = |name: &String| !name.is_empty() && !name.contains(['(', ')']);
    (!title.is_empty() && names.iter().all(is_name)).then_some(After { index, title, names })
}

#[cfg(test)]
mod tests {
    use super::super::Plan;
    use crate::stories::Grouping;

    /// Expects stories, each as id, title and dependencies; returns the warnings.
    fn expect(text: &str, stories: &[&str]) -> Vec<String> {
        let plan = Plan::parse(text.as_bytes(), Grouping::Auto);
        let found = plan.stories.iter();
        let found = found.map(|story| format!("{}: {} {:?}", story.id, story.title, story.depends_on));
        assert_eq!(found.collect::<Vec<_>>(), stories, "{text}");
        let task = &plan.stories.last().unwrap().tasks[0];
        assert!(!task.text.contains("(after 1"), "{task:?}");
        let warnings = plan.warnings.into_iter();
        warnings
            .map(|warning| format!("{}: {}", warning.line, warning.message))
            .collect()
    }

    #[test]
    fn dependencies_at_the_end_of_a_title_are_taken_out() {
        let sections = "## 1. Read\n- [ ] a (after 1)\n## 2. Write (after 1) ##\n- [ ] b\n## Show (after 2,1)\n- [ ] c\n";
        let stories = [
            "1: 1. Read None",
            "2: 2. Write Some([\"1\"])",
            "show: Show Some([\"2\", \"1\"])",
        ];
        assert!(expect(sections, &stories).is_empty());
        let items = "- [ ] 1. Read\n- [ ] Show\n  both (after 1)\n  - [ ] c\n- [ ]* Write (after show-both)\n- [ ] Go (after 1)\n";
        let stories = [
            "1: 1. Read None",
            "show-both: Show both Some([\"1\"])",
            "write: Write Some([\"show-both\"])",
            "go: Go Some([\"1\"])",
        ];
        assert!(expect(items, &stories).is_empty());
    }

    #[test]
    fn names_that_are_no_ids_stay_in_the_title_with_a_warning() {
        let text = "- [ ] 1. Eat (after lunch)\n- [ ] 2. Rest (after 1, 7)\n- [ ] 3. Go (after 2)\n";
        let stories = [
            "1: 1. Eat (after lunch) None",
            "2: 2. Rest (after 1, 7) None",
            "3: 3. Go Some([\"2\"])",
        ];
        let text_of =
            |named: &str| format!("'(after {named})' is read as a part of the title: no story has the id");
        let warned = [
            format!("1: {} 'lunch'", text_of("lunch")),
            format!("2: {} '7'", text_of("1, 7")),
        ];
        assert_eq!(expect(text, &stories), warned);
        for title in [
            "A (after )",
            "(after a)",
            "A(after a)",
            "A (after a) b",
            "A (after a) (b)",
        ] {
            let plan = Plan::parse(format!("- [ ] {title}\n").as_bytes(), Grouping::Auto);
            assert_eq!(plan.stories[0].title, title);
            assert!(plan.warnings.is_empty(), "{title}");
        }
    }

    #[test]
    fn ids_that_depend_on_what_is_taken_out_are_those_of_the_list() {
        let text = "- [ ] Eat (after lunch)\n- [ ] Rest (after eat-after-lunch)\n- [ ] Go (after rest)\n";
        let stories = [
            "eat-after-lunch: Eat (after lunch) None",
            "rest: Rest Some([\"eat-after-lunch\"])",
            "go: Go Some([\"rest\"])",
        ];
        assert_eq!(expect(text, &stories).len(), 1);
        let unclear = "- [ ] A (after b-after-a)\n- [ ] B (after a)\n";
        let stories = [
            "a-after-b-after-a: A (after b-after-a) None",
            "b-after-a: B (after a) None",
        ];
        let warned = expect(unclear, &stories);
        assert!(
            warned[0].ends_with("if it were not, a story that it names would have another id"),
            "{warned:?}"
        );
    }
}
