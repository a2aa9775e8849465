//! Finds the text of a file outside of all stories.

use super::document::Document;
use super::groups::Group;

/// Returns the text above the first story, unless it consists of headings.
pub(super) fn preamble(document: &Document<'_>, first: Option<&Group>) -> String {
    let (_, start) = document.markdown();
    let end = first.map_or(start, |first| document.line_start(first.line));
    let text = document.source(start..end.max(start));
    if has_prose(&text) {
        text.trim().to_owned()
    } else {
        String::new()
    }
}

/// Returns whether there is text between the stories or below them.
pub(super) fn has_more_text(document: &Document<'_>, groups: &[Group]) -> bool {
    let mut at = groups
        .first()
        .map_or(usize::MAX, |first| document.line_start(first.line));
    let end = document.text().len();
    let starts = groups
        .iter()
        .map(|group| (document.line_start(group.line), group.body.end));
    starts.chain([(end, end)]).any(|(start, next)| {
        let has_some = start > at && has_prose(&document.source(at..start));
        at = at.max(next);
        has_some
    })
}

/// Returns whether a text has more than headings.
fn has_prose(text: &str) -> bool {
    text.lines()
        .any(|line| !line.trim().is_empty() && !line.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::super::Plan;
    use crate::stories::Grouping;

    fn parse(text: &str) -> Plan {
        Plan::parse(text.as_bytes(), Grouping::Auto)
    }

    #[test]
    fn text_in_no_story_is_noticed() {
        let has_more = |text: &str| Plan::parse(text.as_bytes(), Grouping::Auto).has_more_text;
        assert!(!has_more(
            "# T\n\nUse make.\n\n## A\n\n- [ ] 1\n\nof A\n\n## B\n\n- [ ] 2\n"
        ));
        assert!(has_more(
            "## A\n\n- [ ] 1\n\n## Notes\n\nUse make.\n\n## B\n\n- [ ] 2\n"
        ));
        assert!(has_more(
            "## A\n\n- [ ] 1\n\n## B\n\n- [ ] 2\n\n## Constraints\n\nUse make.\n"
        ));
        assert!(has_more("- [ ] 1\n- [ ] 2\n\nUse make.\n"));
        assert!(!has_more("- [ ] 1\n- [ ] 2\n") && !has_more("No boxes.\n"));
    }

    #[test]
    fn the_text_above_the_first_story_is_the_preamble() {
        let preamble = |text: &str| Plan::parse(text.as_bytes(), Grouping::Auto).preamble;
        let stories = "## A\n- [ ] 1\n## B\n- [ ] 2\n";
        assert_eq!(
            preamble(&format!("# T\n\nUse make.\n\n{stories}")),
            "# T\n\nUse make."
        );
        assert_eq!(
            preamble(&format!("---\na: b\n---\nUse make.\n{stories}")),
            "Use make."
        );
        assert_eq!(preamble("Use make.\n\n- [ ] 1\n- [ ] 2\n"), "Use make.");
        for without in [
            &format!("# T\n\n{stories}"),
            stories,
            "- [ ] 0\n## A\n- [ ] 1\n",
            "",
        ] {
            assert_eq!(preamble(without), "", "{without}");
        }
    }

    #[test]
    fn the_preamble_begins_behind_the_front_matter() {
        let plan = parse("---\nk: v\n---\nHi.\n\n- [ ] a\n\n## Preamble\n- [ ] b\n## B\n- [ ] c\n");
        let ids: Vec<&str> = plan.stories.iter().map(|story| story.id.as_str()).collect();
        assert_eq!(ids, ["preamble", "preamble-2", "b"]);
        assert_eq!(plan.stories[0].body, "Hi.\n\n- [ ] a\n\n");
        assert_eq!(plan.stories[0].line, 6);
    }
}
