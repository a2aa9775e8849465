//! Asks the user. The loop is unlocked until the answer: any other command can take its next step, which also answers
//! the question.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::sleep;

use super::recover::{Purpose, make_ready};
use super::{BY_REQUEST, Loop};
use crate::error::Error;
use crate::events::What;
use crate::held::UnderWay;
use crate::state::{AwaitingChoice, Ending, State, StateError, Store};

/// Interval at which the state is read while a question is asked.
const POLL: Duration = Duration::from_millis(100);
/// Number of reads after which the user is informed that another process has the loop.
const SHORT: u32 = 10;

/// Says that a question was answered by another process.
#[derive(Clone, Debug, Default)]
pub struct Over(Arc<AtomicBool>);

impl Over {
    /// Returns whether the question is no longer to be asked.
    pub fn is_over(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// The way in which a question ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered<T> {
    /// The user answered, and the loop is unchanged.
    Here(T),
    /// `git ralph stop` asked this process to end; the loop is unchanged.
    ToStop,
    /// Another command has continued the loop, which is open in its present state.
    ByOtherCommand,
    /// Another process has the loop, which is no longer open in this process.
    Lost,
}

/// Asks the user, and unlocks the loop meanwhile. `asking` ends early if another process has taken it.
pub async fn ask<T, A: Future<Output = Result<T, Error>>>(
    open: &mut Loop<'_>,
    asked: AwaitingChoice,
    asking: impl FnOnce(Over) -> A,
) -> Result<Answered<T>, Error> {
    let options = asked.options.clone();
    open.state.here.awaiting_choice = Some(asked.clone());
    open.save()?;
    open.emit(What::AwaitingChoice { options });
    let _under_way = UnderWay::begin();
    open.unlock();
    let over = Over::default();
    let asking = asking(over.clone());
    tokio::pin!(asking);
    let answer = tokio::select! {
        answer = &mut asking => answer,
        () = ended(&open.store, &asked) => {
            over.0.store(true, Ordering::SeqCst);
            asking.await
        }
    };
    let (before, by) = (open.state.clone(), open.store.holder());
    if !take_again(open).await? {
        return Ok(Answered::Lost);
    }
    if open.state.here.awaiting_choice.as_ref() == Some(&asked) {
        open.state.here.awaiting_choice = None;
        open.save()?;
        if open.store.is_asked_to_stop() {
            open.tell(BY_REQUEST);
            return Ok(Answered::ToStop);
        }
        return Ok(Answered::Here(answer?));
    }
    continue_after(open, &before, by).await
}

/// Waits until another command answers the question, or `git ralph stop` asks this process to end.
async fn ended(store: &Store, asked: &AwaitingChoice) {
    loop {
        sleep(POLL).await;
        let is_asked = match store.load() {
            Ok(state) => state.is_some_and(|state| state.here.awaiting_choice.as_ref() == Some(asked)),
            // The state is read again after the question.
            Err(_) => false,
        };
        if !is_asked || store.is_asked_to_stop() {
            return;
        }
    }
}

/// Takes the lock again, and reads the state; waits while another process works on the loop. Returns false if a signal
/// ends the wait, or the loop was replaced by another one.
async fn take_again(open: &mut Loop<'_>) -> Result<bool, Error> {
    let mut stop = open.context.stop.renewed();
    let mut looks = 0;
    loop {
        let is_there = |state: &State| state.is_same_loop(&open.state);
        if !open.store.load()?.as_ref().is_some_and(is_there) {
            show(open, "the loop is gone; another one may have begun".to_owned());
            return Ok(false);
        }
        let holder = match open.store.lock() {
            Ok(lock) => {
                // Another process may have changed it until the lock was taken.
                if let Some(state) = open.store.load()?.filter(|state| state.is_same_loop(&open.state)) {
                    open.relock(lock, state);
                    // The own work tree of a closed loop may be gone.
                    if open.state.is_live() {
                        open.context.head = open.repo().head().await?;
                    }
                    return Ok(true);
                }
                continue;
            }
            Err(StateError::Busy { holder, .. }) => holder,
            Err(error) => return Err(error.into()),
        };
        looks += 1;
        if looks == SHORT {
            let holder = holder.unwrap_or_else(|| "another process".to_owned());
            let words = format!("git-ralph ({holder}) works on the loop now; this run waits for its end");
            show(open, words);
        }
        tokio::select! {
            () = sleep(POLL) => {}
            _ = stop.asked(1) => return Ok(false),
        }
    }
}

/// Continues the loop after the process `by` has changed it.
async fn continue_after<T>(
    open: &mut Loop<'_>,
    before: &State,
    by: Option<i32>,
) -> Result<Answered<T>, Error> {
    let by = by.map_or_else(String::new, |by| format!(" (process {by})"));
    if open.state.asked().is_some() {
        show(open, format!("another git-ralph{by} asks about the loop now"));
        open.unlock();
        return Ok(Answered::Lost);
    }
    let what = difference(before, &open.state);
    open.tell(format!("answered elsewhere{by}: {what}"));
    if open.state.is_live() {
        make_ready(open, Purpose::Step).await?;
        open.save()?;
    }
    Ok(Answered::ByOtherCommand)
}

/// Describes the changes that another command made to the loop.
fn difference(before: &State, after: &State) -> String {
    let (was, is) = (before.progress(), after.progress());
    if !after.is_live() {
        let closed = after.here.closed.map_or("another command", Ending::command);
        return format!("the loop was closed by {closed}");
    }
    if let Some(id) = is.skipped.iter().find(|id| !was.skipped.contains(id)) {
        return format!("story {id} was skipped");
    }
    if let Some(id) = was.skipped.iter().find(|id| !is.skipped.contains(id)) {
        return format!("story {id} is no longer skipped");
    }
    if let Some(done) = is.completed.get(was.completed.len()..).and_then(<[_]>::last) {
        return format!("story {} was completed", done.id);
    }
    match &is.story {
        Some(story) if Some(story) != was.story.as_ref() => {
            format!(
                "story {} was attempted ({}@{})",
                story.id, story.id, story.attempt
            )
        }
        _ => "the loop was opened by another command".to_owned(),
    }
}

/// Shows a message that is no event of the loop: this process does not hold the lock.
fn show(open: &Loop<'_>, message: String) {
    open.context.tell(open.change(), message);
}
