//! Judges an attempt in a loop whose finished work is uncommitted: it may have discarded that work.

use std::collections::HashSet;

use crate::engine::Loop;
use crate::error::Error;
use crate::names::Oid;
use crate::paths::first_few;

/// Returns the reason why the tree `now` is no complete story: every tracked file with changes from before the attempt is
/// again as in HEAD, or as staged, like after `git reset --hard` or `git checkout .`, which take the work of earlier
/// stories along. A single such file is only reported: the story may have been to undo its change.
pub(super) async fn lost_work(open: &Loop<'_>, now: &Oid) -> Result<Option<String>, Error> {
    let state = &open.state;
    if state.has_branch() || *now == state.common.checkpoint_tree {
        return Ok(None);
    }
    let Some(head) = state.loop_head().oid else {
        return Ok(None);
    };
    let staged = state.here.save_points.last().map(|point| point.staged.clone());
    let mut bases = vec![open.git().tree_of(&head).await?];
    bases.extend(staged.filter(|staged| !bases.contains(staged)));
    for base in bases {
        let undone = undone(open, &base, now).await?;
        let names = first_few(&undone).join(", ");
        match undone.as_slice() {
            [] => {}
            [_] => open.tell(format!(
                "warning: the changes to {names} from before the attempt are undone"
            )),
            _ => {
                return Ok(Some(format!(
                    "all changes to {names} from before this attempt are gone (git reset, checkout, restore or \
                     stash?); they are the work of earlier stories or of the user, and must stay"
                )));
            }
        }
    }
    Ok(None)
}

/// Lists the tracked files in which the checkpoint differs from `base`, if `now` is like `base` in all of them.
async fn undone(open: &Loop<'_>, base: &Oid, now: &Oid) -> Result<Vec<Vec<u8>>, Error> {
    let git = open.git();
    // git-ralph itself has marked the story in its list.
    let list = open.state.source().path.as_bytes();
    let changed = git.diff_trees(base, open.state.checkpoint_tree()).await?;
    let changed = changed
        .into_iter()
        .filter(|(status, path)| *status != b'A' && path != list);
    let changed: Vec<Vec<u8>> = changed.map(|(_, path)| path).collect();
    if changed.is_empty() {
        return Ok(changed);
    }
    let still = git.diff_trees(base, now).await?;
    let still: HashSet<Vec<u8>> = still.into_iter().map(|(_, path)| path).collect();
    let is_undone = changed.iter().all(|path| !still.contains(path));
    Ok(if is_undone { changed } else { Vec::new() })
}
