//! HEAD is at the loop's own place, and the work tree as it is becomes its checkpoint.

use super::way::{Left, Records, Way};
use crate::engine::Loop;
use crate::error::Error;
use crate::protect::{Savepoint, users_index};

/// Moves refs and HEAD, installs the working index, and records what git does not store.
pub(super) async fn record(open: &Loop<'_>, way: Way<'_>, records: Records) -> Result<Left, Error> {
    let kept = way.refs.move_with_loop(open, &way.position.head, way.why).await?;
    let site = open.site();
    if records == Records::Again {
        users_index::put_back(site).await?;
    }
    Savepoint::install_working_index(site).await?;
    let checkpoint = open.checkpoint();
    match records {
        Records::First => checkpoint.record_start(site).await?,
        Records::Again => checkpoint.record(site, open.state.common.started).await?,
    }
    Ok(Left {
        kept,
        ..Left::default()
    })
}
