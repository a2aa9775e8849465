//! Tells what the complete stories of a loop rest on.

use crate::events::log::LogEntry;
use crate::state::{State, Verdict};
use crate::stories::Listing;

/// The bases on which the complete stories of a loop rest.
#[derive(Default)]
pub(super) struct Bases {
    /// The number of those that rest on an agent's promise alone.
    pub promise_alone: usize,
    /// The number of those that were accepted without a promise, by gates or a reviewer.
    pub without_promise: usize,
    /// The ids of those for which no file changed, and that the agent alone says are done.
    pub by_word: Vec<String>,
}

/// Returns what the complete stories rest on; returns `None` if that is not known of all of them. The state says which
/// are complete, because an attempt whose checkpoint was cut off is done again, but those that are `open` in the list again;
/// the attempts say what each rests on, and some may be missing (a full disk, an earlier version).
pub(super) fn bases(state: &State, open: &[String], attempts: &[LogEntry]) -> Option<Bases> {
    let mut bases = Bases::default();
    let completed = &state.progress().completed;
    for (at, story) in completed.iter().enumerate() {
        let is_again = completed[..at].iter().any(|earlier| earlier.id == story.id);
        if is_again || open.contains(&story.id) {
            continue;
        }
        let is_of_story =
            |entry: &&LogEntry| entry.attempt.story == story.id && entry.attempt.verdict == Verdict::Complete;
        let attempt = &attempts.iter().rfind(is_of_story)?.attempt;
        if attempt.rests_on.is_empty() {
            return None;
        }
        bases.promise_alone += usize::from(attempt.is_by_promise_alone());
        bases.without_promise += usize::from(attempt.is_unpromised());
        if attempt.is_by_word() {
            bases.by_word.push(story.id.clone());
        }
    }
    Some(bases)
}

/// Returns the ids of the open stories of a list.
pub(super) fn open_ids(listing: &Listing) -> Vec<String> {
    let open = listing.stories.iter().filter(|story| !story.done);
    open.map(|story| story.id.clone()).collect()
}
