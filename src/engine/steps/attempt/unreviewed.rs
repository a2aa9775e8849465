//! Work that its agent calls complete, whose gates passed, and whose review did not end: it stays in the work tree, and
//! the next step judges it without starting an agent again.

use super::{after_agent, begin, choose_story};
use crate::agent::decode::Report;
use crate::agent::promise::{Heard, Promise};
use crate::engine::attempt::begun::Begun;
use crate::engine::attempt::outcome::Outcome;
use crate::engine::attempt::verdict::Judgement;
use crate::engine::step_place::require_on_branch;
use crate::engine::step_refusal::StepRefusal;
use crate::engine::steps::restore::restore;
use crate::engine::stories::changes_only_the_list;
use crate::engine::story_refusal::StoryRefusal;
use crate::engine::{Loop, Step, users_head};
use crate::error::Error;
use crate::settings::{Mark, Settings};
use crate::state::{Phase, State};

/// Restores the work of an undone attempt in the work tree. If that fails, the work stays in its ref.
pub(super) async fn keep(open: &mut Loop<'_>, begun: &Begun) {
    // A session continues to work in this tree, and the marks of an agent are not restored.
    if open.state.session_at_work().is_some() || begun.settings.mark == Mark::Agent {
        return;
    }
    let attempt = format!("{}@{}", begun.story.id, begun.number);
    let restored = restore(open, &begun.story.id, Some(begun.number), true).await;
    open.tell(match restored {
        Ok(_) => format!("the work of {attempt} is in the work tree again; no reviewer has judged it"),
        Err(error) => format!("the work does not stay in the work tree: {error}"),
    });
}

/// Returns the work in the work tree as an attempt that has just ended, if it belongs to the next story: gates,
/// original tests and the reviewer judge it as they would have then. The user's edits since belong to it. The step is
/// the one that is due, whichever command was typed.
pub(super) async fn take_up(
    open: &mut Loop<'_>,
    settings: &Settings,
) -> Result<Option<(Outcome, Begun)>, Error> {
    let Some(attempt) = open.state.unreviewed().map(str::to_owned) else {
        return Ok(None);
    };
    users_head::follow(open).await?;
    require_on_branch(open).await?;
    let step = match open.state.phase() {
        Phase::Failed => Step::Retry,
        _ => Step::Next,
    };
    let chosen = match choose_story(open, step, settings).await {
        Err(Error::Story(StoryRefusal::NothingLeft { .. })) => return Err(refusal(&open.state, attempt)),
        chosen => chosen?,
    };
    refuse_other(&open.state, &chosen.1.id)?;
    if changes_only_the_list(open, &open.read_work_tree().await?) {
        // The user has removed the work.
        (open.state.here.restored, open.state.here.is_unreviewed) = (None, false);
        return Ok(None);
    }
    require_reviewer(&open.state, settings)?;
    open.attempt_record().forget()?;
    let list = open.site().read_story_list(open.state.source())?;
    let by_command = open.state.source().is_by_command();
    let mut begun = begin(open, Step::Manual, chosen, None, settings)?;
    // The user's changes to the list since stay.
    begun.facts.list = list.filter(|_| !by_command);
    open.tell(format!(
        "no reviewer has judged {attempt}: its work is judged again"
    ));
    let report = Report {
        heard: Heard::Promise(Promise::Complete),
        ..Report::default()
    };
    let outcome = Outcome::said(Judgement::complete(), report, String::new(), &begun.log);
    // New linked work trees are the user's.
    after_agent(open, &mut begun, false).await?;
    Ok(Some((outcome, begun)))
}

/// Returns whether a review of this story (of the last one without a name) is about work that waits for a review. A
/// review that names the number of an attempt is not.
pub fn waits_for_review(state: &State, story: Option<&str>, attempt: Option<u32>) -> bool {
    let waiting = state
        .unreviewed()
        .filter(|_| attempt.is_none() && state.is_live());
    let of = waiting.and_then(|waiting| Some(waiting.rsplit_once('@')?.0));
    of.is_some() && (story.is_none() || story == of)
}

/// Refuses to judge unreviewed work if no reviewer is configured.
fn require_reviewer(state: &State, settings: &Settings) -> Result<(), Error> {
    match state.unreviewed() {
        Some(attempt) if settings.review.is_empty() => Err(StepRefusal::NoReviewerNow {
            change: state.change.to_string(),
            attempt: attempt.to_owned(),
        }
        .into()),
        _ => Ok(()),
    }
}

/// Returns the attempt whose work a step at this story would judge instead of starting an agent.
///
/// # Errors
/// If that work belongs to another story, or no reviewer is configured.
pub fn judged_first<'s>(
    state: &'s State,
    story: &str,
    settings: &Settings,
) -> Result<Option<&'s str>, Error> {
    refuse_other(state, story)?;
    require_reviewer(state, settings)?;
    Ok(state.unreviewed())
}

/// Refuses a step at another story while the work tree has unreviewed work: it would be taken for the user's.
pub(crate) fn refuse_other(state: &State, story: &str) -> Result<(), Error> {
    match state.unreviewed() {
        Some(attempt) if attempt.rsplit_once('@').map(|(of, _)| of) != Some(story) => {
            Err(refusal(state, attempt.to_owned()))
        }
        _ => Ok(()),
    }
}

fn refusal(state: &State, attempt: String) -> Error {
    let change = state.change.to_string();
    StepRefusal::Unreviewed { change, attempt }.into()
}
