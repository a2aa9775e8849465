//! Decides the next steps of the loop, and the consequences of an attempt for its story. Pure: no clock, no files, no
//! processes.
//!
//! Invariants (property-tested below): never two attempts at the same time; a story never gets more than 1 +
//! `max_retries` attempts that count; interrupted and rate-limited attempts do not count; a loop can be closed in every
//! state except during an attempt.

#[cfg(test)]
mod tests;

use crate::state::{Completed, Current, Phase, Progress, PutOff, Redone, Verdict};

/// The kind of a request for an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// `next`: the first incomplete story, for the first time.
    Next,
    /// `retry`: the story that failed.
    Retry,
    /// `complete`, `fail` or an agent's own session, which report on the story.
    Manual,
}

/// The consequence of an attempt for its story.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// The story is complete.
    Complete,
    /// The story failed and has retries left.
    RetriesLeft,
    /// The story failed and has no retries left.
    RetriesSpent,
    /// The attempt does not count.
    Uncounted,
}

/// The reason why something is not possible now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// An attempt is in progress.
    Running,
    /// The story failed and has retries left: `retry` is the right command.
    RetryFirst,
    /// The story failed and has no retries left.
    RetriesSpent,
    /// Nothing has failed: `next` is the right command.
    NothingFailed,
    /// No story is left to do.
    NoStory,
    /// The loop is closed.
    Finished,
    /// No attempt is in progress.
    NotRunning,
}

/// A refused change leaves the progress unchanged.
impl Progress {
    /// Returns the progress of a new loop.
    pub fn new(max_retries: u32, completed: Vec<Completed>) -> Self {
        Self {
            max_retries,
            completed,
            ..Self::default()
        }
    }

    /// Returns the step with which an agent continues.
    pub fn next_step(&self) -> Step {
        match self.phase {
            Phase::Failed => Step::Retry,
            _ => Step::Next,
        }
    }

    /// Sets the incomplete stories, in order, without skipped ones. Forgets a failed story that is no longer among
    /// them.
    pub fn listed(&mut self, incomplete: &[String]) -> Result<(), Refusal> {
        self.require_rest()?;
        let current_is_open = self
            .story
            .as_ref()
            .is_some_and(|story| incomplete.contains(&story.id));
        if !current_is_open {
            self.story = None;
        }
        self.beside.retain(|story| incomplete.contains(&story.id));
        self.phase = if incomplete.is_empty() {
            Phase::Complete
        } else {
            self.phase_at_rest()
        };
        Ok(())
    }

    /// Decides whether an attempt may be requested now.
    pub fn may_begin(&self, step: Step) -> Result<(), Refusal> {
        match (step, self.phase) {
            (_, Phase::Finished) => Err(Refusal::Finished),
            (_, Phase::Running) => Err(Refusal::Running),
            (_, Phase::Complete) => Err(Refusal::NoStory),
            (Step::Next, Phase::Failed) => Err(Refusal::RetryFirst),
            (Step::Next | Step::Retry, Phase::Exhausted) => Err(Refusal::RetriesSpent),
            (Step::Retry, Phase::Ready) => Err(Refusal::NothingFailed),
            _ => Ok(()),
        }
    }

    /// Begins the attempt `attempt` at a story.
    pub fn begin(&mut self, step: Step, id: &str, title: &str, attempt: u32) -> Result<(), Refusal> {
        self.may_begin(step)?;
        let is_spent = |story: &Current| story.id == id && story.failures > self.max_retries;
        if step != Step::Manual && self.beside.iter().any(is_spent) {
            return Err(Refusal::RetriesSpent);
        }
        match &mut self.story {
            Some(story) if story.id == id => {
                title.clone_into(&mut story.title);
                story.attempt = attempt;
            }
            other => {
                let at = self.beside.iter().position(|story| story.id == id);
                let known = at.map(|at| self.beside.remove(at));
                *other = Some(Current {
                    id: id.to_owned(),
                    title: title.to_owned(),
                    attempt,
                    ..known.unwrap_or_default()
                });
            }
        }
        self.phase = Phase::Running;
        Ok(())
    }

    /// Turns to another story, which is worked on beside the present one; keeps the failures of each.
    pub fn turn_to(&mut self, id: &str) -> Result<(), Refusal> {
        self.require_rest()?;
        if self.story.as_ref().is_some_and(|story| story.id == id) {
            return Ok(());
        }
        let at = self.beside.iter().position(|story| story.id == id);
        let next = at.map(|at| self.beside.remove(at));
        let left = std::mem::replace(&mut self.story, next);
        self.beside.extend(left.filter(|story| story.verdict.is_some()));
        if self.phase != Phase::Complete {
            self.phase = self.phase_at_rest();
        }
        Ok(())
    }

    /// Leaves a story that has not failed; the first story of the list is next.
    pub fn leave_unfailed(&mut self) -> Result<(), Refusal> {
        self.require_rest()?;
        if self.phase == Phase::Ready {
            let left = self.story.take();
            self.beside.extend(left.filter(|story| story.verdict.is_some()));
        }
        Ok(())
    }

    /// Returns the failures of a story, if it has any.
    pub fn failed(&self, id: &str) -> Option<&Current> {
        let mut stories = self.story.iter().chain(&self.beside);
        stories.find(|story| story.id == id)
    }

    /// Ends the attempt in progress; `reason` is for the next prompt, if the failure has one, and `shown` is the longer
    /// reason for the user, if there is one.
    pub fn end(
        &mut self,
        verdict: Verdict,
        reason: Option<String>,
        shown: Option<String>,
    ) -> Result<Outlook, Refusal> {
        let max_retries = self.max_retries;
        let (Phase::Running, Some(story)) = (self.phase, &mut self.story) else {
            return Err(Refusal::NotRunning);
        };
        if verdict == Verdict::Complete {
            let done = Completed {
                id: story.id.clone(),
                title: story.title.clone(),
                work: None,
            };
            self.redone.retain(|one| one.story != done.id);
            self.completed.push(done);
            self.story = None;
            self.phase = Phase::Ready;
            return Ok(Outlook::Complete);
        }
        (story.verdict, story.needs_leave) = (Some(verdict), false);
        story.refused = None;
        if verdict.counts() {
            // A failure that the user declares after the last retry must not exceed the limit.
            story.failures = story
                .failures
                .saturating_add(1)
                .min(max_retries.saturating_add(1));
            story.retries = story.failures.saturating_sub(1);
        }
        if verdict.counts() || verdict == Verdict::Conflict {
            (story.reason, story.shown) = (reason, shown);
        }
        self.phase = self.phase_at_rest();
        Ok(match (verdict.counts(), self.phase) {
            (false, _) => Outlook::Uncounted,
            (true, Phase::Exhausted) => Outlook::RetriesSpent,
            (true, _) => Outlook::RetriesLeft,
        })
    }

    /// Goes back to the checkpoint before these stories, the last `count` that were completed.
    pub fn redo(&mut self, stories: Vec<Redone>, count: usize) -> Result<(), Refusal> {
        self.require_rest()?;
        self.completed
            .truncate(self.completed.len().saturating_sub(count));
        self.redone
            .retain(|one| stories.iter().all(|new| new.story != one.story));
        self.redone.extend(stories);
        // A current story has failed on top of the undone work.
        self.story = None;
        self.beside.clear();
        self.phase = Phase::Ready;
        Ok(())
    }

    /// Skips a story from now on.
    pub fn skip(&mut self, id: &str) -> Result<(), Refusal> {
        self.require_rest()?;
        if self.story.as_ref().is_some_and(|story| story.id == id) {
            self.story = None;
            self.phase = Phase::Ready;
        }
        self.beside.retain(|story| story.id != id);
        if !self.skipped.iter().any(|skipped| skipped == id) {
            self.skipped.push(id.to_owned());
        }
        self.put_off.retain(|other| other.story.id != id);
        Ok(())
    }

    /// Returns whether the story without retries left can be put off: it was not put off before, or another story that
    /// was put off can be tried first.
    pub fn may_put_off(&self) -> bool {
        let id = self.story.as_ref().map(|story| &story.id);
        let was_put_off = self.put_off.iter().any(|other| Some(&other.story.id) == id);
        self.phase == Phase::Exhausted && (!was_put_off || self.next_put_off().is_some())
    }

    /// Puts the story without retries left off until the others are through; returns its id. Its attempt was made after the first
    /// `completed` ones.
    pub fn put_off(&mut self, completed: usize) -> Result<String, Refusal> {
        let story = self.story.clone().filter(|_| self.may_put_off());
        let story = story.ok_or(Refusal::NothingFailed)?;
        let is_over = self.put_off.iter().any(|other| other.story.id == story.id);
        self.skip(&story.id)?;
        let id = story.id.clone();
        self.put_off.push(PutOff {
            story,
            completed,
            is_over,
        });
        Ok(id)
    }

    /// Resumes the next story that was put off: with all its retries if another story was completed since, else with
    /// the retries that a raised limit gives it; returns its id.
    pub fn take_up(&mut self) -> Option<String> {
        let kept = self.next_put_off()?.clone();
        let id = kept.story.id.clone();
        let is_fresh = self.is_due(&kept);
        self.return_to(kept).ok()?;
        if is_fresh && let Some(story) = &mut self.story {
            // Its next prompt still gets the reason.
            (story.failures, story.retries, story.is_spent) = (0, 0, false);
            self.phase = Phase::Ready;
        }
        Some(id)
    }

    /// Returns to the first story that was put off, which has no retries left; returns its id.
    pub fn give_up(&mut self) -> Option<String> {
        let is_skipped = |other: &&PutOff| self.skipped.contains(&other.story.id);
        let kept = self.put_off.iter().find(is_skipped)?.clone();
        let id = kept.story.id.clone();
        self.return_to(kept).ok()?;
        Some(id)
    }

    /// Makes a story that was put off the current one again, as failed; it is put off again only for another story.
    fn return_to(&mut self, kept: PutOff) -> Result<(), Refusal> {
        self.unskip(&kept.story.id)?;
        self.story = Some(kept.story.clone());
        self.phase = self.phase_at_rest();
        self.put_off.insert(
            0,
            PutOff {
                is_over: true,
                ..kept
            },
        );
        Ok(())
    }

    /// Returns the first story that was put off and can be tried again.
    fn next_put_off(&self) -> Option<&PutOff> {
        let may_be_tried = |other: &&PutOff| {
            let has_retries = other.story.failures <= self.max_retries;
            self.skipped.contains(&other.story.id) && (has_retries || self.is_due(other))
        };
        self.put_off.iter().find(may_be_tried)
    }

    /// Returns whether another story was completed since the attempt after which this one was put off for the first time.
    fn is_due(&self, other: &PutOff) -> bool {
        !other.is_over && other.completed < self.completed.len()
    }

    /// Stops skipping a story.
    pub fn unskip(&mut self, id: &str) -> Result<(), Refusal> {
        self.require_rest()?;
        self.skipped.retain(|skipped| skipped != id);
        self.put_off.retain(|other| other.story.id != id);
        if self.phase == Phase::Complete {
            self.phase = Phase::Ready;
        }
        Ok(())
    }

    /// Sets the number of retries from now on.
    pub fn limit(&mut self, max_retries: u32) -> Result<(), Refusal> {
        self.require_rest()?;
        if let Some(story) = self.story.as_mut().filter(|_| max_retries > self.max_retries) {
            story.is_spent = false;
        }
        self.max_retries = max_retries;
        if self.phase != Phase::Complete {
            self.phase = self.phase_at_rest();
        }
        Ok(())
    }

    /// Notes that the failed story is not retried: another attempt would end in the same way.
    pub fn spend(&mut self) -> Result<(), Refusal> {
        self.require_rest()?;
        self.story.as_mut().ok_or(Refusal::NothingFailed)?.is_spent = true;
        self.phase = self.phase_at_rest();
        Ok(())
    }

    /// Notes that the gates passed only with the latest attempt's changes to tests.
    pub fn need_leave(&mut self) -> Result<(), Refusal> {
        self.require_rest()?;
        self.story.as_mut().ok_or(Refusal::NothingFailed)?.needs_leave = true;
        Ok(())
    }

    /// Notes why the user's word did not make the story complete.
    pub fn note_refused(&mut self, reason: Option<String>) -> Result<(), Refusal> {
        self.require_rest()?;
        self.story.as_mut().ok_or(Refusal::NothingFailed)?.refused = reason;
        Ok(())
    }

    /// Gives a story without retries left one more: the user now allows the change for which it failed.
    pub fn give_one_more(&mut self) -> Result<(), Refusal> {
        self.require_rest()?;
        if let Some(story) = self.story.as_mut().filter(|story| story.failures > 0) {
            story.is_spent = false;
            self.max_retries = self.max_retries.max(story.failures);
            self.phase = self.phase_at_rest();
        }
        Ok(())
    }

    /// Closes the loop.
    pub fn close(&mut self) -> Result<(), Refusal> {
        self.require_rest()?;
        self.phase = Phase::Finished;
        Ok(())
    }

    fn require_rest(&self) -> Result<(), Refusal> {
        match self.phase {
            Phase::Running => Err(Refusal::Running),
            Phase::Finished => Err(Refusal::Finished),
            _ => Ok(()),
        }
    }

    /// Returns the phase between attempts, according to the failures of the current story.
    fn phase_at_rest(&self) -> Phase {
        match &self.story {
            None => Phase::Ready,
            Some(story) if story.failures == 0 => Phase::Ready,
            Some(story) if story.failures <= self.max_retries && !story.is_spent => Phase::Failed,
            Some(_) => Phase::Exhausted,
        }
    }
}
