//! The journal: a step writes its plan as the state's intent before it changes anything, and applies it. After a crash
//! the same functions apply it again, from the top.

use super::Loop;
use crate::error::Error;
use crate::state::Intent;

/// Writes down what a step is about to do.
pub(super) fn begin(open: &mut Loop<'_>, intent: Intent) -> Result<(), Error> {
    // Whatever else is done to the work tree, it is no longer what was restored.
    open.state.restored = match &intent {
        Intent::Restore(plan) => plan.attempt.clone(),
        _ => None,
    };
    open.state.intent = Some(intent);
    open.save()
}

/// Writes down that the step is done, with whatever else it has changed in the state.
pub(super) fn end(open: &mut Loop<'_>) -> Result<(), Error> {
    open.state.intent = None;
    open.save()
}
