//! Completed stories that their source still lists as open: no agent works on them a second time.
//!
//! Before each step git-ralph marks these stories in their source again, and refuses the step until the source shows
//! them as done. A story shown as done is forgotten: if the user opens it later, that is intended.

use super::{Loop, marks, numbers, stories};
use crate::engine::step_place::require_on_branch;
use crate::engine::story_refusal::StoryRefusal;
use crate::error::{Error, refuse};
use crate::fs::FileError;
use crate::settings::{Mark, Settings};
use crate::state::{Completed, State};
use crate::stories::{Listing, Story};

/// Finds the story of this list that belongs to this checkpoint. Ids of trackers stay the same when titles change.
fn find<'l>(state: &State, listing: &'l Listing, done: &Completed) -> Option<&'l Story> {
    let by_id = state.source().is_by_command();
    let mut stories = listing.stories.iter();
    stories.find(|story| story.id == done.id && (by_id || story.title == done.title))
}

/// Returns whether the list shows the story as open.
fn is_open(state: &State, listing: &Listing, done: &Completed) -> bool {
    find(state, listing, done).is_some_and(|story| !story.done && !story.optional)
}

/// Records whether the list shows a story as done that just got its checkpoint; the caller saves the state.
pub(super) fn note_mark(state: &mut State, listing: &Listing, done: Completed) {
    let is_open = is_open(state, listing, &done);
    state.common.unmarked.retain(|other| other.id != done.id);
    if is_open {
        state.common.unmarked.push(done);
    }
}

/// Refuses to continue while the list shows a completed story as open.
pub fn refuse_unmarked(state: &State, listing: &Listing) -> Result<(), Error> {
    let mut unmarked = state.common.unmarked.iter();
    match unmarked.find(|done| !is_skipped(state, done) && is_open(state, listing, done)) {
        None => Ok(()),
        Some(done) => refuse(StoryRefusal::StillOpen {
            change: state.change.to_string(),
            story: done.id.clone(),
            source_file: state.source().path.clone(),
            by_command: state.source().is_by_command() && state.common.settings.mark == Mark::Auto,
        }),
    }
}

/// Reads the list, and marks every completed story as done in its source, before other work; returns the resulting
/// list.
pub(super) async fn require_marks(open: &mut Loop<'_>, settings: &Settings) -> Result<Listing, Error> {
    let mut listing = stories::read_list(open).await?;
    let before = open.state.common.unmarked.clone();
    forget_marked(&mut open.state, &listing);
    if settings.mark == Mark::Auto && refuse_unmarked(&open.state, &listing).is_err() {
        // A command may change files, which must belong to the loop's branch.
        require_on_branch(open).await?;
        let listed = tell_again(open, &listing).await?;
        open.view.drop_all();
        listing = stories::read_list(open).await?;
        forget_marked(&mut open.state, &listing);
        for done in listed {
            if !open.state.common.unmarked.contains(&done) {
                open.tell(format!("the story {} is now marked as done", done.id));
            }
        }
    }
    if open.state.common.unmarked != before {
        open.save()?;
    }
    refuse_unmarked(&open.state, &listing)?;
    Ok(listing)
}

/// Forgets stories that are listed as done, or no longer listed: they need no mark.
fn forget_marked(state: &mut State, listing: &Listing) {
    let mut unmarked = std::mem::take(&mut state.common.unmarked);
    unmarked.retain(|done| is_open(state, listing, done) || is_skipped(state, done));
    state.common.unmarked = unmarked;
}

fn is_skipped(state: &State, done: &Completed) -> bool {
    state.progress().skipped.contains(&done.id)
}

/// Marks the open ones once more; returns the stories that it tried to mark. The list shows whether that helped.
async fn tell_again(open: &Loop<'_>, listing: &Listing) -> Result<Vec<Completed>, FileError> {
    let unmarked = open.state.common.unmarked.clone().into_iter();
    let listed: Vec<Completed> = unmarked.filter(|done| !is_skipped(&open.state, done)).collect();
    for done in &listed {
        let Some(story) = find(&open.state, listing, done) else {
            continue;
        };
        let attempt = numbers::next_number(open, &story.id)?.saturating_sub(1);
        if let Err(reason) = marks::mark_in_source(open, story, listing, attempt).await {
            open.tell(reason);
        }
    }
    Ok(listed)
}
