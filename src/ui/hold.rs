//! Holds the words of the narration back while the view has the whole screen.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::trace;

static HOLDS: AtomicBool = AtomicBool::new(false);

/// Begins or ends to hold words back.
pub(super) fn set(holds: bool) {
    HOLDS.store(holds, Ordering::SeqCst);
    trace::hold(holds);
}

/// Returns whether words are held back now: they are in the events of the loop, which the view shows.
pub(super) fn holds() -> bool {
    HOLDS.load(Ordering::SeqCst)
}
