//! The journal: a step writes its plan as the state's intent before it changes anything, and applies it. After a crash
//! the same functions apply it again, from the top.

use super::Loop;
use crate::error::Error;
use crate::fs::Durability;
use crate::state::Intent;

/// Records the plan of a step in the state.
pub(super) fn begin(open: &mut Loop<'_>, intent: Intent) -> Result<(), Error> {
    // Any other step means that the work tree is no longer as it was restored.
    let here = &mut open.state.here;
    (here.restored, here.is_unreviewed) = match &intent {
        Intent::Restore(plan) => (plan.attempt.clone(), plan.is_unreviewed),
        _ => (None, false),
    };
    open.state.intent = Some(intent);
    open.save()
}

/// Records that the step is done, with its other changes to the state.
pub(super) fn end(open: &mut Loop<'_>) -> Result<(), Error> {
    open.state.intent = None;
    // If a power cut brings the intent back, the plan is applied once more.
    open.save_for(Durability::Whole)
}
