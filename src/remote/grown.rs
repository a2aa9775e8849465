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

/// Returns whether the list of the work tree has grown since the loop on the remote was finished.
pub(super) async fn has_list_grown(
    context: &Context<'_>,
    server: &Server,
    there: &There,
) -> Result<bool, Error> {
    let settings = &context.configuration.settings;
    match List::read(context, settings, &there.record.change).await {
        Some(list) => has_grown_since(server, (list.done, list.total), &list.complete, there).await,
        None => Ok(false),
    }
}

/// Returns whether a list with `done` of `total` stories, of which these are `complete`, has grown since the loop on the remote
/// was finished. Every story that was completed there has to be among them. The state is fetched if the numbers say so.
pub(super) async fn has_grown_since(
    server: &Server,
    numbers: (usize, usize),
    complete: &[String],
    there: &There,
) -> Result<bool, Error> {
    let is_more = finished(&there.record).is_some_and(|before| has_grown(numbers, before));
    if !is_more {
        return Ok(false);
    }
    let wanted = BTreeMap::from([(there.record.change.clone(), there.oid.clone())]);
    server.fetch(&wanted).await?;
    Ok(has_all(complete, &server.portable(there).await?.state))
}

/// Returns whether all stories that a loop completed are among those that are `complete`.
pub(super) fn has_all(complete: &[String], state: &State) -> bool {
    let completed = &state.progress().completed;
    completed.iter().all(|story| complete.contains(&story.id))
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
