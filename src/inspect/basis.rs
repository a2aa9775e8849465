//! Tells what the complete stories of a loop rest on.

use std::path::Path;

use crate::events::Basis;
use crate::events::log::{LogEntry, attempts};
use crate::state::{State, Verdict};

/// Returns the number of complete stories that rest on an agent's promise alone; `None` if that is not known of all of
/// them. The state says which are complete, because an attempt whose checkpoint was cut off is done again; the events
/// say what each rests on, and some may be missing (a full disk, an earlier version).
pub(super) fn by_promise_alone(state: &State, events: &Path) -> Option<usize> {
    let attempts = attempts(events).ok()?;
    let mut alone = 0;
    for story in &state.progress.completed {
        let is_of_story =
            |entry: &&LogEntry| entry.attempt.story == story.id && entry.attempt.verdict == Verdict::Complete;
        match attempts.iter().rfind(is_of_story)?.attempt.rests_on.as_slice() {
            [] => return None,
            [Basis::Promise] => alone += 1,
            _ => {}
        }
    }
    Some(alone)
}
