//! The message of a story's checkpoint: it identifies the checkpoint when the loop's state is lost.

use crate::names::one_line;
use crate::stories::Story;

/// The beginning of the subject of each checkpoint.
pub(crate) const CHECKPOINT: &str = "checkpoint: ";

/// The trailer that names the story and the attempt of a checkpoint, as `<story>@<number>`.
pub(crate) const ATTEMPT_TRAILER: &str = "Ralph-Attempt";

/// Returns the subject of the checkpoint of a story: the prefix and the story's id.
pub(crate) fn subject(story: &Story) -> String {
    format!("{CHECKPOINT}{}", one_line(&story.id))
}

/// Returns the first line of the body: the title, if the story has one.
pub(crate) fn title(story: &Story) -> Option<String> {
    Some(one_line(&story.title)).filter(|title| !title.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn story(id: &str, title: &str) -> Story {
        Story {
            id: id.to_owned(),
            title: title.to_owned(),
            body: String::new(),
            done: false,
            optional: false,
            depends_on: None,
            line: 1,
            tasks: Vec::new(),
        }
    }

    #[test]
    fn a_subject_has_the_id_and_the_body_begins_with_the_title() {
        for (id, given, wanted, first) in [
            (
                "2",
                "2. Check the password",
                "checkpoint: 2",
                Some("2. Check the password"),
            ),
            ("US-1", "Log in", "checkpoint: US-1", Some("Log in")),
            ("7", " ", "checkpoint: 7", None),
            (
                "1",
                "1. two\n lines\u{1b}[2J",
                "checkpoint: 1",
                Some("1. two lines [2J"),
            ),
        ] {
            let story = story(id, given);
            assert_eq!(
                (subject(&story).as_str(), title(&story).as_deref()),
                (wanted, first)
            );
        }
    }

    #[test]
    fn a_value_stays_on_its_line() {
        assert_eq!(one_line(" make\n\ttest \u{1b}[2J "), "make test [2J");
    }
}
