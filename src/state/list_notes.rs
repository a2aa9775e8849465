//! The changes to its story list that a loop has seen.

use serde::{Deserialize, Serialize};

use super::Progress;

/// The number of stories that attempts may add to any list.
const ALWAYS: usize = 10;

/// A loop's notes on its list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListNotes {
    /// The number of stories when attempts began, or when the user last let attempts continue.
    #[serde(default)]
    pub length: usize,
    /// The ids of the stories that attempts have added since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
    /// The ids of stories that were open, and are done or removed without an attempt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_list: Vec<String>,
}

impl ListNotes {
    /// Returns the notes of a loop whose list has `length` stories at the start.
    pub fn of_length(length: usize) -> Self {
        Self {
            length,
            ..Self::default()
        }
    }

    /// Returns whether attempts have added more stories than allowed without the user.
    pub fn has_grown_too_far(&self) -> bool {
        self.added.len() > self.length.max(ALWAYS)
    }

    /// Notes stories that are done or removed without an attempt.
    pub fn note_by_list(&mut self, ids: impl IntoIterator<Item = String>) {
        for id in ids {
            if !self.by_list.contains(&id) {
                self.by_list.push(id);
            }
        }
    }

    /// Returns the noted stories that have no checkpoint.
    pub fn by_list_alone(&self, progress: &Progress) -> Vec<String> {
        let has_checkpoint = |id: &&String| progress.completed.iter().any(|done| done.id == **id);
        let ids = self.by_list.iter().filter(|id| !has_checkpoint(id));
        ids.cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_may_grow_by_its_own_length_or_by_ten() {
        let grown = |length, added: usize| {
            let added = (0..added).map(|id| id.to_string()).collect();
            let notes = ListNotes {
                length,
                added,
                by_list: Vec::new(),
            };
            notes.has_grown_too_far()
        };
        assert!(!grown(3, 10) && grown(3, 11));
        assert!(!grown(40, 40) && grown(40, 41));
    }
}
