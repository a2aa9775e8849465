//! Suppresses the narration while the view has the whole screen.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::trace;

static HOLDS: AtomicBool = AtomicBool::new(false);

/// Begins or ends the suppression.
pub(super) fn set(holds: bool) {
    HOLDS.store(holds, Ordering::SeqCst);
    trace::hold(holds);
}

/// Returns whether the narration is suppressed: the view shows it from the events of the loop.
pub(super) fn holds() -> bool {
    HOLDS.load(Ordering::SeqCst)
}
