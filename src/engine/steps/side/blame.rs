//! Decides why gates fail on work that was merged with the work of other stories.

use crate::engine::attempt::begun::Begun;
use crate::engine::attempt::outcome::Beside;
use crate::engine::attempt::proof::{self, Gates};
use crate::engine::attempt::verdict::Judgement;
use crate::engine::transition::place;
use crate::engine::{Loop, judged};
use crate::error::Error;
use crate::names::Oid;
use crate::state::Verdict;

/// Runs failed gates once more on the merged tree, and, if they fail again, on the attempt's own tree. Returns their
/// final result on the merged tree; if the attempt passes alone, it is not blamed.
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
        // The result of the work alone is unknown.
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
        // The result of the work alone is unknown.
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

/// Returns whether a gate may have failed because of other stories: changes to tests are the attempt's own.
fn may_be_of_others(failed: &Judgement) -> bool {
    failed.verdict == Verdict::GateFailed && failed.signal.is_none() && !failed.with_held_tests
}
