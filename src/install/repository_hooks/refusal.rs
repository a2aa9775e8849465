//! The error of git's hooks that cannot be installed or taken out.

use crate::error::{Advice, Advise, hint};

/// Something stands in the way of the hooks; nothing was changed.
#[derive(Debug, thiserror::Error)]
#[error("cannot change git's hooks: {why}")]
pub struct GitHooksRefused {
    /// What stands in the way.
    pub why: String,
    /// What to type next.
    pub hint: String,
}

impl Advise for GitHooksRefused {
    fn advice(&self) -> Advice {
        hint(self.hint.as_str())
    }
}
