//! From an attempt's verdict on: gates, mark and checkpoint, or back to the checkpoint.

use std::fs;

use super::backoff::Unavailable;
use super::checkpoint::{Saving, Standing};
use super::guard_rail::AGENT;
use super::lifecycle_hooks::Hook;
use super::revert::Undoing;
use super::run_agent::{Begun, Outcome};
use super::touched::tracked_paths;
use super::verdict::Judgement;
use super::{Session, progress_of};
use crate::error::Error;
use crate::events::What;
use crate::fs::file_error;
use crate::git::operations_in_progress;
use crate::names::{Oid, ref_component};
use crate::settings::Settings;
use crate::state::{Completed, Phase, Verdict};
use crate::stories::{Listing, Story};

/// So many complete stories in a row without a change mean that the agent cannot do what it says.
const MOST_UNCHANGED: u32 = 3;

/// What a step came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepEnd {
    /// The story has its checkpoint.
    Checkpointed,
    /// The attempt failed; whether retries are left.
    Failed {
        /// Retries are left.
        retries_left: bool,
    },
    /// A limit is reached, in words: one that the user set, or the agent's service does not answer and
    /// is not waited for any longer. Attempts that it did not answer do not count.
    Limited(String),
    /// We were asked to stop by this signal; the attempt does not count.
    Interrupted(i32),
}

/// What an attempt was concluded with.
pub(super) enum Concluded {
    /// The step is over.
    End(StepEnd),
    /// The agent's service did not answer; the work tree is at the checkpoint, and nothing was counted.
    Unavailable(Unavailable),
}

impl Session<'_> {
    /// From the verdict on: gates, mark and checkpoint, or back to the checkpoint.
    pub(super) async fn conclude(
        &mut self,
        story: &Story,
        before: &Listing,
        mut outcome: Outcome,
        settings: &Settings,
        begun: Begun,
    ) -> Result<Concluded, Error> {
        self.repair_after_attempt().await?;
        self.take_guard_away(Some((&story.id, begun.number)), AGENT);
        let mut standing = self.standing().await?;
        self.put_own_refs_back().await?;
        if let Some(litter) = outcome.litter
            && outcome.judgement.verdict == Verdict::Complete
        {
            self.clear_litter(litter, &format!("{}.{}", ref_component(&story.id), begun.number))
                .await?;
        }
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
        if outcome.judgement.verdict == Verdict::Complete && self.has_submodules() {
            // Makes a damaged index anew, so that git can tell.
            self.working_index().await?;
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
            && let Some(refused) = self.look_again(&mut standing, &mut parent, "the gates").await?
        {
            outcome.judgement = refused;
        }
        if outcome.judgement.verdict == Verdict::Complete {
            let refused = self.before_checkpoint(story, &begun, &mut outcome).await?;
            let hook = format!("the hook {}", Hook::PreCheckpoint.name());
            let moved = self.look_again(&mut standing, &mut parent, &hook).await?;
            if let Some(refused) = refused.or(moved) {
                outcome.judgement = refused;
            }
        }
        if outcome.judgement.verdict == Verdict::Complete {
            let watched = self.begin_tracker().await?;
            let marked = self.mark_done(story, before, settings, begun.number).await;
            self.end_tracker(watched).await?;
            let moved = self
                .look_again(&mut standing, &mut parent, "ralph.doneCommand")
                .await?;
            if let Err(reason) = marked {
                outcome.judgement = Judgement::new(Verdict::Failed, reason);
            } else if let Some(refused) = moved {
                outcome.judgement = refused;
            }
        }
        let Judgement { verdict, reason, .. } = outcome.judgement.clone();
        self.emit(What::AttemptEnded(begun.ended(story, &outcome)));
        if let (Verdict::Complete, Some(parent)) = (verdict, parent) {
            let saving = Saving {
                story: Some(story.id.clone()),
                attempt: Some(begun.number),
                parent,
                subject: format!("checkpoint: {}", story.id),
                denied: outcome.denied().join(", "),
            };
            self.save_checkpoint(saving, &standing).await?;
            self.forget_refs();
            self.tell_hooks(Some((story, &begun))).await?;
            return self.after_checkpoint(story).await.map(Concluded::End);
        }
        // Where nothing was promised, there is nothing to say about the work: the story is just repeated.
        let told = match (&reason, verdict) {
            (Some(reason), Verdict::NoSignal) if settings.retry_output => {
                Some(format!("{reason}; the end of the output:\n\n{}", outcome.tail))
            }
            (_, Verdict::NoSignal) if !outcome.judgement.wrong_form => None,
            _ => reason.clone().filter(|_| verdict.counts()),
        };
        let undoing = Undoing {
            story: story.id.clone(),
            attempt: begun.number,
            verdict: Some(verdict),
            reason: told,
        };
        self.undo(undoing, &standing).await?;
        self.tell_hooks(Some((story, &begun))).await?;
        self.after_failure(outcome.judgement, outcome.signal)
    }

    /// Looks where HEAD and the branch are after others' processes; gives the judgement where no checkpoint
    /// can be made any more.
    async fn look_again(
        &mut self,
        standing: &mut Standing,
        parent: &mut Option<Oid>,
        after: &str,
    ) -> Result<Option<Judgement>, Error> {
        let now = self.standing().await?;
        if now == *standing && operations_in_progress(&self.engine.repo).is_empty() {
            return Ok(None);
        }
        *standing = now;
        match self.parent_for_checkpoint(standing).await? {
            Ok(found) => {
                *parent = Some(found);
                Ok(None)
            }
            Err(reason) => {
                let reason = format!("after {after}: {reason}");
                Ok(Some(Judgement::new(Verdict::GateFailed, reason)))
            }
        }
    }

    /// Moves to the trash what an agent has left in the top directory for itself; what was there before stays.
    async fn clear_litter(&mut self, prefix: &str, trash: &str) -> Result<(), Error> {
        let top = &self.engine.repo.top;
        let tracked = tracked_paths(&self.file("checkpoint.index"), self.oid_length());
        let known = self.known_before()?;
        let is_new = |name: &[u8]| {
            let inside = [name, b"/"].concat();
            name.starts_with(prefix.as_bytes())
                && !known.touches(name)
                && !tracked.contains(name)
                && !tracked.iter().any(|path| path.starts_with(&inside))
        };
        let entries = fs::read_dir(top).map_err(|error| file_error("read", top, error))?;
        let mut names: Vec<Vec<u8>> = entries
            .filter_map(Result::ok)
            .map(|entry| entry.file_name().into_encoded_bytes())
            .filter(|name| is_new(name))
            .collect();
        // What is ignored is in nobody's way, and may be the user's.
        let repo = &self.engine.repo;
        let ignored = repo.ignored_among(&repo.index(), &names).await?;
        names.retain(|name| !ignored.contains(name));
        let place = self.file("trash").join(trash);
        for name in &names {
            self.move_to_trash(name, &place)?;
        }
        if !names.is_empty() {
            self.tell(format!(
                "the agent's own files ({prefix}*) are no part of the story; they are in {}",
                place.display()
            ));
        }
        Ok(())
    }

    async fn after_checkpoint(&mut self, story: &Story) -> Result<StepEnd, Error> {
        let before = (self.state.progress.clone(), self.state.unmarked.clone());
        let listing = self.list_stories().await?;
        self.note_mark(&listing, Completed::of(story));
        if (&self.state.progress, &self.state.unmarked) != (&before.0, &before.1) {
            self.save()?;
        }
        let (done, total) = progress_of(&listing);
        self.emit(What::StoryProgress { done, total });
        self.refuse_unmarked(&listing)?;
        if self.state.unchanged >= MOST_UNCHANGED && self.state.progress.phase != Phase::Complete {
            // Whoever types the same command again has looked.
            self.state.unchanged = 0;
            self.save()?;
            return Err(Error::NothingChanged {
                change: self.change().to_string(),
                stories: MOST_UNCHANGED,
            });
        }
        Ok(StepEnd::Checkpointed)
    }

    fn after_failure(&mut self, judgement: Judgement, signal: Option<i32>) -> Result<Concluded, Error> {
        let Some(current) = self.state.progress.story.clone() else {
            return Err(Error::WrongPhase(self.change().to_string()));
        };
        let Judgement {
            verdict,
            reason,
            retry_after,
            advice,
            ..
        } = judgement;
        match verdict {
            Verdict::RateLimited | Verdict::Overloaded => Ok(Concluded::Unavailable(Unavailable {
                reason: reason.unwrap_or_else(|| verdict.to_string()),
                retry_after,
            })),
            Verdict::Interrupted if signal.is_some() => {
                Ok(Concluded::End(StepEnd::Interrupted(signal.unwrap_or_default())))
            }
            Verdict::Auth | Verdict::NotStarted | Verdict::Interrupted => Err(Error::AgentUnable {
                log: self.attempt_log(&current.id, current.attempt),
                story: current.id,
                verdict,
                reason,
                advice,
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
                Ok(Concluded::End(StepEnd::Failed { retries_left }))
            }
        }
    }
}
