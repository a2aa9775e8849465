//! All is as it was judged: gates have run with the tests of the last checkpoint in its place, or a reviewer.

use super::way::{Left, Way};
use crate::engine::{Loop, judged};
use crate::error::Error;
use crate::git::clear_operations;
use crate::names::typed;
use crate::refs::Update;
use crate::state::HeldTests;

/// Name of the directory in the trash for what was in the way.
const TRASH: &str = "judged";

/// Moves HEAD and the tip back if they moved, and puts back files and index. What was there instead is kept first.
pub(super) async fn put_back(open: &mut Loop<'_>, way: &Way<'_>, held: HeldTests) -> Result<Left, Error> {
    put_position_back(open, way, &held).await?;
    clear_operations(&open.context.repo).await?;
    judged::keep_present(open, &held).await?;
    let judged = judged::savepoint(open, &held);
    let site = open.site();
    judged.put_back_judged(site, &site.trash().join(TRASH)).await?;
    open.view.drop_all();
    Ok(Left::default())
}

/// Moves HEAD and the tip back, and keeps the commits that were made.
async fn put_position_back(open: &Loop<'_>, way: &Way<'_>, held: &HeldTests) -> Result<(), Error> {
    let (now, head) = (way.position, held.head());
    let moved = held.tip.clone().filter(|tip| now.tip.as_ref() != Some(tip));
    if moved.is_none() && now.head == head {
        return Ok(());
    }
    let mut made = Vec::new();
    for oid in [&now.tip, &now.head.oid].into_iter().flatten() {
        let mut is_known = made.contains(oid);
        for old in [&held.tip, &held.head].into_iter().flatten() {
            is_known = is_known || oid == old || open.context.repo.git.is_ancestor(oid, old).await?;
        }
        if !is_known {
            made.push(oid.clone());
        }
    }
    let kept = judged::keep_commits(open, &made).await?;
    let tip = moved.map(|new| Update::Move {
        name: open.state.tip_ref(),
        new,
        old: now.tip.clone(),
    });
    let updates: Vec<Update> = tip.into_iter().collect();
    open.move_refs(&updates, &now.head, &head, way.why).await?;
    let kept = kept.first().map_or_else(String::new, |kept| {
        format!("; its commits are kept: git log {}", typed(&kept.name))
    });
    open.tell(format!(
        "HEAD or the loop's branch moved while the work was judged; it is put back{kept}"
    ));
    Ok(())
}
