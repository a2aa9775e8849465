//! Decides why gates fail on work that was merged with that of other stories.

use crate::engine::attempt::begun::Begun;
use crate::engine::attempt::outcome::Beside;
use crate::engine::attempt::proof::{self, Gates};
use crate::engine::attempt::verdict::Judgement;
use crate::engine::transition::place;
use crate::engine::{Loop, judged};
use crate::error::Error;
use crate::names::Oid;
use crate::state::Verdict;

/// Runs gates that have failed on the merged tree once more on it, and, if they fail again, on the attempt's own tree. Returns
/// what they say of the merged tree in the end; where the attempt alone passes, it is not its fault.
pub(crate) async fn blame(
    open: &Loop<'_>,
    begun: &Begun,
    beside: &Beside,
    (merged, failed): (&Oid, Judgement),
) -> Result<Result<Gates, Judgement>, Error> {
    if !may_be_of_others(&failed) {
        return Ok(Err(failed));
    }
    open.tell("the gates failed on the merged work: they run once more");
    if let Some(why) = place(open, merged).await? {
        return Ok(Err(Judgement::new(Verdict::Conflict, why)));
    }
    let failed = match proof::run(open, begun, true).await? {
        Ok(gates) => return Ok(Ok(gates)),
        Err(failed) if !may_be_of_others(&failed) => return Ok(Err(failed)),
        Err(failed) => failed,
    };
    let (base, own) = (beside.base.short(), &beside.own);
    open.tell(format!(
        "the gates run on this work alone, as it was made on {base}"
    ));
    if place(open, own).await?.is_some() {
        // Nothing is known of the work alone.
        return Ok(Err(failed));
    }
    let alone = proof::run(open, begun, false).await?;
    if let Some(why) = place(open, merged).await? {
        return Ok(Err(Judgement::new(Verdict::Conflict, why)));
    }
    judged::keep(open, merged, None).await?;
    Ok(Err(match alone {
        Err(alone) if alone.signal.is_some() => alone,
        Err(_) => failed,
        // Nothing is known of the work alone.
        Ok(gates) if gates.are_on_others() => failed,
        Ok(_) => {
            let why = failed.reason.unwrap_or_default();
            let tip = open.state.checkpoint().short();
            let others = &beside.published;
            Judgement::new(
                Verdict::Conflict,
                format!("passes on {base}, fails on {tip}{others}: {why}"),
            )
        }
    }))
}

/// Returns whether a gate failed on the work as it is: what the attempt did to tests is its own doing.
fn may_be_of_others(failed: &Judgement) -> bool {
    failed.verdict == Verdict::GateFailed && failed.signal.is_none() && !failed.with_held_tests
}
