//! Tells whether the list of a change has grown since its loop was finished: what is open then is work for a new loop. Only a
//! list that has what the finished loop completed counts: any other one would have it done again.

use std::collections::BTreeMap;

use super::record::Record;
use super::server::{Server, There};
use crate::engine::Context;
use crate::engine::story_source::wanted;
use crate::error::Error;
use crate::names::Change;
use crate::settings::Settings;
use crate::state::{Phase, State};
use crate::stories::{self, Source};

/// The list of a change in this work tree.
pub(super) struct List {
    pub source: Source,
    /// Complete stories.
    pub done: usize,
    /// All stories.
    pub total: usize,
    /// The ids of those that are complete.
    pub complete: Vec<String>,
}

impl List {
    /// Reads it; `None` if it cannot be read.
    pub async fn read(context: &Context<'_>, settings: &Settings, change: &Change) -> Option<Self> {
        let wanted = wanted(settings, change, &context.below_top);
        let source = stories::resolve(&context.repo.top, change.as_str(), &wanted).ok()?;
        let listing = source.list(&context.repo.top).await.ok()?;
        let total = listing.stories.len();
        let complete = listing.stories.into_iter().filter(|story| story.done);
        let complete: Vec<String> = complete.map(|story| story.id).collect();
        Some(Self {
            source,
            done: complete.len(),
            total,
            complete,
        })
    }
}

/// Returns whether a list with `done` of `total` stories has all that a finished one had, and more that is open.
pub(super) fn has_grown((done, total): (usize, usize), before: (usize, usize)) -> bool {
    let open = |(done, total): (usize, usize)| total.saturating_sub(done);
    done >= before.0 && open((done, total)) > open(before)
}

/// Returns the numbers of a finished loop on a remote, with whose work nothing is wrong.
pub(super) fn finished(record: &Record) -> Option<(usize, usize)> {
    let is_finished = record.phase == Phase::Finished && record.blocked.is_none();
    is_finished.then_some((record.done, record.total))
}

/// Returns whether a loop here began with a list that has grown since the one on the remote was finished.
pub(super) fn began_later(here: &State, there: &Record) -> bool {
    let at_first = here.listed().map(|listed| {
        let completed = here.progress().completed.len();
        (listed.done.saturating_sub(completed), listed.total)
    });
    let numbers = at_first.zip(finished(there));
    numbers.is_some_and(|(here, there)| has_grown(here, there))
}

/// Returns whether the list of the work tree has grown since the loop on the remote was finished. Every story that was
/// completed there has to be in it, and complete. The state is fetched if the numbers say so.
pub(super) async fn has_list_grown(
    context: &Context<'_>,
    server: &Server,
    there: &There,
) -> Result<bool, Error> {
    let (Some(before), change) = (finished(&there.record), &there.record.change) else {
        return Ok(false);
    };
    let Some(list) = List::read(context, &context.configuration.settings, change).await else {
        return Ok(false);
    };
    if !has_grown((list.done, list.total), before) {
        return Ok(false);
    }
    server
        .fetch(&BTreeMap::from([(change.clone(), there.oid.clone())]))
        .await?;
    let completed = server.portable(there).await?.state.progress().completed.clone();
    let is_done = |id: &str| list.complete.iter().any(|complete| complete == id);
    Ok(completed.iter().all(|story| is_done(&story.id)))
}

#[cfg(test)]
mod tests {
    use super::has_grown;

    #[test]
    fn only_a_list_with_the_finished_work_has_grown() {
        for (here, before, wanted) in [
            ((2, 3), (2, 2), true),
            ((2, 2), (2, 2), false),
            // The work is not here: it would be done again.
            ((0, 3), (2, 2), false),
            // A story that was skipped stays so.
            ((1, 2), (1, 2), false),
            ((1, 3), (1, 2), true),
        ] {
            assert_eq!(has_grown(here, before), wanted, "{here:?} {before:?}");
        }
    }
}
