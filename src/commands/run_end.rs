//! Ends a run: prints the state of the loop, asks the user how to continue, and closes the loop.

use std::time::{Duration, Instant};

use super::choose::{AT_THE_END, choose, closes};
use super::notify::notify;
use crate::engine::question::Answered;
use crate::engine::{self, AttemptOptions, Finish, Loop, Step, Stopped};
use crate::error::Error;
use crate::events::{What, closings};
use crate::exit::Exit;
use crate::inspect::next_steps::Driver;
use crate::inspect::summary::Summary;
use crate::settings::{FinishChoice, OnFailure, Settings};
use crate::state::Phase;
use crate::ui::choice::Choice;
use crate::ui::{self, Screen};

/// The choices when a story has no retries left; the first one is only for a run.
pub(super) const AFTER_A_FAILURE: [Choice; 7] = [
    Choice::Retry,
    Choice::Skip,
    Choice::Diff,
    Choice::Log,
    Choice::Cleanup,
    Choice::Keep,
    Choice::Quit,
];

/// The state of a run whose loop has stopped.
pub(super) struct RunEnd {
    pub(super) stopped: Stopped,
    /// The start of the run, or the time of the last answer.
    pub(super) begun: Instant,
    /// The time since the command began.
    pub(super) took: Duration,
    /// True if the run was shown on the whole screen.
    pub(super) has_view: bool,
}

/// The result of a question.
enum Answer {
    /// The loop is closed in this way, or stays open.
    Close(Option<Finish>),
    /// The run continues, or another process ended the question.
    Turn(Turn),
}

/// The next step of a run whose loop has stopped.
pub(super) enum Turn {
    /// The run ends.
    Over(Exit),
    /// The run continues.
    Next,
    /// The run tries the failed story once more, and continues.
    Retry,
}

impl RunEnd {
    /// Reports the result of the run, and closes the loop as given, configured or chosen on a terminal, or leaves that
    /// to a later command.
    pub(super) async fn conclude(
        self,
        screen: Screen,
        open: &mut Loop<'_>,
        given: Option<Finish>,
        step: &AttemptOptions,
    ) -> Result<Turn, Error> {
        let mut summary = Summary {
            run: Some(self.took),
            ..Summary::of(open).await?
        };
        if matches!(self.stopped, Stopped::Skipped(_)) && summary.status.phase == Phase::Ready {
            summary.status.problem = Some("what is left waits for skipped stories".to_owned());
        }
        let at_its_end = !matches!(
            self.stopped,
            Stopped::Limit(_) | Stopped::Asked | Stopped::Signal(_)
        );
        let mut close = given
            .or(set_finish(&step.settings))
            .filter(|_| self.may_close(&step.settings));
        let asks = close.is_none() && at_its_end && screen.can_ask();
        // A user who is asked, or has already answered, need not type a command.
        let is_decided = asks || close.is_some();
        let text = self.tell(screen, open, &summary, is_decided).await;
        if asks {
            match self.ask(screen, open, text).await? {
                Answer::Close(chosen) => close = chosen,
                Answer::Turn(turn) => return Ok(turn),
            }
            if close.is_none() {
                screen.say(&ui::summary::next(&summary.status.next_steps(Driver::Run)));
            }
        }
        match close {
            Some(close) => engine::finish(open, close, None).await?,
            // Wait for the answer.
            None if at_its_end && !asks => open.emit(What::AwaitingChoice { options: closings() }),
            None => {}
        }
        Ok(Turn::Over(self.stopped.exit()))
    }

    /// Returns whether the loop may be closed without a question.
    fn may_close(&self, settings: &Settings) -> bool {
        match self.stopped {
            Stopped::Complete | Stopped::Skipped(_) | Stopped::OnlySkipped => true,
            Stopped::RetriesSpent => settings.on_failure == OnFailure::Finish,
            Stopped::Limit(_) | Stopped::Asked | Stopped::Signal(_) => false,
        }
    }

    /// Prints the state of the loop, and sends a notification. Returns the text, including the next commands unless the
    /// decision is already made.
    async fn tell(&self, screen: Screen, open: &Loop<'_>, summary: &Summary, is_decided: bool) -> String {
        let mut text = ui::summary::of(summary, why(&self.stopped, open).as_deref());
        if !is_decided {
            text.push_str(&ui::summary::next(&summary.status.next_steps(Driver::Run)));
        }
        screen.say(&text);
        let message = message(&self.stopped, open);
        if screen.quiet && self.stopped != Stopped::Complete {
            // `-q` still prints why it stopped.
            let loud = screen.loud();
            loud.say(&format!("{message}\n"));
        }
        notify(screen, open, self.begun, &message).await;
        text
    }

    /// Asks how to continue with the loop, and acts if the run is to continue.
    async fn ask(&self, screen: Screen, open: &mut Loop<'_>, text: String) -> Result<Answer, Error> {
        let possible: &[Choice] = match self.stopped {
            Stopped::RetriesSpent => &AFTER_A_FAILURE,
            _ => &AT_THE_END,
        };
        let (shown, exit) = (self.has_view.then_some(text), self.stopped.exit());
        let answered = choose(screen, open, possible, shown, Some(exit));
        let choice = match Box::pin(answered).await? {
            Answered::Here(choice) => choice,
            Answered::ToStop => Choice::Quit,
            Answered::ByOtherCommand if open.state.is_live() => return Ok(Answer::Turn(Turn::Next)),
            // Another command or a signal has ended the question.
            Answered::ByOtherCommand | Answered::Lost => {
                let signal = open.context.stop.signal();
                let exit = signal.map_or_else(|| self.stopped.exit(), Exit::Signal);
                return Ok(Answer::Turn(Turn::Over(exit)));
            }
        };
        match choice {
            Choice::Retry => Ok(Answer::Turn(Turn::Retry)),
            Choice::Skip => {
                let id = engine::skip(open, None, false).await?;
                screen.say(&format!("story {id} is skipped\n"));
                Ok(Answer::Turn(Turn::Next))
            }
            choice => Ok(Answer::Close(closes(choice))),
        }
    }
}

/// Returns how `ralph.finish` closes a loop.
fn set_finish(settings: &Settings) -> Option<Finish> {
    match settings.finish {
        FinishChoice::Ask => None,
        FinishChoice::Cleanup => Some(Finish::Cleanup { index: false }),
        FinishChoice::Keep => Some(Finish::Keep),
    }
}

/// Tries the failed story once more, beyond its limit; the other stories keep theirs.
pub(super) async fn retry_once(open: &mut Loop<'_>, step: &AttemptOptions) -> Result<(), Error> {
    let failures = open.state.current().map_or(0, |story| story.failures);
    let mut once = step.clone();
    once.settings.max_retries = failures;
    engine::attempt(open, Step::Retry, &once).await?;
    Ok(())
}

/// Returns one line about the result of a run.
fn message(stopped: &Stopped, open: &Loop<'_>) -> String {
    let change = open.change();
    match (stopped, open.state.current()) {
        (Stopped::Complete | Stopped::OnlySkipped, _) => format!("{change}: nothing is left to do"),
        (Stopped::RetriesSpent, Some(story)) => format!("{change}: story {} failed", story.id),
        (Stopped::RetriesSpent, None) => format!("{change}: a story failed"),
        (other, _) => format!("{change}: {}", why(other, open).unwrap_or_default()),
    }
}

/// Returns the reason why a run ended, if it is not a story.
fn why(stopped: &Stopped, open: &Loop<'_>) -> Option<String> {
    match stopped {
        Stopped::Complete | Stopped::OnlySkipped | Stopped::RetriesSpent => None,
        Stopped::Skipped(ids) => Some(format!("skipped, because they failed: {}", ids.join(", "))),
        Stopped::Limit(limit) => Some(engine::at_limit(limit)),
        Stopped::Asked => Some(engine::BY_REQUEST.to_owned()),
        Stopped::Signal(signal) => {
            let noted = open.state.here.stopped.clone();
            Some(noted.unwrap_or_else(|| engine::by_signal(*signal)))
        }
    }
}
