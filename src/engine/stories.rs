//! The stories of a loop: what its list says, what the loop itself remembers as done, and which comes next. Pure but
//! for reading the list.

use std::borrow::Cow;
use std::path::Path;

use crate::names::Change;
use crate::settings::{Mark, Settings, to_std};
use crate::state::{Completed, Listed, State};
use crate::stories::{Commands, Listing, SourceError, Story, Wanted};

/// What stands next in a story list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Upcoming<'a> {
    /// This story can be worked on.
    Story(&'a Story),
    /// These stories are left, but each waits for another: their ids and what they wait for.
    Blocked(Vec<String>),
    /// Nothing is left.
    Nothing,
}

/// The first story in order that is neither complete nor skipped and waits for none that is not
/// complete.
#[must_use]
pub fn upcoming<'a>(listing: &'a Listing, skipped: &[String]) -> Upcoming<'a> {
    let is_open = |story: &&Story| !story.done && !story.optional && !skipped.contains(&story.id);
    let waits_for = |story: &Story| -> Vec<String> {
        let complete = |id: &String| listing.stories.iter().any(|other| other.id == *id && other.done);
        story
            .depends_on
            .iter()
            .filter(|id| !complete(id))
            .cloned()
            .collect()
    };
    let mut blocked = Vec::new();
    for story in listing.stories.iter().filter(is_open) {
        let waits = waits_for(story);
        if waits.is_empty() {
            return Upcoming::Story(story);
        }
        blocked.push(format!("{} waits for {}", story.id, waits.join(" and ")));
    }
    if blocked.is_empty() {
        Upcoming::Nothing
    } else {
        Upcoming::Blocked(blocked)
    }
}

/// How many stories are complete, and how many there are; optional ones count only when complete.
#[must_use]
pub fn progress_of(listing: &Listing) -> (usize, usize) {
    let done = listing.stories.iter().filter(|story| story.done).count();
    let open = listing
        .stories
        .iter()
        .filter(|story| !story.done && !story.optional)
        .count();
    (done, done + open)
}

/// The list in short, once `done` is done too.
pub(super) fn listed(listing: &Listing, skipped: &[String], done: Option<&Story>) -> Listed {
    let mut listing = Cow::Borrowed(listing);
    if let Some(done) = done {
        let stories = &mut listing.to_mut().stories;
        for story in stories.iter_mut().filter(|story| story.id == done.id) {
            story.done = true;
        }
    }
    let (done, total) = progress_of(&listing);
    let next = match upcoming(&listing, skipped) {
        Upcoming::Story(story) => Some(story.id.clone()),
        Upcoming::Blocked(_) | Upcoming::Nothing => None,
    };
    Listed { done, total, next }
}

/// What the settings say about where the stories of a change are.
#[must_use]
pub fn wanted(settings: &Settings, change: &Change) -> Wanted {
    Wanted {
        stories: settings.stories.clone(),
        adapter: settings.adapter.clone(),
        commands: settings.stories_command.clone().map(|stories| Commands {
            change: change.to_string(),
            stories,
            done: settings.done_command.clone(),
            closed: settings.closed_command.clone(),
            limit: to_std(settings.command_timeout).as_secs().max(1),
            env: Vec::new(),
        }),
    }
}

/// The stories of a loop. Where nothing marks them in their source, those with a checkpoint are done.
///
/// # Errors
/// When the source cannot be read.
pub async fn listing_of(state: &State, top: &Path) -> Result<Listing, SourceError> {
    Ok(remembering(state, state.source.list(top).await?))
}

/// The listing with what the loop itself remembers as done.
pub(super) fn remembering(state: &State, mut listing: Listing) -> Listing {
    let is_remembered = state.settings.mark == Mark::Never || !state.source.takes_marks();
    let remembered = if is_remembered {
        &state.progress.completed
    } else {
        // What waits for a story that is passed over only because nothing marks it need not wait.
        &state.unmarked
    };
    for story in &mut listing.stories {
        let is_it = |done: &Completed| done.id == story.id && done.title == story.title;
        story.done |=
            (is_remembered || state.progress.skipped.contains(&story.id)) && remembered.iter().any(is_it);
    }
    listing
}
