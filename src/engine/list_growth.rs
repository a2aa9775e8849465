//! Notes changes to the list besides attempts at its stories, and stops a list that attempts make longer and longer.

use std::collections::HashSet;
use std::path::Path;

use crate::engine::story_refusal::StoryRefusal;
use crate::state::{ListNotes, State};
use crate::stories::{Finder, Listing, Story};

/// Notes the stories that were done or removed in the list since this process last read it, between two attempts.
pub(crate) fn note_between(state: &mut State, open_stories: &mut Option<Vec<String>>, now: &Listing) {
    let open_now: Vec<String> = now.open().map(|story| story.id.clone()).collect();
    let mut before = open_stories.replace(open_now.clone()).unwrap_or_default();
    let completed = state.progress().completed.iter().map(|done| &done.id);
    let known: HashSet<&String> = open_now.iter().chain(completed).collect();
    before.retain(|id| !known.contains(id));
    state.common.list.note_by_list(before);
}

/// Returns whether the list of a finished loop in this work tree has an open story that the loop had not completed.
pub(crate) fn has_new_story(state: &State, top: &Path) -> bool {
    let completed: HashSet<&str> = state
        .progress()
        .completed
        .iter()
        .map(|one| one.id.as_str())
        .collect();
    let listing = state.source().list_in_file(top);
    listing.is_ok_and(|listing| listing.open().any(|story| !completed.contains(story.id.as_str())))
}

/// Notes the changes by an accepted attempt at `story` to the other stories of the list; returns the ids of the removed
/// stories and of the completed ones.
pub(crate) fn note_attempt(
    notes: &mut ListNotes,
    story: &Story,
    before: &Listing,
    now: &Listing,
) -> [Vec<String>; 2] {
    let finder = Finder::new(&now.stories);
    let (mut gone, mut done) = (Vec::new(), Vec::new());
    for other in before.open().filter(|other| other.id != story.id) {
        match finder.find(other) {
            None => gone.push(other.id.clone()),
            Some(found) if found.done => done.push(other.id.clone()),
            Some(_) => {}
        }
    }
    notes.note_by_list(gone.iter().chain(&done).cloned());
    let finder = Finder::new(&before.stories);
    for other in &now.stories {
        if finder.find(other).is_none() && !notes.added.contains(&other.id) {
            notes.added.push(other.id.clone());
        }
    }
    [gone, done]
}

/// Refuses an attempt at a story that an attempt has added, if attempts have added too many. The refusal resets the
/// count, so repeating the command confirms it; the caller saves the state.
pub(crate) fn refuse_grown_list(
    state: &mut State,
    listing: &Listing,
    story: &Story,
) -> Result<(), StoryRefusal> {
    let notes = &mut state.common.list;
    if notes.length == 0 {
        notes.length = listing.stories.len();
    }
    let is_added = notes.added.contains(&story.id) && notes.has_grown_too_far();
    if !is_added {
        return Ok(());
    }
    let added = notes.added.len();
    (notes.length, notes.added) = (listing.stories.len(), Vec::new());
    Err(StoryRefusal::Grown {
        change: state.change.to_string(),
        added,
        story: story.id.clone(),
        source_file: state.source().path.clone(),
    })
}
