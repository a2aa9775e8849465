//! Tells what the complete stories of a loop rest on.

use std::path::Path;

use crate::events::Basis;
use crate::events::log::{LogEntry, attempts};
use crate::state::{State, Verdict};

/// Complete stories, by what they rest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bases {
    /// The number of those that rest on an agent's promise alone.
    pub promise_alone: usize,
    /// The number of those that were accepted without a promise, by gates or a reviewer.
    pub without_promise: usize,
}

/// Counts the complete stories by what they rest on; returns `None` if that is not known of all of them. The state says which are complete, because an attempt whose checkpoint was cut off is done again; the events
/// say what each rests on, and some may be missing (a full disk, an earlier version).
pub(super) fn bases(state: &State, events: &Path) -> Option<Bases> {
    let attempts = attempts(events).ok()?;
    let mut bases = Bases {
        promise_alone: 0,
        without_promise: 0,
    };
    for story in &state.progress().completed {
        let is_of_story =
            |entry: &&LogEntry| entry.attempt.story == story.id && entry.attempt.verdict == Verdict::Complete;
        let attempt = &attempts.iter().rfind(is_of_story)?.attempt;
        match attempt.rests_on.as_slice() {
            [] => return None,
            [Basis::Promise] => bases.promise_alone += 1,
            _ => bases.without_promise += usize::from(attempt.is_unpromised()),
        }
    }
    Some(bases)
}
