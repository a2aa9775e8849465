//! Decides whether the list of a change has grown since its loop was finished: open stories are then work for a new
//! loop. Only a list with all completed stories of the finished loop counts: any other would repeat them.

use std::collections::BTreeMap;

use super::base::Base;
use super::record::Record;
use super::server::{Server, There};
use crate::engine::Context;
use crate::engine::story_source::wanted;
use crate::error::Error;
use crate::events::log::attempts;
use crate::names::Change;
use crate::settings::Settings;
use crate::state::{Phase, State, Store};
use crate::stories::{self, Listing, Source};

/// The story list of a change in this work tree.
pub(super) struct List {
    pub source: Source,
    pub ids: Ids,
}

/// The ids of the stories in a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ids {
    pub(super) complete: Vec<String>,
    pub(super) open: Vec<String>,
}

impl List {
    /// Reads the list; `None` if it cannot be read.
    pub async fn read(context: &Context<'_>, settings: &Settings, change: &Change) -> Option<Self> {
        let wanted = wanted(settings, change, &context.below_top);
        let source = stories::resolve(&context.repo.top, change.as_str(), &wanted).ok()?;
        let listing = source.list(&context.repo.top).await.ok()?;
        let ids = Ids::of(listing);
        Some(Self { source, ids })
    }
}

impl Ids {
    fn of(listing: Listing) -> Self {
        let mut ids = Self::default();
        for story in listing.stories {
            let of = if story.done {
                &mut ids.complete
            } else {
                &mut ids.open
            };
            of.push(story.id);
        }
        ids
    }

    /// Returns the numbers of complete and of all stories.
    pub fn numbers(&self) -> (usize, usize) {
        let done = self.complete.len();
        (done, done + self.open.len())
    }

    /// Returns whether the list has grown since a loop was finished with these numbers: it has all completed stories of
    /// the loop, and more open ones than the loop left, not counting skipped ones.
    pub fn have_grown(&self, before: (usize, usize), state: &State) -> bool {
        let progress = state.progress();
        let has_all = progress
            .completed
            .iter()
            .all(|story| self.complete.contains(&story.id));
        let is_left = |id: &&String| !progress.skipped.contains(id);
        let left = before.1.saturating_sub(before.0 + progress.skipped.len());
        has_grown(self.numbers(), before) && has_all && self.open.iter().filter(is_left).count() > left
    }
}

/// Returns whether a list with `done` of `total` stories can have all stories of a finished one, and more open ones.
pub(super) fn has_grown((done, total): (usize, usize), before: (usize, usize)) -> bool {
    done >= before.0 && total > before.1 && done < total
}

/// Returns the numbers of a finished loop on a remote whose work was not refused.
pub(super) fn finished(record: &Record) -> Option<(usize, usize)> {
    let is_finished = record.phase == Phase::Finished && record.blocked.is_none();
    is_finished.then_some((record.done, record.total))
}

/// Returns whether a local loop began with a list that has grown since the remote loop was finished. For a list printed
/// by a command, only the numbers are known.
pub(super) async fn began_later(server: &Server, here: &State, there: &There) -> Result<bool, Error> {
    let at_first = here.listed().map(|listed| {
        let completed = here.progress().completed.len();
        (listed.done.saturating_sub(completed), listed.total)
    });
    let numbers = at_first.zip(finished(&there.record));
    if !numbers.is_some_and(|(here, there)| has_grown(here, there)) {
        return Ok(false);
    }
    let source = here.source();
    if source.is_by_command() {
        return Ok(true);
    }
    let list = server.repo.git.file_of(here.initial(), &source.path).await?;
    match list.and_then(|list| source.list_in(&list).ok()) {
        Some(listing) => has_grown_since(server, &Ids::of(listing), there).await,
        None => Ok(false),
    }
}

/// Returns whether the local loop, rebuilt from its branch and refs (`git ralph start --resume`), continues the one on
/// the remote: both have the same first commit, and its last checkpoint descends from the one there. Two loops that begin
/// in the same second can have the same first commit: common work, or a log without any, shows that it is one loop.
pub(super) async fn continues(
    server: &Server,
    base: &Base,
    here: &State,
    there: &There,
) -> Result<bool, Error> {
    let record = &there.record;
    if !base.is_new() || record.phase == Phase::Finished {
        return Ok(false);
    }
    let same = server.portable(there).await?.state;
    let git = &server.repo.git;
    let descends = git
        .is_ancestor(&record.checkpoint, here.checkpoint())
        .await
        .is_ok_and(|is| is);
    if same.initial() != here.initial() || here.checkpoint() == here.initial() || !descends {
        return Ok(false);
    }
    let log = Store::new(&server.repo.common_dir, &record.change).file("events.jsonl");
    Ok(record.checkpoint != *same.initial() || attempts(&log)?.is_empty())
}

/// Returns whether the list of the work tree has grown since the loop on the remote was finished.
pub(super) async fn has_list_grown(
    context: &Context<'_>,
    server: &Server,
    there: &There,
) -> Result<bool, Error> {
    let settings = &context.configuration.settings;
    match List::read(context, settings, &there.record.change).await {
        Some(list) => has_grown_since(server, &list.ids, there).await,
        None => Ok(false),
    }
}

/// Returns whether a list with these stories has grown since the remote loop was finished. Fetches the state if the
/// numbers allow it.
pub(super) async fn has_grown_since(server: &Server, ids: &Ids, there: &There) -> Result<bool, Error> {
    let before = finished(&there.record).filter(|before| has_grown(ids.numbers(), *before));
    let Some(before) = before else {
        return Ok(false);
    };
    let wanted = BTreeMap::from([(there.record.change.clone(), there.oid.clone())]);
    server.fetch(&wanted).await?;
    Ok(ids.have_grown(before, &server.portable(there).await?.state))
}

#[cfg(test)]
mod tests {
    use super::has_grown;

    #[test]
    fn only_a_list_with_the_finished_work_has_grown() {
        for (here, before, wanted) in [
            ((2, 3), (2, 2), true),
            ((2, 2), (2, 2), false),
            // The work is missing here: it would be repeated.
            ((0, 3), (2, 2), false),
            // A skipped story stays skipped.
            ((1, 2), (1, 2), false),
            ((1, 3), (1, 2), true),
            // The skipped one was done by hand, and another is new.
            ((2, 3), (1, 2), true),
        ] {
            assert_eq!(has_grown(here, before), wanted, "{here:?} {before:?}");
        }
    }
}
