//! One attempt at a story, from the look before it to its end.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;

use jiff::Timestamp;

use super::backoff::{Backoff, Waited};
use super::conclude::{Concluded, StepEnd};
use super::progress::Step;
use super::run_agent::{Begun, run_name};
use super::{Session, agent_of, progress_of};
use crate::agent::Agent;
use crate::error::Error;
use crate::events::What;
use crate::fs::FileError;
use crate::settings::Settings;
use crate::state::{Phase, Running};
use crate::stories::{Listing, Story};

/// What may be said on the command line of a step.
#[derive(Clone, Debug, Default)]
pub struct AttemptOptions {
    /// The agent given after `--`.
    pub agent: Vec<OsString>,
    /// Settings that hold for this step; `None`: the frozen ones.
    pub settings: Option<Settings>,
    /// How many attempts this command has begun before.
    pub started: u32,
}

impl Session<'_> {
    /// One attempt at the next story (`next`), or one more at the story that failed (`retry`).
    ///
    /// # Errors
    /// When the loop's state does not allow it (exit 3, 4 or 5), a person is needed (exit 7), the agent
    /// cannot work at all, or git fails. After an error the work tree is at a checkpoint, or the next
    /// command brings it there.
    pub async fn attempt(&mut self, step: Step, options: &AttemptOptions) -> Result<StepEnd, Error> {
        super::refuse_inside_attempt()?;
        let settings = self.step_settings(options);
        let frozen_retries = self.state.progress.max_retries;
        self.advance(|progress| progress.limit(settings.max_retries))?;
        let end = self.attempt_with_backoff(step, options, &settings).await;
        if settings.max_retries != frozen_retries && self.state.progress.phase != Phase::Running {
            self.advance(|progress| progress.limit(frozen_retries))?;
            self.save()?;
        }
        end
    }

    pub(super) fn step_settings(&self, options: &AttemptOptions) -> Settings {
        options
            .settings
            .clone()
            .unwrap_or_else(|| self.state.settings.clone())
    }

    /// Attempts until the agent's service answers, or is not to be waited for.
    async fn attempt_with_backoff(
        &mut self,
        step: Step,
        options: &AttemptOptions,
        settings: &Settings,
    ) -> Result<StepEnd, Error> {
        let mut backoff = Backoff::default();
        loop {
            let unavailable = match Box::pin(self.attempt_within(step, options, settings)).await? {
                Concluded::End(end) => return Ok(end),
                Concluded::Unavailable(unavailable) => unavailable,
            };
            match self.wait_for_service(&mut backoff, &unavailable, settings).await {
                Waited::Over => {}
                Waited::TooLong(why) => return Ok(StepEnd::Limited(why)),
                Waited::Interrupted(signal) => return Ok(StepEnd::Interrupted(signal)),
            }
        }
    }

    async fn attempt_within(
        &mut self,
        step: Step,
        options: &AttemptOptions,
        settings: &Settings,
    ) -> Result<Concluded, Error> {
        let (mut listing, mut story) = self.begin_story(step, settings).await?;
        if let Some(limit) = self.limit_reached(settings, options.started)? {
            return Ok(Concluded::End(StepEnd::Limited(limit)));
        }
        let agent = self.require_agent(step, &options.agent, settings)?;
        match self.before_attempt(&story, &listing).await? {
            Err(signal) => return Ok(Concluded::End(StepEnd::Interrupted(signal))),
            Ok(true) => (listing, story) = self.begin_story(step, settings).await?,
            Ok(false) => {}
        }
        self.settle(&story.id).await?;
        if self.tell_hooks(None).await? {
            // What such a hook changes is no work of the attempt either; nobody is told of that.
            self.settle(&story.id).await?;
            self.due.clear();
        }
        self.settled = false;
        // All that can fail comes before the attempt is said to run.
        let text = self.prompt_text(&story, settings)?;
        self.copy_source()?;
        self.copy_ignored().await?;
        self.save_own_files()?;
        self.record_refs().await?;
        let begun = self.begin(step, &story, &listing)?;
        let judged = self.run_agent(&agent, &story, &text, settings, &begun).await?;
        self.conclude(&story, &listing, judged, settings, begun).await
    }

    /// Reads the list and finds the story that this step is about. What is complete has to be marked as
    /// that first; but for that, nothing is saved yet.
    pub(crate) async fn begin_story(
        &mut self,
        step: Step,
        settings: &Settings,
    ) -> Result<(Listing, Story), Error> {
        let listing = self.list_stories().await?;
        let listing = self.require_marks(listing, settings).await?;
        // Before anything else: the phase may not allow the step at all. A list may have got another story since.
        if self.state.progress.phase != Phase::Complete {
            self.advance(|progress| progress.may_begin(step))?;
        }
        let story = self.story_to_do(&listing)?;
        Ok((listing, story))
    }

    fn require_agent(&self, step: Step, given: &[OsString], settings: &Settings) -> Result<Agent, Error> {
        let command = if step == Step::Retry { "retry" } else { "next" };
        let top = &self.engine.repo.top;
        let agent = agent_of(given, settings, top).ok_or_else(|| Error::NoAgent(command.to_owned()))?;
        match agent.command.missing_program(top) {
            Some(missing) => Err(Error::AgentMissing(missing)),
            None => Ok(agent),
        }
    }

    /// Opens the attempt: number, log, mark; the state says `running` from here on.
    pub(super) fn begin(&mut self, step: Step, story: &Story, listing: &Listing) -> Result<Begun, Error> {
        self.leave_agent_session();
        self.begin_at(Timestamp::now(), step, story, listing)
    }

    /// Opens an attempt that has been made since that time.
    pub(crate) fn begin_at(
        &mut self,
        since: Timestamp,
        step: Step,
        story: &Story,
        listing: &Listing,
    ) -> Result<Begun, Error> {
        let number = self.next_attempt_number(&story.id);
        let log_path = self.attempt_log(&story.id, number);
        let log = OpenOptions::new()
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(&log_path)
            .map_err(|source| {
                Error::File(FileError {
                    what: "make",
                    path: log_path,
                    source,
                })
            })?;
        let begun = Begun {
            number,
            since,
            log,
            run: run_name(Timestamp::now()),
        };
        self.advance(|progress| progress.begin(step, &story.id, &story.title, number))?;
        self.state.waits_until = None;
        self.state.noted = None;
        self.state.running = Some(Running {
            run: begun.run.clone(),
            since,
            by_hand: step == Step::Manual,
            pid: None,
            started: None,
        });
        self.save()?;
        let failures = self
            .state
            .progress
            .story
            .as_ref()
            .map_or(0, |story| story.failures);
        let (done, total) = progress_of(listing);
        self.emit(What::AttemptStarted {
            story: story.id.clone(),
            title: story.title.clone(),
            attempt: number,
            retries: failures,
            max_retries: self.state.progress.max_retries,
            done,
            total,
        });
        Ok(begun)
    }
}
