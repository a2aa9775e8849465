//! Runs at most one git at a time that may run the user's filters (gitattributes(5), `filter`): a filter may not
//! support two runs on the same file at once.

use tokio::sync::{Mutex, MutexGuard};

/// The git commands that compare, read or write files of the work tree, or write an index: git then rereads files that
/// changed in the same second.
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

/// Whether filters can run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filters {
    /// Some are configured, or it is unknown.
    #[default]
    Possible,
    /// None is configured.
    None,
}

/// Held by the running git.
static ONE: Mutex<()> = Mutex::const_new(());

impl Filters {
    /// Returns whether a git command may run filters.
    pub(super) fn run_in(self, verb: &str) -> bool {
        self == Self::Possible && VERBS.contains(&verb)
    }
}

/// Waits until no other git of this process runs filters.
pub(super) async fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().await
}
