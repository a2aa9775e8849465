//! From an attempt's verdict on: gates, mark and checkpoint, or back to the checkpoint.

use super::attempt::StepEnd;
use super::checkpoint::Saving;
use super::revert::Undoing;
use super::run_agent::{Begun, Outcome};
use super::verdict::Judgement;
use super::{Session, progress_of};
use crate::adapters::{Listing, Story};
use crate::error::Error;
use crate::events::What;
use crate::settings::Settings;
use crate::state::{Phase, Verdict};

impl Session<'_> {
    /// From the verdict on: gates, mark and checkpoint, or back to the checkpoint.
    pub(super) async fn conclude(
        &mut self,
        story: &Story,
        before: &Listing,
        mut outcome: Outcome,
        settings: &Settings,
        begun: Begun,
    ) -> Result<StepEnd, Error> {
        self.repair_after_attempt().await?;
        let standing = self.standing().await?;
        let mut parent = None;
        if outcome.judgement.verdict == Verdict::Complete {
            match self.parent_for_checkpoint(&standing).await? {
                Ok(found) => parent = Some(found),
                Err(reason) => outcome.judgement = Judgement::new(Verdict::Failed, reason),
            }
        }
        if outcome.judgement.verdict == Verdict::Complete
            && let Some(reason) = self.judge_refs().await?
        {
            outcome.judgement = Judgement::new(Verdict::Failed, reason);
        }
        if outcome.judgement.verdict == Verdict::Complete
            && let Some(path) = self.dirty_submodule().await?
        {
            let reason = format!("the submodule {path} was left with uncommitted changes; commit them in it");
            outcome.judgement = Judgement::new(Verdict::Failed, reason);
        }
        if outcome.judgement.verdict == Verdict::Complete
            && let Some(refused) = self.gates(story, settings, &begun, &mut outcome).await?
        {
            outcome.judgement = refused;
        }
        if outcome.judgement.verdict == Verdict::Complete
            && let Err(reason) = self.mark_done(story, before, settings, begun.number).await
        {
            outcome.judgement = Judgement::new(Verdict::Failed, reason);
        }
        let Judgement { verdict, reason } = outcome.judgement.clone();
        self.emit(What::AttemptEnded(begun.ended(story, &outcome)));
        if let (Verdict::Complete, Some(parent)) = (verdict, parent) {
            let saving = Saving {
                story: Some(story.id.clone()),
                attempt: Some(begun.number),
                parent,
                subject: format!("checkpoint: {}", story.id),
            };
            self.save_checkpoint(saving, &standing).await?;
            self.forget_refs();
            return self.after_checkpoint(story).await;
        }
        // The reason of a missing promise is about the form, not the work: the story is just repeated.
        let told = match (&reason, verdict) {
            (Some(reason), Verdict::NoSignal) if settings.retry_output => {
                Some(format!("{reason}; the end of the output:\n\n{}", outcome.tail))
            }
            (_, Verdict::NoSignal) => None,
            _ => reason.clone().filter(|_| verdict.counts()),
        };
        let undoing = Undoing {
            story: story.id.clone(),
            attempt: begun.number,
            verdict: Some(verdict),
            reason: told,
        };
        self.undo(undoing, &standing).await?;
        self.after_failure(verdict, reason, outcome.signal)
    }

    async fn after_checkpoint(&mut self, story: &Story) -> Result<StepEnd, Error> {
        let before = self.state.progress.clone();
        let listing = self.list_stories().await?;
        if self.state.progress != before {
            self.save()?;
        }
        let (done, total) = progress_of(&listing);
        self.emit(What::StoryProgress { done, total });
        let is_it = |other: &Story| other.id == story.id && other.title == story.title;
        if listing
            .stories
            .iter()
            .any(|other| is_it(other) && !other.done && !other.optional)
        {
            return Err(Error::StillOpen {
                story: story.id.clone(),
                source_file: self.state.source.path.clone(),
            });
        }
        Ok(StepEnd::Checkpointed)
    }

    fn after_failure(
        &mut self,
        verdict: Verdict,
        reason: Option<String>,
        signal: Option<i32>,
    ) -> Result<StepEnd, Error> {
        let Some(current) = self.state.progress.story.clone() else {
            return Err(Error::WrongPhase(self.change().to_string()));
        };
        match verdict {
            Verdict::RateLimited | Verdict::Overloaded => Ok(StepEnd::Limited),
            Verdict::Interrupted if signal.is_some() => Ok(StepEnd::Interrupted(signal.unwrap_or_default())),
            Verdict::Auth | Verdict::NotStarted | Verdict::Interrupted => Err(Error::AgentUnable {
                change: self.change().to_string(),
                story: current.id,
                verdict,
                reason,
            }),
            _ => {
                let retries_left = self.state.progress.phase == Phase::Failed;
                if retries_left {
                    self.emit(What::Retry {
                        story: current.id,
                        retries: current.retries,
                        max_retries: self.state.progress.max_retries,
                        reason: current.reason,
                    });
                }
                Ok(StepEnd::Failed { retries_left })
            }
        }
    }
}
