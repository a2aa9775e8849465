//! What a person, or a driver of somebody else's, says about a story: complete, fail, revert, skip.

use super::Session;
use super::attempt::AttemptOptions;
use super::conclude::{Concluded, StepEnd};
use super::progress::Step;
use super::revert::Undoing;
use super::run_agent::{Begun, Outcome};
use super::verdict::Judgement;
use crate::error::Error;
use crate::fs::write_private;
use crate::git::operations_in_progress;
use crate::settings::Settings;
use crate::state::Verdict;
use crate::stories::{Listing, Story};

impl Session<'_> {
    /// A person or a driver says that the work tree is the finished story.
    ///
    /// # Errors
    /// As [`Session::attempt`].
    pub async fn complete(&mut self, options: &AttemptOptions) -> Result<StepEnd, Error> {
        let settings = self.step_settings(options);
        self.require_on_branch().await?;
        self.forget_records()?;
        let (listing, story) = self.begin_story(Step::Manual, &settings).await?;
        let begun = self.begin(Step::Manual, &story, &listing)?;
        self.copy_judged_source()?;
        let outcome = Outcome::by_hand(Judgement::complete());
        self.conclude_by_hand(&story, &listing, outcome, &settings, begun)
            .await
    }

    /// A person or a driver says that the story failed: counted, kept, and undone.
    ///
    /// # Errors
    /// As [`Session::attempt`].
    pub async fn fail(&mut self, reason: Option<String>) -> Result<StepEnd, Error> {
        let settings = self.state.settings.clone();
        self.require_on_branch().await?;
        self.forget_records()?;
        let (listing, story) = self.begin_story(Step::Manual, &settings).await?;
        let begun = self.begin(Step::Manual, &story, &listing)?;
        let outcome = Outcome::by_hand(Judgement {
            reason,
            ..Judgement::bare(Verdict::Failed)
        });
        self.conclude_by_hand(&story, &listing, outcome, &settings, begun)
            .await
    }

    pub(crate) async fn conclude_by_hand(
        &mut self,
        story: &Story,
        listing: &Listing,
        outcome: Outcome,
        settings: &Settings,
        begun: Begun,
    ) -> Result<StepEnd, Error> {
        match self.conclude(story, listing, outcome, settings, begun).await? {
            Concluded::End(end) => Ok(end),
            // No agent has run whose service could be limited.
            Concluded::Unavailable(unavailable) => Ok(StepEnd::Limited(unavailable.reason)),
        }
    }

    /// Back to the checkpoint without a new attempt; says whether there was anything to undo.
    ///
    /// # Errors
    /// When git fails, or the work tree does not come to rest.
    pub async fn revert(&mut self) -> Result<bool, Error> {
        if !self.state.is_live() {
            return Err(Error::LoopFinished(self.change().to_string()));
        }
        self.forget_records()?;
        let standing = self.standing().await?;
        let on_branch = standing.head.branch.as_deref() == Some(&self.state.change.branch_ref());
        let at_tip = standing.tip.as_ref() == Some(&self.state.checkpoint);
        if on_branch && at_tip && self.is_at_checkpoint().await? {
            return Ok(false);
        }
        let listing = self.listing().await.ok();
        let story = listing
            .and_then(|listing| self.story_to_do(&listing).ok())
            .map(|story| story.id)
            .or_else(|| self.state.progress.story.as_ref().map(|story| story.id.clone()))
            .unwrap_or_else(|| "work".to_owned());
        let attempt = self.next_attempt_number(&story);
        let log = self.attempt_log(&story, attempt);
        write_private(&log, "reverted by hand\n")?;
        let undoing = Undoing {
            story,
            attempt,
            verdict: None,
            reason: None,
        };
        self.undo(undoing, &standing).await?;
        self.tell_hooks(None).await?;
        Ok(true)
    }

    /// Forgets what was recorded for an attempt that never began: a person's own doing is not measured
    /// by it.
    pub(crate) fn forget_records(&self) -> Result<(), Error> {
        self.forget_refs();
        self.forget_own_files()?;
        self.forget_source_copies()
    }

    /// A person may have gone elsewhere on purpose: only an agent's HEAD is put back without a word.
    pub(super) async fn require_on_branch(&mut self) -> Result<(), Error> {
        let standing = self.standing().await?;
        if standing.head.branch.as_deref() == Some(&self.state.change.branch_ref()) {
            return Ok(());
        }
        Err(self.head_elsewhere(&standing.head))
    }

    pub(super) async fn is_at_checkpoint(&mut self) -> Result<bool, Error> {
        let reading = self.read_work_tree().await?;
        let same = reading.tree == self.state.checkpoint_tree && reading.unstorable.is_empty();
        Ok(same && operations_in_progress(&self.engine.repo).is_empty())
    }

    /// Has the loop pass over a story, or no longer.
    ///
    /// # Errors
    /// When there is no such story.
    pub async fn skip(&mut self, story: Option<&str>, undo: bool) -> Result<String, Error> {
        let listing = self.list_stories().await?;
        let id = match story {
            Some(id) if self.state.progress.skipped.iter().any(|skipped| skipped == id) => id.to_owned(),
            Some(id) => self.story_called(&listing, id)?.id,
            None if undo => match self.state.progress.skipped.last() {
                Some(last) => last.clone(),
                None => return Err(Error::NothingSkipped),
            },
            None => self.story_to_do(&listing)?.id,
        };
        self.advance(|progress| {
            if undo {
                progress.unskip(&id)
            } else {
                progress.skip(&id)
            }
        })?;
        self.list_stories().await?;
        self.save()?;
        Ok(id)
    }
}
