//! Ends a `git ralph complete` that was refused, by a gate for instance: the work tree is the user's and stays, and
//! nothing is counted.

use crate::engine::attempt::begun::Begun;
use crate::engine::attempt::outcome::Outcome;
use crate::engine::attempt::refusal::AttemptRefusal;
use crate::engine::{Loop, judged, lifecycle_hooks};
use crate::error::{Error, refuse};
use crate::events::What;
use crate::state::Verdict;

/// Records the refusal, removes the marks made since the user typed the command, and ends the attempt. Returns the
/// signal that ended the gates.
pub(super) async fn end(open: &mut Loop<'_>, begun: &Begun, outcome: Outcome) -> Result<i32, Error> {
    open.emit(What::AttemptEnded(Box::new(begun.ended(&outcome))));
    let (site, state) = (open.site(), &open.state);
    site.put_judged_list_back(state.source())?;
    judged::forget(open).await?;
    open.state.follow_cut_off_answer();
    open.advance(|progress| progress.end(Verdict::Interrupted, None, None))?;
    let reason = outcome.judgement.reason.clone();
    let reason = reason.filter(|_| outcome.judgement.verdict.counts());
    open.advance(|progress| progress.note_refused(reason))?;
    open.state.end_running();
    open.save()?;
    lifecycle_hooks::tell_hooks(open, Some(begun.about())).await?;
    match outcome.judgement.signal {
        Some(signal) => Ok(signal),
        None => refuse(AttemptRefusal::NotComplete {
            change: open.change().to_string(),
            story: begun.story.id.clone(),
            reason: outcome.judgement.reason.unwrap_or_default(),
        }),
    }
}
