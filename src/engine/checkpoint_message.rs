//! The message of a story's checkpoint: what tells it from other commits when the loop's state is lost.

use crate::names::id_and_title;
use crate::stories::Story;

/// The beginning of the subject of each checkpoint.
pub(crate) const CHECKPOINT: &str = "checkpoint: ";

/// The trailer that names the story and the attempt of a checkpoint, as `<story>@<number>`.
pub(crate) const ATTEMPT_TRAILER: &str = "Ralph-Attempt";

/// Maximum length of a subject, in characters: what `git log --oneline` shows in 80 columns.
const LONGEST: usize = 70;

/// Returns the subject of the checkpoint of a story: its id and its title.
pub(crate) fn subject(story: &Story) -> String {
    let whole = whole_subject(story);
    if whole.chars().count() <= LONGEST {
        return whole;
    }
    let head: String = whole.chars().take(LONGEST - 1).collect();
    // Between words, if that does not cost too much.
    let end = head.rfind(' ').filter(|end| 2 * end > head.len());
    let end = end.unwrap_or(head.len());
    format!("{}\u{2026}", head[..end].trim_end())
}

/// Returns the title of a story where the subject does not hold it whole.
pub(crate) fn rest(story: &Story) -> Option<String> {
    (subject(story) != whole_subject(story)).then(|| one_line(&story.title))
}

fn whole_subject(story: &Story) -> String {
    let (id, title) = (one_line(&story.id), one_line(&story.title));
    if title.is_empty() {
        return format!("{CHECKPOINT}{id}");
    }
    format!("{CHECKPOINT}{}", id_and_title(&id, " ", &title))
}

/// Returns the text without line ends and other control characters, which would end a trailer.
pub(crate) fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_control() || c.is_whitespace());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
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
            depends_on: Vec::new(),
            line: 1,
            tasks: Vec::new(),
        }
    }

    #[test]
    fn a_subject_has_id_and_title() {
        for (id, title, wanted) in [
            ("2", "2. Check the password", "checkpoint: 2. Check the password"),
            ("US-1", "Log in", "checkpoint: US-1 Log in"),
            ("7", "", "checkpoint: 7"),
            ("7", "7", "checkpoint: 7"),
            ("1", "1. two\n lines\u{1b}[2J", "checkpoint: 1. two lines [2J"),
        ] {
            let story = story(id, title);
            assert_eq!((subject(&story).as_str(), rest(&story)), (wanted, None));
        }
    }

    #[test]
    fn what_is_long_is_cut_between_words_and_stands_below_the_subject() {
        let long = story("2", &format!("2. {}", "word ".repeat(30)));
        assert!(subject(&long).ends_with("word\u{2026}"), "{}", subject(&long));
        assert!(subject(&long).chars().count() <= LONGEST);
        assert_eq!(rest(&long), Some(long.title.trim_end().to_owned()));
        let one_word = story("2", &"\u{e9}".repeat(100));
        assert_eq!(subject(&one_word).chars().count(), LONGEST);
    }

    #[test]
    fn a_value_stays_on_its_line() {
        assert_eq!(one_line(" make\n\ttest \u{1b}[2J "), "make test [2J");
    }
}
