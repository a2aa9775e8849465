//! The error of hooks that cannot be installed or removed.

use crate::error::advice::{Advice, Advise, hint};

/// Something is in the way of the hooks; nothing was changed.
#[derive(Debug, thiserror::Error)]
#[error("cannot change git's hooks: {why}")]
pub struct GitHooksRefused {
    /// The reason.
    pub why: String,
    /// The command to type next.
    pub hint: String,
}

impl Advise for GitHooksRefused {
    fn advice(&self) -> Advice {
        hint(self.hint.as_str())
    }
}
