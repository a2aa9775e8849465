//! Restores the judged tree, HEAD and the index after gates with other tests, or after a reviewer.

use super::{keep_commits, keep_present, savepoint, take_out_repositories};
use crate::engine::Loop;
use crate::error::Error;
use crate::fs::Durability;
use crate::git::clear_operations;
use crate::names::typed;
use crate::refs::Update;
use crate::state::JudgedTree;

/// Name of the directory in the trash for files that were in the way.
const TRASH: &str = "judged";

/// The reflog message of the restored refs.
const WHY: &str = "ralph: what is judged is put back";

/// Moves HEAD and the tip back if they moved, and restores files and index. Keeps the replaced content first. If this
/// process dies half-way, the next command repeats it.
pub(in crate::engine) async fn put_back(open: &Loop<'_>, held: JudgedTree) -> Result<(), Error> {
    note(open, |noted| noted.goes_back = true);
    open.save()?;
    put_position_back(open, &held).await?;
    clear_operations(open.repo()).await?;
    take_out_repositories(open, &held)?;
    keep_present(open, &held).await?;
    let judged = savepoint(open, &held);
    let site = open.site();
    judged.put_back_judged(&site.trash().join(TRASH)).await?;
    open.view.drop_all();
    note(open, |noted| (noted.goes_back, noted.in_place) = (false, None));
    // If a power cut brings the record back, the tree is restored once more.
    open.save_for(Durability::Whole)
}

fn note(open: &Loop<'_>, change: impl FnOnce(&mut JudgedTree)) {
    open.state.note_running(|running| {
        if let Some(held) = &mut running.held {
            change(held);
        }
    });
}

/// Moves HEAD and the tip back, and keeps the commits that were made.
pub(in crate::engine) async fn put_position_back(open: &Loop<'_>, held: &JudgedTree) -> Result<(), Error> {
    let (now, head) = (open.position().await?, held.head());
    let moved = held.tip.clone().filter(|tip| now.tip.as_ref() != Some(tip));
    if moved.is_none() && now.head == head {
        return Ok(());
    }
    let mut made = Vec::new();
    for oid in [&now.tip, &now.head.oid].into_iter().flatten() {
        let mut is_known = made.contains(oid);
        for old in [&held.tip, &held.head].into_iter().flatten() {
            is_known = is_known || oid == old || open.git().is_ancestor(oid, old).await?;
        }
        if !is_known {
            made.push(oid.clone());
        }
    }
    let kept = keep_commits(open, &made).await?;
    let tip = moved.map(|new| Update::Move {
        name: open.state.tip_ref(),
        new,
        old: now.tip.clone(),
    });
    let updates: Vec<Update> = tip.into_iter().collect();
    open.move_refs(&updates, &now.head, &head, WHY).await?;
    let kept = kept.first().map_or_else(String::new, |kept| {
        format!("; its commits are kept: git log {}", typed(&kept.name))
    });
    open.tell(format!(
        "HEAD or the loop's branch moved while the work was judged; it is put back{kept}"
    ));
    Ok(())
}
