//! `run`: takes the same steps as the commands, one after the other, until it stops.

use super::attempt::limits::limit_reached;
use super::attempt::{BY_REQUEST, limit, note_stopped};
use crate::engine::step_refusal::StepRefusal;
use crate::engine::stories::{listing_of, progress_of, read_list};
use crate::engine::story_refusal::StoryRefusal;
use crate::engine::{AttemptOptions, Loop, Step, StepEnd, at_limit, attempt, by_signal, skip, transition};
use crate::error::Error;
use crate::events::What;
use crate::exit::Exit;
use crate::settings::OnFailure;
use crate::state::{Current, Progress};
use crate::stories::Listing;

/// The reason why the driver stopped.
#[derive(Clone, Debug, PartialEq)]
pub enum Stopped {
    /// No story is left to do.
    Complete,
    /// A story has no retries left.
    RetriesSpent,
    /// Every story is complete except these, which failed and were skipped.
    Skipped(Vec<String>),
    /// Every story is complete except those that the user skipped.
    OnlySkipped,
    /// A limit that the user set, or a limit of the agent's service, in words.
    Limit(String),
    /// `git ralph stop` asked the driver to stop.
    Asked,
    /// This signal asked git-ralph to stop.
    Signal(i32),
}

impl Stopped {
    /// Returns the exit code if the loop is not finished.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Complete => Exit::Done,
            Self::RetriesSpent | Self::Skipped(_) => Exit::RetriesSpent,
            Self::OnlySkipped => Exit::NoStory,
            Self::Limit(_) | Self::Asked => Exit::Limit,
            Self::Signal(signal) => Exit::Signal(*signal),
        }
    }
}

/// Returns why a loop without an open story is not complete: stories are skipped.
fn skipped(open: &Loop<'_>, listing: &Listing) -> Result<Stopped, Error> {
    let is_open = |id: &&String| listing.find(id).is_some_and(|story| !story.done);
    let skipped: Vec<&String> = open.state.progress().skipped.iter().filter(is_open).collect();
    if skipped.is_empty() {
        return Ok(Stopped::Complete);
    }
    let reader = open.history()?;
    let has_failed = |id: &&&String| {
        let last = reader.history.ended().rfind(|entry| entry.attempt.story == ***id);
        last.is_some_and(|entry| entry.attempt.verdict.counts())
    };
    let failed: Vec<String> = skipped
        .iter()
        .filter(has_failed)
        .map(|id| (*id).clone())
        .collect();
    Ok(match failed.as_slice() {
        [] => Stopped::OnlySkipped,
        _ => Stopped::Skipped(failed),
    })
}

/// Notes why a run of several parallel stories ended, and turns to the story that ended it. Returns the reason, with
/// the cost until all of them had ended.
pub fn note_end_of_run(open: &mut Loop<'_>, stopped: Stopped, options: &AttemptOptions) -> Stopped {
    let stopped = match (limit_reached(open, &options.settings, options.started), stopped) {
        (Ok(Some(limit)), Stopped::Limit(_)) => Stopped::Limit(limit),
        (_, stopped) => stopped,
    };
    let left = open.advance(Progress::leave_unfailed);
    let why = match &stopped {
        Stopped::Signal(signal) => Some(by_signal(*signal)),
        Stopped::Asked => Some(BY_REQUEST.to_owned()),
        Stopped::Limit(limit) => Some(at_limit(limit)),
        Stopped::RetriesSpent => {
            let progress = open.state.progress();
            let is_spent = |story: &&Current| story.failures > progress.max_retries;
            let spent = progress
                .beside
                .iter()
                .find(is_spent)
                .map(|story| story.id.clone());
            if let Some(spent) = spent
                && let Err(error) = open.advance(|progress| progress.turn_to(&spent))
            {
                open.tell(format!("cannot note why it stopped: {error}"));
            }
            None
        }
        Stopped::Complete | Stopped::Skipped(_) | Stopped::OnlySkipped => None,
    };
    if let (None, Err(error)) = (&why, left.and_then(|()| open.save())) {
        open.tell(format!("cannot note why it stopped: {error}"));
    }
    note_stopped(open, why);
    stopped
}

/// Returns whether a story is still put off.
fn has_put_off(open: &Loop<'_>) -> bool {
    let progress = open.state.progress();
    let mut put_off = progress.put_off.iter();
    put_off.any(|other| progress.skipped.contains(&other.story.id))
}

/// Drives a loop, one step per turn.
#[derive(Debug)]
pub struct Driver {
    options: AttemptOptions,
}

impl Driver {
    /// Begins to drive a loop; the options may allow a story more retries than before.
    pub fn new(open: &mut Loop<'_>, options: &AttemptOptions) -> Result<Self, Error> {
        limit(open, options)?;
        open.puts_off = (options.settings.on_failure == OnFailure::Later).then_some(0);
        Ok(Self {
            options: options.clone(),
        })
    }

    /// Takes the next step; returns the reason if the loop stops here.
    ///
    /// # Errors
    /// The error of the step that failed; the same command resumes the loop.
    pub async fn turn(&mut self, open: &mut Loop<'_>) -> Result<Option<Stopped>, Error> {
        if let Some(signal) = open.context.stop.signal() {
            note_stopped(open, Some(by_signal(signal)));
            return Ok(Some(Stopped::Signal(signal)));
        }
        if open.store.is_asked_to_stop() {
            note_stopped(open, Some(BY_REQUEST.to_owned()));
            return Ok(Some(Stopped::Asked));
        }
        open.puts_off = open.puts_off.map(|_| 0);
        let step = open.state.progress().next_step();
        let end = attempt(open, step, &self.options).await;
        self.options.started += 1;
        match end {
            Ok(StepEnd::Checkpointed | StepEnd::Skipped | StepEnd::Failed { retries_left: true }) => Ok(None),
            Ok(StepEnd::Failed { retries_left: false })
            | Err(Error::Step(StepRefusal::RetriesSpent { .. })) => self.give_way(open).await,
            Ok(StepEnd::Limited(limit)) => Ok(Some(Stopped::Limit(limit))),
            Ok(StepEnd::Asked) => Ok(Some(Stopped::Asked)),
            Ok(StepEnd::Interrupted(signal)) => Ok(Some(Stopped::Signal(signal))),
            Err(Error::Story(StoryRefusal::NothingLeft { .. } | StoryRefusal::Blocked(_)))
                if has_put_off(open) =>
            {
                Self::take_up(open).await
            }
            Err(Error::Story(StoryRefusal::NothingLeft { .. })) => Ok(Some(Self::complete(open).await?)),
            Err(Error::Story(StoryRefusal::Blocked(waits))) => {
                Self::wait_for_skipped(open, waits).await.map(Some)
            }
            // The list has changed meanwhile, and another story is next.
            Err(Error::Step(StepRefusal::NothingFailed(_))) if step == Step::Retry => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Puts off or skips the current story, which has no retries left; or stops there.
    pub async fn give_way(&self, open: &mut Loop<'_>) -> Result<Option<Stopped>, Error> {
        let on_failure = self.options.settings.on_failure;
        if on_failure == OnFailure::Later && transition::may_wait(open) {
            let beside = open.puts_off.unwrap_or_default();
            open.advance(|progress| progress.put_off(progress.completed.len().saturating_sub(beside)))?;
            read_list(open).await?;
            open.save()?;
            return Ok(None);
        }
        if on_failure != OnFailure::Skip {
            return Ok(Some(Stopped::RetriesSpent));
        }
        let id = skip(open, None, false).await?;
        open.tell(format!("story {id} is skipped, because it failed"));
        Ok(None)
    }

    /// Resumes a story that was put off, or stops at the first one.
    async fn take_up(open: &mut Loop<'_>) -> Result<Option<Stopped>, Error> {
        if let Some(id) = open.state.common.progress.take_up() {
            read_list(open).await?;
            open.save()?;
            open.tell(format!("story {id} was put off, and is tried again"));
            return Ok(None);
        }
        if let Some(id) = open.state.common.progress.give_up() {
            read_list(open).await?;
            open.save()?;
            open.emit(transition::given_up(open, id));
        }
        Ok(Some(Stopped::RetriesSpent))
    }

    /// Stops a loop whose remaining stories all wait for others, some of which failed and were skipped.
    async fn wait_for_skipped(open: &Loop<'_>, waits: Vec<String>) -> Result<Stopped, Error> {
        let listing = listing_of(&open.state, &open.repo().top).await?;
        let blocked = StoryRefusal::Blocked(waits);
        match skipped(open, &listing)? {
            Stopped::Skipped(failed) => {
                open.save()?;
                open.tell(blocked.to_string());
                Ok(Stopped::Skipped(failed))
            }
            _ => Err(blocked.into()),
        }
    }

    /// Ends a loop without an open story.
    async fn complete(open: &Loop<'_>) -> Result<Stopped, Error> {
        let listing = listing_of(&open.state, &open.repo().top).await?;
        let (done, total) = progress_of(&listing);
        open.save()?;
        open.emit(What::complete(done, total));
        skipped(open, &listing)
    }
}
