//! All is as at the checkpoint of a loop that came from a remote.

use super::way::{Left, Records, Way};
use crate::engine::Loop;
use crate::engine::transition::original::ORIGINAL_INDEX;
use crate::error::Error;
use crate::git::worktree::Reading;
use crate::protect::Savepoint;

/// Goes to the checkpoint, and records it. `now` is the work tree that the working index was just read from.
pub(super) async fn go_to(
    open: &Loop<'_>,
    way: Way<'_>,
    now: Option<Reading>,
    [trash, kept]: [&str; 2],
    records: Records,
) -> Result<Left, Error> {
    way.refs.move_with_loop(open, &way.position.head, way.why).await?;
    let checkpoint = open.checkpoint();
    let (site, state) = (open.site(), &open.state);
    let trash = site.trash().join(trash);
    checkpoint.go_to(site, now, &trash, kept, open).await?;
    match records {
        Records::Again => checkpoint.record(site, state.common.started).await?,
        Records::First => {
            // The user's index here has nothing to do with the loop.
            site.repo.discard_index(&site.loop_file(ORIGINAL_INDEX))?;
            let work = site.work_index();
            let made = site
                .repo
                .private_index(&site.repo.index(), &work, Some(&checkpoint.commit))
                .await?;
            Savepoint::begin_records(site, &work, &made.entries).await?;
            Savepoint::begin_exact_bytes(site, &work).await?;
            site.repo.discard_index(&work)?;
            checkpoint.record_start(site).await?;
        }
    }
    open.view.drop_all();
    Ok(Left::default())
}
