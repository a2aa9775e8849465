//! Lifecycle hooks: git hooks of the user's around the steps of a loop (contract section 9), run by
//! `git hook run`, so that `core.hooksPath` and configured hooks apply. `table` says which there are.
//!
//! Where none can exist no process is started. What they do is looked at as if a person had done it: after one
//! has run, nothing that was known before is relied upon. None runs while an attempt is being judged, and none before
//! git's own files are put back: a hook that an agent planted is gone by then.

mod run;
mod table;

use super::Session;
use super::finish::Finish;
use super::run_agent::{Begun, Outcome};
use super::verdict::Judgement;
use crate::error::Error;
use crate::events::{Event, What};
use crate::names::Oid;
use crate::refs::KeptRef;
use crate::state::Verdict;
use crate::stories::{Listing, Story};

pub(super) use run::HookRun;
use run::{Call, LOG, Said};
pub use table::{Hook, Row, TABLE};

impl Session<'_> {
    /// `ralph-pre-attempt`. Says whether it ran; inside: that we were asked to stop.
    pub(super) async fn before_attempt(
        &mut self,
        story: &Story,
        listing: &Listing,
    ) -> Result<Result<bool, i32>, Error> {
        let failures = self.state.progress.story.as_ref();
        let failures = failures.filter(|current| current.id == story.id);
        let number = self.next_attempt_number(&story.id);
        let (done, total) = super::progress_of(listing);
        let event = What::AttemptStarted {
            story: story.id.clone(),
            title: story.title.clone(),
            attempt: number,
            retries: failures.map_or(0, |current| current.failures),
            max_retries: self.state.progress.max_retries,
            done,
            total,
        };
        let call = Call {
            hook: Hook::PreAttempt,
            story: Some(&story.id),
            title: Some(&story.title),
            attempt: Some(number),
            event: self.event_of(event),
            log: None,
        };
        match self.call(call).await? {
            Said::Nothing => Ok(Ok(false)),
            Said::Yes => Ok(Ok(true)),
            Said::No(why, _) => Err(self.refused(Hook::PreAttempt, why).await?),
            Said::Interrupted(signal) => Ok(Err(signal)),
        }
    }

    /// `ralph-pre-checkpoint`. Gives the judgement if it says no.
    pub(super) async fn before_checkpoint(
        &mut self,
        story: &Story,
        begun: &Begun,
        outcome: &mut Outcome,
    ) -> Result<Option<Judgement>, Error> {
        let hook = Hook::PreCheckpoint;
        if !self.may_be(hook).await? {
            return Ok(None);
        }
        let before = self.read_work_tree().await?.tree;
        let call = Call {
            hook,
            story: Some(&story.id),
            title: Some(&story.title),
            attempt: Some(begun.number),
            event: self.event_of(What::AttemptEnded(begun.ended(story, outcome))),
            log: Some(&begun.log),
        };
        let said = self.call(call).await?;
        if !matches!(said, Said::Nothing) {
            self.keep_before_hook(&before, story, begun).await?;
        }
        let name = hook.name();
        let refused = match said {
            Said::Nothing | Said::Yes => None,
            Said::Interrupted(signal) => {
                outcome.signal = Some(signal);
                let why = format!("stopped by signal {signal}");
                Some(Judgement::new(Verdict::Interrupted, why))
            }
            Said::No(why, tail) => {
                let reason = format!(
                    "the hook {name} said no ({why}); the end of its output:\n\n{}",
                    tail.text()
                );
                Some(Judgement::new(Verdict::GateFailed, reason.trim_end()))
            }
        };
        Ok(refused)
    }

    /// What a hook changes goes into the checkpoint, or away with the attempt: the work as it was before is
    /// kept beside it.
    async fn keep_before_hook(&mut self, before: &Oid, story: &Story, begun: &Begun) -> Result<(), Error> {
        let Some(names) = self.changed_since(before).await? else {
            return Ok(());
        };
        let git = &self.engine.repo.git;
        let name = self.state.change.attempt_ref(&story.id, begun.number);
        let name = format!("{name}-before-hook");
        let message = format!("what the hook {} was given", Hook::PreCheckpoint.name());
        let commit = git
            .commit_tree(before, &[&self.state.checkpoint], &message)
            .await?;
        let kept = KeptRef { name, oid: commit };
        let kept = git.keep(&[kept], "ralph: before a hook").await?;
        let name = kept.into_iter().map(|kept| kept.name).collect::<String>();
        self.tell(format!(
            "the hook {} changed files: {names}; as they were before it: git show {name}",
            Hook::PreCheckpoint.name()
        ));
        Ok(())
    }

    /// `ralph-pre-finish`.
    pub(super) async fn before_finish(&mut self, how: Finish) -> Result<(), Error> {
        let (how, branch) = match how {
            Finish::Cleanup { .. } => ("cleanup", self.state.original_branch.clone()),
            Finish::Keep => ("keep", Some(self.state.branch.clone())),
        };
        let event = What::Finished {
            how: how.to_owned(),
            branch,
            kept: self.state.change.ralph_ref("finished"),
        };
        let call = Call {
            hook: Hook::PreFinish,
            story: None,
            title: None,
            attempt: None,
            event: self.event_of(event),
            log: None,
        };
        match self.call(call).await? {
            Said::Nothing | Said::Yes => Ok(()),
            Said::No(why, _) => Err(self.refused(Hook::PreFinish, why).await?),
            Said::Interrupted(signal) => Err(Error::Stopped(signal)),
        }
    }

    /// Tells the hooks of what has happened in this step; says whether any ran. Nothing is under way.
    pub(super) async fn tell_hooks(&mut self, about: Option<(&Story, &Begun)>) -> Result<bool, Error> {
        let mut ran = false;
        for event in std::mem::take(&mut self.due) {
            let Some(hook) = Hook::after(&event.what) else {
                continue;
            };
            let (story, attempt) = match &event.what {
                What::AttemptEnded(attempt) => (Some(attempt.story.clone()), Some(attempt.attempt)),
                What::Checkpoint { story, attempt, .. } | What::Reverted { story, attempt, .. } => {
                    (story.clone(), *attempt)
                }
                _ => (None, None),
            };
            let call = Call {
                hook,
                story: story.as_deref(),
                title: about.map(|(story, _)| story.title.as_str()),
                attempt,
                event,
                log: about.map(|(_, begun)| &begun.log),
            };
            match self.call(call).await? {
                Said::Nothing => continue,
                Said::Yes => {}
                Said::No(why, _) => {
                    self.tell(format!("warning: the hook {} failed ({why})", hook.name()));
                }
                Said::Interrupted(_) => {
                    self.tell(format!("warning: the hook {} was stopped", hook.name()));
                }
            }
            ran = true;
        }
        Ok(ran)
    }

    fn event_of(&self, what: What) -> Event {
        Event::now(self.change().as_str(), what)
    }

    /// Where a person finds the hook that said no.
    async fn refused(&mut self, hook: Hook, why: String) -> Result<Error, Error> {
        self.may_be(hook).await?;
        let hooks = self.engine.configuration.hooks.as_ref();
        let file = hooks.and_then(|hooks| hooks.file(&self.engine.repo, hook.name()));
        Ok(Error::HookRefused {
            hook: hook.name(),
            why,
            file: file.filter(|file| file.exists()),
            log: self.file(LOG),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_names() {
        for row in TABLE {
            assert_eq!(row.name, row.hook.name());
        }
    }
}
