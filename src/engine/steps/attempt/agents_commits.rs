//! Leaves commits of the agent out of the loop's branch that have files which git ignored when the loop began, such as
//! `.env`: a branch is pushed with all its commits. A ref of this repository keeps them.

use crate::engine::Loop;
use crate::error::Error;
use crate::names::Oid;
use crate::paths::first_few;
use crate::refs::KeptRef;

/// Returns the parent of a checkpoint that would be made on the commit `tip`: this, or the last checkpoint and the ref that keeps
/// `tip`. One git process if there are commits on the last checkpoint.
pub(super) async fn parent_without_ignored(
    open: &Loop<'_>,
    tip: Oid,
) -> Result<(Oid, Option<KeptRef>), Error> {
    let checkpoint = open.state.checkpoint();
    let added = open.git().added_in_commits(checkpoint, &tip).await?;
    let ignored = open.site().ignored_at_start(added.iter())?;
    if ignored.is_empty() {
        return Ok((tip, None));
    }
    let kept = KeptRef::new(open.change().ralph_ref(&format!("replaced/{}", tip.short())), tip);
    open.tell(format!(
        "the agent committed what git ignored when the loop began, so its commits are not below the checkpoint: {} (kept: git log {})",
        first_few(&ignored).join(", "),
        kept.name
    ));
    Ok((checkpoint.clone(), Some(kept)))
}
