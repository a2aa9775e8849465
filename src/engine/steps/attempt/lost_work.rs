//! Judges an attempt in a loop whose finished work is uncommitted: it may have discarded that work.

use std::collections::HashSet;

use crate::engine::Loop;
use crate::error::Error;
use crate::names::Oid;
use crate::paths::first_few;

/// Returns the reason why the tree `now` is no complete story: every tracked file with changes from before the attempt
/// is again as in HEAD, or as staged, as after `git reset --hard` or `git checkout .`, or every file that was new is
/// gone, as after `git clean`; these commands discard the work of earlier stories. Files changed only by the loop are
/// judged separately: an edit or a file of the user's that stays proves nothing. A single such file is only reported:
/// the story may have been to undo its change.
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
    let initial = open.git().tree_of(state.initial()).await?;
    for base in staged.into_iter().chain([initial]) {
        if !bases.contains(&base) {
            bases.push(base);
        }
    }
    let mut named = HashSet::new();
    for base in bases {
        for undone in undone(open, &base, now).await? {
            let names = first_few(&undone).join(", ");
            match undone.as_slice() {
                [] => {}
                [path] => {
                    if named.insert(path.clone()) {
                        open.tell(format!(
                            "warning: the changes to {names} from before the attempt are undone"
                        ));
                    }
                }
                _ => {
                    return Ok(Some(format!(
                        "all changes to {names} from before this attempt are gone (git reset, checkout, restore, clean \
                         or stash?); they are the work of earlier stories or of the user, and must stay"
                    )));
                }
            }
        }
    }
    Ok(None)
}

/// Lists the tracked files in which the checkpoint differs from `base`, if `now` matches `base` in all of them; then
/// the new files, if `now` has none of them, under their own or another name.
async fn undone(open: &Loop<'_>, base: &Oid, now: &Oid) -> Result<[Vec<Vec<u8>>; 2], Error> {
    let (git, checkpoint) = (open.git(), open.state.checkpoint_tree());
    // git-ralph itself marks the story in the list.
    let list = open.state.source().path.as_bytes();
    let mut changed = git.diff_trees(base, checkpoint).await?;
    changed.retain(|(_, path)| path != list);
    let (new, edited): (Vec<_>, Vec<_>) = changed.into_iter().partition(|(status, _)| *status == b'A');
    let (mut new, mut edited) = (paths(new), paths(edited));
    let has_edits = !edited.is_empty();
    if !edited.is_empty() {
        let still: HashSet<Vec<u8>> = paths(git.diff_trees(base, now).await?).into_iter().collect();
        if edited.iter().any(|path| still.contains(path)) {
            edited.clear();
        }
    }
    if !new.is_empty() {
        let deleted: HashSet<Vec<u8>> = git.deleted(checkpoint, now).await?.into_iter().collect();
        // If edits stay, the attempt has not discarded all: the story may have been to replace these files.
        let edits_stay = has_edits && edited.is_empty();
        if edits_stay || !new.iter().all(|path| deleted.contains(path)) {
            new.clear();
        }
    }
    Ok([edited, new])
}

fn paths(changes: Vec<(u8, Vec<u8>)>) -> Vec<Vec<u8>> {
    changes.into_iter().map(|(_, path)| path).collect()
}
