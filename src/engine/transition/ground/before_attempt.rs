//! All is as at the last checkpoint, before an attempt.

use super::way::{Left, Way};
use crate::engine::Loop;
use crate::engine::transition::known::Known;
use crate::error::Error;
use crate::fs::may_exist;
use crate::git::clear_operations;
use crate::protect::story_backup::Origin;
use crate::protect::{Return, restore_gate_files, story_backup, user_refs, users_index};

/// Goes back to the checkpoint, and puts back what the attempt changed outside the work tree. What it left goes into
/// the directory `trash` of the loop; submodules are kept under the name of the first kept commit, else `name`.
pub(super) async fn go_back(
    open: &Loop<'_>,
    way: Way<'_>,
    known: Known,
    trash: &str,
    name: String,
) -> Result<Left, Error> {
    let (checkpoint, position) = (open.checkpoint(), way.position);
    let moved =
        position.tip.as_ref() != Some(&checkpoint.commit) || position.head.oid != open.state.loop_head().oid;
    let kept = way.refs.move_with_loop(open, &position.head, way.why).await?;
    clear_operations(&open.context.repo).await?;
    let name = kept.first().map_or(name, |kept| kept.name.clone());
    let origin = if open.is_recovering {
        Origin::Files
    } else {
        Origin::Known
    };
    let (site, state) = (open.site(), &open.state);
    let trash = site.trash().join(trash);
    let went = checkpoint.go_to(site, known.reading, &trash, &name, open);
    let Return { touched, lost } = went.await?;
    restore_gate_files(site, &checkpoint, &trash, open).await?;
    story_backup::put_back(site, &checkpoint, state.source(), origin, open)?;
    user_refs::forget(site.slot);
    users_index::put_back(site).await?;
    users_index::forget(site)?;
    let changed = !known.is_fresh || moved || !touched.is_empty() || kept.len() > 1 || may_exist(&trash);
    Ok(Left {
        kept,
        lost,
        changed,
        ..Left::default()
    })
}
