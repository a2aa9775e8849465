//! Work that its agent calls complete, whose gates passed, and whose review had no end: it stays in the work tree, and the
//! next step judges it again without another process of an agent.

use super::{after_agent, begin, choose_story};
use crate::agent::decode::Report;
use crate::agent::promise::{Heard, Promise};
use crate::engine::attempt::begun::Begun;
use crate::engine::attempt::outcome::Outcome;
use crate::engine::attempt::verdict::Judgement;
use crate::engine::steps::restore::restore_unreviewed;
use crate::engine::{Loop, Step, users_head};
use crate::error::Error;
use crate::settings::Settings;
use crate::state::AgentSession;

/// Puts the work of an attempt that was undone back into the work tree. Where that cannot be done, it stays in its ref.
pub(super) async fn keep(open: &mut Loop<'_>, begun: &Begun) {
    // The session works on in this tree.
    if open
        .state
        .here
        .session
        .as_ref()
        .is_some_and(AgentSession::is_at_work)
    {
        return;
    }
    if let Err(error) = restore_unreviewed(open, &begun.story.id, begun.number).await {
        open.tell(format!("the work does not stay in the work tree: {error}"));
    }
}

/// Returns the work in the work tree as an attempt that its agent has just ended, if it is of this step's story: gates, held
/// tests and the reviewer judge it as then. The user's edits since are a part of it.
pub(super) async fn take_up(
    open: &mut Loop<'_>,
    step: Step,
    settings: &Settings,
) -> Result<Option<(Outcome, Begun)>, Error> {
    let Some(attempt) = open.state.unreviewed().map(str::to_owned) else {
        return Ok(None);
    };
    users_head::follow(open).await?;
    open.position().await?.require_on_branch(&open.state)?;
    let chosen = choose_story(open, step, settings).await?;
    if attempt.rsplit_once('@').map(|(story, _)| story) != Some(&chosen.1.id) {
        return Ok(None);
    }
    open.attempt_record().forget()?;
    open.site().take_judged_list(open.state.source())?;
    let mut begun = begin(open, Step::Manual, chosen, None, settings)?;
    open.tell(format!(
        "no reviewer has judged {attempt}: its work is judged again"
    ));
    let report = Report {
        heard: Heard::Promise(Promise::Complete),
        ..Report::default()
    };
    let outcome = Outcome::said(Judgement::complete(), report, String::new(), &begun.log);
    after_agent(open, &mut begun, true).await?;
    Ok(Some((outcome, begun)))
}
