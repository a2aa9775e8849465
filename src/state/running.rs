//! Queries about the running process, and about the story that it works on.

use jiff::Timestamp;

use super::slots::{Running, RunningGate, SlotState};
use super::{Current, JudgedTree, Phase, Progress, PutOff, State};
use crate::stories::Listing;

impl State {
    /// Returns the running attempt, gates, reviewer or hook; after a crash, the one that ran last.
    pub fn running(&self) -> Option<Running> {
        self.slots.borrow().first().map(|slot| slot.running.clone())
    }

    /// Changes the record of the running process. Judges of an attempt change it without changing the progress; the
    /// caller saves the state.
    pub fn note_running(&self, change: impl FnOnce(&mut Running)) {
        if let Some(slot) = self.slots.borrow_mut().first_mut() {
            change(&mut slot.running);
        }
    }

    /// Records that a process begins to run.
    pub fn begin_running(&self, running: Running) {
        self.slots.replace(vec![SlotState { n: 1, running }]);
    }

    /// Records that it has ended.
    pub fn end_running(&self) {
        self.slots.replace(Vec::new());
    }

    /// Records the wait for an agent's service; the caller saves the state.
    pub fn note_wait(&self, until: Timestamp, reason: &str) {
        self.here.waits_until.set(Some(until));
        self.here.waits_for.replace(Some(reason.to_owned()));
    }

    /// Records the end of the wait; the caller saves the state.
    pub fn end_wait(&self) {
        self.here.waits_until.set(None);
        self.here.waits_for.replace(None);
    }

    /// Returns whether a process runs, or did before a crash.
    pub fn is_running(&self) -> bool {
        !self.slots.borrow().is_empty()
    }

    /// Returns whether nothing runs and no step has begun to change things.
    pub fn is_at_rest(&self) -> bool {
        !self.is_running() && self.intent.is_none()
    }

    /// Returns whether `complete` or `fail` runs, and no agent.
    pub fn is_by_hand(&self) -> bool {
        self.running().is_some_and(|running| running.by_hand)
    }

    /// Returns whether an agent, gates or a hook runs, or did before a crash, and no command of the user.
    pub fn is_by_process(&self) -> bool {
        self.is_running() && !self.is_by_hand()
    }

    /// Returns whether the work in the work tree is the user's, who may move HEAD.
    pub fn is_work_of_user(&self) -> bool {
        !self.is_by_process() && !self.is_given_to_session()
    }

    /// Returns the mark of the running processes.
    pub fn run_mark(&self) -> Option<String> {
        Some(self.running()?.run)
    }

    /// Returns the start time of the running process; if none runs, the start of the loop.
    pub fn work_began(&self) -> Timestamp {
        self.running()
            .map_or(self.common.started, |running| running.since)
    }

    /// Returns the gate that runs before the first attempt.
    pub fn gate_before_work(&self) -> Option<RunningGate> {
        self.running()?.gate
    }

    /// Returns the tree that gates and reviewers judge.
    pub fn held(&self) -> Option<JudgedTree> {
        self.running()?.held
    }

    /// Returns the story being worked on.
    pub fn current(&self) -> Option<&Current> {
        self.common.progress.current()
    }

    /// Returns the story of the attempt in progress.
    pub fn attempted(&self) -> Option<&Current> {
        self.current()
            .filter(|_| self.common.progress.phase == Phase::Running)
    }

    /// Returns the ref that keeps the latest attempt at the story being worked on.
    pub fn attempt_ref(&self) -> Option<String> {
        let story = self.current()?;
        Some(self.change.attempt_ref(&story.id, story.attempt))
    }

    /// Returns the story being worked on, if it is the one with this id.
    pub fn current_at(&self, id: &str) -> Option<&Current> {
        self.current().filter(|current| current.id == id)
    }

    /// Returns the attempt whose work stays in the work tree until a reviewer judges it, as `<story>@<number>`.
    pub fn unreviewed(&self) -> Option<&str> {
        let attempt = self.here.restored.as_deref();
        attempt.filter(|_| self.here.is_unreviewed)
    }

    /// Returns the phase of the loop as programs and users see it.
    pub fn shown_phase(&self) -> Phase {
        self.progress().shown(self.phase())
    }

    /// Returns the skipped stories without those that the list shows as complete. A story that has its checkpoint and
    /// that nothing marks is complete only because it is skipped.
    pub fn still_skipped(&self, listing: &Listing) -> Vec<String> {
        let is_marked = |id: &String| {
            let is_unmarked = self.common.unmarked.iter().any(|done| done.id == *id);
            !is_unmarked && listing.stories.iter().any(|story| story.done && story.id == *id)
        };
        let skipped = self.progress().skipped.iter();
        skipped.filter(|id| !is_marked(id)).cloned().collect()
    }

    /// Returns the number of skipped stories among those that are neither complete nor being worked on.
    pub fn skipped_of(&self, done: usize, total: usize) -> usize {
        let open = total.saturating_sub(done);
        let open = open.saturating_sub(usize::from(self.current().is_some()));
        self.progress().skipped.len().min(open)
    }

    /// Returns the number of failed attempts that count at this story, if it is the one being worked on.
    pub fn failures_of(&self, id: &str) -> u32 {
        self.current_at(id).map_or(0, |current| current.failures)
    }
}

impl Progress {
    /// Returns the story being worked on.
    pub fn current(&self) -> Option<&Current> {
        self.story.as_ref()
    }

    /// Returns the ref that keeps the work of a story that is to be done again, and the user's reason.
    pub fn redone_at(&self, id: &str) -> Option<(&str, Option<&str>)> {
        let one = self.redone.iter().find(|one| one.story == id)?;
        Some((&one.kept, one.words.as_deref()))
    }

    /// Returns whether a story was put off until the others are tried.
    pub fn is_put_off(&self, id: &str) -> bool {
        let is_it = |other: &PutOff| other.story.id == id;
        self.skipped.iter().any(|skipped| skipped == id) && self.put_off.iter().any(is_it)
    }

    /// Returns the ids of the stories that the user skipped, and of those that were put off.
    pub fn left_out(&self) -> (Vec<String>, Vec<String>) {
        self.skipped.iter().cloned().partition(|id| !self.is_put_off(id))
    }

    /// Returns a phase of the loop as programs see it: with skipped stories, it is never complete.
    pub fn shown(&self, phase: Phase) -> Phase {
        match phase {
            Phase::Complete if !self.skipped.is_empty() => Phase::Exhausted,
            _ => phase,
        }
    }
}
