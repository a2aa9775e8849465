//! Finds stories again in another version of their list.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

use super::Story;

/// The indexes of stories by a key; `None` if several have the same key.
type Indexes<K> = HashMap<K, Option<usize>>;

/// A list in which stories of another version of it are found, in one pass for any number of them.
pub struct Finder<'a> {
    stories: &'a [Story],
    by_both: Indexes<(&'a str, &'a str)>,
    by_id: Indexes<&'a str>,
    by_title: Indexes<&'a str>,
    by_tasks: OnceCell<Indexes<Vec<&'a str>>>,
}

impl<'a> Finder<'a> {
    /// Returns the finder of a list.
    pub fn new(stories: &'a [Story]) -> Self {
        Self {
            stories,
            by_both: indexes(stories, |story| Some((&*story.id, &*story.title))),
            by_id: indexes(stories, |story| Some(&*story.id)),
            by_title: indexes(stories, |story| Some(&*story.title)),
            by_tasks: OnceCell::new(),
        }
    }

    /// Finds a story.
    pub fn find(&self, story: &Story) -> Option<&'a Story> {
        self.stories.get(self.index(story)?)
    }

    /// Finds the index of a story, by the first rule that matches exactly one: id and title, id, title, the texts of
    /// its tasks. The texts precede the id if the story that now has the id shares none of them.
    pub fn index(&self, story: &Story) -> Option<usize> {
        only(&self.by_both, &(&story.id, &story.title))
            .or_else(|| self.moved(story))
            .or_else(|| only(&self.by_id, &&*story.id))
            .or_else(|| only(&self.by_title, &&*story.title))
            .or_else(|| self.by_tasks(story))
    }

    /// Finds a story whose number may have been taken by a story inserted before it.
    fn moved(&self, story: &Story) -> Option<usize> {
        let numbered = self.stories.get(only(&self.by_id, &&*story.id)?)?;
        let shared = texts(numbered).any(|text| texts(story).any(|own| own == text));
        self.by_tasks(story).filter(|_| !shared)
    }

    fn by_tasks(&self, story: &Story) -> Option<usize> {
        let of = |story: &'a Story| (!story.tasks.is_empty()).then(|| texts(story).collect());
        let found = self.by_tasks.get_or_init(|| indexes(self.stories, of));
        only(found, &texts(story).collect())
    }
}

fn texts(story: &Story) -> impl Iterator<Item = &str> {
    story.tasks.iter().map(|task| task.text.as_str())
}

/// Returns the indexes of the stories by the key of each, if it has one.
fn indexes<'a, K: Eq + Hash>(stories: &'a [Story], key: impl Fn(&'a Story) -> Option<K>) -> Indexes<K> {
    let mut indexes = Indexes::with_capacity(stories.len());
    for (index, key) in stories.iter().map(key).enumerate() {
        match key.map(|key| indexes.entry(key)) {
            Some(Entry::Vacant(free)) => {
                free.insert(Some(index));
            }
            Some(Entry::Occupied(mut taken)) => {
                taken.insert(None);
            }
            None => {}
        }
    }
    indexes
}

fn only<K: Eq + Hash>(indexes: &Indexes<K>, key: &K) -> Option<usize> {
    indexes.get(key).copied().flatten()
}
