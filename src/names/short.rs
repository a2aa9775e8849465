//! The short words that name stories in messages and commands, instead of ids that repeat a title.

use std::collections::{HashMap, HashSet};

use super::only_repeats;

/// The words that name stories with long ids, by the ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShortNames(HashMap<String, String>);

impl ShortNames {
    /// Makes the names from a list's ids and titles: the position of a story whose id only repeats its title, and the id
    /// of any other.
    pub fn of_list<'a>(stories: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> Self {
        let ids: HashSet<&str> = stories.clone().map(|(id, _)| id).collect();
        let named = stories
            .zip(1_usize..)
            .map(|((id, title), at)| (id, title, at.to_string()));
        let short = named.filter(|(id, title, at)| {
            only_repeats(title, id) && at.len() < id.len() && !ids.contains(at.as_str())
        });
        Self(short.map(|(id, _, at)| (id.to_owned(), at)).collect())
    }

    /// Returns the shortest word that names a story.
    pub fn of<'a>(&'a self, id: &'a str) -> &'a str {
        self.0.get(id).map_or(id, String::as_str)
    }

    /// Returns a message with these words in place of the ids. An id can also be a word of a command or a part of a file
    /// name: it is replaced only where the message names a story.
    pub fn shorten(&self, text: &str) -> String {
        if self.0.is_empty() {
            return text.to_owned();
        }
        let mut short = String::with_capacity(text.len());
        let (mut rest, mut is_list) = (text, false);
        while let Some(begin) = rest.find(is_of_id) {
            let (between, word) = rest.split_at(begin);
            let end = word.find(|c| !is_of_id(c)).unwrap_or(word.len());
            let (word, after) = word.split_at(end);
            short.push_str(between);
            let continues = is_list && between == ", ";
            let name = self.0.get(word);
            is_list = name.is_some() && (continues || names_story(&short, after));
            match name {
                Some(name) if is_list => short.push_str(name),
                _ => short.push_str(word),
            }
            rest = after;
        }
        short + rest
    }
}

/// Returns whether a character can be part of an id made from a title.
fn is_of_id(c: char) -> bool {
    c.is_alphanumeric() || c == '-'
}

/// Returns whether a word between these texts names a story.
fn names_story(before: &str, after: &str) -> bool {
    if after.starts_with(['/', '\\', '_'])
        || after
            .strip_prefix('.')
            .is_some_and(|end| end.starts_with(is_of_id))
    {
        return false;
    }
    let is_attempt = after
        .strip_prefix('@')
        .is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()));
    let is_free = before.is_empty() || before.ends_with([' ', '\n', '(', '\'', '"']);
    let is_bracketed = before.ends_with('(') && after.starts_with([',', ')']);
    let leads = [
        "story ",
        "stories ",
        "they failed: ",
        "to be skipped: ",
        "; failed: ",
        "; skipped: ",
    ];
    is_free && is_attempt
        || is_bracketed
        || leads.iter().any(|lead| before.ends_with(lead))
        || is_of_checkpoint(before)
        || is_argument(before)
}

/// Returns whether a text ends in a line about a checkpoint whose story follows.
fn is_of_checkpoint(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    let oid = line
        .strip_prefix("  checkpoint ")
        .and_then(|oid| oid.strip_suffix(": "));
    oid.is_some_and(|oid| oid.chars().all(|c| c.is_ascii_hexdigit()))
}

/// Returns whether the word after a text is the second argument of a command: the story after the change.
fn is_argument(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    let Some((_, command)) = line.rsplit_once("git ralph ") else {
        return false;
    };
    let mut words = command.split(' ').filter(|word| !word.starts_with('-'));
    let verb = words.next().unwrap_or_default();
    let (change, story) = (words.next(), words.next());
    ["skip", "redo", "prompt"].contains(&verb)
        && change.is_some_and(|change| !change.is_empty())
        && story == Some("")
        && words.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stories_are_named_by_short_words_where_a_message_names_them() {
        let list = [
            ("run-tests", "Run tests"),
            ("login", "Login"),
            ("add-a-form", "Add a form"),
        ];
        let names = ShortNames::of_list(list.into_iter());
        for (long, short) in [
            (
                "story run-tests failed, no retries left\n",
                "story 1 failed, no retries left\n",
            ),
            ("  checkpoint 1fd6a3ff78: login\n", "  checkpoint 1fd6a3ff78: 2\n"),
            ("story login is skipped", "story 2 is skipped"),
            ("the work of add-a-form@1 is back", "the work of 3@1 is back"),
            ("complete; skipped: run-tests, login", "complete; skipped: 1, 2"),
            (
                "kept: git ralph diff todo run-tests@3",
                "kept: git ralph diff todo 1@3",
            ),
            (
                "1 skipped (login), 2 put off (run-tests, add-a-form)",
                "1 skipped (2), 2 put off (1, 3)",
            ),
            (
                "skipped, because they failed: login, run-tests",
                "skipped, because they failed: 2, 1",
            ),
            (
                "git ralph skip --undo todo login, or git ralph redo todo run-tests",
                "git ralph skip --undo todo 2, or git ralph redo todo 1",
            ),
        ] {
            assert_eq!(names.shorten(long), short);
        }
        // These do not name stories.
        for text in [
            "gate: npm run-tests",
            "git ralph skip login",
            "see story run-tests.md, stories login/1 and story login-form",
            "refs/ralph/todo/attempts/login@1",
            "the login, run-tests",
            "attempt failed: login does not work",
        ] {
            assert_eq!(names.shorten(text), text);
        }
        assert_eq!(ShortNames::default().shorten("story login"), "story login");
    }
}
