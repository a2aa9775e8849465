//! The text of a story, with its boxes, for display.

use crate::state::{State, Store};
use crate::stories::{SourceError, Story};

/// Returns the title and text of a story from its present list. Runs nothing: does not read a list that a command
/// prints.
pub fn story_text(store: &Store, id: &str, title: &str) -> Result<String, String> {
    let state = store.load().map_err(|error| error.to_string())?;
    let state: State = state.ok_or_else(|| "the files of the loop are gone".to_owned())?;
    let listing = state.common.source.list_in_file(state.work_tree());
    let listing = listing.map_err(|error| match error {
        SourceError::NoCommand => format!(
            "a command prints the stories, and is not run to look at them; git ralph stories {} runs it",
            state.change
        ),
        other => other.to_string(),
    })?;
    let mut stories = listing.stories.iter();
    let story = stories.find(|story| story.id == id || story.title == title);
    story
        .map(in_words)
        .ok_or_else(|| format!("{} no longer lists this story", state.source().path))
}

/// Returns the title of a story, its text, and its boxes that the text does not show.
fn in_words(story: &Story) -> String {
    let mark = |done: bool| if done { "[x]" } else { "[ ]" };
    let mut text = format!("{} {}\n", mark(story.done), story.title);
    let body = story.body.trim_matches('\n');
    if !body.trim().is_empty() {
        text.push_str(&format!("\n{body}\n"));
    }
    let is_shown = |words: &str| body.contains(words) || story.title == words;
    let hidden: Vec<String> = story
        .tasks
        .iter()
        .filter(|task| !is_shown(&task.text))
        .map(|task| format!("- {} {}\n", mark(task.done), task.text))
        .collect();
    if !hidden.is_empty() {
        text.push('\n');
        text.push_str(&hidden.concat());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stories::Task;

    #[test]
    fn each_box_of_a_story_is_shown_once() {
        let task = |text: &str, done| Task {
            id: text.to_owned(),
            text: text.to_owned(),
            done,
            optional: false,
            line: 1,
        };
        let story = |body: &str, tasks: &[Task]| Story {
            id: "1".to_owned(),
            title: "1. Form".to_owned(),
            body: body.to_owned(),
            done: false,
            optional: false,
            depends_on: None,
            line: 1,
            tasks: tasks.to_vec(),
        };
        let with_boxes = story(
            "\n- [x] 1.1 Fields\n- [ ] 1.2 Style\n",
            &[task("1.1 Fields", true)],
        );
        assert_eq!(
            in_words(&with_boxes),
            "[ ] 1. Form\n\n- [x] 1.1 Fields\n- [ ] 1.2 Style\n"
        );
        let of_records = story("As a user.", &[task("it opens", true), task("it closes", false)]);
        assert_eq!(
            in_words(&of_records),
            "[ ] 1. Form\n\nAs a user.\n\n- [x] it opens\n- [ ] it closes\n"
        );
        assert_eq!(in_words(&story("", &[task("1. Form", false)])), "[ ] 1. Form\n");
    }
}
