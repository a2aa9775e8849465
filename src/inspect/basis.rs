//! Tells what the complete stories of a loop rest on.

use crate::events::log::LogEntry;
use crate::state::{State, Verdict};
use crate::stories::Listing;

/// Counts the complete stories that rest on an agent's promise alone, and those that were accepted without a promise, by
/// gates or a reviewer; returns `None` if that is not known of all of them. The state says which are complete, because an
/// attempt whose checkpoint was cut off is done again, but those that are `open` in the list again; the attempts say what each
/// rests on, and some may be missing (a full disk, an earlier version).
pub(super) fn bases(state: &State, open: &[String], attempts: &[LogEntry]) -> Option<(usize, usize)> {
    let (mut promise_alone, mut without_promise) = (0, 0);
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
        promise_alone += usize::from(attempt.is_by_promise_alone());
        without_promise += usize::from(attempt.is_unpromised());
    }
    Some((promise_alone, without_promise))
}

/// Returns the ids of the open stories of a list.
pub(super) fn open_ids(listing: &Listing) -> Vec<String> {
    let open = listing.stories.iter().filter(|story| !story.done);
    open.map(|story| story.id.clone()).collect()
}
