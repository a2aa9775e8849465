//! What the complete stories of a loop rest on.

use std::path::Path;

use crate::events::Basis;
use crate::events::log::attempts;
use crate::state::{Completed, State, Verdict};

/// Returns the number of complete stories that rest on an agent's promise alone. The state says which are complete, and
/// the events what each rests on: an attempt whose checkpoint was cut off is done again.
pub(super) fn by_promise_alone(state: &State, events: &Path) -> Option<usize> {
    let attempts = attempts(events).ok()?;
    let rests_on_promise = |story: &&Completed| {
        let complete = attempts
            .iter()
            .rfind(|entry| entry.attempt.story == story.id && entry.attempt.verdict == Verdict::Complete);
        complete.is_some_and(|entry| entry.attempt.rests_on == [Basis::Promise])
    };
    Some(state.progress.completed.iter().filter(rests_on_promise).count())
}
