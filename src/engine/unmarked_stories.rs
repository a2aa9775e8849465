//! Stories with a checkpoint that their source still lists as open: no agent works on them a second time
//! (contract section 7).
//!
//! The source is told again before each step, and the step is refused for as long as that does not help.
//! A story that was once seen as done is forgotten here: a person who opens it after that means it.

use super::Session;
use crate::error::Error;
use crate::settings::{Mark, Settings};
use crate::state::{Completed, State};
use crate::stories::{Listing, Story};

/// The story of this list that has this checkpoint. A tracker's ids stay when titles change.
fn find<'l>(state: &State, listing: &'l Listing, done: &Completed) -> Option<&'l Story> {
    let by_id = state.source.commands.is_some();
    let mut stories = listing.stories.iter();
    stories.find(|story| story.id == done.id && (by_id || story.title == done.title))
}

/// Whether the list has the story as open.
fn is_open(state: &State, listing: &Listing, done: &Completed) -> bool {
    find(state, listing, done).is_some_and(|story| !story.done && !story.optional)
}

impl Session<'_> {
    /// Notes whether the list says that a story is done which just got its checkpoint; the caller saves.
    pub(super) fn note_mark(&mut self, listing: &Listing, done: Completed) {
        let open = is_open(&self.state, listing, &done);
        self.state.unmarked.retain(|other| other.id != done.id);
        if open {
            self.state.unmarked.push(done);
        }
    }

    /// Refuses to go on while the list has a complete story as open.
    ///
    /// # Errors
    /// When it has, and the loop does not pass over that story.
    pub fn refuse_unmarked(&self, listing: &Listing) -> Result<(), Error> {
        let mut unmarked = self.state.unmarked.iter();
        let state = &self.state;
        match unmarked.find(|done| !self.is_skipped(done) && is_open(state, listing, done)) {
            None => Ok(()),
            Some(done) => Err(Error::StillOpen {
                change: self.change().to_string(),
                story: done.id.clone(),
                source_file: state.source.path.clone(),
                by_command: state.source.commands.is_some() && state.settings.mark == Mark::Auto,
            }),
        }
    }

    /// Has the source say of every complete story that it is done, before anything else is worked on;
    /// gives the list as it is then.
    ///
    /// # Errors
    /// As [`Session::refuse_unmarked`], and when HEAD is not on the loop's branch.
    pub(super) async fn require_marks(
        &mut self,
        mut listing: Listing,
        settings: &Settings,
    ) -> Result<Listing, Error> {
        let before = self.state.unmarked.clone();
        self.forget_marked(&listing);
        if settings.mark == Mark::Auto && self.refuse_unmarked(&listing).is_err() {
            // A command may change files, which belong to the branch.
            self.require_on_branch().await?;
            self.take_mended_command();
            let told = self.tell_again(&listing).await;
            self.settled = false;
            self.head_is_known = false;
            listing = self.list_stories().await?;
            self.forget_marked(&listing);
            for done in told {
                if !self.state.unmarked.contains(&done) {
                    self.tell(format!("the story {} is now marked as done", done.id));
                }
            }
        }
        if self.state.unmarked != before {
            self.save()?;
        }
        self.refuse_unmarked(&listing)?;
        Ok(listing)
    }

    /// What is listed as done, or no longer listed, needs no mark.
    fn forget_marked(&mut self, listing: &Listing) {
        let mut unmarked = std::mem::take(&mut self.state.unmarked);
        unmarked.retain(|done| is_open(&self.state, listing, done) || self.is_skipped(done));
        self.state.unmarked = unmarked;
    }

    fn is_skipped(&self, done: &Completed) -> bool {
        self.state.progress.skipped.contains(&done.id)
    }

    /// Marks what is open once more; gives what it tried to mark. Whether that helped, the list says.
    async fn tell_again(&mut self, listing: &Listing) -> Vec<Completed> {
        let unmarked = self.state.unmarked.clone().into_iter();
        let told: Vec<Completed> = unmarked.filter(|done| !self.is_skipped(done)).collect();
        for done in &told {
            let Some(story) = find(&self.state, listing, done) else {
                continue;
            };
            let attempt = self.next_attempt_number(&story.id).saturating_sub(1);
            if let Err(reason) = self.mark_in_source(story, listing, attempt).await {
                self.tell(reason);
            }
        }
        told
    }

    /// The loop's own command does not do its part: one that was set since takes its place for good, unless
    /// the command line names one for this step.
    fn take_mended_command(&mut self) {
        let configuration = &self.engine.configuration;
        let set = &configuration.settings.done_command;
        if let Some(commands) = &mut self.state.source.commands
            && configuration.given("ralph.donecommand").is_none()
            && set.is_some()
        {
            commands.done.clone_from(set);
            self.state.settings.done_command.clone_from(set);
        }
    }
}
