//! Runs one git at a time that may run filters of the user's (gitattributes(5), `filter`): they may not be made for
//! working on the same file twice at once.

use tokio::sync::{Mutex, MutexGuard};

/// The git commands that compare files of the work tree, read or write them, or write an index: then git looks again at
/// the files that changed in the same second.
const VERBS: [&str; 11] = [
    "add",
    "checkout-index",
    "diff-files",
    "diff-index",
    "ls-files",
    "read-tree",
    "status",
    "stash",
    "update-index",
    "worktree",
    "write-tree",
];

/// Tells whether filters can run at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filters {
    /// Some are configured, or that is not known.
    #[default]
    Possible,
    /// None is configured.
    None,
}

/// Held by the one that runs.
static ONE: Mutex<()> = Mutex::const_new(());

impl Filters {
    /// Returns whether a command of git's may run filters.
    pub(super) fn run_in(self, verb: &str) -> bool {
        self == Self::Possible && VERBS.contains(&verb)
    }
}

/// Waits until no other git of this process runs filters.
pub(super) async fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().await
}
