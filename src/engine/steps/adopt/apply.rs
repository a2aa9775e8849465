//! Goes to the checkpoint of a loop that came from a remote; after a crash too.

use crate::engine::steps::original::ORIGINAL_INDEX;
use crate::engine::steps::revert::keep_and_move;
use crate::engine::{Loop, journal};
use crate::error::Error;
use crate::git::index;
use crate::protect::Savepoint;
use crate::refs::{KeptRef, Update};
use crate::state::AdoptPlan;

/// Applies the plan of `pull`. After a crash (`is_first` is false), what the work tree has become since is kept first.
pub(crate) async fn apply(open: &mut Loop<'_>, plan: AdoptPlan, is_first: bool) -> Result<(), Error> {
    let position = open.position().await?;
    let checkpoint = open.checkpoint();
    let change = open.state.change.clone();
    let mut kept = plan.kept.clone();
    let now = open.read_work_tree().await?;
    if !is_first && now.tree != plan.from && now.tree != checkpoint.tree {
        let repo = &open.context.repo;
        let oid = repo
            .commit_tree(
                &now.tree,
                &[&checkpoint.commit],
                "what was there when a pull was cut off",
            )
            .await?;
        let name = change.ralph_ref("replaced/1");
        kept.push(KeptRef { name, oid });
    }
    let refs = open.context.repo.git.refs(&[&change.ralph_ref("")]).await?;
    let at = |name: &str| {
        let found = refs.iter().find(|found| found.name == name);
        found.map(|found| found.oid.clone())
    };
    let mut moves = vec![Update::Set {
        name: change.ralph_ref("start"),
        new: open.state.before.snapshot.clone(),
    }];
    for attempt in &plan.attempts {
        let old = at(&attempt.name);
        if old.as_ref() != Some(&attempt.oid) {
            moves.push(Update::Move {
                name: attempt.name.clone(),
                new: attempt.oid.clone(),
                old,
            });
        }
    }
    if position.tip.as_ref() != Some(&checkpoint.commit) {
        moves.push(Update::Move {
            name: open.state.tip_ref(),
            new: checkpoint.commit.clone(),
            old: position.tip.clone(),
        });
    }
    let why = format!("ralph: pull {change}");
    keep_and_move(open, &kept, None, &moves, &position.head, &why).await?;
    let (site, state, mut recorder) = open.parts();
    let trash = site.trash().join("pull");
    checkpoint
        .go_to(
            site,
            Some(now),
            &trash,
            &change.ralph_ref("replaced"),
            &mut recorder,
        )
        .await?;
    if plan.is_known {
        checkpoint.record(site, state.started).await?;
    } else {
        // The user's index here has nothing to do with the loop.
        index::discard(&site.dir.join(ORIGINAL_INDEX))?;
        let work = site.work_index();
        let made = site
            .repo
            .private_index(&site.repo.index(), &work, Some(&checkpoint.commit))
            .await?;
        Savepoint::begin_records(site, &work, &made.entries).await?;
        Savepoint::begin_exact_bytes(site, &work).await?;
        index::discard(&work)?;
        checkpoint.record_start(site).await?;
    }
    open.view.drop_all();
    journal::end(open)
}
