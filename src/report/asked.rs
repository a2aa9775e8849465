//! The texts and boxes of stories, from their list. Pure.

use serde::Serialize;

use super::words::cut;
use crate::stories::Story;

/// Maximum lengths of a story's text and of a task, in characters, and maximum number of tasks.
const MOST_TEXT: usize = 4000;
const MOST_TASK: usize = 400;
const MOST_TASKS: usize = 200;

/// What a story asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Asked {
    /// Its text in the list, with its boxes; a long one says that its rest is left out.
    pub text: String,
    /// Its boxes, in the order of the list; of many, the first.
    pub tasks: Vec<AskedTask>,
}

/// A box of a story.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AskedTask {
    /// The work to do.
    pub text: String,
    /// True if the box is ticked.
    pub done: bool,
    /// True if the story is complete without it.
    pub optional: bool,
}

/// Returns what a story asks for.
pub(super) fn asked(story: &Story) -> Option<Asked> {
    let body = story.body.trim_end().trim_start_matches(['\n', '\r']);
    // A story that is a single box has its text after the box.
    let words = body.split_whitespace().collect::<Vec<_>>().join(" ");
    let has_boxes = story.tasks.iter().any(|task| words.contains(&task.text));
    let mut lines: Vec<String> = Vec::new();
    if !has_boxes {
        let of = |done| if done { 'x' } else { ' ' };
        let boxes = story.tasks.iter();
        lines.extend(boxes.map(|task| format!("- [{}] {}", of(task.done), task.text)));
    }
    lines.extend((!body.is_empty()).then(|| body.to_owned()));
    let tasks = story.tasks.iter().take(MOST_TASKS).map(|task| AskedTask {
        text: cut(&task.text, MOST_TASK),
        done: task.done,
        optional: task.optional,
    });
    (!lines.is_empty()).then(|| Asked {
        text: cut(&lines.join("\n"), MOST_TEXT),
        tasks: tasks.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stories::Grouping;
    use crate::stories::markdown::Plan;

    #[test]
    fn a_text_has_its_boxes_and_a_long_one_is_cut() {
        let text = |list: &str| {
            let plan = Plan::parse(list.as_bytes(), Grouping::Auto);
            asked(&plan.stories[0]).unwrap().text
        };
        let list = "## One\n\nWhy.\n\n- [x] a\n- [ ] b\n\n## Two\n\n- [ ] c\n";
        assert_eq!(text(list), "Why.\n\n- [x] a\n- [ ] b");
        assert_eq!(
            text("- [x] do it\n\n  Soon.\n- [ ] more\n"),
            "- [x] do it\n  Soon."
        );
        let long = text(&format!("## One\n- [ ] a\n  b\n\n{}\n", "é".repeat(MOST_TEXT)));
        assert!(long == "- [ ] a\n  b\n\n… the rest is left out", "{long}");
    }
}
