//! The stories of a change: their sources, and how to mark one as done.
//!
//! The types that every adapter uses: a [`Source`] gives a [`Listing`] of [`Story`]s, each with its
//! [`Task`]s.
//!
//! Invariants:
//! - the ids of one [`Listing`] are unique, and no id is made from a line number;
//! - [`Source::mark_done`] changes only the marks of one story, or nothing at all.
//!
//! This module does not know agents, settings or how anything is printed.

mod candidates;
mod command;
mod contains;
mod dated;
mod encoding;
mod error;
pub(crate) mod file;
mod finder;
mod ids;
mod json_view;
mod layout;
mod lint;
pub mod markdown;
pub mod openspec;
mod prd;
mod records;
mod source;
mod whole;
mod yaml;

use serde::{Deserialize, Serialize, Serializer};

use crate::names::ShortNames;

pub use self::candidates::checklist;
pub use self::command::{Commands, News};
pub use self::contains::Additions;
pub use self::error::{Reader, SourceError};
pub use self::finder::Finder;
pub use self::layout::{Wanted, changes, from_directory, none_found, passed_over, resolve, resolve_typed};
pub use self::lint::not_listed;
pub use self::source::{Marked, Source};

/// One unit of work of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Story {
    /// One line, unique in its listing.
    pub id: String,
    /// The heading or the text of the box, on one line.
    pub title: String,
    /// The source text below the title, verbatim.
    #[serde(skip)]
    pub body: String,
    /// True if every box that is not optional is ticked.
    pub done: bool,
    /// True if every box is optional.
    pub optional: bool,
    /// The ids of the stories that must be done first; `None` if the list does not say for this story.
    #[serde(serialize_with = "as_list")]
    pub depends_on: Option<Vec<String>>,
    /// The 1-based line of the heading or of the box.
    pub line: usize,
    /// The boxes of the story, in the order of the file.
    pub tasks: Vec<Task>,
}

#[expect(clippy::ref_option, reason = "serde gives a reference")]
fn as_list<S: Serializer>(ids: &Option<Vec<String>>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(ids.iter().flatten())
}

/// One box of a story.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Task {
    /// One line, unique in its story.
    pub id: String,
    /// The work to do, on one line, without the box.
    pub text: String,
    /// True if the box is ticked.
    pub done: bool,
    /// True if the story is complete without it.
    pub optional: bool,
    /// The 1-based line of the box.
    pub line: usize,
}

/// A probable mistake of the author in a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// The 1-based line of the mistake.
    pub line: usize,
    /// A lower-case fragment.
    pub message: String,
}

/// The stories of a source, in the order of their execution: the order of the file, except for stories with priorities.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Listing {
    /// The stories; none when the source has no boxes.
    pub stories: Vec<Story>,
    /// The text of the source above its first story; empty if there is only a title.
    #[serde(skip)]
    pub preamble: String,
    /// True if the source has text that is neither in a story nor above the first one.
    #[serde(skip)]
    pub has_more_text: bool,
    /// The ids of completed stories that are no longer listed: they count, and satisfy dependencies.
    #[serde(skip)]
    pub gone: Vec<String>,
    /// The warnings, ordered by line; the least important one is last.
    pub warnings: Vec<Warning>,
}

impl Listing {
    /// Returns the story with this id.
    pub fn find(&self, id: &str) -> Option<&Story> {
        self.stories.iter().find(|story| story.id == id)
    }

    /// Returns the stories that a word names: by its id, by its position, or by the beginning of its id or title.
    pub fn named(&self, word: &str) -> Vec<&Story> {
        let position = word.parse::<usize>().ok().and_then(|at| at.checked_sub(1));
        let at_position = || position.and_then(|at| self.stories.get(at));
        if let Some(story) = self.find(word).or_else(at_position) {
            return vec![story];
        }
        let wanted = word.to_lowercase();
        let begins = |text: &str| text.to_lowercase().starts_with(&wanted);
        let mut found = self.stories.iter().collect::<Vec<_>>();
        found.retain(|story| begins(&story.id) || begins(&story.title));
        found
    }

    /// Returns the shortest names of stories on a command line.
    pub fn short_names(&self) -> ShortNames {
        let stories = self.stories.iter();
        ShortNames::of_list(stories.map(|story| (story.id.as_str(), story.title.as_str())))
    }

    /// Returns the stories that are neither done nor optional.
    pub fn open(&self) -> impl Iterator<Item = &Story> {
        self.stories.iter().filter(|story| !story.done && !story.optional)
    }
}

/// An adapter, which lists the stories of a change.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::EnumString, strum::IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Adapter {
    /// `openspec/changes/<change>/tasks.md`.
    Openspec,
    /// Any markdown checklist.
    Markdown,
    /// `prd.json`.
    Prd,
    /// The user's own commands.
    Command,
}

impl Adapter {
    /// Every adapter.
    pub const ALL: [Self; 4] = [Self::Openspec, Self::Markdown, Self::Prd, Self::Command];

    /// Returns the name that a user writes and a script reads.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Describes the source of the stories, in a few words.
    pub const fn means(self) -> &'static str {
        match self {
            Self::Openspec => "tasks.md of an openspec change",
            Self::Markdown => "a markdown checklist",
            Self::Prd => "a prd.json",
            Self::Command => "the command in ralph.storiesCommand",
        }
    }

    /// Returns the adapter that a setting names.
    pub fn named(name: &str) -> Result<Self, SourceError> {
        name.parse().map_err(|_| SourceError::UnknownAdapter {
            name: name.to_owned(),
            change: None,
            verb: Reader::Start,
        })
    }
}

/// The rule by which boxes are grouped into stories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grouping {
    /// By the sections of the file if it has them, else by item.
    #[default]
    Auto,
    /// Each outermost box is a story.
    Item,
    /// Each section is a story, even when the only heading is the title.
    Group,
    /// The whole text is one story, whatever is in it.
    Whole,
}

impl Grouping {
    /// Splits `<path>[#item|#group|#whole]`; any other `#` belongs to the path.
    fn split(spec: &str) -> (&str, Self) {
        let all = [Self::Item, Self::Group, Self::Whole].into_iter();
        let mut found = all.filter_map(|grouping| Some((spec.strip_suffix(grouping.suffix())?, grouping)));
        found.next().unwrap_or((spec, Self::Auto))
    }

    /// Returns the suffix of a path that chooses it.
    fn suffix(self) -> &'static str {
        match self {
            Self::Auto => "",
            Self::Item => "#item",
            Self::Group => "#group",
            Self::Whole => "#whole",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_serialized_ones() {
        for adapter in Adapter::ALL {
            let json = serde_json::to_string(&adapter).unwrap();
            assert_eq!(json, format!("\"{}\"", adapter.name()));
            assert_eq!(Adapter::named(adapter.name()).unwrap(), adapter);
        }
        assert_eq!(
            Adapter::named("jira").unwrap_err().to_string(),
            "unknown adapter 'jira': the adapters are openspec, markdown, prd, command"
        );
    }

    #[test]
    fn only_a_known_suffix_is_a_grouping() {
        assert_eq!(Grouping::split("a.md#item"), ("a.md", Grouping::Item));
        assert_eq!(Grouping::split("a.md#group"), ("a.md", Grouping::Group));
        assert_eq!(Grouping::split("a.md#whole"), ("a.md", Grouping::Whole));
        assert_eq!(Grouping::split("a#1.md"), ("a#1.md", Grouping::Auto));
        assert_eq!(Grouping::split("a.md#items"), ("a.md#items", Grouping::Auto));
    }

    #[test]
    fn a_story_is_serialized_without_its_body() {
        let story = Story {
            id: "1".to_owned(),
            title: "1. Read".to_owned(),
            body: "- [x] open\n".to_owned(),
            done: true,
            optional: false,
            depends_on: None,
            line: 3,
            tasks: vec![Task {
                id: "open".to_owned(),
                text: "open".to_owned(),
                done: true,
                optional: false,
                line: 4,
            }],
        };
        assert_eq!(
            serde_json::to_string(&story).unwrap(),
            r#"{"id":"1","title":"1. Read","done":true,"optional":false,"depends_on":[],"line":3,"tasks":[{"id":"open","text":"open","done":true,"optional":false,"line":4}]}"#
        );
    }
}
