//! Tells which stories are done by the list alone, and after which attempts something of the list was put back.

use serde::Serialize;

use crate::events::log::LogEntry;
use crate::state::State;

/// Notes on the story list of a loop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ListNotes {
    /// The ids of stories that were open, and are done or gone although no attempt was made at them.
    pub by_list: Vec<String>,
    /// The attempts after which something of the list was put back, as story@number.
    pub list_put_back: Vec<String>,
}

impl ListNotes {
    /// Returns what the state tells.
    pub fn of(state: &State) -> Self {
        Self {
            by_list: state.common.list.by_list_alone(state.progress()),
            list_put_back: Vec::new(),
        }
    }

    /// Adds what these attempts tell.
    pub fn add_attempts(&mut self, entries: &[LogEntry]) {
        let entries = entries.iter().filter(|entry| entry.list_put_back.is_some());
        let names = entries.map(|entry| format!("{}@{}", entry.attempt.story, entry.attempt.attempt));
        self.list_put_back = names.collect();
    }

    /// Returns the words about what was put back, if there is any.
    pub fn put_back_in_words(&self) -> Option<String> {
        let names = self.list_put_back.join(", ");
        (!names.is_empty()).then(|| format!("something of the story list was put back after: {names}"))
    }
}
