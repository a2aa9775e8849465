//! Watches a reviewer, which may only read: its changes are kept, and undone in the work tree.
//!
//! Ignored files stay as the reviewer left them, as after a gate.

use crate::engine::position::Position;
use crate::engine::watch::{self, Watch, Who};
use crate::engine::{Loop, judged};
use crate::error::Error;
use crate::names::Oid;
use crate::state::JudgedTree;

/// The state of the repository before a reviewer runs.
pub(super) struct Before {
    /// The tree of the work tree.
    pub tree: Oid,
    position: Position,
    record: JudgedTree,
    watch: Option<Watch>,
}

/// Records the state before a reviewer runs, and keeps the tree that was just read by a ref; `in_place` is the tree
/// that the reviewer sees instead.
pub(super) async fn begin(open: &Loop<'_>, tree: Oid, in_place: Option<&Oid>) -> Result<Before, Error> {
    let record = judged::keep(open, &tree, in_place).await?;
    Ok(Before {
        tree,
        position: open.position().await?,
        record,
        watch: watch::begin(open, Who::Reviewer).await?,
    })
}

/// Undoes the changes of the reviewer, once none of its processes is alive; keeps its files under names that begin with
/// `name`.
pub(super) async fn end(open: &Loop<'_>, before: Before, name: &str) -> Result<(), Error> {
    watch::end_kept(open, before.watch, name).await?;
    judged::put_back(open, before.record).await
}

/// Compares the state after a reviewer that ran in the user's work tree. Restores only the files that instruct agents,
/// because the user may have made the other changes meanwhile. If the state differs, a ref keeps the previous one.
pub(super) async fn end_in_users_work_tree(open: &Loop<'_>, before: Before, name: &str) -> Result<(), Error> {
    watch::end_kept(open, before.watch, name).await?;
    judged::put_files_back(open, &before.record).await?;
    if open.position().await? != before.position {
        open.tell("HEAD was moved during the review; nothing is put back");
    }
    if let Some(names) = watch::changed_since(open, &before.tree).await? {
        let kept = judged::keep_commit(open, &before.record.commit).await?;
        open.tell(format!(
            "files changed during the review (by the reviewer or another process): {names}; to compare with what was there before: git diff {kept}"
        ));
    }
    judged::forget(open).await
}
