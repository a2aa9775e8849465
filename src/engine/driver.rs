//! The driver of `run`: the very steps that the commands are, one after the other, until a stop.

use jiff::Timestamp;

use super::machine::Step;
use super::{AttemptOptions, Session, StepEnd, progress_of, report};
use crate::error::Error;
use crate::events::What;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::state::Phase;

/// Why the driver stopped.
#[derive(Clone, Debug, PartialEq)]
pub enum Stopped {
    /// No story is left to do.
    Complete,
    /// A story has no retries left.
    RetriesSpent,
    /// A limit that the user set, in words; or the agent's service limits us.
    Limit(String),
    /// We were asked to stop by this signal.
    Signal(i32),
}

impl Stopped {
    /// The exit code when nobody chooses how to finish.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Complete => Exit::Done,
            Self::RetriesSpent => Exit::RetriesSpent,
            Self::Limit(_) => Exit::Limit,
            Self::Signal(signal) => Exit::Signal(*signal),
        }
    }
}

/// Drives a loop until it stops.
///
/// # Errors
/// What a step fails with; the loop can be resumed by the same command.
pub async fn run(session: &mut Session<'_>, options: &AttemptOptions) -> Result<Stopped, Error> {
    let settings = options
        .settings
        .clone()
        .unwrap_or_else(|| session.state.settings.clone());
    let mut attempts = 0;
    loop {
        if let Some(signal) = session.engine.stop.signal() {
            return Ok(Stopped::Signal(signal));
        }
        if let Some(limit) = limit_reached(session, &settings, attempts)? {
            return Ok(Stopped::Limit(limit));
        }
        let step = match session.state.progress.phase {
            Phase::Failed => Step::Retry,
            _ => Step::Next,
        };
        attempts += 1;
        match session.attempt(step, options).await {
            Ok(StepEnd::Checkpointed | StepEnd::Failed { retries_left: true }) => {}
            Ok(StepEnd::Failed { retries_left: false }) | Err(Error::RetriesSpent { .. }) => {
                return Ok(Stopped::RetriesSpent);
            }
            Ok(StepEnd::Limited) => {
                return Ok(Stopped::Limit("the agent's service limits the rate".to_owned()));
            }
            Ok(StepEnd::Interrupted(signal)) => return Ok(Stopped::Signal(signal)),
            Err(Error::NothingLeft { .. }) => {
                let listing = session.listing().await?;
                let (done, total) = progress_of(&listing);
                session.save()?;
                session.emit(What::Complete { done, total });
                return Ok(Stopped::Complete);
            }
            // The list was changed meanwhile so that another story is to be done first.
            Err(Error::NothingFailed(_)) if step == Step::Retry => {}
            Err(error) => return Err(error),
        }
    }
}

/// The limit that was reached, in words.
fn limit_reached(session: &Session<'_>, settings: &Settings, attempts: u32) -> Result<Option<String>, Error> {
    if let Some(most) = settings.max_attempts
        && attempts >= most
    {
        return Ok(Some(format!("{most} attempts (ralph.maxAttempts)")));
    }
    if let Some(longest) = settings.max_duration {
        let age = Timestamp::now().duration_since(session.state.started);
        if age >= longest {
            return Ok(Some(format!("the loop is {age:#} old (ralph.maxDuration)")));
        }
    }
    if let Some(most) = settings.max_cost {
        let spent: f64 = report::attempts(&session.file("events.jsonl"))?
            .iter()
            .filter_map(|entry| entry.attempt.cost_usd)
            .sum();
        if spent >= most {
            return Ok(Some(format!("${spent:.2} spent (ralph.maxCost)")));
        }
    }
    Ok(None)
}
