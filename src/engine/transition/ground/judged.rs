//! All is as the attempt left it: gates have run with the tests of the last checkpoint in the place of its own.

use super::way::{Left, Way};
use crate::engine::Loop;
use crate::error::Error;
use crate::git::clear_operations;
use crate::protect::{Moment, Savepoint};
use crate::refs::Update;
use crate::state::HeldTests;

/// Name of the directory in the trash for what was in the way.
const TRASH: &str = "judged";

/// Moves HEAD and the tip back if the gates moved them, and puts back files and index.
pub(super) async fn put_back(open: &mut Loop<'_>, way: &Way<'_>, held: HeldTests) -> Result<Left, Error> {
    let (position, head) = (way.position, held.head());
    let moved = held.tip.clone().filter(|tip| position.tip.as_ref() != Some(tip));
    let tip = moved.map(|new| Update::Move {
        name: open.state.tip_ref(),
        new,
        old: position.tip.clone(),
    });
    if tip.is_some() || position.head != head {
        let updates: Vec<Update> = tip.into_iter().collect();
        open.move_refs(&updates, &position.head, &head, way.why).await?;
    }
    clear_operations(&open.context.repo).await?;
    let judged = Savepoint {
        tree: held.tree,
        commit: held.commit.clone(),
        moment: Moment::Judged,
        since: held.since,
        ..open.checkpoint()
    };
    let site = open.site();
    judged.put_back_judged(site, &site.trash().join(TRASH)).await?;
    let name = open.change().ralph_ref("judged");
    let git = &open.context.repo.git;
    if git
        .refs(&[&name])
        .await?
        .iter()
        .any(|found| found.oid == held.commit)
    {
        let gone = Update::Delete {
            name,
            old: held.commit,
        };
        git.update_refs(&[gone], way.why).await?;
    }
    open.view.drop_all();
    Ok(Left::default())
}
